// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/fakes/fault"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	"github.com/cooper-cosi/cooper/internal/credstore"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/testenv"
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

// s3System is a system with the S3 driver on a fake store.
type s3System struct {
	*systemtest.System

	server *s3fake.Server
	target target
	driver string
}

func newS3System(t *testing.T) *s3System {
	t.Helper()
	on, server := startFake(t, s3fake.Options{})
	name := "s3-" + uuid.NewString()[:8] + ".example.com"
	driver, err := s3driver.New(s3driver.Options{
		Config:      s3driver.Config{Cluster: eksCluster, DriverName: name, Backends: map[string]s3driver.BackendConfig{"main": on.backend}},
		Credentials: credstore.NewMemory(),
	})
	mustSucceed(t, err)
	serve := func(ctx context.Context, endpoint string) error {
		return driverkit.Serve(ctx, driver, driverkit.Options{Endpoint: endpoint})
	}
	return &s3System{systemtest.Start(t, system.Options{Drivers: []system.Driver{{Name: name, Serve: serve}}}), server, on, name}
}

// claim creates a BucketClass with parameters and a claim of that class, both named name.
func (s *s3System) claim(name string, parameters map[string]string) *cosiapi.BucketClaim {
	class := &cosiapi.BucketClass{
		ObjectMeta: metav1.ObjectMeta{Name: s.Namespace + "-" + name},
		Spec:       cosiapi.BucketClassSpec{DriverName: s.driver, DeletionPolicy: cosiapi.DeletionPolicyDelete, Parameters: parameters},
	}
	claim := &cosiapi.BucketClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name},
		Spec:       cosiapi.BucketClaimSpec{BucketClassName: class.Name, Protocols: []cosiapi.Protocol{cosiapi.ProtocolS3}},
	}
	s.Create(class, claim)
	return claim
}

// failed waits until an object has a condition with status True whose message contains all texts.
func failed[T client.Object](s *s3System, object T, conditions func(T) []metav1.Condition, kind string, texts ...string) {
	testenv.Until(s.Env, object, kind, func(o T) error {
		c := meta.FindStatusCondition(conditions(o), kind)
		if c == nil || c.Status != metav1.ConditionTrue {
			return fmt.Errorf("the conditions are %+v", conditions(o))
		}
		for _, text := range texts {
			if !strings.Contains(c.Message, text) {
				return fmt.Errorf("%q is not in %q", text, c.Message)
			}
		}
		return nil
	})
}

// TestRefusedConfigurationOfClaims checks that a claim reports which rule or parameter is refused, by the driver or by
// the store, and that deleting the claim leaves nothing.
func TestRefusedConfigurationOfClaims(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "TestRefusedConfiguration and TestParseBucketRefuses test the driver")
	s := newS3System(t)
	mustSucceed(t, s.server.Faults.Add(fault.Rule{Operation: "PutBucketLifecycleConfiguration", Code: "InvalidRequest", Status: http.StatusBadRequest}))
	for name, test := range map[string]struct {
		key, value, want string
		exists           int
	}{
		"twice":   {"lifecycle", `{"Rules":[{"ID":"old","Status":"Enabled","Prefix":"a","Expiration":{"Days":1}},{"ID":"old","Status":"Enabled","Prefix":"b","Expiration":{"Days":1}}]}`, `"old"`, 0},
		"no-days": {"lifecycle", `{"Rules":[{"ID":"now","Status":"Enabled","Prefix":"","Expiration":{"Days":0}}]}`, `"now"`, 0},
		"both":    {"lifecycle", `{"Rules":[{"ID":"tmp","Status":"Enabled","Prefix":"","Filter":{"Prefix":""},"Expiration":{"Days":1}}]}`, `"tmp"`, 0},
		"origins": {"cors", `{"CORSRules":[{}` + strings.Repeat(`,{}`, 100) + `]}`, "101 rules", 0},
		"store":   {"lifecycle", oneRule, "(InvalidRequest)", 1},
	} {
		claim := s.claim(name, map[string]string{test.key: test.value})
		failed(s, claim, func(c *cosiapi.BucketClaim) []metav1.Condition { return c.Status.Conditions }, cosiapi.ConditionProvisionFailed, "parameter "+test.key, test.want)
		if meta.IsStatusConditionTrue(claim.Status.Conditions, cosiapi.ConditionProvisioned) || len(s.server.Inventory().Buckets) != test.exists {
			t.Errorf("%s: %+v, and the store has %+v", name, claim.Status.Conditions, s.server.Inventory().Buckets)
		}
		s.Delete(claim)
		s.Env.Eventually("the store has no bucket", func(context.Context) error {
			if left := s.server.Inventory().Buckets; len(left) > 0 {
				return fmt.Errorf("it has %+v", left)
			}
			return nil
		})
	}
	s.server.Faults.Clear()
	s.WaitCondition(s.claim("correct", map[string]string{"lifecycle": oneRule}), cosiapi.ConditionProvisioned)
}

