// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/testenv"
)

// TestObjectsOfTheUpstreamProject creates objects with the CRDs of the upstream project, in the state in
// which its controller and sidecar leave them, and then replaces the CRDs by Cooper's. Cooper must serve the
// buckets without any change in the backend.
func TestObjectsOfTheUpstreamProject(t *testing.T) {
	t.Parallel()
	covers(t, "bucket-adopted", "access-without-mode")
	w := start(t, setup{idle: true, crds: upstreamCRDs(t)})
	claim, bucket, access, secret := w.ofUpstream()
	waits := &cosiapi.BucketAccess{ObjectMeta: named(w.foreignAccess("waits"))}
	before := w.driver.Inventory()
	w.ours(claim, bucket, access)

	w.runController()
	w.runSidecar()
	w.ready(claim, bucket)
	w.saysNoMode(access, conditions.StatusDegraded)
	w.saysNoMode(waits, conditions.SpecInvalid)
	w.settled()
	if get(w, claim).Status.BoundBucketName != bucket.Name || get(w, bucket).Status.BucketID != "made-by-upstream" {
		t.Errorf("the claim is bound to %q, and its Bucket has the ID %q", claim.Status.BoundBucketName, bucket.Status.BucketID)
	}
	for _, rpc := range []memdriver.RPC{
		memdriver.GenerateBucketID, memdriver.CreateBucket, memdriver.DeleteBucket,
		memdriver.GenerateAccessID, memdriver.GrantAccess, memdriver.RevokeAccess,
	} {
		w.called(rpc, 0)
	}
	if calls := w.rpcs("made-by-upstream"); len(calls) != 1 || calls[0] != memdriver.GetBucket {
		t.Errorf("calls about the bucket: want one %s, got %v", memdriver.GetBucket, calls)
	}
	diff(t, "the backend", before, w.driver.Inventory())
	if now := get(w, secret.DeepCopy()); now.ResourceVersion != secret.ResourceVersion {
		t.Errorf("the Secret of the access was written: %s", cmp.Diff(secret, now))
	}

	another := w.granted("app", "keys", claim.Name)
	w.delete(waits, access)
	w.gone(waits, access, secret)
	if left := w.driver.Inventory(); len(left.Accounts) != 1 || left.Accounts[0].ID != another.Status.AccountID {
		t.Errorf("after the access of upstream: want only the account %s, got %+v", another.Status.AccountID, left.Accounts)
	}
	w.delete(another, claim)
	w.gone(another, claim, bucket)
	if left := w.driver.Inventory(); len(left.Buckets)+len(left.Accounts) > 0 {
		t.Errorf("the backend still holds %+v", left)
	}
}

// saysNoMode waits until an access is refused because Cooper's CRDs dropped its mode.
func (w *world) saysNoMode(access *cosiapi.BucketAccess, reason conditions.Reason) {
	w.t.Helper()
	if message := w.refused(access, reason); !strings.Contains(message, `no accessModes for BucketClaim "photos"`) {
		w.t.Errorf("BucketAccess %s says: %s", access.Name, message)
	}
}

func upstreamCRDs(t *testing.T) map[string][]byte {
	t.Helper()
	text, err := os.ReadFile("../testenv/testdata/upstream-v1alpha2.yaml")
	if err != nil {
		t.Fatal(err)
	}
	crds := map[string][]byte{}
	for i, document := range strings.Split(string(text), "\n---\n") {
		crds[fmt.Sprintf("upstream-%d", i)] = []byte(document)
	}
	return crds
}

