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
	s.request(b, `{"quota":"1","days":null,"tier":"fast"}`, "") // tier has its original value
	result := s.request(b, `{"quota":"3","days":null,"tier":"slow"}`, "tier")
	if diff := cmp.Diff([]string{"tier"}, result.Unsupported); diff != "" {
		t.Errorf("unsupported parameters (-want +got):\n%s", diff)
	}
	has(map[string]string{"tier": "fast", "quota": "3"})
	s.request(b, `{"quota":9}`, "is not a JSON object of strings")
	has(map[string]string{"tier": "fast", "quota": "3"})

	refuse := s.driver.Script(memdriver.Fault{RPC: memdriver.CreateBucket, Code: codes.InvalidArgument, Message: "parameter quota is too large", Times: memdriver.Always})
	s.request(b, `{"quota":"9","days":null}`, "parameter quota is too large")
	s.ready(b)
	if !conditions.Is(b.Status.Conditions, cosiapi.ConditionProvisionFailed, metav1.ConditionFalse) {
		t.Errorf("a refused change made the Bucket unready: %+v", b.Status.Conditions)
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
	s := newSystem(t, memdriver.Options{Changeable: []string{"quota"}})
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
}
