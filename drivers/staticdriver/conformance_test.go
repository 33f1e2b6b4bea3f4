// SPDX-License-Identifier: Apache-2.0

package staticdriver_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/storage"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"google.golang.org/api/iterator"
	"google.golang.org/api/option"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/staticdriver"
	"github.com/cooper-cosi/cooper/fakes/azurefake"
	"github.com/cooper-cosi/cooper/fakes/faketest"
	"github.com/cooper-cosi/cooper/fakes/gcsfake"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	"github.com/cooper-cosi/cooper/internal/credstore"
	"github.com/cooper-cosi/cooper/internal/secretkeys"
	"github.com/cooper-cosi/cooper/internal/testing/conformancetest"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity"
	"github.com/cooper-cosi/cooper/sanity/sanitytest"
)

// pool is the number of buckets that an administrator has configured. Each case uses the next one.
const pool = 200

// TestConformance runs the conformance suite on the built command, limited to what a driver that creates nothing
// declares.
func TestConformance(t *testing.T) {
	t.Parallel()
	for fake, start := range fulltest.Rows(t, shops(), "s3fake") {
		t.Run(fake, func(t *testing.T) {
			t.Parallel()
			store := start(t)
			broken := sanitytest.NewBackend(t, store.url, func(w http.ResponseWriter) { w.WriteHeader(http.StatusForbidden) })
			config := filepath.Join(t.TempDir(), "config.yaml")
			mustSucceed(t, os.WriteFile(config, []byte(store.configuration(t, broken.URL)), 0o600))
			conformancetest.Test(t, "cosi-driver-static on "+fake, sanity.Config{
				Launcher:    sanity.Exec{Command: []string{sanitytest.Build(t, "github.com/cooper-cosi/cooper/cmd/cosi-driver-static"), "--config=" + config}},
				Environment: []string{"COOPER_CREDENTIAL_STORE=directory:" + t.TempDir(), "COOPER_LOG_LEVEL=debug"},
				Params: sanity.Params{
					Access: map[string]string{"acceptSharedCredential": "true"}, InvalidAccess: map[string]string{"acceptSharedCredential": "perhaps"},
				},
				SharedCredential: true, CreatesNothing: true,
				Probers: sanity.Probers(sanity.ProberOptions{GCSEndpoint: store.url}), Fixture: store, Backend: broken,
			})
		})
	}
}

func shops() map[string]func(*testing.T) *shop {
	return map[string]func(*testing.T) *shop{"s3fake": s3Shop, "azurefake": azureShop, "gcsfake": gcsShop}
}

// TestACredentialThatMayNotList checks that such a credential is delivered like any other, because the store
// recognizes it.
func TestACredentialThatMayNotList(t *testing.T) {
	t.Parallel()
	for fake, start := range shops() {
		t.Run(fake, func(t *testing.T) {
			t.Parallel()
			store, directory := start(t), t.TempDir()
			mustSucceed(t, store.build(t.Context(), "photos"))
			info, credential := store.give(store.url, "photos", driverkit.WriteOnly)
			write(t, directory, secretkeys.Data(store.api(), info, credential))
			client, _ := serve(t, staticdriver.Config{Buckets: map[string]staticdriver.BucketConfig{bucketID: {
				Endpoint: store.url, Credentials: []staticdriver.CredentialConfig{{Directory: directory, ObjectData: driverkit.WriteOnly}},
			}}}, credstore.NewMemory())
			_, err := client.DriverGetBucket(t.Context(), &cosi.DriverGetBucketRequest{BucketId: bucketID})
			mustSucceed(t, err)
			_, err = client.DriverGrantBucketAccess(t.Context(), store.grantOf("ba-1", cosi.AccessMode_WRITE_ONLY))
			mustSucceed(t, err)
		})
	}
}

// shop is a store and what its administrator has given the driver. It implements sanity.Fixture.
type shop struct {
	cloud
	// url is the address of the store.
	url string
	// give returns the description of a bucket and the credential with that mode, for users of the store at url.
	give func(url, bucket string, mode driverkit.Mode) (*cosi.ObjectProtocolAndBucketInfo, *cosi.CredentialInfo)
	// build creates a bucket; clear deletes it with its objects, and a missing one is not an error.
	build, clear func(ctx context.Context, bucket string) error

	mu    sync.Mutex
	taken map[string]string
}

