// SPDX-License-Identifier: Apache-2.0

package iam

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iampolicy"
)

// NewPolicy describes a managed policy to create.
type NewPolicy struct {
	Name, Path, Document, Description string
	Tags                              []Tag
}

// CreatePolicy adds a managed policy with its first version.
func (a *Account) CreatePolicy(in NewPolicy) (Policy, error) {
	if err := checkManaged(in.Document); err != nil {
		return Policy{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	arn := a.ARN("policy", in.Path, in.Name)
	for _, p := range a.policies {
		if fold(p.Name) == fold(in.Name) {
			return Policy{}, exists("A policy called %s already exists. Duplicate names are not allowed.", in.Name)
		}
	}
	if len(a.policies) >= MaxPolicies {
		return Policy{}, limitExceeded("Cannot exceed quota for PoliciesPerAccount: %d", MaxPolicies)
	}
	now := a.Now().UTC()
	p := &Policy{
		Name: in.Name, Path: in.Path, ID: newID("ANPA", 17), ARN: arn, Created: now, Updated: now, Description: in.Description, Tags: slices.Clone(in.Tags),
		Versions: []PolicyVersion{{ID: "v1", Document: in.Document, Created: now}}, Default: "v1", Next: 2,
	}
	if err := a.save(tablePolicies, arn, p); err != nil {
		return Policy{}, err
	}
	a.policies[arn] = p
	return p.clone(), nil
}

func checkManaged(document string) error {
	if _, err := iampolicy.ParseIdentity(document); err != nil {
		return err
	}
	if iampolicy.CompactLength(document) > iampolicy.MaxManaged {
		return limitExceeded("Cannot exceed quota for PolicySize: %d", iampolicy.MaxManaged)
	}
	return nil
}

func (p *Policy) clone() Policy {
	c := *p
	c.Tags, c.Versions = slices.Clone(p.Tags), slices.Clone(p.Versions)
	return c
}

// ManagedPolicy returns a managed policy by ARN, and the number of identities to which it is attached.
func (a *Account) ManagedPolicy(arn string) (p Policy, attached int, err error) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if a.awsManaged(arn) {
		return a.awsPolicy(a.awsName(arn)), a.count(arn, Attaches), nil
	}
	mp, err := a.policy(arn)
	if err != nil {
		return Policy{}, 0, err
	}
	return mp.clone(), a.count(arn, Attaches), nil
}

func (a *Account) policy(arn string) (*Policy, error) {
	if p := a.policies[arn]; p != nil {
		return p, nil
	}
	return nil, noPolicy(arn)
}

func noPolicy(arn string) error { return noSuchEntity("Policy %s was not found.", arn) }

// Attaches reports whether the managed policy is attached to i. Attaches and Limits are the arguments of
// Account.PolicyUse.
func Attaches(i Identity, arn string) bool { return slices.Contains(i.Attached, arn) }

// Limits reports whether the policy is the permissions boundary of i.
func Limits(i Identity, arn string) bool { return i.Boundary == arn }

// PolicyUse returns the identities for which uses returns true, ordered by kind and name. uses is Attaches or Limits.
func (a *Account) PolicyUse(arn string, uses func(i Identity, arn string) bool) ([]Entity, error) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if _, err := a.policy(arn); err != nil && !a.awsManaged(arn) {
		return nil, err
	}
	var out []Entity
	a.each(func(kind Kind, i *Identity) {
		if uses(*i, arn) {
			out = append(out, Entity{i.clone(), kind})
		}
	})
	slices.SortFunc(out, func(x, y Entity) int {
		return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(fold(x.Name), fold(y.Name)))
	})
	return out, nil
}

// count returns the number of identities that use a policy. The caller holds the lock.
func (a *Account) count(arn string, uses func(i Identity, arn string) bool) int {
	n := 0
	a.each(func(_ Kind, i *Identity) {
		if uses(*i, arn) {
			n++
		}
	})
	return n
}

// ListedPolicy is a managed policy, with the number of its attachments and the number of identities that have it as
// permissions boundary.
type ListedPolicy struct {
	Policy
	Attached int
	Bounds   int
}

// AWSPolicies returns the AWS managed policies that the fake contains, ordered by name.
func (a *Account) AWSPolicies() []ListedPolicy {
	a.mu.RLock()
	defer a.mu.RUnlock()
	var out []ListedPolicy
	for _, name := range slices.Sorted(maps.Keys(awsPolicies())) {
		p := a.awsPolicy(name)
		out = append(out, ListedPolicy{p, a.count(p.ARN, Attaches), a.count(p.ARN, Limits)})
	}
	return out
}

// awsPolicy is an AWS managed policy; the date is that of the first ones.
func (a *Account) awsPolicy(name string) Policy {
	made := time.Date(2015, time.February, 6, 18, 40, 0, 0, time.UTC)
	return Policy{
		Name: name, Path: "/", ID: "ANPAAWSMANAGED0000000", ARN: "arn:" + a.Partition + ":iam::aws:policy/" + name, Default: "v1",
		Created: made, Updated: made, Versions: []PolicyVersion{{ID: "v1", Document: awsPolicies()[name], Created: made}},
	}
}

