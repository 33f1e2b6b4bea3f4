// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
)

const (
	// round is the number of steps between two waits for agreement.
	round = 30
	// names is the maximum number of claims, and of accesses.
	names = 12
)

// A modelClaim is a claim in the model of the KEP.
type modelClaim struct {
	object *cosiapi.BucketClaim
	// bucket is the name of its Bucket, and policy the Bucket's deletion policy.
	bucket string
	policy cosiapi.DeletionPolicy
	// imported means that an administrator created the Bucket.
	imported bool
	// deleted means that a user deleted the claim.
	deleted bool
	// provisioned is true once it was observed.
	provisioned bool
}

// A modelAccess is an access in the model of the KEP.
type modelAccess struct {
	object *cosiapi.BucketAccess
	claims []string
	// deleted means that a user deleted the access.
	deleted bool
	// granted is true once it was observed.
	granted bool
}

// A model records the actions in a world and the expected state.
type model struct {
	*world

	random   *rand.Rand
	claims   map[string]*modelClaim
	accesses map[string]*modelAccess
	// kept are the Buckets that were retained. The value is true if the backend bucket must exist; a claim
	// may have been deleted before its bucket was created.
	kept map[string]bool
	// existing are the backend buckets that existed before COSI, left the imported Buckets whose claims were
	// deleted.
	existing, left []string
	// refused means that the driver has refused a call since it was last reconfigured.
	refused bool
	// releases end the delays of watches.
	releases []func()
	done     map[string]int
}

// TestModel performs random actions of users and administrators, and faults, in several worlds at once, and
// compares the result with a small model of the KEP. Worlds differ in the permission to watch Secrets, and
// some have two controllers. The number of a world is its seed, so each run is the same.
// COOPER_LIFECYCLE_STEPS sets the number of steps.
func TestModel(t *testing.T) {
	t.Parallel()
	length := fulltest.Size(60, 250, 100_000)
	if given, err := strconv.Atoi(os.Getenv("COOPER_LIFECYCLE_STEPS")); err == nil {
		length = given
	}
	for seed := range uint64(fulltest.Size(1, 2, 4)) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			randomly(t, seed, length)
		})
	}
}

// randomly performs random steps in one world.
func randomly(t *testing.T, from uint64, steps int) {
	t.Helper()
	w := start(t, setup{
		patience: brief, backoff: patient(), poll: patient().Max, deadline: 5 * time.Second, watchSecrets: from%2 == 1,
		window: time.Nanosecond, // every action may be a reason to repeat a refused call
	})
	m := &model{
		world: w, random: rand.New(rand.NewPCG(from, 1)),
		claims: map[string]*modelClaim{}, accesses: map[string]*modelAccess{}, kept: map[string]bool{}, done: map[string]int{},
	}
	m.newClass("fast")
	m.newClass("kept", retain)
	m.newAccessClass("keys", multiBucket)
	m.newAccessClass("robots", multiBucket, byServiceAccount)
	if from%3 == 1 {
		m.secondController()
	}
	for step := 1; step <= steps; {
		if m.step() {
			step++
		}
		if step%round == 0 || step > steps {
			m.calmDown()
			m.agree()
		}
	}
	m.leave(from%3 == 0)
	t.Logf("%d steps: %v", steps, m.done)
}

// calmDown ends all faults, and reconfigures the driver if it refused a call.
func (m *model) calmDown() {
	m.driver.ClearScript()
	m.tape.calm()
	m.letWatchesGo()
	if m.refused {
		m.reconfigure()
		m.refused = false
	}
}

