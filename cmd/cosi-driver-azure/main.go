// SPDX-License-Identifier: Apache-2.0

// Command cosi-driver-azure is the COSI driver for Azure Blob Storage as a process. It listens where
// COSI_ENDPOINT says, and is configured by a file (--config) or, for one storage account, by
// environment variables.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/cooper-cosi/cooper/cmd/internal/drivercmd"
	"github.com/cooper-cosi/cooper/drivers/azuredriver"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

func main() {
	os.Exit(drivercmd.Main(program(), os.Args[1:], os.Stdout, os.Stderr))
}

func program() drivercmd.Program {
	configFile := ""
	return drivercmd.Program{
		Name:  "cosi-driver-azure",
		Short: "the COSI driver for Azure Blob Storage",
		Notes: notes(),
		Flags: func(f *pflag.FlagSet) {
			f.StringVar(&configFile, "config", "", "YAML file with the configuration; without it the variables below describe one storage account")
		},
		New: func(_ context.Context, options *driverkit.Options) (driverkit.Driver, error) {
			config, err := readConfig(configFile)
			if err != nil {
				return nil, err
			}
			return azuredriver.New(azuredriver.Options{Config: config, Registerer: options.Registry, TracerProvider: options.TracerProvider})
		},
	}
}

func notes() string {
	var text strings.Builder
	text.WriteString("\nVariables that describe one storage account where there is no --config:\n")
	for _, variable := range azuredriver.Variables() {
		fmt.Fprintf(&text, "  %-32s %s\n", variable.Name, variable.Description)
	}
	return text.String()
}

func readConfig(file string) (azuredriver.Config, error) {
	if file != "" {
		return azuredriver.ReadConfig(file)
	}
	return azuredriver.ConfigFromEnvironment(os.LookupEnv)
}
