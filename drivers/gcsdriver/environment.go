// SPDX-License-Identifier: Apache-2.0

package gcsdriver

import "github.com/cooper-cosi/cooper/drivers/settings"

// EnvironmentPrefix is the prefix of the environment variables that configure the driver. The prefix COSI_ is
// reserved for variables that COSI defines for all drivers.
const EnvironmentPrefix = "GCS_DRIVER_"

// environmentBackend is the name of the backend that the environment variables configure.
const environmentBackend = "default"

// Format returns the format of the configuration: YAML in a file, or environment variables for a driver with one
// backend.
func Format() settings.Format[Config, BackendConfig] {
	return settings.Format[Config, BackendConfig]{
		Backend: "backend", Variables: variables(), Complete: Config.complete, Reach: Config.reach,
		Single: func(config *Config, backend BackendConfig) error {
			config.DefaultBackend = environmentBackend
			config.Backends = map[string]BackendConfig{environmentBackend: backend}
			return nil
		},
	}
}

func variables() []settings.Variable[Config, BackendConfig] {
	return []settings.Variable[Config, BackendConfig]{
		{Name: EnvironmentPrefix + "NAME", Description: "Name of the driver.", Set: func(c *Config, _ *BackendConfig, v string) { c.DriverName = v }},
		{Name: EnvironmentPrefix + "CLUSTER", Description: "Name of the cluster, with which the driver marks everything that it creates.", Set: func(c *Config, _ *BackendConfig, v string) { c.Cluster = v }},
		{Name: EnvironmentPrefix + "PROJECT", Description: "ID of the project.", Set: func(_ *Config, b *BackendConfig, v string) { b.Project = v }},
		{Name: EnvironmentPrefix + "LOCATION", Description: "Location of buckets, unless the class sets one.", Set: func(_ *Config, b *BackendConfig, v string) { b.Location = v }},
		{
			Name: EnvironmentPrefix + "CREDENTIALS_FILE", Description: "JSON file with the driver's own credentials. Default: application default credentials.",
			Set: func(_ *Config, b *BackendConfig, v string) { b.CredentialsFile = v },
		},
		{Name: EnvironmentPrefix + "ENDPOINT", Description: "URL of Cloud Storage. Default: Google's public endpoint.", Set: func(_ *Config, b *BackendConfig, v string) { b.Endpoint = v }},
		{Name: EnvironmentPrefix + "IAM_ENDPOINT", Description: "URL of the IAM API, if it differs from the endpoint.", Set: func(_ *Config, b *BackendConfig, v string) { b.IAMEndpoint = v }},
		{
			Name: EnvironmentPrefix + "INSECURE", Description: "true allows endpoints without TLS on other hosts.",
			Set: func(_ *Config, b *BackendConfig, v string) { b.Insecure = v == "true" },
		},
		{
			Name: EnvironmentPrefix + "READ_LAG", Description: "Maximum time until reads return a completed write, such as 1.5s.",
			Set: func(_ *Config, b *BackendConfig, v string) { b.ReadLag = settings.ReadLag(v) },
		},
		{Name: EnvironmentPrefix + "CA_FILE", Description: "PEM file with the CA certificates of the endpoints.", Set: func(_ *Config, b *BackendConfig, v string) { b.CAFile = v }},
		{
			Name: EnvironmentPrefix + "WITHOUT_ACCOUNTS", Description: "true for an emulator without accounts and labels, such as fake-gcs-server.",
			Set: func(_ *Config, b *BackendConfig, v string) { b.WithoutAccounts = v == "true" },
		},
		{
			Name: EnvironmentPrefix + "WORKLOAD_IDENTITY_POOL", Description: "Full name of the cluster's workload identity pool.",
			Set: func(_ *Config, b *BackendConfig, v string) { b.WorkloadIdentity.Pool = v },
		},
		{
			Name: EnvironmentPrefix + "WORKLOAD_IDENTITY_SUBJECT", Description: "Name of a service account in the pool, with {namespace} and {name}.",
			Set: func(_ *Config, b *BackendConfig, v string) { b.WorkloadIdentity.Subject = v },
		},
	}
}
