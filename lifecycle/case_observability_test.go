// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/metrics"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/testenv"
)

func TestFailuresOfProvisioning(t *testing.T) {
	t.Parallel()
	covers(t, "provisioned-stays-true", "retryable-or-not")
	w := start(t, setup{})
	var called sync.Map
	memdriver.On(w.driver, func(_ context.Context, r *cosi.DriverCreateBucketRequest) error {
		if _, again := called.LoadOrStore(r.GetBucketId(), true); again {
			return nil
		}
		code, err := strconv.ParseUint(r.GetParameters()["code"], 10, 32)
		if err != nil {
			return err
		}
		return status.Error(codes.Code(code), "no room left")
	})
	claims := map[codes.Code]*cosiapi.BucketClaim{}
	for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
		name := fmt.Sprintf("code-%d", code)
		w.newClass(name, func(c *cosiapi.BucketClassSpec) { c.Parameters = map[string]string{"code": fmt.Sprint(uint32(code))} })
		claims[code] = w.newClaim(name, name)
	}
	for code, claim := range claims {
		want, reason := metav1.ConditionUnknown, conditions.Retrying
		if cosi.DispositionOf(cosi.Provisioner_DriverCreateBucket_FullMethodName, code) == cosi.Terminal {
			want, reason = metav1.ConditionFalse, conditions.Terminal
		}
		if code == codes.Unimplemented {
			reason = conditions.DriverIncompatible
		}
		for _, obj := range []client.Object{w.bucketOf(claim), claim} {
			w.condition(obj, cosiapi.ConditionProvisioned, want)
			message := w.condition(obj, cosiapi.ConditionProvisionFailed, metav1.ConditionTrue, reason)
			if !strings.Contains(message, "DriverCreateBucket") || !strings.Contains(message, "no room left") {
				t.Errorf("%s: the message lacks the RPC or the driver's message: %s", code, message)
			}
		}
	}
	w.settled()
	for code, claim := range claims {
		if n := len(w.driver.CallsFor(bucketFor(claim).Name, memdriver.CreateBucket)); n != 1 {
			t.Errorf("%s: want 1 call, got %d", code, n)
		}
	}
	w.driver.SetInfo(func(info *cosi.DriverGetInfoResponse) { info.Revision = "fixed" })
	for _, claim := range claims {
		w.ready(claim)
		w.condition(claim, cosiapi.ConditionProvisionFailed, metav1.ConditionFalse)
	}
}

// TestClaimCopiesNoUnknown verifies that a claim whose Bucket was refused stays refused during the retry,
// until it has succeeded or failed permanently. It never copies Unknown.
func TestClaimCopiesNoUnknown(t *testing.T) {
	t.Parallel()
	covers(t, "provisioned-stays-true")
	w := start(t, setup{})
	w.newClass("fast")
	w.driver.Script(memdriver.Fault{RPC: memdriver.CreateBucket, Code: codes.InvalidArgument}, memdriver.Fault{RPC: memdriver.CreateBucket, Code: codes.Unavailable})
	claim := w.newClaim("photos", "fast")
	w.condition(claim, cosiapi.ConditionProvisioned, metav1.ConditionFalse, conditions.Terminal)
	bucket := w.bucketOf(claim)
	w.touch(bucket)
	w.condition(bucket, cosiapi.ConditionProvisioned, metav1.ConditionUnknown, conditions.Retrying)
	w.condition(claim, cosiapi.ConditionProvisionFailed, metav1.ConditionTrue, conditions.Retrying)
	w.condition(claim, cosiapi.ConditionProvisioned, metav1.ConditionFalse, conditions.Terminal)
	w.touch(bucket)
	w.ready(claim)
	w.condition(claim, cosiapi.ConditionProvisionFailed, metav1.ConditionFalse, conditions.RPCSucceeded)
}

