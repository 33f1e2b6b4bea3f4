// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"encoding/base64"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/identity"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/policy"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/store"
)

// The versions of allow policies: 1 has no conditions, 3 may have ("Allow policies", "Versions").
const (
	plainVersion       = 1
	conditionalVersion = 3
)

// policyDocument is an allow policy as it travels.
type policyDocument struct {
	Kind       string           `json:"kind,omitempty"`
	ResourceID string           `json:"resourceId,omitempty"`
	Version    int              `json:"version"`
	ETag       string           `json:"etag,omitempty"`
	Bindings   []policy.Binding `json:"bindings,omitempty"`
}

func policyETag(p policy.Policy) string {
	return base64.StdEncoding.EncodeToString([]byte("p" + strconv.FormatUint(p.Sequence, 10)))
}

// show returns a policy for a reader who requested a version.
func (a *API) show(p policy.Policy, requested int64) policyDocument {
	out := policyDocument{Version: plainVersion, ETag: policyETag(p), Bindings: slices.Clone(p.Bindings)}
	switch {
	case p.Conditional() && requested >= conditionalVersion:
		out.Version = conditionalVersion
	case p.Conditional():
		out.Bindings = p.WithoutConditions()
	}
	gone := a.dir.Gone(p)
	if len(gone) == 0 {
		return out
	}
	for i, b := range out.Bindings {
		members := slices.Clone(b.Members)
		for j, m := range members {
			if now := gone[m]; now != "" {
				members[j] = now
			}
		}
		out.Bindings[i].Members = members
	}
	return out
}

// requestedVersion checks a requested policy version; 0 is none.
func requestedVersion(v int64) error {
	if v != 0 && v != plainVersion && v != conditionalVersion {
		return gcserr.Invalid.Say("Requested policy version must be 0, 1 or 3; got %d.", v)
	}
	return nil
}

// setting is a new policy on its way in.
type setting struct {
	doc  policyDocument
	uids map[string]string
	// onBucket distinguishes a bucket's policy from that of a project or a service account.
	onBucket bool
}

// accept checks a new policy as far as it does not depend on the old one.
func (a *API) accept(doc policyDocument, onBucket bool) (setting, error) {
	s := setting{doc: doc, onBucket: onBucket}
	if err := requestedVersion(int64(doc.Version)); err != nil {
		return s, err
	}
	members := 0
	if err := checkVariants(s.doc.Bindings); err != nil {
		return s, err
	}
	for i := range s.doc.Bindings {
		b := &s.doc.Bindings[i]
		if err := a.acceptBinding(b, doc.Version, onBucket); err != nil {
			return s, err
		}
		members += len(b.Members)
	}
	const maxMembers = 1500
	if members > maxMembers {
		return s, gcserr.Invalid.Say("The number of members in the policy (%d) is larger than the maximum allowed size %d.", members, maxMembers)
	}
	uids, missing := a.dir.UIDs(s.doc.Bindings)
	if missing != "" {
		return s, gcserr.Invalid.Say("Service account %s does not exist.", missing)
	}
	s.uids = uids
	return s, nil
}

// maxVariants is how often a policy may give a role to a member under different conditions ("Quotas and limits" of IAM).
const maxVariants = 20

func checkVariants(bindings []policy.Binding) error {
	seen := map[[2]string]map[string]bool{}
	for _, b := range bindings {
		if b.Condition == nil {
			continue
		}
		for _, m := range b.Members {
			key := [2]string{b.Role, m}
			if seen[key] == nil {
				seen[key] = map[string]bool{}
			}
			seen[key][b.Condition.Expression] = true
			if len(seen[key]) > maxVariants {
				return gcserr.Invalid.Say("The policy gives role %s to %s under more than %d condition expressions.", b.Role, m, maxVariants)
			}
		}
	}
	return nil
}

// memberForm matches the formats in "Principal identifiers": accounts, workloads, workforces and deleted principals.
// serviceAccount:PROJECT.svc.id.goog[NAMESPACE/NAME] is the older format for a Kubernetes service account.
var memberForm = regexp.MustCompile(`^(allUsers|allAuthenticatedUsers|(user|group|domain|serviceAccount|projectOwner|projectEditor|projectViewer):[^:/?\[\]]+` +
	`|serviceAccount:[a-z0-9-]+\.svc\.id\.goog\[[a-z0-9-]+/[a-z0-9.-]+\]` +
	`|(deleted:)?principal://iam\.googleapis\.com/(projects/[0-9]+/locations/global/workloadIdentityPools|locations/global/workforcePools)/[^/]+/subject/.+` +
	`|principalSet://iam\.googleapis\.com/(projects/[0-9]+/locations/global/workloadIdentityPools|locations/global/workforcePools)/[^/]+/.+` +
	`|principalSet://cloudresourcemanager\.googleapis\.com/(projects|folders|organizations)/[0-9]+(/type/[A-Za-z]+)?` +
	`|deleted:(user|group|serviceAccount):[^:?]+\?uid=[0-9]+)$`)

