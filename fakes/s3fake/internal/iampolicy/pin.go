// SPDX-License-Identifier: Apache-2.0

package iampolicy

import "slices"

// Pins maps the ARNs of users and roles in a policy to their unique IDs at the time when the policy was stored. AWS
// stores the IDs, so a new user with the name of a deleted one does not get its access ("Principal" in the IAM JSON
// policy elements reference).
type Pins map[string]string

// Named returns the values of the document's AWS principals.
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

// Pin replaces ARNs by IDs.
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
