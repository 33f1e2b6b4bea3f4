// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/testenv"
)

// patient returns a short backoff, for tests that cover retries.
func patient() reconciler.BackoffOptions {
	return reconciler.BackoffOptions{Base: 20 * time.Millisecond, Max: 200 * time.Millisecond}
}

// rpcs returns the driver calls for an ID, except DriverGetInfo.
func (w *world) rpcs(id string) []memdriver.RPC {
	var out []memdriver.RPC
	for _, call := range w.driver.Calls() {
		if call.RPC != memdriver.GetInfo && (id == "" || call.ID == id) {
			out = append(out, call.RPC)
		}
	}
	return out
}

// called fails the test unless an RPC was called the given number of times.
func (w *world) called(rpc memdriver.RPC, want int) {
	w.t.Helper()
	if got := len(w.driver.Calls(rpc)); got != want {
		w.t.Errorf("%s: want %d calls, got %d", rpc, want, got)
	}
}

// awaitCalls waits until the driver has received enough calls of an RPC.
func (w *world) awaitCalls(enough func([]memdriver.Call) bool, rpc memdriver.RPC) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience())
	defer cancel()
	if calls, err := w.driver.Await(ctx, enough, rpc); err != nil {
		w.t.Fatalf("waiting for calls of %s: %v, after %d", rpc, err, len(calls))
	}
}

// live reads a Bucket inside a handler of the driver.
func (w *world) live(ctx context.Context, name string) (*cosiapi.Bucket, error) {
	b := &cosiapi.Bucket{}
	return b, w.Client.Get(ctx, client.ObjectKey{Name: name}, b)
}

func diff(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want, +got):\n%s", what, d)
	}
}

func TestTwoPhasesOfABucket(t *testing.T) {
	t.Parallel()
	covers(t, "bucket-name", "bucket-id-stored-first", "bucket-phases-agree", "bucket-finalizer")
	w := start(t, setup{})
	w.newClass("fast")
	memdriver.On(w.driver, func(ctx context.Context, r *cosi.DriverGenerateBucketIdRequest) error {
		b, err := w.live(ctx, r.GetName())
		if err == nil && !cosiapi.HasProtection(b) {
			t.Error("the Bucket has no finalizer at the first call")
		}
		// Replacing the class between the phases changes nothing.
		class := &cosiapi.BucketClass{ObjectMeta: metav1.ObjectMeta{Name: w.global("fast")}}
		another := &cosiapi.BucketClass{ObjectMeta: class.ObjectMeta, Spec: cosiapi.BucketClassSpec{
			DriverName: w.driver.Name(), DeletionPolicy: cosiapi.DeletionPolicyRetain, Parameters: map[string]string{"tier": "cold"},
		}}
		return errors.Join(err, w.Client.Delete(ctx, class), w.Client.Create(ctx, another))
	})
	memdriver.On(w.driver, func(ctx context.Context, r *cosi.DriverCreateBucketRequest) error {
		b, err := w.live(ctx, r.GetBucketId())
		if err == nil && b.Status.BucketID != r.GetBucketId() {
			t.Errorf("bucket %q is created while status.bucketID is %q", r.GetBucketId(), b.Status.BucketID)
		}
		return err
	})
	claim, bucket := w.provisioned("photos", "fast")
	if want := "bc-" + string(claim.UID); bucket.Name != want {
		t.Errorf("name of the Bucket: want %s, got %s", want, bucket.Name)
	}
	first := memdriver.Requests[*cosi.DriverGenerateBucketIdRequest](w.driver)[0]
	second := memdriver.Requests[*cosi.DriverCreateBucketRequest](w.driver)[0]
	if first.GetName() != bucket.Name {
		t.Errorf("name in phase 1: want %s, got %s", bucket.Name, first.GetName())
	}
	again := &cosi.DriverGenerateBucketIdRequest{Name: first.GetName(), Protocols: second.GetProtocols(), Parameters: second.GetParameters()}
	if !proto.Equal(first, again) || second.GetParameters()["tier"] != "hot" {
		t.Errorf("the phases differ: %v, %v", first, second)
	}
}

