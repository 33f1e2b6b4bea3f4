// SPDX-License-Identifier: Apache-2.0

package azuredriver

import (
	"regexp"
	"strings"

	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/policy"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// plainName is what Azure takes as the name of a container, but for its length.
var plainName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// containerNames is the rule of Azure ("Naming and referencing containers, blobs, and metadata").
func containerNames() driverkit.NameRule {
	return driverkit.NameRule{Min: 3, Max: 63, Pattern: plainName}
}

// accountNames is the rule for accounts, which are names of stored access policies.
func accountNames() driverkit.NameRule {
	return driverkit.NameRule{Min: 3, Max: policy.MaxAccount, Pattern: plainName}
}

// joinID answers the ID of a container: its name, after the storage account's name and a dot unless
// that is the default one.
func (d *Driver) joinID(account, name string) string {
	if account == d.config.DefaultAccount {
		return name
	}
	return account + "." + name
}

// splitID finds the storage account and the container of an ID. The account is nil if the ID names one
// that is not configured, and the container is empty if it can be none.
func (d *Driver) splitID(id string) (*account, string) {
	owner, name, found := strings.Cut(id, ".")
	if !found {
		owner, name = d.config.DefaultAccount, id
	}
	if !containerNames().Made(name) || !accountPattern.MatchString(owner) || name == d.config.RecordsContainer {
		return nil, ""
	}
	return d.accounts[owner], name
}

// issuedName is how names of COSI end, and so those of containers that were made for it.
var issuedName = regexp.MustCompile(`bc-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// mayBeOurs says whether an ID whose storage account is not configured can be one that the driver made
// under another configuration. What it cannot have made need not be removed.
func mayBeOurs(id string) bool { return issuedName.MatchString(id) }

// unknownAccount is the answer about an ID whose storage account is not configured.
func unknownAccount(id string) error {
	owner, _, _ := strings.Cut(id, ".")
	return driverkit.FailedPrecondition("bucket %s is in storage account %s, which this driver is not configured for; an administrator has to add it", id, owner)
}

// accountFor answers the storage account that a class names, or the default one.
func (d *Driver) accountFor(name string) (*account, error) {
	if name == "" {
		name = d.config.DefaultAccount
	}
	if found, ok := d.accounts[name]; ok {
		return found, nil
	}
	return nil, driverkit.InvalidArgument("parameter account is %q, but this driver has: %s", name, strings.Join(d.config.accountNames(), ", "))
}
