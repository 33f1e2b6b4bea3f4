// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/controller"
	"github.com/cooper-cosi/cooper/internal/freeport"
	"github.com/cooper-cosi/cooper/internal/testing/processtest"
	"github.com/cooper-cosi/cooper/testenv"
)

func TestMain(m *testing.M) {
	processtest.ProgramMain(main)
	testenv.Main(m)
}

// TestTheControllerServes configures the controller by flags and environment, and verifies that it
// reconciles, reports its health and exits.
func TestTheControllerServes(t *testing.T) {
	t.Parallel()
	env := testenv.Start(t, testenv.Options{})
	namespace := env.Namespace()
	metrics, health, collector := freeport.ForTest(t).Address(), freeport.ForTest(t).Address(), processtest.NewCollector(t)
	process := processtest.StartProgram(t, []string{
		"KUBECONFIG=" + env.Kubeconfig(env.Config(), namespace), "COOPER_NAMESPACES=" + namespace,
		"COOPER_HEALTH_ADDRESS=" + health, "COOPER_LOG_FORMAT=json", "COOPER_VERSION=1.2.3", "COOPER_TRACES_ENDPOINT=" + collector.URL,
	}, "--metrics-address="+metrics, "--leader-namespace="+namespace)
	process.AwaitPage("http://"+health+"/healthz", http.StatusOK, "ok")
	process.AwaitPage("http://"+health+"/readyz", http.StatusOK, "ok")
	claim := newClaim(t, env, namespace)
	env.Eventually("the claim is bound", func(ctx context.Context) error {
		if err := env.Client.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
			return err
		}
		if claim.Status.BoundBucketName == "" {
			return errors.New("it has no bucket")
		}
		return nil
	})
	process.AwaitPage("http://"+metrics+"/metrics", http.StatusOK, "cosi_step_duration_seconds_count{")
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: controller.LeaseName}}
	if err := env.Client.Get(t.Context(), client.ObjectKeyFromObject(lease), lease); err != nil || ptr.Deref(lease.Spec.HolderIdentity, "") == "" {
		t.Errorf("the Lease while it works: want a holder, got %v, %v", lease.Spec.HolderIdentity, err)
	}

	process.Terminate()
	if code := process.Exit(); code != 0 {
		t.Errorf("after SIGTERM: exit code %d\n%s", code, process.Output())
	}
	if err := env.Client.Get(t.Context(), client.ObjectKeyFromObject(lease), lease); err != nil || ptr.Deref(lease.Spec.HolderIdentity, "") != "" {
		t.Errorf("the Lease after SIGTERM: want no holder, so that the next instance need not wait, got %v, %v", lease.Spec.HolderIdentity, err)
	}
	if !strings.Contains(collector.Received(), "reconcile BucketClaim") {
		t.Error("no span of a reconcile was exported")
	}
	for line := range strings.Lines(process.Output()) {
		if !strings.HasPrefix(line, "{") {
			t.Errorf("a line of the log is not JSON: %s", line)
		}
	}
}

// TestASecondControllerWaits starts a second instance, and verifies that it takes over when the first one
// ends.
func TestASecondControllerWaits(t *testing.T) {
	t.Parallel()
	env := testenv.Start(t, testenv.Options{})
	namespace := env.Namespace()
	start := func() *processtest.Process {
		health := freeport.ForTest(t).Address()
		process := processtest.StartProgram(t, []string{
			"KUBECONFIG=" + env.Kubeconfig(env.Config(), namespace), "COOPER_NAMESPACES=" + namespace, "COOPER_HEALTH_ADDRESS=" + health,
		}, "--metrics-address=", "--leader-namespace="+namespace)
		process.AwaitPage("http://"+health+"/readyz", http.StatusOK, "ok")
		return process
	}
	const works = "Starting workers"
	first := start()
	first.Await(works)
	second := start() // its caches are synced
	second.Await("leader")
	if strings.Contains(second.Output(), works) {
		t.Errorf("two work at a time:\n%s", second.Output())
	}
	first.Terminate()
	if code := first.Exit(); code != 0 {
		t.Errorf("after SIGTERM: exit code %d\n%s", code, first.Output())
	}
	second.Await(works)
}

// newClaim creates a class and a claim of that class.
func newClaim(t *testing.T, env *testenv.Env, namespace string) *cosiapi.BucketClaim {
	t.Helper()
	class := &cosiapi.BucketClass{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Spec:       cosiapi.BucketClassSpec{DriverName: namespace, DeletionPolicy: cosiapi.DeletionPolicyDelete},
	}
	claim := &cosiapi.BucketClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "sample"},
		Spec:       cosiapi.BucketClaimSpec{BucketClassName: namespace, Protocols: []cosiapi.Protocol{cosiapi.ProtocolS3}},
	}
	for _, object := range []client.Object{class, claim} {
		if err := env.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	return claim
}

// TestTheControllerEnds starts the controller in ways that make it exit at once.
func TestTheControllerEnds(t *testing.T) {
	t.Parallel()
	env := testenv.Start(t, testenv.Options{})
	reached := env.Kubeconfig(env.Config(), "default")
	nobody := "http://" + freeport.ForTest(t).Address()
	silent := env.Kubeconfig(&rest.Config{Host: nobody}, "default")
	broken := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(broken, []byte("kind: ["), 0o600); err != nil {
		t.Fatal(err)
	}
	busy := processtest.BusyAddress(t)
	for name, tc := range map[string]struct {
		environment []string
		arguments   []string
		code        int
		want        string
	}{
		"help names the variables":     {nil, []string{"--help"}, 0, "[COOPER_LEADER_ELECT]"},
		"help names KUBECONFIG":        {nil, []string{"--help"}, 0, "[KUBECONFIG]"},
		"version":                      {nil, []string{"--version"}, 0, "cosi-controller "},
		"an unknown flag":              {nil, []string{"--wrokers=2"}, 2, "cosi-controller: unknown flag: --wrokers; see --help"},
		"a bad variable":               {[]string{"COOPER_WORKERS=many"}, nil, 2, `environment variable COOPER_WORKERS: invalid argument "many"`},
		"a bad level":                  {nil, []string{"--log-level=loud"}, 2, `--log-level: "loud" is not one of debug, info, warn, error`},
		"a bad format":                 {nil, []string{"--log-format=xml"}, 2, `--log-format: "xml" is not one of text, json`},
		"no way to the API server":     {nil, nil, 1, "not running in a Pod: pass the kubeconfig file of the cluster with --kubeconfig"},
		"a kubeconfig that is missing": {nil, []string{"--kubeconfig=/does/not/exist"}, 1, "--kubeconfig: stat /does/not/exist"},
		"a kubeconfig that is no YAML": {[]string{"KUBECONFIG=" + broken}, nil, 1, "--kubeconfig: error loading config file"},
		"an API server that is silent": {nil, []string{"--kubeconfig=" + silent}, 1, "cosi-controller: cannot reach the API server at " + nobody + ": "},
		"a collector that is no URL":   {[]string{"KUBECONFIG=" + reached, "COOPER_TRACES_ENDPOINT=collector"}, nil, 2, "--traces-endpoint \"collector\" is not a URL such as http://collector:4318"},
		"a busy port for metrics":      {[]string{"KUBECONFIG=" + reached}, []string{"--leader-elect=false", "--health-address=", "--metrics-address=" + busy}, 1, busy + ": bind: address already in use"},
		"a busy port for health":       {[]string{"KUBECONFIG=" + reached}, []string{"--leader-elect=false", "--metrics-address=", "--health-address=" + busy}, 1, busy + ": bind: address already in use"},
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
