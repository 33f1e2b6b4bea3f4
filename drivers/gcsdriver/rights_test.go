// SPDX-License-Identifier: Apache-2.0

package gcsdriver_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/oauth2"
	iam "google.golang.org/api/iam/v1"
	"google.golang.org/api/option"
	"google.golang.org/grpc/codes"

	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver"
	"github.com/cooper-cosi/cooper/fakes/gcsfake"
)

// rights are the roles that docs/howto/gcs.md asks for.
var rights = []string{"roles/storage.admin", "roles/storage.hmacKeyAdmin", "roles/iam.serviceAccountAdmin", "roles/iam.serviceAccountKeyAdmin"}

// ownAccount makes a service account for a driver, with roles on the project, and returns a file with its key.
func ownAccount(t *testing.T, on google, roles ...string) string {
	t.Helper()
	email, err := on.NewAccount("", "cosi-driver")
	if err != nil {
		t.Fatal(err)
	}
	if err := on.Grant("", "serviceAccount:"+email, roles...); err != nil {
		t.Fatal(err)
	}
	token, err := on.Token(on.AdminEmail(""))
	if err != nil {
		t.Fatal(err)
	}
	service, err := iam.NewService(t.Context(), option.WithEndpoint(on.URL()+"/"), option.WithTokenSource(oauth2.StaticTokenSource(&oauth2.Token{AccessToken: token})))
	if err != nil {
		t.Fatal(err)
	}
	made, err := service.Projects.ServiceAccounts.Keys.Create("projects/-/serviceAccounts/"+email, &iam.CreateServiceAccountKeyRequest{}).Context(t.Context()).Do()
	if err != nil {
		t.Fatal(err)
	}
	key, err := base64.StdEncoding.DecodeString(made.PrivateKeyData)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "key.json")
	if err := os.WriteFile(file, key, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestRights does everything with the roles that the documentation names, and finds that each of them is needed.
func TestRights(t *testing.T) {
	t.Parallel()
	with := func(t *testing.T, roles ...string) *world {
		t.Helper()
		on := startGoogle(t, gcsfake.Options{})
		file := ownAccount(t, on, roles...)
		return newWorld(t, on, worldOptions{config: func(c *gcsdriver.Config) {
			backend := c.Backends["main"]
			backend.CredentialsFile = file
			c.Backends["main"] = backend
		}})
	}
	t.Run("all of them", func(t *testing.T) {
		t.Parallel()
		w := with(t, rights...)
		bucket := w.NewBucket(t, map[string]string{"deleteNonEmpty": "true"})
		request := grantRequest(drivertest.NewAccount(), readWrite, bucket)
		request.Parameters = map[string]string{"credentials": "both"}
		for _, request.Rotation = range []string{"", "1", "2"} {
			granted := w.MustGrant(t, request)
			if err := s3Put(t, hmacClient(t, w.google, granted), bucket, "key"); err != nil {
				t.Error(err)
			}
		}
		workload := as(grantRequest(drivertest.NewAccount(), readOnly, bucket), "team", "app")
		w.MustGrant(t, workload)
		drivertest.WantCode(t, w.Revoke(t, workload), codes.OK)
		drivertest.WantCode(t, w.Revoke(t, request), codes.OK)
		drivertest.WantCode(t, w.Delete(t, bucket, map[string]string{"deleteNonEmpty": "true"}), codes.OK)
	})
	for i, missing := range rights {
		t.Run("without "+missing, func(t *testing.T) {
			t.Parallel()
			w := with(t, append(append([]string(nil), rights[:i]...), rights[i+1:]...)...)
			bucket := drivertest.NewAccount()
			err := w.Create(t, bucket, nil)
			if err == nil {
				request := grantRequest(drivertest.NewAccount(), readWrite, bucket)
				request.Parameters = map[string]string{"credentials": "both"}
				_, err = w.DriverGrantBucketAccess(t.Context(), request)
			}
			drivertest.WantCode(t, err, codes.PermissionDenied)
		})
	}
}
