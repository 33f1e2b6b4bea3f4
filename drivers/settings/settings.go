// SPDX-License-Identifier: Apache-2.0

// Package settings reads the configuration of a driver: from a YAML file, or from the environment variables that
// describe a driver with one backend, and has what the checks of all configurations share. It must not know any
// configuration.
package settings

import (
	"fmt"
	"os"
	"strings"

	"github.com/cooper-cosi/cooper/internal/strictyaml"
)

// Format is how the configuration of a driver is written. C is the type of the whole, B that of one backend.
type Format[C, B any] struct {
	// Backend is what Variables describe one of, in prose.
	Backend string
	// Variables are the environment variables that describe a driver with one backend.
	Variables []Variable[C, B]
	// Single makes the backend the only one of the configuration.
	Single func(config *C, backend B) error
	// Reach tells how each backend of a complete configuration is reached, by its name.
	Reach func(C) map[string]Reach
	// Complete fills in defaults and then returns everything that is wrong, each with its field.
	Complete func(C) (C, error)
}

// Variable is an environment variable.
type Variable[C, B any] struct {
	// Name is the whole name.
	Name string
	// Description says what it sets.
	Description string
	// Set sets the field to a value, which is not empty.
	Set func(config *C, backend *B, value string)
}

// Load reads the file or, if its name is empty, the environment.
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

// Parse reads the YAML of a configuration file, fills in defaults and validates it. Unknown fields are errors.
func (f Format[C, B]) Parse(data []byte) (C, error) {
	var config C
	if err := strictyaml.Unmarshal(data, &config); err != nil {
		return *new(C), fmt.Errorf("the configuration is not valid: %w", err)
	}
	return f.Complete(config)
}

// FromEnvironment reads the Variables, fills in defaults and validates the result. Lookup is os.LookupEnv outside of
// tests. Other variables are no concern of this function.
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

// Help describes the variables to those who ask a program for help.
func (f Format[C, B]) Help() string {
	width := 0
	for _, variable := range f.Variables {
		width = max(width, len(variable.Name))
	}
	var text strings.Builder
	fmt.Fprintf(&text, "\nVariables that describe one %s where there is no --config:\n", f.Backend)
	for _, variable := range f.Variables {
		fmt.Fprintf(&text, "  %-*s %s\n", width, variable.Name, variable.Description)
	}
	return text.String()
}
