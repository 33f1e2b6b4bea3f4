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

	"google.golang.org/grpc/codes"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
)

// nextVersion represents the version after v1alpha2.
const nextVersion = "v1beta1"

// TestNextAPIVersion migrates all five CRDs to a next version, back, and forward again, in the order of ADR
// 0052. In each phase, controller and sidecar of one version serve and delete the objects of the previous
// phase, with either storage version. They must not remove fields that their Go types do not have.
func TestNextAPIVersion(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "TestComponentsNewerThanTheCRDs and TestComponentsOlderThanTheCRDs cover one version")
	fields := readCRDs(t) // with a field that only the Go types of the next version would have
	for _, crd := range fields {
		eachObject(crd.root(), func(properties map[string]any) {
			properties[newField] = map[string]any{"type": "string", "maxLength": int64(16)}
		})
	}
	alone, served, stored := fields.versions(t, ""), fields.versions(t, cosiapi.Version), fields.versions(t, nextVersion)
	w := start(t, setup{backoff: patient(), poll: patient().Max, crds: alone.manifests(t), wrap: handOffsOfNewer})
	n := &newcomer{w: w, crds: fields, client: w.Client, last: map[types.UID]*unstructured.Unstructured{}}
	w.Client = n.users()
	w.newClass("fast")
	w.newAccessClass("keys")
	begin := func(i int, newer bool) *life {
		l := w.newLife(i)
		for _, object := range []client.Object{l.claim, l.bucket, l.access} {
			if by := writtenIn(object); by[nextVersion] != newer {
				t.Errorf("%T was written in %v", object, by)
			}
		}
		return l
	}
	l := begin(0, false)
	for i, phase := range []struct {
		name  string
		crds  crdSet
		newer bool
	}{
		{"a newer controller and sidecar on the old storage version", served, true},
		{"an older controller and sidecar on the new storage version", stored, false},
		{"rolled back to the old storage version", served, false},
		{"newer ones on the new storage version", stored, true},
	} {
		w.convert(phase.crds)
		w.restartAs(phase.newer)
		w.settled()
		w.ready(l.claim, l.bucket, l.access)
		n.endsKeeping(l)
		l = begin(i+1, phase.newer)
		if t.Failed() {
			t.Fatalf("%s", phase.name)
		}
	}
	n.endsKeeping(l)
	if left := w.driver.Inventory(); len(left.Buckets)+len(left.Accounts) > 0 {
		t.Errorf("the backend still holds %+v", left)
	}
	// An older release has only one version. The API server rejects its CRDs while objects may be stored in
	// the other version.
	for _, c := range alone {
		older := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(c)}
		now := older.DeepCopy()
		w.must(w.Client.Get(t.Context(), client.ObjectKeyFromObject(older), now))
		now.Object["spec"] = older.Object["spec"]
		if err := w.Client.Update(t.Context(), now); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "status.storedVersions") {
			t.Errorf("CRD %s without %s: want a refusal for status.storedVersions, got %v", older.GetName(), nextVersion, err)
		}
	}
}

// A life is a claim with its Bucket and an access.
type life struct {
	claim  *cosiapi.BucketClaim
	bucket *cosiapi.Bucket
	access *cosiapi.BucketAccess
}

func (w *world) newLife(i int) *life {
	w.t.Helper()
	l := &life{}
	l.claim, l.bucket = w.provisioned(fmt.Sprintf("photos-%d", i), "fast")
	l.access = w.granted(fmt.Sprintf("app-%d", i), "keys", l.claim.Name)
	w.consistent()
	return l
}

// endsKeeping sets the new field everywhere, makes controller and sidecar write to each object until it is
// deleted, and fails the test if they remove the field.
func (n *newcomer) endsKeeping(l *life) {
	w := n.w
	w.t.Helper()
	n.fill(l.claim, l.bucket, l.access)
	w.driver.Script(memdriver.Fault{RPC: memdriver.GrantAccess, ID: l.access.Status.AccountID, Code: codes.Unavailable, Times: memdriver.Always})
	change(w, l.access, func(a *cosiapi.BucketAccess) { cosiapi.SetAnnotation(a, cosiapi.RotateAnnotation, "once") })
	w.condition(l.access, cosiapi.ConditionProvisionFailed, metav1.ConditionTrue, conditions.Retrying)
	n.fill(l.access)
	w.driver.ClearScript()
	w.condition(l.access, cosiapi.ConditionProvisionFailed, metav1.ConditionFalse)
	n.fill(l.access)
	w.delete(l.access)
	w.gone(l.access)
	n.fill(l.claim) // the controller has removed its annotation
	w.driver.Script(memdriver.Fault{RPC: memdriver.DeleteBucket, Code: codes.InvalidArgument})
	w.delete(l.claim)
	w.condition(l.bucket, cosiapi.ConditionDeprovisionFailed, metav1.ConditionTrue, conditions.Terminal)
	n.fill(l.bucket)
	w.touch(l.bucket)
	w.gone(l.claim, l.bucket)
}

// fill sets the new field in objects as a client of the next version, after checking whether it was removed
// since the last call.
func (n *newcomer) fill(objects ...client.Object) {
	n.w.t.Helper()
	n.w.eventually("the objects have the new field in "+nextVersion, func(ctx context.Context) error {
		for _, object := range objects {
			gvk, err := n.client.GroupVersionKindFor(object)
			if err != nil {
				return err
			}
			there := &unstructured.Unstructured{}
			there.SetGroupVersionKind(gvk.GroupKind().WithVersion(nextVersion))
			if err := n.client.Get(ctx, client.ObjectKeyFromObject(object), there); err != nil {
				return err
			}
			n.look(ctx, there.DeepCopy())
			properties := n.crds.schemaOf(gvk.Kind)["properties"].(map[string]any)
			for _, part := range []string{"spec", "status"} {
				if fill(properties[part].(map[string]any), there.Object[part]) {
					return fmt.Errorf("%s %s lacked it in its %s", gvk.Kind, object.GetName(), part)
				}
			}
		}
		return nil
	})
}

// versions returns CRDs that serve v1alpha2 and the next version with the same schema, and store one of them.
// With an empty storage they have only v1alpha2.
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

// convert installs CRDs with two versions and waits until the API server serves both and uses the storage
// version.
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

// storageHashes returns the storage version hashes of Cooper's resources by name.
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

// writtenIn returns the API versions in which an object was written.
func writtenIn(object client.Object) map[string]bool {
	versions := map[string]bool{}
	for _, entry := range object.GetManagedFields() {
		versions[strings.TrimPrefix(entry.APIVersion, cosiapi.GroupName+"/")] = true
	}
	return versions
}

// restartAs restarts controller and sidecar as clients of the next version or of v1alpha2.
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

// A nextClient converts a component's requests for v1alpha2 to the next version, which has the same schema.
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

// inVersion is a response body converted to another version. It passes lines on one by one, because a watch
// sends one event per line.
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
