// SPDX-License-Identifier: Apache-2.0

package iam

import (
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iampolicy"
)

// Pins returns the unique IDs of the users and roles in the principals of a policy.
func (a *Account) Pins(d *iampolicy.Document) iampolicy.Pins {
	a.mu.RLock()
	defer a.mu.RUnlock()
	pins := iampolicy.Pins{}
	named := d.Named()
	a.principals(func(arn, id string) {
		if slices.Contains(named, arn) {
			pins[arn] = id
		}
	})
	return pins
}

// principals calls do with the ARN and the unique ID of all users and roles. The caller holds the lock.
func (a *Account) principals(do func(arn, id string)) {
	for _, u := range a.users {
		do(a.UserARN(u), u.ID)
	}
	for _, r := range a.roles {
		do(a.RoleARN(r), r.ID)
	}
}

// Shown returns the text of a policy as IAM shows it. Renamed principals have their new ARN, and deleted principals
// their unique ID.
func (a *Account) Shown(text string, pins iampolicy.Pins) string {
	a.mu.RLock()
	defer a.mu.RUnlock()
	for arn, id := range pins {
		if now := a.nameOf(id); now != arn {
			text = strings.ReplaceAll(text, `"`+arn+`"`, `"`+now+`"`)
		}
	}
	return text
}

// nameOf returns the ARN of the user or role with an ID, or the ID if there is none.
func (a *Account) nameOf(id string) string {
	name := id
	a.principals(func(arn, other string) {
		if other == id {
			name = arn
		}
	})
	return name
}