// TestNamespaceWithData deletes a namespace whose bucket has objects and an unfinished upload, while the finalizers of
// another controller remain on claim and access.
func TestNamespaceWithData(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "TestNamespaceIsDeleted in lifecycle has no data")
	for name, parameters := range map[string]map[string]string{
		"a bucket with data is kept":                         nil,
		"a bucket with data is deleted if its class says so": {"deleteNonEmpty": "true"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newS3System(t)
			claim, access := s.claimWithData(t, parameters)
			bucket := testenv.Get(s.Env, &cosiapi.Bucket{ObjectMeta: metav1.ObjectMeta{Name: claim.Status.BoundBucketName}})
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace}}
			mustSucceed(t, s.Client().Delete(t.Context(), namespace))
			s.Env.Eventually("the credential is deleted although the access remains", func(ctx context.Context) error {
				if users := s.server.Inventory().Users; len(users) > 0 {
					return fmt.Errorf("the store has %+v", users)
				}
				err := s.Client().Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: "photos"}, &corev1.Secret{})
				if !apierrors.IsNotFound(err) {
					return errors.Join(errors.New("the Secret still exists"), err)
				}
				return s.Client().Get(ctx, client.ObjectKeyFromObject(access), access)
			})
			for _, object := range []client.Object{claim, access} {
				testenv.Change(s.Env, object, func(o client.Object) { controllerutil.RemoveFinalizer(o, purge) })
			}
			if parameters == nil {
				s.Env.Gone(namespace)
				failed(s, bucket, func(b *cosiapi.Bucket) []metav1.Condition { return b.Status.Conditions }, cosiapi.ConditionDeprovisionFailed, "is not empty")
				if held := s.server.Inventory().Buckets; len(held) != 1 || held[0].Count != 3 || held[0].Uploads != 1 {
					t.Errorf("data is lost: %+v", held)
				}
				testenv.Change(s.Env, bucket, func(b *cosiapi.Bucket) { b.Spec.DeletionPolicy = cosiapi.DeletionPolicyRetain })
				s.Env.Gone(bucket)
				return
			}
			s.Env.Gone(bucket)
			s.Env.Gone(namespace)
			if held := s.server.Inventory().Buckets; len(held) > 0 {
				t.Errorf("the store has %+v", held)
			}
		})
	}
}

// purge is the finalizer of another controller.
const purge = "example.com/purge"

// claimWithData creates a claim and an access with the finalizer purge. With the credential of the access, it writes
// three objects and begins an upload.
func (s *s3System) claimWithData(t *testing.T, parameters map[string]string) (*cosiapi.BucketClaim, *cosiapi.BucketAccess) {
	t.Helper()
	claim := s.claim("photos", parameters)
	accessClass := &cosiapi.BucketAccessClass{
		ObjectMeta: metav1.ObjectMeta{Name: s.Namespace},
		Spec:       cosiapi.BucketAccessClassSpec{DriverName: s.driver, AuthenticationType: cosiapi.AuthenticationTypeKey},
	}
	access := &cosiapi.BucketAccess{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "photos"},
		Spec: cosiapi.BucketAccessSpec{
			BucketAccessClassName: accessClass.Name, Protocol: cosiapi.ProtocolS3,
			BucketClaims: []cosiapi.BucketClaimAccess{{
				BucketClaimName: claim.Name, AccessSecretName: "photos", AccessModes: cosiapi.BucketAccessModes{ObjectData: cosiapi.BucketAccessModeReadWrite},
			}},
		},
	}
	s.Create(accessClass, access)
	s.WaitCondition(claim, cosiapi.ConditionProvisioned)
	s.WaitCondition(access, cosiapi.ConditionProvisioned)
	for _, object := range []client.Object{claim, access} {
		testenv.Change(s.Env, object, func(o client.Object) { controllerutil.AddFinalizer(o, purge) })
	}
	secret := testenv.Get(s.Env, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "photos"}})
	user := s3Client(s.target.backend.Endpoint, "us-east-1", string(secret.Data["AWS_ACCESS_KEY_ID"]), string(secret.Data["AWS_SECRET_ACCESS_KEY"]))
	bucket := string(secret.Data["BUCKET_NAME"])
	for _, key := range []string{"a", "b", "c"} {
		mustSucceed(t, putObject(t, user, bucket, key))
	}
	_, err := user.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: &bucket, Key: aws.String("d")})
	mustSucceed(t, err)
	return claim, access
}
