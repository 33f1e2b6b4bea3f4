// SPDX-License-Identifier: Apache-2.0

// Package settings loads the configuration of a driver, either from a YAML file or from environment variables.
// Environment variables can configure only one backend. The package also contains the checks that all driver
// configurations share. It does not depend on the configuration type of any driver.
package settings

import (
	"fmt"
	"os"
	"strings"

	"github.com/cooper-cosi/cooper/internal/strictyaml"
)

// Format is the configuration format of a driver. C is the type of the whole configuration, B that of one backend.
type Format[C, B any] struct {
	// Backend names what Variables configure, for the help text, such as "storage account".
	Backend string
	// Variables are the environment variables for a driver with one backend.
	Variables []Variable[C, B]
	// Single makes backend the only one in the configuration.
	Single func(config *C, backend B) error
	// Reach returns by backend name how the driver connects to each backend of a complete configuration.
	Reach func(C) map[string]Reach
	// Complete fills in defaults and then returns all errors, each with its field.
	Complete func(C) (C, error)
}

// Variable is an environment variable.
type Variable[C, B any] struct {
	// Name is the full name.
	Name string
	// Description describes the setting.
	Description string
	// Set sets the field to a value, which is not empty.
	Set func(config *C, backend *B, value string)
}

// Load reads the configuration from a file or, if file is empty, from the environment.
func (f Format[C, B]) Load(file string) (C, error) {
	if file == "" {
		return f.FromEnvironment(os.LookupEnv)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return *new(C), fmt.Errorf("read the configuration: %w", err)
	}
	config, err := f.Parse(data)
	if err != nil {
		return *new(C), fmt.Errorf("%s: %w", file, err)
	}
	return config, nil
}

// Parse parses a YAML configuration file, fills in defaults and validates the result. Unknown fields are errors.
func (f Format[C, B]) Parse(data []byte) (C, error) {
	var config C
	if err := strictyaml.Unmarshal(data, &config); err != nil {
		return *new(C), fmt.Errorf("the configuration is not valid: %w", err)
	}
	return f.Complete(config)
}

// FromEnvironment reads Variables, fills in defaults and validates the result. lookup is os.LookupEnv except in
// tests. Other environment variables are ignored.
func (f Format[C, B]) FromEnvironment(lookup func(string) (string, bool)) (C, error) {
	var config C
	var backend B
	for _, variable := range f.Variables {
		if value, _ := lookup(variable.Name); value != "" {
			variable.Set(&config, &backend, strings.TrimSpace(value))
		}
	}
	err := f.Single(&config, backend)
	if err == nil {
		config, err = f.Complete(config)
	}
	if err != nil {
		return *new(C), fmt.Errorf("the configuration by environment variables is not valid: %w", err)
	}
	return config, nil
}

// Help returns the help text for the variables.
func (f Format[C, B]) Help() string {
	width := 0
	for _, variable := range f.Variables {
		width = max(width, len(variable.Name))
	}
	var text strings.Builder
	fmt.Fprintf(&text, "\nVariables that configure one %s, if --config is not set:\n", f.Backend)
	for _, variable := range f.Variables {
		fmt.Fprintf(&text, "  %-*s %s\n", width, variable.Name, variable.Description)
	}
	return text.String()
}
