// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account/adminapi"
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

// list returns what is at the store: "kind name" lines of buckets, users, keys and policies.
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
	answer, err := call(http.MethodGet, "/minio/admin/v3/export-iam")
	if err != nil {
		return nil, err
	}
	return minioAccounts(answer)
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

// minioAccounts reads the archive of all that MinIO knows of accounts, which is cheaper than its list of users: that one is
// sealed with a key that takes 64 MB to derive.
func minioAccounts(archive []byte) ([]string, error) {
	files, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		return nil, err
	}
	var lines []string
	for kind, name := range map[string]string{"policy": "policies", "key": "users"} {
		text, err := fs.ReadFile(files, "iam-assets/"+name+".json")
		if err != nil {
			return nil, err
		}
		var found map[string]json.RawMessage
		if err := json.Unmarshal(text, &found); err != nil {
			return nil, err
		}
		for name := range found {
			lines = append(lines, kind+" "+name)
		}
	}
	return lines, nil
}
