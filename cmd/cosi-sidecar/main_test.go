// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/internal/freeport"
	"github.com/cooper-cosi/cooper/internal/testing/processtest"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/sidecar"
	"github.com/cooper-cosi/cooper/testenv"
)

func TestMain(m *testing.M) {
	processtest.ProgramMain(main)
	testenv.Main(m)
}

// TestTheSidecarServes starts the sidecar before its driver, on a socket that a killed driver left. It
// verifies that the sidecar waits, reconciles, reports its health and exits.
func TestTheSidecarServes(t *testing.T) {
	t.Parallel()
	env := testenv.Start(t, testenv.Options{})
	namespace, endpoint := env.Namespace(), drivertest.Endpoint(t)
	storeAddress := drivertest.Endpoint(t)
	leaveSocket(t, endpoint)
	leaveSocket(t, storeAddress)
	metrics, health, collector := freeport.ForTest(t).Address(), freeport.ForTest(t).Address(), processtest.NewCollector(t)
	process := processtest.StartProgram(t, []string{
		"KUBECONFIG=" + env.Kubeconfig(env.Config(), namespace), "COOPER_NAMESPACES=" + namespace,
		"COOPER_DRIVER_ADDRESS=" + endpoint, "COOPER_OWNER=" + namespace + "/driver",
		"COOPER_TRACES_ENDPOINT=" + collector.URL,
		"COOPER_CREDENTIAL_STORE_ADDRESS=" + storeAddress, "COOPER_CREDENTIAL_STORE_NAMESPACE=" + namespace,
	}, "--metrics-address="+metrics, "--health-address="+health, "--leader-namespace="+namespace)
	process.Await(`msg="Waiting for the driver" address=` + endpoint)
	process.Await("connection refused")
	process.AwaitPage("http://"+health+"/healthz", http.StatusOK, "ok")
	process.AwaitPage("http://"+health+"/readyz", http.StatusServiceUnavailable, "the driver at "+endpoint+" does not respond yet")

	name := namespace + ".example.com"
	stop := startDriver(t, name, endpoint)
	process.AwaitPage("http://"+health+"/healthz", http.StatusOK, "ok")
	process.AwaitPage("http://"+health+"/readyz", http.StatusOK, "ok")
	process.AwaitPage("http://"+metrics+"/metrics", http.StatusOK, "cosi_sidecar_operation_duration_seconds_count{")
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: sidecar.LeaseName(name)}}
	process.Await("Successfully acquired lease")
	if err := env.Client.Get(t.Context(), client.ObjectKeyFromObject(lease), lease); err != nil || lease.Annotations[sidecar.OwnerAnnotation] != namespace+"/driver" {
		t.Errorf("the Lease: want it owned by %s/driver, got %v, %v", namespace, lease.Annotations, err)
	}
	importBucket(t, env, namespace, name)
	keepCredential(t, env, namespace, storeAddress)

	stop()
	process.AwaitPage("http://"+health+"/readyz", http.StatusInternalServerError, "driver")
	process.AwaitPage("http://"+health+"/healthz", http.StatusOK, "ok")
	startDriver(t, name, endpoint)
	process.AwaitPage("http://"+health+"/readyz", http.StatusOK, "ok")

	process.Terminate()
	if code := process.Exit(); code != 0 {
		t.Errorf("after SIGTERM: exit code %d\n%s", code, process.Output())
	}
	for _, span := range []string{"reconcile Bucket", "verify", "DriverGetBucket"} {
		if !strings.Contains(collector.Received(), span) {
			t.Errorf("no span of %s was exported", span)
		}
	}
	if err := env.Client.Get(t.Context(), client.ObjectKeyFromObject(lease), lease); err != nil || ptr.Deref(lease.Spec.HolderIdentity, "") != "" {
		t.Errorf("the Lease after SIGTERM: want no holder, got %v, %v", lease.Spec.HolderIdentity, err)
	}
}

// keepCredential stores a credential as the driver does, and finds it in a Secret.
func keepCredential(t *testing.T, env *testenv.Env, namespace, address string) {
	t.Helper()
	store, err := credentials.OpenSidecar(address)
	if err != nil {
		t.Fatal(err)
	}
	entry := credentials.Entry{Account: "ba-1", Current: credentials.Credential{ID: "AKIA", Secret: cosi.NewSecret("only-for-tests")}}
	if _, err := store.Put(t.Context(), entry); err != nil {
		t.Error(err)
	}
	var secrets corev1.SecretList
	if err := env.Client.List(t.Context(), &secrets, client.InNamespace(namespace), client.HasLabels{"cooper.dev/credential-store"}); err != nil || len(secrets.Items) != 2 {
		t.Errorf("want the Secret of the entry and that of the ID, got %d, %v", len(secrets.Items), err)
	}
}

// importBucket makes the sidecar reconcile and release a bucket that its driver does not have.
func importBucket(t *testing.T, env *testenv.Env, namespace, driver string) {
	t.Helper()
	bucket := &cosiapi.Bucket{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Spec: cosiapi.BucketSpec{
			DriverName: driver, DeletionPolicy: cosiapi.DeletionPolicyRetain, ExistingBucketID: "photos",
			Protocols:      []cosiapi.Protocol{cosiapi.ProtocolS3},
			BucketClaimRef: cosiapi.BucketClaimReference{Namespace: namespace, Name: "photos"},
		},
	}
	if err := env.Client.Create(t.Context(), bucket); err != nil {
		t.Fatal(err)
	}
	env.Eventually("the sidecar has asked for the bucket", func(ctx context.Context) error {
		if err := env.Client.Get(ctx, client.ObjectKeyFromObject(bucket), bucket); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(bucket.Status.Conditions, cosiapi.ConditionProvisionFailed) {
			return fmt.Errorf("conditions %v", bucket.Status.Conditions)
		}
		return nil
	})
	if err := env.Client.Delete(t.Context(), bucket); err != nil {
		t.Fatal(err)
	}
	env.Eventually("the bucket is let go", func(ctx context.Context) error {
		if err := env.Client.Get(ctx, client.ObjectKeyFromObject(bucket), bucket); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %w", err)
		}
		return nil
	})
}

