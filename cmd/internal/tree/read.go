// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
)

// Objects are the objects in the cluster that the user may read.
type Objects struct {
	Claims        map[client.ObjectKey]*cosiapi.BucketClaim
	Accesses      map[client.ObjectKey]*cosiapi.BucketAccess
	Buckets       map[string]*cosiapi.Bucket
	BucketClasses map[string]*cosiapi.BucketClass
	AccessClasses map[string]*cosiapi.BucketAccessClass
	Secrets       map[client.ObjectKey]*Secret
	// Leases are the sidecars' Leases by driver name.
	Leases map[string]*coordinationv1.Lease
	// Unread has a message for each kind that the user may not read.
	Unread map[string]string
	// System is the namespace of the Leases.
	System string
	// Now is the current time in the cluster.
	Now time.Time
}

// A Secret holds the parts of a Secret that may be shown.
type Secret struct {
	// Keys are the sorted names of its keys.
	Keys []string
	// Owner is the UID of the owner; empty without one.
	Owner   types.UID
	Created metav1.Time
}

// Query selects what to read.
type Query struct {
	// Namespaces are the namespaces of the claims and accesses to read; metav1.NamespaceAll means all.
	Namespaces []string
	// Buckets are the names of Buckets to read in addition to those of the claims.
	Buckets []string
	// System is the namespace of the sidecars' Leases.
	System string
	// Now is the current time in the cluster.
	Now time.Time
}

// Read reads the objects that the client's permissions allow. It returns an error if the client may not list
// claims and accesses. Unread lists other kinds that may not be read.
func Read(ctx context.Context, c client.Reader, q Query) (*Objects, error) {
	o := &Objects{
		Claims: map[client.ObjectKey]*cosiapi.BucketClaim{}, Accesses: map[client.ObjectKey]*cosiapi.BucketAccess{},
		Buckets: map[string]*cosiapi.Bucket{}, BucketClasses: map[string]*cosiapi.BucketClass{}, AccessClasses: map[string]*cosiapi.BucketAccessClass{},
		Secrets: map[client.ObjectKey]*Secret{}, Leases: map[string]*coordinationv1.Lease{}, Unread: map[string]string{},
		System: q.System, Now: q.Now,
	}
	namespaces := slices.Clone(q.Namespaces)
	for _, name := range q.Buckets {
		if err := o.readBucket(ctx, c, name); err != nil {
			return nil, err
		}
		if bucket := o.Buckets[name]; bucket != nil {
			namespaces = append(namespaces, bucket.Spec.BucketClaimRef.Namespace)
		}
	}
	slices.Sort(namespaces)
	for _, namespace := range slices.Compact(namespaces) {
		if err := o.readNamespace(ctx, c, namespace); err != nil {
			return nil, err
		}
	}
	if err := o.readBuckets(ctx, c, slices.Contains(namespaces, metav1.NamespaceAll)); err != nil {
		return nil, err
	}
	for _, read := range []func(context.Context, client.Reader) error{o.readClasses, o.readSecrets, o.readLeases} {
		if err := read(ctx, c); err != nil {
			return nil, err
		}
	}
	return o, nil
}

func (o *Objects) readNamespace(ctx context.Context, c client.Reader, namespace string) error {
	claims, accesses := &cosiapi.BucketClaimList{}, &cosiapi.BucketAccessList{}
	for _, list := range []client.ObjectList{claims, accesses} {
		err := c.List(ctx, list, client.InNamespace(namespace))
		if meta.IsNoMatchError(err) {
			return fmt.Errorf("this cluster has no COSI %s: an administrator must install its CustomResourceDefinitions: %w", cosiapi.Version, err)
		}
		if err != nil {
			return fmt.Errorf("list claims and accesses: %w", err)
		}
	}
	for i := range claims.Items {
		o.Claims[client.ObjectKeyFromObject(&claims.Items[i])] = &claims.Items[i]
	}
	for i := range accesses.Items {
		o.Accesses[client.ObjectKeyFromObject(&accesses.Items[i])] = &accesses.Items[i]
	}
	return nil
}

// unreadable records that the user may not read a kind, and returns any other error.
func (o *Objects) unreadable(kind string, err error) error {
	if apierrors.IsForbidden(err) {
		o.Unread[kind] = unreadableText(kind)
		return nil
	}
	if err != nil {
		return fmt.Errorf("read objects of kind %s: %w", kind, err)
	}
	return nil
}