func (a *API) acceptBinding(b *policy.Binding, version int, onBucket bool) error {
	switch {
	case b.Role == "":
		return gcserr.Invalid.Say("A binding needs a role.")
	case !a.dir.RoleExists(b.Role):
		return gcserr.Invalid.Say("Role %s is not supported for this resource.", b.Role)
	case onBucket && policy.OnlyOnProjects(b.Role), !onBucket && policy.OnlyOnBuckets(b.Role):
		return gcserr.Invalid.Say("Role %s is not supported for this resource.", b.Role)
	case b.Condition != nil && version != conditionalVersion:
		return gcserr.Invalid.Say("The version of a policy with conditions must be at least %d.", conditionalVersion)
	case b.Condition != nil && (strings.HasPrefix(b.Role, "roles/storage.legacy") || basicRole(b.Role)):
		return gcserr.Invalid.Say("Conditions cannot be set on role %s.", b.Role)
	case b.Condition != nil && isPublic(b.Members):
		return gcserr.Invalid.Say("Conditions cannot be set on bindings with allUsers or allAuthenticatedUsers.")
	}
	for _, m := range b.Members {
		if !memberForm.MatchString(m) {
			return gcserr.Invalid.Say("Invalid member: %q.", m)
		}
	}
	if b.Condition == nil {
		return nil
	}
	if err := b.Condition.Validate(); err != nil {
		return gcserr.Invalid.Say("Invalid condition: %v", err)
	}
	return nil
}

func basicRole(role string) bool {
	return slices.Contains([]string{"roles/owner", "roles/editor", "roles/viewer"}, role)
}

// onto returns the new policy based on the old one, unless it was changed concurrently.
func (s *setting) onto(old policy.Policy) (policy.Policy, error) {
	if s.doc.ETag != "" && s.doc.ETag != policyETag(old) {
		e := gcserr.Precondition
		if !s.onBucket {
			e = &gcserr.Error{Status: http.StatusConflict, Reason: "aborted", RPC: "ABORTED", Message: "There were concurrent policy changes. Please retry the whole read-modify-write with exponential backoff."}
		}
		return old, e
	}
	if s.doc.ETag != "" && old.Conditional() && s.doc.Version != conditionalVersion {
		return old, gcserr.Invalid.Say("The current policy has conditional bindings, so the new policy must have version %d.", conditionalVersion)
	}
	next := policy.Policy{Sequence: old.Sequence + 1, UIDs: s.uids}
	for _, b := range s.doc.Bindings {
		b.Members = slices.Clone(b.Members)
		slices.Sort(b.Members)
		b.Members = slices.Compact(b.Members)
		if len(b.Members) > 0 {
			next.Bindings = join(next.Bindings, b)
		}
	}
	s.keepDeleted(&next, old)
	return next, nil
}

// join adds a binding, or its members to the one of the same role and condition.
func join(bindings []policy.Binding, b policy.Binding) []policy.Binding {
	for i := range bindings {
		same := bindings[i].Role == b.Role && (bindings[i].Condition == nil) == (b.Condition == nil) && (b.Condition == nil || *bindings[i].Condition == *b.Condition)
		if same {
			members := slices.Concat(bindings[i].Members, b.Members)
			slices.Sort(members)
			bindings[i].Members = slices.Compact(members)
			return bindings
		}
	}
	return append(bindings, b)
}

// keepDeleted restores the original reference to a member that was deleted since the policy was set and is still
// named without a mark. Only policies without a mark for it get here, because accept rejects unknown accounts.
func (s *setting) keepDeleted(next *policy.Policy, old policy.Policy) {
	for i, b := range next.Bindings {
		for j, m := range b.Members {
			name, uid, ok := strings.Cut(strings.TrimPrefix(m, "deleted:"), "?uid=")
			if ok && strings.HasPrefix(m, "deleted:serviceAccount:") && old.UIDs[name] == uid && next.UIDs[name] == "" {
				next.Bindings[i].Members[j] = name
				next.UIDs[name] = uid
			}
		}
	}
}

func (c *Call) getBucketPolicy(b *store.Bucket) (any, error) {
	version, _, err := c.number("optionsRequestedPolicyVersion")
	if err != nil {
		return nil, err
	}
	return c.bucketPolicy(b, version), requestedVersion(version)
}