func TestBucketIDIsGeneratedOnce(t *testing.T) {
	t.Parallel()
	covers(t, "bucket-id-generated-once")
	w := start(t, setup{})
	w.newClass("fast")
	w.driver.Script(memdriver.Fault{RPC: memdriver.CreateBucket, Code: codes.Unavailable})
	claim := w.newClaim("photos", "fast")
	w.condition(w.bucketOf(claim), cosiapi.ConditionProvisionFailed, metav1.ConditionTrue, conditions.Retrying)
	w.stop(theSidecar)
	w.runSidecar()
	w.ready(claim)
	w.called(memdriver.GenerateBucketID, 1)
	w.called(memdriver.CreateBucket, 2)
}

func TestBucketIDCannotBeStored(t *testing.T) {
	t.Parallel()
	covers(t, "bucket-id-not-stored")
	for _, status := range []int{http.StatusConflict, http.StatusInternalServerError} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			w := start(t, setup{backoff: patient()})
			w.newClass("fast")
			w.tape.strike(&fault{Who: theSidecar, What: "patch buckets/status", Status: status, Hit: func() {
				w.called(memdriver.CreateBucket, 0)
			}})
			claim, _ := w.provisioned("photos", "fast")
			want := []memdriver.RPC{memdriver.GenerateBucketID, memdriver.GenerateBucketID, memdriver.CreateBucket}
			diff(t, "calls", want, w.rpcs(cosiapi.BucketNameFor(claim.UID)))
		})
	}
}

func TestBucketDeletedBeforeItsIDIsStored(t *testing.T) {
	t.Parallel()
	covers(t, "bucket-deleted-before-id")
	const foreign = "tests.cooper.dev/somebody-else"
	for name, finalizers := range map[string][]string{"without another finalizer": nil, "with another finalizer": {foreign}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t, setup{})
			w.newClass("fast")
			claim := w.claim("photos", "fast")
			unread := claim.DeepCopy() // the test reads into claim concurrently
			memdriver.On(w.driver, func(ctx context.Context, r *cosi.DriverGenerateBucketIdRequest) error {
				b, err := w.live(ctx, r.GetName())
				if err != nil {
					return err
				}
				before := b.DeepCopy()
				b.Finalizers = append(b.Finalizers, finalizers...)
				err = errors.Join(w.Client.Patch(ctx, b, client.MergeFrom(before)), w.Client.Delete(ctx, unread.DeepCopy()))
				for err == nil && b.DeletionTimestamp.IsZero() { // until the controller has released the Bucket, or the call times out
					b, err = w.live(ctx, r.GetName())
				}
				return client.IgnoreNotFound(err)
			})
			w.create(claim)
			w.gone(claim)
			w.settled()
			bucket := bucketFor(claim)
			if finalizers != nil {
				change(w, bucket, func(b *cosiapi.Bucket) {
					b.Finalizers = slices.DeleteFunc(b.Finalizers, func(f string) bool { return f == foreign })
				})
			}
			w.gone(bucket)
			diff(t, "calls", []memdriver.RPC{memdriver.GenerateBucketID}, w.rpcs(bucket.Name))
		})
	}
}

func TestBucketDeletedBeforeItsCreation(t *testing.T) {
	t.Parallel()
	covers(t, "bucket-deleted-before-creation", "bucket-id-is-not-enough")
	w := start(t, setup{})
	w.newClass("fast")
	w.newAccessClass("keys")
	w.driver.Script(memdriver.Fault{RPC: memdriver.CreateBucket, Code: codes.Internal, Times: memdriver.Always})
	claim := w.newClaim("photos", "fast")
	bucket := w.bucketOf(claim)
	w.condition(bucket, cosiapi.ConditionProvisionFailed, metav1.ConditionTrue, conditions.Retrying)
	// An ID alone does not make the claim provisioned.
	access := w.access("app", "keys", "photos")
	w.create(access)
	w.condition(claim, cosiapi.ConditionProvisioned, metav1.ConditionUnknown)
	w.settled()
	if get(w, access); access.Status.DriverName != "" || len(w.driver.Calls(memdriver.GenerateAccessID)) > 0 {
		t.Errorf("access to a bucket that does not exist was begun: %+v", access.Status)
	}
	w.delete(access, claim)
	w.gone(access, claim, bucket)
	diff(t, "calls", []memdriver.RPC{memdriver.GenerateBucketID, memdriver.CreateBucket, memdriver.DeleteBucket}, w.rpcs(bucket.Name))
}

