// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"

	"github.com/spf13/pflag"

	"github.com/cooper-cosi/cooper/cmd/cooper/internal/newdriver"
	"github.com/cooper-cosi/cooper/cmd/internal/serve"
)

func prepareNewDriver(flags *pflag.FlagSet) func(context.Context, io.Writer, io.Writer) error {
	o := newdriver.Options{Version: serve.Version()}
	flags.StringVar(&o.Driver, "name", "", "DNS name of the driver, such as acme.example.com; can also be the first argument")
	serve.AsArgument(flags.Lookup("name"))
	flags.StringVar(&o.Module, "module", "", "path of the Go module; empty means one in example.com")
	flags.StringVar(&o.Dir, "dir", "", "directory to create; empty means cosi-driver-NAME in the working directory")
	flags.StringVar(&o.Checkout, "checkout", "", "directory with Cooper's source code to build with; empty means the release of this program")
	return func(_ context.Context, stdout, _ io.Writer) error {
		o.Out = stdout
		return newdriver.Make(o)
	}
}
