// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/deploy"
)

// The floor is the time that the API server alone needs for a pair. A bare client makes the writes that a
// claim and an access wait for, in immediate sequence, like Cooper's controller and sidecar. The objects are
// of copies of Cooper's kinds, in an API group that no component watches.
//
// For single pairs there is a second floor, which includes everything else that the KEP requires every
// implementation to wait for: see programs.go.
const (
	floorGroup     = "floor.bench.cooper.dev"
	floorNamespace = "floor"
	// floorWorkers is how many pairs of a burst the bare client processes concurrently.
	floorWorkers = 10
	// pause is the time between two single measurements, in which background work of the first can complete.
	pause = 50 * time.Millisecond
)

// floorCRDs returns Cooper's CRDs in the API group of the floor.
func floorCRDs() (map[string][]byte, error) {
	crds, err := deploy.CRDs()
	if err != nil {
		return nil, err
	}
	copies := map[string][]byte{}
	for name, crd := range crds {
		copies["floor-"+name] = bytes.ReplaceAll(crd, []byte(cosiapi.GroupName), []byte(floorGroup))
	}
	return copies, nil
}

// floorScheme returns a scheme with Cooper's types in the API group of the floor.
func floorScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("add types to the scheme: %w", err)
	}
	version := schema.GroupVersion{Group: floorGroup, Version: cosiapi.Version}
	scheme.AddKnownTypes(version, &cosiapi.BucketClaim{}, &cosiapi.Bucket{}, &cosiapi.BucketAccess{})
	metav1.AddToGroupVersion(scheme, version)
	return scheme, nil
}

// A floorPair is a pair of the floor, with the objects that controller and sidecar would create.
type floorPair struct {
	claim  *cosiapi.BucketClaim
	bucket *cosiapi.Bucket
	access *cosiapi.BucketAccess
	secret *corev1.Secret

	// programs is nil for the bare floor.
	programs *programs
}

func newFloorPair(namespace, name string) *floorPair {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	protocols := func() []cosiapi.Protocol { return []cosiapi.Protocol{cosiapi.ProtocolS3} } // separate copies, because some are written concurrently
	return &floorPair{
		claim: &cosiapi.BucketClaim{ObjectMeta: meta, Spec: cosiapi.BucketClaimSpec{BucketClassName: "floor", Protocols: protocols()}},
		bucket: &cosiapi.Bucket{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: cosiapi.BucketSpec{
				DriverName: floorGroup, DeletionPolicy: cosiapi.DeletionPolicyDelete, Protocols: protocols(),
				BucketClaimRef: cosiapi.BucketClaimReference{Namespace: namespace, Name: name},
			},
		},
		access: &cosiapi.BucketAccess{
			ObjectMeta: meta,
			Spec: cosiapi.BucketAccessSpec{
				BucketAccessClassName: "floor", Protocol: cosiapi.ProtocolS3,
				BucketClaims: []cosiapi.BucketClaimAccess{{
					BucketClaimName: name, AccessSecretName: name,
					AccessModes: cosiapi.BucketAccessModes{ObjectData: cosiapi.BucketAccessModeReadWrite},
				}},
			},
		},
		secret: &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Finalizers: []string{cosiapi.ProtectionFinalizer}}},
	}
}

// A write is a write that the pair waits for.
type write func(ctx context.Context, c client.Client) error

// writes returns the writes for an object of a pair, the user's first.
func (p *floorPair) writes(m move, k kind) []write {
	switch {
	case m.fact == ready && k == claim:
		return p.createClaim()
	case m.fact == ready:
		return p.createAccess()
	case k == claim:
		return p.deleteClaim()
	default:
		return p.deleteAccess()
	}
}

// createClaim has no binding in the bare floor, because it is written concurrently with the writes that the
// claim waits for.
func (p *floorPair) createClaim() []write {
	name := p.bucket.Name
	return []write{
		create(p.claim), p.shown(claim, p.claim),
		p.together(patch(p.claim, func() { p.claim.Finalizers = []string{cosiapi.ProtectionFinalizer} }), p.read(p.claim)), // in place of a class
		create(p.bucket), p.aside(patchStatus(p.claim, func() { p.claim.Status.BoundBucketName = name })), p.shown(bucket, p.bucket),
		p.call(generateBucketID),
		patchStatus(p.bucket, func() { p.bucket.Status.BucketID = p.bucket.Name }),
		p.call(createBucket),
		patchStatus(p.bucket, func() {
			p.bucket.Status.Protocols, p.bucket.Status.BucketInfo = p.bucket.Spec.Protocols, floorInfo(p.bucket.Name)
			p.bucket.Status.Conditions = floorConditions()
		}), p.shown(bucket, p.bucket),
		p.finished(), patchStatus(p.claim, func() {
			p.claim.Status.Protocols, p.claim.Status.Conditions = slices.Clone(p.bucket.Spec.Protocols), floorConditions()
		}), p.shown(claim, p.claim),
	}
}