// step performs one action, and reports whether it was possible.
func (m *model) step() bool {
	m.t.Helper()
	actions := []struct {
		name   string
		weight int
		do     func() bool
	}{
		{"create a claim", 20, m.createClaim},
		{"import a bucket", 6, m.importBucket},
		{"delete a claim", 10, m.deleteClaim},
		{"forget an import", 2, m.forgetImport},
		{"change a policy", 4, m.changePolicy},
		{"replace a class", 2, m.replaceClass},
		{"create an access", 22, m.createAccess},
		{"delete an access", 12, m.deleteAccess},
		{"rotate", 6, m.rotate},
		{"edit a Secret", 3, m.editSecret},
		{"delete a Secret", 2, m.deleteSecret},
		{"fail a call", 10, m.failCall},
		{"refuse a call", 6, m.refuseCall},
		{"fail a write", 12, m.failWrite},
		{"hold a watch back", 3, m.holdWatch},
		{"restart a process", 1, m.restart},
	}
	total := 0
	for _, a := range actions {
		total += a.weight
	}
	pick := m.random.IntN(total)
	for _, a := range actions {
		if pick -= a.weight; pick >= 0 {
			continue
		}
		did := a.do()
		if did {
			m.done[a.name]++
		}
		return did
	}
	return false
}

// agree waits until the world agrees with the model.
func (m *model) agree() {
	m.t.Helper()
	m.eventually("the world matches the model", func(ctx context.Context) error {
		// The first difference ends the check, which is repeated soon. Accesses come first, because the
		// expected state of a claim depends on which accesses were granted.
		for _, name := range slices.Sorted(maps.Keys(m.accesses)) {
			if err := m.checkAccess(ctx, name); err != nil {
				return err
			}
		}
		for _, name := range slices.Sorted(maps.Keys(m.claims)) {
			if err := m.checkClaim(ctx, name); err != nil {
				return err
			}
		}
		return errors.Join(m.findUnknown(ctx), m.findMissing(ctx))
	})
	for name, a := range m.accesses {
		if a.deleted {
			delete(m.accesses, name)
		}
	}
	for name, c := range m.claims {
		if !c.deleted || m.used(name) {
			continue
		}
		delete(m.claims, name)
		if c.imported {
			m.left = append(m.left, c.bucket)
		}
	}
	slices.Sort(m.left) // sorted so that a seed is reproducible
	if n := m.driver.MaxConcurrency(""); n > 1 {
		m.t.Fatalf("%d calls for one ID ran at once", n)
	}
}

// used reports whether an access blocks a claim: it was granted before the claim was deleted.
func (m *model) used(claim string) bool {
	for _, a := range m.accesses {
		if a.granted && !a.deleted && slices.Contains(a.claims, claim) {
			return true
		}
	}
	return false
}

func (m *model) checkClaim(ctx context.Context, name string) error {
	c := m.claims[name]
	now := &cosiapi.BucketClaim{}
	err := client.IgnoreNotFound(m.Client.Get(ctx, client.ObjectKeyFromObject(c.object), now))
	if err != nil {
		return err
	}
	bucket, there := &cosiapi.Bucket{}, true
	if err := m.Client.Get(ctx, client.ObjectKey{Name: c.bucket}, bucket); err != nil {
		if !apierrors.IsNotFound(err) {
			return err
		}
		there = false
	}
	held := c.deleted && m.used(name)
	switch {
	case c.deleted && !held && now.Name != "":
		return fmt.Errorf("%s is deleted and still there: %v", name, now.ObjectMeta.Finalizers)
	case c.deleted && !held && c.policy == cosiapi.DeletionPolicyDelete && there:
		return fmt.Errorf("the Bucket of %s remains after the claim was deleted: %+v", name, bucket.Status.Conditions)
	case c.deleted && !held && c.policy == cosiapi.DeletionPolicyRetain && there:
		bound := bucket.Spec.BucketClaimRef.UID == c.object.UID // otherwise the claim was deleted before it could bind
		if released(bucket) != bound || !bucket.DeletionTimestamp.IsZero() {
			return fmt.Errorf("the retained Bucket of %s is not marked, or is being deleted: %+v", name, bucket)
		}
		if c.imported {
			return nil
		}
		m.kept[bucket.Name] = c.provisioned || conditions.Is(bucket.Status.Conditions, cosiapi.ConditionProvisioned, metav1.ConditionTrue)
		return nil
	case c.deleted && !held && c.imported:
		return fmt.Errorf("the imported Bucket of %s is missing", name)
	case c.deleted && !held:
		return nil
	case !there || !bucket.DeletionTimestamp.IsZero() || now.Name == "":
		return fmt.Errorf("%s has lost its Bucket", name)
	case !conditions.Is(now.Status.Conditions, cosiapi.ConditionProvisioned, metav1.ConditionTrue):
		return fmt.Errorf("%s is not provisioned: %+v", name, now.Status.Conditions)
	case marked(now) != m.used(name):
		return fmt.Errorf("%s is marked as in use: %v", name, marked(now))
	default:
		c.provisioned = true
		return nil
	}
}

