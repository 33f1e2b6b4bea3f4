// SPDX-License-Identifier: Apache-2.0

package iam

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iampolicy"
)

// Kind is the kind of an identity, as used in names and errors.
type Kind string

// The kinds of identities.
const (
	KindUser  Kind = "user"
	KindRole  Kind = "role"
	KindGroup Kind = "group"
)

// Identity returns a copy of the common fields of a user, role or group.
func (a *Account) Identity(kind Kind, name string) (Identity, error) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	switch kind {
	case KindRole:
		return identityOf(a.role(name))
	case KindGroup:
		return identityOf(a.group(name))
	}
	return identityOf(a.user(name))
}

func (a *Account) changeIdentity(kind Kind, name string, do func(*Identity) error) error {
	switch kind {
	case KindRole:
		return a.changeRole(name, func(r *Role) error { return do(&r.Identity) })
	case KindGroup:
		return a.changeGroup(name, func(g *Group) error { return do(&g.Identity) })
	}
	return a.changeUser(name, func(u *User) error { return do(&u.Identity) })
}

// inlineQuota is the aggregate size of inline policies.
func (k Kind) inlineQuota() int {
	switch k {
	case KindRole:
		return iampolicy.MaxRoleInline
	case KindGroup:
		return iampolicy.MaxGroupInline
	}
	return iampolicy.MaxUserInline
}

// PutInline adds or replaces an inline policy.
func (a *Account) PutInline(kind Kind, name, policy, document string) error {
	if _, err := iampolicy.ParseIdentity(document); err != nil {
		return err
	}
	return a.changeIdentity(kind, name, func(i *Identity) error {
		total := iampolicy.CompactLength(document)
		for other, doc := range i.Inline {
			if other != policy {
				total += iampolicy.CompactLength(doc)
			}
		}
		if total > kind.inlineQuota() {
			return limitExceeded("Maximum policy size of %d bytes exceeded for %s %s", kind.inlineQuota(), kind, i.Name)
		}
		if i.Inline == nil {
			i.Inline = map[string]string{}
		}
		i.Inline[policy] = document
		return nil
	})
}

// Inline returns an inline policy.
func (a *Account) Inline(kind Kind, name, policy string) (string, error) {
	i, err := a.Identity(kind, name)
	if err != nil {
		return "", err
	}
	doc, ok := i.Inline[policy]
	if !ok {
		return "", noSuchEntity("The %s policy with name %s cannot be found.", kind, policy)
	}
	return doc, nil
}

// DeleteInline removes an inline policy.
func (a *Account) DeleteInline(kind Kind, name, policy string) error {
	return a.changeIdentity(kind, name, func(i *Identity) error {
		if _, ok := i.Inline[policy]; !ok {
			return noSuchEntity("The %s policy with name %s cannot be found.", kind, policy)
		}
		delete(i.Inline, policy)
		return nil
	})
}

// Attach attaches a managed policy. It does nothing if the policy is already attached.
func (a *Account) Attach(kind Kind, name, arn string) error {
	return a.changeIdentity(kind, name, func(i *Identity) error {
		if a.policies[arn] == nil && !a.awsManaged(arn) {
			return noSuchEntity("Policy %s does not exist or is not attachable.", arn)
		}
		if slices.Contains(i.Attached, arn) {
			return nil
		}
		if len(i.Attached) >= MaxAttached {
			return limitExceeded("Cannot exceed quota for PoliciesPer%s: %d", strings.ToUpper(string(kind[:1]))+string(kind[1:]), MaxAttached)
		}
		i.Attached = append(i.Attached, arn)
		return nil
	})
}

// Detach removes an attached managed policy.
func (a *Account) Detach(kind Kind, name, arn string) error {
	return a.changeIdentity(kind, name, func(i *Identity) error {
		at := slices.Index(i.Attached, arn)
		if at < 0 {
			return noPolicy(arn)
		}
		i.Attached = slices.Delete(i.Attached, at, at+1)
		return nil
	})
}

// SetBoundary sets the permissions boundary; "" removes it.
func (a *Account) SetBoundary(kind Kind, name, arn string) error {
	return a.changeIdentity(kind, name, func(i *Identity) error {
		if err := a.boundaryExists(arn); err != nil {
			return err
		}
		if arn == "" && i.Boundary == "" {
			return noSuchEntity("The %s with name %s does not have a permissions boundary.", kind, i.Name)
		}
		i.Boundary = arn
		return nil
	})
}

// AddTags adds or replaces tags of a user or role.
func (a *Account) AddTags(kind Kind, name string, tags []Tag) error {
	return a.changeIdentity(kind, name, func(i *Identity) (err error) {
		i.Tags, err = mergeTags(i.Tags, tags, strings.EqualFold)
		return err
	})
}

// RemoveTags removes tags by key.
func (a *Account) RemoveTags(kind Kind, name string, keys []string) error {
	return a.changeIdentity(kind, name, func(i *Identity) error {
		i.Tags = withoutTags(i.Tags, keys, strings.EqualFold)
		return nil
	})
}

