// SPDX-License-Identifier: Apache-2.0

package obc_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cooper-cosi/cooper/api/objectbucket"
	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/testenv"
	"github.com/cooper-cosi/cooper/testenv/system/systemtest"
)

// edit changes the additionalConfig of a claim.
func (w *world) edit(claim *objectbucket.ObjectBucketClaim, config map[string]string) {
	w.t.Helper()
	testenv.Change(w.Env, claim, func(c *objectbucket.ObjectBucketClaim) { c.Spec.AdditionalConfig = config })
}

// says waits until a bound claim is ready and its message contains text, or is empty if text is.
func (w *world) says(claim *objectbucket.ObjectBucketClaim, text string) {
	w.t.Helper()
	testenv.Until(w.Env, claim, "the claim reports its change", func(c *objectbucket.ObjectBucketClaim) error {
		if c.Status.Phase != objectbucket.PhaseBound || !strings.Contains(c.Status.Message, text) || (c.Status.Message == "") != (text == "") {
			return fmt.Errorf("it is %q: %s", c.Status.Phase, c.Status.Message)
		}
		return nil
	})
	w.ready(claim, metav1.ConditionTrue, "Bound", false)
}

// applied waits until the only bucket of the driver has these values of the parameters quota and lifecycle.
func (w *world) applied(driver *memdriver.Driver, quota, lifecycle string) {
	w.t.Helper()
	w.Eventually("the bucket has the settings of the claim", func(context.Context) error {
		if got := driver.Inventory().Buckets[0].Current; got["quota"] != quota || got["lifecycle"] != lifecycle {
			return fmt.Errorf("it has %v", got)
		}
		return nil
	})
}

// startChangeable calls newWorld with an in-memory driver that can change some parameters, and runs cosi-obc. The claim
// is bound, with a quota of 1 MiB.
func startChangeable(t *testing.T, parameters map[string]string) (*world, *memdriver.Driver, *objectbucket.ObjectBucketClaim) {
	t.Helper()
	driver, part := systemtest.NewDriver(t, memdriver.Options{Changeable: []string{"quota", "lifecycle"}})
	w := newWorld(t, part)
	w.run()
	claim := w.claim("edited", w.storageClass("", corev1.PersistentVolumeReclaimDelete, parameters))
	claim.Spec.AdditionalConfig = map[string]string{"maxSize": "1Mi"}
	w.Create(claim)
	w.phase(claim, objectbucket.PhaseBound, "")
	return w, driver, claim
}

// TestChangesOfBoundClaims raises, lowers and removes settings of a bound claim. Values that are refused are reported with
// the name of the parameter.
func TestChangesOfBoundClaims(t *testing.T) {
	t.Parallel()
	w, driver, claim := startChangeable(t, map[string]string{"allowedAdditionalConfig": "maxSize,bucketLifecycle,tier"})
	w.edit(claim, map[string]string{"maxSize": "4Mi", "bucketLifecycle": "rules"})
	w.applied(driver, "4194304", "rules")
	w.says(claim, "")
	w.edit(claim, map[string]string{"maxSize": "2Mi"})
	w.applied(driver, "2097152", "")
	w.says(claim, "")

	w.edit(claim, map[string]string{"maxSize": "big"})
	w.says(claim, "spec.additionalConfig.maxSize is \"big\", but must be a positive size")
	w.edit(claim, map[string]string{"maxSize": "2Mi", "bucketPolicy": "{}"})
	w.says(claim, "COSI does not support \"bucketPolicy\"")
	w.edit(claim, map[string]string{"maxSize": "2Mi", "maxObjects": "5"})
	w.says(claim, "does not allow \"maxObjects\"")
	w.edit(claim, map[string]string{"maxSize": "2Mi", "bucketLifecycle": strings.Repeat("<", 12000)}) // 6 bytes each in the annotation
	w.says(claim, "more than 65536. Shorten spec.additionalConfig")
	w.edit(claim, map[string]string{"maxSize": "3Mi", "tier": "hot"})
	w.says(claim, "The change of spec.additionalConfig.tier has no effect")
	w.applied(driver, "3145728", "")

	accept := driver.Script(memdriver.Fault{RPC: memdriver.CreateBucket, Code: codes.InvalidArgument, Message: "parameter quota is too large", Times: memdriver.Always})
	w.edit(claim, map[string]string{"maxSize": "9Gi"})
	w.says(claim, "could not apply the change of spec.additionalConfig.maxSize, or applied only a part of it: DriverCreateBucket failed")
	w.says(claim, "parameter quota is too large")
	w.applied(driver, "3145728", "")
	accept()
	w.edit(claim, map[string]string{"maxSize": "8Mi"})
	w.applied(driver, "8388608", "")
	w.edit(claim, nil)
	w.applied(driver, "", "")
	w.says(claim, "")
	w.edit(claim, map[string]string{"maxSize": "1Mi"}) // as it was
	w.applied(driver, "1048576", "")
	w.says(claim, "")
	w.Delete(claim)
	w.Gone(claim)
	w.nothingLeft()
}

