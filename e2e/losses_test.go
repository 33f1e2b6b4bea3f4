// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/deploy"
	"github.com/cooper-cosi/cooper/fakes/faketest"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	"github.com/cooper-cosi/cooper/internal/credstore"
	"github.com/cooper-cosi/cooper/internal/credstore/kube"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
	"github.com/cooper-cosi/cooper/testenv/system"
	"github.com/cooper-cosi/cooper/testenv/system/cloudstest"
)

// ofTheDriver is the namespace of the driver's credential store.
const ofTheDriver = "cosi-driver-s3"

// A losing is a scenario in a separate cluster, any part of which can be lost.
type losing struct {
	*scenario

	store  *s3fake.Server
	dir    string // of the control plane
	plane  *controlplane.ControlPlane
	system *system.System
}

func newLosing(t *testing.T) *losing {
	t.Helper()
	l := &losing{store: faketest.Start(t, s3fake.New, s3fake.Options{}), dir: t.TempDir()}
	l.scenario = &scenario{t: t, world: &world{}}
	t.Cleanup(func() {
		if err := l.end(); err != nil {
			t.Error(err)
		}
	})
	l.startPlane()
	l.install()
	l.scenario = newScenario(t, l.world, clouds()[0])
	return l
}

// end stops all processes.
func (l *losing) end() error {
	if l.system != nil {
		if err := l.system.Stop(); err != nil {
			return err
		}
	}
	if l.plane == nil {
		return nil
	}
	return l.plane.Stop()
}

func (l *losing) startPlane() {
	l.t.Helper()
	crds, err := deploy.CRDs()
	l.must(err, "CRDs")
	l.plane, err = controlplane.Start(l.t.Context(), controlplane.Options{DataDir: l.dir, CRDs: crds})
	l.must(err, "start the control plane")
}

// install starts controller, sidecar and driver. The driver's credential store is in its namespace.
func (l *losing) install() {
	l.t.Helper()
	administrator, err := client.New(l.plane.Config(), client.Options{})
	l.must(err, "client")
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ofTheDriver}}
	if err := administrator.Create(l.t.Context(), namespace); !apierrors.IsAlreadyExists(err) {
		l.must(err, "make the driver's namespace")
	}
	kept, err := kube.Open(l.t.Context(), l.plane.Config(), ofTheDriver, l.driver())
	l.must(err, "credential store")
	l.system, err = system.Start(l.t.Context(), system.Options{
		ControlPlane: l.plane, Drivers: []system.Driver{cloudstest.S3(l.t, l.store, credstore.OnBlobs(kept))},
	})
	l.must(err, "start the system")
	l.client = l.system.Client()
}

func (l *losing) driver() string { return clouds()[0].driver }

// used returns a claim with an access, and a client that has stored an object in the bucket.
func (l *losing) used(name string) (*cosiapi.BucketClaim, *cosiapi.BucketAccess, data) {
	l.t.Helper()
	claim := l.claim(name)
	access := l.access(name, claim, cosiapi.BucketAccessModeReadWrite)
	workload := l.granted(access)
	l.must(workload.put(l.t.Context(), "a", "precious"), "put")
	l.await(claim)
	return claim, access, workload
}

// TestLosses loses a part of the system, restores it according to the table in
// docs/howto/restore-after-a-loss.md, and checks which objects are not restored.
func TestLosses(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "TestRestoreInEveryOrder in lifecycle restores objects, in part in the short run")
	for name, walk := range map[string]func(l *losing){
		"etcd": etcd, "the credential store": credentialStore, "the driver's namespace": driversNamespace, "the backend": backend, "all of the cluster": cluster,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			walk(newLosing(t))
		})
	}
}

