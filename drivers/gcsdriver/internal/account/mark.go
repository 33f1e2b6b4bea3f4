// SPDX-License-Identifier: Apache-2.0

package account

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxOwner is what a service account's description, 256 bytes, has room for beside the rest.
const maxOwner = 80

// mark is what the driver writes into the description of a service account:
// "cosi:ACCOUNT;PARAMETERS;STORE;OWNER".
type mark struct {
	// account is the COSI account ID.
	account string
	// hash is that of the request.
	hash string
	// store is the ID of the credential store that has the account's keys.
	store string
	// owner is the driver and its cluster.
	owner string
}

const markPrefix = "cosi:"

func (m mark) String() string {
	return markPrefix + strings.Join([]string{m.account, m.hash, m.store, m.owner}, ";")
}

// parseMark reads a description; one that is not a mark is the mark of nobody.
func parseMark(description string) mark {
	text, ours := strings.CutPrefix(description, markPrefix)
	parts := strings.Split(text, ";")
	if !ours || len(parts) != 4 {
		return mark{}
	}
	return mark{account: parts[0], hash: parts[1], store: parts[2], owner: parts[3]}
}

// owner names the driver and its cluster. A name that is too long for a description is hashed.
func (p *Project) owner() string {
	text := p.Driver
	if p.Cluster != "" {
		text += "/" + p.Cluster
	}
	if len(text) <= maxOwner {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	return "h-" + hex.EncodeToString(sum[:16])
}
