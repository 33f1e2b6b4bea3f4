// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"slices"
	"strconv"
	"strings"
)

const (
	// rotationDigits is 40 bits in base 32, to tell a changed rotation from the one before.
	rotationDigits = 8
	// nonceDigits is 50 bits in base 32.
	nonceDigits = 10
)

// Mark tells the credentials of one account apart at a backend that keeps it with each: in the name
// of a stored policy, the label of a key, or the key's ID. It is 21 to 31 letters, digits and dots:
// how many credentials the account had before, a hash of the rotation, and something random, since
// an account that is revoked and granted again must not have its former credential.
type Mark string

// ParseMark returns the mark in a text, and whether it is one.
func ParseMark(text string) (Mark, bool) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 || len(parts[1]) != rotationDigits || len(parts[2]) != nonceDigits {
		return "", false
	}
	number, err := strconv.Atoi(parts[0])
	return Mark(text), err == nil && number >= 0 && strconv.Itoa(number) == parts[0]
}

func newMark(number int, rotation string) Mark {
	nonce := strings.ToLower(rand.Text())[:nonceDigits]
	return Mark(strings.Join([]string{strconv.Itoa(number), rotationHash(rotation), nonce}, "."))
}

func rotationHash(rotation string) string {
	sum := sha256.Sum256([]byte(rotation))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:rotationDigits])
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
	parts := strings.Split(string(m), ".")
	return len(parts) == 3 && parts[1] == rotationHash(rotation)
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
