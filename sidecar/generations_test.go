// SPDX-License-Identifier: Apache-2.0

package sidecar_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/internal/testing/processtest"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/proto/upstream"
	"github.com/cooper-cosi/cooper/proto/v1alpha1"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/sidecar"
	"github.com/cooper-cosi/cooper/testenv"
)

// older are the generations before ours. All of them have one phase.
var older = []memdriver.Generation{memdriver.V1alpha1, memdriver.Upstream}

// olderWrites is the number of writes of a Sidecar in the flow of interfered, with a one-phase driver: four for the
// Bucket and five for the access, because the request is recorded before the ID, four for the cleanup of the access and
// one for the release of the Bucket.
const olderWrites = 14

// A driver of v1alpha1 is detected, and requests contain only fields of its specification.
func TestDriverOfV1alpha1(t *testing.T) {
	t.Parallel()
	s := start(t, memdriver.Options{Speaks: memdriver.V1alpha1})
	b := s.readyBucket()
	if want := memdriver.OldBucketPrefix + b.Name; b.Status.BucketID != want || b.Annotations[cosiapi.AskedForAnnotation] != b.Name {
		t.Errorf("want the ID %s of the bucket asked for as %s, got %s, %v", want, b.Name, b.Status.BucketID, b.Annotations)
	}
	a := s.readyAccess(b)
	if want := "acct..3A" + cosiapi.AccountNameFor(a.UID); a.Status.AccountID != want || a.Status.Cleanup != cosiapi.CleanupPending {
		t.Errorf("want account ID %s and something to clean up, got %+v", want, a.Status)
	}
	data := testenv.Get(s.Env, s.secrets(a)[0]).Data
	for key, want := range map[string]string{
		"COSI_PROTOCOL": "S3", "BUCKET_NAME": b.Name, "AWS_ENDPOINT_URL": "https://s3.memory.example", "AWS_DEFAULT_REGION": "memory-1",
		"AWS_S3_ADDRESSING_STYLE": "path",
	} {
		if got := string(data[key]); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	s.Delete(a)
	s.release(a)
	s.leave(b)
	s.Gone(b)
	created := memdriver.Requests[*v1alpha1.DriverCreateBucketRequest](s.driver)
	if len(created) != 1 || created[0].GetName() != b.Name || created[0].GetParameters()["tier"] != "fast" {
		t.Errorf("want one bucket asked for by its name and parameters, got %v", created)
	}
	granted := memdriver.Requests[*v1alpha1.DriverGrantBucketAccessRequest](s.driver)
	if len(granted) != 1 || granted[0].GetName() != cosiapi.AccountNameFor(a.UID) || granted[0].GetBucketId() != b.Status.BucketID ||
		granted[0].GetAuthenticationType() != v1alpha1.AuthenticationType_Key || len(granted[0].GetParameters()) != 1 {
		t.Errorf("want one access asked for by the name of the account, without our parameter, got %v", granted)
	}
	revoked := memdriver.Requests[*v1alpha1.DriverRevokeBucketAccessRequest](s.driver)
	if len(revoked) != 1 || revoked[0].GetAccountId() != memdriver.OldAccountPrefix+cosiapi.AccountNameFor(a.UID) || revoked[0].GetBucketId() != b.Status.BucketID {
		t.Errorf("want the account revoked by its own ID, got %v", revoked)
	}
	s.empty()
}

// Values with a different number in the dialect are sent with that number.
func TestDriverOfUpstream(t *testing.T) {
	t.Parallel()
	s := start(t, memdriver.Options{Speaks: memdriver.Upstream})
	first, second := s.readyBucket(), s.readyBucket()
	a := s.access(first, second)
	a.Spec.BucketClaims[1].AccessModes = cosiapi.BucketAccessModes{ObjectData: cosiapi.BucketAccessModeReadOnly}
	s.handOff(a, first, second)
	s.ready(a)
	granted := memdriver.Requests[*upstream.DriverGrantBucketAccessRequest](s.driver)
	if len(granted) != 1 || granted[0].GetAccountName() != cosiapi.AccountNameFor(a.UID) {
		t.Fatalf("want one access asked for by the name of the account, got %v", granted)
	}
	for _, bucket := range granted[0].GetBuckets() {
		want := upstream.AccessMode_READ_WRITE
		if bucket.GetBucketId() == second.Status.BucketID {
			want = upstream.AccessMode_READ_ONLY
		}
		if got := bucket.GetAccessMode().GetMode(); got != want {
			t.Errorf("mode %s for %s, want %s", got, bucket.GetBucketId(), want)
		}
	}
	if a.Status.AccountID != memdriver.OldBucketPrefix+cosiapi.AccountNameFor(a.UID) {
		t.Errorf("account ID %q", a.Status.AccountID)
	}
	s.driver.ForgetCalls()
	if err := s.driver.AddBucket("by-hand"); err != nil {
		t.Fatal(err)
	}
	imported := s.bucket()
	imported.Spec.ExistingBucketID, imported.Spec.DeletionPolicy = "by-hand", cosiapi.DeletionPolicyRetain
	imported.Spec.Parameters = nil
	s.Create(imported)
	s.ready(imported)
	if got := memdriver.Requests[*upstream.DriverGetExistingBucketRequest](s.driver); len(got) != 1 || got[0].GetExistingBucketId() != "by-hand" {
		t.Errorf("an import is looked at by %v", got)
	}
}

// A bucket that was created under the upstream project's CRDs is verified and not created again by the driver that
// serves it afterwards. It is deleted like any other.
func TestBucketOfTheUpstreamProject(t *testing.T) {
	t.Parallel()
	for name, speaks := range map[string]memdriver.Generation{"a driver of two phases": "", "a driver of the dialect": memdriver.Upstream} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSystem(t, memdriver.Options{Speaks: speaks})
			request := &cosi.DriverCreateBucketRequest{BucketId: "made-before", Protocols: []*cosi.ObjectProtocol{{Type: cosi.ObjectProtocol_S3}}}
			if _, err := s.driver.DriverCreateBucket(t.Context(), request); err != nil {
				t.Fatal(err)
			}
			b := s.bucket()
			b.Annotations, b.Finalizers, b.Spec.Parameters = nil, []string{cosiapi.ProtectionFinalizer}, nil
			s.Create(b)
			testenv.ChangeStatus(s.Env, b, func(b *cosiapi.Bucket) {
				b.Status.BucketID, b.Status.Protocols = "made-before", []cosiapi.Protocol{cosiapi.ProtocolS3}
			})
			s.run()
			s.ready(b)
			if calls := s.driver.Calls(memdriver.GenerateBucketID, memdriver.CreateBucket); len(calls) > 0 {
				t.Errorf("it was made again: %+v", calls)
			}
			s.leave(b)
			s.Gone(b)
			s.empty()
		})
	}
}