func TestImportedBucket(t *testing.T) {
	t.Parallel()
	covers(t, "bucket-imported", "bucket-finalizer")
	w := start(t, setup{})
	w.must(w.driver.AddBucket("existing.bucket"))
	bucket := w.imported("archive", "existing.bucket", "photos")
	memdriver.On(w.driver, func(ctx context.Context, r *cosi.DriverGetBucketRequest) error {
		b, err := w.live(ctx, w.global("archive"))
		if err == nil && (b.Status.BucketID != "existing.bucket" || r.GetBucketId() != "existing.bucket") {
			t.Errorf("bucket %q is looked up while status.bucketID is %q", r.GetBucketId(), b.Status.BucketID)
		}
		if err == nil && !cosiapi.HasProtection(b) {
			t.Error("the Bucket has no finalizer at the first call")
		}
		return err
	})
	claim := w.importing("photos", "archive")
	w.create(bucket, claim)
	w.ready(claim)
	// The controller binds the Bucket in between. This must not repeat a call.
	diff(t, "calls", []memdriver.RPC{memdriver.GetBucket}, w.rpcs(""))
	w.delete(claim)
	w.gone(claim)
	w.delete(bucket)
	w.gone(bucket)
	w.called(memdriver.DeleteBucket, 0)
}

func TestBucketResponsesThatBreakTheContract(t *testing.T) {
	t.Parallel()
	for name, tc := range fulltest.Rows(t, map[string]struct {
		covers   string
		rpc      memdriver.RPC
		response proto.Message
		creates  int
	}{
		"an ID with forbidden characters": {"bucket-id-malformed", memdriver.GenerateBucketID, &cosi.DriverGenerateBucketIdResponse{BucketId: "arn:aws:s3:::x"}, 0},
		"an empty ID":                     {"bucket-id-malformed", memdriver.GenerateBucketID, &cosi.DriverGenerateBucketIdResponse{}, 0},
		"no protocol": {
			"bucket-protocols-missing", memdriver.CreateBucket, &cosi.DriverCreateBucketResponse{Protocols: &cosi.ObjectProtocolAndBucketInfo{}}, 1,
		},
		"not the protocol that was asked for": {
			"bucket-protocols-missing", memdriver.CreateBucket, &cosi.DriverCreateBucketResponse{Protocols: &cosi.ObjectProtocolAndBucketInfo{Gcs: &cosi.GcsBucketInfo{}}}, 1,
		},
		"a protocol that the driver does not serve": {
			"bucket-protocols-missing", memdriver.CreateBucket, &cosi.DriverCreateBucketResponse{
				Protocols: &cosi.ObjectProtocolAndBucketInfo{S3: &cosi.S3BucketInfo{}, Azure: &cosi.AzureBucketInfo{}},
			}, 1,
		},
	}, "an ID with forbidden characters", "no protocol") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			covers(t, tc.covers)
			w := start(t, setup{})
			w.newClass("fast")
			w.driver.Script(memdriver.Fault{RPC: tc.rpc, Answer: tc.response, Times: memdriver.Always})
			claim := w.newClaim("photos", "fast")
			bucket := w.bucketOf(claim)
			message := w.condition(bucket, cosiapi.ConditionProvisioned, metav1.ConditionFalse, conditions.DriverResponseInvalid)
			if want := string(tc.rpc) + " breaks the COSI contract"; !strings.Contains(message, want) {
				t.Errorf("the message lacks %q: %s", want, message)
			}
			w.condition(claim, cosiapi.ConditionProvisioned, metav1.ConditionFalse)
			w.settled()
			if got := len(w.driver.CallsFor(bucket.Name, tc.rpc)); got != 1 {
				t.Errorf("%s: want 1 call, got %d", tc.rpc, got)
			}
			w.called(memdriver.CreateBucket, tc.creates)
			w.delete(claim)
			w.gone(claim, bucket)
			w.called(memdriver.DeleteBucket, tc.creates)
			if left := w.driver.Inventory().Buckets; len(left) > 0 {
				t.Errorf("the backend still has %v", left)
			}
		})
	}
}

