// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

// scenarios is the table. Each scenario runs on every cloud in every shape.
func scenarios() map[string]func(s *scenario) {
	return map[string]func(s *scenario){
		"claim, grant, put, revoke, refusal, delete":           comeAndGo,
		"a credential for reading does not write":              readOnly,
		"the end of one access is not the end of another":      twoAccesses,
		"a claim that an access uses outlives its deletion":    inUse,
		"driver, sidecar and controller are killed on the way": killed,
		"a rotated credential follows the former without gap":  rotate,
	}
}

// TestScenarios runs the table in all shapes.
//
//nolint:paralleltest // the scenarios of one cloud follow one another: some restart its driver
func TestScenarios(t *testing.T) {
	t.Parallel()
	for shape, start := range map[string]func(t *testing.T) *world{
		"in process on fakes": inProcess, "in process on Ceph": inProcessOnCeph, "processes on fakes": asProcesses,
		"processes on Ceph": asProcessesOnCeph, "containers on fakes": containersOnFakes, "containers on real stores": containersOnRealStores,
	} {
		t.Run(shape, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			if w.clouds == nil {
				w.clouds = clouds()
			}
			for _, c := range w.clouds {
				table := scenarios()
				if w.open && c.protocol == cosiapi.ProtocolGCS {
					table = map[string]func(s *scenario){"a bucket, and a rejection of accesses with a reason": withoutAccounts}
				}
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					for name, run := range table {
						t.Run(name, func(t *testing.T) { run(newScenario(t, w, c)) })
					}
				})
			}
		})
	}
}

func comeAndGo(s *scenario) {
	claim := s.claim("bucket")
	access := s.access("app", claim, cosiapi.BucketAccessModeReadWrite)
	workload := s.granted(access)
	s.must(workload.put(s.t.Context(), "a", "hello"), "put")
	s.wantObject(workload, "a", "hello")
	s.must(workload.remove(s.t.Context(), "a"), "remove")
	s.remove(access)
	if err := workload.put(s.t.Context(), "a", "hello"); !refused(err) {
		s.t.Errorf("put after the access was deleted: want it refused, got %v", err)
	}
	s.await(claim)
	s.remove(claim)
	s.remove(s.bucket(claim))
}

func readOnly(s *scenario) {
	claim := s.claim("bucket")
	writing := s.access("writer", claim, cosiapi.BucketAccessModeReadWrite)
	reading := s.access("reader", claim, cosiapi.BucketAccessModeReadOnly)
	writer, reader := s.granted(writing), s.granted(reading)
	s.must(writer.put(s.t.Context(), "a", "hello"), "put")
	s.wantObject(reader, "a", "hello")
	if err := reader.put(s.t.Context(), "b", "hello"); !refused(err) {
		s.t.Errorf("put with a credential for reading: want it refused, got %v", err)
	}
	s.must(writer.remove(s.t.Context(), "a"), "remove")
	s.remove(writing)
	s.remove(reading)
	s.remove(claim)
}

func twoAccesses(s *scenario) {
	claim := s.claim("bucket")
	first, second := s.access("first", claim, cosiapi.BucketAccessModeReadWrite), s.access("second", claim, cosiapi.BucketAccessModeReadWrite)
	one, other := s.granted(first), s.granted(second)
	s.must(one.put(s.t.Context(), "a", "hello"), "put")
	s.remove(first)
	if _, err := one.get(s.t.Context(), "a"); !refused(err) {
		s.t.Errorf("get after the access was deleted: want it refused, got %v", err)
	}
	s.wantObject(other, "a", "hello")
	s.must(other.remove(s.t.Context(), "a"), "remove")
	s.remove(second)
	s.remove(claim)
}

func inUse(s *scenario) {
	claim := s.claim("bucket")
	access := s.access("app", claim, cosiapi.BucketAccessModeReadWrite)
	workload := s.granted(access)
	s.must(workload.put(s.t.Context(), "a", "precious"), "put")
	s.await(claim)
	bucket := s.bucket(claim)
	s.must(s.client.Delete(s.t.Context(), claim), "delete the claim")
	s.until("the Bucket's deletion is marked", func(ctx context.Context) error {
		if err := s.client.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
			return err
		}
		if claim.DeletionTimestamp.IsZero() {
			return fmt.Errorf("claim %s is not being deleted", claim.Name)
		}
		return nil
	})
	s.wantObject(workload, "a", "precious")
	s.must(workload.remove(s.t.Context(), "a"), "remove")
	s.remove(access)
	s.remove(claim)
	s.remove(bucket)
}

func killed(s *scenario) {
	claim := s.claim("bucket")
	s.restart(s.t, "driver", s.cloud)
	access := s.access("app", claim, cosiapi.BucketAccessModeReadWrite)
	s.restart(s.t, "sidecar", s.cloud)
	workload := s.granted(access)
	if s.cloud.protocol == cosiapi.ProtocolS3 {
		s.restart(s.t, "controller", s.cloud) // all clouds share one controller
	}
	s.must(workload.put(s.t.Context(), "a", "hello"), "put")
	s.must(workload.remove(s.t.Context(), "a"), "remove")
	s.remove(access)
	s.remove(claim)
}

func rotate(s *scenario) {
	claim := s.claim("bucket")
	access := s.access("app", claim, cosiapi.BucketAccessModeReadWrite)
	former := s.granted(access)
	before := s.secret(access)
	patch := client.MergeFrom(access.DeepCopy())
	metav1.SetMetaDataAnnotation(&access.ObjectMeta, cosiapi.RotateAnnotation, "1")
	s.must(s.client.Patch(s.t.Context(), access, patch), "ask for rotation")
	s.until("the Secret has another credential", func(context.Context) error {
		if fmt.Sprint(s.secret(access)) == fmt.Sprint(before) {
			return fmt.Errorf("the Secret of %s has not changed", access.Name)
		}
		return nil
	})
	latter := s.dataOf(s.secret(access))
	s.must(former.put(s.t.Context(), "a", "hello"), "put with the former credential")
	s.wantObject(latter, "a", "hello")
	s.must(latter.remove(s.t.Context(), "a"), "remove")
	s.remove(access)
	s.remove(claim)
}

// withoutAccounts tests the supported operations of a store without accounts.
func withoutAccounts(s *scenario) {
	claim := s.claim("bucket")
	s.await(claim)
	access := s.access("app", claim, cosiapi.BucketAccessModeReadWrite)
	s.awaitCondition(access, cosiapi.ConditionProvisionFailed, metav1.ConditionTrue)
	if said := fmt.Sprint(access.Status.Conditions); !strings.Contains(said, "without accounts") {
		s.t.Errorf("the access does not say why it fails: %s", said)
	}
	s.remove(access)
	s.remove(claim)
	s.remove(s.bucket(claim))
}

func (s *scenario) until(what string, check func(ctx context.Context) error) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), waitTimeout)
	defer cancel()
	if err := controlplane.Until(ctx, check); err != nil {
		s.t.Fatalf("waiting until %s: %v", what, err)
	}
}
