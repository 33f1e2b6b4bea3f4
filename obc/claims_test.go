// SPDX-License-Identifier: Apache-2.0

package obc_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cooper-cosi/cooper/api/objectbucket"
	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/fakes/faketest"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	"github.com/cooper-cosi/cooper/internal/credstore"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/testenv"
	"github.com/cooper-cosi/cooper/testenv/system"
	"github.com/cooper-cosi/cooper/testenv/system/systemtest"
)

// startS3 starts a world with the S3 driver on a fake store.
func startS3(t *testing.T) (*world, *s3fake.Server) {
	t.Helper()
	store := faketest.Start(t, s3fake.New, s3fake.Options{})
	root, name := store.Root(), "s3-"+strings.ToLower(strings.ReplaceAll(t.Name(), "/", "-"))
	driver, err := s3driver.New(s3driver.Options{
		Config: s3driver.Config{DriverName: name[:min(len(name), 40)], Backends: map[string]s3driver.BackendConfig{"main": {
			Type: s3driver.TypeAWS, Endpoint: store.URL(), Region: store.Region(),
			Credentials: s3driver.CredentialsConfig{AccessKeyID: root.AccessKeyID, SecretAccessKey: cosi.NewSecret(root.SecretAccessKey)},
		}}},
		Credentials: credstore.NewMemory(),
	})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, system.Driver{Name: name[:min(len(name), 40)], Serve: func(ctx context.Context, endpoint string) error {
		return driverkit.Serve(ctx, driver, driverkit.Options{Endpoint: endpoint, Logger: slog.New(slog.DiscardHandler)})
	}})
	w.run()
	return w, store
}

// s3Client returns an S3 client that is configured only from the variables that a Pod gets with envFrom.
func s3Client(environment map[string]string) *s3.Client {
	return s3.New(s3.Options{
		BaseEndpoint: aws.String("http://" + environment["BUCKET_HOST"] + ":" + environment["BUCKET_PORT"]), Region: environment["BUCKET_REGION"], UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(environment["ACCESS_KEY_ID"], environment["SECRET_ACCESS_KEY"], ""),
	})
}

func (w *world) put(environment map[string]string, key string) error {
	_, err := s3Client(environment).PutObject(w.t.Context(), &s3.PutObjectInput{Bucket: aws.String(environment["BUCKET_NAME"]), Key: &key, Body: strings.NewReader("smile")})
	return err
}

func (w *world) delete(environment map[string]string, key string) error {
	_, err := s3Client(environment).DeleteObject(w.t.Context(), &s3.DeleteObjectInput{Bucket: aws.String(environment["BUCKET_NAME"]), Key: &key})
	return err
}