// TestOutcomeIsNotLostToAConflict writes to the object during a call. The result of the call must still be
// reported, and the call must not be repeated.
func TestOutcomeIsNotLostToAConflict(t *testing.T) {
	t.Parallel()
	covers(t, "retryable-or-not")
	w := start(t, setup{})
	w.newClass("fast")
	w.newAccessClass("keys")
	var writes atomic.Int32
	label := func(ctx context.Context, obj client.Object) error {
		patch := fmt.Sprintf(`{"metadata":{"labels":{"writes":"%d"}}}`, writes.Add(1))
		return w.Client.Patch(ctx, obj, client.RawPatch(types.MergePatchType, []byte(patch)))
	}
	bucketOf := func(r interface{ GetBucketId() string }) client.Object {
		return &cosiapi.Bucket{ObjectMeta: metav1.ObjectMeta{Name: r.GetBucketId()}}
	}
	app := metav1.ObjectMeta{Namespace: w.namespace, Name: "app"}
	memdriver.On(w.driver, func(ctx context.Context, r *cosi.DriverCreateBucketRequest) error { return label(ctx, bucketOf(r)) })
	memdriver.On(w.driver, func(ctx context.Context, r *cosi.DriverDeleteBucketRequest) error { return label(ctx, bucketOf(r)) })
	memdriver.On(w.driver, func(ctx context.Context, _ *cosi.DriverGrantBucketAccessRequest) error {
		return label(ctx, &cosiapi.BucketAccess{ObjectMeta: app})
	})
	memdriver.On(w.driver, func(ctx context.Context, _ *cosi.DriverRevokeBucketAccessRequest) error {
		return label(ctx, &cosiapi.BucketAccess{ObjectMeta: app})
	})
	claim, bucket := w.provisioned("photos", "fast")
	access := w.granted("app", "keys", "photos")
	w.settled()
	w.delete(access, claim)
	w.gone(access, claim, bucket)
	if n := writes.Load(); n != 4 {
		t.Errorf("there were %d other writes, want 4", n)
	}
	for _, rpc := range []memdriver.RPC{memdriver.CreateBucket, memdriver.GrantAccess, memdriver.RevokeAccess, memdriver.DeleteBucket} {
		w.called(rpc, 1)
	}
}

func TestProvisionedStaysTrue(t *testing.T) {
	t.Parallel()
	covers(t, "provisioned-stays-true")
	w := pair(t, setup{})
	access := w.granted("app", "keys", "photos")
	since := testenv.Condition(access, cosiapi.ConditionProvisioned).LastTransitionTime
	w.driver.Script(memdriver.Fault{RPC: memdriver.GrantAccess, Code: codes.Unavailable})
	change(w, access, func(a *cosiapi.BucketAccess) { cosiapi.SetAnnotation(a, cosiapi.RotateAnnotation, "once") })
	w.condition(access, cosiapi.ConditionProvisionFailed, metav1.ConditionTrue, conditions.Retrying)
	if c := testenv.Condition(access, cosiapi.ConditionProvisioned); c.Status != metav1.ConditionTrue || !c.LastTransitionTime.Equal(&since) {
		t.Errorf("Provisioned moved: %+v", c)
	}
	w.reconfigure()
	w.condition(access, cosiapi.ConditionProvisionFailed, metav1.ConditionFalse)
}

// TestGrantIsOneTrace verifies that a grant is traced from the reconcile of the sidecar to the driver.
func TestGrantIsOneTrace(t *testing.T) {
	t.Parallel()
	covers(t, "no-credential-leaks")
	w := pair(t, setup{traced: true})
	access := w.granted("app", "keys", "photos")
	var path []string
	w.eventually("the reconcile that granted has ended", func(context.Context) error {
		path = w.pathTo("DriverGrantBucketAccess", trace.SpanKindServer)
		if len(path) < 4 {
			return fmt.Errorf("spans from the driver upwards: %q", path)
		}
		return nil
	})
	const call = "sigs.k8s.io.cosi.v1alpha2.Provisioner/DriverGrantBucketAccess"
	diff(t, "spans from the driver upwards", []string{call, call, "grant", "reconcile BucketAccess"}, path)
	w.delete(access)
	w.gone(access)
}

// pathTo returns the span names from a call up to the root of its trace.
func (w *world) pathTo(call string, kind trace.SpanKind) []string {
	spans := map[trace.SpanID]sdktrace.ReadOnlySpan{}
	var at trace.SpanID
	for _, s := range w.spans.Ended() {
		spans[s.SpanContext().SpanID()] = s
		if s.SpanKind() == kind && strings.HasSuffix(s.Name(), call) {
			at = s.SpanContext().SpanID()
		}
	}
	var path []string
	for s := spans[at]; s != nil; s = spans[s.Parent().SpanID()] {
		path = append(path, s.Name())
	}
	return path
}

