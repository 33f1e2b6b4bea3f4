// SPDX-License-Identifier: Apache-2.0

package iampolicy

import "slices"

// Pins maps the ARNs of users and roles in a policy to the unique IDs that they had when the policy was stored. AWS
// stores the IDs. If a user is deleted and a new user has the same name, the policy does not apply to the new user
// ("Principal" in the IAM JSON policy elements reference).
type Pins map[string]string

// Named returns the AWS principals in the document.
func (d *Document) Named() []string {
	var out []string
	for _, s := range d.Statements {
		for _, p := range []*Principals{s.Principal, s.NotPrincip} {
			if p != nil {
				out = append(out, p.By["AWS"]...)
			}
		}
	}
	return out
}

// Pin replaces the ARNs of principals by their unique IDs.
func (d *Document) Pin(pins Pins) {
	for _, s := range d.Statements {
		for _, p := range []*Principals{s.Principal, s.NotPrincip} {
			if p == nil {
				continue
			}
			p.By["AWS"] = slices.Clone(p.By["AWS"])
			for i, value := range p.By["AWS"] {
				if id := pins[value]; id != "" {
					p.By["AWS"][i] = id
				}
			}
		}
	}
}
