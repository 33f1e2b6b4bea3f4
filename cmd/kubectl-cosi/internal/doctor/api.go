// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/cmd/internal/crds"
	"github.com/cooper-cosi/cooper/cmd/internal/tree"
	"github.com/cooper-cosi/cooper/internal/preflight"
)

// doInstall is the advice for missing CRDs.
const doInstall = "An administrator must install the CustomResourceDefinitions in deploy/crds; see docs/howto/deploy.md."

// crds checks the origin of the CustomResourceDefinitions and the versions that are served.
func (e *examination) crds(ctx context.Context) []finding {
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		return []finding{{state: tree.Failed, what: err.Error()}}
	}
	c, err := client.New(e.config, client.Options{Scheme: scheme})
	if err != nil {
		return []finding{{state: tree.Failed, what: fmt.Sprintf("CustomResourceDefinitions: %v.", err)}}
	}
	ours, err := crds.Ours()
	if err != nil {
		return []finding{{state: tree.Failed, what: err.Error()}}
	}
	var found []finding
	for _, crd := range ours {
		there := &apiextensionsv1.CustomResourceDefinition{}
		err := c.Get(ctx, client.ObjectKeyFromObject(crd), there)
		switch {
		case apierrors.IsForbidden(err):
			return e.versions()
		case apierrors.IsNotFound(err):
			found = append(found, finding{state: tree.Failed, what: fmt.Sprintf("CustomResourceDefinition %q: it does not exist.", crd.Name), do: doInstall})
		case err != nil:
			return []finding{{state: tree.Failed, what: fmt.Sprintf("CustomResourceDefinition %q: %v.", crd.Name, err)}}
		default:
			found = append(found, judge(there)...)
		}
	}
	if len(found) == 0 {
		found = append(found, good("CustomResourceDefinitions: all %d of %s are served and are Cooper's.", len(ours), cosiapi.Version))
	}
	return found
}

// judge returns the problems of a CustomResourceDefinition.
func judge(crd *apiextensionsv1.CustomResourceDefinition) []finding {
	what := fmt.Sprintf("CustomResourceDefinition %q: ", crd.Name)
	if generation := crds.Of(crd); generation != crds.Cooper {
		return []finding{{
			state: tree.Failed, what: what + "it is " + string(generation) + ".",
			do: "An administrator must decide which implementation serves it. cooper check shows the differences; docs/howto/migrate-from-v1alpha1.md describes the migration.",
		}}
	}
	var found []finding
	for _, version := range crd.Spec.Versions {
		if version.Name == cosiapi.Version && !version.Served {
			found = append(found, finding{state: tree.Failed, what: what + cosiapi.Version + " is not served.", do: doInstall})
		}
	}
	others := slices.DeleteFunc(slices.Clone(crd.Status.StoredVersions), func(v string) bool { return v == cosiapi.Version })
	if len(others) > 0 {
		found = append(found, finding{
			state: tree.Failed, what: what + "objects may be stored as " + strings.Join(others, ", ") + ".",
			do: "An administrator must migrate them; see docs/howto/migrate-from-v1alpha1.md.",
		})
	}
	established := func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
	}
	if !slices.ContainsFunc(crd.Status.Conditions, established) {
		found = append(found, finding{state: tree.Failed, what: what + "it is not established.", do: "An administrator must read its conditions."})
	}
	return found
}

// versions is crds for users who may not read CustomResourceDefinitions. All users may read which versions
// are served.
func (e *examination) versions() []finding {
	d, err := discovery.NewDiscoveryClientForConfig(e.config)
	if err != nil {
		return []finding{{state: tree.Failed, what: fmt.Sprintf("Versions of the API: %v.", err)}}
	}
	groups, err := d.ServerGroups()
	if err != nil {
		return []finding{{state: tree.Failed, what: fmt.Sprintf("Versions of the API: %v.", err)}}
	}
	var served []string
	for _, group := range groups.Groups {
		if group.Name == cosiapi.GroupName {
			for _, version := range group.Versions {
				served = append(served, version.Version)
			}
		}
	}
	all := strings.Join(served, ", ")
	switch {
	case !slices.Contains(served, cosiapi.Version) && len(served) > 0:
		return []finding{{
			state: tree.Failed, what: fmt.Sprintf("%s: %s is served, but not %s.", cosiapi.GroupName, all, cosiapi.Version), do: doInstall,
		}}
	case len(served) == 0:
		return []finding{{state: tree.Failed, what: fmt.Sprintf("%s: it is not served.", cosiapi.GroupName), do: doInstall}}
	default:
		return []finding{good("%s: %s is served. Only an administrator can check which implementation installed it.", cosiapi.GroupName, all)}
	}
}

