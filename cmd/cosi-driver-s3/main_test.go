// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"

	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// runAsMain makes the test binary the command itself.
const runAsMain = "COSI_DRIVER_S3_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(runAsMain) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// command is the driver as a process of its own, with no other environment than the given one.
func command(t *testing.T, environment map[string]string, arguments ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	started := exec.CommandContext(context.WithoutCancel(t.Context()), executable, arguments...)
	started.Env = []string{runAsMain + "=1"}
	for name, value := range environment {
		started.Env = append(started.Env, name+"="+value)
	}
	output := &bytes.Buffer{}
	started.Stdout, started.Stderr = output, output
	return started, output
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
	endpoint, store := drivertest.Endpoint(t), t.TempDir()
	environment := map[string]string{
		"COSI_ENDPOINT":               endpoint,
		"S3_DRIVER_ENDPOINT":          server.URL(),
		"S3_DRIVER_ACCESS_KEY_ID":     server.Root().AccessKeyID,
		"S3_DRIVER_SECRET_ACCESS_KEY": server.Root().SecretAccessKey,
		"S3_DRIVER_CREDENTIAL_STORE":  "directory:" + store,
		"S3_DRIVER_LOG_LEVEL":         "debug",
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
		started, output := command(t, environment)
		if err := started.Start(); err != nil {
			t.Fatal(err)
		}
		client := drivertest.Dial(t, endpoint)
		if _, err := client.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{BucketId: bucket}); err != nil {
			t.Error(err)
		}
		granted, err := client.DriverGrantBucketAccess(t.Context(), request)
		if err != nil {
			t.Error(err)
		}
		secrets = append(secrets, granted.GetCredentials().GetS3().GetAccessSecretKey())
		if err := started.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if err := started.Wait(); err != nil {
			t.Errorf("after SIGTERM: %v\n%s", err, output)
		}
		if _, err := os.Stat(strings.TrimPrefix(endpoint, "unix://")); err == nil {
			t.Error("the socket is left")
		}
		for _, secret := range append(secrets, server.Root().SecretAccessKey) {
			if secret == "" || strings.Contains(output.String(), secret) {
				t.Errorf("no secret, or one in the log:\n%s", output)
			}
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
	tests := map[string]struct {
		environment map[string]string
		arguments   []string
		want        string
	}{
		"no credential store":        {nil, nil, "--credential-store is needed"},
		"an unknown store":           {nil, []string{"--credential-store=vault:x"}, `"vault:x" is not one of`},
		"a store without its path":   {nil, []string{"--credential-store=directory:"}, "directory:/path"},
		"secrets outside of a pod":   {nil, []string{"--credential-store=kubernetes"}, "this is not a pod"},
		"an unknown flag":            {nil, []string{"--nope"}, "--nope"},
		"an argument that is none":   {nil, []string{"start"}, `unexpected argument "start"`},
		"an unknown log level":       {nil, []string{"--log-level=loud"}, "debug, info, warn, error"},
		"an unknown log format":      {nil, []string{"--log-format=xml"}, "text, json"},
		"a file that is not there":   {nil, []string{"--config=/nowhere.yaml"}, "/nowhere.yaml"},
		"a file with a mistake":      {nil, []string{"--config=" + file}, `backends.a.type: "azure"`},
		"a variable with a mistake":  {map[string]string{"S3_DRIVER_ENDPOINT": "localhost:9000"}, nil, "backends.default.endpoint"},
		"no socket to listen on":     {map[string]string{"S3_DRIVER_ENDPOINT": "http://localhost:1"}, []string{"--credential-store=memory"}, "COSI_ENDPOINT"},
		"a socket of another scheme": {map[string]string{"COSI_ENDPOINT": "tcp://127.0.0.1:1"}, []string{"--credential-store=memory"}, "unix://"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			started, output := command(t, test.environment, test.arguments...)
			if err := started.Run(); err == nil {
				t.Errorf("the process ended well:\n%s", output)
			}
			if !strings.Contains(output.String(), test.want) {
				t.Errorf("output does not say %q:\n%s", test.want, output)
			}
		})
	}
}

func TestHelpNamesEveryVariable(t *testing.T) {
	t.Parallel()
	started, output := command(t, nil, "--help")
	if err := started.Run(); err != nil {
		t.Errorf("--help: %v", err)
	}
	for _, want := range []string{"$COSI_ENDPOINT", "S3_DRIVER_ENDPOINT", "--credential-store"} {
		if !strings.Contains(output.String(), want) {
			t.Errorf("help does not say %s:\n%s", want, output)
		}
	}
}
