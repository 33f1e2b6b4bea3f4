// SPDX-License-Identifier: Apache-2.0

package testenv_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/testing/exampletest"
	"github.com/cooper-cosi/cooper/testenv"
)

// Test how the API server handles a BucketClaim, in a separate namespace.
func ExampleStart() {
	exampletest.Run(func(t testing.TB) { // in a test: TestClaims
		env := testenv.Start(t, testenv.Options{})
		claim := &cosiapi.BucketClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: env.Namespace(), Name: "photos"},
			Spec:       cosiapi.BucketClaimSpec{BucketClassName: "gold"},
		}
		env.Create(claim)
		testenv.Change(env, claim, func(c *cosiapi.BucketClaim) { c.Labels = map[string]string{"app": "web"} })
		env.Delete(claim)
		env.Gone(claim)
	})
	// Output:
}
