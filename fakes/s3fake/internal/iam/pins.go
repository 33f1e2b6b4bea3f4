// SPDX-License-Identifier: Apache-2.0

package iam

import (
	"strings"

	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iampolicy"
)

// Pins returns the unique IDs of the users and roles in the principals of a policy.
func (a *Account) Pins(d *iampolicy.Document) iampolicy.Pins {
	a.mu.RLock()
	defer a.mu.RUnlock()
	pins := iampolicy.Pins{}
	for _, arn := range d.Named() {
		for _, u := range a.users {
			if a.UserARN(u) == arn {
				pins[arn] = u.ID
			}
		}
		for _, r := range a.roles {
			if a.RoleARN(r) == arn {
				pins[arn] = r.ID
			}
		}
	}
	return pins
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
	for _, u := range a.users {
		if u.ID == id {
			return a.UserARN(u)
		}
	}
	for _, r := range a.roles {
		if r.ID == id {
			return a.RoleARN(r)
		}
	}
	return id
}