func (p *floorPair) createAccess() []write {
	return []write{
		create(p.access), p.shown(access, p.access),
		p.together(
			patch(p.access, func() { p.access.Finalizers = []string{cosiapi.ProtectionFinalizer} }),
			p.read(p.access), // in place of a class
		),
		patch(p.claim, func() { metav1.SetMetaDataAnnotation(&p.claim.ObjectMeta, floorGroup+"/mark", "1") }), // protects the claim from deletion
		patchStatus(p.access, func() {
			p.access.Status.DriverName, p.access.Status.AuthenticationType = floorGroup, cosiapi.AuthenticationTypeKey
			p.access.Status.AccessedBuckets = []cosiapi.AccessedBucket{{BucketName: p.bucket.Name, BucketID: p.bucket.Name, BucketClaimName: p.claim.Name}}
		}), p.shown(access, p.access),
		p.together(create(p.secret), p.call(generateAccountID)),
		patchStatus(p.access, func() { p.access.Status.AccountID = p.access.Name }),
		p.call(grantAccess),
		patch(p.secret, func() { p.secret.StringData = floorInfo(p.access.Name) }),
		patchStatus(p.access, func() { p.access.Status.Conditions = floorConditions() }), p.shown(access, p.access),
	}
}

func (p *floorPair) deleteAccess() []write {
	return []write{
		remove(p.access),
		release(p.secret),
		remove(p.secret),
		patchStatus(p.access, func() { p.access.Status.Cleanup = cosiapi.CleanupPending }),
		patch(p.access, func() { metav1.SetMetaDataAnnotation(&p.access.ObjectMeta, floorGroup+"/finished", "") }),
		patch(p.claim, func() { delete(p.claim.Annotations, floorGroup+"/mark") }),
		release(p.access),
	}
}

// deleteClaim does not remove the finalizer of the Bucket, which has none, because nothing waits for that.
func (p *floorPair) deleteClaim() []write {
	return []write{
		remove(p.claim),
		patch(p.bucket, func() { metav1.SetMetaDataAnnotation(&p.bucket.ObjectMeta, floorGroup+"/going", "") }),
		remove(p.bucket),
		release(p.claim),
	}
}

func create(object client.Object) write {
	return func(ctx context.Context, c client.Client) error { return c.Create(ctx, object) }
}

func patch(object client.Object, change func()) write {
	return func(ctx context.Context, c client.Client) error { return c.Patch(ctx, object, changed(object, change)) }
}

func patchStatus(object client.Object, change func()) write {
	return func(ctx context.Context, c client.Client) error {
		return c.Status().Patch(ctx, object, changed(object, change))
	}
}

// changed returns a patch with an optimistic lock. After a deletion, which does not return the
// resourceVersion, the patch has none.
func changed(object client.Object, change func()) client.Patch {
	before := object.DeepCopyObject().(client.Object)
	change()
	if object.GetResourceVersion() == "" {
		return client.MergeFrom(before)
	}
	return client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
}

func remove(object client.Object) write {
	return func(ctx context.Context, c client.Client) error {
		err := c.Delete(ctx, object)
		object.SetResourceVersion("")
		return err
	}
}

// release removes the finalizers.
func release(object client.Object) write {
	return patch(object, func() { object.SetFinalizers(nil) })
}

// floorInfo and floorConditions are as large as those of a provisioned Bucket.
func floorInfo(name string) map[string]string {
	return map[string]string{"COSI_PROTOCOL": "S3", "BUCKET_NAME": name, "AWS_ENDPOINT_URL": "https://s3.memory.example", "AWS_DEFAULT_REGION": "memory-1"}
}

func floorConditions() []metav1.Condition {
	var all []metav1.Condition
	for _, name := range []string{cosiapi.ConditionResourcesValidated, cosiapi.ConditionProvisioned, cosiapi.ConditionProvisionFailed} {
		all = append(all, metav1.Condition{
			Type: name, Status: metav1.ConditionUnknown, Reason: "Floor", Message: "The last call to the driver succeeded", LastTransitionTime: metav1.Now(),
		})
	}
	return all
}

// floor performs a move with pairs of the floor, and measures it in the same way as do.
func (s *system) floor(ctx context.Context, m move, pairs []*floorPair, single bool) (timing, error) {
	if single {
		return s.singleFloor(ctx, m, pairs)
	}
	asked, took := make([][2]time.Time, len(pairs)), make([][2]time.Duration, len(pairs))
	writes := make([][2][]write, len(pairs))
	queue := make(chan int, len(pairs))
	group, inGroup := errgroup.WithContext(ctx)
	for range floorWorkers {
		group.Go(func() error {
			for i := range queue {
				for n, rest := range writes[i] {
					if err := s.write(inGroup, rest[1:]); err != nil {
						return err
					}
					took[i][n] = time.Since(asked[i][n])
				}
			}
			return nil
		})
	}
	began := time.Now()
	err := inTurns(inGroup, len(pairs), func(ctx context.Context, i int) error {
		for n, k := range m.order {
			asked[i][n], writes[i][n] = time.Now(), pairs[i].writes(m, k)
			if err := s.write(ctx, writes[i][n][:1]); err != nil {
				return err
			}
		}
		queue <- i
		return nil
	})
	t := timing{asked: time.Since(began)}
	close(queue)
	err = errors.Join(err, group.Wait())
	t.done = time.Since(began)
	for _, of := range took {
		for n, k := range m.order {
			t.took(k, of[n])
		}
	}
	return t, err
}

func (s *system) singleFloor(ctx context.Context, m move, pairs []*floorPair) (timing, error) {
	var t timing
	for _, p := range pairs {
		for _, k := range m.order {
			asked := time.Now()
			if err := s.write(ctx, p.writes(m, k)); err != nil {
				return t, err
			}
			t.took(k, time.Since(asked))
		}
		if err := wait(ctx, pause); err != nil {
			return t, err
		}
	}
	return t, nil
}

func (s *system) write(ctx context.Context, writes []write) error {
	for _, one := range writes {
		if err := one(ctx, s.bare); err != nil {
			return fmt.Errorf("write an object for the floor: %w", err)
		}
	}
	return nil
}
