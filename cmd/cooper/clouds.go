// SPDX-License-Identifier: Apache-2.0

//go:build !s3only

package main

import (
	"github.com/spf13/pflag"

	"github.com/cooper-cosi/cooper/cmd/cooper/internal/up"
	"github.com/cooper-cosi/cooper/fakes/azurefake/azurefakecmd"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/gcsfakecmd"
)

// limits is the help text about stores that this build lacks.
const limits = ""

// otherFakes returns the commands that run the fake stores of clouds other than S3.
func otherFakes() []subcommand {
	return []subcommand{
		{name: "fakes gcs", short: "run only the fake Cloud Storage and IAM", prepare: gcsfakecmd.Prepare},
		{name: "fakes azure", short: "run only the fake Azure Blob Storage", prepare: azurefakecmd.Prepare},
	}
}

// otherPorts defines the port flags of up for clouds other than S3.
func otherPorts(flags *pflag.FlagSet, o *up.Options) {
	flags.IntVar(&o.AzurePort, "azure-port", 0, "port of the fake Azure Blob service on 127.0.0.1; 0 means a free one")
	flags.IntVar(&o.GCSPort, "gcs-port", 0, "port of the fake Cloud Storage and IAM on 127.0.0.1; 0 means a free one")
}
