// SPDX-License-Identifier: Apache-2.0

package s3driver

import (
	"errors"
	"fmt"
	"strings"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// EnvironmentPrefix begins the environment variables that configure the driver. Variables that begin
// with COSI_ are reserved for what COSI tells every driver.
const EnvironmentPrefix = "S3_DRIVER_"

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
		{EnvironmentPrefix + "TYPE", "Type of the backend: aws, minio, versitygw or static.", func(_ *Config, b *BackendConfig, v string) { b.Type = BackendType(v) }},
		{EnvironmentPrefix + "ENDPOINT", "URL of the store; unset means AWS.", func(_ *Config, b *BackendConfig, v string) { b.Endpoint = v }},
		{EnvironmentPrefix + "PUBLIC_ENDPOINT", "URL of the store for workloads, if it is another.", func(_ *Config, b *BackendConfig, v string) { b.PublicEndpoint = v }},
		{EnvironmentPrefix + "IAM_ENDPOINT", "URL of the IAM API, if it is another than the store's.", func(_ *Config, b *BackendConfig, v string) { b.IAM.Endpoint = v }},
		{EnvironmentPrefix + "REGION", "Region of the store.", func(_ *Config, b *BackendConfig, v string) { b.Region = v }},
		{EnvironmentPrefix + "ADDRESSING", "path or virtual.", func(_ *Config, b *BackendConfig, v string) { b.Addressing = Addressing(v) }},
		{EnvironmentPrefix + "CA_FILE", "PEM file with the certificate authorities of the endpoint.", func(_ *Config, b *BackendConfig, v string) { b.CAFile = v }},
		{EnvironmentPrefix + "ACCESS_KEY_ID", "Access key ID of the driver itself.", func(_ *Config, b *BackendConfig, v string) { b.Credentials.AccessKeyID = v }},
		{EnvironmentPrefix + "SECRET_ACCESS_KEY", "Secret key of the driver itself.", func(_ *Config, b *BackendConfig, v string) { b.Credentials.SecretAccessKey = cosi.NewSecret(v) }},
	}
}

// ConfigFromEnvironment describes a driver with one backend by the Variables. Lookup answers a
// variable's value, as os.LookupEnv does. Variables that begin with the prefix and have another name
// are no concern of this function.
func ConfigFromEnvironment(lookup func(string) (string, bool)) (Config, error) {
	var config Config
	backend := BackendConfig{Type: TypeAWS}
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

// check refuses half of a key pair given as values.
func (c CredentialsConfig) check() error {
	switch {
	case (c.AccessKeyIDFile == "") != (c.SecretAccessKeyFile == ""):
		return errors.New("accessKeyIDFile and secretAccessKeyFile need each other")
	case (c.AccessKeyID == "") != c.SecretAccessKey.IsZero():
		return errors.New("the access key ID and the secret key need each other")
	case c.AccessKeyID != "" && c.AccessKeyIDFile != "":
		return errors.New("give the key pair either by files or by value")
	}
	return nil
}