// TestClaimsAsTheirDesignHasThem applies the manifests of the original design, with the driver's name as the
// provisioner, as a user with the role edit. It stores an object with the settings that a Pod gets and deletes
// everything again.
func TestClaimsAsTheirDesignHasThem(t *testing.T) {
	t.Parallel()
	w, store := startS3(t)
	w.apply(strings.NewReplacer("DRIVER", w.driver, "NAMESPACE", w.namespace).Replace(`
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata:
  name: NAMESPACE-my-aws-s3-class
  labels:
    aws-s3/object: ""
provisioner: DRIVER/bucket
parameters:
  bucketClassName: NAMESPACE
  bucketAccessClassName: NAMESPACE
  bucketPrefixParameter: namePrefix
reclaimPolicy: Delete
`))
	w.Create(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "anna"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cosi-obc-edit"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "anna"}},
	})
	anna := w.ClientFor(w.User("anna"))
	claim := &objectbucket.ObjectBucketClaim{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "my-bucket-1"}}
	for _, object := range w.decode(`
apiVersion: objectbucket.io/v1alpha1
kind: ObjectBucketClaim
metadata:
  name: my-bucket-1
spec:
  generateBucketName: "photo-booth"
  storageClassName: ` + w.namespace + `-my-aws-s3-class
`) {
		object.SetNamespace(w.namespace)
		w.Eventually("Anna may create it", func(ctx context.Context) error { return client.IgnoreAlreadyExists(anna.Create(ctx, object)) })
	}
	w.phase(claim, objectbucket.PhaseBound, "")
	environment := w.environment(claim.Name)
	if err := w.put(environment, "1.jpg"); err != nil {
		t.Fatalf("store an object: %v\n%v", err, environment)
	}
	w.shape(claim, environment)
	if !strings.HasPrefix(environment["BUCKET_NAME"], "photo-booth-") || claim.Spec.BucketName != environment["BUCKET_NAME"] {
		t.Errorf("bucket %q, claim has %q: want one that begins with photo-booth", environment["BUCKET_NAME"], claim.Spec.BucketName)
	}
	if err := w.delete(environment, "1.jpg"); err != nil {
		t.Fatal(err)
	}
	if err := anna.Delete(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	w.Gone(claim)
	w.nothingLeft()
	w.Eventually("the store is empty", func(context.Context) error {
		if held := store.Inventory(); len(held.Buckets)+len(held.Users) > 0 {
			return fmt.Errorf("it has %v and %v", held.Buckets, held.Users)
		}
		return nil
	})
}

// shape compares the objects of a bound claim with the design.
func (w *world) shape(claim *objectbucket.ObjectBucketClaim, environment map[string]string) {
	w.t.Helper()
	for _, keys := range [][2]string{{"ACCESS_KEY_ID", "AWS_ACCESS_KEY_ID"}, {"SECRET_ACCESS_KEY", "AWS_SECRET_ACCESS_KEY"}} {
		if environment[keys[0]] == "" || environment[keys[0]] != environment[keys[1]] {
			w.t.Errorf("%s and %s differ, or are not there", keys[0], keys[1])
		}
	}
	if _, ok := environment["BUCKET_SUBREGION"]; !ok || environment["AWS_ENDPOINT_URL"] == "" {
		w.t.Errorf("the ConfigMap lacks a key: %v", environment)
	}
	meta := metav1.ObjectMeta{Namespace: w.namespace, Name: claim.Name}
	ob := testenv.Get(w.Env, &objectbucket.ObjectBucket{ObjectMeta: metav1.ObjectMeta{Name: claim.Spec.ObjectBucketName}})
	for _, object := range []client.Object{claim, ob, testenv.Get(w.Env, &corev1.Secret{ObjectMeta: meta}), testenv.Get(w.Env, &corev1.ConfigMap{ObjectMeta: meta})} {
		if label := object.GetLabels()["bucket-provisioner"]; label != w.driver+"-bucket" || !slices.Contains(object.GetFinalizers(), "objectbucket.io/finalizer") {
			w.t.Errorf("%T: label %q, finalizers %q", object, label, object.GetFinalizers())
		}
	}
	if ob.Name != "obc-"+w.namespace+"-"+claim.Name || ob.Status.Phase != objectbucket.PhaseBound || ob.Spec.Endpoint.BucketName != environment["BUCKET_NAME"] ||
		ob.Spec.ClaimRef.UID != claim.UID || ob.Spec.StorageClassName != claim.Spec.StorageClassName {
		w.t.Errorf("the ObjectBucket: %+v", ob)
	}
	for _, ref := range []*objectbucket.Reference{claim.Spec.ConfigMapRef, claim.Spec.SecretRef} {
		if ref == nil || ref.Name != claim.Name {
			w.t.Errorf("the claim refers to %+v", ref)
		}
	}
	owned := metav1.ObjectMeta{Namespace: w.namespace, Name: "obc-" + string(claim.UID)}
	for _, object := range []client.Object{
		testenv.Get(w.Env, &corev1.Secret{ObjectMeta: meta}), testenv.Get(w.Env, &corev1.ConfigMap{ObjectMeta: meta}),
		testenv.Get(w.Env, &cosiapi.BucketClaim{ObjectMeta: owned}), testenv.Get(w.Env, &cosiapi.BucketAccess{ObjectMeta: owned}),
	} {
		if owners := object.GetOwnerReferences(); len(owners) != 1 || owners[0].UID != claim.UID {
			w.t.Errorf("%T is owned by %v", object, owners)
		}
	}
}

