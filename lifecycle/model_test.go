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

	"google.golang.org/grpc/codes"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/fakes/driverfake"
	"github.com/cooper-cosi/cooper/internal/conditions"
)

const (
	// defaultWorlds is how many random runs CI makes, and defaultSteps the
	// length of each; COOPER_LIFECYCLE_WORLDS and COOPER_LIFECYCLE_STEPS set
	// others.
	defaultWorlds = 5
	defaultSteps  = 400
	// round is how many steps are made before everybody is waited for.
	round = 30
	// names is how many claims, and how many accesses, there are at most.
	names = 12
)

// A modelClaim is a claim as the model of the KEP has it.
type modelClaim struct {
	object *cosiapi.BucketClaim
	policy cosiapi.DeletionPolicy
	// deleted says that its user deleted it.
	deleted bool
	// provisioned is true once it was seen to be.
	provisioned bool
}

// A modelAccess is an access as the model of the KEP has it.
type modelAccess struct {
	object *cosiapi.BucketAccess
	claims []string
	// granted is true once it was seen to be granted.
	granted bool
}

// A model is what the users of a world did, and what must come of it.
type model struct {
	*world

	random   *rand.Rand
	claims   map[string]*modelClaim
	accesses map[string]*modelAccess
	// kept are the Buckets that Retain left, and whether the backend must have
	// theirs: a claim may have gone before its bucket was made.
	kept map[string]bool
	done map[string]int
}

// TestModel does what users, administrators and accidents do, in random order,
// in several worlds at a time, with and without the right to watch Secrets, and compares what comes of it with a small model
// of the KEP. The seed of each world is printed; COOPER_LIFECYCLE_SEED repeats
// it as the first one.
func TestModel(t *testing.T) {
	t.Parallel()
	steps := environment("COOPER_LIFECYCLE_STEPS", defaultSteps)
	first := seed()
	for i := range uint64(environment("COOPER_LIFECYCLE_WORLDS", defaultWorlds)) {
		t.Run(fmt.Sprintf("COOPER_LIFECYCLE_SEED=%d", first+i), func(t *testing.T) {
			t.Parallel()
			randomly(t, first+i, steps)
		})
	}
}

// randomly makes random steps in one world.
func randomly(t *testing.T, from uint64, steps int) {
	t.Helper()
	w := start(t, setup{backoff: patient(), poll: patient().Max, deadline: 5 * time.Second, watchSecrets: from%2 == 1})
	m := &model{
		world: w, random: rand.New(rand.NewPCG(from, 1)),
		claims: map[string]*modelClaim{}, accesses: map[string]*modelAccess{}, kept: map[string]bool{}, done: map[string]int{},
	}
	m.newClass("fast")
	m.newClass("kept", retain)
	m.newAccessClass("keys", multiBucket)
	for step := 1; step <= steps; step++ {
		m.step()
		if step%round == 0 || step == steps {
			m.driver.ClearScript()
			m.tape.calm()
			m.agree()
		}
	}
	m.leave()
	t.Logf("%d steps: %v", steps, m.done)
}

func environment(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

// step does one thing, if it is possible now.
func (m *model) step() {
	m.t.Helper()
	actions := []struct {
		name   string
		weight int
		do     func() bool
	}{
		{"create a claim", 20, m.createClaim},
		{"delete a claim", 10, m.deleteClaim},
		{"create an access", 20, m.createAccess},
		{"delete an access", 12, m.deleteAccess},
		{"rotate", 6, m.rotate},
		{"edit a Secret", 4, m.editSecret},
		{"fail a call", 12, m.failCall},
		{"fail a write", 12, m.failWrite},
		{"restart a process", 1, m.restart},
	}
	total := 0
	for _, a := range actions {
		total += a.weight
	}
	pick := m.random.IntN(total)
	for _, a := range actions {
		if pick -= a.weight; pick < 0 {
			if a.do() {
				m.done[a.name]++
			}
			return
		}
	}
}

// pickKey returns one of the keys that pass, or false if there is none.
func pickKey[V any](m *model, all map[string]V, passes func(V) bool) (string, bool) {
	keys := slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(k string) bool { return !passes(all[k]) })
	if len(keys) == 0 {
		return "", false
	}
	return keys[m.random.IntN(len(keys))], true
}

