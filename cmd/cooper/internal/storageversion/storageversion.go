// SPDX-License-Identifier: Apache-2.0

// Package storageversion rewrites all objects of Cooper's CRDs in the current storage version, and then
// removes the other versions from status.storedVersions. A later release can then remove those versions from
// the CRDs. The package changes no field of an object.
package storageversion

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/pager"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cooper-cosi/cooper/cmd/internal/crds"
)

// Options configure Migrate.
type Options struct {
	// Version is the storage version that every CRD must already have, such as v1beta1.
	Version string
	// PageSize is the number of objects in one list request.
	PageSize int64
	// Out receives a line for each CRD.
	Out io.Writer
}

// Migrate rewrites all objects in the storage version o.Version and sets status.storedVersions of the CRDs to
// that version only. It changes nothing unless all CRDs store that version. It skips CRDs that are done, so
// it can be repeated after an error. It returns an error if an object was not rewritten;
// status.storedVersions of its CRD is then unchanged.
func Migrate(ctx context.Context, config *rest.Config, o Options) error {
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		return fmt.Errorf("register the API types: %w", err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("cannot reach the API server: %w", err)
	}
	found, err := read(ctx, c, o.Version)
	if err != nil {
		return err
	}
	var problems []error
	for _, crd := range found {
		if slices.Equal(crd.Status.StoredVersions, []string{o.Version}) {
			fmt.Fprintf(o.Out, "%s: nothing to do, all objects are stored in %s\n", crd.Name, o.Version)
			continue
		}
		if err := migrate(ctx, c, crd, o); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", crd.Name, err))
		}
	}
	return errors.Join(problems...)
}

// read returns Cooper's CRDs in a cluster, or an error if one does not store the version.
func read(ctx context.Context, c client.Client, version string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	ours, err := crds.Ours()
	if err != nil {
		return nil, fmt.Errorf("read the CRDs of this release: %w", err)
	}
	var problems []error
	for _, crd := range ours {
		if err := c.Get(ctx, client.ObjectKey{Name: crd.Name}, crd); err != nil {
			return nil, fmt.Errorf("read CustomResourceDefinition %s: %w", crd.Name, err)
		}
		storage := slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Storage })
		if stored := crd.Spec.Versions[storage].Name; stored != version {
			problems = append(problems, fmt.Errorf("the storage version of %s is %s, not %s: install the CRDs of a release that stores %s first, or set --storage-version",
				crd.Name, stored, version, version))
		}
	}
	return ours, errors.Join(problems...)
}

// migrate rewrites the objects of one CRD and then updates its status.
func migrate(ctx context.Context, c client.Client, crd *apiextensionsv1.CustomResourceDefinition, o Options) error {
	kind := schema.GroupVersionKind{Group: crd.Spec.Group, Version: o.Version, Kind: crd.Spec.Names.Kind}
	rewritten := 0
	var problems []error
	list := func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
		page := &metav1.PartialObjectMetadataList{}
		page.SetGroupVersionKind(kind.GroupVersion().WithKind(crd.Spec.Names.ListKind))
		return page, c.List(ctx, page, &client.ListOptions{Raw: &opts, Limit: opts.Limit, Continue: opts.Continue})
	}
	all := pager.New(list) // continues after an expired continue token
	all.PageSize = o.PageSize
	err := all.EachListItem(ctx, metav1.ListOptions{}, func(item runtime.Object) error {
		object := item.(*metav1.PartialObjectMetadata) //nolint:forcetypeassert // the pager returns PartialObjectMetadata
		object.SetGroupVersionKind(kind)
		if err := rewrite(ctx, c, object); err != nil {
			problems = append(problems, fmt.Errorf("rewrite %s: %w", client.ObjectKeyFromObject(object), err))
		} else {
			rewritten++
		}
		return ctx.Err()
	})
	if err := errors.Join(append(problems, err)...); err != nil {
		return fmt.Errorf("%w\nstatus.storedVersions is still %q", err, crd.Status.StoredVersions)
	}
	// The patch requires the resourceVersion from before the first object was rewritten. If the CRD has
	// changed since, objects may have been stored in another version.
	crd.Status.StoredVersions = []string{o.Version}
	if err := c.Status().Update(ctx, crd); err != nil {
		return fmt.Errorf("write status.storedVersions: %w; run this command again", err)
	}
	fmt.Fprintf(o.Out, "%s: rewrote %d objects in %s\n", crd.Name, rewritten, o.Version)
	return nil
}

// rewrite makes the API server store an object again. A patch without changes causes a write if and only if
// the stored bytes differ, which is the case for another version.
func rewrite(ctx context.Context, c client.Client, object *metav1.PartialObjectMetadata) error {
	err := c.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte("{}")))
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // deleted, or already rewritten in the storage version
	}
	return err //nolint:wrapcheck // the caller adds the object's name
}