// empty fails the test if anything remains in the backend.
func (s *system) empty() {
	s.t.Helper()
	if inventory := s.driver.Inventory(); len(inventory.Buckets)+len(inventory.Accounts) != 0 {
		s.t.Errorf("the backend still has %+v", inventory)
	}
}

func TestOlderGenerationsRefuse(t *testing.T) {
	t.Parallel()
	two := func(s *system) []*cosiapi.Bucket { return []*cosiapi.Bucket{s.readyBucket(), s.readyBucket()} }
	one := func(s *system) []*cosiapi.Bucket { return []*cosiapi.Bucket{s.readyBucket()} }
	for name, tc := range map[string]struct {
		speaks  memdriver.Generation
		buckets func(*system) []*cosiapi.Bucket
		change  func(*system, *cosiapi.BucketAccess)
		message string
	}{
		"v1alpha1: several buckets": {memdriver.V1alpha1, two, nil, "grants access to one bucket, not to 2"},
		"v1alpha1: access modes that nothing maps": {memdriver.V1alpha1, one, func(s *system, _ *cosiapi.BucketAccess) {
			s.parameters = nil
		}, "must set the parameter cooper.dev/access-modes of the BucketAccessClass to the modes that the driver grants"},
		"v1alpha1: another mode than the class maps": {memdriver.V1alpha1, one, func(_ *system, a *cosiapi.BucketAccess) {
			a.Spec.BucketClaims[0].AccessModes.ObjectData = cosiapi.BucketAccessModeReadOnly
		}, "not objectData=ReadOnly"},
		"v1alpha1: a mode of a category that the class does not map": {memdriver.V1alpha1, one, func(_ *system, a *cosiapi.BucketAccess) {
			a.Spec.BucketClaims[0].AccessModes.BucketMetadata = cosiapi.BucketAccessModeReadOnly
		}, "not bucketMetadata=ReadOnly"},
		"v1alpha1: a mapping that is none": {memdriver.V1alpha1, one, func(s *system, _ *cosiapi.BucketAccess) {
			s.parameters = map[string]string{"cooper.dev/access-modes": "ReadWrite"}
		}, "it must list the categories (objectData"},
		"v1alpha1: too many parameters": {memdriver.V1alpha1, one, func(s *system, _ *cosiapi.BucketAccess) {
			s.parameters["policy"] = strings.Repeat("p", 4<<10)
		}, "allows 4096"},
		"v1alpha1: a rotation": {memdriver.V1alpha1, one, func(_ *system, a *cosiapi.BucketAccess) {
			a.Annotations = map[string]string{cosiapi.RotateAnnotation: "1"}
		}, "cannot rotate a credential"},
		"upstream: modes that differ": {memdriver.Upstream, one, func(_ *system, a *cosiapi.BucketAccess) {
			a.Spec.BucketClaims[0].AccessModes.BucketMetadata = cosiapi.BucketAccessModeReadOnly
		}, "objectData=ReadWrite and bucketMetadata=ReadOnly differ"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, memdriver.Options{Speaks: tc.speaks})
			buckets := tc.buckets(s)
			a := s.access(buckets...)
			if tc.change != nil {
				tc.change(s, a)
			}
			s.handOff(a, buckets...)
			if said := s.untilCondition(a, cosiapi.ConditionProvisioned, metav1.ConditionFalse, conditions.Terminal); !strings.Contains(said, tc.message) {
				t.Errorf("want the reason %q, got %s", tc.message, said)
			}
			if calls := s.driver.Calls(memdriver.GrantAccess); len(calls) != 0 {
				t.Errorf("the driver was asked: %v", calls)
			}
			s.Delete(a)
			s.release(a)
			if calls := s.driver.Calls(memdriver.GrantAccess, memdriver.RevokeAccess); len(calls) != 0 {
				t.Errorf("nothing was made, and the driver was asked: %v", calls)
			}
		})
	}
}

