// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/testenv"
)

// A subject is the set of objects in one run of a flow.
type subject struct {
	claims []*cosiapi.BucketClaim
	// imported is the Bucket that an administrator created, or nil.
	imported *cosiapi.Bucket
	access   *cosiapi.BucketAccess // nil if there is none
}

// A flow is a user's goal, starting from a prepared state.
type flow struct {
	prepare func(w *world, name string) *subject
	act     func(*world, *subject)
	// reached waits until the goal is reached.
	reached func(*world, *subject)
	// noAccess means that the flow has no access.
	noAccess bool
	// recording has the points of the flow, from undisturbed runs.
	recording *recording
}

// A recording is made once for all tests of a flow.
type recording struct {
	sync.Once

	points []point
}

// flows returns all flows by name.
var flows = sync.OnceValue(func() map[string]flow {
	all := newFlows()
	for name, f := range all {
		f.recording = &recording{}
		all[name] = f
	}
	return all
})

func newFlows() map[string]flow {
	withClaims := func(count int) func(*world, string) *subject {
		return func(w *world, name string) *subject {
			s := &subject{}
			for i := range count {
				s.claims = append(s.claims, w.newClaim(fmt.Sprintf("%s-%d", name, i), "fast"))
			}
			s.access = w.access(name, "keys", claimNames(s)...)
			for _, c := range s.claims {
				w.ready(c)
			}
			return s
		}
	}
	withAccess := func(w *world, name string) *subject {
		s := withClaims(1)(w, name)
		w.create(s.access)
		w.ready(s.access)
		return s
	}
	createAccess := func(w *world, s *subject) { w.create(s.access) }
	granted := func(w *world, s *subject) { w.ready(s.access) }
	return map[string]flow{
		"a claim": {
			prepare: func(w *world, name string) *subject {
				return &subject{claims: []*cosiapi.BucketClaim{w.claim(name, "fast")}}
			},
			act:      func(w *world, s *subject) { w.create(s.claims[0]) },
			reached:  func(w *world, s *subject) { w.ready(s.claims[0]) },
			noAccess: true,
		},
		"an access":             {prepare: withClaims(1), act: createAccess, reached: granted},
		"an access to two":      {prepare: withClaims(2), act: createAccess, reached: granted},
		"an access that leaves": {prepare: withAccess, act: func(w *world, s *subject) { w.delete(s.access) }, reached: accessGone},
		"a claim that leaves": {
			prepare: func(w *world, name string) *subject {
				s := withClaims(1)(w, name)
				s.access = nil
				return s
			},
			act:      func(w *world, s *subject) { w.delete(s.claims[0]) },
			reached:  func(w *world, s *subject) { w.gone(s.claims[0], bucketFor(s.claims[0])) },
			noAccess: true,
		},
		"an import": {
			prepare: func(w *world, name string) *subject {
				w.must(w.driver.AddBucket("existing-" + name))
				return &subject{imported: w.imported(name, "existing-"+name, name), claims: []*cosiapi.BucketClaim{w.importing(name, name)}}
			},
			act: func(w *world, s *subject) { w.create(s.imported, s.claims[0]) },
			reached: func(w *world, s *subject) {
				w.ready(s.imported, s.claims[0])
				if get(w, s.imported).Spec.BucketClaimRef.UID != s.claims[0].UID {
					w.t.Error("the Bucket does not name its claim")
				}
			},
			noAccess: true,
		},
		"a rotation": {
			prepare: withAccess,
			act: func(w *world, s *subject) {
				change(w, s.access, func(a *cosiapi.BucketAccess) { cosiapi.SetAnnotation(a, cosiapi.RotateAnnotation, "now") })
			},
			reached: func(w *world, s *subject) {
				w.eventually("the rotation is delivered", func(ctx context.Context) error {
					account := w.account(s.access.Status.AccountID)
					if account.Rotation != "now" || len(account.Keys) != 2 {
						return fmt.Errorf("rotation %q, %d keys", account.Rotation, len(account.Keys))
					}
					return w.findMissing(ctx)
				})
			},
		},
	}
}

// flowNames returns the names of all flows, sorted.
func flowNames() []string { return slices.Sorted(maps.Keys(flows())) }

// eachFlow runs a test with each of these flows in parallel.
func eachFlow(t *testing.T, names []string, test func(*testing.T, flow)) {
	t.Helper()
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, flows()[name])
		})
	}
}

