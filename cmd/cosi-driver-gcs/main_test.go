// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cooper-cosi/cooper/cmd/internal/programtest"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver"
	"github.com/cooper-cosi/cooper/fakes/gcsfake"
	cosi "github.com/cooper-cosi/cooper/proto"
)

func TestMain(m *testing.M) {
	programtest.Main(main)
	os.Exit(m.Run())
}

// start starts the driver with no other environment than the given one.
func start(t *testing.T, environment map[string]string, arguments ...string) *programtest.Process {
	t.Helper()
	var pairs []string
	for name, value := range environment {
		pairs = append(pairs, name+"="+value)
	}
	return programtest.Start(t, pairs, arguments...)
}

func TestProcessServesAndStops(t *testing.T) {
	t.Parallel()
	server, err := gcsfake.New(gcsfake.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	key, err := server.AdminKey("")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "key.json")
	if err := os.WriteFile(file, key, 0o600); err != nil {
		t.Fatal(err)
	}
	collector := programtest.NewCollector(t)
	endpoint, health, metrics := drivertest.Endpoint(t), programtest.FreeAddress(t), programtest.FreeAddress(t)
	environment := map[string]string{
		"COSI_ENDPOINT":               endpoint,
		"GCS_DRIVER_PROJECT":          server.ProjectID(),
		"GCS_DRIVER_ENDPOINT":         server.URL(),
		"GCS_DRIVER_CREDENTIALS_FILE": file,
		"COOPER_CREDENTIAL_STORE":     "directory:" + t.TempDir(),
		"COOPER_LOG_LEVEL":            "debug",
		"COOPER_HEALTH_ADDRESS":       health,
		"COOPER_TRACES_ENDPOINT":      collector.URL,
		"COOPER_METRICS_ADDRESS":      metrics,
	}
	bucket := "bc-" + uuid.NewString()
	request := &cosi.DriverGrantBucketAccessRequest{
		AccountId:          "ba-" + uuid.NewString(),
		Protocol:           &cosi.ObjectProtocol{Type: cosi.ObjectProtocol_GCS},
		AuthenticationType: &cosi.AuthenticationType{Type: cosi.AuthenticationType_KEY},
		Parameters:         map[string]string{"credentials": "both"},
		Buckets:            []*cosi.AccessedBucket{{BucketId: bucket, ObjectDataAccessMode: &cosi.AccessMode{Mode: cosi.AccessMode_READ_WRITE}}},
	}
	var secrets []string
	for range 2 {
		process := start(t, environment)
		client := drivertest.Dial(t, endpoint)
		if _, err := client.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{BucketId: bucket}); err != nil {
			t.Error(err)
		}
		granted, err := client.DriverGrantBucketAccess(t.Context(), request)
		if err != nil {
			t.Error(err)
		}
		given := granted.GetCredentials().GetGcs()
		secrets = append(secrets, given.GetAccessSecret()+"\n"+given.GetPrivateKey())
		process.AwaitPage("http://"+health+"/readyz", http.StatusOK, "ok")
		process.AwaitPage("http://"+metrics+"/metrics", http.StatusOK, `cosi_driver_backend_call_duration_seconds_count{api="storage",backend="default",driver_name="gcs.cooper.dev",operation="buckets.insert",status="200"}`)
		process.Terminate()
		if code := process.Exit(); code != 0 {
			t.Errorf("after SIGTERM: exit code %d\n%s", code, process.Output())
		}
		if _, err := os.Stat(strings.TrimPrefix(endpoint, "unix://")); err == nil {
			t.Error("the socket is left")
		}
		for _, secret := range []string{given.GetAccessSecret(), given.GetPrivateKey()} {
			if secret == "" || strings.Contains(process.Output()+collector.Received(), secret) {
				t.Errorf("no secret, or one in the log or the traces:\n%s", process.Output())
			}
		}
		// The second process makes no bucket, but has to have the metric too.
		bucket = "bc-" + uuid.NewString()
	}
	for _, span := range []string{"DriverGrantBucketAccess", "storage.buckets.insert"} {
		if !strings.Contains(collector.Received(), span) {
			t.Errorf("no span of %s was exported", span)
		}
	}
	if secrets[0] != secrets[1] {
		t.Error("a restarted process answers another credential")
	}
}

// TestDefaultCredentials finds the driver's own credentials where Google's clients look for them.
func TestDefaultCredentials(t *testing.T) {
	t.Parallel()
	server, err := gcsfake.New(gcsfake.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	key, err := server.AdminKey("")
	if err != nil {
		t.Fatal(err)
	}
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
			process := start(t, environment)
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

func TestBadInput(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte("backends: {a: {project: A}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		environment map[string]string
		arguments   []string
		code        int
		want        string
	}{
		"no credential store":       {map[string]string{"GCS_DRIVER_PROJECT": "example"}, nil, 2, "--credential-store is needed"},
		"no project":                {nil, nil, 1, "backends.default.project"},
		"an unknown flag":           {nil, []string{"--nope"}, 2, "unknown flag: --nope; see --help"},
		"a file that is not there":  {nil, []string{"--config=/nowhere.yaml"}, 1, "/nowhere.yaml"},
		"a file with a mistake":     {nil, []string{"--config=" + file}, 1, `backends.a.project: "A"`},
		"a variable with a mistake": {map[string]string{"GCS_DRIVER_PROJECT": "example", "GCS_DRIVER_ENDPOINT": "localhost:9000"}, nil, 1, "backends.default.endpoint"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			environment := map[string]string{"COSI_ENDPOINT": drivertest.Endpoint(t)}
			maps.Copy(environment, tc.environment)
			process := start(t, environment, tc.arguments...)
			if code := process.Exit(); code != tc.code || !strings.Contains(process.Output(), tc.want) {
				t.Errorf("want exit code %d and %q, got %d:\n%s", tc.code, tc.want, code, process.Output())
			}
		})
	}
}

func TestHelpNamesEveryVariable(t *testing.T) {
	t.Parallel()
	process := start(t, nil, "--help")
	if code := process.Exit(); code != 0 {
		t.Errorf("--help: exit code %d", code)
	}
	for _, variable := range gcsdriver.Variables() {
		if !strings.Contains(process.Output(), variable.Name) {
			t.Errorf("help does not say %s:\n%s", variable.Name, process.Output())
		}
	}
}
