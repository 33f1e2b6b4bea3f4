// SPDX-License-Identifier: Apache-2.0

package iam

import (
	"net/http"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iampolicy"
)

const tableGuests = "iam.guest"

// Guest is a user of another account, identified only by its access key. The IAM operations of this account do not
// return or change it.
type Guest struct {
	// Account is the 12-digit number of the guest's own account.
	Account string `json:"account"`
	Name    string `json:"name"`
	ID      string `json:"id"`
	KeyID   string `json:"keyId"`
	Secret  Secret `json:"secret"`
	// Policy is the policy document in the guest's own account. "" allows nothing.
	Policy string `json:"policy"`
}

// ImportGuest adds a guest with a random ID.
func (a *Account) ImportGuest(g Guest) error {
	if g.Policy != "" {
		if _, err := iampolicy.ParseIdentity(g.Policy); err != nil {
			return err
		}
	}
	g.ID = newID("AIDA", 17)
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case len(g.Account) != 12 || g.Account == a.ID || strings.Trim(g.Account, "0123456789") != "":
		return awserr.Newf(http.StatusBadRequest, "ValidationError", "%s is not the number of another account", g.Account)
	case a.keys[g.KeyID] != "" || a.guests[g.KeyID] != nil || g.KeyID == a.RootKey:
		return exists("Access key %s already exists.", g.KeyID)
	}
	if err := a.save(tableGuests, g.KeyID, g); err != nil {
		return err
	}
	a.guests[g.KeyID] = &g
	return nil
}

func (a *Account) guestARN(g *Guest) string {
	return "arn:" + a.Partition + ":iam::" + g.Account + ":user/" + g.Name
}

func (a *Account) guestPrincipal(g *Guest) (Principal, error) {
	p := Principal{ARN: a.guestARN(g), ID: g.ID, Name: g.Name, Type: "User", AccountID: g.Account, Foreign: true}
	if g.Policy == "" {
		return p, nil
	}
	return p, a.attachDocument(&p.Identity, g.Policy)
}

// guestNamed reports whether a policy's principal is a guest.
func (a *Account) guestNamed(value string) bool {
	for _, g := range a.guests {
		if a.guestARN(g) == value || g.ID == value {
			return true
		}
	}
	return false
}
