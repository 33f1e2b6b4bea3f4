// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/cmd/internal/crds"
)

// programs are substrings of the image names of v1alpha1's controller and sidecars.
var programs = []string{"objectstorage-controller", "objectstorage-sidecar"}

// A cluster is the state of the cluster that the plan is for.
type cluster struct {
	// old are the objects of v1alpha1 in the cluster. going are the kinds whose CRD is terminating. oldCRDs
	// are the resources that still store v1alpha1, newCRDs those that have v1alpha2.
	old              olds
	going            map[string]bool
	oldCRDs, newCRDs []string
	// workloads are the kubectl arguments that stop the workloads of v1alpha1. pods are the Pods that run its
	// programs.
	workloads, pods []string
	// secrets are the metadata of the Secrets in the plan, users the Pods that use them.
	secrets map[string]*metav1.PartialObjectMetadata
	users   map[string][]string
	// The objects of v1alpha2.
	buckets  map[string]*cosiapi.Bucket
	claims   map[string]*cosiapi.BucketClaim
	accesses map[string]*cosiapi.BucketAccess
	classes  map[string]*cosiapi.BucketAccessClass
}

// survey reads the state of a cluster.
func survey(ctx context.Context, c client.Client, backup olds, o Options) (*cluster, error) {
	now := &cluster{
		old: olds{}, going: map[string]bool{}, secrets: map[string]*metav1.PartialObjectMetadata{}, users: map[string][]string{},
		buckets: map[string]*cosiapi.Bucket{}, claims: map[string]*cosiapi.BucketClaim{},
		accesses: map[string]*cosiapi.BucketAccess{}, classes: map[string]*cosiapi.BucketAccessClass{},
	}
	for _, look := range []func() error{
		func() error { return now.readCRDs(ctx, c) },
		func() error { return now.readOld(ctx, c) },
		func() error { return now.readNew(ctx, c) },
		func() error { return now.readWorkloads(ctx, c) },
		func() error { return now.readSecrets(ctx, c, backup, o) },
		func() error { return now.readPods(ctx, c) },
	} {
		if err := look(); err != nil {
			return nil, err
		}
	}
	return now, nil
}

// absent reports whether an error means that the object or kind does not exist.
func absent(err error) bool { return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) }

// list reads a list. It is empty if the cluster does not have the kind.
func list(ctx context.Context, c client.Client, into client.ObjectList) error {
	if err := c.List(ctx, into); err != nil && !absent(err) {
		return fmt.Errorf("list %T: %w", into, err)
	}
	return nil
}

func (now *cluster) readCRDs(ctx context.Context, c client.Client) error {
	for _, resource := range slices.Sorted(maps.Keys(oldKinds)) {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		name := resource + "." + cosiapi.GroupName
		if err := c.Get(ctx, types.NamespacedName{Name: name}, crd); err != nil {
			if absent(err) {
				continue
			}
			return fmt.Errorf("read CustomResourceDefinition %s: %w", name, err)
		}
		both := func(version apiextensionsv1.CustomResourceDefinitionVersion) bool { return version.Name == oldVersion }
		switch generation := crds.Of(crd); {
		case generation == crds.V1alpha1:
			now.oldCRDs = append(now.oldCRDs, resource)
			now.going[oldKinds[resource]] = crd.DeletionTimestamp != nil
		case slices.ContainsFunc(crd.Spec.Versions, both):
			return fmt.Errorf("CustomResourceDefinition %s has %s and %s: each object can be read in both versions, so COSI also processes the old objects, and a deletion in either version deletes the object in both; "+
				"first stop all controllers and sidecars, and then remove %s from the CustomResourceDefinition", name, oldVersion, cosiapi.Version, cosiapi.Version)
		case generation == crds.Cooper:
			now.newCRDs = append(now.newCRDs, resource)
		default:
			return fmt.Errorf("CustomResourceDefinition %s is %s: run cooper check for the next steps", name, generation)
		}
	}
	return nil
}

func (now *cluster) readOld(ctx context.Context, c client.Client) error {
	for _, resource := range now.oldCRDs {
		found := &unstructured.UnstructuredList{}
		found.SetGroupVersionKind(schema.GroupVersionKind{Group: cosiapi.GroupName, Version: oldVersion, Kind: oldKinds[resource] + "List"})
		if err := list(ctx, c, found); err != nil {
			return err
		}
		for _, item := range found.Items {
			if err := now.old.add(item.Object); err != nil {
				return err
			}
		}
	}
	return nil
}

func (now *cluster) readNew(ctx context.Context, c client.Client) error {
	buckets, claims := &cosiapi.BucketList{}, &cosiapi.BucketClaimList{}
	accesses, classes := &cosiapi.BucketAccessList{}, &cosiapi.BucketAccessClassList{}
	for resource, into := range map[string]client.ObjectList{"buckets": buckets, "bucketclaims": claims, "bucketaccesses": accesses, "bucketaccessclasses": classes} {
		if !slices.Contains(now.newCRDs, resource) {
			continue
		}
		if err := list(ctx, c, into); err != nil {
			return err
		}
	}
	for i := range buckets.Items {
		now.buckets[buckets.Items[i].Name] = &buckets.Items[i]
	}
	for i := range claims.Items {
		now.claims[key(claims.Items[i].Namespace, claims.Items[i].Name)] = &claims.Items[i]
	}
	for i := range accesses.Items {
		now.accesses[key(accesses.Items[i].Namespace, accesses.Items[i].Name)] = &accesses.Items[i]
	}
	for i := range classes.Items {
		now.classes[classes.Items[i].Name] = &classes.Items[i]
	}
	return nil
}

