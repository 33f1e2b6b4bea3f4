// SPDX-License-Identifier: Apache-2.0

// Package names defines which bucket and account names the driver accepts, and derives the IDs of Google service
// accounts from account names. A name always gives the same ID. The ID contains the UUID in the name or a hash of the
// whole name, because two names with the same beginning must not get the same ID.
package names

import (
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/google/uuid"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

const (
	// maxBucket is the maximum length of a bucket name without dots.
	maxBucket = 63
	// maxAccount is the maximum length of an account name that the driver creates.
	maxAccount = 64
	// accountDigits is 130 bits in base 32, which fits into a service account ID; a UUID has 128 bits.
	accountDigits = 26
)

var (
	// plain matches proposed names that are used unchanged. They contain no dots, which separate the backend's name in
	// an ID and turn a bucket name into a domain name, and no '_', which IDs do not contain.
	plain = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)
	// bucket is Google's rule for names without dots ("Bucket naming requirements").
	bucket = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{1,61}[a-z0-9]$`)
	// uuidText matches the canonical form of a UUID, which can be restored from base 32.
	uuidText = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

	digits = base32.StdEncoding.WithPadding(base32.NoPadding)
)

// Buckets returns the rule for names of buckets.
func Buckets() driverkit.NameRule {
	return driverkit.NameRule{
		Min: 3, Max: maxBucket, Pattern: plain, Refused: func(name string) bool { return CheckReserved(name) != nil },
	}
}

// Accounts returns the rule for names of accounts, from which the names of service accounts are derived.
func Accounts() driverkit.NameRule {
	rule := Buckets()
	rule.Max = maxAccount
	return rule
}

// CheckBucket returns an error if a name cannot be that of a new bucket.
func CheckBucket(name string) error {
	switch {
	case strings.Contains(name, "."):
		return errors.New("contains dots: Google treats it as a domain name and requires a proof of ownership")
	case !bucket.MatchString(name):
		return errors.New("must have 3 to 63 lower-case letters, digits, '-' and '_', and begin and end with a letter or digit")
	}
	return CheckReserved(name)
}

// CheckReserved rejects the names that Google reserves, and their "close misspellings".
func CheckReserved(name string) error {
	if strings.HasPrefix(name, "goog") {
		return errors.New(`begins with "goog", which Google reserves`)
	}
	for _, word := range []string{"google", "g00gle", "go0gle", "g0ogle", "googie", "goog1e"} {
		if strings.Contains(name, word) {
			return fmt.Errorf("contains %q, which Google reserves", word)
		}
	}
	return nil
}

// CouldExist reports whether a bucket can have this name, dots included.
func CouldExist(name string) bool {
	if len(name) > 222 {
		return false
	}
	for part := range strings.SplitSeq(name, ".") {
		if len(part) > maxBucket || !anyPart.MatchString(part) {
			return false
		}
	}
	return len(name) >= 3
}

var anyPart = regexp.MustCompile(`^[a-z0-9]([a-z0-9_-]*[a-z0-9])?$`)

// ServiceAccount returns the service account ID for an account's name. Google accepts 6 to 30 lower-case letters,
// digits and '-'. If the name is "ba-" and a UUID, the ID is "ba-" and the UUID in base 32. This ID has 29
// characters, and the UUID can be restored from it. For any other name, the ID is "bx-" and a hash.
func ServiceAccount(name string) string {
	if text, found := strings.CutPrefix(name, "ba-"); found && uuidText.MatchString(text) {
		id := uuid.MustParse(text)
		return "ba-" + encode(id[:], accountDigits)
	}
	return "bx-" + encode(hash(name), accountDigits)
}

func hash(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

func encode(data []byte, length int) string {
	return strings.ToLower(digits.EncodeToString(data)[:length])
}