// checkAccess records whether an access was granted and compares it with the model. An access whose claim was
// deleted in between may or may not be granted.
func (m *model) checkAccess(ctx context.Context, name string) error {
	a := m.accesses[name]
	now := &cosiapi.BucketAccess{}
	if err := m.Client.Get(ctx, client.ObjectKeyFromObject(a.object), now); err != nil {
		if a.deleted {
			return client.IgnoreNotFound(err)
		}
		return err
	}
	if a.deleted {
		return fmt.Errorf("%s is deleted and still there: %+v", name, now.Status.Conditions)
	}
	if now.Status.DriverName != "" {
		a.granted = true // once handed off, it must be granted eventually, or it blocks a claim
	}
	going := slices.ContainsFunc(a.claims, func(c string) bool { return m.claims[c] == nil || m.claims[c].deleted })
	granted := conditions.Is(now.Status.Conditions, cosiapi.ConditionProvisioned, metav1.ConditionTrue)
	for i := range a.claims {
		if err := m.checkSecret(ctx, secret(now, i)); granted && err != nil {
			return err
		}
	}
	switch {
	case !going && !granted:
		return fmt.Errorf("%s is not granted: %+v", name, now.Status.Conditions)
	case going && conditions.Is(now.Status.Conditions, cosiapi.ConditionResourcesValidated, metav1.ConditionTrue):
		return fmt.Errorf("%s is valid although one of its claims is missing or being deleted", name)
	default:
		return nil
	}
}

// checkSecret returns an error if a Secret contains a user's changes.
func (m *model) checkSecret(ctx context.Context, s *corev1.Secret) error {
	if err := m.Client.Get(ctx, client.ObjectKeyFromObject(s), s); err != nil {
		return err
	}
	if s.Data["MINE"] != nil {
		return fmt.Errorf("Secret %s still has a user's data", s.Name)
	}
	return nil
}

// leave deletes everything, with the namespace or one by one, and fails the test if more remains than is
// retained.
func (m *model) leave(withNamespace bool) {
	m.t.Helper()
	if withNamespace {
		m.delete(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: m.namespace}})
	}
	for _, name := range slices.Sorted(maps.Keys(m.accesses)) {
		if !withNamespace {
			m.delete(m.accesses[name].object)
		}
		m.accesses[name].deleted = true
	}
	for _, name := range slices.Sorted(maps.Keys(m.claims)) {
		if c := m.claims[name]; !c.deleted {
			if !withNamespace {
				m.delete(c.object)
			}
			c.deleted = true
		}
	}
	m.agree()
	m.eventually("the backend has the retained buckets", func(context.Context) error {
		left := m.driver.Inventory()
		if len(left.Accounts) > 0 {
			return fmt.Errorf("accounts %v", left.Accounts)
		}
		there := map[string]bool{}
		for _, b := range left.Buckets {
			there[b.ID] = true
			if _, known := m.kept[b.ID]; !known && !b.Foreign {
				return fmt.Errorf("bucket %s, which was not retained", b.ID)
			}
		}
		for name, must := range m.kept {
			if must && !there[name] {
				return fmt.Errorf("no bucket %s, which was retained", name)
			}
		}
		for _, id := range m.existing {
			if !there[id] {
				return fmt.Errorf("no bucket %s, which was imported", id)
			}
		}
		return nil
	})
}