// runsOld reports whether a Pod runs a program of v1alpha1.
func runsOld(pod corev1.PodSpec) bool {
	return slices.ContainsFunc(append(slices.Clone(pod.InitContainers), pod.Containers...), func(c corev1.Container) bool {
		return slices.ContainsFunc(programs, func(program string) bool { return strings.Contains(c.Image, program) })
	})
}

func (now *cluster) readWorkloads(ctx context.Context, c client.Client) error {
	deployments, sets := &appsv1.DeploymentList{}, &appsv1.StatefulSetList{}
	for _, into := range []client.ObjectList{deployments, sets} {
		if err := list(ctx, c, into); err != nil {
			return err
		}
	}
	wanted := func(replicas *int32) bool { return replicas == nil || *replicas > 0 }
	for _, d := range deployments.Items {
		if wanted(d.Spec.Replicas) && runsOld(d.Spec.Template.Spec) {
			now.workloads = append(now.workloads, fmt.Sprintf("-n %s scale deployment/%s --replicas=0", d.Namespace, d.Name))
		}
	}
	for _, s := range sets.Items {
		if wanted(s.Spec.Replicas) && runsOld(s.Spec.Template.Spec) {
			now.workloads = append(now.workloads, fmt.Sprintf("-n %s scale statefulset/%s --replicas=0", s.Namespace, s.Name))
		}
	}
	return nil
}

// readSecrets reads the metadata of each access's Secret and of its successor. The API server does not send
// their values.
func (now *cluster) readSecrets(ctx context.Context, c client.Client, backup olds, o Options) error {
	for _, access := range backup["BucketAccess"] {
		for _, name := range []string{access.Spec.SecretName, access.Spec.SecretName + o.Suffix} {
			secret := &metav1.PartialObjectMetadata{}
			secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
			err := c.Get(ctx, types.NamespacedName{Namespace: access.GetNamespace(), Name: name}, secret)
			if err != nil && !absent(err) {
				return fmt.Errorf("read the metadata of Secret %s: %w", key(access.GetNamespace(), name), err)
			}
			if err == nil {
				now.secrets[key(access.GetNamespace(), name)] = secret
			}
		}
	}
	return nil
}

func (now *cluster) readPods(ctx context.Context, c client.Client) error {
	pods := &corev1.PodList{}
	if err := list(ctx, c, pods); err != nil {
		return err
	}
	for _, pod := range pods.Items {
		if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		if runsOld(pod.Spec) {
			now.pods = append(now.pods, key(pod.Namespace, pod.Name))
		}
		for _, name := range secretsOf(pod.Spec) {
			secret := key(pod.Namespace, name)
			now.users[secret] = append(now.users[secret], pod.Name)
		}
	}
	return nil
}

// secretsOf returns the names of the Secrets that a Pod mounts or reads into variables, without duplicates.
func secretsOf(pod corev1.PodSpec) []string {
	var names []string
	for _, v := range pod.Volumes {
		if v.Secret != nil {
			names = append(names, v.Secret.SecretName)
		}
		if v.Projected == nil {
			continue
		}
		for _, source := range v.Projected.Sources {
			if source.Secret != nil {
				names = append(names, source.Secret.Name)
			}
		}
	}
	for _, c := range append(slices.Clone(pod.InitContainers), pod.Containers...) {
		for _, from := range c.EnvFrom {
			if from.SecretRef != nil {
				names = append(names, from.SecretRef.Name)
			}
		}
		for _, variable := range c.Env {
			if variable.ValueFrom != nil && variable.ValueFrom.SecretKeyRef != nil {
				names = append(names, variable.ValueFrom.SecretKeyRef.Name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// fits returns an error unless the backup contains all objects of v1alpha1 in the cluster. They are deleted
// with their CRDs.
func (now *cluster) fits(backup olds, path string) error {
	var differ []string
	for _, resource := range now.oldCRDs {
		kind := oldKinds[resource]
		for _, one := range now.old[kind] {
			saved := backup.get(kind, one.key())
			switch {
			case saved == nil:
				differ = append(differ, fmt.Sprintf("%s %s is not in the backup", kind, one.key()))
			case !now.going[kind] && saved.essence() != one.essence():
				differ = append(differ, fmt.Sprintf("%s %s differs from the backup", kind, one.key()))
			}
		}
		for _, saved := range backup[kind] {
			// Objects that were already terminating disappear once their finalizers are removed.
			if !now.going[kind] && saved.GetDeletionTimestamp() == nil && now.old.get(kind, saved.key()) == nil {
				differ = append(differ, fmt.Sprintf("%s %s no longer exists in the cluster", kind, saved.key()))
			}
		}
	}
	if len(differ) > 0 {
		return fmt.Errorf("--backup %s does not match this cluster: %s; make a new backup, or select the other cluster with --kubeconfig",
			path, strings.Join(differ, "; "))
	}
	return nil
}
