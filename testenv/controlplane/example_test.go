// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

// Run a Kubernetes API server in a program. In a test, testenv.Start does the same and shares one between the
// tests of a package.
func ExampleStart() {
	ctx := context.Background()
	cp, err := controlplane.Start(ctx, controlplane.Options{})
	if err != nil {
		panic(err)
	}
	defer func() {
		if err := cp.Stop(); err != nil {
			panic(err)
		}
	}()
	admin, err := client.New(cp.Config(), client.Options{})
	if err != nil {
		panic(err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}
	if err := admin.Create(ctx, namespace); err != nil {
		panic(err)
	}
	fmt.Println(namespace.Name, "was made:", namespace.UID != "")
	// Output: team was made: true
}
