// SPDX-License-Identifier: Apache-2.0

package sidecar_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/testenv"
)

// withOneID returns two provisioned Buckets with the same bucket ID, ready for deletion. The test sets the ID of the
// second one, because the sidecar would refuse it.
func withOneID(s *system) (first, second *cosiapi.Bucket) {
	s.t.Helper()
	stop := s.run()
	first, second = s.readyBucket(), s.bucket()
	stop()
	s.Create(second)
	testenv.ChangeStatus(s.Env, second, func(b *cosiapi.Bucket) { b.Status.BucketID = first.Status.BucketID })
	s.run()
	s.ready(second)
	return first, second
}

func TestBucketsWithOneIDAreDeletedTogether(t *testing.T) {
	t.Parallel()
	s := newSystem(t, memdriver.Options{})
	first, second := withOneID(s)
	s.leave(first)
	s.untilCondition(first, cosiapi.ConditionDeprovisionFailed, metav1.ConditionTrue, conditions.IDShared)
	s.settled()
	if has := s.driver.Inventory().Buckets; len(has) != 1 {
		t.Errorf("the bucket of a living Bucket was deleted: %v", has)
	}
	s.leave(second)
	s.Gone(first)
	s.Gone(second)
	if has := s.driver.Inventory().Buckets; len(has) != 0 {
		t.Errorf("the bucket is left: %v", has)
	}
}

// Two drivers can serve one store: one deletes a bucket that the other has imported, with or without the name of its
// backend.
func TestBucketThatAnotherDriverImportsIsKept(t *testing.T) {
	t.Parallel()
	for name, prefix := range map[string]string{"the same ID": "", "an ID with the name of a backend": "east."} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, memdriver.Options{})
			b := s.readyBucket()
			imports := make([]*cosiapi.Bucket, 2)
			for i := range imports {
				imports[i] = s.static(prefix + b.Status.BucketID)
				imports[i].Name, imports[i].Spec.DriverName = fmt.Sprintf("imported-%d-%s", i, b.Name), "another.example.com"
				s.Create(imports[i])
			}
			s.leave(b)
			confirmed := ""
			for range imports { // the message names only one of them at a time
				var named int
				testenv.Until(s.Env, b, "the message names a Bucket to confirm", func(b *cosiapi.Bucket) error {
					message := testenv.Condition(b, cosiapi.ConditionDeprovisionFailed).Message
					named = slices.IndexFunc(imports, func(other *cosiapi.Bucket) bool {
						return strings.Contains(message, other.Name) && strings.Contains(message, string(other.UID))
					})
					if named < 0 {
						return fmt.Errorf("the message is %q", message)
					}
					return nil
				})
				s.settled()
				if has := s.driver.Inventory().Buckets; len(has) != 1 {
					t.Fatalf("the bucket of the other driver was deleted: %v", has)
				}
				confirmed = strings.TrimPrefix(confirmed+", "+string(imports[named].UID), ", ")
				imports = slices.Delete(slices.Clone(imports), named, named+1)
				testenv.Change(s.Env, b, func(b *cosiapi.Bucket) {
					cosiapi.SetAnnotation(b, cosiapi.ConfirmNotSharedAnnotation, confirmed)
				})
			}
			s.Gone(b)
			if has := s.driver.Inventory().Buckets; len(has) != 0 {
				t.Errorf("the bucket is left after an administrator confirmed its deletion: %v", has)
			}
		})
	}
}

// oldCRDs refuses requests that the API server refuses if its CRDs do not have the bucket ID as a selectable field.
type oldCRDs struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (o oldCRDs) RoundTrip(request *http.Request) (*http.Response, error) {
	if query := request.URL.Query(); strings.Contains(query.Get("fieldSelector"), "ucketID") {
		query.Set("fieldSelector", "status.noSuchField=x")
		request = request.Clone(request.Context())
		request.URL.RawQuery = query.Encode()
	}
	return o.next.RoundTrip(request)
}

func TestBucketsAreDeletedWithOlderCRDs(t *testing.T) {
	t.Parallel()
	s := newSystem(t, memdriver.Options{})
	s.wrap = func(config *rest.Config) *rest.Config {
		config = rest.CopyConfig(config)
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return oldCRDs{next} })
		return config
	}
	s.run()
	b := s.readyBucket()
	s.leave(b)
	s.Gone(b)
	if has := s.driver.Inventory().Buckets; len(has) != 0 {
		t.Errorf("the bucket is left: %v", has)
	}
}
