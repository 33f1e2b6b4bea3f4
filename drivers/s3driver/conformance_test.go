// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/fakes/fault"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	"github.com/cooper-cosi/cooper/internal/testing/conformancetest"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity"
	"github.com/cooper-cosi/cooper/sanity/sanitytest"
)

// TestConformance runs the conformance suite on the built command, with every store and every type of backend.
func TestConformance(t *testing.T) {
	t.Parallel()
	binary := sanitytest.Build(t, "github.com/cooper-cosi/cooper/cmd/cosi-driver-s3")
	onEveryTarget(t, func(t *testing.T, on target) {
		section := ""
		if !on.real {
			section = "cosi-driver-s3 on s3fake"
		}
		if on.backend.Type == s3driver.TypeStatic {
			conformancetest.Test(t, section, withOneKey(t, on, binary))
			return
		}
		report := conformancetest.Test(t, section, conformance(t, on, binary))
		row := on.row(t, report)
		t.Log(row)
		if *runningStore == "" && on.name != "" && !t.Failed() {
			row.Current(t)
		}
	})
	if *runningStore != "" {
		return
	}
	t.Run("our fake, with service accounts and the documented rights", func(t *testing.T) {
		t.Parallel()
		fulltest.Only(t, "the same with keys")
		on := least(t, ourFake(t), "cosi-sanity-")
		config := inFile(t, conformance(t, on, binary), "type: aws, accountID: '000000000000', "+
			"iam: {permissionsBoundary: '"+on.backend.IAM.PermissionsBoundary+"', serviceAccounts: {eksCluster: "+eksCluster+"}}", "credentials")
		config.Authentication = []cosi.AuthenticationType_Type{cosi.AuthenticationType_KEY, cosi.AuthenticationType_SERVICE_ACCOUNT}
		conformancetest.Test(t, "cosi-driver-s3 on s3fake, with service accounts", config)
	})
	t.Run("our fake, with lagging reads", func(t *testing.T) {
		t.Parallel()
		fulltest.Only(t, "the same without a lag")
		on, server := ourServer(t, s3fake.Options{Past: true})
		for _, operation := range []string{"iam:Get*", "iam:List*", "eks:*"} {
			mustSucceed(t, server.Faults.Add(fault.Rule{Operation: operation, Effect: fault.Stale, LagTime: fault.Duration(200 * time.Millisecond)}))
		}
		config := inFile(t, conformance(t, on, binary), "type: aws, readLag: 1.5s, iam: {serviceAccounts: {eksCluster: "+eksCluster+"}}", "credentials")
		config.Authentication = []cosi.AuthenticationType_Type{cosi.AuthenticationType_KEY, cosi.AuthenticationType_SERVICE_ACCOUNT}
		conformancetest.Test(t, "cosi-driver-s3 on s3fake, with lagging reads", config)
	})
	t.Run("our fake, by v1alpha1", func(t *testing.T) {
		t.Parallel()
		conformancetest.Test(t, "cosi-driver-s3 on s3fake, by v1alpha1", sanitytest.ByV1Alpha1(conformance(t, ourFake(t), binary)))
	})
	t.Run("our fake, with one key for all", func(t *testing.T) {
		t.Parallel()
		fulltest.Only(t, "the same with keys")
		conformancetest.Test(t, "cosi-driver-s3 on s3fake, with one key for all", withOneKey(t, ourFake(t), binary))
	})
}

// withOneKey configures type static, with the driver's key for all workloads.
func withOneKey(t *testing.T, on target, binary string) sanity.Config {
	t.Helper()
	config := inFile(t, conformance(t, on, binary), "type: static", "credentials", "workloads")
	config.Rotation, config.SharedCredential = false, true
	config.Params.Access = map[string]string{"acceptSharedCredential": "true"}
	config.Params.InvalidAccess = map[string]string{"acceptSharedCredential": "perhaps"}
	return config
}

// inFile configures the backend in a file, for settings that variables do not support, with the store's key under the
// given names.
func inFile(t *testing.T, config sanity.Config, settings string, keys ...string) sanity.Config {
	t.Helper()
	given := map[string]string{}
	var kept []string
	for _, pair := range config.Environment {
		name, value, _ := strings.Cut(pair, "=")
		if given[name] = value; !strings.HasPrefix(name, s3driver.EnvironmentPrefix) {
			kept = append(kept, pair)
		}
	}
	directory := t.TempDir()
	id, secret, file := filepath.Join(directory, "id"), filepath.Join(directory, "secret"), filepath.Join(directory, "config.yaml")
	settings += ", endpoint: '" + given["S3_DRIVER_ENDPOINT"] + "', publicEndpoint: '" + given["S3_DRIVER_PUBLIC_ENDPOINT"] + "'"
	if given["S3_DRIVER_INSECURE"] != "" {
		settings += ", insecure: true"
	}
	for _, key := range keys {
		settings += ", " + key + ": {accessKeyIDFile: '" + id + "', secretAccessKeyFile: '" + secret + "'}"
	}
	for path, text := range map[string]string{
		id: given["S3_DRIVER_ACCESS_KEY_ID"], secret: given["S3_DRIVER_SECRET_ACCESS_KEY"], file: "{cluster: " + eksCluster + ", backends: {main: {" + settings + "}}}",
	} {
		mustSucceed(t, os.WriteFile(path, []byte(text), 0o600))
	}
	launcher, _ := config.Launcher.(sanity.Exec)
	config.Launcher = sanity.Exec{Command: append(launcher.Command, "--config="+file)}
	config.Environment, config.Limits = kept, sanity.Limits{Repeats: 3, Operations: 30, Concurrency: 8}
	return config
}

