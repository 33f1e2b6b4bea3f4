// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

const (
	// Limit is how many stored access policies Azure keeps for one container.
	Limit = 5
	// MaxAccount is the longest account name for which all IDs fit into the 64 characters that Azure
	// allows.
	MaxAccount = 39
	// rotationDigits is 40 bits in base 32, to tell a changed rotation from the one before.
	rotationDigits = 8
	// nonceDigits is 50 bits in base 32. An account that was revoked and is granted again gets another
	// policy, since the signature for the former one would work again.
	nonceDigits = 10
	// slack is what a policy may live longer than asked for. Clocks differ.
	slack = 5 * time.Minute
)

// Forever ends the policies of credentials without an end: Azure wants every signature to have one.
func Forever() time.Time { return time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC) }

// Policy is one stored access policy.
type Policy struct {
	ID string
	// Permission are letters. Start and Expiry are zero where they are not set.
	Permission    string
	Start, Expiry time.Time
}

// Request is the access that a policy is for.
type Request struct {
	// Account names the account, at most MaxAccount characters without '.'.
	Account    string
	Permission string
	// Lifetime is how long the policy lives from now on; 0 for no end.
	Lifetime time.Duration
	// Rotation is the value whose change asks for another signature.
	Rotation string
}

// Plan answers the policies that a container should have, of which current is the one that the account
// is to sign with. The list is as it was if nothing has to change. Policies of others are kept as they
// are. An account that was rotated keeps the policy before the current one.
func Plan(found []Policy, want Request, now time.Time) (next []Policy, current Policy, err error) {
	own := owned(found, want.Account)
	if len(own) > 0 {
		current = own[len(own)-1]
	}
	if len(own) == 0 || !current.answers(want.Rotation) {
		return add(found, own, want, now)
	}
	if Ordered(current.Permission) != want.Permission {
		return nil, Policy{}, driverkit.AlreadyExists("account %s exists with other access modes than these", want.Account)
	}
	current.Expiry = extend(current.Expiry, want.Lifetime, now)
	next = slices.Clone(found)
	for i := range next {
		if next[i].ID == current.ID {
			next[i].Expiry = current.Expiry
		}
	}
	return next, current, nil
}

// Remove answers the policies without those of the account.
func Remove(found []Policy, account string) []Policy {
	return slices.DeleteFunc(slices.Clone(found), func(p Policy) bool { return p.owner() == account })
}

func add(found, own []Policy, want Request, now time.Time) ([]Policy, Policy, error) {
	number := 0
	keep := ""
	if len(own) > 0 {
		last := own[len(own)-1]
		number, keep = last.number()+1, last.ID
	}
	made := Policy{
		ID: strings.Join([]string{want.Account, strconv.Itoa(number), rotationHash(want.Rotation), nonce()}, "."), Permission: want.Permission,
		Expiry: extend(time.Time{}, want.Lifetime, now),
	}
	next := slices.DeleteFunc(slices.Clone(found), func(p Policy) bool { return p.owner() == want.Account && p.ID != keep })
	if len(next) >= Limit {
		return nil, Policy{}, driverkit.ResourceExhausted("the container has %d stored access policies, and Azure allows no more than %d: "+
			"each access needs one, and two after a rotation; remove an access, or use another bucket", len(next), Limit)
	}
	return append(next, made), made, nil
}

// extend answers the end of a policy: the one it has while more than half of the life is left, so that
// repeated calls get the same answer.
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

// owned answers the policies of an account, in the order in which they were made.
func owned(found []Policy, account string) []Policy {
	var own []Policy
	for _, one := range found {
		if one.owner() == account {
			own = append(own, one)
		}
	}
	slices.SortFunc(own, func(a, b Policy) int { return a.number() - b.number() })
	return own
}

// IDs have four parts: account, number, hash of the rotation's value, nonce.

func rotationHash(rotation string) string {
	sum := sha256.Sum256([]byte(rotation))
	digits := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:])
	return strings.ToLower(digits[:rotationDigits])
}

func nonce() string { return strings.ToLower(rand.Text())[:nonceDigits] }

func (p Policy) part(i int) string {
	parts := strings.Split(p.ID, ".")
	if i >= len(parts) {
		return ""
	}
	return parts[i]
}

func (p Policy) owner() string { return p.part(0) }

// number answers how many policies the account had before this one.
func (p Policy) number() int {
	number, err := strconv.Atoi(p.part(1))
	if err != nil {
		return 0
	}
	return number
}

func (p Policy) answers(rotation string) bool { return p.part(2) == rotationHash(rotation) }
