// SPDX-License-Identifier: Apache-2.0

package deploy_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/cooper-cosi/cooper/deploy"
	"github.com/cooper-cosi/cooper/internal/preflight"
)

// TestRolesOfANamespacedSidecar verifies that a sidecar that serves some namespaces has exactly the same
// permissions outside of them as the role for all namespaces grants there.
func TestRolesOfANamespacedSidecar(t *testing.T) {
	t.Parallel()
	roles := clusterRoles(t)
	for role, resources := range map[string][]string{
		deploy.SidecarBucketsRole: {
			"objectstorage.k8s.io/buckets", "objectstorage.k8s.io/buckets/status", "cooper.dev/buckets",
			"admissionregistration.k8s.io/validatingadmissionpolicies", "admissionregistration.k8s.io/validatingadmissionpolicybindings",
		},
		deploy.SidecarEventsRole: {"events.k8s.io/events"},
	} {
		want := slices.DeleteFunc(slices.Clone(roles[deploy.SidecarRole]), func(right string) bool {
			_, resource, _ := strings.Cut(right, " ")
			return !slices.Contains(resources, resource)
		})
		if diff := cmp.Diff(want, roles[role]); diff != "" {
			t.Errorf("%s (-rules of %s +rules of it):\n%s", role, deploy.SidecarRole, diff)
		}
	}
}

// TestPoliciesAreKnown compares the policies in the manifests with those that doctor, check and the sidecar
// look for.
func TestPoliciesAreKnown(t *testing.T) {
	t.Parallel()
	policies, err := deploy.Policies()
	if err != nil {
		t.Fatal(err)
	}
	roles, err := deploy.RBAC()
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(policies, roles)
	installed := map[string][]string{}
	for _, manifest := range policies {
		for document := range strings.SplitSeq(string(manifest), "\n---\n") {
			object := metav1.PartialObjectMetadata{}
			if err := yaml.Unmarshal([]byte(document), &object); err != nil {
				t.Fatal(err)
			}
			installed[object.Kind] = append(installed[object.Kind], object.Name)
		}
	}
	want := slices.Sorted(slices.Values(preflight.Policies()))
	for _, kind := range []string{"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"} {
		if diff := cmp.Diff(want, slices.Sorted(slices.Values(installed[kind]))); diff != "" {
			t.Errorf("%s (-known +installed):\n%s", kind, diff)
		}
	}
}

// TestNoRoleGrantsEverything rejects wildcards and permissions for privilege escalation in all roles.
func TestNoRoleGrantsEverything(t *testing.T) {
	t.Parallel()
	for role, rights := range clusterRoles(t) {
		for _, right := range rights {
			verb, resource, _ := strings.Cut(right, " ")
			if strings.Contains(right, "*") || slices.Contains([]string{"escalate", "bind", "impersonate"}, verb) ||
				strings.HasPrefix(resource, "rbac.") || slices.Contains([]string{"/pods", "/pods/exec", "/serviceaccounts/token"}, resource) {
				t.Errorf("%s lets its holder %s", role, right)
			}
		}
	}
}

// clusterRoles returns the sorted permissions of each role in RBAC, as "verb group/resource".
func clusterRoles(t *testing.T) map[string][]string {
	t.Helper()
	manifests, err := deploy.RBAC()
	if err != nil {
		t.Fatal(err)
	}
	roles := map[string][]string{}
	for name, manifest := range manifests {
		for document := range strings.SplitSeq(string(manifest), "\n---\n") {
			role := rbacv1.ClusterRole{} // a Role has the same fields
			if err := yaml.Unmarshal([]byte(document), &role); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, rule := range role.Rules {
				for _, group := range rule.APIGroups {
					for _, resource := range rule.Resources {
						for _, verb := range rule.Verbs {
							roles[role.Name] = append(roles[role.Name], verb+" "+group+"/"+resource)
						}
					}
				}
			}
			slices.Sort(roles[role.Name])
		}
	}
	if len(roles[deploy.SidecarRole]) == 0 {
		t.Fatalf("the test is blind: %v", roles)
	}
	return roles
}

// TestMatchConditionsCheckRightsLast requires that a match condition which checks a permission is the only
// one of its policy. The API server evaluates all match conditions, even after a false one, and a permission
// check searches the role bindings on each request.
func TestMatchConditionsCheckRightsLast(t *testing.T) {
	t.Parallel()
	policies, err := deploy.Policies()
	if err != nil {
		t.Fatal(err)
	}
	for _, manifest := range policies {
		for document := range strings.SplitSeq(string(manifest), "\n---\n") {
			policy := admissionregistrationv1.ValidatingAdmissionPolicy{}
			if err := yaml.Unmarshal([]byte(document), &policy); err != nil {
				t.Fatal(err)
			}
			for _, condition := range policy.Spec.MatchConditions {
				if strings.Contains(condition.Expression, "authorizer.") && len(policy.Spec.MatchConditions) > 1 {
					t.Errorf("policy %s: the condition %s checks a right; join the conditions with &&", policy.Name, condition.Name)
				}
			}
		}
	}
}