// TestTheSidecarEndsWhileItWaits covers a Pod that is deleted before its driver is ready.
func TestTheSidecarEndsWhileItWaits(t *testing.T) {
	t.Parallel()
	env := testenv.Start(t, testenv.Options{})
	process := processtest.StartProgram(t, []string{"KUBECONFIG=" + env.Kubeconfig(env.Config(), "default")},
		"--driver-address="+drivertest.Endpoint(t), "--leader-elect=false", "--health-address=", "--metrics-address=")
	process.Await("Waiting for the driver")
	process.Terminate()
	if code := process.Exit(); code != 0 {
		t.Errorf("after SIGTERM: exit code %d\n%s", code, process.Output())
	}
}

// leaveSocket creates a socket without a listener, as a killed driver leaves it.
func leaveSocket(t *testing.T, endpoint string) {
	t.Helper()
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: strings.TrimPrefix(endpoint, "unix://")})
	if err != nil {
		t.Fatal(err)
	}
	listener.SetUnlinkOnClose(false)
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(strings.TrimPrefix(endpoint, "unix://")); err != nil {
		t.Fatal(err)
	}
}

// startDriver serves a driver. stop ends it.
func startDriver(t *testing.T, name, endpoint string) (stop func()) {
	t.Helper()
	fake := memdriver.New(memdriver.Options{Name: name})
	server, err := fake.Start(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Stop() })
	return func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	}
}

// TestTheSidecarEnds starts the sidecar in ways that make it exit at once.
func TestTheSidecarEnds(t *testing.T) {
	t.Parallel()
	env := testenv.Start(t, testenv.Options{})
	reached, endpoint := env.Kubeconfig(env.Config(), "default"), drivertest.Endpoint(t)
	startDriver(t, "ends.example.com", endpoint)
	busy, nobody := processtest.BusyAddress(t), "http://"+freeport.ForTest(t).Address()
	silent := env.Kubeconfig(&rest.Config{Host: nobody}, "default")
	alone := []string{"--kubeconfig=" + reached, "--leader-elect=false", "--driver-address=" + endpoint}
	for name, tc := range map[string]struct {
		environment []string
		arguments   []string
		code        int
		want        string
	}{
		"help names the variables": {nil, []string{"--help"}, 0, "[COOPER_DRIVER_ADDRESS]"},
		"version":                  {[]string{"COOPER_VERSION=no"}, []string{"--version"}, 0, "cosi-sidecar "},
		"an unknown flag":          {nil, []string{"--driver=x"}, 2, "cosi-sidecar: unknown flag: --driver; see --help"},
		"a bad variable":           {[]string{"COOPER_RPC_TIMEOUT=soon"}, nil, 2, `environment variable COOPER_RPC_TIMEOUT: invalid argument "soon"`},
		"no rate":                  {nil, []string{"--regrant-rate=-1"}, 2, "--regrant-rate=-1 is too low: use at least"},
		"a rate that is no number": {nil, []string{"--regrant-rate=NaN"}, 2, "--regrant-rate=NaN is too low: use at least"},
		"no owner":                 {nil, nil, 2, "--owner is not set: pass the namespace and name of this deployment"},
		"no way to the API server": {nil, []string{"--leader-elect=false"}, 1, "not running in a Pod: pass the kubeconfig file of the cluster with --kubeconfig"},
		"an API server that is silent": {
			nil,
			[]string{"--kubeconfig=" + silent, "--leader-elect=false", "--driver-address=" + endpoint},
			1, "cosi-sidecar: cannot reach the API server at " + nobody + ": ",
		},
		"a driver behind TCP":       {nil, append(alone, "--driver-address=tcp://127.0.0.1:9000"), 2, `driver address: "tcp://127.0.0.1:9000" is not a UNIX socket address; use unix:///path/to/driver.sock`},
		"a driver that is no .sock": {nil, append(alone, "--driver-address=unix:///run/driver"), 2, `driver address: "unix:///run/driver" does not end with a name and .sock`},
		"a store outside of a Pod":  {nil, append(alone, "--credential-store-address="+drivertest.Endpoint(t)), 2, "--credential-store-namespace is not set: not running in a Pod"},
		"a store behind TCP":        {nil, append(alone, "--credential-store-address=:9000", "--credential-store-namespace=default"), 1, `--credential-store-address: ":9000" is not a UNIX socket address`},
		"a busy port for metrics":   {nil, append(alone, "--health-address=", "--metrics-address="+busy), 1, busy + ": bind: address already in use"},
		"a busy port for health":    {nil, append(alone, "--metrics-address=", "--health-address="+busy), 1, busy + ": bind: address already in use"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			process := processtest.StartProgram(t, tc.environment, tc.arguments...)
			if code := process.Exit(); code != tc.code || !strings.Contains(process.Output(), tc.want) {
				t.Errorf("want exit code %d and %q, got %d:\n%s", tc.code, tc.want, code, process.Output())
			}
		})
	}
}
