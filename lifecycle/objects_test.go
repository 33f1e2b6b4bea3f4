// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/testenv"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

// global returns a unique name for a cluster-scoped object.
func (w *world) global(name string) string { return w.namespace + "." + name }

// create creates objects. Cluster-scoped ones are deleted at the end of the test.
func (w *world) create(objects ...client.Object) {
	w.t.Helper()
	for _, obj := range objects {
		if err := w.Client.Create(w.t.Context(), obj); err != nil {
			w.t.Fatalf("create %T %s: %v", obj, obj.GetName(), err)
		}
		if obj.GetNamespace() == "" {
			w.t.Cleanup(func() {
				if err := client.IgnoreNotFound(w.Client.Delete(context.WithoutCancel(w.t.Context()), obj)); err != nil {
					w.t.Errorf("delete %T %s: %v", obj, obj.GetName(), err)
				}
			})
		}
	}
}

// newClass creates a BucketClass with policy Delete, modified by alter.
func (w *world) newClass(name string, alter ...func(*cosiapi.BucketClassSpec)) *cosiapi.BucketClass {
	w.t.Helper()
	class := &cosiapi.BucketClass{
		ObjectMeta: metav1.ObjectMeta{Name: w.global(name)},
		Spec: cosiapi.BucketClassSpec{
			DriverName: w.driver.Name(), DeletionPolicy: cosiapi.DeletionPolicyDelete, Parameters: map[string]string{"tier": "hot"},
		},
	}
	for _, a := range alter {
		a(&class.Spec)
	}
	w.create(class)
	return class
}

func retain(class *cosiapi.BucketClassSpec) { class.DeletionPolicy = cosiapi.DeletionPolicyRetain }

// newAccessClass creates a BucketAccessClass, modified by alter.
func (w *world) newAccessClass(name string, alter ...func(*cosiapi.BucketAccessClassSpec)) *cosiapi.BucketAccessClass {
	w.t.Helper()
	class := &cosiapi.BucketAccessClass{
		ObjectMeta: metav1.ObjectMeta{Name: w.global(name)},
		Spec:       cosiapi.BucketAccessClassSpec{DriverName: w.driver.Name(), Parameters: map[string]string{"user": "plain"}},
	}
	if w.old() {
		class.Spec.Parameters[modesOfOldGrants] = "objectData=ReadWrite"
	}
	for _, a := range alter {
		a(&class.Spec)
	}
	w.create(class)
	return class
}

func multiBucket(class *cosiapi.BucketAccessClassSpec) {
	class.MultiBucketAccess = cosiapi.MultiBucketAccessMultipleBuckets
}

// claim returns a claim of a class, not created yet.
func (w *world) claim(name, class string) *cosiapi.BucketClaim {
	return &cosiapi.BucketClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
		Spec:       cosiapi.BucketClaimSpec{BucketClassName: w.global(class), Protocols: []cosiapi.Protocol{cosiapi.ProtocolS3}},
	}
}

// importing returns a claim for an imported Bucket, not created yet.
func (w *world) importing(name, bucket string) *cosiapi.BucketClaim {
	claim := w.claim(name, "")
	claim.Spec.BucketClassName, claim.Spec.ExistingBucketName = "", w.global(bucket)
	return claim
}

// imported returns the Bucket with which an administrator imports a backend bucket, not created yet.
func (w *world) imported(name, id, claim string) *cosiapi.Bucket {
	return &cosiapi.Bucket{
		ObjectMeta: metav1.ObjectMeta{Name: w.global(name)},
		Spec: cosiapi.BucketSpec{
			DriverName: w.driver.Name(), DeletionPolicy: cosiapi.DeletionPolicyRetain, ExistingBucketID: id,
			Protocols:      []cosiapi.Protocol{cosiapi.ProtocolS3},
			BucketClaimRef: cosiapi.BucketClaimReference{Namespace: w.namespace, Name: claim},
		},
	}
}

// access returns a read-write access to claims, not created yet.
func (w *world) access(name, class string, claims ...string) *cosiapi.BucketAccess {
	access := &cosiapi.BucketAccess{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
		Spec:       cosiapi.BucketAccessSpec{BucketAccessClassName: w.global(class), Protocol: cosiapi.ProtocolS3},
	}
	for _, claim := range claims {
		access.Spec.BucketClaims = append(access.Spec.BucketClaims, cosiapi.BucketClaimAccess{
			BucketClaimName: claim, AccessSecretName: name + "-" + claim,
			AccessModes: cosiapi.BucketAccessModes{ObjectData: cosiapi.BucketAccessModeReadWrite},
		})
	}
	return access
}

// newClaim creates a claim of a class.
func (w *world) newClaim(name, class string) *cosiapi.BucketClaim {
	w.t.Helper()
	claim := w.claim(name, class)
	w.create(claim)
	return claim
}