func TestBucketsThatTheDriverCannotServe(t *testing.T) {
	t.Parallel()
	covers(t, "bucket-protocols-unsupported", "bucket-of-another-driver")
	w := start(t, setup{})
	lacking := w.imported("azure", "x", "photos")
	lacking.Spec.Protocols = []cosiapi.Protocol{cosiapi.ProtocolAzure}
	other := w.imported("other", "y", "films")
	other.Spec.DriverName = "other.example.com"
	w.create(lacking, other)
	w.refused(lacking, conditions.DriverLacksProtocol)
	version := get(w, other).ResourceVersion
	w.settled()
	if calls := slices.DeleteFunc(w.driver.Calls(), func(c memdriver.Call) bool {
		return c.RPC == memdriver.GetInfo || strings.Contains(c.ID, "fence")
	}); len(calls) > 0 {
		t.Errorf("calls: want none, got %v", calls)
	}
	if get(w, other); other.ResourceVersion != version || len(other.Finalizers) > 0 {
		t.Errorf("a Bucket of another driver was written: %+v", other)
	}
}

func TestDeletionThatFails(t *testing.T) {
	t.Parallel()
	covers(t, "deletion-fails")
	w := start(t, setup{})
	w.newClass("fast")
	claim, bucket := w.provisioned("photos", "fast")
	w.driver.Script(memdriver.Fault{RPC: memdriver.DeleteBucket, Code: codes.InvalidArgument, Message: "not like that"})
	w.delete(claim)
	w.gone(claim) // the claim does not wait for the backend
	message := w.condition(bucket, cosiapi.ConditionDeprovisionFailed, metav1.ConditionTrue, conditions.Terminal)
	if !strings.Contains(message, "not like that") {
		t.Errorf("the driver's message is lost: %s", message)
	}
	w.settled()
	if get(w, bucket); !cosiapi.HasProtection(bucket) || testenv.Condition(bucket, cosiapi.ConditionProvisionFailed).Status != metav1.ConditionFalse {
		t.Errorf("the finalizer is off, or ProvisionFailed was flipped: %+v", bucket)
	}
	w.called(memdriver.DeleteBucket, 1)
	w.touch(bucket)
	w.gone(bucket)
	w.called(memdriver.DeleteBucket, 2)
}

func TestOneCallPerID(t *testing.T) {
	t.Parallel()
	covers(t, "calls-one-per-id")
	w := start(t, setup{leases: true, backoff: patient()})
	w.newClass("fast")
	hold := make(chan struct{})
	w.driver.Script(memdriver.Fault{RPC: memdriver.CreateBucket, Hold: hold})
	claim := w.newClaim("photos", "fast")
	w.awaitCalls(memdriver.Started(1), memdriver.CreateBucket)
	first := w.process(theSidecar)
	stopped := make(chan error, 1)
	go func() { stopped <- first.stop() }()
	w.runSidecar() // waits for the Lease, which is released after the call
	other := w.claim("films", "fast")
	w.create(other)
	w.bucketOf(other)
	close(hold)
	w.must(<-stopped)
	w.ready(claim, other)
	if n := w.driver.MaxConcurrency(cosiapi.BucketNameFor(claim.UID)); n != 1 {
		t.Errorf("%d calls for one ID ran at once", n)
	}
	w.called(memdriver.CreateBucket, 2)
}

