// SPDX-License-Identifier: Apache-2.0

// Package names has the rules for names of containers, accounts and storage accounts. It is pure.
package names

import (
	"errors"
	"regexp"

	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/policy"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

var (
	// plain is what Azure takes as the name of a container, but for its length.
	plain = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	// storageAccount is what Azure takes as the name of a storage account.
	storageAccount = regexp.MustCompile(`^[a-z0-9]{3,24}$`)
	// issued is how names of COSI end, and so those of containers that were made for it.
	issued = regexp.MustCompile(`bc-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
)

// Buckets is the rule for names of containers ("Naming and referencing containers, blobs, and metadata").
func Buckets() driverkit.NameRule {
	return driverkit.NameRule{Min: 3, Max: 63, Pattern: plain}
}

// Accounts is the rule for names of accounts, which are those of stored access policies.
func Accounts() driverkit.NameRule {
	return driverkit.NameRule{Min: 3, Max: policy.MaxAccount, Pattern: plain}
}

// CheckStorageAccount returns why no storage account can have this name, or nil.
func CheckStorageAccount(name string) error {
	if !storageAccount.MatchString(name) {
		return errors.New("must be 3 to 24 lower-case letters and digits, as Azure has it")
	}
	return nil
}

// MayBeOurs reports whether an ID whose storage account is not configured can be one that the driver made
// under another configuration. What it cannot have made need not be removed.
func MayBeOurs(id string) bool { return issued.MatchString(id) }
