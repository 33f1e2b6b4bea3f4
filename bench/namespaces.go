// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

// floorGoes is the floor's namespace that is deleted.
const floorGoes = "floor-goes"

// namespaceGoes deletes a namespace with all its pairs, and then one with as many pairs of the floor.
func (s *system) namespaceGoes(ctx context.Context, name string, of []pair) (column, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	of = slices.DeleteFunc(slices.Clone(of), func(p pair) bool { return p.namespace != name })
	going := &phase{move: deletion, pairs: len(of)}
	err := s.measured(ctx, &going.meter, func() error {
		seen, err := s.observe(ctx)
		if err != nil {
			return err
		}
		began := time.Now()
		if err := s.deleteNamespace(ctx, name); err != nil {
			return err
		}
		for _, p := range of {
			for _, k := range []kind{access, claim} {
				when, err := seen.await(ctx, sighting{fact: gone, kind: k, of: p})
				if err != nil {
					return err
				}
				going.timing.took(k, when.Sub(began))
			}
		}
		err = s.namespaceGone(ctx, name)
		going.timing.done = time.Since(began)
		return err
	})
	if err != nil {
		return column{}, err
	}
	created, floor, err := s.floorNamespaceGoes(ctx, len(of))
	going.floor.done = floor
	figures := append(going.figures(), figure{"floor of their creation, pairs/s", float64(len(of)) / max(created, 1).Seconds()})
	for _, role := range slices.Sorted(maps.Keys(going.used)) {
		figures = append(figures, figure{role + ", MiB more than before", mebibytes(going.used[role].grown)})
	}
	return column{name: fmt.Sprintf("deletion of a namespace of %d", len(of)), figures: figures}, err
}

// floorNamespaceGoes creates n pairs of the floor in a separate namespace and deletes it. Kubernetes deletes
// the objects like Cooper's, and the bare client makes the writes of controller and sidecar for each pair
// whose access is being deleted.
func (s *system) floorNamespaceGoes(ctx context.Context, n int) (created, took time.Duration, err error) {
	if err := s.create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: floorGoes}}); err != nil {
		return 0, 0, err
	}
	pairs := make([]*floorPair, n)
	for i := range pairs {
		pairs[i] = newFloorPair(floorGoes, fmt.Sprintf("goes-%d", i))
	}
	timing, err := s.floor(ctx, creation, pairs, false)
	if err != nil {
		return timing.done, 0, err
	}
	seen, err := s.watch(ctx, floorKinds(), func(_ kind, object *unstructured.Unstructured) fact {
		if object.GetDeletionTimestamp() == nil {
			return ""
		}
		return goes
	})
	if err != nil {
		return timing.done, 0, err
	}
	slices.SortFunc(pairs, func(a, b *floorPair) int { return cmp.Compare(a.claim.Name, b.claim.Name) }) // in the order in which Kubernetes deletes them
	began := time.Now()
	if err := s.deleteNamespace(ctx, floorGoes); err != nil {
		return timing.done, 0, err
	}
	group, inGroup := errgroup.WithContext(ctx)
	group.SetLimit(floorWorkers)
	for _, p := range pairs {
		if _, err := seen.await(inGroup, sighting{fact: goes, kind: access, of: pair{namespace: floorGoes, name: p.access.Name}}); err != nil {
			return timing.done, 0, cmp.Or(group.Wait(), err)
		}
		group.Go(func() error { return s.write(inGroup, p.goes()) })
	}
	if err := group.Wait(); err != nil {
		return timing.done, 0, err
	}
	err = s.namespaceGone(ctx, floorGoes)
	return timing.done, time.Since(began), err
}

// goes returns the writes for a pair whose namespace is being deleted. A Bucket of the floor gets its
// finalizer only here, with the annotation.
func (p *floorPair) goes() []write {
	for _, object := range []client.Object{p.claim, p.access, p.secret} {
		object.SetResourceVersion("") // Kubernetes has changed it
	}
	return []write{
		release(p.secret),
		patchStatus(p.access, func() { p.access.Status.Cleanup = cosiapi.CleanupPending }),
		patch(p.access, func() { metav1.SetMetaDataAnnotation(&p.access.ObjectMeta, floorGroup+"/finished", "") }),
		patch(p.claim, func() { delete(p.claim.Annotations, floorGroup+"/mark") }),
		release(p.access),
		patch(p.bucket, func() {
			metav1.SetMetaDataAnnotation(&p.bucket.ObjectMeta, floorGroup+"/going", "")
			p.bucket.Finalizers = []string{cosiapi.ProtectionFinalizer}
		}),
		remove(p.bucket),
		release(p.claim),
		release(p.bucket),
	}
}

func (s *system) deleteNamespace(ctx context.Context, name string) error {
	if err := s.client.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
		return fmt.Errorf("delete the namespace %s: %w", name, err)
	}
	return nil
}

// namespaceGone waits until a namespace no longer exists.
func (s *system) namespaceGone(ctx context.Context, name string) error {
	return controlplane.Until(ctx, func(ctx context.Context) error {
		if err := s.client.Get(ctx, client.ObjectKey{Name: name}, &corev1.Namespace{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("namespace %s still exists, or cannot be read: %w", name, err)
		}
		return nil
	})
}
