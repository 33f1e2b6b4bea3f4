// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/deploy"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

// TestComponentsOlderThanTheCRDs runs every flow with CRDs that have an additional optional field in every
// object in spec and status, including list items, and with a newer client that sets the field everywhere.
// The components must neither remove it nor fail.
func TestComponentsOlderThanTheCRDs(t *testing.T) {
	t.Parallel()
	covers(t, "fields-of-newer-crds")
	crds := readCRDs(t)
	for _, crd := range crds {
		eachObject(crd.root(), func(properties map[string]any) {
			properties[newField] = map[string]any{"type": "string", "maxLength": int64(16)}
		})
	}
	w := start(t, setup{backoff: patient(), poll: patient().Max, crds: crds.manifests(t), wrap: handOffsOfNewer})
	n := &newcomer{w: w, crds: crds, client: w.Client}
	w.Client = n.users()
	n.work()
	w.newClass("fast")
	w.newAccessClass("keys", multiBucket)
	for _, name := range flowNames() {
		f := flows()[name]
		s := f.prepare(w, fmt.Sprintf("s%d", w.next()))
		f.act(w, s)
		f.reached(w, s)
		w.clear(s)
		if t.Failed() {
			t.Fatalf("the flow of %s failed", name)
		}
	}
	if n.count() == 0 {
		t.Error("the new field is not set")
	}
}

// TestComponentsNewerThanTheCRDs runs the flows with CRDs that lack optional fields which the components
// write. The API server drops the fields, and the components must not write them repeatedly.
func TestComponentsNewerThanTheCRDs(t *testing.T) {
	t.Parallel()
	covers(t, "fields-of-older-crds")
	for name, tc := range map[string]struct {
		// without are the missing fields in the CRDs, by kind and path.
		without map[string][]string
		runs    func(flow) bool
	}{
		"fields that no flow needs": {
			without: map[string][]string{
				"Bucket": {"spec.parameters", "spec.protocols", "status.bucketInfo"}, "BucketAccess": {"status.parameters", "status.cleanup"},
			},
			runs: func(flow) bool { return true },
		},
		"a field that only accesses need": {
			without: map[string][]string{"BucketClaim": {"status.protocols"}},
			runs:    func(f flow) bool { return f.noAccess },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			crds := readCRDs(t)
			for _, crd := range crds {
				eachObject(crd.root(), func(properties map[string]any) { delete(properties, "observedGeneration") }) // in list items
			}
			for kind, paths := range tc.without {
				for _, path := range paths {
					drop(t, crds.schemaOf(kind), path)
				}
			}
			w := start(t, setup{backoff: patient(), poll: patient().Max, noGeneration: true, crds: crds.manifests(t)})
			w.newClass("fast")
			w.newAccessClass("keys", multiBucket)
			names := slices.DeleteFunc(flowNames(), func(name string) bool { return !tc.runs(flows()[name]) })
			for _, name := range names {
				w.doesNotInsist(flows()[name])
			}
		})
	}
}

// TestUpgradeDowngradeUpgrade replaces the CRDs of a running controller and sidecar with newer ones, then the
// old ones, and the newer ones again. Objects that were provisioned with either stay provisioned, are created
// only once, and can be deleted completely.
func TestUpgradeDowngradeUpgrade(t *testing.T) {
	t.Parallel()
	covers(t, "fields-of-newer-crds", "fields-of-older-crds")
	older, newer := readCRDs(t), readCRDs(t)
	for kind, paths := range map[string][]string{"Bucket": {"status.bucketInfo"}, "BucketAccess": {"status.cleanup"}} {
		for _, path := range paths {
			drop(t, older.schemaOf(kind), path)
		}
	}
	w := start(t, setup{backoff: patient(), poll: patient().Max, crds: older.manifests(t)})
	w.newClass("fast")
	w.newAccessClass("keys")
	var users, buckets []client.Object
	for i, crds := range []crdSet{older, newer, older, newer} {
		if i > 0 {
			w.exchange(crds)
		}
		claim, bucket := w.provisioned(fmt.Sprintf("photos-%d", i), "fast")
		access := w.granted(fmt.Sprintf("app-%d", i), "keys", claim.Name)
		users, buckets = append(users, access, claim), append(buckets, bucket)
		w.settled()
		w.ready(slices.Concat(users, buckets)...)
		if has := get(w, bucket).Status.BucketInfo != nil; has != (i%2 == 1) {
			t.Errorf("exchange %d: the field of newer CRDs is there: %t", i, has)
		}
		w.consistent()
	}
	if held := w.driver.Inventory(); len(held.Buckets) != 4 || len(held.Accounts) != 4 {
		t.Errorf("the backend holds %d buckets and %d accounts, want 4 of each", len(held.Buckets), len(held.Accounts))
	}
	w.delete(users...)
	w.gone(slices.Concat(users, buckets)...)
	if left := w.driver.Inventory(); len(left.Buckets)+len(left.Accounts) > 0 {
		t.Errorf("the backend still holds %+v", left)
	}
}

