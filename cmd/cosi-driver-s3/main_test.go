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

	"github.com/cooper-cosi/cooper/cmd/internal/programtest"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
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
	server, err := s3fake.New(s3fake.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	collector := programtest.NewCollector(t)
	endpoint, store, health := drivertest.Endpoint(t), t.TempDir(), programtest.FreeAddress(t)
	environment := map[string]string{
		"COSI_ENDPOINT":               endpoint,
		"S3_DRIVER_ENDPOINT":          server.URL(),
		"S3_DRIVER_ACCESS_KEY_ID":     server.Root().AccessKeyID,
		"S3_DRIVER_SECRET_ACCESS_KEY": server.Root().SecretAccessKey,
		"COOPER_CREDENTIAL_STORE":     "directory:" + store,
		"COOPER_LOG_LEVEL":            "debug",
		"COOPER_HEALTH_ADDRESS":       health,
		"COOPER_TRACES_ENDPOINT":      collector.URL,
	}
	bucket := "bc-" + uuid.NewString()
	request := &cosi.DriverGrantBucketAccessRequest{
		AccountId:          "ba-" + uuid.NewString(),
		Protocol:           &cosi.ObjectProtocol{Type: cosi.ObjectProtocol_S3},
		AuthenticationType: &cosi.AuthenticationType{Type: cosi.AuthenticationType_KEY},
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
		secrets = append(secrets, granted.GetCredentials().GetS3().GetAccessSecretKey())
		process.AwaitPage("http://"+health+"/readyz", http.StatusOK, "ok")
		process.Terminate()
		if code := process.Exit(); code != 0 {
			t.Errorf("after SIGTERM: exit code %d\n%s", code, process.Output())
		}
		if _, err := os.Stat(strings.TrimPrefix(endpoint, "unix://")); err == nil {
			t.Error("the socket is left")
		}
		for _, secret := range append(secrets, server.Root().SecretAccessKey) {
			if secret == "" || strings.Contains(process.Output()+collector.Received(), secret) {
				t.Errorf("no secret, or one in the log or the traces:\n%s", process.Output())
			}
		}
	}
	for _, span := range []string{"DriverGrantBucketAccess", "IAM.CreateUser"} {
		if !strings.Contains(collector.Received(), span) {
			t.Errorf("no span of %s was exported", span)
		}
	}
	if secrets[0] != secrets[1] {
		t.Error("a restarted process answers another credential")
	}
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte("backends: {a: {type: azure}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	busy := programtest.BusyAddress(t)
	for name, tc := range map[string]struct {
		environment map[string]string
		arguments   []string
		code        int
		want        string
	}{
		"no credential store":        {nil, nil, 2, "--credential-store is needed"},
		"an unknown store":           {nil, []string{"--credential-store=vault:x"}, 2, `"vault:x" is not one of`},
		"a store without its path":   {nil, []string{"--credential-store=directory:"}, 2, "directory:/path"},
		"secrets outside of a Pod":   {nil, []string{"--credential-store=kubernetes"}, 2, "this is not a Pod"},
		"no way to an API server":    {nil, []string{"--credential-store=kubernetes:store"}, 1, "--kubeconfig FILE"},
		"an unknown flag":            {nil, []string{"--nope"}, 2, "unknown flag: --nope; see --help"},
		"an argument that is none":   {nil, []string{"start"}, 2, `unexpected argument "start"; see --help`},
		"an unknown log level":       {nil, []string{"--log-level=loud"}, 2, "debug, info, warn, error"},
		"an unknown log format":      {nil, []string{"--log-format=xml"}, 2, "text, json"},
		"a file that is not there":   {nil, []string{"--config=/nowhere.yaml"}, 1, "/nowhere.yaml"},
		"a file with a mistake":      {nil, []string{"--config=" + file}, 1, `backends.a.type: "azure"`},
		"a variable with a mistake":  {map[string]string{"S3_DRIVER_ENDPOINT": "localhost:9000"}, nil, 1, "backends.default.endpoint"},
		"no socket to listen on":     {map[string]string{"COSI_ENDPOINT": ""}, nil, 2, "--endpoint or COSI_ENDPOINT: no endpoint is set; use unix:///"},
		"a socket of another scheme": {nil, []string{"--endpoint=tcp://127.0.0.1:1"}, 2, `--endpoint or COSI_ENDPOINT: "tcp://127.0.0.1:1" is not a UNIX socket address; use unix:///`},
		"a busy port for metrics":    {nil, []string{"--credential-store=memory", "--metrics-address=" + busy}, 1, "serving metrics: listen tcp " + busy},
		"a busy port for health":     {nil, []string{"--credential-store=memory", "--health-address=" + busy}, 1, "serving health: listen tcp " + busy},
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
	for _, want := range []string{"[COSI_ENDPOINT]", "[COOPER_CREDENTIAL_STORE]", "[KUBECONFIG]", "--health-address", "  S3_DRIVER_ENDPOINT "} {
		if !strings.Contains(process.Output(), want) {
			t.Errorf("help does not say %s:\n%s", want, process.Output())
		}
	}
}