// provisioned creates a claim of a class and waits until it is provisioned. It
// returns the claim and its Bucket.
func (w *world) provisioned(name, class string) (*cosiapi.BucketClaim, *cosiapi.Bucket) {
	w.t.Helper()
	claim := w.newClaim(name, class)
	w.ready(claim)
	return claim, w.bucketOf(claim)
}

// granted creates an access to claims and waits until it is granted.
func (w *world) granted(name, class string, claims ...string) *cosiapi.BucketAccess {
	w.t.Helper()
	access := w.access(name, class, claims...)
	w.create(access)
	w.ready(access)
	return access
}

// bucketOf waits until a claim is bound and returns its Bucket.
func (w *world) bucketOf(claim *cosiapi.BucketClaim) *cosiapi.Bucket {
	w.t.Helper()
	until(w, claim, "claim "+claim.Name+" is bound", func(c *cosiapi.BucketClaim) error {
		if c.Status.BoundBucketName == "" {
			return fmt.Errorf("it is not: %+v", c.Status.Conditions)
		}
		return nil
	})
	return get(w, &cosiapi.Bucket{ObjectMeta: metav1.ObjectMeta{Name: claim.Status.BoundBucketName}})
}

// bucketFor returns the Bucket of a claim, which may not exist.
func bucketFor(claim *cosiapi.BucketClaim) *cosiapi.Bucket {
	return &cosiapi.Bucket{ObjectMeta: metav1.ObjectMeta{Name: cosiapi.BucketNameFor(claim.UID)}}
}

// secret returns a Secret of an access, without its data.
func secret(access *cosiapi.BucketAccess, index int) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: access.Namespace, Name: access.Spec.BucketClaims[index].AccessSecretName}}
}

// delete deletes objects without waiting for completion.
func (w *world) delete(objects ...client.Object) {
	w.t.Helper()
	for _, obj := range objects {
		if err := w.Client.Delete(w.t.Context(), obj); err != nil {
			w.t.Fatalf("delete %T %s: %v", obj, obj.GetName(), err)
		}
	}
}

// get reads an object again and returns it.
func get[T client.Object](w *world, obj T) T {
	w.t.Helper()
	if err := w.Client.Get(w.t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
		w.t.Fatalf("get %T %s: %v", obj, obj.GetName(), err)
	}
	return obj
}

// exists reports whether an object exists.
func (w *world) exists(obj client.Object) bool {
	w.t.Helper()
	err := w.Client.Get(w.t.Context(), client.ObjectKeyFromObject(obj), obj)
	if err != nil && !apierrors.IsNotFound(err) {
		w.t.Fatal(err)
	}
	return err == nil
}

// change reads an object again, lets change modify it, and writes it.
func change[T client.Object](w *world, obj T, change func(T)) {
	w.t.Helper()
	w.eventually("the change of "+obj.GetName()+" is stored", func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		change(obj)
		return w.Client.Update(ctx, obj)
	})
}

// touch makes an insignificant change to an object. A label on a Bucket ends the wait for its next call.
func (w *world) touch(obj client.Object) {
	w.t.Helper()
	w.rules.ObjectChanged()
	defer w.rules.ObjectChanged() // also allows calls that were refused in an earlier state
	change(w, obj, func(o client.Object) {
		labels := o.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels["touched"] += "x"
		o.SetLabels(labels)
	})
}

// reconfigure gives the driver a new configuration, which ends every wait for a call and repeats the grants.
func (w *world) reconfigure() {
	w.t.Helper()
	w.driver.SetInfo(func(info *cosi.DriverGetInfoResponse) { info.Revision += "x" })
}

// until waits until check returns nil for an object. The error of check describes the difference.
func until[T client.Object](w *world, obj T, what string, check func(T) error) T {
	w.t.Helper()
	w.eventually(what, func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		return check(obj)
	})
	return obj
}

// gone waits until objects do not exist.
func (w *world) gone(objects ...client.Object) {
	w.t.Helper()
	for _, obj := range objects {
		w.eventually(fmt.Sprintf("%T %s is deleted", obj, obj.GetName()), func(ctx context.Context) error {
			err := w.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj)
			if apierrors.IsNotFound(err) {
				return nil
			}
			if err != nil {
				return err
			}
			return fmt.Errorf("deletionTimestamp %v, finalizers %v, conditions %v", obj.GetDeletionTimestamp(), obj.GetFinalizers(), testenv.Conditions(obj))
		})
	}
}