// TestTwoBucketsOfOneBackendBucket verifies that the calls of two Buckets for the same backend bucket are
// serialized, and that only the end of the first call starts the second.
func TestTwoBucketsOfOneBackendBucket(t *testing.T) {
	t.Parallel()
	covers(t, "calls-one-per-id")
	w := start(t, setup{deadline: never})
	w.must(w.driver.AddBucket("shared"))
	hold := make(chan struct{})
	w.driver.Script(memdriver.Fault{RPC: memdriver.GetBucket, ID: "shared", Hold: hold})
	first, second := w.imported("one", "shared", "photos"), w.imported("two", "shared", "films")
	w.create(first)
	w.awaitCalls(memdriver.Started(1), memdriver.GetBucket)
	w.create(second)
	until(w, second, "the second has its turn before it", func(b *cosiapi.Bucket) error {
		if b.Status.BucketID == "" {
			return errNot
		}
		return nil
	})
	w.settled()
	if n := len(w.driver.CallsFor("shared")); n != 1 {
		t.Errorf("calls for one ID while the first hangs: want 1, got %d", n)
	}
	close(hold)
	w.ready(first, second)
}

// TestHangingCallDelaysNothingElse verifies that a grant that hangs delays neither other accesses to the same
// bucket nor anything else.
func TestHangingCallDelaysNothingElse(t *testing.T) {
	t.Parallel()
	covers(t, "calls-one-per-id")
	w := start(t, setup{backoff: patient()})
	w.newClass("fast")
	w.newAccessClass("keys")
	w.provisioned("photos", "fast")
	hold := make(chan struct{})
	w.driver.Script(memdriver.Fault{RPC: memdriver.GrantAccess, Hold: hold})
	hanging := w.access("hanging", "keys", "photos")
	w.create(hanging)
	w.awaitCalls(memdriver.Started(1), memdriver.GrantAccess)
	other := w.granted("other", "keys", "photos")
	w.delete(other)
	w.gone(other)
	if conditions.Is(get(w, hanging).Status.Conditions, cosiapi.ConditionProvisioned, metav1.ConditionTrue) {
		t.Error("the call did not hang")
	}
	close(hold)
	w.ready(hanging)
}

func TestBucketInfo(t *testing.T) {
	t.Parallel()
	covers(t, "bucket-info")
	for protocol, tc := range map[cosiapi.Protocol]struct {
		served cosi.ObjectProtocol_Type
		want   map[string]string
	}{
		cosiapi.ProtocolS3: {cosi.ObjectProtocol_S3, map[string]string{
			"COSI_PROTOCOL": "S3", "AWS_ENDPOINT_URL": "https://s3.memory.example", "BUCKET_NAME": "*", "AWS_DEFAULT_REGION": "memory-1", "AWS_S3_ADDRESSING_STYLE": "path",
		}},
		cosiapi.ProtocolAzure: {cosi.ObjectProtocol_AZURE, map[string]string{"COSI_PROTOCOL": "Azure", "AZURE_STORAGE_ACCOUNT": "memory"}},
		cosiapi.ProtocolGCS:   {cosi.ObjectProtocol_GCS, map[string]string{"COSI_PROTOCOL": "GCS", "PROJECT_ID": "memory-project", "BUCKET_NAME": "*"}},
	} {
		t.Run(string(protocol), func(t *testing.T) {
			t.Parallel()
			w, claim := serving(t, protocol, tc.served)
			w.create(claim)
			w.ready(claim)
			bucket := w.bucketOf(claim)
			for key, value := range tc.want {
				if value == "*" {
					tc.want[key] = bucket.Name
				}
			}
			diff(t, "bucketInfo", tc.want, bucket.Status.BucketInfo)
			diff(t, "protocols of the claim", []cosiapi.Protocol{protocol}, claim.Status.Protocols)
			if text := fmt.Sprintf("%+v", claim.Status); strings.Contains(text, "fake") {
				t.Errorf("the claim reports the backend: %s", text)
			}
		})
	}
}

// serving starts a world whose driver serves only one protocol, and returns a claim for it that has not been
// created.
func serving(t *testing.T, protocol cosiapi.Protocol, served cosi.ObjectProtocol_Type) (*world, *cosiapi.BucketClaim) {
	t.Helper()
	w := start(t, setup{fake: memdriver.Options{Protocols: []cosi.ObjectProtocol_Type{served}}})
	w.newClass("fast")
	w.newAccessClass("keys")
	claim := w.claim("photos", "fast")
	claim.Spec.Protocols = []cosiapi.Protocol{protocol}
	return w, claim
}
