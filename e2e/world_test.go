// SPDX-License-Identifier: Apache-2.0

// Package e2e_test runs the same scenarios in four shapes of one system: in process
// on fakes, as processes on fakes, in containers on fakes, and in containers on the
// stores of others.
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
	"github.com/cooper-cosi/cooper/testenv"
	"github.com/cooper-cosi/cooper/testenv/containers"
	"github.com/cooper-cosi/cooper/testenv/system"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// waitTimeout only delays failures.
const waitTimeout = 3 * time.Minute

// A world is a system with three stores, in one of the shapes.
type world struct {
	client client.Client
	// namespace is a namespace that the system works in, if it does not in all.
	namespace string
	// restart ends a part at once and starts it again: controller, sidecar or driver,
	// the latter two of a cloud.
	restart func(t *testing.T, part string, c cloud)
	// gcs is where Cloud Storage is, which no Secret tells. open says that it knows
	// no accounts.
	gcs  string
	open bool
	// watch, if set, sees each credential.
	watch *hygiene
}

// A cloud is one of the three, with the driver that every shape has for it.
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

// play is one scenario on one cloud: it has names of its own.
type play struct {
	*world

	t     *testing.T
	cloud cloud
	name  string
	ns    string
}

// newPlay creates the classes, and a namespace where the world does not give one.
func newPlay(t *testing.T, w *world, c cloud) *play {
	t.Helper()
	p := &play{world: w, t: t, cloud: c, name: "play-" + strings.ToLower(rand.Text()[:8]), ns: w.namespace}
	if p.ns == "" {
		p.ns = p.name
		p.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.ns}})
	}
	p.create(&cosiapi.BucketClass{
		ObjectMeta: metav1.ObjectMeta{Name: p.name},
		Spec:       cosiapi.BucketClassSpec{DriverName: c.driver, DeletionPolicy: cosiapi.DeletionPolicyDelete},
	})
	p.create(&cosiapi.BucketAccessClass{
		ObjectMeta: metav1.ObjectMeta{Name: p.name},
		Spec:       cosiapi.BucketAccessClassSpec{DriverName: c.driver, AuthenticationType: cosiapi.AuthenticationTypeKey},
	})
	return p
}

func (p *play) create(object client.Object) {
	p.t.Helper()
	if err := p.client.Create(p.t.Context(), object); err != nil {
		p.t.Fatalf("create %T %s: %v", object, object.GetName(), err)
	}
}

// claim claims a bucket and does not wait for it.
func (p *play) claim(name string) *cosiapi.BucketClaim {
	p.t.Helper()
	claim := &cosiapi.BucketClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.ns, Name: p.name + "-" + name},
		Spec:       cosiapi.BucketClaimSpec{BucketClassName: p.name, Protocols: []cosiapi.Protocol{p.cloud.protocol}},
	}
	p.create(claim)
	return claim
}

// access asks for a credential and does not wait for it.
func (p *play) access(name string, claim *cosiapi.BucketClaim, mode cosiapi.BucketAccessMode) *cosiapi.BucketAccess {
	p.t.Helper()
	access := &cosiapi.BucketAccess{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.ns, Name: p.name + "-" + name},
		Spec: cosiapi.BucketAccessSpec{
			BucketAccessClassName: p.name, Protocol: p.cloud.protocol,
			BucketClaims: []cosiapi.BucketClaimAccess{{
				BucketClaimName: claim.Name, AccessSecretName: p.name + "-" + name, AccessModes: cosiapi.BucketAccessModes{ObjectData: mode},
			}},
		},
	}
	p.create(access)
	return access
}

// await waits until a claim or an access is provisioned.
func (p *play) await(object client.Object) {
	p.t.Helper()
	p.awaitCondition(object, cosiapi.ConditionProvisioned, metav1.ConditionTrue)
}

func (p *play) awaitCondition(object client.Object, condition string, status metav1.ConditionStatus) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), waitTimeout)
	defer cancel()
	if err := system.WaitCondition(ctx, p.client, object, condition, status); err != nil {
		p.t.Fatal(err)
	}
}

// granted waits for an access and returns a client with its credential.
func (p *play) granted(access *cosiapi.BucketAccess) data {
	p.t.Helper()
	p.await(access)
	return p.dataOf(p.secret(access))
}

// secret reads the Secret of an access.
func (p *play) secret(access *cosiapi.BucketAccess) map[string]string {
	p.t.Helper()
	var secret corev1.Secret
	key := client.ObjectKey{Namespace: p.ns, Name: access.Spec.BucketClaims[0].AccessSecretName}
	if err := p.client.Get(p.t.Context(), key, &secret); err != nil {
		p.t.Fatal(err)
	}
	values := map[string]string{}
	for name, value := range maps.All(secret.Data) {
		values[name] = string(value)
	}
	if p.watch != nil {
		p.watch.see(values)
	}
	return values
}

// remove deletes an object and waits until it is gone.
func (p *play) remove(object client.Object) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), waitTimeout)
	defer cancel()
	if err := client.IgnoreNotFound(p.client.Delete(ctx, object)); err != nil {
		p.t.Fatalf("delete %s: %v", object.GetName(), err)
	}
	if err := system.WaitGone(ctx, p.client, object); err != nil {
		p.t.Fatal(err)
	}
}

// bucket is the Bucket of a claim that is bound.
func (p *play) bucket(claim *cosiapi.BucketClaim) *cosiapi.Bucket {
	return &cosiapi.Bucket{ObjectMeta: metav1.ObjectMeta{Name: claim.Status.BoundBucketName}}
}