// condition waits until an object has a condition for its generation, and returns the message.
func (w *world) condition(obj client.Object, conditionType string, status metav1.ConditionStatus, reasons ...conditions.Reason) string {
	w.t.Helper()
	var message string
	until(w, obj, fmt.Sprintf("%T %s has %s=%s %v", obj, obj.GetName(), conditionType, status, reasons), func(o client.Object) error {
		c := testenv.Condition(o, conditionType)
		if c.Status != status || len(reasons) > 0 && c.Reason != string(reasons[0]) {
			return fmt.Errorf("conditions %v", testenv.Conditions(o))
		}
		if c.ObservedGeneration != o.GetGeneration() && !w.setup.noGeneration {
			return fmt.Errorf("observedGeneration is %d, generation %d", c.ObservedGeneration, o.GetGeneration())
		}
		message = c.Message
		return nil
	})
	return message
}

// refused waits until an object has ResourcesValidated=False with a reason.
func (w *world) refused(obj client.Object, reason conditions.Reason) string {
	w.t.Helper()
	return w.condition(obj, cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, reason)
}

// ready waits until objects are provisioned.
func (w *world) ready(objects ...client.Object) {
	w.t.Helper()
	for _, obj := range objects {
		w.condition(obj, cosiapi.ConditionProvisioned, metav1.ConditionTrue)
	}
}

// marked reports whether a claim has the in-use annotation.
func marked(claim *cosiapi.BucketClaim) bool {
	return cosiapi.HasAnnotation(claim, cosiapi.HasBucketAccessReferencesAnnotation)
}

// released reports whether a Bucket has the annotation that its claim is being deleted.
func released(bucket *cosiapi.Bucket) bool {
	return cosiapi.HasAnnotation(bucket, cosiapi.BucketClaimBeingDeletedAnnotation)
}

// fencePrefix is the name prefix of objects that settled creates.
const fencePrefix = "fence-"

// ofFence reports whether a name or ID belongs to an object that settled created.
func ofFence(name string) bool { return strings.Contains(name, fencePrefix) }

// settled waits until controller and sidecar are idle: it creates a claim and an access, which are queued
// after everything else, and waits until they are provisioned and deleted again.
func (w *world) settled() {
	w.t.Helper()
	name := fmt.Sprintf("%s%d", fencePrefix, w.next())
	claim := w.claim(name, "no-such-class")
	access := w.access(name, "no-such-class", name)
	bucket := w.imported(name, name, name)
	w.create(claim, access, bucket)
	w.condition(claim, cosiapi.ConditionResourcesValidated, metav1.ConditionUnknown, conditions.WaitingForClass)
	w.condition(access, cosiapi.ConditionResourcesValidated, metav1.ConditionUnknown, conditions.WaitingForClass)
	if w.old() {
		w.ready(bucket) // neither component accesses an imported bucket
	} else {
		w.condition(bucket, cosiapi.ConditionProvisionFailed, metav1.ConditionTrue, conditions.Retrying)
	}
	w.delete(access, claim, bucket)
	w.gone(access, claim, bucket)
}

// emptied deletes what a test left in the API server that all tests share.
func (w *world) emptied() {
	ctx := context.WithoutCancel(w.t.Context())
	buckets := &cosiapi.BucketList{}
	if err := w.Client.List(ctx, buckets); err != nil {
		w.t.Error(err)
	}
	for i := range buckets.Items {
		if b := &buckets.Items[i]; b.Spec.BucketClaimRef.Namespace == w.namespace {
			w.drop(ctx, b)
		}
	}
	for _, list := range []client.ObjectList{&cosiapi.BucketClaimList{}, &cosiapi.BucketAccessList{}, &corev1.SecretList{}} {
		if err := w.Client.List(ctx, list, client.InNamespace(w.namespace)); err != nil {
			w.t.Error(err)
		}
		err := meta.EachListItem(list, func(o runtimeObject) error {
			if obj, ok := o.(client.Object); ok && len(obj.GetFinalizers()) > 0 {
				w.drop(ctx, obj)
			}
			return nil
		})
		if err != nil {
			w.t.Error(err)
		}
	}
}

// drop deletes an object together with its finalizers. A component may add its finalizer again between the two requests,
// and would then see an ordinary deletion, so the object is deleted only as the patch left it. On a busy machine, the
// component is often faster.
func (w *world) drop(ctx context.Context, obj client.Object) {
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
	ctx, cancel := context.WithTimeout(ctx, patience())
	defer cancel()
	err := controlplane.Until(ctx, func(ctx context.Context) error {
		err := w.Client.Patch(ctx, obj, patch)
		if err == nil {
			err = w.Client.Delete(ctx, obj, client.Preconditions{ResourceVersion: new(obj.GetResourceVersion())})
		}
		return client.IgnoreNotFound(err)
	})
	if err != nil {
		w.t.Errorf("delete %s and its finalizers: %v", obj.GetName(), err)
	}
}
