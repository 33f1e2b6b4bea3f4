// SPDX-License-Identifier: Apache-2.0

package s3driver

import (
	"github.com/cooper-cosi/cooper/drivers/settings"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// EnvironmentPrefix is the prefix of the environment variables that configure the driver. The prefix COSI_ is
// reserved for variables that COSI defines for all drivers.
const EnvironmentPrefix = "S3_DRIVER_"

// environmentBackend is the name of the backend that the environment variables configure.
const environmentBackend = "default"

// Format returns the format of the configuration: YAML in a file, or environment variables for a driver with one
// backend.
func Format() settings.Format[Config, BackendConfig] {
	return settings.Format[Config, BackendConfig]{
		Backend: "backend", Variables: variables(), Complete: func(c Config) (Config, error) { return c.complete(nil) }, Reach: Config.reach,
		Single: func(config *Config, backend BackendConfig) error {
			if backend.Type == "" {
				backend.Type = TypeAWS
			}
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
		{Name: EnvironmentPrefix + "TYPE", Description: "Type of the backend: aws, minio, rgw, seaweedfs, versitygw or static.", Set: func(_ *Config, b *BackendConfig, v string) { b.Type = BackendType(v) }},
		{Name: EnvironmentPrefix + "ENDPOINT", Description: "URL of the store. Default: AWS.", Set: func(_ *Config, b *BackendConfig, v string) { b.Endpoint = v }},
		{Name: EnvironmentPrefix + "PUBLIC_ENDPOINT", Description: "URL of the store for workloads, if it differs.", Set: func(_ *Config, b *BackendConfig, v string) { b.PublicEndpoint = v }},
		{Name: EnvironmentPrefix + "IAM_ENDPOINT", Description: "URL of the IAM API, if it differs from the store's.", Set: func(_ *Config, b *BackendConfig, v string) { b.IAM.Endpoint = v }},
		{Name: EnvironmentPrefix + "REGION", Description: "Region of the store.", Set: func(_ *Config, b *BackendConfig, v string) { b.Region = v }},
		{Name: EnvironmentPrefix + "ADDRESSING", Description: "path or virtual.", Set: func(_ *Config, b *BackendConfig, v string) { b.Addressing = Addressing(v) }},
		{
			Name: EnvironmentPrefix + "INSECURE", Description: "true allows endpoints without TLS on other hosts.",
			Set: func(_ *Config, b *BackendConfig, v string) { b.Insecure = v == "true" },
		},
		{
			Name: EnvironmentPrefix + "READ_LAG", Description: "Maximum time until reads return a completed write, such as 1.5s.",
			Set: func(_ *Config, b *BackendConfig, v string) { b.ReadLag = settings.ReadLag(v) },
		},
		{Name: EnvironmentPrefix + "CA_FILE", Description: "PEM file with the CA certificates of the endpoint.", Set: func(_ *Config, b *BackendConfig, v string) { b.CAFile = v }},
		{Name: EnvironmentPrefix + "ACCESS_KEY_ID", Description: "Access key ID of the driver.", Set: func(_ *Config, b *BackendConfig, v string) { b.Credentials.AccessKeyID = v }},
		{
			Name: EnvironmentPrefix + "SECRET_ACCESS_KEY", Description: "Secret access key of the driver.",
			Set: func(_ *Config, b *BackendConfig, v string) { b.Credentials.SecretAccessKey = cosi.NewSecret(v) },
		},
	}
}
