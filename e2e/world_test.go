// SPDX-License-Identifier: Apache-2.0

// Package e2e_test runs the same scenarios on six variants (shapes) of a COSI system:
//
//   - in the test process, with fakes or with Ceph
//   - in separate processes, with fakes or with Ceph
//   - in containers, with fakes or with third-party stores other than Ceph, which has no container image here
package e2e_test

import (
	"context"
	"crypto/rand"
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/e2e/containers"
	"github.com/cooper-cosi/cooper/testenv"
	"github.com/cooper-cosi/cooper/testenv/system"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// waitTimeout is long because it only delays failures.
const waitTimeout = 3 * time.Minute

// A world is a system with three stores in one of the shapes.
type world struct {
	client client.Client
	// namespace is the only namespace of the system, or empty if it serves all.
	namespace string
	// restart kills and restarts a component: the controller, or the sidecar or driver of a cloud.
	restart func(t *testing.T, part string, c cloud)
	// gcs is the URL of Cloud Storage, which Secrets do not contain. open means that it has no accounts.
	gcs  string
	open bool
	// clouds are the clouds of the world; empty means all.
	clouds []cloud
	// watch, if set, records each credential.
	watch *hygiene
}

// A cloud is one of the three clouds, with the driver that every shape uses for it.
type cloud struct {
	name     string
	protocol cosiapi.Protocol
	driver   string
}

func clouds() []cloud {
	return []cloud{
		{"S3", cosiapi.ProtocolS3, containers.S3DriverName},
		{"Azure", cosiapi.ProtocolAzure, containers.AzureDriverName},
		{"GCS", cosiapi.ProtocolGCS, containers.GCSDriverName},
	}
}

// scenario is a scenario on one cloud, with unique names.
type scenario struct {
	*world

	t     *testing.T
	cloud cloud
	name  string
	ns    string
}

// newScenario creates the classes, and a namespace unless the world has one.
func newScenario(t *testing.T, w *world, c cloud) *scenario {
	t.Helper()
	s := &scenario{world: w, t: t, cloud: c, name: "e2e-" + strings.ToLower(rand.Text()[:8]), ns: w.namespace}
	if s.ns == "" {
		s.ns = s.name
		s.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.ns}})
	}
	s.create(&cosiapi.BucketClass{
		ObjectMeta: metav1.ObjectMeta{Name: s.name},
		Spec:       cosiapi.BucketClassSpec{DriverName: c.driver, DeletionPolicy: cosiapi.DeletionPolicyDelete},
	})
	s.create(&cosiapi.BucketAccessClass{
		ObjectMeta: metav1.ObjectMeta{Name: s.name},
		Spec:       cosiapi.BucketAccessClassSpec{DriverName: c.driver, AuthenticationType: cosiapi.AuthenticationTypeKey},
	})
	return s
}

func (s *scenario) create(object client.Object) {
	s.t.Helper()
	if err := s.client.Create(s.t.Context(), object); err != nil {
		s.t.Fatalf("create %T %s: %v", object, object.GetName(), err)
	}
}

// claim claims a bucket without waiting.
func (s *scenario) claim(name string) *cosiapi.BucketClaim {
	s.t.Helper()
	claim := &cosiapi.BucketClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: s.name + "-" + name},
		Spec:       cosiapi.BucketClaimSpec{BucketClassName: s.name, Protocols: []cosiapi.Protocol{s.cloud.protocol}},
	}
	s.create(claim)
	return claim
}

// access requests a credential without waiting.
func (s *scenario) access(name string, claim *cosiapi.BucketClaim, mode cosiapi.BucketAccessMode) *cosiapi.BucketAccess {
	s.t.Helper()
	access := &cosiapi.BucketAccess{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: s.name + "-" + name},
		Spec: cosiapi.BucketAccessSpec{
			BucketAccessClassName: s.name, Protocol: s.cloud.protocol,
			BucketClaims: []cosiapi.BucketClaimAccess{{
				BucketClaimName: claim.Name, AccessSecretName: s.name + "-" + name, AccessModes: cosiapi.BucketAccessModes{ObjectData: mode},
			}},
		},
	}
	s.create(access)
	return access
}

// await waits until a claim or an access is provisioned.
func (s *scenario) await(object client.Object) {
	s.t.Helper()
	s.awaitCondition(object, cosiapi.ConditionProvisioned, metav1.ConditionTrue)
}

func (s *scenario) awaitCondition(object client.Object, condition string, status metav1.ConditionStatus) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), waitTimeout)
	defer cancel()
	if err := system.WaitCondition(ctx, s.client, object, condition, status); err != nil {
		s.t.Fatal(err)
	}
}

// granted waits for an access and returns a client with its credential.
func (s *scenario) granted(access *cosiapi.BucketAccess) data {
	s.t.Helper()
	s.await(access)
	return s.dataOf(s.secret(access))
}

// secret reads the Secret of an access.
func (s *scenario) secret(access *cosiapi.BucketAccess) map[string]string {
	s.t.Helper()
	var secret corev1.Secret
	key := client.ObjectKey{Namespace: s.ns, Name: access.Spec.BucketClaims[0].AccessSecretName}
	if err := s.client.Get(s.t.Context(), key, &secret); err != nil {
		s.t.Fatal(err)
	}
	values := map[string]string{}
	for name, value := range maps.All(secret.Data) {
		values[name] = string(value)
	}
	if s.watch != nil {
		s.watch.see(values)
	}
	return values
}

// remove deletes an object and waits until it no longer exists.
func (s *scenario) remove(object client.Object) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), waitTimeout)
	defer cancel()
	if err := client.IgnoreNotFound(s.client.Delete(ctx, object)); err != nil {
		s.t.Fatalf("delete %s: %v", object.GetName(), err)
	}
	if err := system.WaitGone(ctx, s.client, object); err != nil {
		s.t.Fatal(err)
	}
}

// bucket returns the Bucket of a bound claim.
func (s *scenario) bucket(claim *cosiapi.BucketClaim) *cosiapi.Bucket {
	return &cosiapi.Bucket{ObjectMeta: metav1.ObjectMeta{Name: claim.Status.BoundBucketName}}
}
