// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/internal/freeport"
	"github.com/cooper-cosi/cooper/internal/testing/drivercmdtest"
	"github.com/cooper-cosi/cooper/internal/testing/processtest"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/proto/v1alpha1"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
)

func TestMain(m *testing.M) {
	processtest.ProgramMain(main)
	os.Exit(m.Run())
}

// TestBadStarts covers invalid flags.
func TestBadStarts(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		arguments []string
		code      int
		want      string
	}{
		"an unknown flag":                 {[]string{"--nope"}, 2, "unknown flag: --nope"},
		"no socket to listen on":          {[]string{"--endpoint="}, 2, "--endpoint or COSI_ENDPOINT: no endpoint is set"},
		"no socket of a driver":           {nil, 2, "--driver-address: no endpoint is set"},
		"an unknown contract":             {[]string{"--driver-address=unix:///x/y.sock", "--driver-contract=v1"}, 2, `--driver-contract "v1" is not one of: v1alpha1, upstream-v1alpha2`},
		"a public address of the API":     {[]string{"--driver-address=unix:///x/y.sock", "--kubernetes-api-dir=x", "--kubernetes-api-address=:6443"}, 2, "is not a loopback IP address"},
		"a directory that cannot be made": {[]string{"--driver-address=unix:///x/y.sock", "--kubernetes-api-dir=/proc/none", "--kubernetes-api-address=127.0.0.1:0"}, 1, "--kubernetes-api-dir: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			launch := drivercmdtest.Launch{Arguments: append([]string{"--endpoint=" + drivertest.Endpoint(t)}, tc.arguments...)}
			process := launch.Start(t)
			if code := process.Exit(); code != tc.code || !strings.Contains(process.Output(), tc.want) {
				t.Errorf("want exit code %d and %q, got %d:\n%s", tc.code, tc.want, code, process.Output())
			}
		})
	}
}

// TestBeforeAndAfterItsDriver starts the adapter before the vendor's driver. It is not ready and serves the driver's
// Kubernetes API. Once the driver runs, it serves the contract, and keeps an encrypted credential over a restart.
func TestBeforeAndAfterItsDriver(t *testing.T) {
	t.Parallel()
	vendor, endpoint, health, store, kube := drivertest.Endpoint(t), drivertest.Endpoint(t), freeport.ForTest(t).Address(), t.TempDir(), t.TempDir()
	keys := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(keys, []byte("2026 AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	launch := drivercmdtest.Launch{Environment: map[string]string{"COSI_ENDPOINT": endpoint, "COOPER_LOG_LEVEL": "debug"}, Arguments: []string{
		"--driver-address=" + vendor, "--credential-store=directory:" + store, "--credential-key-file=" + keys,
		"--health-address=" + health, "--kubernetes-api-dir=" + kube, "--kubernetes-api-address=127.0.0.1:0",
	}}
	process := launch.Start(t)
	process.Await("waiting for the vendor's driver")
	process.AwaitPage("http://"+health+"/readyz", http.StatusServiceUnavailable, "the vendor's driver at "+vendor+" does not respond yet")
	if _, err := os.Stat(filepath.Join(kube, "token")); err != nil {
		t.Errorf("the driver has no token before it starts: %v", err)
	}

	driver := memdriver.New(memdriver.Options{Speaks: memdriver.V1alpha1, Defects: memdriver.With(memdriver.RotatesOnRepeat)})
	server, err := driver.Start(vendor)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Stop() }) // it may have stopped already
	process.AwaitPage("http://"+health+"/readyz", http.StatusOK, "ok")
	client := drivertest.Dial(t, endpoint)
	generated, err := client.DriverGenerateBucketId(t.Context(), &cosi.DriverGenerateBucketIdRequest{Name: "bc-1"})
	if err != nil {
		t.Fatal(err)
	}
	bucket := generated.GetBucketId()
	if err := client.Create(t, bucket, nil); err != nil {
		t.Fatal(err)
	}
	request := drivertest.GrantRequest(cosi.ObjectProtocol_S3, strings.TrimSuffix(bucket, "bc-1")+"ba-1", drivertest.Modes{Data: cosi.AccessMode_READ_WRITE}, bucket)
	request.Parameters = map[string]string{"cooper.dev/access-modes": "objectData=ReadWrite"}
	secret := client.MustGrant(t, request).GetCredentials().GetS3().GetAccessSecretKey()
	process.Terminate()
	if code := process.Exit(); code != 0 {
		t.Errorf("exit code %d:\n%s", code, process.Output())
	}
	again := launch.Start(t)
	if got := client.MustGrant(t, request).GetCredentials().GetS3().GetAccessSecretKey(); got != secret || secret == "" {
		t.Error("after a restart the credential is another one")
	}
	if calls := memdriver.Requests[*v1alpha1.DriverGrantBucketAccessRequest](driver); len(calls) != 1 {
		t.Errorf("the driver granted %d times", len(calls))
	}
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	drivertest.WantCode(t, client.Delete(t, bucket, nil), codes.Unavailable)
	again.Terminate()
	if code := again.Exit(); code != 0 {
		t.Errorf("exit code %d:\n%s", code, again.Output())
	}
	for where, text := range map[string]string{"log": process.Output() + again.Output(), "store": files(t, store)} {
		if strings.Contains(text, secret) {
			t.Errorf("the secret is in the %s", where)
		}
	}
}

// files returns the content of all files of a directory.
func files(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		data, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all.Write(data)
	}
	if !strings.Contains(all.String(), "aes256gcm:") {
		t.Error("the store has no encrypted entry")
	}
	return all.String()
}
