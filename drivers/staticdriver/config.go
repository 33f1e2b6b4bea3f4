// SPDX-License-Identifier: Apache-2.0

package staticdriver

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/settings"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// DefaultName is the default driver name.
const DefaultName = "static.cooper.dev"

// EnvironmentPrefix is the prefix of the environment variables that configure the driver.
const EnvironmentPrefix = "STATIC_DRIVER_"

// Config is the configuration of the driver, in the format of its YAML file.
type Config struct {
	// DriverName is the name that Buckets and classes use. Default: static.cooper.dev.
	DriverName string `json:"driverName,omitempty"`
	// Buckets are the buckets that can be claimed, by their existingBucketID: letters, digits and . _ / -, at most
	// 2048.
	Buckets map[string]BucketConfig `json:"buckets"`
}

// BucketConfig configures one bucket.
type BucketConfig struct {
	// Credentials are the credentials for the bucket. An access receives the one that has the requested modes and the
	// fewest others; if several are equal, the first.
	Credentials []CredentialConfig `json:"credentials"`
	// Endpoint is the URL of Cloud Storage at which the driver looks up the bucket. Default: Google's public endpoint.
	// For other protocols, the Secret contains the endpoint.
	Endpoint string `json:"endpoint,omitempty"`
	// Insecure allows endpoints without TLS, where keys and objects can be read and changed on the network. Addresses
	// of this host do not need it.
	Insecure bool `json:"insecure,omitempty"`
}

// CredentialConfig describes one credential and its permissions at the store. The driver cannot verify the
// permissions: if the configuration lists fewer than the credential has, users get more access than they requested.
type CredentialConfig struct {
	// Directory contains a file for each key of a BucketAccess Secret, like a mounted Secret: COSI_PROTOCOL,
	// BUCKET_NAME, AWS_ACCESS_KEY_ID and so on. The driver reads it in every call.
	Directory string `json:"directory"`
	// ObjectData contains the credential's permissions for objects and their metadata: ReadWrite, ReadOnly or
	// WriteOnly.
	ObjectData driverkit.Mode `json:"objectData,omitempty"`
	// BucketMetadata contains the credential's permissions for the configuration of the bucket. Default: none.
	BucketMetadata driverkit.Mode `json:"bucketMetadata,omitempty"`
}

// Format returns the format of the configuration: YAML in a file, or environment variables for one bucket with one
// credential.
func Format() settings.Format[Config, BucketConfig] {
	return settings.Format[Config, BucketConfig]{
		Backend: "bucket", Variables: variables(), Complete: Config.complete, Reach: Config.reach,
		// The variables fill in the bucket with the ID, in any order.
		Single: func(c *Config, b BucketConfig) error {
			for id := range c.Buckets {
				c.Buckets[id] = b
			}
			return nil
		},
	}
}

func variables() []settings.Variable[Config, BucketConfig] {
	only := func(b *BucketConfig) *CredentialConfig {
		if len(b.Credentials) == 0 {
			b.Credentials = []CredentialConfig{{}}
		}
		return &b.Credentials[0]
	}
	return []settings.Variable[Config, BucketConfig]{
		{Name: EnvironmentPrefix + "NAME", Description: "Name of the driver.", Set: func(c *Config, _ *BucketConfig, v string) { c.DriverName = v }},
		{
			Name: EnvironmentPrefix + "BUCKET_ID", Description: "The bucket's existingBucketID.",
			Set: func(c *Config, _ *BucketConfig, v string) { c.Buckets = map[string]BucketConfig{v: {}} },
		},
		{
			Name: EnvironmentPrefix + "DIRECTORY", Description: "Directory with the keys of a BucketAccess Secret.",
			Set: func(_ *Config, b *BucketConfig, v string) { only(b).Directory = v },
		},
		{
			Name: EnvironmentPrefix + "OBJECT_DATA", Description: "Permissions of this credential for objects: ReadWrite, ReadOnly or WriteOnly.",
			Set: func(_ *Config, b *BucketConfig, v string) { only(b).ObjectData = driverkit.Mode(v) },
		},
		{
			Name: EnvironmentPrefix + "BUCKET_METADATA", Description: "Permissions for the bucket's configuration. Default: none.",
			Set: func(_ *Config, b *BucketConfig, v string) { only(b).BucketMetadata = driverkit.Mode(v) },
		},
		{Name: EnvironmentPrefix + "ENDPOINT", Description: "URL of Cloud Storage. Default: Google's public endpoint.", Set: func(_ *Config, b *BucketConfig, v string) { b.Endpoint = v }},
		{
			Name: EnvironmentPrefix + "INSECURE", Description: "true allows endpoints without TLS on other hosts.",
			Set: func(_ *Config, b *BucketConfig, v string) { b.Insecure = v == "true" },
		},
	}
}

