// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver"
	"github.com/cooper-cosi/cooper/fakes/faketest"
	"github.com/cooper-cosi/cooper/fakes/gcsfake"
	"github.com/cooper-cosi/cooper/internal/testing/drivercmdtest"
	"github.com/cooper-cosi/cooper/internal/testing/processtest"
	cosi "github.com/cooper-cosi/cooper/proto"
)

func TestMain(m *testing.M) {
	processtest.ProgramMain(main)
	os.Exit(m.Run())
}

// startStore starts a store and returns it with its administrator's key.
func startStore(t *testing.T) (*gcsfake.Server, []byte) {
	t.Helper()
	server := faketest.Start(t, gcsfake.New, gcsfake.Options{})
	key, err := server.AdminKey("")
	if err != nil {
		t.Fatal(err)
	}
	return server, key
}

func TestProcessServesAndStops(t *testing.T) {
	t.Parallel()
	server, key := startStore(t)
	file := filepath.Join(t.TempDir(), "key.json")
	if err := os.WriteFile(file, key, 0o600); err != nil {
		t.Fatal(err)
	}
	launch := drivercmdtest.Launch{Environment: map[string]string{
		"GCS_DRIVER_PROJECT":          server.ProjectID(),
		"GCS_DRIVER_ENDPOINT":         server.URL(),
		"GCS_DRIVER_CREDENTIALS_FILE": file,
		"COOPER_CREDENTIAL_STORE":     "directory:" + t.TempDir(),
	}}
	drivercmdtest.Life{
		Launches:   []drivercmdtest.Launch{launch, launch},
		Protocol:   cosi.ObjectProtocol_GCS,
		Parameters: map[string]string{"credentials": "both"},
		Secrets: func(granted *cosi.CredentialInfo) []string {
			return []string{granted.GetGcs().GetAccessSecret(), granted.GetGcs().GetPrivateKey()}
		},
		Metric: `cosi_driver_backend_call_duration_seconds_count{api="storage",backend="default",driver_name="gcs.cooper.dev",operation="buckets.insert",status="200"}`,
		Spans:  []string{"DriverGrantBucketAccess", "storage.buckets.insert"},
	}.Test(t)
}

// TestDefaultCredentials verifies that the driver finds its credentials where Google's clients look for them.
func TestDefaultCredentials(t *testing.T) {
	t.Parallel()
	server, key := startStore(t)
	home := t.TempDir()
	file := filepath.Join(home, ".config", "gcloud", "application_default_credentials.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, key, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		environment map[string]string
		code        codes.Code
	}{
		"the variable that names a file": {map[string]string{"HOME": t.TempDir(), "GOOGLE_APPLICATION_CREDENTIALS": file}, codes.OK},
		"the file in the home directory": {map[string]string{"HOME": home}, codes.OK},
		"a file that is not there":       {map[string]string{"HOME": home, "GOOGLE_APPLICATION_CREDENTIALS": "/nowhere.json"}, codes.Unauthenticated},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			endpoint := drivertest.Endpoint(t)
			environment := map[string]string{
				"COSI_ENDPOINT": endpoint, "GCS_DRIVER_PROJECT": server.ProjectID(), "GCS_DRIVER_ENDPOINT": server.URL(),
				"COOPER_CREDENTIAL_STORE": "directory:" + t.TempDir(),
			}
			maps.Copy(environment, tc.environment)
			process := drivercmdtest.Launch{Environment: environment}.Start(t)
			_, err := drivertest.Dial(t, endpoint).DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{BucketId: "bc-" + uuid.NewString()})
			if status.Code(err) != tc.code {
				t.Errorf("create: %v, want code %v", err, tc.code)
			}
			process.Terminate()
			if code := process.Exit(); code != 0 {
				t.Errorf("exit code %d\n%s", code, process.Output())
			}
		})
	}
}

func TestBadStarts(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte("backends: {a: {project: A}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	project := map[string]string{"GCS_DRIVER_PROJECT": "example"}
	mistake := map[string]string{"GCS_DRIVER_PROJECT": "example", "GCS_DRIVER_ENDPOINT": "localhost:9000"}
	drivercmdtest.BadStarts(t, map[string]drivercmdtest.BadStart{
		"no credential store":       {Launch: drivercmdtest.Launch{Environment: project}, Code: 2, Want: "--credential-store is not set"},
		"no project":                {Code: 1, Want: "backends.default.project"},
		"a file with a mistake":     {Launch: drivercmdtest.Launch{Arguments: []string{"--config=" + file}}, Code: 1, Want: `backends.a.project: "A"`},
		"a variable with a mistake": {Launch: drivercmdtest.Launch{Environment: mistake}, Code: 1, Want: "backends.default.endpoint"},
	})
}

func TestHelp(t *testing.T) {
	t.Parallel()
	var names []string
	for _, variable := range gcsdriver.Format().Variables {
		names = append(names, variable.Name)
	}
	drivercmdtest.Help(t, names...)
}
