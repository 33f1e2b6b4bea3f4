// SPDX-License-Identifier: Apache-2.0

package gcsdriver

import (
	"fmt"
	"strings"
)

// EnvironmentPrefix begins the environment variables that configure the driver. Variables that begin
// with COSI_ are reserved for what COSI tells every driver.
const EnvironmentPrefix = "GCS_DRIVER_"

// environmentBackend is the name of the one backend that the environment can describe.
const environmentBackend = "default"

// Variable is an environment variable of the simple configuration.
type Variable struct {
	// Name is the whole name.
	Name string
	// Description says what it sets.
	Description string
	set         func(config *Config, backend *BackendConfig, value string)
}

// Variables lists the environment variables that describe a driver with one backend, for cases that
// need no file.
func Variables() []Variable {
	return []Variable{
		{EnvironmentPrefix + "NAME", "Name of the driver.", func(c *Config, _ *BackendConfig, v string) { c.DriverName = v }},
		{EnvironmentPrefix + "CLUSTER", "Mark of the cluster on everything that is made.", func(c *Config, _ *BackendConfig, v string) { c.Cluster = v }},
		{EnvironmentPrefix + "PROJECT", "ID of the project.", func(_ *Config, b *BackendConfig, v string) { b.Project = v }},
		{EnvironmentPrefix + "LOCATION", "Location of buckets whose class names none.", func(_ *Config, b *BackendConfig, v string) { b.Location = v }},
		{EnvironmentPrefix + "CREDENTIALS_FILE", "JSON file with the driver's own credentials; unset means application default credentials.", func(_ *Config, b *BackendConfig, v string) { b.CredentialsFile = v }},
		{EnvironmentPrefix + "ENDPOINT", "URL of Cloud Storage; unset means Google's.", func(_ *Config, b *BackendConfig, v string) { b.Endpoint = v }},
		{EnvironmentPrefix + "IAM_ENDPOINT", "URL of the IAM API, if it is another than the endpoint.", func(_ *Config, b *BackendConfig, v string) { b.IAMEndpoint = v }},
		{EnvironmentPrefix + "CA_FILE", "PEM file with the certificate authorities of the endpoints.", func(_ *Config, b *BackendConfig, v string) { b.CAFile = v }},
		{EnvironmentPrefix + "WITHOUT_ACCOUNTS", "true for an emulator that knows neither accounts nor labels, such as fake-gcs-server.", func(_ *Config, b *BackendConfig, v string) { b.WithoutAccounts = v == "true" }},
		{EnvironmentPrefix + "WORKLOAD_IDENTITY_POOL", "Full name of the cluster's workload identity pool.", func(_ *Config, b *BackendConfig, v string) { b.WorkloadIdentity.Pool = v }},
		{EnvironmentPrefix + "WORKLOAD_IDENTITY_SUBJECT", "What a service account is called in the pool, with {namespace} and {name}.", func(_ *Config, b *BackendConfig, v string) { b.WorkloadIdentity.Subject = v }},
	}
}

// ConfigFromEnvironment describes a driver with one backend by the Variables. Lookup answers a
// variable's value, as os.LookupEnv does. Variables that begin with the prefix and have another name
// are no concern of this function.
func ConfigFromEnvironment(lookup func(string) (string, bool)) (Config, error) {
	var config Config
	var backend BackendConfig
	for _, variable := range Variables() {
		if value, set := lookup(variable.Name); set && value != "" {
			variable.set(&config, &backend, strings.TrimSpace(value))
		}
	}
	config.DefaultBackend = environmentBackend
	config.Backends = map[string]BackendConfig{environmentBackend: backend}
	config, err := config.complete()
	if err != nil {
		return Config{}, fmt.Errorf("the configuration by environment variables is not valid: %w", err)
	}
	return config, nil
}
