// SPDX-License-Identifier: Apache-2.0

package obc_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cooper-cosi/cooper/api/objectbucket"
	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/obc"
	"github.com/cooper-cosi/cooper/testenv"
)

// foreign creates the objects of another provisioner for a claim: it is bound to a bucket of the store and has its own
// credential.
func (w *world) foreign(name, class, bucket string, credential map[string]string) *objectbucket.ObjectBucketClaim {
	w.t.Helper()
	claim := w.claim(name, class)
	claim.Spec.BucketName, claim.Spec.ObjectBucketName = bucket, objectbucket.NameFor(w.namespace, name)
	claim.Finalizers = []string{objectbucket.Finalizer}
	w.Create(claim)
	w.t.Cleanup(func() { // its provisioner is not running
		claim.Finalizers = nil
		_ = w.Client.Update(context.WithoutCancel(w.t.Context()), claim)
	})
	testenv.ChangeStatus(w.Env, claim, func(c *objectbucket.ObjectBucketClaim) { c.Status.Phase = objectbucket.PhaseBound })
	w.Create(&objectbucket.ObjectBucket{
		ObjectMeta: metav1.ObjectMeta{Name: claim.Spec.ObjectBucketName},
		Spec: objectbucket.ObjectBucketSpec{
			StorageClassName: class, ReclaimPolicy: "Delete", Endpoint: &objectbucket.Endpoint{BucketHost: "rgw", BucketPort: 80, BucketName: bucket},
			ClaimRef: &objectbucket.Reference{Namespace: w.namespace, Name: name, UID: claim.UID},
		},
	})
	w.Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}, StringData: map[string]string{
		"AWS_ACCESS_KEY_ID": credential["ACCESS_KEY_ID"], "AWS_SECRET_ACCESS_KEY": credential["SECRET_ACCESS_KEY"],
	}})
	return claim
}

// plan returns the output of cosi-obc adopt.
func (w *world) plan(class string) string {
	w.t.Helper()
	var text strings.Builder
	err := obc.Plan(w.t.Context(), w.Config(), obc.Adoption{StorageClass: class, Namespace: w.namespace, AccessClass: w.namespace, Suffix: "-cosi"}, &text)
	if err != nil {
		w.t.Fatal(err)
	}
	return text.String()
}

