// SPDX-License-Identifier: Apache-2.0

// Package settings reads the configuration files of drivers. It must not know any configuration.
package settings

import (
	"fmt"
	"os"

	"github.com/cooper-cosi/cooper/internal/strictyaml"
)

// Parse reads the YAML of a configuration file and completes it, which is to fill in defaults and to
// validate. Unknown fields are errors.
func Parse[T any](data []byte, complete func(T) (T, error)) (T, error) {
	var config T
	if err := strictyaml.Unmarshal(data, &config); err != nil {
		return *new(T), fmt.Errorf("the configuration is not valid: %w", err)
	}
	return complete(config)
}

// Read reads a configuration file. Errors of its content name the file.
func Read[T any](file string, parse func([]byte) (T, error)) (T, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return *new(T), fmt.Errorf("read the configuration: %w", err)
	}
	config, err := parse(data)
	if err != nil {
		return *new(T), fmt.Errorf("%s: %w", file, err)
	}
	return config, nil
}