// TestSeveralClaimsOnOneBucket gives two claims the same existing bucket, with a credential each, and deletes them
// again.
func TestSeveralClaimsOnOneBucket(t *testing.T) {
	t.Parallel()
	w, store := startS3(t)
	root := store.Root()
	admin := map[string]string{"ACCESS_KEY_ID": root.AccessKeyID, "SECRET_ACCESS_KEY": root.SecretAccessKey, "BUCKET_REGION": store.Region(), "BUCKET_NAME": "archive"}
	admin["BUCKET_HOST"], admin["BUCKET_PORT"], _ = strings.Cut(strings.TrimPrefix(store.URL(), "http://"), ":")
	if _, err := s3Client(admin).CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("archive")}); err != nil {
		t.Fatal(err)
	}
	class := w.storageClass(existing, corev1.PersistentVolumeReclaimDelete, map[string]string{"bucketName": "archive"})
	first, second := w.bind("first", class), w.bind("second", class)
	one, two := w.environment(first.Name), w.environment(second.Name)
	if err := errors.Join(w.put(one, "of-the-first"), w.put(two, "of-the-second")); err != nil {
		t.Fatal(err)
	}
	if one["BUCKET_NAME"] != "archive" || two["BUCKET_NAME"] != "archive" || one["ACCESS_KEY_ID"] == two["ACCESS_KEY_ID"] {
		t.Errorf("want one bucket and two credentials, got\n%v\n%v", one["BUCKET_NAME"], two["BUCKET_NAME"])
	}
	w.Delete(first)
	w.Gone(first)
	if err := w.put(one, "later"); err == nil {
		t.Error("the credential of the deleted claim still works")
	}
	if err := w.put(two, "later"); err != nil {
		t.Errorf("that of the other one does not: %v", err)
	}
	w.Delete(second)
	w.Gone(second)
	w.nothingLeft()
	for _, key := range []string{"of-the-first", "of-the-second", "later"} {
		if err := w.delete(admin, key); err != nil {
			t.Errorf("the bucket has not kept %s: %v", key, err)
		}
	}
	if held := store.Inventory(); len(held.Users) != 0 || len(held.Buckets) != 1 {
		t.Errorf("the store has %v, %v", held.Buckets, held.Users)
	}
}

// TestReclaimPolicyRetain checks that the bucket is kept. The claim's own class has been deleted once the claim is
// bound.
func TestReclaimPolicyRetain(t *testing.T) {
	t.Parallel()
	w, driver := start(t)
	claim := w.bind("kept", w.storageClass("", corev1.PersistentVolumeReclaimRetain, nil))
	names, err := w.left(t.Context())
	if err != nil || slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, "BucketClass ") }) {
		t.Errorf("there is %q, %v: want no BucketClass", names, err)
	}
	bucket := testenv.Get(w.Env, &cosiapi.BucketClaim{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "obc-" + string(claim.UID)}}).Status.BoundBucketName
	w.Delete(claim)
	w.Gone(claim)
	w.nothingLeft("Bucket " + bucket)
	if has := driver.Inventory(); len(has.Buckets) != 1 || len(has.Accounts) != 0 {
		t.Errorf("the driver has %+v, want the bucket alone", has)
	}
}