// exactKeys compares tag keys of managed policies and identity providers. Those of users and roles are
// case-insensitive ("Tags for AWS Identity and Access Management resources", IAM User Guide).
func exactKeys(a, b string) bool { return a == b }

// mergeTags overlays the tags of one entity; same compares their keys.
func mergeTags(old, tags []Tag, same func(a, b string) bool) ([]Tag, error) {
	out := overlayTags(old, tags, same)
	if len(out) > MaxTags {
		return nil, limitExceeded("The number of tags has reached the maximum limit.")
	}
	return out, nil
}

func overlayTags(old, tags []Tag, same func(a, b string) bool) []Tag {
	out := slices.Clone(old)
	for _, t := range tags {
		at := slices.IndexFunc(out, func(o Tag) bool { return same(o.Key, t.Key) })
		if at >= 0 {
			out[at] = t
			continue
		}
		out = append(out, t)
	}
	return out
}

func withoutTags(old []Tag, keys []string, same func(a, b string) bool) []Tag {
	return slices.DeleteFunc(slices.Clone(old), func(t Tag) bool {
		return slices.ContainsFunc(keys, func(k string) bool { return same(k, t.Key) })
	})
}

// Principal is the authenticated caller of a request, with the policies that apply to it.
type Principal struct {
	// Root marks the account's root user.
	Root bool
	// ARN is the ARN of the principal. For a session, it is the assumed-role ARN.
	ARN string
	// ID is the value of aws:userid.
	ID string
	// Name is the value of aws:username for users, and "" for others.
	Name string
	// Type is the value of aws:PrincipalType.
	Type string
	// AccountID is the number of the principal's account.
	AccountID string
	// Foreign marks a user of another account.
	Foreign bool
	// AlsoARNs are further ARNs with which policies can refer to the principal, such as the role of a session.
	AlsoARNs []string
	Tags     []Tag
	// Identity are the identity policies. Boundaries are all policies that limit them.
	Identity   []*iampolicy.Document
	Boundaries []*iampolicy.Document
	// Session is set for temporary credentials.
	Session *Session
}

// Caller returns the principal with the names that policies can use for it.
func (p *Principal) Caller() iampolicy.Caller {
	return iampolicy.Caller{AccountID: p.AccountID, ARNs: append([]string{p.ARN}, p.AlsoARNs...), UniqueID: p.ID}
}

// Inputs returns the principal's own policies for a decision.
func (p *Principal) Inputs() iampolicy.Inputs {
	return iampolicy.Inputs{Identity: p.Identity, Boundaries: p.Boundaries, Root: p.Root, Foreign: p.Foreign, ResourceBypassesBoundary: p.Session == nil}
}

// Describe sets the condition keys that identify the principal ("AWS global condition context keys", "Properties of
// the principal").
func (p *Principal) Describe(ctx iampolicy.Context) {
	ctx.Set("aws:PrincipalIsAWSService", "false")
	ctx.Set("aws:ViaAWSService", "false")
	ctx.Set("aws:PrincipalType", p.Type)
	ctx.Set("aws:PrincipalAccount", p.AccountID)
	ctx.Set("aws:userid", p.ID)
	ctx.Set("aws:PrincipalArn", p.ARN)
	if len(p.AlsoARNs) > 0 { // a session's is the ARN of its role
		ctx.Set("aws:PrincipalArn", p.AlsoARNs[0])
	}
	if p.Name != "" {
		ctx.Set("aws:username", p.Name)
	}
	for _, t := range p.Tags {
		ctx.Set("aws:PrincipalTag/"+t.Key, t.Value)
	}
	if p.Session == nil {
		return
	}
	ctx.Set("aws:TokenIssueTime", p.Session.Issued.Format(time.RFC3339))
	ctx.Set("aws:MultiFactorAuthPresent", "false") // only temporary credentials have it, and the fake has no second factors
	if p.Session.Provider != "" {
		ctx.Set("aws:FederatedProvider", p.Session.Provider)
	}
}

// CanonicalID returns the canonical user ID of the account, which S3 shows as the owner of buckets and objects.
func (a *Account) CanonicalID() string {
	return strings.Repeat("0", 64-len(a.ID)) + a.ID
}

// Secret returns the secret of an access key, with which the caller verifies a signature. invalid is the service's
// error for a key that does not exist or is not active.
func (a *Account) Secret(keyID, token string, invalid *awserr.Error) (string, error) {
	if keyID == a.RootKey {
		return a.RootSecret, tokenless(token, invalid)
	}
	a.mu.RLock()
	defer a.mu.RUnlock()
	if s := a.sessions[keyID]; s != nil {
		switch {
		case token != string(s.Token):
			return "", badToken(invalid)
		case a.Now().After(s.Expires):
			return "", expiredToken(invalid)
		}
		return string(s.Secret), nil
	}
	if g := a.guests[keyID]; g != nil {
		return string(g.Secret), tokenless(token, invalid)
	}
	if u := a.users[a.keys[keyID]]; u != nil {
		if i := u.key(keyID); i >= 0 && u.Keys[i].Status == statusActive {
			return string(u.Keys[i].Secret), tokenless(token, invalid)
		}
	}
	return "", invalid
}

