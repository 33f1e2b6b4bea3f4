// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/internal/credstore"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/testenv/system"
	"github.com/cooper-cosi/cooper/testenv/system/systemtest"
)

// TestServiceAccountThroughTheSystem tests the complete flow: a BucketAccess for a service account passes through
// controller, sidecar and driver, and the pod then stores an object with only its token.
func TestServiceAccountThroughTheSystem(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "other tests use such accounts without the other components")
	c := newCluster(t)
	name := "s3-" + uuid.NewString()[:8] + ".example.com"
	driver, err := s3driver.New(s3driver.Options{
		Config:      s3driver.Config{Cluster: eksCluster, DriverName: name, Backends: map[string]s3driver.BackendConfig{"main": c.target.backend}},
		Credentials: credstore.NewMemory(),
	})
	mustSucceed(t, err)
	serve := func(ctx context.Context, endpoint string) error {
		return driverkit.Serve(ctx, driver, driverkit.Options{Endpoint: endpoint})
	}
	s := systemtest.StartOn(t, c.env, system.Options{Drivers: []system.Driver{{Name: name, Serve: serve}}})
	shop := c.pod(t, s.Namespace, "shop")
	claim, access, secret := serviceAccountObjects(s, name)
	s.WaitCondition(claim, cosiapi.ConditionProvisioned)
	s.WaitCondition(access, cosiapi.ConditionProvisioned)

	mustSucceed(t, s.Client().Get(t.Context(), client.ObjectKeyFromObject(secret), secret))
	bucket := string(secret.Data["BUCKET_NAME"])
	for _, key := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		if len(secret.Data[key]) > 0 {
			t.Errorf("the Secret holds %s", key)
		}
	}
	session, err := shop.podIdentity(t, podAudience)
	if err != nil {
		t.Fatalf("the pod gets no session: %v", err)
	}
	if err := putObject(t, session, bucket, "key"); err != nil {
		t.Fatalf("the pod cannot store an object in bucket %q: %v", bucket, err)
	}
	if _, err := c.pod(t, s.Namespace, "other").podIdentity(t, podAudience); err == nil {
		t.Error("another service account gets a session")
	}

	s.Delete(access)
	if err := putObject(t, session, bucket, "key"); err == nil {
		t.Error("the session works after the access was deleted")
	}
	if _, err := shop.podIdentity(t, podAudience); err == nil {
		t.Error("the pod gets a session after the access was deleted")
	}
	if left := c.server.Inventory(); len(left.Roles)+len(left.Associations) != 0 {
		t.Errorf("left are roles %v and associations %v", left.Roles, left.Associations)
	}
}

// serviceAccountObjects creates a claim and an access of the service account shop to it.
func serviceAccountObjects(s *systemtest.System, driver string) (*cosiapi.BucketClaim, *cosiapi.BucketAccess, *corev1.Secret) {
	class := &cosiapi.BucketClass{
		ObjectMeta: metav1.ObjectMeta{Name: s.Namespace},
		Spec: cosiapi.BucketClassSpec{
			DriverName: driver, DeletionPolicy: cosiapi.DeletionPolicyDelete, Parameters: map[string]string{"deleteNonEmpty": "true"},
		},
	}
	accessClass := &cosiapi.BucketAccessClass{
		ObjectMeta: metav1.ObjectMeta{Name: s.Namespace},
		Spec:       cosiapi.BucketAccessClassSpec{DriverName: driver, AuthenticationType: cosiapi.AuthenticationTypeServiceAccount},
	}
	claim := &cosiapi.BucketClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "photos"},
		Spec:       cosiapi.BucketClaimSpec{BucketClassName: class.Name, Protocols: []cosiapi.Protocol{cosiapi.ProtocolS3}},
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "photos"}}
	access := &cosiapi.BucketAccess{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "shop"},
		Spec: cosiapi.BucketAccessSpec{
			BucketAccessClassName: accessClass.Name, Protocol: cosiapi.ProtocolS3, ServiceAccountName: "shop",
			BucketClaims: []cosiapi.BucketClaimAccess{{
				BucketClaimName: claim.Name, AccessSecretName: secret.Name,
				AccessModes: cosiapi.BucketAccessModes{ObjectData: cosiapi.BucketAccessModeReadWrite},
			}},
		},
	}
	s.Create(class, accessClass, claim, access)
	return claim, access, secret
}
