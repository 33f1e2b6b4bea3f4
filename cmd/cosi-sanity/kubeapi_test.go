// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/drivers/adapter/kubeapi"
	"github.com/cooper-cosi/cooper/internal/freeport"
	"github.com/cooper-cosi/cooper/internal/testing/processtest"
	"github.com/cooper-cosi/cooper/testenv/olddriver/released"
)

// A vendor is a running driver that reads Bucket objects and Secrets from the Kubernetes API at an address.
type vendor struct {
	dir, address, config string
	store                *released.Store
}

func (v *vendor) account() string { return filepath.Join(v.dir, "account") }
func (v *vendor) secrets() string { return filepath.Join(v.dir, "secrets") }

// startVendor starts a driver. Its Kubernetes API, which has Secrets but no Buckets, runs until stop is called.
func startVendor(t *testing.T) (v *vendor, stop func()) {
	t.Helper()
	v = &vendor{dir: processtest.ShortTempDir(t), address: freeport.ForTest(t).Address(), store: released.NewStore("admin", "password")}
	stop = v.serveSecrets(t)
	host, port, err := net.SplitHostPort(v.address)
	if err != nil {
		t.Fatal(err)
	}
	endpoint := "unix://" + filepath.Join(v.dir, "driver.sock")
	kill, err := released.Start(t.Context(), released.Options{
		Name: "objectstorage.vendor.example", Endpoint: endpoint, Store: v.store,
		KubernetesHost: host, KubernetesPort: port, AccountDir: v.account(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(kill)
	v.config = filepath.Join(v.dir, "sanity.yaml")
	text := fmt.Sprintf(`endpoint: %s
contract: v1alpha1
parameters: {bucket: {secretNamespace: vendor, secretName: admin}, access: {secretNamespace: vendor, secretName: admin}}
dataPlane: {disabled: true}
limits: {repeats: 3, concurrency: 4}
`, endpoint)
	if err := os.WriteFile(v.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return v, stop
}

func (v *vendor) serveSecrets(t *testing.T) (stop func()) {
	t.Helper()
	admin := filepath.Join(v.secrets(), "vendor", "admin")
	if err := errors.Join(os.MkdirAll(admin, 0o700),
		os.WriteFile(filepath.Join(admin, released.AccessKeyID), []byte("admin"), 0o600),
		os.WriteFile(filepath.Join(admin, released.SecretAccessKey), []byte("password"), 0o600)); err != nil {
		t.Fatal(err)
	}
	server, err := kubeapi.New(kubeapi.Options{
		Dir: v.account(), Address: v.address, SecretsDir: v.secrets(), Logger: slog.New(slog.DiscardHandler),
		Buckets: func(context.Context, string) (kubeapi.Bucket, bool, error) { return kubeapi.Bucket{}, false, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx) }()
	stop = func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	return stop
}

// failedCases returns the IDs of the failed cases in the output.
func failedCases(out string) string {
	var ids []string
	for _, match := range regexp.MustCompile(`(?m)^failed +(\S+)`).FindAllStringSubmatch(out, -1) {
		ids = append(ids, match[1])
	}
	return strings.Join(ids, " ")
}

// TestDriverThatReadsBucketObjects serves the objects. Only the driver's own faults are left.
func TestDriverThatReadsBucketObjects(t *testing.T) {
	t.Parallel()
	v, stop := startVendor(t)
	stop()
	code, out, problems := invoke(t, "--config", v.config,
		"--kubernetes-api-dir", v.account(), "--kubernetes-api-address", v.address, "--kubernetes-secrets-dir", v.secrets())
	const want = "V1A-ACC-002 V1A-ACC-003 V1A-ACC-004 V1A-ACC-006 V1A-BKT-002 V1A-BKT-008 V1A-RVK-003"
	if diff := cmp.Diff(sorted(want), sorted(failedCases(out))); code != exitNotConformant || diff != "" {
		t.Errorf("exit code %d, failed cases:\n%s\n%s\n%s", code, diff, out, problems)
	}
	if strings.Contains(out, "not removed") || len(v.store.Buckets())+len(v.store.Keys()) > 0 {
		t.Errorf("left in the store: %v, %v\n%s", v.store.Buckets(), v.store.Keys(), out)
	}
}

// TestDriverWithoutItsBucketObjects verifies that missing Bucket objects count as one failure, that the report lists the
// leftovers in the store, and that a later sweep with the objects removes them.
func TestDriverWithoutItsBucketObjects(t *testing.T) {
	t.Parallel()
	v, stop := startVendor(t)
	journal := filepath.Join(v.dir, "journal")
	code, out, problems := invoke(t, "--config", v.config, "--journal", journal)
	const want = "V1A-ACC-002 V1A-ACC-003 V1A-ACC-004 V1A-ACC-006 V1A-BKT-002 V1A-BKT-007 V1A-BKT-008"
	if diff := cmp.Diff(sorted(want), sorted(failedCases(out))); code != exitNotConformant || diff != "" {
		t.Errorf("exit code %d, failed cases:\n%s\n%s\n%s", code, diff, out, problems)
	}
	for text, times := range map[string]int{
		"pass --kubernetes-api-dir": 1,
		"not applicable: the driver fails every deletion and probably reads the v1alpha1 Bucket object: see V1A-BKT-007\n    V1A-RVK-001 V1A-RVK-003 V1A-RVK-004\n": 1,
		"\nnot removed; to try again, run cosi-sanity sweep --journal " + journal:                                                                                   1,
	} {
		if n := strings.Count(out, text); n != times {
			t.Errorf("the output contains %q %d times, not %d:\n%s", text, n, times, out)
		}
	}
	stop()
	code, out, problems = invoke(t, "sweep", "--config", v.config, "--journal", journal,
		"--kubernetes-api-dir", v.account(), "--kubernetes-api-address", v.address, "--kubernetes-secrets-dir", v.secrets())
	if code != exitConformant || len(v.store.Buckets())+len(v.store.Keys()) > 0 {
		t.Errorf("exit code %d, left in the store: %v, %v\n%s\n%s", code, v.store.Buckets(), v.store.Keys(), out, problems)
	}
}

func sorted(words string) []string { return slices.Sorted(slices.Values(strings.Fields(words))) }
