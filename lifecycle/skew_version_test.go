// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/fulltest"
)

// nextVersion stands for the version that follows v1alpha2.
const nextVersion = "v1beta1"

// TestNextAPIVersion takes all five CRDs to a next version, back, and forth again, as ADR 0052 orders it. Components of
// either version work on objects that are stored in either, and erase no field that their Go types do not have.
func TestNextAPIVersion(t *testing.T) {
	t.Parallel()
	fulltest.Drawn(t)
	fields := readCRDs(t) // with a field that only the next version's Go types would have
	for _, crd := range fields {
		eachObject(crd.root(), func(properties map[string]any) {
			properties[newField] = map[string]any{"type": "string", "maxLength": int64(16)}
		})
	}
	alone, served, stored := fields.versions(t, ""), fields.versions(t, cosiapi.Version), fields.versions(t, nextVersion)
	w := start(t, setup{backoff: patient(), poll: patient().Max, crds: alone.manifests(t), wrap: handOffsOfNewer})
	n := &newcomer{w: w, crds: fields, client: w.Client}
	w.Client = n.users()
	n.work()
	w.newClass("fast")
	w.newAccessClass("keys")
	var made []client.Object
	for i, phase := range []struct {
		name  string
		crds  crdSet
		newer bool
	}{
		{"before", alone, false},
		{"a newer controller and sidecar on the old storage version", served, true},
		{"an older controller and sidecar on the new storage version", stored, false},
		{"rolled back to the old storage version", served, false},
		{"newer ones on the new storage version", stored, true},
	} {
		if i > 0 {
			w.convert(phase.crds)
			w.restartAs(phase.newer)
		}
		claim, bucket := w.provisioned(fmt.Sprintf("photos-%d", i), "fast")
		access := w.granted(fmt.Sprintf("app-%d", i), "keys", claim.Name)
		made = append(made, access, claim, bucket)
		w.settled()
		w.ready(made...)
		w.consistent()
		for _, object := range made[len(made)-3:] {
			if by := writtenIn(object); by[nextVersion] != phase.newer {
				t.Errorf("%T was written in %v", object, by)
			}
		}
		if t.Failed() {
			t.Fatalf("%s", phase.name)
		}
	}
	// The release before knows one version alone: the API server refuses its CRDs as long as objects may be stored in the other.
	for _, c := range alone {
		older := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(c)}
		now := older.DeepCopy()
		w.must(w.Client.Get(t.Context(), client.ObjectKeyFromObject(older), now))
		now.Object["spec"] = older.Object["spec"]
		if err := w.Client.Update(t.Context(), now); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "status.storedVersions") {
			t.Errorf("CRD %s without %s: want a refusal for status.storedVersions, got %v", older.GetName(), nextVersion, err)
		}
	}
	if n.count() == 0 {
		t.Error("nobody set the new field")
	}
	if held := w.driver.Inventory(); len(held.Buckets) != 5 || len(held.Accounts) != 5 {
		t.Errorf("the backend holds %d buckets and %d accounts, want 5 of each", len(held.Buckets), len(held.Accounts))
	}
	w.delete(made...)
	w.gone(made...)
	if left := w.driver.Inventory(); len(left.Buckets)+len(left.Accounts) > 0 {
		t.Errorf("the backend still holds %+v", left)
	}
}

