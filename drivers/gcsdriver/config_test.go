// SPDX-License-Identifier: Apache-2.0

package gcsdriver_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/drivers/gcsdriver"
	"github.com/cooper-cosi/cooper/internal/credstore"
)

func TestParseConfigFillsInDefaults(t *testing.T) {
	t.Parallel()
	gke := "projects/123/locations/global/workloadIdentityPools/example.svc.id.goog"
	tests := map[string]struct {
		text string
		want gcsdriver.Config
	}{
		"one project has all defaults": {
			"backends: {main: {project: example}}",
			gcsdriver.Config{
				DriverName: "gcs.cooper.dev", DefaultBackend: "main",
				Backends: map[string]gcsdriver.BackendConfig{"main": {Project: "example", Location: "US", ReadLag: "1.5s"}},
			},
		},
		"several projects": {
			`{driverName: gcs.example.com, cluster: prod, defaultBackend: a, backends: {
				a: {project: "example.com:old-project", endpoint: "http://localhost:1", location: EU, workloadIdentity: {pool: ` + gke + `}},
				b: {project: project-b, endpoint: "http://localhost:1", iamEndpoint: "http://localhost:2", workloadIdentity: {pool: projects/1/locations/global/workloadIdentityPools/own},
					roles: {objectData: {writeOnly: projects/project-b/roles/drop}}}}}`,
			gcsdriver.Config{
				DriverName: "gcs.example.com", Cluster: "prod", DefaultBackend: "a",
				Backends: map[string]gcsdriver.BackendConfig{
					"a": {
						Project: "example.com:old-project", Endpoint: "http://localhost:1", IAMEndpoint: "http://localhost:1", Location: "EU",
						WorkloadIdentity: gcsdriver.WorkloadIdentityConfig{Pool: gke, Subject: "ns/{namespace}/sa/{name}"},
					},
					"b": {
						Project: "project-b", Endpoint: "http://localhost:1", IAMEndpoint: "http://localhost:2", Location: "US",
						WorkloadIdentity: gcsdriver.WorkloadIdentityConfig{Pool: "projects/1/locations/global/workloadIdentityPools/own", Subject: "system:serviceaccount:{namespace}:{name}"},
						Roles:            gcsdriver.RolesConfig{ObjectData: gcsdriver.ModesConfig{WriteOnly: "projects/project-b/roles/drop"}},
					},
				},
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := gcsdriver.Format().Parse([]byte(test.text))
			mustSucceed(t, err)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestParseConfigSaysEverythingThatIsWrong(t *testing.T) {
	t.Parallel()
	noCertificate := filepath.Join(t.TempDir(), "ca.pem")
	mustSucceed(t, os.WriteFile(noCertificate, []byte("text"), 0o600))
	tests := map[string]struct{ text, want string }{
		"no backend":                     {"{}", "backends: at least one"},
		"a lag that is too long":         {"backends: {a: {project: example, readLag: 1m}}", "backends.a.readLag"},
		"an unknown field":               {"backends: {a: {project: example, region: x}}", "backends.a.region: there is no such field"},
		"several without a default":      {"backends: {a: {project: example}, b: {project: example}}", "defaultBackend: is required"},
		"an unknown default":             {"{defaultBackend: c, backends: {a: {project: example}}}", `"c" is not one of the backends`},
		"a name with a dot":              {`backends: {"a.b": {project: example}}`, `the name "a.b"`},
		"no project":                     {"backends: {a: {}}", `backends.a.project: ""`},
		"a project in upper case":        {"backends: {a: {project: Example}}", "backends.a.project"},
		"an endpoint without a scheme":   {`backends: {a: {project: example, endpoint: "localhost:1"}}`, "backends.a.endpoint"},
		"an endpoint with a path":        {`backends: {a: {project: example, endpoint: "http://h/storage/v1"}}`, "must end after the host"},
		"an IAM endpoint with a user":    {`backends: {a: {project: example, iamEndpoint: "http://u:p@h"}}`, "backends.a.iamEndpoint"},
		"a file that is not there":       {"backends: {a: {project: example, caFile: /nowhere}}", "/nowhere"},
		"a file without certificate":     {"backends: {a: {project: example, caFile: " + noCertificate + "}}", "no PEM certificate"},
		"certificates without TLS":       {`backends: {a: {project: example, endpoint: "http://h", caFile: ` + noCertificate + "}}", "does not use TLS"},
		"a pool by its ID":               {"backends: {a: {project: example, workloadIdentity: {pool: example.svc.id.goog}}}", "backends.a.workloadIdentity.pool"},
		"a subject for everybody":        {"backends: {a: {project: example, workloadIdentity: {pool: projects/1/locations/global/workloadIdentityPools/p, subject: x}}}", "{namespace}"},
		"a role without roles in front":  {"backends: {a: {project: example, roles: {objectData: {readOnly: viewer}}}}", "backends.a.roles.objectData.readOnly"},
		"a location that is none":        {"backends: {a: {project: example, location: eu/west}}", "backends.a.location"},
		"a cluster that is no label":     {"{cluster: A, backends: {a: {project: example}}}", "cluster:"},
		"a driver name with underscores": {"{driverName: a_b, backends: {a: {project: example}}}", "driverName:"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := gcsdriver.Format().Parse([]byte(test.text)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

func TestConfigFromEnvironment(t *testing.T) {
	t.Parallel()
	values := map[string]string{}
	for _, variable := range gcsdriver.Format().Variables {
		if !strings.HasPrefix(variable.Name, gcsdriver.EnvironmentPrefix) || variable.Description == "" {
			t.Errorf("variable %+v", variable)
		}
	}
	lookup := func(name string) (string, bool) { value, set := values[name]; return value, set }
	if _, err := gcsdriver.Format().FromEnvironment(lookup); err == nil || !strings.Contains(err.Error(), "backends.default.project") {
		t.Errorf("without a project: %v", err)
	}
	values["GCS_DRIVER_PROJECT"], values["GCS_DRIVER_ENDPOINT"], values["GCS_DRIVER_READ_LAG"] = "example", "http://localhost:1 ", "2s"
	got, err := gcsdriver.Format().FromEnvironment(lookup)
	want := gcsdriver.BackendConfig{Project: "example", Endpoint: "http://localhost:1", IAMEndpoint: "http://localhost:1", Location: "US", ReadLag: "2s"}
	if diff := cmp.Diff(want, got.Backends["default"]); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

func TestRevisionFollowsWhatUsersGet(t *testing.T) {
	t.Parallel()
	revision := func(backend gcsdriver.BackendConfig) string {
		driver, err := gcsdriver.New(gcsdriver.Options{
			Config: gcsdriver.Config{Backends: map[string]gcsdriver.BackendConfig{"main": backend}}, Credentials: credstore.NewMemory(),
		})
		mustSucceed(t, err)
		return driver.Info().Revision
	}
	plain := gcsdriver.BackendConfig{Project: "example"}
	other, moved, roles := plain, plain, plain
	other.Project, moved.Location, roles.Roles.ObjectData.ReadOnly = "example-2", "EU", "roles/storage.objectAdmin"
	if revision(plain) == "" || revision(plain) != revision(moved) {
		t.Error("the location of new buckets changes the revision")
	}
	if revision(plain) == revision(other) || revision(plain) == revision(roles) {
		t.Error("the project or a role does not change the revision")
	}
}