// etcd restores etcd from a snapshot.
func etcd(l *losing) {
	ctx := l.t.Context()
	kept, _, keeping := l.used("kept")
	dropped, reader, dropping := l.used("dropped")
	_, turned, former := l.used("rotated")
	snapshot := filepath.Join(l.t.TempDir(), "etcd")
	l.must(l.end(), "stop for a snapshot")
	l.must(os.CopyFS(snapshot, os.DirFS(filepath.Join(l.dir, "etcd"))), "take a snapshot")
	l.startPlane()
	l.install()
	made, _, making := l.used("made")
	l.must(dropping.remove(ctx, "a"), "empty the bucket")
	l.remove(reader)
	l.remove(dropped)
	l.remove(l.bucket(dropped))
	latter := l.rotated(turned, "1")

	l.must(l.end(), "lose etcd")
	l.must(os.RemoveAll(filepath.Join(l.dir, "etcd")), "lose etcd")
	l.must(os.CopyFS(filepath.Join(l.dir, "etcd"), os.DirFS(snapshot)), "restore the snapshot")
	l.startPlane()
	l.install()

	l.await(kept)
	l.wantObject(keeping, "a", "precious")
	if err := l.client.Get(ctx, client.ObjectKeyFromObject(made), made); !apierrors.IsNotFound(err) {
		l.t.Errorf("a claim that was made since: want it unknown, got %v", err)
	}
	l.wantObject(making, "a", "precious")
	l.empty(dropped, reader)
	l.await(turned)
	l.wantObject(former, "a", "precious")
	l.wantObject(latter, "a", "precious")
	l.wantObject(l.rotated(turned, "2"), "a", "precious")
	l.wantRefused(latter)
}

// credentialStore loses the driver's Secrets, and restores them from a backup while no driver runs.
func credentialStore(l *losing) {
	ctx := l.t.Context()
	_, access, former := l.used("old")
	var saved corev1.SecretList
	l.must(l.client.List(ctx, &saved, client.InNamespace(ofTheDriver)), "back the Secrets up")
	l.must(l.client.DeleteAllOf(ctx, &corev1.Secret{}, client.InNamespace(ofTheDriver)), "lose the Secrets")
	l.wantObject(former, "a", "precious")
	l.must(l.system.Stop(), "stop the driver")
	l.must(l.client.DeleteAllOf(ctx, &corev1.Secret{}, client.InNamespace(ofTheDriver)), "delete the Secrets that it wrote in the meantime")
	for _, secret := range saved.Items {
		secret.UID, secret.ResourceVersion = "", ""
		l.create(&secret)
	}
	l.install()
	l.wantObject(l.rotated(access, "1"), "a", "precious")
	l.wantObject(former, "a", "precious")
	l.remove(access)
	l.wantRefused(former)
}

// driversNamespace loses the driver and its Secrets without a backup, so that it cannot determine which key is in
// use.
func driversNamespace(l *losing) {
	_, access, former := l.used("old")
	l.must(l.system.Stop(), "stop")
	l.remove(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ofTheDriver}})
	waiting := l.claim("waiting")
	l.wantObject(former, "a", "precious")
	l.install()
	l.await(waiting)
	l.used("new")
	said := l.rotationFails(access, "1")
	l.wantObject(former, "a", "precious") // it revokes none

	command := regexp.MustCompile(`aws iam tag-user --user-name (\S+) --tags Key=(\S+),Value=(\w+)`).FindStringSubmatch(said)
	if command == nil {
		l.t.Fatalf("the access does not say how to go on: %s", said)
	}
	root := l.store.Root()
	administrator := iam.New(iam.Options{
		BaseEndpoint: aws.String(l.store.URL()), Region: l.store.Region(),
		Credentials: credentials.NewStaticCredentialsProvider(root.AccessKeyID, root.SecretAccessKey, ""),
	})
	_, err := administrator.TagUser(l.t.Context(), &iam.TagUserInput{UserName: &command[1], Tags: []iamtypes.Tag{{Key: &command[2], Value: &command[3]}}})
	l.must(err, "follow its message")
	l.wantObject(l.rotated(access, "2"), "a", "precious")
	l.wantRefused(former)
	l.remove(access)
}

// backend replaces the store by an empty one.
func backend(l *losing) {
	claim, access, former := l.used("old")
	l.must(l.system.Stop(), "stop")
	l.must(l.store.Reset(), "lose the store")
	l.install()
	l.used("new")
	l.wantRefused(former)
	l.empty(claim, access)
}

