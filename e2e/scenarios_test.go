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

// scenarios is the table: every one runs on every cloud in every shape.
func scenarios() map[string]func(p *play) {
	return map[string]func(p *play){
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
		"in process on fakes": inProcess, "processes on fakes": asProcesses,
		"containers on fakes": containersOnFakes, "containers on real stores": containersOnRealStores,
	} {
		t.Run(shape, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			for _, c := range clouds() {
				table := scenarios()
				if w.open && c.protocol == cosiapi.ProtocolGCS {
					table = map[string]func(p *play){"a bucket, and a refusal of accesses that says why": withoutAccounts}
				}
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					for name, scenario := range table {
						t.Run(name, func(t *testing.T) { scenario(newPlay(t, w, c)) })
					}
				})
			}
		})
	}
}

func comeAndGo(p *play) {
	claim := p.claim("bucket")
	access := p.access("app", claim, cosiapi.BucketAccessModeReadWrite)
	workload := p.granted(access)
	p.must(workload.put(p.t.Context(), "a", "hello"), "put")
	p.wantObject(workload, "a", "hello")
	p.must(workload.remove(p.t.Context(), "a"), "remove")
	p.remove(access)
	if err := workload.put(p.t.Context(), "a", "hello"); !refused(err) {
		p.t.Errorf("put after the access was deleted: want it refused, got %v", err)
	}
	p.await(claim)
	p.remove(claim)
	p.remove(p.bucket(claim))
}

func readOnly(p *play) {
	claim := p.claim("bucket")
	writing := p.access("writer", claim, cosiapi.BucketAccessModeReadWrite)
	reading := p.access("reader", claim, cosiapi.BucketAccessModeReadOnly)
	writer, reader := p.granted(writing), p.granted(reading)
	p.must(writer.put(p.t.Context(), "a", "hello"), "put")
	p.wantObject(reader, "a", "hello")
	if err := reader.put(p.t.Context(), "b", "hello"); !refused(err) {
		p.t.Errorf("put with a credential for reading: want it refused, got %v", err)
	}
	p.must(writer.remove(p.t.Context(), "a"), "remove")
	p.remove(writing)
	p.remove(reading)
	p.remove(claim)
}

func twoAccesses(p *play) {
	claim := p.claim("bucket")
	first, second := p.access("first", claim, cosiapi.BucketAccessModeReadWrite), p.access("second", claim, cosiapi.BucketAccessModeReadWrite)
	one, other := p.granted(first), p.granted(second)
	p.must(one.put(p.t.Context(), "a", "hello"), "put")
	p.remove(first)
	if _, err := one.get(p.t.Context(), "a"); !refused(err) {
		p.t.Errorf("get after the access was deleted: want it refused, got %v", err)
	}
	p.wantObject(other, "a", "hello")
	p.must(other.remove(p.t.Context(), "a"), "remove")
	p.remove(second)
	p.remove(claim)
}

func inUse(p *play) {
	claim := p.claim("bucket")
	access := p.access("app", claim, cosiapi.BucketAccessModeReadWrite)
	workload := p.granted(access)
	p.must(workload.put(p.t.Context(), "a", "precious"), "put")
	p.await(claim)
	bucket := p.bucket(claim)
	p.must(p.client.Delete(p.t.Context(), claim), "delete the claim")
	p.until("the Bucket's deletion is marked", func(ctx context.Context) error {
		if err := p.client.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
			return err
		}
		if claim.DeletionTimestamp.IsZero() {
			return fmt.Errorf("claim %s is not being deleted", claim.Name)
		}
		return nil
	})
	p.wantObject(workload, "a", "precious")
	p.must(workload.remove(p.t.Context(), "a"), "remove")
	p.remove(access)
	p.remove(claim)
	p.remove(bucket)
}

func killed(p *play) {
	claim := p.claim("bucket")
	p.restart(p.t, "driver", p.cloud)
	access := p.access("app", claim, cosiapi.BucketAccessModeReadWrite)
	p.restart(p.t, "sidecar", p.cloud)
	workload := p.granted(access)
	if p.cloud.protocol == cosiapi.ProtocolS3 {
		p.restart(p.t, "controller", p.cloud) // which is one for all clouds
	}
	p.must(workload.put(p.t.Context(), "a", "hello"), "put")
	p.must(workload.remove(p.t.Context(), "a"), "remove")
	p.remove(access)
	p.remove(claim)
}

func rotate(p *play) {
	claim := p.claim("bucket")
	access := p.access("app", claim, cosiapi.BucketAccessModeReadWrite)
	former := p.granted(access)
	before := p.secret(access)
	patch := client.MergeFrom(access.DeepCopy())
	metav1.SetMetaDataAnnotation(&access.ObjectMeta, cosiapi.RotateAnnotation, "1")
	p.must(p.client.Patch(p.t.Context(), access, patch), "ask for rotation")
	p.until("the Secret has another credential", func(context.Context) error {
		if fmt.Sprint(p.secret(access)) == fmt.Sprint(before) {
			return fmt.Errorf("the Secret of %s has not changed", access.Name)
		}
		return nil
	})
	latter := p.dataOf(p.secret(access))
	p.must(former.put(p.t.Context(), "a", "hello"), "put with the former credential")
	p.wantObject(latter, "a", "hello")
	p.must(latter.remove(p.t.Context(), "a"), "remove")
	p.remove(access)
	p.remove(claim)
}

// withoutAccounts is what can be done on a store without accounts.
func withoutAccounts(p *play) {
	claim := p.claim("bucket")
	p.await(claim)
	access := p.access("app", claim, cosiapi.BucketAccessModeReadWrite)
	p.awaitCondition(access, cosiapi.ConditionProvisionFailed, metav1.ConditionTrue)
	if said := fmt.Sprint(access.Status.Conditions); !strings.Contains(said, "without accounts") {
		p.t.Errorf("the access does not say why it fails: %s", said)
	}
	p.remove(access)
	p.remove(claim)
	p.remove(p.bucket(claim))
}

func (p *play) until(what string, check func(ctx context.Context) error) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), waitTimeout)
	defer cancel()
	if err := controlplane.Until(ctx, check); err != nil {
		p.t.Fatalf("waiting until %s: %v", what, err)
	}
}
