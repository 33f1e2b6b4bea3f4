// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"os/exec"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// TestMain lets the test binary run as the driver, in a process of its own.
func TestMain(m *testing.M) {
	if os.Getenv("EXAMPLE_ROOT") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func serve(t *testing.T) (*drivertest.Client, *driver) {
	t.Helper()
	served := &driver{root: t.TempDir()}
	return drivertest.Serve(t, served, driverkit.Options{}), served
}

func grantOf(account string, buckets ...string) *cosi.DriverGrantBucketAccessRequest {
	request := &cosi.DriverGrantBucketAccessRequest{
		AccountId:          account,
		Protocol:           &cosi.ObjectProtocol{Type: cosi.ObjectProtocol_S3},
		AuthenticationType: &cosi.AuthenticationType{Type: cosi.AuthenticationType_KEY},
	}
	for _, bucket := range buckets {
		request.Buckets = append(request.Buckets, &cosi.AccessedBucket{
			BucketId: bucket, ObjectDataAccessMode: &cosi.AccessMode{Mode: cosi.AccessMode_READ_WRITE},
		})
	}
	return request
}

// TestABucketThatCannotBeLookedAt is not one that does not exist.
func TestABucketThatCannotBeLookedAt(t *testing.T) {
	t.Parallel()
	client, backend := serve(t)
	if err := os.Symlink(backend.path("bc-1"), backend.path("bc-1")); err != nil { // leads to itself
		t.Fatal(err)
	}
	_, err := client.DriverGetBucket(t.Context(), &cosi.DriverGetBucketRequest{BucketId: "bc-1"})
	wantCode(t, err, codes.Internal)
	_, err = client.DriverGrantBucketAccess(t.Context(), grantOf("ba-1", "bc-1"))
	wantCode(t, err, codes.Internal)
}

func wantCode(t *testing.T, err error, want codes.Code) {
	t.Helper()
	if got := status.Code(err); got != want {
		t.Errorf("code %s, want %s: %v", got, want, err)
	}
}

// TestBadEndpoint checks what the driver prints on standard error.
func TestBadEndpoint(t *testing.T) {
	t.Parallel()
	process := exec.Command(os.Args[0])
	process.Env = append(os.Environ(), "EXAMPLE_ROOT="+t.TempDir(), driverkit.EndpointVariable+"=tcp://:9000")
	var said bytes.Buffer
	process.Stderr = &said
	err := process.Run()
	const want = `cannot serve the driver: COSI_ENDPOINT: "tcp://:9000" is not a UNIX socket address; ` +
		"use unix:///path/to/driver.sock\n"
	if code := process.ProcessState.ExitCode(); code != 1 || said.String() != want {
		t.Errorf("exit code %d, %v, said %q", code, err, said.String())
	}
}

// TestSize keeps the promise that a complete driver is short.
func TestSize(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	if lines := bytes.Count(source, []byte("\n")); lines >= 165 {
		t.Errorf("main.go has %d lines, and should have less than 165", lines)
	}
}