var errInvalidToken = awserr.New(http.StatusBadRequest, "InvalidToken", "The provided token is malformed or otherwise invalid.")

// badToken returns the error for an invalid security token: S3 has a specific one, the other services do not.
func badToken(invalid *awserr.Error) error {
	if invalid.Is(ErrInvalidClientToken) {
		return invalid
	}
	return errInvalidToken
}

// expiredToken returns the error for an expired session, with the text of S3 or of the other services.
func expiredToken(invalid *awserr.Error) error {
	if invalid.Is(ErrInvalidClientToken) {
		return awserr.New(http.StatusForbidden, "ExpiredToken", "The security token included in the request is expired")
	}
	return awserr.New(http.StatusBadRequest, "ExpiredToken", "The provided token has expired.")
}

// tokenless rejects a security token with long-term credentials.
func tokenless(token string, invalid *awserr.Error) error {
	if token != "" {
		return badToken(invalid)
	}
	return nil
}

// Principal returns the principal of an access key. Secret must have accepted the key.
func (a *Account) Principal(keyID string) (Principal, error) {
	if keyID == a.RootKey {
		return a.rootPrincipal(), nil
	}
	a.mu.RLock()
	defer a.mu.RUnlock()
	if s := a.sessions[keyID]; s != nil {
		return a.sessionPrincipal(s)
	}
	if g := a.guests[keyID]; g != nil {
		return a.guestPrincipal(g)
	}
	u := a.users[a.keys[keyID]]
	if u == nil {
		return Principal{}, noSuchEntity("The Access Key with id %s cannot be found", keyID)
	}
	if u.Name == RootUser {
		return a.rootPrincipal(), nil
	}
	return a.userPrincipal(u)
}

func (a *Account) rootPrincipal() Principal {
	return Principal{Root: true, ARN: a.RootARN(), ID: a.ID, Type: "Account", AccountID: a.ID}
}

func (a *Account) userPrincipal(u *User) (Principal, error) {
	p := Principal{ARN: a.UserARN(u), ID: u.ID, Name: u.Name, Type: "User", AccountID: a.ID, Tags: u.Tags}
	if err := a.attachGroups(&p, u); err != nil {
		return p, err
	}
	return p, a.attachPolicies(&p, u.Identity)
}

var errEndedSession = awserr.New(http.StatusForbidden, "InvalidClientTokenId", "The security token included in the request is invalid.")

// ownSession returns the principal of a user's own session: the user with its current policies, even if the key that
// requested the session was deleted ("Permissions for GetSessionToken" in the IAM User Guide).
func (a *Account) ownSession(s *Session) (Principal, error) {
	p, err := a.rootPrincipal(), error(nil)
	if s.UserID != a.ID {
		p, err = Principal{}, error(errEndedSession)
		for _, u := range a.users {
			if u.ID == s.UserID {
				p, err = a.userPrincipal(u)
			}
		}
	}
	p.Session = s
	return p, err
}

func (a *Account) sessionPrincipal(s *Session) (Principal, error) {
	if s.UserID != "" {
		return a.ownSession(s)
	}
	r := a.roles[fold(s.Role)]
	if r == nil || r.ID != s.RoleID {
		return Principal{}, errEndedSession
	}
	p := Principal{
		ARN: "arn:" + a.Partition + ":sts::" + a.ID + ":assumed-role/" + r.Name + "/" + s.Name,
		ID:  r.ID + ":" + s.Name, Type: "AssumedRole", AccountID: a.ID, AlsoARNs: []string{a.RoleARN(r)}, Session: s,
	}
	p.Tags = overlayTags(r.Tags, s.Tags, strings.EqualFold) // each within its limit; together they may be more
	if err := a.attachPolicies(&p, r.Identity); err != nil {
		return p, err
	}
	if len(s.Policies) == 0 {
		return p, nil
	}
	session := &iampolicy.Document{Version: "2012-10-17"}
	for _, raw := range s.Policies {
		d, err := a.document(raw)
		if err != nil {
			return p, err
		}
		session.Statements = append(session.Statements, d.Statements...)
	}
	p.Boundaries = append(p.Boundaries, session)
	return p, nil
}

// attachPolicies fills in the identity's parsed policies.
func (a *Account) attachPolicies(p *Principal, i Identity) error {
	for _, raw := range i.Inline {
		if err := a.attachDocument(&p.Identity, raw); err != nil {
			return err
		}
	}
	for _, arn := range i.Attached {
		if err := a.attachDocument(&p.Identity, a.managedDocument(arn)); err != nil {
			return err
		}
	}
	if i.Boundary != "" {
		return a.attachDocument(&p.Boundaries, a.managedDocument(i.Boundary))
	}
	return nil
}

func (a *Account) attachDocument(to *[]*iampolicy.Document, raw string) error {
	d, err := a.document(raw)
	if err != nil {
		return err
	}
	*to = append(*to, d)
	return nil
}
