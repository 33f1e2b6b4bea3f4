// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/secure-io/sio-go"
	"golang.org/x/crypto/argon2"

	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/adminapi"
	"github.com/cooper-cosi/cooper/internal/credstore"
)

// inventory lists everything at the store and in the credential store, as its administrator sees it.
func inventory(t *testing.T, on target, store *credstore.Memory) []string {
	t.Helper()
	lines, err := on.list(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, account := range store.Accounts() {
		// The record of the backends in use stays.
		if strings.HasPrefix(account, "driver/") {
			continue
		}
		lines = append(lines, "stored "+account)
	}
	slices.Sort(lines)
	return lines
}

// list answers what is at the store: "kind name" lines of buckets, users, keys and policies.
func (on target) list(ctx context.Context) ([]string, error) {
	lines, err := on.accounts(ctx)
	if err != nil {
		return nil, err
	}
	root := s3Client(on.backend.Endpoint, "us-east-1", on.rootID, on.rootSecret)
	buckets, err := root.ListBuckets(ctx, &s3.ListBucketsInput{})
	if err != nil {
		return nil, err
	}
	for _, bucket := range buckets.Buckets {
		lines = append(lines, "bucket "+aws.ToString(bucket.Name))
	}
	return lines, nil
}

// iamAccounts lists users, keys and inline policies through an IAM API.
func iamAccounts(ctx context.Context, endpoint, id, secret string) ([]string, error) {
	client := iam.New(iam.Options{BaseEndpoint: aws.String(endpoint), Region: "us-east-1", Credentials: fixedCredentials(id, secret)})
	users, err := client.ListUsers(ctx, &iam.ListUsersInput{})
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, user := range users.Users {
		name := aws.ToString(user.UserName)
		lines = append(lines, "user "+name)
		keys, err := client.ListAccessKeys(ctx, &iam.ListAccessKeysInput{UserName: user.UserName})
		if err != nil {
			return nil, err
		}
		for _, key := range keys.AccessKeyMetadata {
			lines = append(lines, "key "+name+" "+aws.ToString(key.AccessKeyId))
		}
		policies, err := client.ListUserPolicies(ctx, &iam.ListUserPoliciesInput{UserName: user.UserName})
		if err != nil {
			return nil, err
		}
		for _, policy := range policies.PolicyNames {
			lines = append(lines, "policy "+name+" "+policy)
		}
	}
	return lines, nil
}

// adminAccounts lists users and policies through the admin API of a store. Each user of theirs is a
// key of an account.
func adminAccounts(ctx context.Context, kind s3driver.BackendType, endpoint string) ([]string, error) {
	client := &adminapi.Client{
		Name: string(kind), Endpoint: endpoint, Region: "us-east-1", Credentials: fixedCredentials(rootAccessKey, rootSecretKey), HTTP: http.DefaultClient,
	}
	call := func(method, path string) ([]byte, error) {
		return client.Call(ctx, adminapi.Request{Operation: path, Method: method, Path: path})
	}
	if kind == s3driver.TypeVersityGW {
		answer, err := call(http.MethodPatch, "/list-users")
		if err != nil {
			return nil, err
		}
		return versityAccounts(answer)
	}
	answer, err := call(http.MethodGet, "/minio/admin/v3/list-canned-policies")
	if err != nil {
		return nil, err
	}
	var policies map[string]json.RawMessage
	if err := json.Unmarshal(answer, &policies); err != nil {
		return nil, err
	}
	sealed, err := call(http.MethodGet, "/minio/admin/v3/list-users")
	if err != nil {
		return nil, err
	}
	lines, err := minioUsers(sealed)
	for name := range policies {
		lines = append(lines, "policy "+name)
	}
	return lines, err
}

func versityAccounts(answer []byte) ([]string, error) {
	var parsed struct {
		Accounts []struct{ Access string }
	}
	if err := xml.Unmarshal(answer, &parsed); err != nil {
		return nil, err
	}
	var lines []string
	for _, found := range parsed.Accounts {
		lines = append(lines, "key "+found.Access)
	}
	return lines, nil
}

// minioUsers decrypts the list of users, which is sealed as requests with secrets are.
func minioUsers(sealed []byte) ([]string, error) {
	const header = 32 + 1 + 8
	stream, err := sio.AES_256_GCM.Stream(argon2.IDKey([]byte(rootSecretKey), sealed[:32], 1, 64<<10, 4, 32))
	if err != nil {
		return nil, err
	}
	plain, err := io.ReadAll(stream.DecryptReader(bytes.NewReader(sealed[header:]), sealed[33:header], nil))
	if err != nil {
		return nil, err
	}
	var users map[string]json.RawMessage
	if err := json.Unmarshal(plain, &users); err != nil {
		return nil, err
	}
	var lines []string
	for name := range users {
		lines = append(lines, "key "+name)
	}
	return lines, nil
}
