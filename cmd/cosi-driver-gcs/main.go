// SPDX-License-Identifier: Apache-2.0

// Command cosi-driver-gcs is the COSI driver for Google Cloud Storage as a process. It listens where COSI_ENDPOINT
// says, and is configured by a file (--config) or, for one project, by environment variables.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/cooper-cosi/cooper/cmd/internal/drivercmd"
	"github.com/cooper-cosi/cooper/cmd/internal/keystore"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver"
)

func main() {
	os.Exit(drivercmd.Main(program(), os.Args[1:], os.Stdout, os.Stderr))
}

// settings are what the flags came to.
type settings struct {
	configFile string
	keys       keystore.Place
}

func program() drivercmd.Program {
	s := &settings{}
	return drivercmd.Program{
		Name:  "cosi-driver-gcs",
		Short: "the COSI driver for Google Cloud Storage",
		Notes: notes(),
		Flags: func(f *pflag.FlagSet) {
			f.StringVar(&s.configFile, "config", "", "YAML file with the configuration; without it the variables below describe one backend")
			s.keys.Flags(f)
		},
		New: s.driver,
	}
}

func notes() string {
	var text strings.Builder
	text.WriteString("\nVariables that describe one backend where there is no --config:\n")
	for _, variable := range gcsdriver.Variables() {
		fmt.Fprintf(&text, "  %-36s %s\n", variable.Name, variable.Description)
	}
	return text.String()
}

func (s *settings) driver(ctx context.Context, options *driverkit.Options) (driverkit.Driver, error) {
	config, err := s.config()
	if err != nil {
		return nil, err
	}
	store, err := s.keys.Open(ctx, config.DriverName, options.Logger)
	if err != nil {
		return nil, err
	}
	return gcsdriver.New(gcsdriver.Options{Config: config, Credentials: store, Registerer: options.Registry, TracerProvider: options.TracerProvider})
}

func (s *settings) config() (gcsdriver.Config, error) {
	if s.configFile != "" {
		return gcsdriver.ReadConfig(s.configFile)
	}
	return gcsdriver.ConfigFromEnvironment(os.LookupEnv)
}