func (c *Call) bucketPolicy(b *store.Bucket, version int64) policyDocument {
	doc := c.api.show(b.Policy, version)
	doc.Kind, doc.ResourceID = "storage#policy", "projects/_/buckets/"+b.Name
	return doc
}

func (c *Call) setBucketPolicy(b *store.Bucket) (any, error) {
	var doc policyDocument
	if err := c.readJSON(&doc); err != nil {
		return nil, err
	}
	if err := checkBucketPolicy(b, doc.Bindings); err != nil { // before the version of the policy, as Google does
		return nil, err
	}
	s, err := c.api.accept(doc, true)
	if err != nil {
		return nil, err
	}
	next, err := c.api.store.UpdateBucket(b.Name, func(b *store.Bucket) error {
		if err := checkBucketPolicy(b, doc.Bindings); err != nil {
			return err
		}
		var err error
		b.Policy, err = s.onto(b.Policy)
		return err
	})
	if err != nil {
		return nil, err
	}
	return c.bucketPolicy(&next, conditionalVersion), nil
}

// checkBucketPolicy rejects bindings that the bucket's access configuration excludes.
func checkBucketPolicy(b *store.Bucket, bindings []policy.Binding) error {
	for _, binding := range bindings {
		switch {
		case isPublic(binding.Members) && b.Settings.IAM.PublicAccessPrevention == "enforced":
			return gcserr.Precondition.Say("The member bindings allUsers and allAuthenticatedUsers are not allowed since public access prevention is enforced.")
		case binding.Condition != nil && !b.Settings.IAM.Uniform.Enabled:
			return gcserr.Precondition.Say("To set an IAM policy with conditions on bucket %s, enable uniform bucket-level access.", b.Name)
		}
	}
	return nil
}

func (c *Call) testBucketPermissions(b *store.Bucket) (any, error) {
	out := map[string]any{"kind": "storage#testIamPermissionsResponse"}
	var granted []string
	asked := c.query["permissions"]
	if len(asked) == 0 {
		return nil, gcserr.Required.Say("Required parameter: permissions")
	}
	for _, p := range asked {
		if !strings.HasPrefix(p, "storage.") {
			return nil, gcserr.Invalid.Say("Permission %s is not valid for this resource.", p)
		}
		if c.may(p, b, "") {
			granted = append(granted, p)
		}
	}
	if len(granted) > 0 {
		out["permissions"] = granted
	}
	return out, nil
}

// policyRequest is the body of getIamPolicy, setIamPolicy and testIamPermissions outside of Cloud Storage.
type policyRequest struct {
	Policy  policyDocument `json:"policy"`
	Options struct {
		RequestedPolicyVersion int64 `json:"requestedPolicyVersion"`
	} `json:"options"`
	Permissions []string `json:"permissions"`
}

func (c *Call) getProject(p identity.Project) (any, error) {
	return map[string]any{"projectId": p.ID, "projectNumber": p.Number, "name": p.ID, "lifecycleState": "ACTIVE"}, nil
}

func (c *Call) getProjectPolicy(p identity.Project) (any, error) {
	var req policyRequest
	if err := c.readJSON(&req); err != nil {
		return nil, err
	}
	if err := requestedVersion(req.Options.RequestedPolicyVersion); err != nil {
		return nil, err
	}
	return c.api.show(p.Policy, req.Options.RequestedPolicyVersion), nil
}

func (c *Call) setProjectPolicy(p identity.Project) (any, error) {
	return c.setPolicy(func(change func(policy.Policy) (policy.Policy, error)) (policy.Policy, error) {
		return c.api.dir.SetProjectPolicy(p.ID, change)
	})
}

func (c *Call) setPolicy(set func(func(policy.Policy) (policy.Policy, error)) (policy.Policy, error)) (any, error) {
	var req policyRequest
	if err := c.readJSON(&req); err != nil {
		return nil, err
	}
	s, err := c.api.accept(req.Policy, false)
	if err != nil {
		return nil, err
	}
	next, err := set(s.onto)
	return c.api.show(next, conditionalVersion), err
}

func (c *Call) testProjectPermissions(p identity.Project) (any, error) {
	granted, err := c.granted(projectTarget(p))
	return map[string]any{"permissions": granted}, err
}

// granted returns the permissions in a request that the caller has on a resource.
func (c *Call) granted(on identity.Target) ([]string, error) {
	var req policyRequest
	if err := c.readJSON(&req); err != nil {
		return nil, err
	}
	var out []string
	for _, p := range req.Permissions {
		if c.api.dir.Allowed(c.caller, p, on) {
			out = append(out, p)
		}
	}
	return out, nil
}