// untilEvent waits for an Event on an object.
func (w *world) untilEvent(namespace string, on client.Object, reason reconciler.EventReason) eventsv1.Event {
	w.t.Helper()
	var found eventsv1.Event
	w.eventually(fmt.Sprintf("there is an Event %s on %s", reason, on.GetName()), func(ctx context.Context) error {
		list := &eventsv1.EventList{}
		if err := w.Client.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return err
		}
		var seen []string
		for _, e := range list.Items {
			if e.Reason == string(reason) && e.Regarding.Name == on.GetName() && e.Regarding.UID == on.GetUID() {
				found = e
				return nil
			}
			seen = append(seen, e.Regarding.Kind+" "+e.Regarding.Name+": "+e.Reason)
		}
		return fmt.Errorf("there are %q", seen)
	})
	return found
}

func TestEvents(t *testing.T) {
	t.Parallel()
	covers(t, "events")
	w := pair(t, setup{})
	claim := w.claim("photos", "fast")
	bucket := w.bucketOf(get(w, claim))
	w.driver.Script(
		memdriver.Fault{RPC: memdriver.CreateBucket, Code: codes.ResourceExhausted, Message: "quota is used up"},
		memdriver.Fault{RPC: memdriver.GrantAccess, Code: codes.Unavailable},
		memdriver.Fault{RPC: memdriver.RevokeAccess, Code: codes.Unavailable},
		memdriver.Fault{RPC: memdriver.DeleteBucket, Code: codes.FailedPrecondition, Message: "not empty"},
	)
	failing := w.newClaim("failing", "fast")
	waiting := w.access("waiting", "keys", "failing")
	access := w.access("app", "keys", "photos")
	w.create(waiting, access)
	for _, e := range []eventsv1.Event{
		w.untilEvent(w.namespace, failing, reconciler.FailedCreateBucket),
		w.untilEvent(metav1.NamespaceDefault, w.bucketOf(failing), reconciler.FailedCreateBucket),
	} {
		if !strings.Contains(e.Note, "quota is used up") || e.Type != corev1.EventTypeWarning {
			t.Errorf("the driver's words are lost: %+v", e)
		}
	}
	w.untilEvent(w.namespace, waiting, reconciler.WaitingForBucket)
	w.untilEvent(w.namespace, access, reconciler.FailedGrantAccess)
	w.delete(access)
	w.untilEvent(w.namespace, access, reconciler.FailedRevokeAccess)
	w.reconfigure()
	w.gone(access)
	w.delete(claim)
	w.untilEvent(w.namespace, claim, reconciler.FailedDeleteBucket)
	w.untilEvent(metav1.NamespaceDefault, bucket, reconciler.FailedDeleteBucket)
	w.touch(bucket)
	w.gone(claim, bucket)
	// A user with the role view sees all Events except those in the other namespace.
	seen := map[reconciler.EventReason]bool{}
	list := &corev1.EventList{}
	w.must(w.viewer().List(t.Context(), list, client.InNamespace(w.namespace)))
	for _, e := range list.Items {
		seen[reconciler.EventReason(e.Reason)] = true
	}
	for _, reason := range []reconciler.EventReason{
		reconciler.FailedCreateBucket, reconciler.FailedDeleteBucket, reconciler.WaitingForBucket, reconciler.FailedGrantAccess, reconciler.FailedRevokeAccess,
	} {
		if !seen[reason] {
			t.Errorf("a user of the namespace sees no Event %s", reason)
		}
	}
}

// viewer returns a client with only the role view in the namespace.
func (w *world) viewer() client.Client {
	w.t.Helper()
	w.create(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "viewer"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "viewer-" + w.namespace}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:aggregate-to-view"},
	})
	viewer := w.ClientFor(w.User("viewer-" + w.namespace))
	w.eventually("the role of the viewer counts", func(ctx context.Context) error {
		return viewer.List(ctx, &corev1.EventList{}, client.InNamespace(w.namespace))
	})
	return viewer
}

