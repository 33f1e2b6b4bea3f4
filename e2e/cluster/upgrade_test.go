// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
)

// TestUpgradeAndDowngrade replaces the components of the baseline by today's and back, one at a time and
// starting with each of them, and also the CRDs, while users claim and delete buckets. Requests must be
// served, existing buckets must keep working, and deleted ones must leave nothing behind.
func TestUpgradeAndDowngrade(t *testing.T) { //nolint:paralleltest // all tests share the cluster
	fulltest.Long(t, "lifecycle has TestUpgradeDowngradeUpgrade for the CRDs, and tests of skew for the programs")
	w := onCluster(t)
	old := w.older(t)
	w.install(t)
	u := w.startUpgrade(t)
	u.churn.start(t)
	u.to(t, "all of the baseline", all(old))
	for _, order := range [][]string{{"controller", "sidecar", "driver"}, {"sidecar", "driver", "controller"}, {"driver", "controller", "sidecar"}} {
		for _, next := range []version{current(), old} {
			u.keep(t)
			for _, part := range order {
				u.to(t, part+" of the "+next.name, u.now.with(part, next))
			}
			u.kept(t)
		}
	}
	u.newerCRDs(t, old, current())
	u.olderCRDs(t, current(), old)
	u.to(t, "all of today", all(current()))
	t.Logf("the users had %d rounds", u.churn.end(t))
	u.kept(t)
	w.pod(t, u.namespace, pod{name: "all", mounts: u.survivors})
	w.wait(t, u.namespace, "jsonpath={.status.phase}=Succeeded", "pod/all")
	u.onlyKept(t)
	u.leavesNothing(t)
}

// with returns the installation with one component of another version.
func (i installation) with(part string, v version) installation {
	switch part {
	case "controller":
		i.controller = v
	case "sidecar":
		i.sidecar = v
	case "driver":
		i.driver = v
	}
	return i
}

// An upgrade is a changing installation with users; some of them keep their buckets.
type upgrade struct {
	*world

	churn     *churn
	namespace string
	before    held
	now       installation
	survivors []string
}

// held is what COSI stores for users in the store and the credential store.
type held struct{ Buckets, Users, Objects, Entries []string }

func (w *world) startUpgrade(t *testing.T) *upgrade {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			w.installed = sync.Once{} // by the next test that needs it
		}
	})
	w.classes(t, "upgrade", "s3.cooper.dev")
	namespace := w.namespace(t, "upgrade")
	c := w.newChurn(t, namespace)
	return &upgrade{world: w, churn: c, namespace: namespace, before: w.held(t)}
}

// held returns the current state.
func (w *world) held(t *testing.T) held {
	t.Helper()
	var h held
	store := w.inventory(t)
	for _, b := range store.Buckets {
		h.Buckets = append(h.Buckets, b.Name)
	}
	for _, user := range store.Users {
		h.Users = append(h.Users, user.Name)
	}
	h.Objects = strings.Fields(w.kubectl(t, "get", "buckets.objectstorage.k8s.io", "-o", "name"))
	h.Entries = strings.Fields(w.kubectl(t, "-n", driverNamespace, "get", "secrets", "-l", "cooper.dev/credential-store", "-o", "name"))
	return h
}

// to installs another combination of versions, waits until it runs, and until it has served new requests.
func (u *upgrade) to(t *testing.T, what string, i installation) {
	t.Helper()
	t.Log("install:", what)
	u.now = i
	u.roll(t, u.manifestsOf(t, i))
}

func (u *upgrade) roll(t *testing.T, manifests string) {
	t.Helper()
	u.deploy(t, manifests)
	u.rolledOut(t, systemNamespace)
	u.rolledOut(t, driverNamespace)
	u.churn.passes(t)
}

// keep requests a bucket that is kept. The next step does not wait for it.
func (u *upgrade) keep(t *testing.T) {
	t.Helper()
	name := fmt.Sprintf("keeps-%d", len(u.survivors))
	u.survivors = append(u.survivors, name)
	claim, access := pair(u.namespace, name)
	for _, err := range []error{u.churn.create(t.Context(), claim), u.churn.create(t.Context(), access)} {
		wantNoError(t, err)
	}
}

// kept waits until the kept buckets are ready. The last one then gets a Pod, and all Pods since the first
// must still be able to use their buckets with their original credentials.
func (u *upgrade) kept(t *testing.T) {
	t.Helper()
	for _, name := range u.survivors {
		u.wait(t, u.namespace, "condition=Provisioned", "bucketclaim/"+name, "bucketaccess/"+name)
	}
	last := u.survivors[len(u.survivors)-1]
	u.pod(t, u.namespace, pod{name: last, environment: last, stay: true}) // it exists already if there was no new request
	for _, name := range u.survivors {
		u.wait(t, u.namespace, "condition=Ready", "pod/"+name)
		if got := u.exec(t, u.namespace, name, "/e2e-client", "env"); !strings.Contains(got, "stored and read in") {
			t.Errorf("the Pod %s prints %q", name, got)
		}
	}
}