// A kill is the time at which a Sidecar dies while it creates a Bucket or an access.
type kill struct {
	speaks memdriver.Generation
	access bool
	// write is the number of the write at which it dies, or zero. rpc is the call.
	write int
	rpc   memdriver.RPC
	after bool
}

func (k kill) String() string {
	what, when, at := "Bucket", "before", string(k.rpc)
	if k.access {
		what = "access"
	}
	if k.after {
		when = "after"
	}
	if k.write > 0 {
		at = fmt.Sprint("write ", k.write)
	}
	return fmt.Sprintf("%s %s %s %s", k.speaks, what, when, at)
}

// An object that is deleted before its ID is stored leaves nothing behind, whenever the Sidecar died.
func TestOlderGenerationsLeaveNothing(t *testing.T) {
	t.Parallel()
	var kills []kill
	for _, speaks := range older {
		for _, after := range []bool{false, true} {
			for write := 1; write <= 4; write++ { // finalizer, request, ID, conditions
				kills = append(kills, kill{speaks: speaks, write: write, after: after})
			}
			for write := 1; write <= 5; write++ { // Secret, request, ID, content of the Secret, conditions
				kills = append(kills, kill{speaks: speaks, access: true, write: write, after: after})
			}
			kills = append(kills, kill{speaks: speaks, rpc: memdriver.CreateBucket, after: after},
				kill{speaks: speaks, access: true, rpc: memdriver.GrantAccess, after: after})
		}
	}
	tiers := fulltest.Tiers{Short: []string{"v1alpha1 Bucket after DriverCreateBucket", "upstream access after DriverGrantBucketAccess"}, Full: []string{
		"v1alpha1 Bucket after write 2", "upstream Bucket before write 3", "v1alpha1 access after write 2", "upstream access before write 3",
		"v1alpha1 access before write 5", "upstream access after write 4",
	}}
	for _, k := range fulltest.Pick(t, kills, tiers) {
		t.Run(k.String(), func(t *testing.T) {
			t.Parallel()
			s := newSystem(t, memdriver.Options{Speaks: k.speaks})
			s.options.Backoff = reconciler.BackoffOptions{Base: 10 * time.Millisecond, Max: 100 * time.Millisecond}
			i := &interference{crash: true, lost: k.after, dead: make(chan struct{})}
			s.wrap = i.wrap
			stop := s.run()
			var b *cosiapi.Bucket
			if k.access {
				b = s.readyBucket()
			}
			i.mu.Lock()
			if k.write > 0 {
				i.write = i.seen + k.write
			}
			i.mu.Unlock()
			if k.rpc != "" {
				i.strikeCall(s.driver, k.rpc, k.after)
			}
			var a *cosiapi.BucketAccess
			if k.access {
				a = s.access(b)
				s.handOff(a, b)
			} else {
				b = s.bucket()
				s.Create(b)
			}
			<-i.dead
			stop()
			s.wrap = nil
			if a == nil {
				s.leave(b)
				s.run()
			} else {
				s.Delete(a)
				s.run()
				s.release(a)
				s.leave(b) // claims wait for their accesses
			}
			s.Gone(b)
			s.empty()
		})
	}
}

