// SPDX-License-Identifier: Apache-2.0

// Package names defines the valid names of containers, accounts and storage accounts. It performs no I/O.
package names

import (
	"errors"
	"regexp"

	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/policy"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

var (
	// plain matches the names that Azure accepts for containers, apart from their length.
	plain = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	// storageAccount matches the names that Azure accepts for storage accounts.
	storageAccount = regexp.MustCompile(`^[a-z0-9]{3,24}$`)
	// issued matches the suffix of names that COSI proposes, and of containers created for them.
	issued = regexp.MustCompile(`bc-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
)

// Buckets returns the rule for names of containers ("Naming and referencing containers, blobs, and metadata").
func Buckets() driverkit.NameRule {
	return driverkit.NameRule{Min: 3, Max: 63, Pattern: plain}
}

// Accounts returns the rule for names of accounts, which are also the names of stored access policies.
func Accounts() driverkit.NameRule {
	return driverkit.NameRule{Min: 3, Max: policy.MaxAccount, Pattern: plain}
}

// CheckStorageAccount returns an error if no storage account can have this name.
func CheckStorageAccount(name string) error {
	if !storageAccount.MatchString(name) {
		return errors.New("must have 3 to 24 lower-case letters and digits")
	}
	return nil
}

// MayBeOurs reports whether this driver may have created an ID at a storage account that was configured earlier but
// is not configured now. Other IDs do not need to be removed.
func MayBeOurs(id string) bool { return issued.MatchString(id) }
