// SPDX-License-Identifier: Apache-2.0

package gcsdriver_test

import (
	"encoding/base64"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"cloud.google.com/go/storage"
	"golang.org/x/oauth2"
	"google.golang.org/api/cloudresourcemanager/v1"
	iam "google.golang.org/api/iam/v1"
	"google.golang.org/api/option"
	"google.golang.org/grpc/codes"

	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver"
	"github.com/cooper-cosi/cooper/fakes/gcsfake"
)

// home is the project of the driver's own account: that of its buckets has no account with rights elsewhere.
const home = "cosi-home"

// startProjects starts a fake Google Cloud set up as in docs/howto/gcs.md, with an additional project of another
// owner.
func startProjects(t *testing.T, options gcsfake.Options) google {
	t.Helper()
	options.Projects = []gcsfake.Project{{ID: gcsfake.DefaultProject}, {ID: home}, {ID: "company"}}
	return startGoogle(t, options)
}

// TestRightsEndAtTheProject simulates an attacker with the driver's account, who must not gain access beyond its
// project.
func rights(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "howto", "gcs.md"))
	mustSucceed(t, err)
	var roles []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(roles/[^`]+)` \\|").FindAllStringSubmatch(string(text), -1) {
		roles = append(roles, row[1])
	}
	return roles
}

// ownAccount makes a service account for a driver, with roles on the project, and returns a file with its key.
func ownAccount(t *testing.T, on google, roles ...string) string {
	t.Helper()
	email, err := on.NewAccount(home, "cosi-driver")
	mustSucceed(t, err)
	mustSucceed(t, on.Grant("", "serviceAccount:"+email, roles...))
	service := accountsOf(t, on, on.AdminEmail(home))
	made, err := service.Keys.Create("projects/-/serviceAccounts/"+email, &iam.CreateServiceAccountKeyRequest{}).Context(t.Context()).Do()
	mustSucceed(t, err)
	key, err := base64.StdEncoding.DecodeString(made.PrivateKeyData)
	mustSucceed(t, err)
	file := filepath.Join(t.TempDir(), "key.json")
	mustSucceed(t, os.WriteFile(file, key, 0o600))
	return file
}