// complete fills in defaults and then returns all errors, each with its field.
func (c Config) complete() (Config, error) {
	settings.Default(&c.DriverName, DefaultName)
	var problems []error
	if err := cosi.ValidateDriverName(c.DriverName); err != nil {
		problems = append(problems, fmt.Errorf("driverName: %w", err))
	}
	if len(c.Buckets) == 0 {
		problems = append(problems, errors.New("buckets: at least one is required; the environment variable "+EnvironmentPrefix+"BUCKET_ID sets one"))
	}
	for id := range c.Buckets {
		if err := cosi.ValidateBucketID(id); err != nil {
			problems = append(problems, fmt.Errorf("buckets: the name %q: %w", id, err))
		}
	}
	var more []error
	c.Buckets, more = settings.Complete("buckets", c.Buckets, func(b BucketConfig) BucketConfig { return b }, BucketConfig.validate)
	return c, errors.Join(append(problems, more...)...)
}

// validate also reads the directories, so that missing files are reported at startup rather than to the first user.
func (b BucketConfig) validate(bad settings.Bad) {
	if len(b.Credentials) == 0 {
		bad("credentials", "at least one is required")
	}
	places := map[driverkit.Protocol]string{}
	for i, one := range b.Credentials {
		field := fmt.Sprintf("credentials[%d]", i)
		checkMode(bad, field+".objectData", one.ObjectData)
		checkMode(bad, field+".bucketMetadata", one.BucketMetadata)
		if one.ObjectData == "" && one.BucketMetadata == "" {
			bad(field, "objectData or bucketMetadata is required: the credential's permissions")
		}
		if one.Directory == "" {
			bad(field+".directory", "is required")
			continue
		}
		found, err := read(one.Directory)
		if err != nil {
			bad(field+".directory", "%v", err)
			continue
		}
		if first, ok := places[found.protocol]; ok && first != found.place() {
			bad(field+".directory", "is for %s, but a previous credential is for %s: a bucket has only one location", found.place(), first)
			continue
		}
		places[found.protocol] = found.place()
	}
	b.endpoints().Check(bad, "https://s3.example.com")
}

func checkMode(bad settings.Bad, field string, mode driverkit.Mode) {
	if !slices.Contains([]driverkit.Mode{"", driverkit.ReadWrite, driverkit.ReadOnly, driverkit.WriteOnly}, mode) {
		bad(field, "%q is not one of: ReadWrite, ReadOnly, WriteOnly", mode)
	}
}

// reach returns how the buckets are reached, by ID.
func (c Config) reach() map[string]settings.Reach {
	all := map[string]settings.Reach{}
	for id, bucket := range c.Buckets {
		all[id] = bucket.endpoints()
	}
	return all
}

// endpoints returns the configured endpoint and those in the Secrets. Unreadable ones are omitted.
func (b BucketConfig) endpoints() settings.Reach {
	reach := settings.Reach{Insecure: b.Insecure, Endpoints: map[string]string{"endpoint": b.Endpoint}}
	for i, one := range b.Credentials {
		if given, err := read(one.Directory); err == nil {
			reach.Endpoints[fmt.Sprintf("credentials[%d].directory", i)] = given.server()
		}
	}
	return reach
}