// newerCRDs installs components of one version with the CRDs of another one that have an additional field,
// and sets the field. It must be preserved.
func (u *upgrade) newerCRDs(t *testing.T, programs, crds version) {
	t.Helper()
	u.crds(t, programs, crds, func(_, properties map[string]any) { properties["tomorrow"] = map[string]any{"type": "string"} })
	access := "bucketaccess/" + u.survivors[0]
	u.until(t, func(ctx context.Context) error { // the API server serves changed CRDs with a delay
		_, err := u.try(ctx, "", "-n", u.namespace, "patch", access, "--subresource=status", "--type=merge", `--patch={"status":{"tomorrow":"set"}}`)
		if err == nil && u.field(t, access, "{.status.tomorrow}") != "set" {
			err = errors.New("the new field is dropped")
		}
		return err
	})
	u.kubectl(t, "-n", u.namespace, "annotate", access, "cooper.dev/rotate=once")
	u.wait(t, u.namespace, `jsonpath={.metadata.annotations.cooper\.dev/delivered-rotation}=once`, "secret/"+u.survivors[0])
	u.churn.passes(t)
	if got := u.field(t, access, "{.status.tomorrow}"); got != "set" {
		t.Errorf("the field that only newer CRDs know is %q", got)
	}
}

// olderCRDs installs components of one version with the CRDs of another one that lack a field.
func (u *upgrade) olderCRDs(t *testing.T, programs, crds version) {
	t.Helper()
	u.crds(t, programs, crds, func(object, properties map[string]any) {
		const field, rules = "cleanup", "x-kubernetes-validations"
		delete(properties, field)
		object[rules] = slices.DeleteFunc(object[rules].([]any), func(rule any) bool {
			return strings.Contains(rule.(map[string]any)["rule"].(string), field)
		})
	})
	u.until(t, func(context.Context) error {
		if got := u.field(t, "bucketaccess/"+u.survivors[0], "{.status.cleanup}"); got != "" {
			return fmt.Errorf("status.cleanup is still %s", got)
		}
		return nil
	})
	u.churn.passes(t)
}

func (u *upgrade) field(t *testing.T, object, path string) string {
	t.Helper()
	return u.kubectl(t, "-n", u.namespace, "get", object, "-o", "jsonpath="+path)
}

// crds installs components of one version with the CRDs of another one. change modifies the CRD of accesses:
// the schema of the object, and the properties of its status.
func (u *upgrade) crds(t *testing.T, programs, crds version, change func(object, properties map[string]any)) {
	t.Helper()
	t.Logf("install: the programs of the %s under other CRDs than those of the %s by one field", programs.name, crds.name)
	manifests := u.manifestsOf(t, all(programs))
	dir := filepath.Join(manifests, "crds")
	wantNoError(t, errors.Join(os.RemoveAll(dir), os.CopyFS(dir, os.DirFS(filepath.Join(crds.sources, "deploy", "crds")))))
	file := filepath.Join(dir, "objectstorage.k8s.io_bucketaccesses.yaml")
	content, err := os.ReadFile(file)
	wantNoError(t, err)
	crd := map[string]any{}
	wantNoError(t, yaml.Unmarshal(content, &crd))
	versions, _, _ := unstructured.NestedFieldNoCopy(crd, "spec", "versions")
	object, _, _ := unstructured.NestedFieldNoCopy(versions.([]any)[0].(map[string]any), "schema", "openAPIV3Schema")
	properties, found, err := unstructured.NestedFieldNoCopy(object.(map[string]any), "properties", "status", "properties")
	if !found {
		t.Fatalf("%s: %v", file, err)
	}
	change(object.(map[string]any), properties.(map[string]any))
	if content, err = yaml.Marshal(crd); err != nil {
		t.Fatal(err)
	}
	wantNoError(t, os.WriteFile(file, content, 0o600))
	u.roll(t, manifests)
}

// onlyKept compares the current state with the initial state and the objects that users keep.
func (u *upgrade) onlyKept(t *testing.T) {
	t.Helper()
	u.churn.settles(t, len(u.survivors))
	more := u.held(t)
	for name, lists := range map[string][2][]string{
		"buckets at the store": {u.before.Buckets, more.Buckets}, "users of the store": {u.before.Users, more.Users},
		"Buckets": {u.before.Objects, more.Objects}, "Secrets of the credential store": {u.before.Entries, more.Entries},
	} {
		if got, want := len(lists[1]), len(lists[0])+len(u.survivors); got != want {
			t.Errorf("there are %d %s, want %d: before %q, now %q", got, name, want, lists[0], lists[1])
		}
	}
}

// leavesNothing deletes the objects that users kept.
func (u *upgrade) leavesNothing(t *testing.T) {
	t.Helper()
	u.kubectl(t, "-n", u.namespace, "delete", "pods,bucketaccesses,bucketclaims", "--all", "--timeout="+waitTimeout.String())
	u.survivors = nil
	u.onlyKept(t)
	if left := u.kubectl(t, "-n", u.namespace, "get", "secrets", "-o", "name"); left != "" {
		t.Errorf("Secrets are left: %s", left)
	}
}
