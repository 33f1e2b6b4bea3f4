// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/cooper-cosi/cooper/sanity"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
)

// target is a driver of this repository with the storage system it is tested on.
type target struct {
	name string
	// about says on the page what was tested.
	about string
	// configure prepares everything in a directory; done releases it.
	configure func(ctx context.Context, root, directory string) (config sanity.Config, done func() error, err error)
}

// outcome is the report about a target.
type outcome struct {
	target
	report sanity.Report
}

// failures explains what a driver of this repository must not do: fail a case, or leave something.
func (o outcome) failures() string {
	var text strings.Builder
	for _, result := range o.report.Results {
		if result.Outcome == sanity.Failed || result.Outcome == sanity.NotRun || len(result.Leftovers) > 0 {
			text.WriteString(result.Explain())
		}
	}
	return text.String()
}

func targets() []target {
	return []target{
		{"driverfake", "fakes/driverfake: S3 and Azure, keys and service accounts; its backend cannot be made to fail", fakeTarget},
		{"memdriver-wide", "sanity/memdriver: S3 and Azure, keys and service accounts, one credential for several buckets", memory(memdriver.Wide())},
		{"memdriver-narrow", "sanity/memdriver: GCS, keys, one bucket at a time", memory(memdriver.Narrow())},
		{"example", "drivers/driverkit/example, as a process; it has no data plane", example},
		{"s3driver", "cmd/cosi-driver-s3, as a process, on fakes/s3fake with S3 and IAM", s3OnFake},
		{"s3driver-workloads", "the same with service accounts too, which EKS Pod Identity gives a role", s3Workloads},
		{"s3driver-static", "the same on fakes/s3fake as a store without accounts, where all get the one configured key", s3Static},
		{"azuredriver", "cmd/cosi-driver-azure, as a process, on fakes/azurefake with keys and service accounts", azureOnFake},
	}
}

func (t target) run(ctx context.Context, root, directory string) (o outcome, err error) {
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return outcome{}, fmt.Errorf("make a directory: %w", err)
	}
	config, done, err := t.configure(ctx, root, directory)
	if err != nil {
		return outcome{}, err
	}
	defer func() { err = errors.Join(err, done()) }()
	report, err := sanity.Run(ctx, config)
	if err != nil {
		return outcome{}, fmt.Errorf("run the suite: %w", err)
	}
	return outcome{target: t, report: report}, nil
}

func nothing() error { return nil }

func memory(profile memdriver.Profile) func(context.Context, string, string) (sanity.Config, func() error, error) {
	return func(context.Context, string, string) (sanity.Config, func() error, error) {
		store := memdriver.NewStore("")
		config := memdriver.Config(store, profile)
		config.Launcher = memdriver.Launcher{Store: store, Profile: profile}
		config.Limits.Settle = 2 * time.Second
		return config, nothing, nil
	}
}

// build compiles a command of this module.
func build(ctx context.Context, root, pkg, to string) error {
	command := exec.CommandContext(ctx, "go", "build", "-o", to, pkg)
	command.Dir = root
	if text, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w: %s", pkg, err, text)
	}
	return nil
}

func example(ctx context.Context, root, directory string) (sanity.Config, func() error, error) {
	program, data := filepath.Join(directory, "driver"), filepath.Join(directory, "data")
	if err := build(ctx, root, "./drivers/driverkit/example", program); err != nil {
		return sanity.Config{}, nil, err
	}
	backend := exampleBackend{root: data}
	return sanity.Config{
		Launcher:    sanity.Exec{Command: []string{program}},
		Environment: []string{"EXAMPLE_ROOT=" + data},
		Params: sanity.Params{
			Bucket: map[string]string{"tier": "hot"}, Incompatible: map[string]string{"tier": "cold"}, Invalid: map[string]string{"tier": "lukewarm"},
		},
		Rotation:  true,
		Inventory: backend.inventory,
		Fixture:   backend,
	}, nothing, nil
}

// exampleBackend looks into the directory of the example driver and makes buckets there.
type exampleBackend struct{ root string }

func (b exampleBackend) inventory(context.Context) ([]sanity.Resource, error) {
	var state struct {
		Buckets  map[string]string
		Accounts map[string]struct{ Keys [][2]string }
	}
	text, err := os.ReadFile(filepath.Join(b.root, "state.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the state: %w", err)
	}
	if err := json.Unmarshal(text, &state); err != nil {
		return nil, fmt.Errorf("read the state: %w", err)
	}
	var found []sanity.Resource
	for id := range state.Buckets {
		found = append(found, sanity.Resource{Kind: sanity.KindBucket, Name: id})
	}
	for id, account := range state.Accounts {
		found = append(found, sanity.Resource{Kind: sanity.KindAccount, Name: id})
		for _, key := range account.Keys {
			found = append(found, sanity.Resource{Kind: sanity.KindKey, Name: key[0]})
		}
	}
	return found, nil
}

// BucketID implements sanity.Fixture.
func (exampleBackend) BucketID(name string) string { return name }

func (b exampleBackend) path(name string) string {
	return filepath.Join(b.root, fmt.Sprintf("bucket-%x", sha256.Sum256([]byte(name))))
}

// MakeBucket implements sanity.Fixture.
func (b exampleBackend) MakeBucket(_ context.Context, name string) error {
	return os.MkdirAll(b.path(name), 0o750)
}

// RemoveBucket implements sanity.Fixture.
func (b exampleBackend) RemoveBucket(_ context.Context, name string) error {
	return os.RemoveAll(b.path(name))
}