// TestNamesAndConfigOfNewBuckets checks which parameters reach the driver, and that a claim cannot choose a bucket
// name.
func TestNamesAndConfigOfNewBuckets(t *testing.T) {
	t.Parallel()
	w, driver := start(t)
	class := w.storageClass("", corev1.PersistentVolumeReclaimDelete, map[string]string{"bucketPrefixParameter": "prefix", "allowedAdditionalConfig": "maxSize, owner"})
	named := w.claim("named", class)
	named.Spec.BucketName = "wedding"
	w.Create(named)
	w.phase(named, objectbucket.PhaseFailed, "does not allow claims to choose the bucket name")
	if has := driver.Inventory(); len(has.Buckets) != 0 {
		t.Errorf("the driver has %+v, want no bucket", has.Buckets)
	}
	w.Delete(named)
	claim := w.claim("prefixed", class)
	claim.Spec.AdditionalConfig = map[string]string{"maxSize": "2G"}
	w.Create(claim)
	w.phase(claim, objectbucket.PhaseBound, "")
	if diff := cmp.Diff(map[string]string{"prefix": "photo-booth-", "quota": "2000000000"}, driver.Inventory().Buckets[0].Parameters); diff != "" {
		t.Errorf("parameters (-want +got):\n%s", diff)
	}
	w.Delete(claim)
	w.nothingLeft()
}

// TestClaimsOfOtherProvisionersAreIgnored creates a claim of another provisioner, then one of COSI, and checks that only the
// latter is served.
func TestClaimsOfOtherProvisionersAreIgnored(t *testing.T) {
	t.Parallel()
	w, _ := start(t)
	w.apply(fmt.Sprintf("apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: %s-rook}\nprovisioner: rook-ceph.ceph.rook.io/bucket\n", w.namespace))
	other := w.claim("other", w.namespace+"-rook")
	other.Finalizers = []string{objectbucket.Finalizer} // as all provisioners set it
	w.Create(other)
	version := other.ResourceVersion
	w.bind("ours", w.storageClass("", corev1.PersistentVolumeReclaimDelete, nil))
	if testenv.Get(w.Env, other).ResourceVersion != version {
		t.Errorf("it was changed: %+v", other)
	}
	w.Delete(other)
	w.bind("fence", w.namespace)
	if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(other), other); err != nil || !slices.Contains(other.Finalizers, objectbucket.Finalizer) {
		t.Errorf("its finalizer was taken off: %v, %v", other.Finalizers, err)
	}
	testenv.Change(w.Env, other, func(o *objectbucket.ObjectBucketClaim) { o.Finalizers = nil })
}

// TestObjectsOfOtherOwnersAreNotChanged checks that objects that users created under the names of a claim's objects are not changed.
func TestObjectsOfOtherOwnersAreNotChanged(t *testing.T) {
	t.Parallel()
	w, driver := start(t)
	class := w.storageClass("", corev1.PersistentVolumeReclaimDelete, nil)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "secret"}, Data: map[string][]byte{"of": []byte("somebody")}}
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "config"}, Data: map[string]string{"of": "somebody"}}
	ob := &objectbucket.ObjectBucket{
		ObjectMeta: metav1.ObjectMeta{Name: objectbucket.NameFor(w.namespace, "object-bucket")},
		Spec:       objectbucket.ObjectBucketSpec{ClaimRef: &objectbucket.Reference{Namespace: w.namespace + "-object", Name: "bucket"}, AdditionalState: map[string]string{"cosi-driver": w.driver}},
	}
	for _, object := range []client.Object{secret, configMap, ob} {
		w.Create(object)
		claim := w.claim(strings.TrimPrefix(object.GetName(), "obc-"+w.namespace+"-"), class)
		version := object.GetResourceVersion()
		w.Create(claim)
		w.phase(claim, objectbucket.PhaseFailed, "this claim with another name")
		if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil || object.GetResourceVersion() != version {
			t.Errorf("%T was changed: %v, %v", object, object, err)
		}
		if object != ob {
			w.Delete(object)
			w.phase(claim, objectbucket.PhaseBound, "")
		}
		w.Delete(claim)
		w.Gone(claim)
	}
	w.Eventually("the driver has nothing", func(context.Context) error {
		if has := driver.Inventory(); len(has.Buckets)+len(has.Accounts) != 0 {
			return fmt.Errorf("it has %+v", has)
		}
		return nil
	})
}