func mustSucceed(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tokenOf is how clients prove to be a service account.
func tokenOf(t *testing.T, on google, email string) option.ClientOption {
	t.Helper()
	token, err := on.Token(email)
	mustSucceed(t, err)
	return option.WithTokenSource(oauth2.StaticTokenSource(&oauth2.Token{AccessToken: token}))
}

func accountsOf(t *testing.T, on google, email string) *iam.ProjectsServiceAccountsService {
	t.Helper()
	service, err := iam.NewService(t.Context(), option.WithEndpoint(on.URL()+"/"), tokenOf(t, on, email))
	mustSucceed(t, err)
	return service.Projects.ServiceAccounts
}

// TestRights does everything with the roles that the documentation names, and finds that each of them is needed.
func TestRights(t *testing.T) {
	t.Parallel()
	with := func(t *testing.T, roles ...string) *world {
		t.Helper()
		on := startProjects(t, gcsfake.Options{})
		file := ownAccount(t, on, roles...)
		return newWorld(t, on, worldOptions{config: func(c *gcsdriver.Config) {
			backend := c.Backends["main"]
			backend.CredentialsFile = file
			c.Backends["main"] = backend
		}})
	}
	t.Run("all of them", func(t *testing.T) {
		t.Parallel()
		w := with(t, rights(t)...)
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
	t.Run("one of them for service accounts alone", func(t *testing.T) {
		t.Parallel()
		w := with(t, "roles/storage.admin")
		bucket := w.NewBucket(t, nil)
		workload := as(grantRequest(drivertest.NewAccount(), readWrite, bucket), "team", "app")
		w.MustGrant(t, workload)
		w.MustGrant(t, workload)
		drivertest.WantCode(t, w.Revoke(t, workload), codes.OK)
		drivertest.WantCode(t, w.Delete(t, bucket, nil), codes.OK)
	})
	for i, missing := range rights(t) {
		t.Run("without "+missing, func(t *testing.T) {
			t.Parallel()
			w := with(t, slices.Delete(rights(t), i, i+1)...)
			bucket := drivertest.NewAccount()
			err := w.Create(t, bucket, nil)
			if err == nil {
				request := grantRequest(drivertest.NewAccount(), readWrite, bucket)
				request.Parameters = map[string]string{"credentials": "both"}
				if _, err = w.DriverGrantBucketAccess(t.Context(), request); err == nil {
					err = w.Revoke(t, request)
				}
			}
			drivertest.WantCode(t, err, codes.PermissionDenied)
		})
	}
}

// TestRightsEndAtTheProject tries to get permissions outside of the project with the driver's account.
func TestRightsEndAtTheProject(t *testing.T) {
	t.Parallel()
	on := startProjects(t, gcsfake.Options{})
	ownAccount(t, on, rights(t)...)
	inside, err := on.NewAccount("", "access-1")
	mustSucceed(t, err)
	outside, err := on.NewAccount("company", "payroll")
	mustSucceed(t, err)
	foreign := client(t, on.URL(), tokenOf(t, on, on.AdminEmail("company"))).Bucket("company-data")
	mustSucceed(t, foreign.Create(t.Context(), "company", nil))

	me := "cosi-driver@" + home + ".iam.gserviceaccount.com"
	own, accounts := client(t, on.URL(), tokenOf(t, on, me)), accountsOf(t, on, me)
	projects, err := cloudresourcemanager.NewService(t.Context(), option.WithEndpoint(on.URL()+"/"), tokenOf(t, on, me))
	mustSucceed(t, err)
	const anyProject = "projects/-/serviceAccounts/"
	tries := map[string]func() error{
		"to own the project": func() error {
			_, err := projects.Projects.SetIamPolicy(on.ProjectID(), &cloudresourcemanager.SetIamPolicyRequest{Policy: &cloudresourcemanager.Policy{
				Bindings: []*cloudresourcemanager.Binding{{Role: "roles/owner", Members: []string{"serviceAccount:" + me}}},
			}}).Context(t.Context()).Do()
			return err
		},
		"tokens of an account without a key": func() error {
			_, err := accounts.SetIamPolicy(anyProject+inside, &iam.SetIamPolicyRequest{Policy: &iam.Policy{
				Bindings: []*iam.Binding{{Role: "roles/iam.serviceAccountTokenCreator", Members: []string{"serviceAccount:" + me}}},
			}}).Context(t.Context()).Do()
			return err
		},
		"to disable an account": func() error {
			_, err := accounts.Disable(anyProject+inside, &iam.DisableServiceAccountRequest{}).Context(t.Context()).Do()
			return err
		},
		"a key of another owner's account": func() error {
			_, err := accounts.Keys.Create(anyProject+outside, &iam.CreateServiceAccountKeyRequest{}).Context(t.Context()).Do()
			return err
		},
		"an HMAC key of another owner's account": func() error {
			_, err := own.CreateHMACKey(t.Context(), "company", outside)
			return err
		},
		"delete another owner's account": func() error {
			_, err := accounts.Delete(anyProject + outside).Context(t.Context()).Do()
			return err
		},
		"an account in another project": func() error {
			_, err := accounts.Create("projects/company", &iam.CreateServiceAccountRequest{AccountId: "ba-2000"}).Context(t.Context()).Do()
			return err
		},
		"a bucket in another project":   func() error { return own.Bucket("bc-2").Create(t.Context(), "company", nil) },
		"delete another owner's bucket": func() error { return own.Bucket("company-data").Delete(t.Context()) },
		"change another owner's bucket": func() error {
			_, err := own.Bucket("company-data").Update(t.Context(), storage.BucketAttrsToUpdate{VersioningEnabled: true})
			return err
		},
	}
	for name, try := range tries {
		if status := httpStatus(try()); status != http.StatusForbidden {
			t.Errorf("%s: %d, want it refused", name, status)
		}
	}
}
