// SPDX-License-Identifier: Apache-2.0

package iampolicy

import "slices"

// Pins maps the ARNs of users and roles that a policy names to their unique IDs at the time when it was stored. AWS
// stores the IDs: a user who gets the name of a deleted one later does not get what that one had ("Principal" in the
// IAM JSON policy elements reference).
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