func claimNames(s *subject) []string {
	var names []string
	for _, c := range s.claims {
		names = append(names, c.Name)
	}
	return names
}

func accessGone(w *world, s *subject) {
	w.gone(s.access, secret(s.access, 0))
	if marked(get(w, s.claims[0])) {
		w.t.Error("the claim is still marked as in use")
	}
}

// account returns an account in the backend. It is empty if there is none.
func (w *world) account(id string) memdriver.Account {
	for _, a := range w.driver.Inventory().Accounts {
		if a.ID == id {
			return a
		}
	}
	return memdriver.Account{}
}

// clear deletes all objects of a subject, and fails the test unless everything is deleted, including in the
// backend.
func (w *world) clear(s *subject) {
	w.t.Helper()
	var all []client.Object
	if s.access != nil && w.exists(s.access) {
		all = append(all, s.access)
	}
	for _, c := range s.claims {
		if w.exists(c) {
			all = append(all, c)
		}
	}
	w.delete(all...)
	w.gone(all...)
	if s.imported != nil {
		w.delete(s.imported)
		w.gone(s.imported)
	}
	for _, c := range s.claims {
		w.gone(bucketFor(c))
	}
	w.consistent()
}

// state is the backend's state as recorded in Kubernetes.
type state struct {
	buckets  map[string]*cosiapi.Bucket       // by bucket ID
	accounts map[string]*cosiapi.BucketAccess // by account ID
	secrets  []corev1.Secret
}

func (w *world) state(ctx context.Context) (*state, error) {
	buckets, accesses, secrets := &cosiapi.BucketList{}, &cosiapi.BucketAccessList{}, &corev1.SecretList{}
	err := errors.Join(
		w.Client.List(ctx, buckets), w.Client.List(ctx, accesses, client.InNamespace(w.namespace)),
		w.Client.List(ctx, secrets, client.InNamespace(w.namespace)),
	)
	if w.old() {
		byVendor(buckets.Items, accesses.Items)
	}
	s := &state{buckets: map[string]*cosiapi.Bucket{}, accounts: map[string]*cosiapi.BucketAccess{}, secrets: secrets.Items}
	for i := range buckets.Items {
		if b := &buckets.Items[i]; b.Status.BucketID != "" && b.Spec.BucketClaimRef.Namespace == w.namespace {
			s.buckets[b.Status.BucketID] = b
		}
	}
	for i := range accesses.Items {
		if a := &accesses.Items[i]; a.Status.AccountID != "" {
			s.accounts[a.Status.AccountID] = a
		}
	}
	return s, err
}

// findUnknown returns an error for anything in the backend that Kubernetes does not know, and for Secrets
// whose credential does not work. Components may be running, so it considers the state of the backend both
// before and after reading Kubernetes.
func (w *world) findUnknown(ctx context.Context) error {
	before := w.driver.Inventory()
	s, err := w.state(ctx)
	if err != nil {
		return err
	}
	after := w.driver.Inventory()
	var errs []error
	for _, b := range before.Buckets {
		still := slices.ContainsFunc(after.Buckets, func(other memdriver.Bucket) bool { return other.ID == b.ID })
		if s.buckets[b.ID] == nil && !b.Foreign && still {
			errs = append(errs, fmt.Errorf("bucket %s is in the backend, and Kubernetes does not know it", b.ID))
		}
	}
	for _, a := range before.Accounts {
		still := slices.ContainsFunc(after.Accounts, func(other memdriver.Account) bool { return other.ID == a.ID })
		if s.accounts[a.ID] == nil && still {
			errs = append(errs, fmt.Errorf("account %s is in the backend, and Kubernetes does not know it", a.ID))
		}
	}
	for _, secret := range s.secrets {
		key := string(secret.Data["AWS_SECRET_ACCESS_KEY"])
		works := func(a memdriver.Account) bool { return hasKey(a, key) }
		if key != "" && !slices.ContainsFunc(before.Accounts, works) && !slices.ContainsFunc(after.Accounts, works) {
			errs = append(errs, fmt.Errorf("Secret %s holds a credential that does not work", secret.Name))
		}
	}
	return errors.Join(errs...)
}