// TestClaimsMoveToCOSI plans the move of a claim of another provisioner, follows the plan, and plans again. The data
// are readable with both credentials, and the old claim's objects are unchanged.
func TestClaimsMoveToCOSI(t *testing.T) {
	t.Parallel()
	w, store := startS3(t)
	root := store.Root()
	old := map[string]string{"ACCESS_KEY_ID": root.AccessKeyID, "SECRET_ACCESS_KEY": root.SecretAccessKey, "BUCKET_REGION": store.Region(), "BUCKET_NAME": "ceph-bkt-1"}
	old["BUCKET_HOST"], old["BUCKET_PORT"], _ = strings.Cut(strings.TrimPrefix(store.URL(), "http://"), ":")
	if _, err := s3Client(old).CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("ceph-bkt-1")}); err != nil {
		t.Fatal(err)
	}
	if err := w.put(old, "of-before"); err != nil {
		t.Fatal(err)
	}
	class := w.namespace + "-rook"
	w.apply("apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: " + class + "}\nprovisioner: rook-ceph.ceph.rook.io/bucket\n")
	claim := w.foreign("photos", class, "ceph-bkt-1", old)
	unbound := w.claim("unbound", class)
	w.Create(unbound)
	thief := w.claim("thief", class)
	thief.Spec.ObjectBucketName = claim.Spec.ObjectBucketName
	w.Create(thief)
	testenv.ChangeStatus(w.Env, thief, func(c *objectbucket.ObjectBucketClaim) { c.Status.Phase = objectbucket.PhaseBound })
	version, secret := claim.ResourceVersion, testenv.Get(w.Env, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "photos"}})

	plan := w.plan(class)
	for _, part := range []string{
		"/photos has bucket \"ceph-bkt-1\".", "# 1. Prevent the old provisioner from deleting the bucket:", "-p '{\"spec\":{\"reclaimPolicy\":\"Retain\"}}'",
		"/unbound is skipped: it is not bound.", "/thief is skipped: ObjectBucket \"" + claim.Spec.ObjectBucketName + "\" does not belong to this claim.",
		"namespaces: " + w.namespace,
	} {
		if !strings.Contains(plan, part) {
			t.Errorf("the plan does not say %q:\n%s", part, plan)
		}
	}
	if strings.Contains(plan, root.SecretAccessKey) {
		t.Error("the plan has a credential in it")
	}
	w.apply(plan)
	w.apply(plan) // applying twice is harmless
	moved := w.phase(&objectbucket.ObjectBucketClaim{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "photos-cosi"}}, objectbucket.PhaseBound, "")
	ob := &objectbucket.ObjectBucket{ObjectMeta: metav1.ObjectMeta{Name: claim.Spec.ObjectBucketName}}
	testenv.Change(w.Env, ob, func(o *objectbucket.ObjectBucket) { o.Spec.ReclaimPolicy = "Retain" })

	fresh := w.environment(moved.Name)
	for key, as := range map[string]map[string]string{"of-the-old-credential": old, "of-the-new-credential": fresh} {
		if err := w.put(as, key); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	if fresh["BUCKET_NAME"] != "ceph-bkt-1" || fresh["ACCESS_KEY_ID"] == old["ACCESS_KEY_ID"] {
		t.Errorf("the new claim has bucket %q", fresh["BUCKET_NAME"])
	}
	if v := testenv.Get(w.Env, claim).ResourceVersion; v != version {
		t.Errorf("the old claim was changed: %+v", claim)
	}
	if v := secret.ResourceVersion; testenv.Get(w.Env, secret).ResourceVersion != v {
		t.Error("the old Secret was changed")
	}
	again := w.plan(class)
	for _, part := range []string{"# 1. (done) Prevent the old", "# 2. (done) Apply"} {
		if !strings.Contains(again, part) {
			t.Errorf("the second plan does not say %q:\n%s", part, again)
		}
	}
	w.Delete(moved)
	w.Gone(moved)
	for _, key := range []string{"of-before", "of-the-old-credential", "of-the-new-credential"} {
		if _, err := s3Client(old).HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: aws.String("ceph-bkt-1"), Key: &key}); err != nil {
			t.Errorf("%s is gone: %v", key, err)
		}
	}
	w.Delete(unbound)
	w.Delete(thief)
}

// TestPermissionsOfCosiObc checks which writes the policy of deploy/obc allows to its service account.
func TestPermissionsOfCosiObc(t *testing.T) {
	t.Parallel()
	w, _ := start(t)
	as := w.ClientFor(w.User(w.user, "system:serviceaccounts"))
	w.refused = true
	meta := metav1.ObjectMeta{Namespace: w.namespace, Name: "of-somebody"}
	w.Create(&corev1.Secret{ObjectMeta: meta})
	w.Create(&corev1.ConfigMap{ObjectMeta: meta})
	owned := metav1.ObjectMeta{Namespace: w.namespace, Name: "token", OwnerReferences: []metav1.OwnerReference{{
		APIVersion: "objectbucket.io/v1alpha1", Kind: "ObjectBucketClaim", Name: "c", UID: "u",
	}}}
	token := *owned.DeepCopy()
	token.Annotations = map[string]string{corev1.ServiceAccountNameKey: "default"}
	w.Eventually("the policy counts", func(ctx context.Context) error {
		for what, err := range map[string]error{
			"delete another owner's Secret":    as.Delete(ctx, &corev1.Secret{ObjectMeta: meta}, client.DryRunAll),
			"delete another owner's ConfigMap": as.Delete(ctx, &corev1.ConfigMap{ObjectMeta: meta}, client.DryRunAll),
			"create a Secret without an owner": as.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "other"}}, client.DryRunAll),
			"create a token": as.Create(ctx, &corev1.Secret{
				ObjectMeta: token, Type: corev1.SecretTypeServiceAccountToken,
			}, client.DryRunAll),
			"delete a class": as.Delete(ctx, &cosiapi.BucketClass{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}, client.DryRunAll),
		} {
			if err == nil || !strings.Contains(err.Error(), "ValidatingAdmissionPolicy 'cosi-obc'") {
				return notRefusedError(what)
			}
		}
		return nil
	})
	w.mayAnnotateBuckets(as)
	if err := as.Create(t.Context(), &corev1.Secret{ObjectMeta: owned, Type: corev1.SecretTypeOpaque}, client.DryRunAll); err != nil {
		t.Errorf("a Secret of a claim: %v", err)
	}
}

