// SPDX-License-Identifier: Apache-2.0

// Package journal stores the last value of every key of a few tables. The values are either in memory only, or in an
// append-only file that survives a crash of the process. Each Append is atomic: after a crash, either all of its
// records exist or none. The package does not interpret values.
package journal

import (
	"encoding/json"
	"fmt"
)

// Record is the change of one key: its new value, or its removal if Value is nil.
type Record struct {
	Table string          `json:"t"`
	Key   string          `json:"k"`
	Value json.RawMessage `json:"v,omitempty"`
}

// Journal stores the changes of a store before the store acknowledges them.
type Journal interface {
	// Append stores the records atomically.
	Append(records ...Record) error
	// Table returns the values of a table, by key, as of the time when the journal was opened. Call it at most once
	// per table.
	Table(name string) map[string]json.RawMessage
	// Close releases the resources of the journal.
	Close() error
}

// Put returns the record that sets key to the JSON encoding of value.
func Put(table, key string, value any) (Record, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return Record{}, fmt.Errorf("encode %s %q for the journal: %w", table, key, err)
	}
	return Record{Table: table, Key: key, Value: raw}, nil
}

// Delete returns the record that removes key.
func Delete(table, key string) Record { return Record{Table: table, Key: key} }

// Discard is a journal that stores nothing.
type Discard struct{}

// Append implements Journal.
func (Discard) Append(...Record) error { return nil }

// Table implements Journal.
func (Discard) Table(string) map[string]json.RawMessage { return nil }

// Close implements Journal.
func (Discard) Close() error { return nil }

// Writes reports whether appended records are stored, so that callers can avoid encoding them.
func Writes(j Journal) bool {
	switch j := j.(type) {
	case Discard:
		return false
	case *Beginning:
		return !j.over.Load()
	}
	return true
}