// TestClaimReportsReasonOfWait checks the status of a claim before its classes exist and while the driver fails.
func TestClaimReportsReasonOfWait(t *testing.T) {
	t.Parallel()
	w, driver := start(t)
	heal := driver.Script(memdriver.Fault{RPC: memdriver.CreateBucket, Code: codes.Unavailable, Message: "the store is full", Times: memdriver.Always})
	late := &cosiapi.BucketAccessClass{ObjectMeta: metav1.ObjectMeta{Name: w.namespace + "-late"}, Spec: cosiapi.BucketAccessClassSpec{DriverName: w.driver}}
	claim := w.claim("early", w.namespace)
	w.Create(claim)
	w.storageClass("", corev1.PersistentVolumeReclaimDelete, map[string]string{"bucketAccessClassName": late.Name})
	w.phase(claim, objectbucket.PhasePending, "Waiting for BucketAccessClass")
	w.Create(late)
	w.phase(claim, objectbucket.PhasePending, "the store is full")
	heal()
	w.phase(claim, objectbucket.PhaseBound, "")

	access := &cosiapi.BucketAccess{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "of-its-user"},
		Spec: cosiapi.BucketAccessSpec{
			BucketAccessClassName: late.Name, Protocol: cosiapi.ProtocolS3,
			BucketClaims: []cosiapi.BucketClaimAccess{{
				BucketClaimName: "obc-" + string(claim.UID), AccessSecretName: "of-its-user",
				AccessModes: cosiapi.BucketAccessModes{ObjectData: cosiapi.BucketAccessModeReadOnly},
			}},
		},
	}
	w.Create(access)
	testenv.UntilCondition(w.Env, access, metav1.Condition{Type: cosiapi.ConditionProvisioned, Status: metav1.ConditionTrue, Reason: "Provisioned"})
	w.Delete(claim)
	w.Eventually("the message names the users of its bucket", func(context.Context) error {
		if m := testenv.Get(w.Env, claim).Status.Message; !strings.Contains(m, "Waiting for the deletion of BucketClaim") {
			return errors.New(m)
		}
		return nil
	})
	w.Delete(access)
	w.Gone(claim)
	w.nothingLeft()
}

// TestAQuotaStopsAClaim sets a quota of zero accesses for a namespace and then raises it.
func TestAQuotaStopsAClaim(t *testing.T) {
	t.Parallel()
	w, _ := start(t)
	class := w.storageClass("", corev1.PersistentVolumeReclaimDelete, nil)
	for name, test := range map[string]struct {
		resources corev1.ResourceName
		one       client.Object // of them
	}{
		"accesses": {"count/bucketaccesses.objectstorage.k8s.io", &cosiapi.BucketAccess{Spec: cosiapi.BucketAccessSpec{
			BucketAccessClassName: "any", Protocol: cosiapi.ProtocolS3, BucketClaims: []cosiapi.BucketClaimAccess{{
				BucketClaimName: "any", AccessSecretName: "any", AccessModes: cosiapi.BucketAccessModes{ObjectData: cosiapi.BucketAccessModeReadOnly},
			}},
		}}},
		"config": {"count/configmaps", &corev1.ConfigMap{}},
	} {
		quota := &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
			Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{test.resources: resource.MustParse("0")}},
		}
		w.Create(quota)
		test.one.SetNamespace(w.namespace)
		test.one.SetName(name)
		w.Eventually("the API server counts", func(ctx context.Context) error {
			if err := w.Client.Create(ctx, test.one.DeepCopyObject().(client.Object), client.DryRunAll); err == nil || !strings.Contains(err.Error(), "exceeded quota: "+name) {
				return fmt.Errorf("want a refusal by the quota, got %w", err)
			}
			return nil
		})
		claim := w.claim(name, class)
		w.Create(claim)
		w.phase(claim, objectbucket.PhasePending, "exceeded quota: "+name)
		w.Delete(quota)
		w.phase(claim, objectbucket.PhaseBound, "")
		w.Delete(claim)
		w.Gone(claim)
	}
	w.refused = true
}