func TestCrashAtEveryWriteWithOlderGenerations(t *testing.T) {
	t.Parallel()
	type struck struct {
		speaks memdriver.Generation
		write  int
	}
	var all []struck
	for _, speaks := range older {
		for write := 1; write <= olderWrites; write++ {
			all = append(all, struck{speaks, write})
		}
	}
	tiers := fulltest.Tiers{Short: []string{"after {v1alpha1 3}"}, Full: []string{"before {upstream 3}", "before {v1alpha1 7}", "after {upstream 8}"}}
	for _, c := range fulltest.Pick(t, crashes(all), tiers) {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			i := &interference{write: c.struck.write, lost: c.effect, crash: true}
			interfered(t, memdriver.Options{Speaks: c.struck.speaks}, i)
			if len(i.struck) != 1 {
				t.Errorf("the flow has no write %d: it made %d", c.struck.write, i.seen)
			}
		})
	}
}

func TestCrashCoversEveryWriteWithOlderGenerations(t *testing.T) {
	t.Parallel()
	for _, speaks := range older {
		t.Run(string(speaks), func(t *testing.T) {
			t.Parallel()
			i := &interference{}
			interfered(t, memdriver.Options{Speaks: speaks}, i)
			if i.seen != olderWrites {
				t.Errorf("the flow makes %d writes, and the crashes cover %d: set olderWrites", i.seen, olderWrites)
			}
		})
	}
}

// A Bucket that the driver refused has no backend bucket and is deleted, even if the API server is searched for
// Buckets with the same ID and there is another one without an ID.
func TestBucketRefusedByAnOlderDriverIsDeleted(t *testing.T) {
	t.Parallel()
	s := newSystem(t, memdriver.Options{Speaks: memdriver.V1alpha1, Parameters: map[string][]string{}})
	s.options.Backoff = reconciler.BackoffOptions{Base: 10 * time.Millisecond, Max: 100 * time.Millisecond}
	s.run()
	b, another := s.bucket(), s.bucket()
	for _, refused := range []*cosiapi.Bucket{b, another} {
		s.Create(refused)
		s.untilCondition(refused, cosiapi.ConditionProvisioned, metav1.ConditionFalse, conditions.Terminal)
	}
	s.driver.Script(memdriver.Fault{RPC: memdriver.CreateBucket, Code: codes.Internal})
	s.leave(b)
	s.Gone(b)
	if calls := s.driver.Calls(memdriver.DeleteBucket); len(calls) != 0 {
		t.Errorf("there was nothing to delete, and the driver was asked: %v", calls)
	}
}