// ofUpstream creates a claim, its Bucket with a backend bucket, and an access with an account and a Secret.
func (w *world) ofUpstream() (*cosiapi.BucketClaim, *cosiapi.Bucket, *cosiapi.BucketAccess, *corev1.Secret) {
	w.t.Helper()
	const id = "made-by-upstream"
	tier, user, s3 := map[string]any{"tier": "hot"}, map[string]any{"user": "plain"}, []any{"S3"}
	w.foreign("BucketClass", "", w.global("fast"), map[string]any{"driverName": w.driver.Name(), "deletionPolicy": "Delete", "parameters": tier})
	w.foreign("BucketAccessClass", "", w.global("keys"), map[string]any{"driverName": w.driver.Name(), "authenticationType": "Key", "parameters": user})

	claim := w.foreign("BucketClaim", w.namespace, "photos", map[string]any{"bucketClassName": w.global("fast"), "protocols": s3})
	name := cosiapi.BucketNameFor(claim.GetUID())
	w.foreignStatus(claim, map[string]any{"readyToUse": true, "boundBucketName": name, "protocols": s3})
	bucket := w.foreign("Bucket", "", name, map[string]any{
		"driverName": w.driver.Name(), "deletionPolicy": "Delete", "parameters": tier, "protocols": s3,
		"bucketClaimRef": map[string]any{"namespace": w.namespace, "name": "photos", "uid": string(claim.GetUID())},
	})
	w.foreignStatus(bucket, map[string]any{"readyToUse": true, "bucketID": id, "protocols": s3, "bucketInfo": map[string]any{"BUCKET_NAME": id}})
	access := w.foreignAccess("before")
	account := cosiapi.AccountNameFor(access.GetUID())
	w.foreignStatus(access, map[string]any{
		"readyToUse": true, "accountID": account, "driverName": w.driver.Name(), "authenticationType": "Key", "parameters": user,
		"accessedBuckets": []any{map[string]any{"bucketName": name, "bucketID": id, "bucketClaimName": "photos"}},
	})
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: "before-photos", Finalizers: []string{cosiapi.ProtectionFinalizer},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(access, cosiapi.GroupVersion().WithKind("BucketAccess"))},
		},
		StringData: map[string]string{"AWS_ACCESS_KEY_ID": "of-upstream"},
	}
	w.create(secret)

	protocol := &cosi.ObjectProtocol{Type: cosi.ObjectProtocol_S3}
	_, err := w.driver.DriverCreateBucket(w.t.Context(), &cosi.DriverCreateBucketRequest{
		BucketId: id, Protocols: []*cosi.ObjectProtocol{protocol}, Parameters: map[string]string{"tier": "hot"},
	})
	w.must(err)
	_, err = w.driver.DriverGrantBucketAccess(w.t.Context(), &cosi.DriverGrantBucketAccessRequest{
		AccountId: account, Protocol: protocol, Parameters: map[string]string{"user": "plain"},
		AuthenticationType: &cosi.AuthenticationType{Type: cosi.AuthenticationType_KEY},
		Buckets:            []*cosi.AccessedBucket{{BucketId: id, ObjectDataAccessMode: &cosi.AccessMode{Mode: cosi.AccessMode_READ_WRITE}}},
	})
	w.must(err)
	return &cosiapi.BucketClaim{ObjectMeta: named(claim)}, &cosiapi.Bucket{ObjectMeta: named(bucket)}, &cosiapi.BucketAccess{ObjectMeta: named(access)}, secret
}

// foreignAccess creates an access to the claim photos as users of the upstream project do.
func (w *world) foreignAccess(name string) *unstructured.Unstructured {
	w.t.Helper()
	return w.foreign("BucketAccess", w.namespace, name, map[string]any{
		"bucketAccessClassName": w.global("keys"), "protocol": "S3",
		"bucketClaims": []any{map[string]any{"bucketClaimName": "photos", "accessMode": "ReadWrite", "accessSecretName": name + "-photos"}},
	})
}

func named(obj client.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// foreign creates an object with fields that Cooper's types do not have. Both projects use the same
// finalizer.
func (w *world) foreign(kind, namespace, name string, spec map[string]any) *unstructured.Unstructured {
	w.t.Helper()
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	obj.SetGroupVersionKind(cosiapi.GroupVersion().WithKind(kind))
	obj.SetNamespace(namespace)
	obj.SetName(name)
	if !strings.HasSuffix(kind, "Class") {
		obj.SetFinalizers([]string{cosiapi.ProtectionFinalizer})
	}
	w.create(obj)
	return obj
}

func (w *world) foreignStatus(obj *unstructured.Unstructured, status map[string]any) {
	w.t.Helper()
	obj.Object["status"] = status
	w.must(w.Client.Status().Update(w.t.Context(), obj))
}

// ours replaces foreign CRDs with Cooper's and waits until the API server serves them, that is, until the
// objects have the initial conditions of Cooper's objects.
func (w *world) ours(objects ...client.Object) {
	w.t.Helper()
	w.install(readCRDs(w.t))
	for _, obj := range objects {
		until(w, obj, fmt.Sprintf("%T %s is of our CRDs", obj, obj.GetName()), func(o client.Object) error {
			if c := testenv.Condition(o, cosiapi.ConditionProvisioned); c.Reason != cosiapi.ReasonPending {
				return fmt.Errorf("its conditions are %v", testenv.Conditions(o))
			}
			return nil
		})
	}
}
