// SPDX-License-Identifier: Apache-2.0

package sidecar_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/bucketchange"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/metrics"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/testenv"
)

// request asks for changes of a Bucket's parameters, and waits until the result has the text.
func (s *system) request(b *cosiapi.Bucket, changes, text string) bucketchange.Result {
	s.t.Helper()
	testenv.Change(s.Env, b, func(b *cosiapi.Bucket) { cosiapi.SetAnnotation(b, cosiapi.ParameterChangesAnnotation, changes) })
	var result bucketchange.Result
	testenv.Until(s.Env, b, "the result is reported", func(b *cosiapi.Bucket) error {
		var found bool
		if result, found = bucketchange.ResultOf(b); !found || !strings.Contains(result.Text(), text) || (text == "") != (result.Problem == "" && result.Unsupported == nil) {
			return fmt.Errorf("it is %s", b.Annotations[cosiapi.ParameterChangesResultAnnotation])
		}
		return nil
	})
	return result
}

// current returns the parameters of the only bucket of the driver, after changes.
func (s *system) current() map[string]string { return s.driver.Inventory().Buckets[0].Current }

func TestBucketParametersChange(t *testing.T) {
	t.Parallel()
	s := newSystem(t, memdriver.Options{Changeable: []string{"quota", "days"}})
	s.options.Backoff = reconciler.BackoffOptions{Base: 10 * time.Millisecond, Max: 100 * time.Millisecond}
	s.run()
	b := s.readyBucket()
	has := func(want map[string]string) {
		t.Helper()
		if diff := cmp.Diff(want, s.current()); diff != "" {
			t.Errorf("parameters of the bucket (-want +got):\n%s", diff)
		}
	}
	s.request(b, `{"quota":"2","days":"7"}`, "")
	has(map[string]string{"tier": "fast", "quota": "2", "days": "7"})
	s.request(b, `{"quota":"1","days":null}`, "")
	has(map[string]string{"tier": "fast", "quota": "1"})
	result := s.request(b, `{"quota":"3","days":null,"tier":"slow"}`, "tier")
	if diff := cmp.Diff([]string{"tier"}, result.Unsupported); diff != "" {
		t.Errorf("unsupported parameters (-want +got):\n%s", diff)
	}
	has(map[string]string{"tier": "fast", "quota": "3"})
	s.request(b, `{"quota":9}`, "is not a JSON object of strings")
	has(map[string]string{"tier": "fast", "quota": "3"})

	failures := s.counted(metrics.StatusUnknown)
	refuse := s.driver.Script(memdriver.Fault{RPC: memdriver.CreateBucket, Code: codes.InvalidArgument, Message: "parameter quota is too large", Times: memdriver.Always})
	s.request(b, `{"quota":"9","days":null}`, "parameter quota is too large")
	s.ready(b)
	if !conditions.Is(b.Status.Conditions, cosiapi.ConditionProvisionFailed, metav1.ConditionFalse) {
		t.Errorf("a refused change made the Bucket unready: %+v", b.Status.Conditions)
	}
	if got := s.counted(metrics.StatusUnknown); got != failures {
		t.Errorf("%v refused changes count as failed creations", got-failures)
	}
	refuse()
	s.request(b, `{"quota":"8","days":null}`, "") // a new value is sent although the previous one was refused
	has(map[string]string{"tier": "fast", "quota": "8"})
	s.driver.Script(memdriver.Fault{RPC: memdriver.CreateBucket, Code: codes.Unavailable, Times: 2})
	s.request(b, `{"quota":"7","days":null}`, "")
	has(map[string]string{"tier": "fast", "quota": "7"})
}

// TestParametersOfABackupAreNotReverted repeats the creation of a changed bucket, without the annotations of the change.
func TestParametersOfABackupAreNotReverted(t *testing.T) {
	t.Parallel()
	s := start(t, memdriver.Options{Changeable: []string{"quota"}})
	b := s.readyBucket()
	s.request(b, `{"quota":"2"}`, "")
	testenv.Change(s.Env, b, func(b *cosiapi.Bucket) {
		delete(b.Annotations, cosiapi.ParameterChangesAnnotation)
		delete(b.Annotations, cosiapi.ParameterChangesResultAnnotation)
	})
	calls := len(s.driver.Calls(memdriver.CreateBucket))
	testenv.ChangeStatus(s.Env, b, func(b *cosiapi.Bucket) { b.Status.Protocols = nil })
	s.await(memdriver.CreateBucket, calls+1)
	testenv.Until(s.Env, b, "the status is whole again", func(b *cosiapi.Bucket) error {
		if len(b.Status.Protocols) == 0 {
			return fmt.Errorf("it is %+v", b.Status)
		}
		return nil
	})
	if got := s.current()["quota"]; got != "2" {
		t.Errorf("the quota is %q", got)
	}
}