// configuration returns each bucket with a credential with read and write access, and one with read access.
func (s *shop) configuration(t *testing.T, url string) string {
	t.Helper()
	var text strings.Builder
	text.WriteString("buckets:\n")
	directory := t.TempDir()
	for i := range pool {
		name := fmt.Sprintf("slot-%d", i)
		fmt.Fprintf(&text, "  %s: {endpoint: %q, credentials: [", name, url)
		for _, mode := range []driverkit.Mode{driverkit.ReadWrite, driverkit.ReadOnly} {
			at := filepath.Join(directory, name+string(mode))
			mustSucceed(t, os.Mkdir(at, 0o700))
			info, credential := s.give(url, name, mode)
			write(t, at, secretkeys.Data(s.api(), info, credential))
			fmt.Fprintf(&text, "{directory: %s, objectData: %s}, ", at, mode)
		}
		text.WriteString("]}\n")
	}
	return text.String()
}

// BucketID implements sanity.Fixture. It returns the next unused bucket.
func (s *shop) BucketID(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken == nil {
		s.taken = map[string]string{}
	}
	if s.taken[name] == "" {
		s.taken[name] = fmt.Sprintf("slot-%d", len(s.taken))
	}
	return s.taken[name]
}

// MakeBucket implements sanity.Fixture.
func (s *shop) MakeBucket(ctx context.Context, name string) error {
	return s.build(ctx, s.BucketID(name))
}

// RemoveBucket implements sanity.Fixture.
func (s *shop) RemoveBucket(ctx context.Context, name string) error {
	return s.clear(ctx, s.BucketID(name))
}

func s3Shop(t *testing.T) *shop {
	t.Helper()
	server := faketest.Start(t, s3fake.New, s3fake.Options{})
	root := credentials.NewStaticCredentialsProvider(server.Root().AccessKeyID, server.Root().SecretAccessKey, "")
	admin := iam.New(iam.Options{BaseEndpoint: aws.String(server.URL()), Region: "us-east-1", Credentials: root})
	keys := map[driverkit.Mode]*cosi.S3CredentialInfo{}
	for mode, actions := range map[driverkit.Mode]string{
		driverkit.ReadOnly: `"s3:GetObject*", "s3:ListBucket"`, driverkit.ReadWrite: `"s3:GetObject*", "s3:ListBucket", "s3:PutObject*", "s3:DeleteObject"`,
		driverkit.WriteOnly: `"s3:PutObject*"`,
	} {
		user := aws.String(string(mode))
		_, err := admin.CreateUser(t.Context(), &iam.CreateUserInput{UserName: user})
		mustSucceed(t, err)
		_, err = admin.PutUserPolicy(t.Context(), &iam.PutUserPolicyInput{
			UserName: user, PolicyName: user,
			PolicyDocument: aws.String(`{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": [` + actions + `], "Resource": "*"}]}`),
		})
		mustSucceed(t, err)
		made, err := admin.CreateAccessKey(t.Context(), &iam.CreateAccessKeyInput{UserName: user})
		mustSucceed(t, err)
		keys[mode] = &cosi.S3CredentialInfo{AccessKeyId: *made.AccessKey.AccessKeyId, AccessSecretKey: *made.AccessKey.SecretAccessKey}
	}
	client := s3.New(s3.Options{BaseEndpoint: aws.String(server.URL()), Region: "us-east-1", UsePathStyle: true, Credentials: root})
	return &shop{
		cloud: cloud{protocol: cosi.ObjectProtocol_S3}, url: server.URL(),
		give: func(url, bucket string, mode driverkit.Mode) (*cosi.ObjectProtocolAndBucketInfo, *cosi.CredentialInfo) {
			return &cosi.ObjectProtocolAndBucketInfo{S3: &cosi.S3BucketInfo{
				BucketId: bucket, Endpoint: url, Region: "us-east-1", AddressingStyle: &cosi.S3AddressingStyle{Style: cosi.S3AddressingStyle_PATH},
			}}, &cosi.CredentialInfo{S3: keys[mode]}
		},
		build: func(ctx context.Context, bucket string) error {
			_, err := client.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &bucket})
			return err
		},
		clear: func(ctx context.Context, bucket string) error {
			objects, err := client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &bucket})
			if _, missing := errors.AsType[*types.NoSuchBucket](err); missing {
				return nil
			}
			if err != nil {
				return err
			}
			for _, object := range objects.Contents {
				if _, err := client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &bucket, Key: object.Key}); err != nil {
					return err
				}
			}
			_, err = client.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: &bucket})
			return err
		},
	}
}

