// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"strings"

	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/account"
)

// mark is the driver's mark in the description of a service account: "cosi:ACCOUNT;PARAMETERS;STORE;OWNER".
type mark struct {
	// account is the COSI account ID.
	account string
	// hash is the hash of the request.
	hash string
	// store is the ID of the credential store that has the account's keys.
	store string
	// owner is the driver and its cluster.
	owner string
}

func (m mark) String() string {
	return account.MarkPrefix + strings.Join([]string{m.account, m.hash, m.store, m.owner}, ";")
}

// parseMark parses a description. It returns the zero mark if the description is not a mark.
func parseMark(description string) mark {
	text, ours := strings.CutPrefix(description, account.MarkPrefix)
	parts := strings.Split(text, ";")
	if !ours || len(parts) != 4 {
		return mark{}
	}
	return mark{account: parts[0], hash: parts[1], store: parts[2], owner: parts[3]}
}
