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
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/cooper-cosi/cooper/fakes/driverfake/memdriver"
	"github.com/cooper-cosi/cooper/fakes/fault"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	"github.com/cooper-cosi/cooper/sanity"
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
		{"memdriver-wide", "fakes/driverfake/memdriver: S3 and Azure, keys and service accounts, one credential for several buckets", memory(memdriver.Wide())},
		{"memdriver-narrow", "fakes/driverfake/memdriver: GCS, keys, one bucket at a time", memory(memdriver.Narrow())},
		{"example", "drivers/driverkit/example, as a process; it has no data plane", example},
		{"s3driver", "cmd/cosi-driver-s3, as a process, on fakes/s3fake with S3 and IAM", s3OnFake},
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

func s3OnFake(ctx context.Context, root, directory string) (sanity.Config, func() error, error) {
	program := filepath.Join(directory, "driver")
	if err := build(ctx, root, "./cmd/cosi-driver-s3", program); err != nil {
		return sanity.Config{}, nil, err
	}
	server, err := s3fake.New(s3fake.Options{})
	if err != nil {
		return sanity.Config{}, nil, fmt.Errorf("start s3fake: %w", err)
	}
	if err := server.Start(); err != nil {
		return sanity.Config{}, nil, fmt.Errorf("start s3fake: %w", err)
	}
	admin := server.Root()
	backend := s3Backend{server: server}
	return sanity.Config{
		Launcher: sanity.Exec{Command: []string{program, "--log-level", "debug"}},
		Environment: []string{
			"S3_DRIVER_ENDPOINT=" + server.URL(), "S3_DRIVER_ACCESS_KEY_ID=" + admin.AccessKeyID,
			"S3_DRIVER_SECRET_ACCESS_KEY=" + admin.SecretAccessKey,
			"COOPER_CREDENTIAL_STORE=directory:" + filepath.Join(directory, "credentials"),
		},
		Params: sanity.Params{
			Bucket: map[string]string{"versioning": "false"}, Incompatible: map[string]string{"versioning": "true"},
			Invalid: map[string]string{"versioning": "perhaps"}, InvalidAccess: map[string]string{"allowDelete": "perhaps"},
		},
		Rotation: true, NonEmptyDelete: "refuse",
		Probers:   sanity.Probers(sanity.ProberOptions{}),
		Inventory: backend.inventory,
		Fixture:   backend,
		Backend:   backend,
		Limits:    sanity.Limits{Settle: 10 * time.Second},
	}, server.Close, nil
}

// s3Backend looks into s3fake, and changes it as its administrator.
type s3Backend struct{ server *s3fake.Server }

func (b s3Backend) client(key, secret string) *s3.Client {
	return s3.New(s3.Options{
		Region: b.server.Region(), BaseEndpoint: aws.String(b.server.URL()), UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(key, secret, ""),
	})
}

func (b s3Backend) admin() *s3.Client {
	root := b.server.Root()
	return b.client(root.AccessKeyID, root.SecretAccessKey)
}

func (b s3Backend) inventory(context.Context) ([]sanity.Resource, error) {
	held := b.server.Inventory()
	var found []sanity.Resource
	for _, bucket := range held.Buckets {
		found = append(found, sanity.Resource{Kind: sanity.KindBucket, Name: bucket.Name})
	}
	for _, user := range held.Users {
		found = append(found, sanity.Resource{Kind: sanity.KindAccount, Name: user.Name})
		for id := range user.Keys {
			found = append(found, sanity.Resource{Kind: sanity.KindKey, Name: id})
		}
		for name := range user.Inline {
			found = append(found, sanity.Resource{Kind: sanity.KindPolicy, Name: user.Name + "/" + name})
		}
	}
	for _, name := range held.Policies {
		found = append(found, sanity.Resource{Kind: sanity.KindPolicy, Name: name})
	}
	return found, nil
}

// BucketID implements sanity.Fixture: the driver has one backend, so the name is the ID.
func (s3Backend) BucketID(name string) string { return name }

// MakeBucket implements sanity.Fixture.
func (b s3Backend) MakeBucket(ctx context.Context, name string) error {
	_, err := b.admin().CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String(name)})
	if err != nil {
		return fmt.Errorf("make bucket %s: %w", name, err)
	}
	return nil
}

// RemoveBucket implements sanity.Fixture.
func (b s3Backend) RemoveBucket(ctx context.Context, name string) error {
	holds := func(bucket s3fake.BucketInventory) bool { return bucket.Name == name }
	if !slices.ContainsFunc(b.server.Inventory().Buckets, holds) {
		return nil
	}
	if _, err := b.admin().DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: aws.String(name)}); err != nil {
		return fmt.Errorf("remove bucket %s: %w", name, err)
	}
	return nil
}

// TakeName implements sanity.ForeignFixture: a bucket without the driver's mark.
func (b s3Backend) TakeName(ctx context.Context, bucketID string) error {
	return b.MakeBucket(ctx, bucketID)
}

// FreeName implements sanity.ForeignFixture.
func (b s3Backend) FreeName(ctx context.Context, bucketID string) error {
	return b.RemoveBucket(ctx, bucketID)
}

// Can implements sanity.Backend.
func (s3Backend) Can(sanity.Fault) bool { return true }

// Break implements sanity.Backend. The probers are silent meanwhile, so every call may fail.
func (b s3Backend) Break(_ context.Context, how sanity.Fault) error {
	rule := fault.Rule{Name: string(how), Effect: fault.Drop}
	if how == sanity.LoginRefused {
		rule = fault.Rule{Name: string(how), Effect: fault.Fail, Code: "InvalidAccessKeyId", Status: 403}
	}
	return b.server.Faults.Add(rule)
}

// Mend implements sanity.Backend.
func (b s3Backend) Mend(context.Context, sanity.Fault) error {
	b.server.Faults.Clear()
	return nil
}