// TestDriverLearnsToChangeParameters checks that a driver gets no change before it announces that it supports the
// parameter.
func TestDriverLearnsToChangeParameters(t *testing.T) {
	t.Parallel()
	s := newSystem(t, memdriver.Options{Changeable: []string{"quota", "other"}})
	s.driver.SetInfo(func(info *cosi.DriverGetInfoResponse) { info.ChangeableBucketParameters = nil })
	s.run()
	b := s.readyBucket()
	s.request(b, `{"quota":"2"}`, "quota")
	for _, call := range s.driver.Calls(memdriver.CreateBucket) {
		if request, ok := call.Request.(*cosi.DriverCreateBucketRequest); ok && request.GetUpdate() != nil {
			t.Error("the driver got an update")
		}
	}
	s.driver.SetInfo(func(info *cosi.DriverGetInfoResponse) { info.ChangeableBucketParameters = []string{"quota"} })
	s.request(b, `{"quota":"2"}`, "")
	if got := s.current()["quota"]; got != "2" {
		t.Errorf("the quota is %q", got)
	}
	s.driver.SetInfo(func(info *cosi.DriverGetInfoResponse) { info.ChangeableBucketParameters = nil })
	s.awaitChangeable("other")
	s.request(b, `{"quota":null}`, "quota") // the original value is not restored either
	s.driver.SetInfo(func(info *cosi.DriverGetInfoResponse) { info.ChangeableBucketParameters = []string{"quota"} })
	s.request(b, `{"quota":null}`, "")
	if got, set := s.current()["quota"]; set {
		t.Errorf("the quota is still %q", got)
	}
}

// TestDriverIsReplacedDuringAChange checks that a change is repeated if the driver that received it may have been an older one,
// which ignores changes and reports success.
func TestDriverIsReplacedDuringAChange(t *testing.T) {
	t.Parallel()
	s := newSystem(t, memdriver.Options{Changeable: []string{"quota", "days"}})
	s.driver.SetInfo(func(info *cosi.DriverGetInfoResponse) { info.ChangeableBucketParameters = []string{"quota"} })
	s.run()
	b := s.readyBucket()
	release := make(chan struct{})
	s.driver.Script(memdriver.Fault{RPC: memdriver.CreateBucket, ID: b.Status.BucketID, Hold: release})
	testenv.Change(s.Env, b, func(b *cosiapi.Bucket) { cosiapi.SetAnnotation(b, cosiapi.ParameterChangesAnnotation, `{"quota":"2"}`) })
	if _, err := s.driver.Await(t.Context(), memdriver.Started(2), memdriver.CreateBucket); err != nil {
		t.Fatal(err)
	}
	s.awaitChangeable("days")
	close(release)
	s.request(b, `{"quota":"2"}`, "")
	updates := 0
	for _, call := range s.driver.Calls(memdriver.CreateBucket) {
		if request, ok := call.Request.(*cosi.DriverCreateBucketRequest); ok && request.GetBucketId() == b.Status.BucketID && request.GetUpdate() != nil {
			updates++
		}
	}
	if updates != 2 {
		t.Errorf("the driver got %d updates, want 2", updates)
	}
}

// awaitChangeable lets the driver announce another changeable parameter, and waits until the sidecar knows it: it changes that
// parameter of another bucket.
func (s *system) awaitChangeable(key string) {
	s.t.Helper()
	s.driver.SetInfo(func(info *cosi.DriverGetInfoResponse) {
		info.ChangeableBucketParameters = append(info.ChangeableBucketParameters, key)
	})
	s.request(s.readyBucket(), fmt.Sprintf("{%q:\"1\"}", key), "")
}

// counted returns how many reconciles the sidecars have counted with a status.
func (s *system) counted(status string) (n float64) {
	s.t.Helper()
	families, err := s.metrics.Gather()
	if err != nil {
		s.t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			for _, label := range m.GetLabel() {
				if family.GetName() == "cosi_operation_count" && label.GetValue() == status {
					n += m.GetCounter().GetValue()
				}
			}
		}
	}
	return n
}
