// SPDX-License-Identifier: Apache-2.0

package crds

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/deploy"
	"github.com/cooper-cosi/cooper/internal/preflight"
)

// Options configure Check.
type Options struct {
	// Replace allows Cooper's CRDs to replace a foreign v1alpha2.
	Replace bool
	// Policies also reports to Out, if Cooper's CRDs are installed, missing admission policies and objects that wait
	// for a sidecar of an earlier version.
	Policies bool
	// Out receives the differences of each CRD that is not Cooper's.
	Out io.Writer
}

// Check returns an error if Cooper's CRDs must not be installed in a cluster. This is the case if the cluster
// has foreign CRDs that the user has not allowed Cooper to replace, or that cannot be replaced. Check
// examines all CRDs before it returns, and writes nothing.
func Check(ctx context.Context, config *rest.Config, o Options) error {
	scheme := runtime.NewScheme()
	if err := errors.Join(apiextensionsv1.AddToScheme(scheme), admissionv1.AddToScheme(scheme), cosiapi.AddToScheme(scheme)); err != nil {
		return fmt.Errorf("register the API types: %w", err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("cannot reach the API server: %w", err)
	}
	ours, err := Ours()
	if err != nil {
		return err
	}
	var found []finding
	for _, crd := range ours {
		there := &apiextensionsv1.CustomResourceDefinition{}
		err := c.Get(ctx, client.ObjectKeyFromObject(crd), there)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read CustomResourceDefinition %s: %w", crd.Name, err)
		}
		f := compare(there, crd)
		if f.generation == Upstream && there.Spec.Names.Kind == "BucketAccessClass" {
			if f.restricted, err = restricted(ctx, c); err != nil {
				return err
			}
		}
		found = append(found, f)
	}
	for _, f := range found {
		fmt.Fprint(o.Out, f)
	}
	if o.Policies && slices.ContainsFunc(found, func(f finding) bool { return f.generation == Cooper }) {
		reportPolicies(ctx, c, o.Out)
		reportWaiting(ctx, c, o.Out)
	}
	return verdict(found, o.Replace)
}

// reportPolicies reports which admission policies are missing. This does not prevent an installation, which
// creates them.
func reportPolicies(ctx context.Context, c client.Client, out io.Writer) {
	missing, err := preflight.MissingPolicies(ctx, c, preflight.Policies()...)
	switch {
	case err != nil:
		fmt.Fprintf(out, "cannot check the admission policies: %v\n", err)
	case len(missing) > 0:
		fmt.Fprintf(out, "admission policies are missing or do not deny requests: %s\n  to install them, run kubectl apply --server-side -k deploy\n", strings.Join(missing, ", "))
	}
}

// reportWaiting reports the Buckets and BucketAccesses that a sidecar of an earlier version requested from a driver of
// another generation, and whose IDs are unknown. cosi-driver-adapter provisions them again by the same names. If they
// are deleted before, without that sidecar, an administrator must complete the deletion.
func reportWaiting(ctx context.Context, c client.Client, out io.Writer) {
	buckets, accesses := &cosiapi.BucketList{}, &cosiapi.BucketAccessList{}
	for _, list := range []client.ObjectList{buckets, accesses} {
		err := c.List(ctx, list)
		if err == nil || meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
			continue
		}
		fmt.Fprintf(out, "cannot check for objects that wait for an ID: %v\n", err)
		return
	}
	var waiting []string
	for i := range buckets.Items {
		if b := &buckets.Items[i]; b.Status.BucketID == "" && cosiapi.HasAnnotation(b, cosiapi.AskedForAnnotation) {
			waiting = append(waiting, "Bucket "+b.Name)
		}
	}
	for i := range accesses.Items {
		if a := &accesses.Items[i]; a.Status.AccountID == "" && a.Status.Cleanup == cosiapi.CleanupPending {
			waiting = append(waiting, "BucketAccess "+a.Namespace+"/"+a.Name)
		}
	}
	if len(waiting) > 0 {
		fmt.Fprintf(out, "objects wait for the ID of a driver of COSI v1alpha1 or of the upstream project: %s\n"+
			"  before you upgrade the sidecar, wait until they have an ID; do not delete them with a later sidecar before cosi-driver-adapter has provisioned them\n",
			strings.Join(waiting, ", "))
	}
}