func conformance(t *testing.T, on target, binary string) sanity.Config {
	t.Helper()
	broken := sanitytest.NewBackend(t, on.backend.Endpoint, refuseLogin)
	environment := []string{
		"S3_DRIVER_TYPE=" + string(on.backend.Type),
		"S3_DRIVER_ENDPOINT=" + broken.URL,
		"S3_DRIVER_PUBLIC_ENDPOINT=" + on.backend.Endpoint,
		"S3_DRIVER_ACCESS_KEY_ID=" + on.backend.Credentials.AccessKeyID,
		"S3_DRIVER_SECRET_ACCESS_KEY=" + on.backend.Credentials.SecretAccessKey.Reveal(),
		"COOPER_CREDENTIAL_STORE=directory:" + t.TempDir(),
		"COOPER_LOG_LEVEL=debug",
	}
	if on.backend.Insecure {
		environment = append(environment, "S3_DRIVER_INSECURE=true")
	}
	if on.backend.IAM.Endpoint != "" {
		environment = append(environment, "S3_DRIVER_IAM_ENDPOINT="+on.backend.IAM.Endpoint)
	}
	config := sanity.Config{
		Launcher:       sanity.Exec{Command: []string{binary}},
		Environment:    environment,
		Params:         conformanceParameters(),
		Rotation:       true,
		NonEmptyDelete: "refuse",
		Probers:        sanity.Probers(sanity.ProberOptions{}),
		Inventory:      func(ctx context.Context) ([]sanity.Resource, error) { return resources(ctx, on) },
		Fixture:        fixture{s3Client(on.backend.Endpoint, "us-east-1", on.rootID, on.rootSecret)},
		Backend:        broken,
	}
	if slices.Contains(on.can, lifecycleRules) {
		config.Params.Changed = map[string]string{"lifecycle": oneRule}
	}
	if on.real {
		config.Limits = sanity.Limits{Repeats: 3, Operations: 30, Concurrency: 8}
	}
	return config
}

func conformanceParameters() sanity.Params {
	return sanity.Params{
		Bucket:        map[string]string{"tags": `{"team":"a"}`},
		Incompatible:  map[string]string{"tags": `{"team":"b"}`},
		Invalid:       map[string]string{"versioning": "perhaps"},
		InvalidAccess: map[string]string{"allowDelete": "perhaps"},
	}
}

func resources(ctx context.Context, on target) ([]sanity.Resource, error) {
	lines, err := on.list(ctx)
	if err != nil {
		return nil, err
	}
	kinds := map[string]string{
		"user": sanity.KindAccount, "role": sanity.KindAccount, "key": sanity.KindKey, "bucket": sanity.KindBucket,
		"policy": sanity.KindPolicy, "association": sanity.KindPolicy,
	}
	var found []sanity.Resource
	for _, line := range lines {
		kind, name, _ := strings.Cut(line, " ")
		found = append(found, sanity.Resource{Kind: kinds[kind], Name: name})
	}
	return found, nil
}

// fixture creates buckets as the store's administrator.
type fixture struct{ root *s3.Client }

var _ sanity.ForeignFixture = fixture{}

func (fixture) BucketID(name string) string { return name }

func (f fixture) MakeBucket(ctx context.Context, name string) error {
	_, err := f.root.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &name})
	return err
}

func (f fixture) RemoveBucket(ctx context.Context, name string) error {
	objects, err := f.root.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &name})
	if err == nil {
		for _, object := range objects.Contents {
			if _, err := f.root.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &name, Key: object.Key}); err != nil {
				return err
			}
		}
		_, err = f.root.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: &name})
	}
	if missing := (&types.NoSuchBucket{}); err != nil && strings.Contains(err.Error(), missing.ErrorCode()) {
		return nil
	}
	return err
}

func (f fixture) TakeName(ctx context.Context, id string) error { return f.MakeBucket(ctx, id) }

func (f fixture) FreeName(ctx context.Context, id string) error { return f.RemoveBucket(ctx, id) }

// refuseLogin responds like S3 to an unknown key.
func refuseLogin(w http.ResponseWriter) {
	w.WriteHeader(http.StatusForbidden)
	_, _ = w.Write([]byte("<Error><Code>InvalidAccessKeyId</Code><Message>unknown key</Message></Error>"))
}