// If a response lacks something that a workload needs, the driver has still created the account.
func TestAccountOfABrokenGrantIsRevoked(t *testing.T) {
	t.Parallel()
	s := start(t, memdriver.Options{Speaks: memdriver.V1alpha1})
	b := s.readyBucket()
	a := s.access(b)
	s.driver.Script(memdriver.Fault{RPC: memdriver.GrantAccess, Times: memdriver.Always, Answer: &v1alpha1.DriverGrantBucketAccessResponse{
		AccountId: memdriver.OldAccountPrefix + "x",
	}})
	s.handOff(a, b)
	s.untilCondition(a, cosiapi.ConditionProvisionFailed, metav1.ConditionTrue, conditions.DriverResponseInvalid)
	s.Delete(a)
	s.release(a)
	revoked := memdriver.Requests[*v1alpha1.DriverRevokeBucketAccessRequest](s.driver)
	if len(revoked) != 1 || revoked[0].GetAccountId() != memdriver.OldAccountPrefix+"x" {
		t.Errorf("want the account revoked, got %v", revoked)
	}
}

// A one-phase driver that returns another account ID than before has created a second account, or returned the account
// of another access.
func TestSecondAccountOfOneNameIsRevoked(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		others  bool
		said    string
		revoked int
	}{
		"an account without an owner":   {false, "The new account is revoked", 1},
		"the account of another access": {true, "belongs to another BucketAccess", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, memdriver.Options{Speaks: memdriver.V1alpha1})
			a := s.readyAccess(s.readyBucket())
			first, second := a.Status.AccountID, "second"
			if tc.others {
				second = memdriver.OldAccountPrefix + cosiapi.AccountNameFor(s.readyAccess(s.readyBucket()).UID)
			}
			granted := proto.CloneOf(s.driver.Calls(memdriver.GrantAccess)[0].Response.(*v1alpha1.DriverGrantBucketAccessResponse))
			granted.AccountId = second
			s.driver.Script(memdriver.Fault{RPC: memdriver.GrantAccess, Answer: granted})
			secret := s.secrets(a)[0]
			testenv.Change(s.Env, a, func(a *cosiapi.BucketAccess) { cosiapi.SetAnnotation(a, "wake", "1") })
			s.Delete(secret)
			testenv.Change(s.Env, secret, func(secret *corev1.Secret) { cosiapi.RemoveProtection(secret) })
			testenv.Change(s.Env, a, func(a *cosiapi.BucketAccess) { cosiapi.SetAnnotation(a, "wake", "2") })
			said := s.untilCondition(a, cosiapi.ConditionProvisionFailed, metav1.ConditionTrue, conditions.DriverResponseInvalid)
			if !strings.Contains(said, tc.said) || a.Status.AccountID != first {
				t.Errorf("want %q and %s to stay, got %s: %s", tc.said, first, a.Status.AccountID, said)
			}
			if calls := s.driver.CallsFor(second, memdriver.RevokeAccess); len(calls) != tc.revoked {
				t.Errorf("account %s: want %d revocations, got %v", second, tc.revoked, s.calls())
			}
		})
	}
}

