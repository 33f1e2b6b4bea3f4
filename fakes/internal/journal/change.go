// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Decode decodes the value of a key in a table.
func Decode(table, key string, raw json.RawMessage, into any) error {
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("read %s %q from the journal: %w", table, key, err)
	}
	return nil
}

// Each calls add with each value of a table.
func Each[V any](j Journal, table string, add func(key string, v *V)) error {
	for key, raw := range j.Table(table) {
		v := new(V)
		if err := Decode(table, key, raw, v); err != nil {
			return err
		}
		add(key, v)
	}
	return nil
}

// Load reads a whole table into a map.
func Load[V any](j Journal, table string, into map[string]V) error {
	return Each(j, table, func(key string, v *V) { into[key] = *v })
}

// Save stores the value of one key in the journal.
func Save(j Journal, table, key string, value any) error {
	c := Begin(j)
	c.Put(table, key, value)
	return c.Commit()
}

// Change collects the records of one change. It does nothing if the journal stores nothing.
type Change struct {
	journal Journal
	on      bool
	records []Record
	err     error
}

// Begin returns an empty change.
func Begin(j Journal) *Change { return &Change{journal: j, on: Writes(j)} }

// Put sets key to the JSON of value.
func (c *Change) Put(table, key string, value any) {
	if !c.on {
		return
	}
	rec, err := Put(table, key, value)
	c.records, c.err = append(c.records, rec), errors.Join(c.err, err)
}

// Delete removes key.
func (c *Change) Delete(table, key string) {
	if c.on {
		c.records = append(c.records, Delete(table, key))
	}
}

// Commit appends all records to the journal atomically.
func (c *Change) Commit() error {
	if c.err != nil || len(c.records) == 0 {
		return c.err
	}
	return c.journal.Append(c.records...)
}