// TestRepetitionsAreOneEvent verifies that repeated failures of the same kind are one Event with a count.
func TestRepetitionsAreOneEvent(t *testing.T) {
	t.Parallel()
	covers(t, "events")
	w := start(t, setup{backoff: patient()})
	w.newClass("fast")
	const failures = 6
	w.driver.Script(memdriver.Fault{RPC: memdriver.CreateBucket, Code: codes.ResourceExhausted, Message: "quota is used up", Times: failures})
	claim, bucket := w.provisioned("photos", "fast")
	w.called(memdriver.CreateBucket, failures+1)
	for namespace, object := range map[string]client.Object{w.namespace: claim, metav1.NamespaceDefault: bucket} {
		w.untilEvent(namespace, object, reconciler.FailedCreateBucket)
		list := &eventsv1.EventList{}
		w.must(w.Client.List(t.Context(), list, client.InNamespace(namespace)))
		list.Items = slices.DeleteFunc(list.Items, func(e eventsv1.Event) bool {
			return e.Regarding.UID != object.GetUID() || e.Reason != string(reconciler.FailedCreateBucket)
		})
		if len(list.Items) != 1 {
			t.Errorf("%d failures in a row are %d Events on %s", failures, len(list.Items), object.GetName())
		}
	}
}

// TestEventsOfTheStraightPath verifies that a user who creates a claim and an access at the same time gets
// two Events in the list: one about the wait and one about the final result.
func TestEventsOfTheStraightPath(t *testing.T) {
	t.Parallel()
	w := start(t, setup{})
	w.newClass("fast")
	w.newAccessClass("keys")
	claim, access := w.claim("photos", "fast"), w.access("app", "keys", "photos")
	w.create(claim, access)
	w.ready(claim, access)
	bucket := w.bucketOf(claim)
	w.delete(access)
	w.gone(access)
	w.delete(claim)
	w.gone(claim, bucket)
	w.untilEvent(w.namespace, claim, reconciler.BucketReleased)
	w.stop(theSidecar) // all Events have been written by then
	w.stop(theController)
	var seen []string
	for _, namespace := range []string{w.namespace, metav1.NamespaceDefault} {
		list := &eventsv1.EventList{}
		w.must(w.Client.List(t.Context(), list, client.InNamespace(namespace)))
		for _, e := range list.Items {
			if !slices.Contains(reconciler.EventReasons(), reconciler.EventReason(e.Reason)) && namespace == w.namespace {
				t.Errorf("the Event %s is not in the list", e.Reason)
			}
			if slices.Contains([]types.UID{claim.UID, access.UID, bucket.UID}, e.Regarding.UID) {
				seen = append(seen, e.Regarding.Kind+" "+e.Reason)
			}
		}
	}
	slices.Sort(seen)
	if len(seen) > 0 && seen[0] == "BucketAccess WaitingForBucket" {
		seen = seen[1:] // absent if the bucket was ready first
	}
	diff(t, "Events besides that of a wait", []string{"BucketClaim BucketReleased"}, seen)
	if reasons := w.tape.written(); !slices.Contains(reasons, string(conditions.Provisioned)) || !slices.Contains(reasons, string(conditions.ControllerValidated)) {
		t.Errorf("the check of reasons is blind: it saw %q", reasons)
	}
}

func TestPersistentAPIProblem(t *testing.T) {
	t.Parallel()
	covers(t, "api-problem-is-an-event")
	for _, code := range []int{http.StatusConflict, http.StatusTooManyRequests, http.StatusInternalServerError} {
		t.Run(http.StatusText(code), func(t *testing.T) {
			t.Parallel()
			w := start(t, setup{backoff: patient()})
			w.newClass("fast")
			strikes := []func(){
				w.tape.strike(&fault{Who: theController, What: "patch bucketclaims/status", Times: always, Status: code}),
				w.tape.strike(&fault{Who: theSidecar, What: "patch buckets/status", Times: always, Status: code}),
			}
			claim := w.newClaim("photos", "fast")
			w.untilEvent(w.namespace, claim, reconciler.FailedAPICall)
			w.eventually("there is a Bucket", func(ctx context.Context) error { // no claim names it yet
				_, err := w.live(ctx, cosiapi.BucketNameFor(claim.UID))
				return err
			})
			bucket := get(w, bucketFor(claim))
			w.untilEvent(metav1.NamespaceDefault, bucket, reconciler.FailedAPICall)
			for _, obj := range []client.Object{get(w, claim), get(w, bucket)} {
				if c := testenv.Condition(obj, cosiapi.ConditionProvisionFailed); c.Status == metav1.ConditionTrue {
					t.Errorf("an API problem became a condition: %+v", c)
				}
			}
			for _, remove := range strikes {
				remove()
			}
			w.ready(claim, bucket)
		})
	}
}