// findUnsaid returns an error for conditions of kept objects that do not report success for the current
// generation. It ignores fences, which a crash may leave in a failed state.
func (w *world) findUnsaid(ctx context.Context) error {
	claims, accesses, buckets := &cosiapi.BucketClaimList{}, &cosiapi.BucketAccessList{}, &cosiapi.BucketList{}
	errs := []error{
		w.Client.List(ctx, claims, client.InNamespace(w.namespace)), w.Client.List(ctx, accesses, client.InNamespace(w.namespace)), w.Client.List(ctx, buckets),
	}
	var all []client.Object
	for i := range claims.Items {
		all = append(all, &claims.Items[i])
	}
	for i := range accesses.Items {
		all = append(all, &accesses.Items[i])
	}
	for i := range buckets.Items {
		if buckets.Items[i].Spec.BucketClaimRef.Namespace == w.namespace && !released(&buckets.Items[i]) {
			all = append(all, &buckets.Items[i])
		}
	}
	for _, obj := range all {
		if !obj.GetDeletionTimestamp().IsZero() || ofFence(obj.GetName()) {
			continue
		}
		for conditionType, want := range map[string]metav1.ConditionStatus{
			cosiapi.ConditionProvisioned: metav1.ConditionTrue, cosiapi.ConditionResourcesValidated: metav1.ConditionTrue,
			cosiapi.ConditionProvisionFailed: metav1.ConditionFalse,
		} {
			if c := testenv.Condition(obj, conditionType); c.Status != want || c.ObservedGeneration != obj.GetGeneration() && !w.setup.noGeneration {
				errs = append(errs, fmt.Errorf("%T %s has %s=%s of generation %d: %v", obj, obj.GetName(), conditionType, c.Status, c.ObservedGeneration, testenv.Conditions(obj)))
			}
		}
	}
	return errors.Join(errs...)
}

// bucketIDs returns the sorted IDs of an access's buckets, without duplicates.
func bucketIDs(a *cosiapi.BucketAccess) []string {
	var ids []string
	for _, b := range a.Status.AccessedBuckets {
		ids = append(ids, b.BucketID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func hasKey(a memdriver.Account, key string) bool {
	return slices.ContainsFunc(a.Keys, func(k memdriver.Key) bool { return k.Secret == key })
}

// findMissing returns an error for anything that Kubernetes records and that is missing in the backend or in
// Secrets.
func (w *world) findMissing(ctx context.Context) error {
	s, err := w.state(ctx)
	if err != nil {
		return err
	}
	var errs []error
	backend := w.driver.Inventory()
	for id, b := range s.buckets {
		there := slices.ContainsFunc(backend.Buckets, func(b memdriver.Bucket) bool { return b.ID == id })
		if conditions.Is(b.Status.Conditions, cosiapi.ConditionProvisioned, metav1.ConditionTrue) && b.DeletionTimestamp.IsZero() && !there && !ofFence(id) {
			errs = append(errs, fmt.Errorf("bucket %s is provisioned, and not in the backend", id))
		}
	}
	owned := 0
	for id, a := range s.accounts {
		if !conditions.Is(a.Status.Conditions, cosiapi.ConditionProvisioned, metav1.ConditionTrue) || !a.DeletionTimestamp.IsZero() {
			continue
		}
		account := w.account(id)
		if granted := account.Buckets; !slices.Equal(granted, bucketIDs(a)) {
			errs = append(errs, fmt.Errorf("account %s may use %q, and access %s is to %q", id, granted, a.Name, bucketIDs(a)))
		}
		for _, claim := range a.Spec.BucketClaims {
			i := slices.IndexFunc(s.secrets, func(s corev1.Secret) bool { return s.Name == claim.AccessSecretName && metav1.IsControlledBy(&s, a) })
			if i < 0 {
				errs = append(errs, fmt.Errorf("access %s has no Secret %s", a.Name, claim.AccessSecretName))
				continue
			}
			owned++
			key := string(s.secrets[i].Data["AWS_SECRET_ACCESS_KEY"])
			if a.Status.AuthenticationType == cosiapi.AuthenticationTypeServiceAccount {
				if as := a.Namespace + "/" + a.Spec.ServiceAccountName; key != "" || account.ServiceAccount != as {
					errs = append(errs, fmt.Errorf("account %s is not that of %s, or Secret %s holds a key", id, as, claim.AccessSecretName))
				}
				continue
			}
			if len(account.Keys) == 0 || account.Keys[0].Secret != key {
				errs = append(errs, fmt.Errorf("Secret %s does not hold the newest key of account %s", claim.AccessSecretName, id))
			}
		}
	}
	if len(errs) == 0 && owned != len(s.secrets) {
		errs = append(errs, fmt.Errorf("there are %d Secrets, and accesses need %d", len(s.secrets), owned))
	}
	return errors.Join(errs...)
}
