// SPDX-License-Identifier: Apache-2.0

package iampolicy

import (
	"slices"
	"strings"
)

// Request is a request for which policies are evaluated.
type Request struct {
	// Action is "service:Name", for example s3:GetObject.
	Action string
	// Resource is the ARN of the resource, or "*" for actions without a resource.
	Resource string
	// Principal is the caller.
	Principal Caller
	// Context holds the condition keys.
	Context Context
}

// Caller is the caller of a request, with all names that bucket and trust policies can use for it.
type Caller struct {
	// Anonymous means that the request has no signature. The other fields are then empty.
	Anonymous bool
	// AccountID is the caller's account.
	AccountID string
	// ARNs are the ARNs with which policies can refer to the caller: a user's ARN, or the ARNs of a role session and
	// its role.
	ARNs []string
	// UniqueID is the unique ID of the caller, which begins with AIDA or AROA.
	UniqueID string
	// Federated is the provider (issuer or provider ARN) of a web identity, for trust policies.
	Federated []string
	// Service is the service principal, for trust policies.
	Service string
}

// Evaluate returns the document's effect for the request. Documents without principals (identity policies and
// boundaries) apply to every caller; evaluate them only for the identity to which they are attached.
func (d *Document) Evaluate(r Request) Effect {
	result := NoMatch
	for i := range d.Statements {
		s := &d.Statements[i]
		if !s.applies(r, d.Version) {
			continue
		}
		if s.Effect == "Deny" {
			return Deny
		}
		result = Allow
	}
	return result
}

func (s *Statement) applies(r Request, version string) bool {
	return s.principalMatches(r.Principal) && s.actionMatches(r.Action) && s.resourceMatches(r, version) && s.conditionHolds(r, version)
}

func (s *Statement) principalMatches(c Caller) bool {
	switch {
	case s.Principal != nil:
		return s.Principal.contains(c)
	case s.NotPrincip != nil:
		return !s.NotPrincip.contains(c)
	}
	return true
}

func (p *Principals) contains(c Caller) bool {
	if p.Any {
		return true
	}
	for kind, values := range p.By {
		for _, v := range values {
			if principalIs(kind, v, c) {
				return true
			}
		}
	}
	return false
}

// principalIs reports whether value, of a type such as AWS, refers to the caller. An account's root ARN and its
// number refer to the account. The account's own policies then decide which of its users have access.
func principalIs(kind, value string, c Caller) bool {
	switch kind {
	case "", "AWS":
		if value == "*" {
			return true
		}
		return !c.Anonymous && (slices.Contains(c.ARNs, value) || isUnique(value, c.UniqueID) || isAccount(value, c.AccountID))
	case "Federated":
		return value == "*" || slices.Contains(c.Federated, value)
	case "Service":
		return value == c.Service && value != ""
	}
	return false
}

// isUnique compares unique IDs. The one of a role names its sessions, which are ROLE-ID:session.
func isUnique(value, id string) bool {
	role, _, _ := strings.Cut(id, ":")
	return value != "" && (value == id || value == role)
}

func isAccount(value, account string) bool {
	if account == "" {
		return false
	}
	return value == account || (strings.HasPrefix(value, "arn:") && strings.HasSuffix(value, ":iam::"+account+":root"))
}

// Names reports whether the document allows the request for the caller's own name (ARN, unique ID or "*"), not only
// for the caller's account. Only then does a resource policy in the same account allow a request without an identity
// policy ("Resource-based policies" in the policy evaluation logic).
func (d *Document) Names(r Request) bool {
	direct := r
	direct.Principal.AccountID = ""
	return d.Evaluate(direct) == Allow
}

// namesSession reports whether the document allows the request to the caller's role session itself, rather than to
// its role. Such a permission is not limited by implicit denials in boundaries and session policies ("Resource-based
// policies" in the policy evaluation logic).
func (d *Document) namesSession(r Request) bool {
	_, session, _ := strings.Cut(r.Principal.UniqueID, ":")
	if session == "" || len(r.Principal.ARNs) == 0 {
		return false
	}
	direct := r
	direct.Principal = Caller{ARNs: r.Principal.ARNs[:1]}
	for i := range d.Statements {
		s := &d.Statements[i]
		if s.Effect == "Allow" && s.Principal != nil && slices.Contains(s.Principal.By["AWS"], direct.Principal.ARNs[0]) && s.applies(direct, d.Version) {
			return true
		}
	}
	return false
}

func (s *Statement) actionMatches(action string) bool {
	matches := func(p string) bool { return Match(strings.ToLower(p), strings.ToLower(action)) }
	if s.has["NotAction"] {
		return !slices.ContainsFunc(s.NotAction, matches)
	}
	return slices.ContainsFunc(s.Action, matches)
}