// TestDeletedObjectBucket deletes one ObjectBucket, and another one by removing its finalizer.
func TestDeletedObjectBucket(t *testing.T) {
	t.Parallel()
	w, driver := start(t)
	class := w.storageClass("", corev1.PersistentVolumeReclaimDelete, nil)
	for name, force := range map[string]bool{"deleted": false, "forced": true} {
		claim := w.bind(name, class)
		ob := &objectbucket.ObjectBucket{ObjectMeta: metav1.ObjectMeta{Name: claim.Spec.ObjectBucketName}}
		if force {
			testenv.Change(w.Env, ob, func(o *objectbucket.ObjectBucket) { o.Finalizers = nil })
		}
		w.Delete(ob)
		w.phase(claim, objectbucket.PhaseReleased, "An administrator must restore it")
		if has := driver.Inventory(); len(has.Buckets) != 1 || len(has.Accounts) != 1 {
			t.Errorf("the driver has %+v: want that nothing was taken from a claim that lives", has)
		}
		w.Delete(claim)
		w.Gone(claim)
		w.nothingLeft()
		w.Eventually("the driver has no buckets", func(context.Context) error {
			if has := driver.Inventory(); len(has.Buckets)+len(has.Accounts) > 0 {
				return fmt.Errorf("it has %+v", has)
			}
			return nil
		})
	}
}

// TestBucketClaimWithAnotherOwner creates a BucketClaim under the name that cosi-obc uses before cosi-obc does.
func TestBucketClaimWithAnotherOwner(t *testing.T) {
	t.Parallel()
	driver, part := systemtest.NewDriver(t, memdriver.Options{})
	w := newWorld(t, part)
	claim := w.claim("forged", w.storageClass("", corev1.PersistentVolumeReclaimDelete, nil))
	w.Create(claim)
	forged := &cosiapi.BucketClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "obc-" + string(claim.UID)},
		Spec:       cosiapi.BucketClaimSpec{BucketClassName: "another", Protocols: []cosiapi.Protocol{cosiapi.ProtocolS3}},
	}
	w.Create(forged)
	w.run()
	w.phase(claim, objectbucket.PhaseFailed, "was not created for this claim")
	w.Delete(claim)
	w.Gone(claim)
	w.nothingLeft("BucketClaim " + forged.Name)
	if has := driver.Inventory(); len(has.Buckets)+len(has.Accounts) != 0 {
		t.Errorf("the driver has %+v", has)
	}
}

