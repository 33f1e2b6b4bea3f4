// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"slices"
	"strconv"
	"strings"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

const (
	// hashDigits is 40 bits in base 32, to tell a changed rotation from the one before, or another owner.
	hashDigits = 8
	// nonceDigits is 50 bits in base 32.
	nonceDigits = 10
)

// Mark tells the credentials of one account apart at a backend that keeps it with each: in the name
// of a stored policy, the label of a key, or the key's ID. It is 21 to 31 letters, digits and dots:
// how many credentials the account had before, a hash of the rotation, and something random, since
// an account that is revoked and granted again must not have its former credential. With a MarkedRequest it is 18 longer,
// and says whose the account is and for what.
type Mark string

// MarkedRequest is a Request and what marks say of the account, where nothing is stored.
type MarkedRequest struct {
	Request

	// Owner is equal for requests of one driver of one cluster, such as the driver's name and the mark of the cluster. The
	// account of another one is left alone.
	Owner string
	// Hash is equal for requests of equal access. The account of another one is AlreadyExists. A revoke has none.
	Hash string
}

// checkMine refuses an account with a key that is not the owner's.
func (r MarkedRequest) checkMine(marks []Mark, refuse func(string, ...any) *driverkit.Error) error {
	for _, mark := range marks {
		if parts := mark.parts(); len(parts) != 5 || parts[3] != shortHash(r.Owner) {
			return refuse("account %s has a key that another driver or cluster made, or somebody by hand; it is left alone", r.Account)
		}
	}
	return nil
}

// plan is PlanMarks for an account that is the owner's, and for this access.
func (r MarkedRequest) plan(marks []Mark) (Plan, error) {
	if err := r.checkMine(marks, driverkit.AlreadyExists); err != nil {
		return Plan{}, err
	}
	for _, mark := range marks {
		if mark.parts()[4] != shortHash(r.Hash) {
			return Plan{}, driverkit.AlreadyExists("account %s exists with other buckets, access modes or parameters than these", r.Account)
		}
	}
	plan := PlanMarks(marks, r.Rotation)
	if plan.New {
		plan.Current = Mark(strings.Join([]string{string(plan.Current), shortHash(r.Owner), shortHash(r.Hash)}, "."))
	}
	return plan, nil
}

// ParseMark returns the mark in a text, and whether it is one.
func ParseMark(text string) (Mark, bool) {
	mark := Mark(text)
	return mark, mark.parts() != nil
}

// parts are a number, hash and nonce, and with a MarkedRequest two hashes more; nil of what is no mark.
func (m Mark) parts() []string {
	parts := strings.Split(string(m), ".")
	if len(parts) != 3 && len(parts) != 5 || len(parts[1]) != hashDigits || len(parts[2]) != nonceDigits {
		return nil
	}
	for _, hash := range parts[3:] {
		if len(hash) != hashDigits {
			return nil
		}
	}
	if number, err := strconv.Atoi(parts[0]); err != nil || number < 0 || strconv.Itoa(number) != parts[0] {
		return nil
	}
	return parts
}

func newMark(number int, rotation string) Mark {
	nonce := strings.ToLower(rand.Text())[:nonceDigits]
	return Mark(strings.Join([]string{strconv.Itoa(number), shortHash(rotation), nonce}, "."))
}

func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:hashDigits])
}

// number returns how many marks the account had before this one.
func (m Mark) number() int {
	text, _, _ := strings.Cut(string(m), ".")
	number, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return number
}

func (m Mark) isOf(rotation string) bool {
	parts := m.parts()
	return len(parts) > 1 && parts[1] == shortHash(rotation)
}

// Plan is what an account's marks should come to.
type Plan struct {
	// Current is the mark of the credential to return; New says that the backend does not have it.
	Current Mark
	New     bool
	// Previous is the mark before it, whose credential keeps working; empty without one.
	Previous Mark
	// Stale are the marks to remove before Current is made.
	Stale []Mark
}

// PlanMarks returns what the marks that an account has should come to: as they are, unless there is
// none or the rotation differs from the one that the last mark was made for. It is for drivers that
// change all marks of a bucket in one call, for which GrantDerived would make too many.
func PlanMarks(found []Mark, rotation string) Plan {
	own := slices.Clone(found)
	slices.SortFunc(own, func(a, b Mark) int {
		if a.number() != b.number() {
			return a.number() - b.number()
		}
		return strings.Compare(string(a), string(b))
	})
	if len(own) == 0 {
		return Plan{Current: newMark(0, rotation), New: true}
	}
	last := own[len(own)-1]
	if !last.isOf(rotation) {
		plan := Plan{Current: newMark(last.number()+1, rotation), New: true, Previous: last}
		if len(own) > 1 {
			plan.Stale = own[:len(own)-1]
		}
		return plan
	}
	plan := Plan{Current: last}
	if len(own) > 1 {
		plan.Previous = own[len(own)-2]
	}
	if len(own) > 2 {
		plan.Stale = own[:len(own)-2]
	}
	return plan
}
