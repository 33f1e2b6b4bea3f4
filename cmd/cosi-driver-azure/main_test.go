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
	"github.com/cooper-cosi/cooper/fakes/azurefake"
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

// TestProcessServesAndStops configures one process by variables and the next one by a file.
func TestProcessServesAndStops(t *testing.T) {
	t.Parallel()
	server, err := azurefake.New(azurefake.Options{})
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	key, _ := server.Keys(azurefake.DefaultAccount)
	keyFile, configFile := filepath.Join(t.TempDir(), "key"), filepath.Join(t.TempDir(), "config.yaml")
	config := "accounts: {" + azurefake.DefaultAccount + ": {endpoint: '" + server.URL() + "', credentials: {accountKeyFile: " + keyFile + "}}}"
	for file, text := range map[string]string{keyFile: key + "\n", configFile: config} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	collector := programtest.NewCollector(t)
	endpoint, health := drivertest.Endpoint(t), programtest.FreeAddress(t)
	common := map[string]string{"COSI_ENDPOINT": endpoint, "COOPER_LOG_LEVEL": "debug", "COOPER_HEALTH_ADDRESS": health, "COOPER_TRACES_ENDPOINT": collector.URL}
	variables := map[string]string{"AZURE_DRIVER_ACCOUNT": azurefake.DefaultAccount, "AZURE_DRIVER_ACCOUNT_KEY": key, "AZURE_DRIVER_ENDPOINT": server.URL()}
	maps.Copy(variables, common)
	bucket := "bc-" + uuid.NewString()
	request := &cosi.DriverGrantBucketAccessRequest{
		AccountId:          "ba-" + uuid.NewString(),
		Protocol:           &cosi.ObjectProtocol{Type: cosi.ObjectProtocol_AZURE},
		AuthenticationType: &cosi.AuthenticationType{Type: cosi.AuthenticationType_KEY},
		Buckets:            []*cosi.AccessedBucket{{BucketId: bucket, ObjectDataAccessMode: &cosi.AccessMode{Mode: cosi.AccessMode_READ_WRITE}}},
	}
	var tokens []string
	for _, launch := range []func() *programtest.Process{
		func() *programtest.Process { return start(t, variables) },
		func() *programtest.Process { return start(t, common, "--config="+configFile) },
	} {
		process := launch()
		client := drivertest.Dial(t, endpoint)
		if _, err := client.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{BucketId: bucket}); err != nil {
			t.Error(err)
		}
		granted, err := client.DriverGrantBucketAccess(t.Context(), request)
		if err != nil {
			t.Error(err)
		}
		tokens = append(tokens, granted.GetCredentials().GetAzure().GetAccessToken())
		process.AwaitPage("http://"+health+"/readyz", http.StatusOK, "ok")
		process.Terminate()
		if code := process.Exit(); code != 0 {
			t.Errorf("after SIGTERM: exit code %d\n%s", code, process.Output())
		}
		_, signature, _ := strings.Cut(tokens[0], "sig=")
		for _, secret := range []string{signature, key} {
			if secret == "" || strings.Contains(process.Output()+collector.Received(), secret) {
				t.Errorf("no secret, or one in the log or the traces:\n%s", process.Output())
			}
		}
	}
	for _, span := range []string{"DriverGrantBucketAccess", "Blob.SetContainerACL"} {
		if !strings.Contains(collector.Received(), span) {
			t.Errorf("no span of %s was exported", span)
		}
	}
	if tokens[0] != tokens[1] {
		t.Error("another process answers another token")
	}
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte("accounts: {a-b: {}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		environment map[string]string
		arguments   []string
		code        int
		want        string
	}{
		"no account":                {nil, nil, 1, "AZURE_DRIVER_ACCOUNT must name"},
		"no key":                    {map[string]string{"AZURE_DRIVER_ACCOUNT": "abc"}, nil, 1, "account key is needed"},
		"a file that is not there":  {nil, []string{"--config=/nowhere.yaml"}, 1, "/nowhere.yaml"},
		"a file with a mistake":     {nil, []string{"--config=" + file}, 1, `"a-b"`},
		"an unknown flag":           {nil, []string{"--nope"}, 2, "unknown flag: --nope; see --help"},
		"no socket to listen on":    {map[string]string{"COSI_ENDPOINT": ""}, nil, 2, "--endpoint or COSI_ENDPOINT: no endpoint is set; use unix:///"},
		"a variable with a mistake": {map[string]string{"AZURE_DRIVER_ACCOUNT": "abc", "AZURE_DRIVER_ENDPOINT": "localhost"}, nil, 1, "accounts.abc.endpoint"},
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
	for _, want := range []string{"[COSI_ENDPOINT]", "--health-address", "  AZURE_DRIVER_ACCOUNT_KEY "} {
		if !strings.Contains(process.Output(), want) {
			t.Errorf("help does not say %s:\n%s", want, process.Output())
		}
	}
}