// mayAnnotateBuckets checks that cosi-obc may change only its own annotations of a Bucket of a claim.
func (w *world) mayAnnotateBuckets(as client.Client) {
	w.t.Helper()
	claim := w.bind("annotated", w.storageClass("", corev1.PersistentVolumeReclaimDelete, nil))
	bucketClaim := testenv.Get(w.Env, &cosiapi.BucketClaim{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "obc-" + string(claim.UID)}})
	other := &cosiapi.BucketClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "of-a-user"},
		Spec:       cosiapi.BucketClaimSpec{BucketClassName: w.namespace, Protocols: []cosiapi.Protocol{cosiapi.ProtocolS3}},
	}
	w.Create(other)
	testenv.Until(w.Env, other, "it is bound", func(c *cosiapi.BucketClaim) error {
		if c.Status.BoundBucketName == "" {
			return errors.New("it is not")
		}
		return nil
	})
	for what, tc := range map[string]struct {
		of      *cosiapi.BucketClaim
		change  func(*cosiapi.Bucket)
		allowed bool
	}{
		"request a change":                  {bucketClaim, func(b *cosiapi.Bucket) { cosiapi.SetAnnotation(b, cosiapi.ParameterChangesAnnotation, "{}") }, true},
		"request a change for another user": {other, func(b *cosiapi.Bucket) { cosiapi.SetAnnotation(b, cosiapi.ParameterChangesAnnotation, "{}") }, false},
		"report a result":                   {bucketClaim, func(b *cosiapi.Bucket) { cosiapi.SetAnnotation(b, cosiapi.ParameterChangesResultAnnotation, "{}") }, false},
		"confirm a release":                 {bucketClaim, func(b *cosiapi.Bucket) { cosiapi.SetAnnotation(b, cosiapi.ConfirmReleaseAnnotation, string(b.UID)) }, false},
		"keep the data":                     {bucketClaim, func(b *cosiapi.Bucket) { b.Spec.DeletionPolicy = cosiapi.DeletionPolicyRetain }, false},
		"remove an annotation":              {bucketClaim, func(b *cosiapi.Bucket) { delete(b.Annotations, cosiapi.CreatedAnnotation) }, false},
		"add a finalizer":                   {bucketClaim, func(b *cosiapi.Bucket) { b.Finalizers = append(b.Finalizers, "example.com/x") }, false},
		"add a label":                       {bucketClaim, func(b *cosiapi.Bucket) { b.Labels = map[string]string{"a": "b"} }, false},
	} {
		b := testenv.Get(w.Env, &cosiapi.Bucket{ObjectMeta: metav1.ObjectMeta{Name: tc.of.Status.BoundBucketName}})
		before := b.DeepCopy()
		tc.change(b)
		err := as.Patch(w.t.Context(), b, client.MergeFrom(before), client.DryRunAll)
		if (err == nil) != tc.allowed || err != nil && !strings.Contains(err.Error(), "ValidatingAdmissionPolicy 'cosi-obc'") {
			w.t.Errorf("%s: %v", what, err)
		}
	}
	w.Delete(claim)
	w.Delete(other)
}

type notRefusedError string

func (e notRefusedError) Error() string { return "it may " + string(e) }
