// SPDX-License-Identifier: Apache-2.0

// Package settings reads the configuration of the conformance suite from a YAML file. Hooks are commands in this file.
// Read returns a File, and File.Config converts it to the Config for sanity.Run. The package does not depend on a
// particular storage system.
package settings

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/cooper-cosi/cooper/internal/strictyaml"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity"
)

// File is the contents of a configuration file. Everything is optional.
type File struct {
	// Endpoint is the address of a running driver, such as unix:///run/cosi/cosi.sock.
	Endpoint string `json:"endpoint,omitempty"`
	// Command starts the driver. Set it instead of Endpoint. A relative path is relative to the working directory.
	// Command enables the cases about the process and about restarts.
	Command []string `json:"command,omitempty"`
	// Environment contains environment variables for the driver, in addition to COSI_ENDPOINT.
	Environment map[string]string `json:"environment,omitempty"`
	// ImageEnvironment lists the names of environment variables in the driver's image manifest. The suite checks that
	// none of them uses the reserved prefix COSI_.
	ImageEnvironment []string `json:"imageEnvironment,omitempty"`

	// Contract is v1alpha2 or v1alpha1. Default: v1alpha2.
	Contract string `json:"contract,omitempty"`
	// Parameters are the class parameters to send to the driver. Each driver defines its own.
	Parameters sanity.Params `json:"parameters,omitempty"`
	// Authentication lists Key, ServiceAccount, or both. Default: Key.
	Authentication   []string              `json:"authentication,omitempty"`
	ServiceAccount   sanity.ServiceAccount `json:"serviceAccount,omitempty"`
	Rotation         bool                  `json:"rotation,omitempty"`
	SharedCredential bool                  `json:"sharedCredential,omitempty"`
	// CreatesNothing declares that the driver creates no buckets and uses buckets that an administrator has created. It
	// requires the hooks makeBucket and removeBucket.
	CreatesNothing bool `json:"createsNothing,omitempty"`
	// NonEmptyDelete declares the result of DriverDeleteBucket for a bucket that contains data: refuse or delete. Default:
	// not declared.
	NonEmptyDelete string `json:"nonEmptyDelete,omitempty"`

	// DataPlane configures how credentials are tested.
	DataPlane DataPlane `json:"dataPlane,omitempty"`
	// Hooks are commands that inspect or change the backend without the driver.
	Hooks Hooks `json:"hooks,omitempty"`
	// Limits are the sizes and durations of a run.
	Limits Limits `json:"limits,omitempty"`
}

// DataPlane configures how credentials are tested.
type DataPlane struct {
	// Disabled disables tests of credentials, for a store that cosi-sanity cannot reach.
	Disabled bool `json:"disabled,omitempty"`
	// CertificateAuthority is a PEM file with CA certificates to trust. A relative path is relative to the configuration file.
	CertificateAuthority string `json:"certificateAuthority,omitempty"`
	// AzureEndpoint is the URL of the Blob service. Default: Azure's public endpoint.
	AzureEndpoint string `json:"azureEndpoint,omitempty"`
	// GCSEndpoint is the URL of Cloud Storage. Default: Google's public endpoint.
	GCSEndpoint string `json:"gcsEndpoint,omitempty"`
}

// Limits are the sizes of a run. Durations are in Go syntax: 500ms, 30s, 5m.
type Limits struct {
	Repeats     int    `json:"repeats,omitempty"`
	Names       int    `json:"names,omitempty"`
	Concurrency int    `json:"concurrency,omitempty"`
	Operations  int    `json:"operations,omitempty"`
	Parallel    int    `json:"parallel,omitempty"`
	Settle      string `json:"settle,omitempty"`
	Start       string `json:"start,omitempty"`
	Stop        string `json:"stop,omitempty"`
	RPC         string `json:"rpc,omitempty"`
	Case        string `json:"case,omitempty"`
}

// Read reads a file. An unknown key is an error.
func Read(path string) (File, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return File{}, fmt.Errorf("read the configuration: %w", err)
	}
	var file File
	if err := strictyaml.Unmarshal(text, &file); err != nil {
		return File{}, fmt.Errorf("parse the configuration %s: %w", path, err)
	}
	if ca := file.DataPlane.CertificateAuthority; ca != "" && !filepath.IsAbs(ca) {
		file.DataPlane.CertificateAuthority = filepath.Join(filepath.Dir(path), ca)
	}
	return file, nil
}