// sample returns the value of a metric with these labels, or its number of observations, summed over all
// registries of a component.
func (w *world) sample(who, metric string, labels map[string]string) float64 {
	w.t.Helper()
	total := 0.0
	for _, r := range w.metrics[who] {
		families, err := r.Gather()
		w.must(err)
		for _, family := range families {
			if family.GetName() != metric {
				continue
			}
			for _, m := range family.GetMetric() {
				matching := 0
				for _, label := range m.GetLabel() {
					if labels[label.GetName()] == label.GetValue() {
						matching++
					}
				}
				if matching != len(m.GetLabel()) {
					continue
				}
				total += m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return total
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	covers(t, "operation-measured-once", "metrics")
	w := start(t, setup{})
	w.newClass("fast")
	w.newAccessClass("keys")
	w.driver.Script(memdriver.Fault{RPC: memdriver.CreateBucket, Code: codes.Unavailable})
	claim := w.newClaim("photos", "fast")
	bucket := w.bucketOf(claim)
	w.condition(bucket, cosiapi.ConditionProvisionFailed, metav1.ConditionTrue)
	w.touch(bucket)
	w.ready(claim)
	access := w.granted("app", "keys", "photos")
	w.stop(theSidecar) // the successor finds everything done and observes nothing
	w.stop(theController)
	w.runController()
	w.runSidecar()
	w.settled()
	w.delete(access)
	w.gone(access)
	w.delete(claim)
	w.gone(claim, bucket)
	name := w.driver.Name()
	operation := func(kind, operation string) map[string]string {
		return map[string]string{"driver_name": name, "resource_kind": kind, "operation": operation}
	}
	for _, tc := range []struct {
		who, kind, operation string
		want                 float64
	}{
		{theController, "BucketClaim", "Create", 1},
		{theController, "BucketClaim", "Delete", 1},
		{theSidecar, "Bucket", "Create", 1},
		{theSidecar, "Bucket", "Delete", 2}, // one by settled
		{theSidecar, "BucketAccess", "Create", 1},
		{theController, "BucketAccess", "Delete", 1},
	} {
		labels, succeeded := operation(tc.kind, tc.operation), operation(tc.kind, tc.operation)
		succeeded["status"] = "Succeeded"
		w.eventually(fmt.Sprintf("%s %s is observed", tc.operation, tc.kind), func(context.Context) error {
			if n := w.sample(tc.who, "cosi_operation_total_seconds", labels); n != tc.want {
				return fmt.Errorf("it was observed %v times", n)
			}
			if n := w.sample(tc.who, "cosi_operation_count", succeeded); n != tc.want {
				return fmt.Errorf("it was counted %v times", n)
			}
			return nil
		})
	}
	method := map[string]string{"driver_name": name, "method_name": "DriverCreateBucket"}
	if n := w.sample(theSidecar, "cosi_sidecar_operation_errors_total", method); n != 1 {
		t.Errorf("errors of DriverCreateBucket: want 1, got %v", n)
	}
	method["grpc_status_code"] = "OK"
	if n := w.sample(theSidecar, "cosi_sidecar_operation_duration_seconds", method); n != 1 {
		t.Errorf("durations of DriverCreateBucket with OK: want 1, got %v", n)
	}
	// The first call of a sidecar, which returns the driver's name, is also counted under this name.
	method["method_name"] = "DriverGetInfo"
	if n := w.sample(theSidecar, "cosi_sidecar_operation_duration_seconds", method); n < 2 {
		t.Errorf("durations of DriverGetInfo of two sidecars: %v", n)
	}
	method["driver_name"] = metrics.DriverUnknown
	if n := w.sample(theSidecar, "cosi_sidecar_operation_duration_seconds", method); n != 0 {
		t.Errorf("%v calls of a driver that responded were counted as of an unknown one", n)
	}
	want := []float64{0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60, 120, 300, 600}
	diff(t, "boundaries", want, w.boundaries(theController, "cosi_operation_total_seconds"))
	diff(t, "boundaries", want, w.boundaries(theSidecar, "cosi_sidecar_operation_duration_seconds"))
}

// TestDeletionIsCountedOnce verifies that a controller whose cache does not show the end of an access that it
// released does not release and count it again.
func TestDeletionIsCountedOnce(t *testing.T) {
	t.Parallel()
	covers(t, "operation-measured-once")
	w := start(t, setup{})
	w.newClass("fast")
	w.newAccessClass("keys")
	claim, _ := w.provisioned("photos", "fast")
	access := w.granted("app", "keys", "photos")
	w.settled()
	pass, release := make(chan struct{}), make(chan func(), 1)
	close(pass)
	w.tape.strike(&fault{Who: theController, What: "patch bucketaccesses", Name: access.Name, Hold: pass, Hit: func() {
		release <- w.lags.lag(theController, "bucketaccesses")
	}})
	w.delete(access)
	w.gone(access)
	looked := func() (times float64) {
		for _, verdict := range []string{"next", "wait"} {
			times += w.sample(theController, "cosi_step_duration_seconds", map[string]string{"resource_kind": "BucketAccess", "step": "seen", "verdict": verdict, "component": theController})
		}
		return times
	}
	before := looked()
	w.delete(claim) // which triggers reconciles of its accesses
	w.eventually("the controller looks at the access again", func(context.Context) error {
		if looked() == before {
			return errors.New("it does not")
		}
		return nil
	})
	(<-release)()
	w.settled()
	deleted := map[string]string{"driver_name": w.driver.Name(), "resource_kind": "BucketAccess", "operation": "Delete"}
	if n := w.sample(theController, "cosi_operation_total_seconds", deleted); n != 1 {
		t.Errorf("%v deletions were counted, want 1", n)
	}
}

// TestScrapedMetrics verifies that the programs serve the four metrics of the KEP to Prometheus.
func TestScrapedMetrics(t *testing.T) {
	t.Parallel()
	covers(t, "metrics")
	fulltest.Only(t, "the metrics are counted in other tests: here the programs serve them")
	build(t)
	w := start(t, setup{programs: true, scraped: true})
	w.newClass("fast")
	w.newAccessClass("keys")
	w.driver.Script(memdriver.Fault{RPC: memdriver.CreateBucket, Code: codes.Unavailable})
	w.provisioned("photos", "fast")
	w.granted("app", "keys", "photos")
	labels := `driver_name="` + w.driver.Name() + `"`
	operation := labels + `,operation="Create",resource_kind=`
	for who, wanted := range map[string][]string{
		theController: {
			`cosi_operation_count{` + operation + `"BucketClaim",status="Succeeded"} 1`,
			`cosi_operation_total_seconds_bucket{` + operation + `"BucketClaim",le="600"} 1`,
		},
		theSidecar: {
			`cosi_operation_count{` + operation + `"BucketAccess",status="Succeeded"} 1`,
			`cosi_operation_total_seconds_count{` + operation + `"Bucket"} 1`,
			`cosi_sidecar_operation_duration_seconds_bucket{` + labels + `,grpc_status_code="OK",method_name="DriverCreateBucket",le="0.1"}`,
			`cosi_sidecar_operation_errors_total{` + labels + `,method_name="DriverCreateBucket"} 1`,
		},
	} {
		w.eventually("the scrape of the "+who+" shows all", func(ctx context.Context) error {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+w.process(who).metrics+"/metrics", http.NoBody)
			w.must(err)
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				return err
			}
			body, err := io.ReadAll(response.Body)
			err = errors.Join(err, response.Body.Close())
			if err != nil {
				return err
			}
			for _, line := range wanted {
				if !strings.Contains(string(body), line) {
					return fmt.Errorf("there is no %s in\n%s", line, cosiLines(string(body)))
				}
			}
			return nil
		})
	}
}

// cosiLines returns the lines of a scrape with COSI's metrics.
func cosiLines(scrape string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(scrape, "\n"), func(line string) bool {
		return !strings.HasPrefix(line, "cosi_op") && !strings.HasPrefix(line, "cosi_sidecar")
	}), "\n")
}

// boundaries returns the bucket boundaries of a histogram.
func (w *world) boundaries(who, metric string) []float64 {
	w.t.Helper()
	families, err := w.metrics[who][0].Gather()
	w.must(err)
	var bounds []float64
	for _, family := range families {
		if family.GetName() == metric {
			for _, b := range family.GetMetric()[0].GetHistogram().GetBucket() {
				bounds = append(bounds, b.GetUpperBound())
			}
		}
	}
	return bounds
}