func unreadableText(kind string) string {
	switch kind {
	case "Lease":
		return "You are not allowed to read its Lease. An administrator can check whether its sidecar runs."
	case KindBucket:
		return "You are not allowed to read Buckets, which are cluster-scoped. Your claim repeats the conditions of its Bucket."
	default:
		return fmt.Sprintf("You are not allowed to read objects of kind %s.", kind)
	}
}

func (o *Objects) readClasses(ctx context.Context, c client.Reader) error {
	buckets, accesses := &cosiapi.BucketClassList{}, &cosiapi.BucketAccessClassList{}
	if err := o.unreadable("BucketClass", c.List(ctx, buckets)); err != nil {
		return err
	}
	if err := o.unreadable("BucketAccessClass", c.List(ctx, accesses)); err != nil {
		return err
	}
	for i := range buckets.Items {
		o.BucketClasses[buckets.Items[i].Name] = &buckets.Items[i]
	}
	for i := range accesses.Items {
		o.AccessClasses[accesses.Items[i].Name] = &accesses.Items[i]
	}
	return nil
}

// readBuckets lists all Buckets if all namespaces are selected. Otherwise it gets those of the claims,
// because a namespace uses few of the Buckets in a cluster.
func (o *Objects) readBuckets(ctx context.Context, c client.Reader, all bool) error {
	if all {
		list := &cosiapi.BucketList{}
		err := c.List(ctx, list)
		for i := range list.Items {
			o.Buckets[list.Items[i].Name] = &list.Items[i]
		}
		return o.unreadable(KindBucket, err)
	}
	for _, claim := range o.Claims {
		if name := bucketName(claim); name != "" && o.Buckets[name] == nil && o.Unread[KindBucket] == "" {
			if err := o.readBucket(ctx, c, name); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *Objects) readBucket(ctx context.Context, c client.Reader, name string) error {
	if len(content.IsPathSegmentName(name)) > 0 { // claims may contain invalid names
		return nil
	}
	bucket := &cosiapi.Bucket{}
	err := c.Get(ctx, client.ObjectKey{Name: name}, bucket)
	if err == nil {
		o.Buckets[name] = bucket
	}
	return o.unreadable(KindBucket, client.IgnoreNotFound(err))
}

// readSecrets reads the Secrets that accesses name, and discards their values.
func (o *Objects) readSecrets(ctx context.Context, c client.Reader) error {
	for key, access := range o.Accesses {
		for _, claim := range access.Spec.BucketClaims {
			name := client.ObjectKey{Namespace: key.Namespace, Name: claim.AccessSecretName}
			secret := &corev1.Secret{}
			err := c.Get(ctx, name, secret)
			if err == nil {
				o.Secrets[name] = shown(secret)
			}
			if err := o.unreadable(KindSecret, client.IgnoreNotFound(err)); err != nil || o.Unread[KindSecret] != "" {
				return err
			}
		}
	}
	return nil
}

func shown(secret *corev1.Secret) *Secret {
	s := &Secret{Keys: slices.Sorted(maps.Keys(secret.Data)), Created: secret.CreationTimestamp, Owner: types.UID(secret.Annotations[cosiapi.AccessUIDAnnotation])}
	if owner := metav1.GetControllerOf(secret); owner != nil {
		s.Owner = owner.UID
	}
	return s
}

// Drivers returns the sorted names of all drivers that objects and classes name.
func (o *Objects) Drivers() []string {
	names := map[string]bool{}
	for _, class := range o.BucketClasses {
		names[class.Spec.DriverName] = true
	}
	for _, class := range o.AccessClasses {
		names[class.Spec.DriverName] = true
	}
	for _, bucket := range o.Buckets {
		names[bucket.Spec.DriverName] = true
	}
	for _, access := range o.Accesses {
		names[access.Status.DriverName] = true
	}
	delete(names, "")
	return slices.Sorted(maps.Keys(names))
}

func (o *Objects) readLeases(ctx context.Context, c client.Reader) error {
	for _, driver := range o.Drivers() {
		lease := &coordinationv1.Lease{}
		err := c.Get(ctx, client.ObjectKey{Namespace: o.System, Name: cosiapi.LeaseNameFor(driver)}, lease)
		if err == nil {
			o.Leases[driver] = lease
		}
		if err := o.unreadable("Lease", client.IgnoreNotFound(err)); err != nil || o.Unread["Lease"] != "" {
			return err
		}
	}
	return nil
}