// ContractOf returns the contract with this name; the empty name means v1alpha2.
func ContractOf(name string) (sanity.Contract, error) {
	switch contract := sanity.Contract(name); contract {
	case "":
		return sanity.V1Alpha2, nil
	case sanity.V1Alpha2, sanity.V1Alpha1:
		return contract, nil
	default:
		return "", fmt.Errorf("contract %q is neither %s nor %s", name, sanity.V1Alpha2, sanity.V1Alpha1)
	}
}

// Config converts the file to the configuration for sanity.Run.
func (f File) Config() (sanity.Config, error) {
	contract, err := ContractOf(f.Contract)
	if err != nil {
		return sanity.Config{}, err
	}
	config := sanity.Config{
		Contract: contract, Endpoint: f.Endpoint, ImageEnvironment: f.ImageEnvironment, Params: f.Parameters,
		ServiceAccount: f.ServiceAccount, Rotation: f.Rotation, SharedCredential: f.SharedCredential, CreatesNothing: f.CreatesNothing, NonEmptyDelete: f.NonEmptyDelete,
	}
	if len(f.Command) > 0 {
		config.Launcher = sanity.Exec{Command: f.Command}
	}
	for _, name := range slices.Sorted(maps.Keys(f.Environment)) {
		config.Environment = append(config.Environment, name+"="+f.Environment[name])
	}
	for _, name := range f.Authentication {
		known := map[string]cosi.AuthenticationType_Type{
			"Key": cosi.AuthenticationType_KEY, "ServiceAccount": cosi.AuthenticationType_SERVICE_ACCOUNT,
		}
		by, found := known[name]
		if !found {
			return sanity.Config{}, fmt.Errorf("configuration: authentication %q is neither Key nor ServiceAccount", name)
		}
		config.Authentication = append(config.Authentication, by)
	}
	if f.NonEmptyDelete != "" && f.NonEmptyDelete != "refuse" && f.NonEmptyDelete != "delete" {
		return sanity.Config{}, fmt.Errorf("configuration: nonEmptyDelete %q is neither refuse nor delete", f.NonEmptyDelete)
	}
	if err := f.Hooks.apply(&config); err != nil {
		return sanity.Config{}, err
	}
	if config.Limits, err = f.Limits.parsed(); err != nil {
		return sanity.Config{}, err
	}
	return config, f.DataPlane.apply(&config)
}

func (d DataPlane) apply(config *sanity.Config) error {
	if d.Disabled {
		return nil
	}
	options := sanity.ProberOptions{AzureEndpoint: d.AzureEndpoint, GCSEndpoint: d.GCSEndpoint}
	if d.CertificateAuthority != "" {
		pem, err := os.ReadFile(d.CertificateAuthority)
		if err != nil {
			return fmt.Errorf("configuration: read the certificate authority: %w", err)
		}
		options.CertificateAuthority = pem
	}
	config.Probers = sanity.Probers(options)
	return nil
}

func (l Limits) parsed() (sanity.Limits, error) {
	limits := sanity.Limits{
		Repeats: l.Repeats, Names: l.Names, Concurrency: l.Concurrency, Operations: l.Operations, Parallel: l.Parallel,
	}
	for _, field := range []struct {
		name, text string
		to         *time.Duration
	}{
		{"settle", l.Settle, &limits.Settle},
		{"start", l.Start, &limits.Start},
		{"stop", l.Stop, &limits.Stop},
		{"rpc", l.RPC, &limits.RPC},
		{"case", l.Case, &limits.Case},
	} {
		if field.text == "" {
			continue
		}
		parsed, err := time.ParseDuration(field.text)
		if err != nil || parsed <= 0 {
			return sanity.Limits{}, fmt.Errorf("configuration: limits.%s: %q is not a duration such as 500ms or 30s", field.name, field.text)
		}
		*field.to = parsed
	}
	return limits, nil
}