// versions returns CRDs that serve v1alpha2 and the next version with one schema, and store one of them; without a
// version to store, v1alpha2 alone.
func (s crdSet) versions(t *testing.T, storage string) crdSet {
	t.Helper()
	all := crdSet{}
	for name, c := range s {
		c = runtime.DeepCopyJSON(c)
		if storage != "" {
			only := c["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)
			next := runtime.DeepCopyJSON(only)
			next["name"] = nextVersion
			only["storage"], next["storage"] = storage == cosiapi.Version, storage == nextVersion
			c["spec"].(map[string]any)["versions"] = []any{only, next}
		}
		all[name] = c
	}
	return all
}

// storage returns the storage version of a CRD.
func (c crd) storage() string {
	for _, version := range c["spec"].(map[string]any)["versions"].([]any) {
		if v := version.(map[string]any); v["storage"] == true {
			return v["name"].(string)
		}
	}
	return ""
}

// convert installs CRDs with two versions and waits until the API server serves both and stores the one that they say.
func (w *world) convert(crds crdSet) {
	w.t.Helper()
	before := w.storageHashes()
	changed := false
	for _, c := range crds {
		there := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(c)}
		w.must(w.Client.Get(w.t.Context(), client.ObjectKeyFromObject(there), there))
		changed = changed || crd(there.Object).storage() != c.storage()
	}
	w.install(crds)
	w.eventually("both versions are served and the storage version is that of the CRDs", func(ctx context.Context) error {
		for _, c := range crds {
			kind, _, _ := unstructured.NestedString(c, "spec", "names", "kind")
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(schema.GroupVersionKind{Group: cosiapi.GroupName, Version: nextVersion, Kind: kind + "List"})
			if err := w.Client.List(ctx, list); err != nil {
				return err
			}
		}
		for resource, hash := range w.storageHashes() {
			if (hash != before[resource]) != changed {
				return fmt.Errorf("the storage version of %s has changed: %t", resource, !changed)
			}
		}
		return nil
	})
	for _, c := range crds {
		there := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(c)}
		w.must(w.Client.Get(w.t.Context(), client.ObjectKeyFromObject(there), there))
		if versions, _, _ := unstructured.NestedStringSlice(there.Object, "status", "storedVersions"); !slices.Contains(versions, c.storage()) {
			w.t.Errorf("%s: status.storedVersions is %q and lacks %s", there.GetName(), versions, c.storage())
		}
	}
}

// storageHashes tells the storage versions of our resources apart, by their names.
func (w *world) storageHashes() map[string]string {
	w.t.Helper()
	list, err := discovery.NewDiscoveryClientForConfigOrDie(w.Config()).ServerResourcesForGroupVersion(cosiapi.GroupVersion().String())
	w.must(err)
	hashes := map[string]string{}
	for _, resource := range list.APIResources {
		if !strings.Contains(resource.Name, "/") {
			hashes[resource.Name] = resource.StorageVersionHash
		}
	}
	return hashes
}

// writtenIn returns the versions of the API in which an object was written.
func writtenIn(object client.Object) map[string]bool {
	versions := map[string]bool{}
	for _, entry := range object.GetManagedFields() {
		versions[strings.TrimPrefix(entry.APIVersion, cosiapi.GroupName+"/")] = true
	}
	return versions
}

// restartAs exchanges controller and sidecar for ones that use the next version of the API, or v1alpha2.
func (w *world) restartAs(newer bool) {
	w.t.Helper()
	w.stop(theSidecar)
	w.stop(theController)
	w.setup.wrap = handOffsOfNewer
	if newer {
		w.setup.wrap = func(next http.RoundTripper) http.RoundTripper { return handOffsOfNewer(&nextClient{next: next}) }
	}
	w.runController()
	w.runSidecar()
}

// A nextClient makes the requests of a component for v1alpha2 in the next version, whose schema is the same.
type nextClient struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (c *nextClient) RoundTrip(r *http.Request) (*http.Response, error) {
	ours, next := cosiapi.GroupName+"/"+cosiapi.Version, cosiapi.GroupName+"/"+nextVersion
	rest, found := strings.CutPrefix(r.URL.Path, "/apis/"+ours)
	if !found {
		return c.next.RoundTrip(r)
	}
	r = r.Clone(r.Context())
	r.URL.Path = "/apis/" + next + rest
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		body = bytes.ReplaceAll(body, []byte(ours), []byte(next))
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	}
	response, err := c.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	response.Header.Del("Content-Length")
	response.ContentLength = -1
	response.Body = &inVersion{Closer: response.Body, lines: bufio.NewReader(response.Body), from: []byte(next), to: []byte(ours)}
	return response, nil
}

// inVersion is the body of a response in another version. It passes lines on one by one, as a watch sends its events.
type inVersion struct {
	io.Closer

	lines    *bufio.Reader
	from, to []byte
	rest     []byte
	err      error
}

// Read implements io.Reader.
func (b *inVersion) Read(p []byte) (int, error) {
	for len(b.rest) == 0 && b.err == nil {
		b.rest, b.err = b.lines.ReadBytes('\n')
		b.rest = bytes.ReplaceAll(b.rest, b.from, b.to)
	}
	if len(b.rest) == 0 {
		return 0, b.err
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}