// TestChangesOfOtherBucketClaims checks that a claim changes no bucket of a BucketClaim that a user created in its name, or
// deleted.
func TestChangesOfOtherBucketClaims(t *testing.T) {
	t.Parallel()
	driver, part := systemtest.NewDriver(t, memdriver.Options{Changeable: []string{"quota"}})
	w := newWorld(t, part)
	class := w.storageClass("", corev1.PersistentVolumeReclaimDelete, nil)
	claim := w.claim("taken", class)
	claim.Spec.AdditionalConfig = map[string]string{"maxSize": "1Mi"}
	w.Create(claim)
	other := &cosiapi.BucketClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "obc-" + string(claim.UID)},
		Spec:       cosiapi.BucketClaimSpec{BucketClassName: w.namespace, Protocols: []cosiapi.Protocol{cosiapi.ProtocolS3}},
	}
	w.Create(other)
	testenv.Until(w.Env, other, "the BucketClaim is provisioned", func(c *cosiapi.BucketClaim) error {
		if !conditions.Is(c.Status.Conditions, cosiapi.ConditionProvisioned, metav1.ConditionTrue) {
			return fmt.Errorf("it has %+v", c.Status)
		}
		return nil
	})
	w.run()
	w.phase(claim, objectbucket.PhaseFailed, "was not created for this claim")
	w.edit(claim, map[string]string{"maxSize": "4Mi"})
	w.phase(claim, objectbucket.PhaseFailed, "The change of spec.additionalConfig.maxSize has no effect")
	bucket := testenv.Get(w.Env, &cosiapi.Bucket{ObjectMeta: metav1.ObjectMeta{Name: other.Status.BoundBucketName}})
	if cosiapi.HasAnnotation(bucket, cosiapi.ParameterChangesAnnotation) || driver.Inventory().Buckets[0].Current["quota"] != "" {
		t.Errorf("the bucket of another BucketClaim was changed: %+v", bucket.Annotations)
	}
	w.Delete(claim)
	w.Gone(claim)
	w.Delete(other)

	claim = w.claim("deleted", class)
	w.Create(claim)
	w.phase(claim, objectbucket.PhaseBound, "")
	w.Delete(&cosiapi.BucketClaim{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "obc-" + string(claim.UID)}}) // waits for its access
	w.edit(claim, map[string]string{"maxSize": "4Mi"})
	w.phase(claim, objectbucket.PhaseBound, "The change of spec.additionalConfig.maxSize has no effect")
	w.Delete(claim)
	w.Gone(claim)
	w.nothingLeft()
}

// TestRemovedSettingsOfBoundClaims checks that a setting that is removed from a claim gets the value of the BucketClass, and
// that a change needs the classes of the claim.
func TestRemovedSettingsOfBoundClaims(t *testing.T) {
	t.Parallel()
	driver, part := systemtest.NewDriver(t, memdriver.Options{Changeable: []string{"quota"}})
	w := newWorld(t, part)
	w.run()
	class := &cosiapi.BucketClass{
		ObjectMeta: metav1.ObjectMeta{Name: w.namespace + "-limited"},
		Spec:       cosiapi.BucketClassSpec{DriverName: w.driver, DeletionPolicy: cosiapi.DeletionPolicyDelete, Parameters: map[string]string{"quota": "7", "tier": "hot"}},
	}
	w.Create(class)
	claim := w.claim("edited", w.storageClass("", corev1.PersistentVolumeReclaimDelete, map[string]string{"bucketClassName": class.Name, "allowedAdditionalConfig": "maxSize"}))
	claim.Spec.AdditionalConfig = map[string]string{"maxSize": "1Mi"}
	w.Create(claim)
	w.phase(claim, objectbucket.PhaseBound, "")
	w.edit(claim, nil)
	w.applied(driver, "7", "")
	w.says(claim, "")
	w.Delete(class)
	w.edit(claim, map[string]string{"maxSize": "3Mi"})
	w.says(claim, "BucketClass \""+class.Name+"\" of StorageClass")
	w.applied(driver, "7", "")
	class.ResourceVersion, class.Spec.Parameters = "", map[string]string{"quota": "9", "tier": "cold"}
	w.Create(class)
	w.edit(claim, map[string]string{"maxSize": "5Mi"})
	w.applied(driver, "5242880", "")
	w.says(claim, "") // the new tier of the class is not for this bucket
	w.Delete(claim)
	w.Gone(claim)
	w.Delete(class)
	w.nothingLeft()
}

// TestChangesThatNoDriverSupports checks that a claim reports changes that the driver cannot apply, or that are fixed, until
// they are reverted.
func TestChangesThatNoDriverSupports(t *testing.T) {
	t.Parallel()
	w, driver := start(t)
	claim := w.claim("edited", w.storageClass("", corev1.PersistentVolumeReclaimDelete, nil))
	claim.Spec.AdditionalConfig = map[string]string{"maxSize": "1Mi"}
	w.Create(claim)
	w.phase(claim, objectbucket.PhaseBound, "")
	w.edit(claim, map[string]string{"maxSize": "4Mi"})
	w.says(claim, "The change of spec.additionalConfig.maxSize has no effect")
	w.ignoredEvent(claim)
	if got := driver.Inventory().Buckets[0].Current["quota"]; got != "1048576" {
		t.Errorf("the driver's quota is %q", got)
	}
	testenv.Change(w.Env, claim, func(c *objectbucket.ObjectBucketClaim) {
		c.Spec.GenerateBucketName, c.Spec.AdditionalConfig["maxSize"] = "other", "1Mi"
	})
	w.says(claim, "The change of spec.generateBucketName has no effect")
	testenv.Change(w.Env, claim, func(c *objectbucket.ObjectBucketClaim) { c.Spec.GenerateBucketName = "photo-booth" })
	w.says(claim, "")
}

