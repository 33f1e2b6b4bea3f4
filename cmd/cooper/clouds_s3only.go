// SPDX-License-Identifier: Apache-2.0

//go:build s3only

package main

import (
	"github.com/spf13/pflag"

	"github.com/cooper-cosi/cooper/cmd/cooper/internal/up"
)

// The build tag s3only excludes the SDKs of the other clouds, which are a fifth of the packages.

const limits = `
This build includes S3 only. Build with Azure and Google Cloud: make bin/cooper CLOUDS=all
`

func otherFakes() []subcommand { return nil }

func otherPorts(*pflag.FlagSet, *up.Options) {}