func azureShop(t *testing.T) *shop {
	t.Helper()
	const account = azurefake.DefaultAccount
	server := faketest.Start(t, azurefake.New, azurefake.Options{Deletion: -1})
	secret, _ := server.Keys(account)
	key, err := service.NewSharedKeyCredential(account, secret)
	mustSucceed(t, err)
	client, err := service.NewClientWithSharedKeyCredential(server.AccountURL(account), key, nil)
	mustSucceed(t, err)
	expiry := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	letters := map[driverkit.Mode]string{driverkit.ReadOnly: "rl", driverkit.ReadWrite: "rcwdl", driverkit.WriteOnly: "cw"}
	return &shop{
		cloud: cloud{protocol: cosi.ObjectProtocol_AZURE}, url: server.URL(),
		give: func(url, bucket string, mode driverkit.Mode) (*cosi.ObjectProtocolAndBucketInfo, *cosi.CredentialInfo) {
			signature, err := sas.BlobSignatureValues{ContainerName: bucket, Permissions: letters[mode], ExpiryTime: expiry}.SignWithSharedKey(key)
			mustSucceed(t, err)
			return &cosi.ObjectProtocolAndBucketInfo{Azure: &cosi.AzureBucketInfo{StorageAccount: account}}, &cosi.CredentialInfo{Azure: &cosi.AzureCredentialInfo{
				AccessToken: url + "/" + account + "/" + bucket + "?" + signature.Encode(), ExpiryTimestamp: expiry.Format(time.RFC3339),
			}}
		},
		build: func(ctx context.Context, bucket string) error {
			_, err := client.CreateContainer(ctx, bucket, nil)
			return err
		},
		clear: func(ctx context.Context, bucket string) error {
			_, err := client.DeleteContainer(ctx, bucket, nil)
			if bloberror.HasCode(err, bloberror.ContainerNotFound) {
				return nil
			}
			return err
		},
	}
}

func gcsShop(t *testing.T) *shop {
	t.Helper()
	server := faketest.Start(t, gcsfake.New, gcsfake.Options{})
	read, write := []string{"storage.objects.get", "storage.objects.list"}, []string{"storage.objects.create", "storage.objects.update", "storage.objects.delete"}
	pairs := map[driverkit.Mode]*cosi.GcsCredentialInfo{}
	for mode, permissions := range map[driverkit.Mode][]string{
		driverkit.ReadOnly: read, driverkit.ReadWrite: slices.Concat(read, write), driverkit.WriteOnly: write,
	} {
		email, err := server.NewAccount("", "with-"+strings.ToLower(string(mode)))
		mustSucceed(t, err)
		role, err := server.NewRole("", string(mode), permissions...)
		mustSucceed(t, err)
		mustSucceed(t, server.Grant("", "serviceAccount:"+email, role))
		pair, err := server.NewHMAC(email)
		mustSucceed(t, err)
		pairs[mode] = &cosi.GcsCredentialInfo{AccessId: pair.AccessID, AccessSecret: pair.Secret}
	}
	key, err := server.AdminKey("")
	mustSucceed(t, err)
	client, err := storage.NewClient(t.Context(), option.WithEndpoint(server.URL()+"/storage/v1/"), option.WithAuthCredentialsJSON(option.ServiceAccount, key))
	mustSucceed(t, err)
	return &shop{
		cloud: cloud{protocol: cosi.ObjectProtocol_GCS}, url: server.URL(),
		give: func(_, bucket string, mode driverkit.Mode) (*cosi.ObjectProtocolAndBucketInfo, *cosi.CredentialInfo) {
			return &cosi.ObjectProtocolAndBucketInfo{Gcs: &cosi.GcsBucketInfo{ProjectId: server.ProjectID(), BucketName: bucket}}, &cosi.CredentialInfo{Gcs: pairs[mode]}
		},
		build: func(ctx context.Context, bucket string) error {
			return client.Bucket(bucket).Create(ctx, server.ProjectID(), nil)
		},
		clear: func(ctx context.Context, bucket string) error {
			objects := client.Bucket(bucket).Objects(ctx, nil)
			for object, err := objects.Next(); !errors.Is(err, iterator.Done); object, err = objects.Next() {
				if errors.Is(err, storage.ErrBucketNotExist) {
					return nil
				}
				if err != nil {
					return err
				}
				if err := client.Bucket(bucket).Object(object.Name).Delete(ctx); err != nil {
					return err
				}
			}
			return client.Bucket(bucket).Delete(ctx)
		},
	}
}