// TestChangesAtTheStore changes the lifecycle rules of a bound claim at a store, through the S3 driver.
func TestChangesAtTheStore(t *testing.T) {
	t.Parallel()
	w, store := startS3(t)
	rules := func(days int) string {
		return fmt.Sprintf(`{"Rules":[{"ID":"old","Status":"Enabled","Filter":{"Prefix":"old/"},"Expiration":{"Days":%d}}]}`, days)
	}
	claim := w.claim("photos", w.storageClass("", corev1.PersistentVolumeReclaimDelete, map[string]string{"allowedAdditionalConfig": "bucketLifecycle,maxSize"}))
	claim.Spec.AdditionalConfig = map[string]string{"bucketLifecycle": rules(7)}
	w.Create(claim)
	w.phase(claim, objectbucket.PhaseBound, "")
	bucket := w.environment(claim.Name)["BUCKET_NAME"]
	w.expires(store, bucket, 7)
	w.edit(claim, map[string]string{"bucketLifecycle": rules(30)})
	w.expires(store, bucket, 30)
	w.says(claim, "")
	w.edit(claim, map[string]string{"bucketLifecycle": rules(30), "maxSize": "1Gi"})
	w.says(claim, "parameter quota is set, but backend main, of type aws, does not support quotas")
	w.edit(claim, map[string]string{"bucketLifecycle": "{"})
	w.says(claim, "parameter lifecycle")
	w.expires(store, bucket, 30)
	w.edit(claim, nil)
	w.expires(store, bucket, 0)
	w.says(claim, "")
	w.Delete(claim)
	w.Gone(claim)
	w.nothingLeft()
}

// expires waits until objects of a bucket expire after some days; 0 means never.
func (w *world) expires(store *s3fake.Server, bucket string, days int32) {
	w.t.Helper()
	root := store.Root()
	admin := s3Client(map[string]string{
		"BUCKET_HOST": strings.Split(strings.TrimPrefix(store.URL(), "http://"), ":")[0], "BUCKET_PORT": store.URL()[strings.LastIndex(store.URL(), ":")+1:],
		"BUCKET_REGION": store.Region(), "ACCESS_KEY_ID": root.AccessKeyID, "SECRET_ACCESS_KEY": root.SecretAccessKey,
	})
	w.Eventually("the bucket has the lifecycle rules of the claim", func(ctx context.Context) error {
		out, err := admin.GetBucketLifecycleConfiguration(ctx, &s3.GetBucketLifecycleConfigurationInput{Bucket: &bucket})
		if err != nil && strings.Contains(err.Error(), "NoSuchLifecycleConfiguration") && days == 0 {
			return nil
		}
		if err != nil || len(out.Rules) != 1 || aws.ToInt32(out.Rules[0].Expiration.Days) != days {
			return errors.Join(fmt.Errorf("it has %+v", out), err)
		}
		return nil
	})
}

// TestKilledWhileAClaimChanges kills cosi-obc before and after each of its writes for a change of a bound claim, and lets
// another instance finish.
func TestKilledWhileAClaimChanges(t *testing.T) {
	t.Parallel()
	driver, part := systemtest.NewDriver(t, memdriver.Options{Changeable: []string{"quota"}})
	w := newWorld(t, part)
	class := w.storageClass("", corev1.PersistentVolumeReclaimDelete, nil)
	change := func(name string, k *killer) int {
		claim := w.claim(name, class)
		claim.Spec.AdditionalConfig = map[string]string{"maxSize": "1Mi"}
		stop := w.runMortal(&killer{})
		w.Create(claim)
		w.phase(claim, objectbucket.PhaseBound, "")
		stop()
		w.under(k, func() { w.edit(claim, map[string]string{"maxSize": "4Mi"}) }, func(ctx context.Context) error {
			if err := w.Client.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
				return err
			}
			if got := driver.Inventory().Buckets[0].Current["quota"]; got != "4194304" || claim.Status.Message != "" {
				return fmt.Errorf("quota %q, message %q", got, claim.Status.Message)
			}
			return nil
		})
		defer w.runMortal(&killer{})()
		w.Delete(claim)
		w.Gone(claim)
		w.nothingLeft()
		return k.writes
	}
	writes := change("count", &killer{})
	if writes < 1 {
		t.Fatal("a change costs no writes: the test is blind")
	}
	for n := 1; n <= writes; n++ {
		change(fmt.Sprintf("before-%d", n), &killer{at: n})
		change(fmt.Sprintf("after-%d", n), &killer{at: n, after: true})
	}
}