// cluster loses everything except the store and a list of its buckets.
func cluster(l *losing) {
	ctx := l.t.Context()
	claim, access, former := l.used("old")
	bucket := l.bucket(claim)
	l.must(l.client.Get(ctx, client.ObjectKeyFromObject(bucket), bucket), "save the driver's ID")
	l.must(l.end(), "lose the cluster")
	l.dir = l.t.TempDir()
	l.startPlane()
	l.install()

	again := newScenario(l.t, l.world, l.cloud)
	imported := &cosiapi.Bucket{ObjectMeta: metav1.ObjectMeta{Name: again.name}, Spec: cosiapi.BucketSpec{
		DriverName: l.cloud.driver, DeletionPolicy: cosiapi.DeletionPolicyRetain, Protocols: []cosiapi.Protocol{l.cloud.protocol},
		ExistingBucketID: bucket.Status.BucketID, BucketClaimRef: cosiapi.BucketClaimReference{Namespace: again.ns, Name: claim.Name},
	}}
	given := &cosiapi.BucketClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: again.ns, Name: claim.Name},
		Spec:       cosiapi.BucketClaimSpec{ExistingBucketName: imported.Name, Protocols: []cosiapi.Protocol{l.cloud.protocol}},
	}
	renewed := &cosiapi.BucketAccess{ObjectMeta: metav1.ObjectMeta{Namespace: again.ns, Name: access.Name}, Spec: access.Spec}
	renewed.Spec.BucketAccessClassName = again.name
	for _, object := range []client.Object{imported, given, renewed} {
		again.create(object)
	}
	latter := again.granted(renewed)
	again.wantObject(latter, "a", "precious")
	again.remove(renewed)
	l.wantRefused(latter)
	again.remove(given)
	again.remove(imported)
	l.wantObject(former, "a", "precious") // the old credential remains valid, and imported buckets are never deleted
}

// empty expects a claim and an access whose bucket is lost. Neither reports it until a new credential is
// requested, and both can be deleted.
func (l *losing) empty(claim *cosiapi.BucketClaim, access *cosiapi.BucketAccess) {
	l.t.Helper()
	l.await(claim)
	l.await(access)
	if said := l.rotationFails(access, "1"); !strings.Contains(said, "does not exist in the store") {
		l.t.Errorf("the access does not report that its bucket is missing: %s", said)
	}
	l.remove(access)
	l.remove(claim)
	l.used("anew")
}

// rotationFails requests a new credential, expects a failure, and returns the access's message.
func (l *losing) rotationFails(access *cosiapi.BucketAccess, value string) string {
	l.t.Helper()
	l.rotate(access, value)
	l.awaitCondition(access, cosiapi.ConditionProvisionFailed, metav1.ConditionTrue)
	return meta.FindStatusCondition(access.Status.Conditions, cosiapi.ConditionProvisionFailed).Message
}

// rotated waits for a new credential.
func (l *losing) rotated(access *cosiapi.BucketAccess, value string) data {
	l.t.Helper()
	before := fmt.Sprint(l.secret(access))
	l.rotate(access, value)
	l.until("the Secret has another credential", func(context.Context) error {
		if fmt.Sprint(l.secret(access)) == before {
			return fmt.Errorf("the Secret of %s has not changed", access.Name)
		}
		return nil
	})
	return l.dataOf(l.secret(access))
}

func (l *losing) rotate(access *cosiapi.BucketAccess, value string) {
	l.t.Helper()
	l.must(l.client.Get(l.t.Context(), client.ObjectKeyFromObject(access), access), "read the access")
	patch := client.MergeFrom(access.DeepCopy())
	metav1.SetMetaDataAnnotation(&access.ObjectMeta, cosiapi.RotateAnnotation, value)
	l.must(l.client.Patch(l.t.Context(), access, patch), "ask for rotation")
}

func (l *losing) wantRefused(from data) {
	l.t.Helper()
	if _, err := from.get(l.t.Context(), "a"); !refused(err) {
		l.t.Errorf("want the credential refused, got %v", err)
	}
}
