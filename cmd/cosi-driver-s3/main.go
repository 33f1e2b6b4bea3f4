// SPDX-License-Identifier: Apache-2.0

// Command cosi-driver-s3 is the COSI driver for S3 as a process. It listens where COSI_ENDPOINT
// says, and is configured by a file (--config) or, for one store, by environment variables.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/s3driver"
)

func main() {
	settings, err := parse(os.Args[1:], os.LookupEnv, os.Stderr)
	if errors.Is(err, pflag.ErrHelp) {
		return
	}
	if err == nil {
		err = run(settings)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "cosi-driver-s3: %v\n", err)
		os.Exit(1)
	}
}

// settings are what flags and environment ask for.
type settings struct {
	endpoint        string
	configFile      string
	credentialStore string
	metricsAddress  string
	logLevel        string
	logFormat       string
	lookup          func(string) (string, bool)
}

// parse reads the flags. The default of each is its environment variable.
func parse(arguments []string, lookup func(string) (string, bool), output io.Writer) (settings, error) {
	parsed := settings{lookup: lookup}
	flags := pflag.NewFlagSet("cosi-driver-s3", pflag.ContinueOnError)
	flags.SetOutput(output)
	flags.SortFlags = false
	define := func(target *string, name, variable, fallback, usage string) {
		if value, set := lookup(variable); set {
			fallback = value
		}
		flags.StringVar(target, name, fallback, usage+" [$"+variable+"]")
	}
	define(&parsed.endpoint, "endpoint", driverkit.EndpointVariable, "", "socket to listen on, unix:///path/to/name.sock")
	define(&parsed.configFile, "config", s3driver.EnvironmentPrefix+"CONFIG", "", "YAML file with the configuration; without it the variables below describe one backend")
	define(&parsed.credentialStore, "credential-store", s3driver.EnvironmentPrefix+"CREDENTIAL_STORE", "", "where delivered keys are kept: kubernetes (Secrets of its own namespace) or kubernetes:namespace, directory:/path, or memory, which forgets them")
	define(&parsed.metricsAddress, "metrics-address", s3driver.EnvironmentPrefix+"METRICS_ADDRESS", "", "TCP address to serve /metrics on, such as :8080; empty for none")
	define(&parsed.logLevel, "log-level", s3driver.EnvironmentPrefix+"LOG_LEVEL", "info", "debug, info, warn or error")
	define(&parsed.logFormat, "log-format", s3driver.EnvironmentPrefix+"LOG_FORMAT", "text", "text or json")
	flags.Usage = func() { printUsage(output, flags) }
	if err := flags.Parse(arguments); err != nil {
		return settings{}, fmt.Errorf("read the flags: %w", err)
	}
	if flags.NArg() > 0 {
		return settings{}, fmt.Errorf("unexpected argument %q; see --help", flags.Arg(0))
	}
	return parsed, nil
}

func printUsage(output io.Writer, flags *pflag.FlagSet) {
	var text strings.Builder
	text.WriteString("cosi-driver-s3 is the COSI driver for S3.\n\nFlags, each with its environment variable:\n")
	text.WriteString(flags.FlagUsages())
	text.WriteString("\nVariables that describe one backend where there is no --config:\n")
	for _, variable := range s3driver.Variables() {
		fmt.Fprintf(&text, "  %-28s %s\n", variable.Name, variable.Description)
	}
	// A failure to write to standard error has nowhere to be reported.
	_, _ = io.WriteString(output, text.String())
}

func run(wanted settings) error {
	logger, err := wanted.logger(os.Stderr)
	if err != nil {
		return err
	}
	config, err := wanted.config()
	if err != nil {
		return err
	}
	store, err := openStore(context.Background(), wanted.credentialStore, config.DriverName, logger)
	if err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	driver, err := s3driver.New(s3driver.Options{Config: config, Credentials: store, Registerer: registry})
	if err != nil {
		return err
	}
	driverkit.Main(driver, driverkit.Options{
		Endpoint:       wanted.endpoint,
		Logger:         logger,
		MetricsAddress: wanted.metricsAddress,
		Registry:       registry,
	})
	return nil
}

func (s settings) config() (s3driver.Config, error) {
	if s.configFile != "" {
		return s3driver.ReadConfig(s.configFile)
	}
	return s3driver.ConfigFromEnvironment(s.lookup)
}

func (s settings) logger(output io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(s.logLevel)); err != nil {
		return nil, fmt.Errorf("--log-level %q is not one of: debug, info, warn, error", s.logLevel)
	}
	options := &slog.HandlerOptions{Level: level}
	switch s.logFormat {
	case "text":
		return slog.New(slog.NewTextHandler(output, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(output, options)), nil
	default:
		return nil, fmt.Errorf("--log-format %q is not one of: text, json", s.logFormat)
	}
}