// Policies returns the account's own managed policies below a path prefix, ordered by name.
func (a *Account) Policies(prefix string) []ListedPolicy {
	a.mu.RLock()
	defer a.mu.RUnlock()
	var out []ListedPolicy
	for _, arn := range slices.Sorted(maps.Keys(a.policies)) {
		if p := a.policies[arn]; strings.HasPrefix(p.Path, prefix) {
			out = append(out, ListedPolicy{p.clone(), a.count(arn, Attaches), a.count(arn, Limits)})
		}
	}
	slices.SortFunc(out, func(x, y ListedPolicy) int { return strings.Compare(x.Name, y.Name) })
	return out
}

func (a *Account) changePolicy(arn string, do func(*Policy) error) error {
	return change(a, tablePolicies, a.policies, arn, noPolicy(arn), func(p *Policy) error {
		p.Updated = a.Now().UTC()
		return do(p)
	})
}

// AddVersion adds a version of a managed policy. If makeDefault is true, the version becomes the default version.
func (a *Account) AddVersion(arn, document string, makeDefault bool) (PolicyVersion, error) {
	if err := checkManaged(document); err != nil {
		return PolicyVersion{}, err
	}
	var v PolicyVersion
	err := a.changePolicy(arn, func(p *Policy) error {
		if len(p.Versions) >= MaxVersions {
			return limitExceeded("A managed policy can have up to %d versions. Before you create a new version, you must delete an existing version.", MaxVersions)
		}
		v = PolicyVersion{ID: fmt.Sprintf("v%d", p.Next), Document: document, Created: a.Now().UTC()}
		p.Next++
		p.Versions = append(p.Versions, v)
		if makeDefault {
			p.Default = v.ID
		}
		return nil
	})
	return v, err
}

func (p *Policy) version(id string) int {
	return slices.IndexFunc(p.Versions, func(v PolicyVersion) bool { return v.ID == id })
}

func noVersion(arn, id string) error {
	return noSuchEntity("Policy %s version %s does not exist or is not attachable.", arn, id)
}

// Version returns one version of a managed policy.
func (p Policy) Version(id string) (PolicyVersion, error) {
	i := p.version(id)
	if i < 0 {
		return PolicyVersion{}, noVersion(p.ARN, id)
	}
	return p.Versions[i], nil
}

// SetDefault makes a version of a managed policy the default version.
func (a *Account) SetDefault(arn, id string) error {
	return a.changePolicy(arn, func(p *Policy) error {
		if p.version(id) < 0 {
			return noVersion(arn, id)
		}
		p.Default = id
		return nil
	})
}

// DeleteVersion deletes a version of a managed policy. The default version cannot be deleted.
func (a *Account) DeleteVersion(arn, id string) error {
	return a.changePolicy(arn, func(p *Policy) error {
		i := p.version(id)
		switch {
		case i < 0:
			return noVersion(arn, id)
		case p.Default == id:
			return deleteConflict("Cannot delete the default version of a policy.")
		}
		p.Versions = slices.Delete(p.Versions, i, i+1)
		return nil
	})
}

// TagPolicy adds or replaces tags of a managed policy.
func (a *Account) TagPolicy(arn string, tags []Tag) error {
	return a.changePolicy(arn, func(p *Policy) (err error) {
		p.Tags, err = mergeTags(p.Tags, tags, exactKeys)
		return err
	})
}

// UntagPolicy removes tags of a managed policy.
func (a *Account) UntagPolicy(arn string, keys []string) error {
	return a.changePolicy(arn, func(p *Policy) error {
		p.Tags = withoutTags(p.Tags, keys, exactKeys)
		return nil
	})
}

// DeletePolicy deletes a managed policy. The policy must not be attached to any identity, and must have only its
// default version.
func (a *Account) DeletePolicy(arn string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	p, err := a.policy(arn)
	switch {
	case err != nil:
		return err
	case a.count(arn, Attaches) > 0 || a.count(arn, Limits) > 0:
		return deleteConflict("Cannot delete a policy attached to entities.")
	case len(p.Versions) > 1:
		return deleteConflict("This policy has more than one version. Before you delete a policy, you must delete the policy's versions. The default version is deleted with the policy.")
	}
	return remove(a, tablePolicies, a.policies, arn)
}

// Bounds returns the number of users and roles that have a managed policy as their permissions boundary.
func (a *Account) Bounds(arn string) int {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.count(arn, Limits)
}

// PrincipalExists implements iampolicy.Accounts for bucket and trust policies.
func (a *Account) PrincipalExists(value string) bool {
	if value == a.ID || value == a.RootARN() {
		return true
	}
	a.mu.RLock()
	defer a.mu.RUnlock()
	found := a.guestNamed(value) || foreignAccount(value, a.ID)
	a.principals(func(arn, id string) { found = found || value == arn || value == id })
	if session, ok := strings.CutPrefix(value, "arn:"+a.Partition+":sts::"+a.ID+":assumed-role/"); ok {
		name, _, _ := strings.Cut(session, "/")
		role := a.roles[fold(name)]
		return role != nil && role.Name == name
	}
	return found
}

// foreignAccount accepts another account as a whole: this fake serves one account and cannot deny that others
// exist.
func foreignAccount(value, own string) bool {
	id := value
	if rest, ok := strings.CutPrefix(value, "arn:aws:iam::"); ok {
		id, _ = strings.CutSuffix(rest, ":root")
	}
	if len(id) != 12 || id == own {
		return false
	}
	return strings.Trim(id, "0123456789") == ""
}
