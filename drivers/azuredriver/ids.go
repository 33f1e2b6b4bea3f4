// SPDX-License-Identifier: Apache-2.0

package azuredriver

import (
	"crypto/sha256"
	"encoding/base32"
	"regexp"
	"strings"

	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/policy"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

const (
	minContainerName = 3
	maxContainerName = 63
	// hashMark begins names that stand for a longer or stranger one. A proposed name that begins with it
	// is hashed too, so that the two kinds never meet.
	hashMark = "h-"
	// hashDigits is 160 bits in base 32.
	hashDigits = 32
)

// plainName is what Azure takes as the name of a container, but for its length.
var plainName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// storeName answers the proposed name if it fits into limit bytes after prefix, and a hash of it
// otherwise. Names are never truncated: what is cut off may be what tells two of them apart.
func storeName(prefix, proposed string, limit int) string {
	fits := len(prefix)+len(proposed) <= limit && len(prefix)+len(proposed) >= minContainerName
	if fits && plainName.MatchString(proposed) && !strings.HasPrefix(proposed, hashMark) {
		return prefix + proposed
	}
	sum := sha256.Sum256([]byte(proposed))
	digits := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:])
	return prefix + hashMark + strings.ToLower(digits[:hashDigits])
}

func isContainerName(name string) bool {
	return len(name) >= minContainerName && len(name) <= maxContainerName && plainName.MatchString(name)
}

// isAccountName says whether AccountID can have made the name.
func isAccountName(name string) bool {
	return len(name) <= policy.MaxAccount && plainName.MatchString(name)
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
	if !isContainerName(name) || !accountPattern.MatchString(owner) || name == d.config.RecordsContainer {
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