func (m *model) createClaim() bool {
	name := fmt.Sprintf("claim-%d", m.random.IntN(names))
	if m.claims[name] != nil {
		return false
	}
	class, policy := "fast", cosiapi.DeletionPolicyDelete
	if m.random.IntN(4) == 0 {
		class, policy = "kept", cosiapi.DeletionPolicyRetain
	}
	claim := m.claim(name, class)
	m.create(claim)
	m.claims[name] = &modelClaim{object: claim, policy: policy}
	return true
}

func (m *model) deleteClaim() bool {
	name, ok := pickKey(m, m.claims, func(c *modelClaim) bool { return !c.deleted })
	if !ok {
		return false
	}
	m.delete(m.claims[name].object)
	m.claims[name].deleted = true
	return true
}

func (m *model) createAccess() bool {
	name := fmt.Sprintf("access-%d", m.random.IntN(names))
	live := slices.DeleteFunc(slices.Sorted(maps.Keys(m.claims)), func(c string) bool { return m.claims[c].deleted })
	if m.accesses[name] != nil || len(live) == 0 {
		return false
	}
	m.random.Shuffle(len(live), func(i, j int) { live[i], live[j] = live[j], live[i] })
	live = live[:min(len(live), 1+m.random.IntN(2))]
	access := m.access(name, "keys", live...)
	m.create(access)
	m.accesses[name] = &modelAccess{object: access, claims: live}
	return true
}

func (m *model) deleteAccess() bool {
	name, ok := pickKey(m, m.accesses, func(*modelAccess) bool { return true })
	if !ok {
		return false
	}
	m.delete(m.accesses[name].object)
	m.gone(m.accesses[name].object) // its name may come again
	delete(m.accesses, name)
	return true
}

func (m *model) rotate() bool {
	name, ok := pickKey(m, m.accesses, func(a *modelAccess) bool { return a.granted })
	if !ok {
		return false
	}
	change(m.world, m.accesses[name].object, func(a *cosiapi.BucketAccess) {
		cosiapi.SetAnnotation(a, cosiapi.RotateAnnotation, strconv.Itoa(m.random.IntN(1e6)))
	})
	return true
}