// Ours returns the CRDs of this version of Cooper, sorted by name.
func Ours() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	manifests, err := deploy.CRDs()
	if err != nil {
		return nil, err
	}
	all := make([]*apiextensionsv1.CustomResourceDefinition, 0, len(manifests))
	for _, name := range slices.Sorted(maps.Keys(manifests)) {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(manifests[name], crd); err != nil {
			return nil, fmt.Errorf("decode the embedded CRD %s: %w", name, err)
		}
		all = append(all, crd)
	}
	return all, nil
}

// A finding is the comparison of a CRD in a cluster with Cooper's.
type finding struct {
	name       string
	generation Generation
	// lost are the fields that Cooper's CRD lacks, gained those that it adds.
	lost, gained []string
	// stored are the versions in status.storedVersions that Cooper's CRD lacks.
	stored []string
	// restricted are BucketAccessClasses that would allow more than before.
	restricted []string
}

func compare(there, ours *apiextensionsv1.CustomResourceDefinition) finding {
	f := finding{name: there.Name, generation: Of(there), lost: only(fields(there), fields(ours)), gained: only(fields(ours), fields(there))}
	for _, version := range there.Status.StoredVersions {
		if versionOf(ours, version) == nil {
			f.stored = append(f.stored, version)
		}
	}
	return f
}

// String returns the differences, one per line. It is empty for Cooper's own CRD.
func (f finding) String() string {
	if f.generation == Cooper && len(f.stored) == 0 {
		return ""
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s is %s\n", f.name, f.generation)
	for _, line := range []struct {
		what string
		list []string
	}{
		{"fields that Cooper's CRD lacks", f.lost},
		{"fields that only Cooper's CRD has", f.gained},
		{"stored versions that Cooper's CRD lacks", f.stored},
	} {
		if len(line.list) > 0 {
			fmt.Fprintf(&text, "  %s: %s\n", line.what, strings.Join(line.list, ", "))
		}
	}
	if len(f.lost)+len(f.gained) == 0 {
		fmt.Fprintln(&text, "  no field differs")
	}
	return text.String()
}

// verdict decides for all CRDs together.
func verdict(found []finding, replace bool) error {
	var old, versions, foreign, classes []string
	for _, f := range found {
		switch {
		case len(f.stored) > 0:
			old, versions = append(old, f.name), append(versions, f.stored...)
		case f.generation != Cooper:
			foreign = append(foreign, f.name)
		}
		classes = append(classes, f.restricted...)
	}
	switch {
	case len(old) > 0:
		slices.Sort(versions)
		return fmt.Errorf("cannot install Cooper's CRDs, because there are objects of %s: %s. First migrate objects of v1alpha1 (docs/howto/migrate-from-v1alpha1.md), "+
			"and rewrite objects of other versions with cooper migrate-storage (docs/howto/upgrade.md)",
			strings.Join(slices.Compact(versions), ", "), strings.Join(old, ", "))
	case len(foreign) > 0 && !replace:
		return fmt.Errorf("cannot install Cooper's CRDs, because these CustomResourceDefinitions are not Cooper's: %s. To replace them, read about the effect on "+
			"their objects in docs/reference/upstream.md, stop the controller and the sidecars that serve them, and set --replace-crds", strings.Join(foreign, ", "))
	case len(classes) > 0:
		return fmt.Errorf("cannot install Cooper's CRDs, because these BucketAccessClasses would allow access modes that they now disallow: %s. "+
			"Delete them, and after the installation create them again with Cooper's field disallowedBucketAccessModes",
			strings.Join(classes, ", "))
	default:
		return nil
	}
}

// restricted returns the BucketAccessClasses of the upstream project that disallow access modes, in a field
// that Cooper's CRD would drop.
func restricted(ctx context.Context, c client.Client) ([]string, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(cosiapi.GroupVersion().WithKind("BucketAccessClassList"))
	if err := c.List(ctx, list); err != nil {
		return nil, fmt.Errorf("list BucketAccessClasses: %w", err)
	}
	var names []string
	for _, class := range list.Items {
		modes, _, err := unstructured.NestedSlice(class.Object, "spec", "featureOptions", "disallowedBucketAccessModes")
		if err != nil || len(modes) > 0 {
			names = append(names, class.GetName())
		}
	}
	return names, nil
}
