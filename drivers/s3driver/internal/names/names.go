// SPDX-License-Identifier: Apache-2.0

// Package names defines the valid names of buckets and accounts. It performs no I/O.
package names

import (
	"regexp"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// MaxAccount is the maximum length of an account name, which is that of an IAM user ("IAM and AWS STS quotas").
const MaxAccount = 64

var (
	// plain matches proposed names that stores accept unchanged. They have no dots, which separate the backend's name in
	// an ID and break TLS with virtual addressing.
	plain = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)
	// bucket matches the names that S3 accepts for buckets; the store enforces its finer rules.
	bucket = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
)

// Buckets is the rule for names of new buckets ("Bucket naming rules").
func Buckets() driverkit.NameRule {
	return driverkit.NameRule{Min: 3, Max: 63, Pattern: plain}
}

// Accounts is the rule for names of accounts.
func Accounts() driverkit.NameRule {
	return driverkit.NameRule{Min: 3, Max: MaxAccount, Pattern: plain}
}

// CouldExist reports whether a bucket can have this name, dots included.
func CouldExist(name string) bool { return bucket.MatchString(name) }