func (s *Statement) resourceMatches(r Request, version string) bool {
	matches := func(v string) bool {
		if version != version2012 {
			return Match(v, r.Resource)
		}
		p, ok := expand(v, r.Context)
		return ok && p.match(r.Resource)
	}
	switch {
	case s.has["NotResource"]:
		return !slices.ContainsFunc(s.NotResource, matches)
	case s.has["Resource"]:
		return slices.ContainsFunc(s.Resource, matches)
	}
	return true
}

func (s *Statement) conditionHolds(r Request, version string) bool {
	ctx := r.Context
	for _, c := range s.Condition {
		if version != version2012 && slices.ContainsFunc(c.Values, func(v string) bool { return strings.Contains(v, "${") }) {
			return false
		}
		if !c.holds(ctx) {
			return false
		}
	}
	return true
}

// Inputs are the policies that apply to a request within one account.
type Inputs struct {
	// Identity are the caller's inline and managed policies, and those of its groups.
	Identity []*Document
	// Boundaries are the permissions boundary and the session policies; each must allow.
	Boundaries []*Document
	// Resource is the bucket policy, or nil if there is none.
	Resource *Document
	// ACL is what an access control list grants. It can only allow.
	ACL Grant
	// Root marks the account's root user. Only a resource policy can deny its requests.
	Root bool
	// Foreign marks a caller of another account. It needs permission from both its own account's policies and the
	// resource's policy.
	Foreign bool
	// ResourceBypassesBoundary is true for IAM users. If a resource policy allows a request by naming the user, the
	// boundary does not also have to allow it.
	ResourceBypassesBoundary bool
}

// Grant is what an access control list grants to a caller.
type Grant int

const (
	// NoGrant means that the list does not name the caller.
	NoGrant Grant = iota
	// GrantToAccount means that it names the caller's account, whose own policies then decide.
	GrantToAccount
	// GrantToAll means that it names a group with the caller in it.
	GrantToAll
)

// Decision is the result of a policy evaluation, with the reason for the error message.
type Decision struct {
	Allowed bool
	// Explicit is true if the request is denied by an explicit deny.
	Explicit bool
	// Policy is the kind of policy that determined the result, for example IdentityBased.
	Policy string
}

// Kinds of policies in decisions.
const (
	IdentityBased = "identity-based policy"
	resourceBased = "resource-based policy"
	boundary      = "permissions boundary"
)

// Reason returns the reason for the denial of an action, as in AWS's messages.
func (d Decision) Reason(action string) string {
	article := "a "
	if d.Policy == IdentityBased {
		article = "an "
	}
	if d.Explicit {
		return "with an explicit deny in " + article + d.Policy
	}
	return "because no " + d.Policy + " allows the " + action + " action"
}

// Decide applies the evaluation logic within an account. An explicit deny has precedence over every permission. The
// request is allowed by a resource policy that names the caller, or by identity policies within all boundaries.
func Decide(in Inputs, r Request) Decision {
	resource := NoMatch
	if in.Resource != nil {
		resource = in.Resource.Evaluate(r)
	}
	if resource == Deny {
		return Decision{Explicit: true, Policy: resourceBased}
	}
	if in.Root {
		return Decision{Allowed: true}
	}
	identity := evaluateAll(in.Identity, r)
	if identity == Deny {
		return Decision{Explicit: true, Policy: IdentityBased}
	}
	bounded := true
	for _, b := range in.Boundaries {
		switch b.Evaluate(r) {
		case Deny:
			return Decision{Explicit: true, Policy: boundary}
		case NoMatch:
			bounded = false
		}
	}
	if in.Foreign && resource != Allow && in.ACL == NoGrant {
		return Decision{Policy: resourceBased}
	}
	if in.names(r, resource) && (bounded || in.passesBoundary(r)) {
		return Decision{Allowed: true}
	}
	if identity != Allow {
		return Decision{Policy: IdentityBased}
	}
	if !bounded {
		return Decision{Policy: boundary}
	}
	return Decision{Allowed: true}
}

// names reports whether the resource policy, with the given effect, or the access control list allows the request to the
// caller itself, rather than to its account.
func (in Inputs) names(r Request, resource Effect) bool {
	if in.Foreign {
		return false
	}
	return in.ACL == GrantToAll || resource == Allow && in.Resource.Names(r)
}

// passesBoundary reports whether the resource policy's permission is not limited by an implicit denial in a boundary.
func (in Inputs) passesBoundary(r Request) bool {
	return in.ResourceBypassesBoundary || r.Principal.Anonymous || in.Resource != nil && in.Resource.namesSession(r)
}

func evaluateAll(docs []*Document, r Request) Effect {
	result := NoMatch
	for _, d := range docs {
		switch d.Evaluate(r) {
		case Deny:
			return Deny
		case Allow:
			result = Allow
		}
	}
	return result
}

// Federated returns the ARNs of the identity providers in the statements that allow something.
func (d *Document) Federated() []string {
	var out []string
	for _, s := range d.Statements {
		if s.Effect == "Allow" && s.Principal != nil {
			out = append(out, s.Principal.By["Federated"]...)
		}
	}
	return out
}