// A need is a permission, and whether it is indispensable.
type need struct {
	group, resource string
	verbs           []string
	clusterWide     bool
	must            bool
	// do is the advice if it is missing.
	do string
}

func needs() []need {
	const edit = "To create claims and accesses, ask an administrator for the role edit in the namespace."
	const view = "Ask an administrator for the role view or edit in the namespace."
	const classes = "Ask an administrator for the ClusterRole cosi-view-classes, which allows you to list the classes."
	return []need{
		{group: cosiapi.GroupName, resource: "bucketclaims", verbs: []string{"get", "list", "watch"}, must: true, do: view},
		{group: cosiapi.GroupName, resource: "bucketaccesses", verbs: []string{"get", "list", "watch"}, must: true, do: view},
		{group: cosiapi.GroupName, resource: "bucketclaims", verbs: []string{"create", "delete"}, do: edit},
		{group: cosiapi.GroupName, resource: "bucketaccesses", verbs: []string{"create", "delete"}, do: edit},
		{resource: "secrets", verbs: []string{"get"}, do: edit},
		{group: cosiapi.GroupName, resource: "bucketclasses", verbs: []string{"get", "list"}, clusterWide: true, do: classes},
		{group: cosiapi.GroupName, resource: "bucketaccessclasses", verbs: []string{"get", "list"}, clusterWide: true, do: classes},
	}
}

// rights checks the permissions that a user of COSI needs.
func (e *examination) rights(ctx context.Context) []finding {
	var found []finding
	for _, n := range needs() {
		missing, err := e.missing(ctx, n)
		if err != nil {
			return []finding{{state: tree.Failed, what: fmt.Sprintf("Your permissions: %v.", err)}}
		}
		if len(missing) == 0 {
			continue
		}
		where := fmt.Sprintf("in namespace %q", e.namespace)
		if n.clusterWide {
			where = "in the cluster"
		} else if e.namespace == "" {
			where = "in all namespaces"
		}
		f := finding{state: tree.Waiting, what: fmt.Sprintf("Your permissions: you are not allowed to %s %s %s.", strings.Join(missing, ", "), n.resource, where), do: n.do}
		if n.must {
			f.state = tree.Failed
		}
		found = append(found, f)
	}
	if len(found) == 0 {
		found = append(found, good("Your permissions: you can create and read claims and accesses, and read their Secrets and the classes."))
	}
	return found
}

func (e *examination) missing(ctx context.Context, n need) ([]string, error) {
	var missing []string
	for _, verb := range n.verbs {
		review := &authorizationv1.SelfSubjectAccessReview{}
		review.Spec.ResourceAttributes = &authorizationv1.ResourceAttributes{Group: n.group, Resource: n.resource, Verb: verb}
		if !n.clusterWide {
			review.Spec.ResourceAttributes.Namespace = e.namespace
		}
		if err := e.client.Create(ctx, review); err != nil {
			return nil, fmt.Errorf("check your permissions: %w", err)
		}
		if !review.Status.Allowed {
			missing = append(missing, verb)
		}
	}
	return missing, nil
}

// policies checks for the admission policies of the installation.
func (e *examination) policies(ctx context.Context) []finding {
	missing, err := preflight.MissingPolicies(ctx, e.client, preflight.Policies()...)
	switch {
	case apierrors.IsForbidden(err):
		return []finding{{state: tree.Unknown, what: "Admission policies: you are not allowed to read them."}}
	case err != nil:
		return []finding{{state: tree.Failed, what: fmt.Sprintf("Admission policies: %v.", err)}}
	case len(missing) > 0:
		return []finding{{
			state: tree.Failed, what: fmt.Sprintf("Admission policies: %s: missing, or the bindings do not deny requests.", strings.Join(missing, ", ")),
			do: "An administrator must install them (docs/howto/deploy.md). Without them, users can remove COSI's finalizers, " +
				"sidecars are not limited to their driver, and CRDs can be deleted by accident.",
		}}
	default:
		return []finding{good("Admission policies: all %d are installed.", len(preflight.Policies()))}
	}
}
