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
	// hashDigits is 40 bits in base 32, enough to detect a changed rotation or another owner.
	hashDigits = 8
	// nonceDigits is 50 bits in base 32.
	nonceDigits = 10
)

// Mark identifies one credential of an account. The backend stores it with the credential: as the name of a stored
// policy, the label of a key, or the key's ID. A mark consists of 21 to 31 letters, digits and dots. It contains the
// number of credentials that the account had before, a hash of the rotation, and a random part. Because of the random
// part, an account that is revoked and granted again does not get its former credential. For a MarkedRequest, the
// mark is 18 characters longer and also contains the owner and the purpose of the account.
type Mark string

// MarkedRequest is a Request for drivers that store nothing. Its additional fields are encoded in the marks of the
// account.
type MarkedRequest struct {
	Request

	// Owner identifies the driver and cluster that own the account, such as the driver's name and the cluster's mark. An
	// account with another owner is left unchanged.
	Owner string
	// Hash identifies the requested access: requests for the same access have the same Hash. A grant for an account with
	// another hash returns AlreadyExists. Leave it empty for a revoke.
	Hash string
}

// checkMine returns an error if the account has a key of another owner.
func (r MarkedRequest) checkMine(marks []Mark, refuse func(string, ...any) *driverkit.Error) error {
	for _, mark := range marks {
		if parts := mark.parts(); len(parts) != 5 || parts[3] != shortHash(r.Owner) {
			return refuse("account %s has a key of another driver or cluster, or one that was created manually; the driver does not change it", r.Account)
		}
	}
	return nil
}

// plan is PlanMarks for an account that belongs to the owner and was granted for the same access.
func (r MarkedRequest) plan(marks []Mark) (Plan, error) {
	if err := r.checkMine(marks, driverkit.AlreadyExists); err != nil {
		return Plan{}, err
	}
	for _, mark := range marks {
		if mark.parts()[4] != shortHash(r.Hash) {
			return Plan{}, driverkit.AlreadyExists("account %s exists with other buckets, access modes or parameters than requested", r.Account)
		}
	}
	plan := PlanMarks(marks, r.Rotation)
	if plan.New {
		plan.Current = Mark(strings.Join([]string{string(plan.Current), shortHash(r.Owner), shortHash(r.Hash)}, "."))
	}
	return plan, nil
}

// ParseMark parses text as a Mark and reports whether it is valid.
func ParseMark(text string) (Mark, bool) {
	mark := Mark(text)
	return mark, mark.parts() != nil
}

// parts returns the number, the hash of the rotation and the random part, and for a MarkedRequest two more hashes. It
// returns nil if m is not a valid mark.
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

// number returns the number of marks that the account had before this one.
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

// Plan is the target state of an account's marks.
type Plan struct {
	// Current is the mark of the credential to return. New reports that the backend does not have it yet.
	Current Mark
	New     bool
	// Previous is the preceding mark, whose credential keeps working. It is empty if there is none.
	Previous Mark
	// Stale are the marks to remove before Current is created.
	Stale []Mark
}

// PlanMarks returns the target state for the given marks of an account. It plans a new mark only if there is no mark,
// or if the rotation differs from that of the last mark. Use it in drivers that change all marks of a bucket in one
// call, where GrantDerived would make too many calls.
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
