// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
	"strings"
	"time"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
)

const (
	// Limit is the maximum number of stored access policies per container in Azure.
	Limit = 5
	// MaxAccount is the maximum length of an account name. Azure limits the ID of a stored access policy, which
	// begins with the account name, to 64 characters.
	MaxAccount = 39
	// slack is how much longer than requested a policy may live, to allow for clock skew.
	slack = 5 * time.Minute
)

// Forever is the expiry of credentials without a limit, because Azure requires an expiry for every signature.
func Forever() time.Time { return time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC) }

// Policy is one stored access policy.
type Policy struct {
	ID string
	// Permission consists of letters. Start and Expiry are zero if they are not set.
	Permission    string
	Start, Expiry time.Time
}

// Request is the access that a policy is for.
type Request struct {
	// Account is the account name, at most MaxAccount characters without '.'.
	Account    string
	Permission string
	// Lifetime is the lifetime of the policy from now, or 0 for no limit.
	Lifetime time.Duration
	// Rotation requests a new signature when it changes.
	Rotation string
}

// Plan returns the target list of policies for a container, and the policy with which the account signs (current). It
// returns the list unchanged if nothing has to change, and preserves the policies of other accounts. After a
// rotation, an account keeps the policy before the current one.
func Plan(found []Policy, want Request, now time.Time) (next []Policy, current Policy, err error) {
	plan := credentials.PlanMarks(marks(found, want.Account), want.Rotation)
	if plan.New {
		return add(found, plan, want, now)
	}
	i := slices.IndexFunc(found, func(p Policy) bool { return p.ID == id(want.Account, plan.Current) })
	current = found[i]
	if Ordered(current.Permission) != want.Permission {
		return nil, Policy{}, driverkit.AlreadyExists("account %s already exists with other access modes", want.Account)
	}
	current.Expiry = extend(current.Expiry, want.Lifetime, now)
	next = slices.Clone(found)
	next[i].Expiry = current.Expiry
	return next, current, nil
}

// Remove returns the policies without those of the account.
func Remove(found []Policy, account string) []Policy {
	return slices.DeleteFunc(slices.Clone(found), func(p Policy) bool { return p.owner() == account })
}

func add(found []Policy, plan credentials.Plan, want Request, now time.Time) ([]Policy, Policy, error) {
	keep := id(want.Account, plan.Previous)
	made := Policy{ID: id(want.Account, plan.Current), Permission: want.Permission, Expiry: extend(time.Time{}, want.Lifetime, now)}
	next := slices.DeleteFunc(slices.Clone(found), func(p Policy) bool { return p.owner() == want.Account && p.ID != keep })
	if len(next) >= Limit {
		return nil, Policy{}, driverkit.ResourceExhausted("the container has %d stored access policies, and Azure allows no more than %d: "+
			"each access needs one, and two after a rotation; delete an access, or use another bucket", len(next), Limit)
	}
	return append(next, made), made, nil
}

// extend returns the expiry of a policy. The expiry does not change while more than half of the lifetime remains, so
// repeated calls get the same result.
func extend(end time.Time, life time.Duration, now time.Time) time.Time {
	if life == 0 {
		return Forever()
	}
	left := end.Sub(now)
	if !end.IsZero() && left > life/2 && left <= life+slack {
		return end
	}
	return now.Add(life).UTC().Truncate(time.Second)
}

// IDs consist of the account and, after a dot, a mark.

func id(account string, mark credentials.Mark) string { return account + "." + string(mark) }

// owner returns the account of one of the driver's policies.
func (p Policy) owner() string {
	account, _, _ := strings.Cut(p.ID, ".")
	return account
}

// marks returns the marks of the account.
func marks(found []Policy, account string) []credentials.Mark {
	var own []credentials.Mark
	for _, one := range found {
		_, text, _ := strings.Cut(one.ID, ".")
		if mark, ok := credentials.ParseMark(text); ok && one.owner() == account {
			own = append(own, mark)
		}
	}
	return own
}
