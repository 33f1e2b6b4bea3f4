// SPDX-License-Identifier: Apache-2.0

package system_test

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/testing/exampletest"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/testenv/system"
	"github.com/cooper-cosi/cooper/testenv/system/systemtest"
)

// Run a whole system with a custom driver and wait for a bucket.
func ExampleStart() {
	ctx := context.Background()
	driver := memdriver.New(memdriver.Options{Name: "shelf.example.com"})
	s, err := system.Start(ctx, system.Options{Drivers: []system.Driver{{Name: driver.Name(), Serve: driver.Serve}}})
	if err != nil {
		panic(err)
	}
	defer func() {
		if err := s.Stop(); err != nil {
			panic(err)
		}
	}()
	class := &cosiapi.BucketClass{
		ObjectMeta: metav1.ObjectMeta{Name: "gold"},
		Spec:       cosiapi.BucketClassSpec{DriverName: driver.Name(), DeletionPolicy: cosiapi.DeletionPolicyDelete},
	}
	claim := &cosiapi.BucketClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "photos"},
		Spec:       cosiapi.BucketClaimSpec{BucketClassName: class.Name, Protocols: []cosiapi.Protocol{cosiapi.ProtocolS3}},
	}
	if err := s.Client().Create(ctx, class); err != nil {
		panic(err)
	}
	if err := s.Client().Create(ctx, claim); err != nil {
		panic(err)
	}
	if err := system.WaitCondition(ctx, s.Client(), claim, cosiapi.ConditionProvisioned, metav1.ConditionTrue); err != nil {
		panic(err)
	}
	fmt.Println("buckets of the driver:", len(driver.Inventory().Buckets))
	// Output: buckets of the driver: 1
}

// In a test, systemtest.Start shares a control plane: a claim gets its bucket from an in-memory driver.
func ExampleStart_inTest() {
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
