// SPDX-License-Identifier: Apache-2.0

package systemtest_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/testing/exampletest"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/testenv/system"
	"github.com/cooper-cosi/cooper/testenv/system/systemtest"
)

// A claim gets its bucket from an in-memory driver, with the real controller, sidecar and API server.
func ExampleStart() {
	exampletest.Run(func(t testing.TB) { // in a test: TestFirstBucket
		driver, part := systemtest.NewDriver(t, memdriver.Options{})
		s := systemtest.Start(t, system.Options{Drivers: []system.Driver{part}})
		class := &cosiapi.BucketClass{
			ObjectMeta: metav1.ObjectMeta{Name: s.Namespace},
			Spec:       cosiapi.BucketClassSpec{DriverName: driver.Name(), DeletionPolicy: cosiapi.DeletionPolicyDelete},
		}
		claim := &cosiapi.BucketClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "photos"},
			Spec:       cosiapi.BucketClaimSpec{BucketClassName: class.Name, Protocols: []cosiapi.Protocol{cosiapi.ProtocolS3}},
		}
		s.Create(class, claim)
		s.WaitCondition(claim, cosiapi.ConditionProvisioned)
		if got := len(driver.Inventory().Buckets); got != 1 {
			t.Errorf("the driver made %d buckets", got)
		}
		s.Delete(claim)
	})
	// Output:
}
