// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/cooper-cosi/cooper/fakes/fault"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity"
)

// eksCluster is the cluster that the store's EKS knows.
const eksCluster = "prod"

func s3OnFake(ctx context.Context, root, directory string) (sanity.Config, func() error, error) {
	return s3Driver(ctx, root, directory, "type: aws")
}

// s3Workloads grants to service accounts as well as with keys.
func s3Workloads(ctx context.Context, root, directory string) (sanity.Config, func() error, error) {
	config, done, err := s3Driver(ctx, root, directory, "type: aws\n    iam: {serviceAccounts: {eksCluster: "+eksCluster+"}}")
	config.Authentication = []cosi.AuthenticationType_Type{cosi.AuthenticationType_KEY, cosi.AuthenticationType_SERVICE_ACCOUNT}
	return config, done, err
}

// s3Static gives everybody the same key.
func s3Static(ctx context.Context, root, directory string) (sanity.Config, func() error, error) {
	config, done, err := s3Driver(ctx, root, directory,
		"type: static\n    workloads: {accessKeyIDFile: "+filepath.Join(directory, "id")+", secretAccessKeyFile: "+filepath.Join(directory, "secret")+"}")
	config.Rotation, config.SharedCredential = false, true
	config.Params.Access = map[string]string{"acceptSharedCredential": "true"}
	config.Params.InvalidAccess = map[string]string{"acceptSharedCredential": "perhaps"}
	return config, done, err
}

// s3Driver is the driver with one backend, of the configuration given, on a new fake.
func s3Driver(ctx context.Context, root, directory, backend string) (sanity.Config, func() error, error) {
	program := filepath.Join(directory, "driver")
	if err := build(ctx, root, "./cmd/cosi-driver-s3", program); err != nil {
		return sanity.Config{}, nil, err
	}
	server, err := s3fake.New(s3fake.Options{Clusters: map[string]string{eksCluster: "https://oidc.example.com/id"}})
	if err != nil {
		return sanity.Config{}, nil, fmt.Errorf("start s3fake: %w", err)
	}
	if err := server.Start(); err != nil {
		return sanity.Config{}, nil, fmt.Errorf("start s3fake: %w", err)
	}
	file := filepath.Join(directory, "config.yaml")
	id, secret := filepath.Join(directory, "id"), filepath.Join(directory, "secret")
	for name, text := range map[string]string{
		id: server.Root().AccessKeyID, secret: server.Root().SecretAccessKey,
		file: fmt.Sprintf("backends:\n  main:\n    %s\n    endpoint: %s\n    credentials: {accessKeyIDFile: %s, secretAccessKeyFile: %s}\n", backend, server.URL(), id, secret),
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return sanity.Config{}, nil, fmt.Errorf("configure the driver: %w", err)
		}
	}
	held := s3Backend{server: server}
	return sanity.Config{
		Launcher:    sanity.Exec{Command: []string{program, "--log-level", "debug", "--config", file}},
		Environment: []string{"COOPER_CREDENTIAL_STORE=directory:" + filepath.Join(directory, "credentials")},
		Params: sanity.Params{
			Bucket: map[string]string{"versioning": "false"}, Incompatible: map[string]string{"versioning": "true"},
			Invalid: map[string]string{"versioning": "perhaps"}, InvalidAccess: map[string]string{"allowDelete": "perhaps"},
		},
		Rotation: true, NonEmptyDelete: "refuse",
		Probers:   sanity.Probers(sanity.ProberOptions{}),
		Inventory: held.inventory,
		Fixture:   held,
		Backend:   held,
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
	for _, role := range held.Roles {
		found = append(found, sanity.Resource{Kind: sanity.KindAccount, Name: role.Name})
		for name := range role.Inline {
			found = append(found, sanity.Resource{Kind: sanity.KindPolicy, Name: role.Name + "/" + name})
		}
	}
	for _, name := range held.Associations {
		found = append(found, sanity.Resource{Kind: sanity.KindPolicy, Name: name})
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
