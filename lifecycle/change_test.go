// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"fmt"
	"testing"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/bucketchange"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
)

// TestCrashDuringAChangeOfParameters kills the sidecar before and after its calls and writes for a requested change of the
// parameters of a Bucket. Its successor applies the change.
func TestCrashDuringAChangeOfParameters(t *testing.T) { //nolint:tparallel // the crashes of one flow run one after the other
	t.Parallel()
	fulltest.Only(t, "TestCrash with an access")
	count := &tally{recorded: map[string]bool{}, replayed: map[string]bool{}}
	replay(t, flow{
		recording: &recording{},
		noAccess:  true,
		prepare: func(w *world, name string) *subject {
			s := &subject{claims: []*cosiapi.BucketClaim{w.newClaim(name, "fast")}}
			w.ready(s.claims[0])
			return s
		},
		act: func(w *world, s *subject) {
			change(w, bucketFor(s.claims[0]), func(b *cosiapi.Bucket) {
				cosiapi.SetAnnotation(b, cosiapi.ParameterChangesAnnotation, `{"quota":"2","tier":null}`)
			})
		},
		reached: func(w *world, s *subject) {
			w.eventually("the bucket has the changed parameters", func(context.Context) error {
				b := get(w, bucketFor(s.claims[0]))
				for _, made := range w.driver.Inventory().Buckets {
					if made.ID == b.Status.BucketID && made.Current["quota"] == "2" && !bucketchange.Pending(b, nil) {
						return nil
					}
				}
				return fmt.Errorf("the driver has %+v", w.driver.Inventory().Buckets)
			})
		},
	}, setup{fake: memdriver.Options{Changeable: []string{"quota", "tier"}}}, count)
	if count.calls == 0 || count.writes == 0 {
		t.Errorf("the change made %d calls and %d writes: the test is blind", count.calls, count.writes)
	}
}