func TestDialectIsNeverGuessed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		speaks   memdriver.Generation
		upstream bool
		message  string
	}{
		"a driver of our contract is not called as one of upstream": {"", true, "without --driver-dialect"},
		"a driver of v1alpha1 is not called as one of upstream":     {memdriver.V1alpha1, true, "does not implement DriverGetInfo"},
		"an upstream driver connects without a message":             {memdriver.Upstream, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			endpoint := "unix://" + filepath.Join(processtest.ShortTempDir(t), "d.sock")
			fake := memdriver.New(memdriver.Options{Speaks: tc.speaks})
			server, err := fake.Start(endpoint)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := server.Stop(); err != nil {
					t.Error(err)
				}
			})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			log := &lines{more: make(chan struct{}, 1)}
			if tc.message != "" {
				go func() {
					for log.count("Waiting for the driver") == 0 {
						<-log.more
					}
					cancel()
				}()
			}
			driver, err := sidecar.Connect(ctx, sidecar.ConnectOptions{Address: endpoint, Upstream: tc.upstream, Logger: logrFunc(log.add)})
			if driver != nil {
				driver.Close()
			}
			if tc.message == "" && err != nil || tc.message != "" && (err == nil || !strings.Contains(err.Error(), tc.message)) {
				t.Errorf("want %q, got %v", tc.message, err)
			}
		})
	}
}

// Without the flag, nothing is created with an upstream driver.
func TestDriverOfUpstreamWithoutItsFlagIsRefused(t *testing.T) {
	t.Parallel()
	s := newSystem(t, memdriver.Options{Speaks: memdriver.Upstream})
	s.upstream = false
	s.run()
	b := s.bucket()
	s.Create(b)
	said := s.untilCondition(b, cosiapi.ConditionProvisioned, metav1.ConditionFalse, conditions.DriverIncompatible)
	if !strings.Contains(said, "--driver-dialect=upstream-v1alpha2") {
		t.Errorf("want the flag named, got %s", said)
	}
	s.empty()
}

// A sidecar process serves only one generation: a bucket that was started with one phase is not created again with
// two.
func TestBucketBegunWithOnePhaseWaitsForItsDriver(t *testing.T) {
	t.Parallel()
	s := newSystem(t, memdriver.Options{})
	s.run()
	b := s.bucket()
	b.Annotations = map[string]string{cosiapi.AskedForAnnotation: b.Name}
	s.Create(b)
	said := s.untilCondition(b, cosiapi.ConditionProvisioned, metav1.ConditionFalse, conditions.Terminal)
	if !strings.Contains(said, "a one-phase driver may have created") {
		t.Errorf("want the reason, got %s", said)
	}
	if got := s.calls(); slices.Contains(got, memdriver.CreateBucket) {
		t.Errorf("the bucket was made: %v", got)
	}
	s.leave(b)
	s.untilCondition(b, cosiapi.ConditionDeprovisionFailed, metav1.ConditionTrue, conditions.Terminal)
	testenv.Change(s.Env, b, func(b *cosiapi.Bucket) { cosiapi.RemoveAnnotation(b, cosiapi.AskedForAnnotation) })
	if err := s.Client.Get(t.Context(), client.ObjectKeyFromObject(b), b); err == nil {
		testenv.Change(s.Env, b, func(b *cosiapi.Bucket) { b.Labels = map[string]string{"look": "again"} })
	}
	s.Gone(b)
}

// If an access is removed manually before its ID is known, it is revoked.
func TestAccessOfAnOlderDriverThatWasRemovedByHandIsRevoked(t *testing.T) {
	t.Parallel()
	s := newSystem(t, memdriver.Options{Speaks: memdriver.V1alpha1})
	s.options.Backoff = reconciler.BackoffOptions{Base: 10 * time.Millisecond, Max: 100 * time.Millisecond}
	s.run()
	b := s.readyBucket()
	remove := s.driver.Script(memdriver.Fault{RPC: memdriver.GrantAccess, Times: memdriver.Always, AfterEffect: true, Code: codes.Unavailable})
	a := s.access(b)
	s.handOff(a, b)
	s.await(memdriver.GrantAccess, 1)
	s.Delete(a)
	testenv.Change(s.Env, a, func(a *cosiapi.BucketAccess) { cosiapi.RemoveProtection(a) })
	s.Gone(a)
	remove()
	s.Eventually("the account is revoked", func(context.Context) error {
		if len(s.driver.Inventory().Accounts) > 0 {
			return errors.New("it is there")
		}
		return nil
	})
}
