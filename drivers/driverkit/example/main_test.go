// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// TestMain lets the test binary run as the driver, so that a test can kill it.
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

func revokeOf(grant *cosi.DriverGrantBucketAccessRequest) *cosi.DriverRevokeBucketAccessRequest {
	request := &cosi.DriverRevokeBucketAccessRequest{
		AccountId: grant.GetAccountId(), Protocol: grant.GetProtocol(), AuthenticationType: grant.GetAuthenticationType(),
	}
	for _, bucket := range grant.GetBuckets() {
		request.Buckets = append(request.Buckets, &cosi.DriverRevokeBucketAccessRequest_AccessedBucket{BucketId: bucket.GetBucketId()})
	}
	return request
}

func TestLifecycle(t *testing.T) {
	t.Parallel()
	client, backend := serve(t)
	ctx := t.Context()
	create := &cosi.DriverCreateBucketRequest{BucketId: "bc-1", Parameters: map[string]string{"tier": "hot"}}
	for range 2 {
		if _, err := client.DriverCreateBucket(ctx, create); err != nil {
			t.Fatal(err)
		}
	}
	_, err := client.DriverCreateBucket(ctx, &cosi.DriverCreateBucketRequest{BucketId: "bc-1"})
	wantCode(t, err, codes.AlreadyExists)
	_, err = client.DriverGetBucket(ctx, &cosi.DriverGetBucketRequest{BucketId: "bc-2"})
	wantCode(t, err, codes.NotFound)

	first := grant(t, client, grantOf("ba-1", "bc-1"))
	if diff := gocmp.Diff(first, grant(t, client, grantOf("ba-1", "bc-1")), protocmp.Transform()); diff != "" {
		t.Errorf("a repeated grant returns something else (-first +second):\n%s", diff)
	}
	rotated := grantOf("ba-1", "bc-1")
	rotated.Rotation = "1"
	if grant(t, client, rotated).GetCredentials().GetS3().GetAccessSecretKey() == first.GetCredentials().GetS3().GetAccessSecretKey() {
		t.Error("rotation returns the old key")
	}
	_, err = client.DriverGrantBucketAccess(ctx, grantOf("ba-1", "bc-1", "bc-2"))
	wantCode(t, err, codes.NotFound)
	_, err = client.DriverGrantBucketAccess(ctx, grantOf("ba-2", "bc-2"))
	wantCode(t, err, codes.NotFound)

	if err := os.WriteFile(backend.path("bc-1")+"/object", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = client.DriverDeleteBucket(ctx, &cosi.DriverDeleteBucketRequest{BucketId: "bc-1"})
	wantCode(t, err, codes.FailedPrecondition)
	if err := os.Remove(backend.path("bc-1") + "/object"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := client.DriverRevokeBucketAccess(ctx, revokeOf(rotated)); err != nil {
			t.Fatal(err)
		}
		if _, err := client.DriverDeleteBucket(ctx, &cosi.DriverDeleteBucketRequest{BucketId: "bc-1"}); err != nil {
			t.Fatal(err)
		}
	}
	assertEmpty(t, backend)
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

func grant(t *testing.T, client *drivertest.Client, request *cosi.DriverGrantBucketAccessRequest) *cosi.DriverGrantBucketAccessResponse {
	t.Helper()
	response, err := client.DriverGrantBucketAccess(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	return response
}

func wantCode(t *testing.T, err error, want codes.Code) {
	t.Helper()
	if got := status.Code(err); got != want {
		t.Errorf("code %s, want %s: %v", got, want, err)
	}
}

func assertEmpty(t *testing.T, backend *driver) {
	t.Helper()
	entries, err := os.ReadDir(backend.root)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 || entries[0].Name() != "state.json" {
		t.Errorf("the backend holds %v", entries)
	}
	err = backend.change(func(s *state) error {
		if len(s.Buckets) != 0 || len(s.Accounts) != 0 {
			t.Errorf("the state holds %+v", s)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestKilledAnywhere kills the driver while calls run, again and again, and repeats each call until
// it succeeds, as a sidecar does. In the end every bucket has one account with one key, the
// first that was delivered, and after the removal nothing is left.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	root, endpoint := t.TempDir(), drivertest.Endpoint(t)
	const rounds = 15
	delivered := map[string]string{}
	for round := range rounds {
		process := start(t, root, endpoint)
		client := drivertest.Dial(t, endpoint)
		killed := make(chan struct{})
		go func() {
			defer close(killed)
			// The concurrent call is at another point in each round.
			for range 4 * round {
				_, _ = client.DriverGetInfo(t.Context(), &cosi.DriverGetInfoRequest{})
			}
			_ = process.Process.Kill()
		}()
		for i := range rounds {
			// Calls that the kill cuts off fail; the repeat in a later round counts.
			_ = provision(t.Context(), client, i, delivered)
		}
		<-killed
		_ = process.Wait()
	}
	process := start(t, root, endpoint)
	client := drivertest.Dial(t, endpoint)
	for i := range rounds {
		if err := provision(t.Context(), client, i, delivered); err != nil {
			t.Error(err)
		}
	}
	for i := range rounds {
		if err := remove(t.Context(), client, i); err != nil {
			t.Error(err)
		}
	}
	_ = process.Process.Kill()
	_ = process.Wait()
	assertEmpty(t, &driver{root: root})
}

// start runs the driver and returns when it has said that it serves.
func start(t *testing.T, root, endpoint string) *exec.Cmd {
	t.Helper()
	process := exec.Command(os.Args[0])
	process.Env = append(os.Environ(), "EXAMPLE_ROOT="+root, driverkit.EndpointVariable+"="+endpoint)
	output, err := process.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = process.Process.Kill() })
	var seen bytes.Buffer
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		fmt.Fprintln(&seen, lines.Text())
		if strings.Contains(lines.Text(), "driver serves") {
			return process
		}
	}
	t.Fatalf("the driver did not start: %s", seen.String())
	return nil
}

func provision(ctx context.Context, client *drivertest.Client, i int, delivered map[string]string) error {
	bucketID, accountID := fmt.Sprintf("bc-%d", i), fmt.Sprintf("ba-%d", i)
	if _, err := client.DriverCreateBucket(ctx, &cosi.DriverCreateBucketRequest{BucketId: bucketID}, grpc.WaitForReady(false)); err != nil {
		return err
	}
	response, err := client.DriverGrantBucketAccess(ctx, grantOf(accountID, bucketID), grpc.WaitForReady(false))
	if err != nil {
		return err
	}
	secret := response.GetCredentials().GetS3().GetAccessSecretKey()
	if earlier, found := delivered[accountID]; found && earlier != secret {
		return errors.New(accountID + " got another key than before")
	}
	delivered[accountID] = secret
	return nil
}

func remove(ctx context.Context, client *drivertest.Client, i int) error {
	bucketID, accountID := fmt.Sprintf("bc-%d", i), fmt.Sprintf("ba-%d", i)
	_, revoked := client.DriverRevokeBucketAccess(ctx, revokeOf(grantOf(accountID, bucketID)))
	_, deleted := client.DriverDeleteBucket(ctx, &cosi.DriverDeleteBucketRequest{BucketId: bucketID})
	return errors.Join(revoked, deleted)
}

func TestProcess(t *testing.T) {
	t.Parallel()
	t.Run("a bad endpoint is said on standard error", func(t *testing.T) {
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
	})
	t.Run("SIGTERM ends it well", func(t *testing.T) {
		t.Parallel()
		endpoint := drivertest.Endpoint(t)
		process := start(t, t.TempDir(), endpoint)
		if err := process.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := process.Wait(); err != nil {
			t.Errorf("it ended with %v", err)
		}
		if _, err := os.Stat(strings.TrimPrefix(endpoint, "unix://")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the socket is still there: %v", err)
		}
	})
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