// TestUsersEdit changes a bound claim and its objects in every way that RBAC allows users.
func TestUsersEdit(t *testing.T) {
	t.Parallel()
	w, driver := start(t)
	class := w.storageClass("", corev1.PersistentVolumeReclaimDelete, nil)
	other := w.storageClass(existing, corev1.PersistentVolumeReclaimRetain, map[string]string{"bucketName": "of-somebody-else", "namespaces": "nobodys"})
	claim := w.bind("edited", class)
	before := w.environment(claim.Name)

	testenv.Change(w.Env, claim, func(c *objectbucket.ObjectBucketClaim) {
		c.Spec.StorageClassName, c.Spec.BucketName, c.Spec.ObjectBucketName, c.Labels = other, "of-somebody-else", "", nil
	})
	secret := testenv.Get(w.Env, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: claim.Name}})
	testenv.Change(w.Env, secret, func(s *corev1.Secret) { s.Data["ACCESS_KEY_ID"] = []byte("mine") })
	testenv.Change(w.Env, claim, func(c *objectbucket.ObjectBucketClaim) { c.Annotations = map[string]string{"look": "again"} })
	w.Eventually("all is as it was", func(context.Context) error {
		if diff := cmp.Diff(before, w.environment(claim.Name)); diff != "" {
			return errors.New(diff)
		}
		if bucket := testenv.Get(w.Env, claim).Spec.BucketName; bucket != before["BUCKET_NAME"] {
			return fmt.Errorf("the claim has bucket %q", bucket)
		}
		return nil
	})

	access := testenv.Get(w.Env, &cosiapi.BucketAccess{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "obc-" + string(claim.UID)}})
	w.Delete(access)
	w.Eventually("there is another credential for the same bucket", func(context.Context) error {
		after := w.environment(claim.Name)
		if after["ACCESS_KEY_ID"] == before["ACCESS_KEY_ID"] || after["BUCKET_NAME"] != before["BUCKET_NAME"] {
			return errors.New("not yet")
		}
		return nil
	})
	w.phase(claim, objectbucket.PhaseBound, "")

	bucketClaim := testenv.Get(w.Env, &cosiapi.BucketClaim{ObjectMeta: access.ObjectMeta})
	w.Delete(bucketClaim)
	w.Delete(testenv.Get(w.Env, access))
	w.phase(claim, objectbucket.PhaseReleased, "no longer exists")
	if has := driver.Inventory(); len(has.Buckets) > 1 {
		t.Errorf("another bucket was made: %+v", has.Buckets)
	}
	w.Delete(claim)
	w.Gone(claim)
	w.nothingLeft()
}

// TestACredentialThatRotates checks that the claim's Secret gets the new credential.
func TestACredentialThatRotates(t *testing.T) {
	t.Parallel()
	w, _ := start(t)
	claim := w.bind("rotated", w.storageClass("", corev1.PersistentVolumeReclaimDelete, nil))
	before := w.environment(claim.Name)["SECRET_ACCESS_KEY"]
	access := &cosiapi.BucketAccess{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "obc-" + string(claim.UID)}}
	testenv.Change(w.Env, access, func(a *cosiapi.BucketAccess) { a.Annotations = map[string]string{cosiapi.RotateAnnotation: "1"} })
	w.Eventually("there is another credential", func(context.Context) error {
		if w.environment(claim.Name)["SECRET_ACCESS_KEY"] == before {
			return errors.New("not yet")
		}
		return nil
	})
}

// TestClaimWithoutItsFinalizer removes the finalizer of a claim manually.
func TestClaimWithoutItsFinalizer(t *testing.T) {
	t.Parallel()
	w, driver := start(t)
	claim := w.bind("forced", w.storageClass("", corev1.PersistentVolumeReclaimDelete, nil))
	again := w.claim(claim.Name, claim.Spec.StorageClassName)
	// The component may add its finalizer again between the two requests, so only the version without it is deleted.
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	w.Eventually("the claim is deleted without its finalizer", func(ctx context.Context) error {
		err := w.Client.Patch(ctx, claim, patch)
		if err == nil {
			err = w.Client.Delete(ctx, claim, client.Preconditions{ResourceVersion: new(claim.ResourceVersion)})
		}
		return client.IgnoreNotFound(err)
	})
	w.Gone(&objectbucket.ObjectBucket{ObjectMeta: metav1.ObjectMeta{Name: objectbucket.NameFor(w.namespace, claim.Name)}})
	w.Eventually("the driver has no buckets", func(context.Context) error {
		if has := driver.Inventory(); len(has.Buckets)+len(has.Accounts) > 0 {
			return fmt.Errorf("it has %+v", has)
		}
		return nil
	})
	w.Create(again)
	w.phase(again, objectbucket.PhaseBound, "")
}