// editSecret spoils a Secret and wakes a sidecar that may not watch it.
func (m *model) editSecret() bool {
	name, ok := pickKey(m, m.accesses, func(a *modelAccess) bool { return a.granted })
	if !ok {
		return false
	}
	access := m.accesses[name].object
	spoiled := secret(access, 0)
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"data":{"AWS_SECRET_ACCESS_KEY":null,"MINE":"eA=="}}`))
	if err := m.Client.Patch(m.t.Context(), spoiled, patch); err != nil && !apierrors.IsNotFound(err) {
		m.t.Fatal(err)
	}
	if m.setup.watchSecrets {
		m.rules.ObjectChanged()
	} else {
		m.touch(access)
	}
	return true
}

func (m *model) failCall() bool {
	rpcs := []driverfake.RPC{
		driverfake.GenerateBucketID, driverfake.CreateBucket, driverfake.DeleteBucket,
		driverfake.GenerateAccessID, driverfake.GrantAccess, driverfake.RevokeAccess,
	}
	retried := []codes.Code{codes.Unavailable, codes.Internal, codes.Aborted, codes.ResourceExhausted, codes.PermissionDenied}
	m.driver.Script(driverfake.Fault{
		RPC: rpcs[m.random.IntN(len(rpcs))], Code: retried[m.random.IntN(len(retried))], AfterEffect: m.random.IntN(2) == 0, Times: 1 + m.random.IntN(2),
	})
	return true
}

func (m *model) failWrite() bool {
	who := []string{theController, theSidecar}[m.random.IntN(2)]
	m.tape.strike(&fault{Who: who, Skip: m.random.IntN(3), Status: []int{0, 409, 429, 500}[m.random.IntN(4)], After: m.random.IntN(2) == 0})
	return true
}

func (m *model) restart() bool {
	who := []string{theController, theSidecar}[m.random.IntN(2)]
	p := m.process(who)
	select { // a manager that is stopped while it cannot fill its caches never ends
	case <-p.atWork:
	case <-time.After(patience()):
		m.t.Fatalf("the %s does not begin", who)
	}
	if m.random.IntN(2) == 0 {
		p.die()
		p.bury()
	} else {
		m.stop(who)
	}
	if who == theController {
		m.runController()
	} else {
		m.runSidecar()
	}
	return true
}

// agree waits until the world is as the model says.
func (m *model) agree() {
	m.t.Helper()
	m.eventually("the world is as the model says", func(ctx context.Context) error {
		var errs []error
		for _, name := range slices.Sorted(maps.Keys(m.claims)) {
			errs = append(errs, m.checkClaim(ctx, name))
		}
		for _, name := range slices.Sorted(maps.Keys(m.accesses)) {
			errs = append(errs, m.checkAccess(ctx, name))
		}
		errs = append(errs, m.findUnknown(ctx), m.findMissing(ctx))
		return errors.Join(errs...)
	})
	for name, c := range m.claims {
		if c.deleted && !m.used(name) {
			delete(m.claims, name)
		}
	}
	if n := m.driver.MaxConcurrency(""); n > 1 {
		m.t.Fatalf("%d calls for one ID ran at once", n)
	}
}

// used tells whether an access holds a claim: it was granted before the claim
// was deleted.
func (m *model) used(claim string) bool {
	for _, a := range m.accesses {
		if a.granted && slices.Contains(a.claims, claim) {
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
	if err := m.Client.Get(ctx, client.ObjectKey{Name: cosiapi.BucketNameFor(c.object.UID)}, bucket); err != nil {
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
		return fmt.Errorf("the Bucket of %s, which is gone, is still there: %+v", name, bucket.Status.Conditions)
	case c.deleted && !held && c.policy == cosiapi.DeletionPolicyRetain && there:
		if !released(bucket) || !bucket.DeletionTimestamp.IsZero() {
			return fmt.Errorf("the retained Bucket of %s is not marked, or goes", name)
		}
		m.kept[bucket.Name] = c.provisioned || conditions.Is(bucket.Status.Conditions, cosiapi.ConditionProvisioned, metav1.ConditionTrue)
		return nil
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

// checkAccess learns whether an access was granted, for one whose claim went
// away meanwhile may be either, and compares it with the model.
func (m *model) checkAccess(ctx context.Context, name string) error {
	a := m.accesses[name]
	now := &cosiapi.BucketAccess{}
	if err := m.Client.Get(ctx, client.ObjectKeyFromObject(a.object), now); err != nil {
		return err
	}
	if now.Status.DriverName != "" {
		a.granted = true // once handed over, it must be granted in the end, or it is in a claim's way
	}
	going := slices.ContainsFunc(a.claims, func(c string) bool { return m.claims[c] == nil || m.claims[c].deleted })
	granted := conditions.Is(now.Status.Conditions, cosiapi.ConditionProvisioned, metav1.ConditionTrue)
	switch {
	case !going && !granted:
		return fmt.Errorf("%s is not granted: %+v", name, now.Status.Conditions)
	case going && conditions.Is(now.Status.Conditions, cosiapi.ConditionResourcesValidated, metav1.ConditionTrue):
		return fmt.Errorf("%s is valid although a claim of it goes or is gone", name)
	default:
		return nil
	}
}

// leave deletes everything, and fails the test if more stays than Retain keeps.
func (m *model) leave() {
	m.t.Helper()
	for _, a := range m.accesses {
		m.delete(a.object)
	}
	for _, c := range m.claims {
		if !c.deleted {
			m.delete(c.object)
			c.deleted = true
		}
	}
	for _, a := range m.accesses {
		m.gone(a.object)
	}
	m.accesses = map[string]*modelAccess{}
	m.agree()
	m.eventually("the backend has what was retained", func(context.Context) error {
		left := m.driver.Inventory()
		if len(left.Accounts) > 0 {
			return fmt.Errorf("accounts %v", left.Accounts)
		}
		there := map[string]bool{}
		for _, b := range left.Buckets {
			there[b.ID] = true
			if _, known := m.kept[b.ID]; !known {
				return fmt.Errorf("bucket %s, which nobody retained", b.ID)
			}
		}
		for name, must := range m.kept {
			if must && !there[name] {
				return fmt.Errorf("no bucket %s, which was retained", name)
			}
		}
		return nil
	})
}