// install replaces the CRDs.
func (w *world) install(crds crdSet) {
	w.t.Helper()
	for _, c := range crds {
		wanted := &unstructured.Unstructured{Object: map[string]any(c)}
		err := controlplane.Until(w.t.Context(), func(ctx context.Context) error {
			now := wanted.DeepCopy()
			if err := w.Client.Get(ctx, client.ObjectKeyFromObject(wanted), now); err != nil {
				return err
			}
			now.Object["spec"] = runtime.DeepCopyJSON(wanted.Object)["spec"]
			return w.Client.Update(ctx, now)
		})
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

// exchange replaces the CRDs and waits until the API server serves them.
func (w *world) exchange(crds crdSet) {
	w.t.Helper()
	w.install(crds)
	_, keeps, _ := unstructured.NestedMap(crds.schemaOf("Bucket"), "properties", "status", "properties", "bucketInfo")
	probe := w.imported(fmt.Sprintf("probe-%d", w.next()), "probe", "probe")
	w.create(probe)
	err := controlplane.Until(w.t.Context(), func(ctx context.Context) error {
		tried := probe.DeepCopy()
		patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"bucketInfo":{"probe":"probe"}}}`))
		if err := w.Client.Status().Patch(ctx, tried, patch, client.DryRunAll); err != nil {
			return err
		}
		if kept := tried.Status.BucketInfo["probe"] != ""; kept != keeps {
			return fmt.Errorf("status.bucketInfo is kept: %t", kept)
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.delete(probe)
	w.gone(probe)
}

// doesNotInsist runs a flow to its end and verifies that no writes follow.
func (w *world) doesNotInsist(f flow) {
	w.t.Helper()
	s := f.prepare(w, fmt.Sprintf("s%d", w.next()))
	f.act(w, s)
	f.reached(w, s)
	w.settled()
	mark := w.tape.mark()
	w.settled()
	for _, again := range w.tape.done(func(e entry) bool { return e.Began > mark && !ofFence(e.Name) }) {
		w.t.Errorf("a request though nothing changed: %s", again)
	}
	w.clear(s)
}

// newField is a field that the Go types of this repository do not have.
const newField = "newField"

// A crd is the manifest of a CustomResourceDefinition.
type crd map[string]any

type crdSet map[string]crd // by file name

func readCRDs(t *testing.T) crdSet {
	t.Helper()
	manifests, err := deploy.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	crds := crdSet{}
	for name, text := range manifests {
		parsed := crd{}
		if err := yaml.Unmarshal(text, &parsed); err != nil {
			t.Fatal(err)
		}
		crds[name] = parsed
	}
	return crds
}

func (s crdSet) manifests(t *testing.T) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for name, c := range s {
		text, err := yaml.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = text
	}
	return all
}

// schemaOf returns the schema of a kind, or nil if the kind is not Cooper's.
func (s crdSet) schemaOf(kind string) map[string]any {
	for _, c := range s {
		if name, _, _ := unstructured.NestedString(c, "spec", "names", "kind"); name == kind {
			return c.root()
		}
	}
	return nil
}

// root returns the schema of the only version.
func (c crd) root() map[string]any {
	versions, _, _ := unstructured.NestedSlice(c, "spec", "versions")
	if len(versions) != 1 {
		panic(fmt.Sprintf("%d versions", len(versions)))
	}
	// NestedSlice returns a copy, and the schema must be modified in place.
	list := c["spec"].(map[string]any)["versions"].([]any)
	return list[0].(map[string]any)["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)
}

// drop removes the field at a path, and the validation rules about it, from a schema.
func drop(t *testing.T, root map[string]any, path string) {
	t.Helper()
	names := strings.Split(path, ".")
	for i, name := range names {
		rules, _ := root["x-kubernetes-validations"].([]any)
		about := "." + strings.Join(names[i:], ".")
		root["x-kubernetes-validations"] = slices.DeleteFunc(rules, func(rule any) bool {
			return strings.Contains(rule.(map[string]any)["rule"].(string), about)
		})
		properties := root["properties"].(map[string]any)
		field, ok := properties[name].(map[string]any)
		if !ok {
			t.Fatalf("the CRD has no %s", path)
		}
		if i == len(names)-1 {
			delete(properties, name)
		}
		root = field
	}
}

// eachObject calls change with the properties of every object in spec and status.
func eachObject(root map[string]any, change func(properties map[string]any)) {
	var visit func(form map[string]any)
	visit = func(form map[string]any) {
		if items, ok := form["items"].(map[string]any); ok {
			visit(items)
		}
		properties, ok := form["properties"].(map[string]any)
		if !ok {
			return
		}
		for _, property := range properties {
			visit(property.(map[string]any))
		}
		change(properties)
	}
	for _, part := range []string{"spec", "status"} {
		if form, ok := root["properties"].(map[string]any)[part].(map[string]any); ok {
			visit(form)
		}
	}
}

// fill sets the new field wherever the schema allows it, and reports whether anything changed.
func fill(form map[string]any, value any) (changed bool) {
	switch v := value.(type) {
	case map[string]any:
		properties, _ := form["properties"].(map[string]any)
		for name, member := range v {
			if property, ok := properties[name].(map[string]any); ok {
				changed = fill(property, member) || changed
			}
		}
		if _, may := properties[newField]; may && v[newField] == nil {
			v[newField], changed = "set", true
		}
	case []any:
		items, _ := form["items"].(map[string]any)
		for _, item := range v {
			changed = fill(items, item) || changed
		}
	}
	return changed
}

// lost returns the places at which before has the new field, and after still has the object but not the
// field.
func lost(path string, before, after any) []string {
	var all []string
	switch was := before.(type) {
	case map[string]any:
		is, still := after.(map[string]any)
		if !still {
			return nil
		}
		if was[newField] != nil && is[newField] != was[newField] {
			all = append(all, path)
		}
		for name, member := range was {
			all = append(all, lost(path+"."+name, member, is[name])...)
		}
	case []any:
		is, _ := after.([]any)
		for _, item := range was {
			for _, other := range is {
				if key := keyOf(item); key != "" && key == keyOf(other) {
					all = append(all, lost(path+"["+key+"]", item, other)...)
				}
			}
		}
	}
	return all
}

// keyOf returns the key of a list item.
func keyOf(item any) string {
	members, _ := item.(map[string]any)
	for _, key := range []string{"type", "bucketClaimName"} {
		if value, ok := members[key].(string); ok {
			return value
		}
	}
	return ""
}

// A newcomer is a newer client: it sets the new field wherever it is missing, and checks that it is
// preserved.
type newcomer struct {
	w      *world
	crds   crdSet
	client client.Client

	mu   sync.Mutex
	last map[types.UID]*unstructured.Unstructured
	set  int
}

// work watches all objects until the end of the test.
func (n *newcomer) work() {
	n.w.t.Helper()
	n.last = map[types.UID]*unstructured.Unstructured{}
	watcher, err := client.NewWithWatch(n.w.Config(), client.Options{Scheme: n.w.Scheme()})
	n.w.must(err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(n.w.t.Context()))
	var done sync.WaitGroup
	for _, kind := range []string{"Bucket", "BucketClaim", "BucketAccess"} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(cosiapi.GroupVersion().WithKind(kind + "List"))
		events, err := watcher.Watch(ctx, list)
		n.w.must(err)
		done.Go(func() {
			for event := range events.ResultChan() {
				if obj, ok := event.Object.(*unstructured.Unstructured); ok && event.Type != watch.Deleted {
					n.look(ctx, obj)
				}
			}
		})
	}
	n.w.t.Cleanup(func() {
		cancel()
		done.Wait()
	})
}

// look compares an object with its previous state and sets the missing fields. After a conflict it waits for
// the next event.
func (n *newcomer) look(ctx context.Context, obj *unstructured.Unstructured) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if before := n.last[obj.GetUID()]; before != nil {
		for _, place := range lost("", before.Object, obj.Object) {
			n.w.t.Errorf("%s %s lost the new field at %s, written by %v", obj.GetKind(), obj.GetName(), place, obj.GetManagedFields()[len(obj.GetManagedFields())-1].Manager)
		}
	}
	n.last[obj.GetUID()] = obj.DeepCopy()
	if ofFence(obj.GetName()) {
		return
	}
	root := n.crds.schemaOf(obj.GetKind())["properties"].(map[string]any)
	if fill(root["spec"].(map[string]any), obj.Object["spec"]) { // only for Buckets, because other specs are immutable
		n.wrote(n.client.Update(ctx, obj))
		return
	}
	if fill(root["status"].(map[string]any), obj.Object["status"]) {
		n.wrote(n.client.Status().Update(ctx, obj))
	}
}

// count returns how often the field was set.
func (n *newcomer) count() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.set
}

func (n *newcomer) wrote(err error) {
	if err == nil {
		n.set++
		return
	}
	if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) && context.Cause(n.w.t.Context()) == nil {
		n.w.t.Errorf("the new field is refused: %v", err)
	}
}

// users returns a client for users of the newer version.
func (n *newcomer) users() client.Client { return newUsers{Client: n.client, crds: n.crds} }

type newUsers struct {
	client.Client

	crds crdSet
}

// Create implements client.Client. It sets the new field in the spec.
func (u newUsers) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	gvk, err := u.GroupVersionKindFor(obj)
	if err != nil {
		return err
	}
	root := u.crds.schemaOf(gvk.Kind)
	if root == nil {
		return u.Client.Create(ctx, obj, opts...)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return err
	}
	delete(content, "status")
	fill(root["properties"].(map[string]any)["spec"].(map[string]any), content["spec"])
	created := &unstructured.Unstructured{Object: content}
	created.SetGroupVersionKind(gvk)
	if err := u.Client.Create(ctx, created, opts...); err != nil {
		return err
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(created.Object, obj)
}

// Update implements client.Client. It preserves fields that the type of obj does not have.
func (u newUsers) Update(ctx context.Context, obj client.Object, _ ...client.UpdateOption) error {
	live, _ := obj.DeepCopyObject().(client.Object)
	if err := u.Get(ctx, client.ObjectKeyFromObject(obj), live); err != nil {
		return err
	}
	if live.GetResourceVersion() != obj.GetResourceVersion() {
		return apierrors.NewConflict(schema.GroupResource{}, obj.GetName(), errNot)
	}
	return u.Patch(ctx, obj, client.MergeFromWithOptions(live, client.MergeFromWithOptimisticLock{}))
}

// handOffsOfNewer sets the new field in hand-offs to a sidecar, as a newer controller does that was rolled
// back later. The field is immutable afterwards.
func handOffsOfNewer(next http.RoundTripper) http.RoundTripper { return &handOffs{next: next} }

type handOffs struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (h *handOffs) RoundTrip(r *http.Request) (*http.Response, error) {
	if describe(r).What != "patch bucketaccesses/status" {
		return h.next.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var patch []map[string]any
	if err := json.Unmarshal(body, &patch); err != nil {
		return nil, err
	}
	for _, operation := range patch {
		if operation["path"] != "/status/accessedBuckets" {
			continue
		}
		for _, item := range operation["value"].([]any) {
			item.(map[string]any)[newField] = "set"
		}
	}
	if body, err = json.Marshal(patch); err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	return h.next.RoundTrip(r)
}
