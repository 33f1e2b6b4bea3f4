// SPDX-License-Identifier: Apache-2.0

package iam_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/cooper-cosi/cooper/fakes/internal/journal"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iam"
)

var errFull = errors.New("the disk is full")

// disk is a journal that fails after a number of appends.
type disk struct {
	tables map[string]map[string]json.RawMessage
	left   int
}

func (d *disk) Append(records ...journal.Record) error {
	if d.left == 0 {
		return errFull
	}
	d.left--
	for _, r := range records {
		if d.tables[r.Table] == nil {
			d.tables[r.Table] = map[string]json.RawMessage{}
		}
		d.tables[r.Table][r.Key] = r.Value
		if r.Value == nil {
			delete(d.tables[r.Table], r.Key)
		}
	}
	return nil
}

func (d *disk) Table(name string) map[string]json.RawMessage { return d.tables[name] }

func (d *disk) Close() error { return nil }

// TestRenameOnAFullDisk renames a user and a group while the journal fails after a number of appends. Each has exactly one of
// its names afterwards, also after a restart.
func TestRenameOnAFullDisk(t *testing.T) {
	t.Parallel()
	user := func(a *iam.Account, name string) error { _, err := a.User(name); return err }
	group := func(a *iam.Account, name string) error { _, _, err := a.Group(name); return err }
	for what, test := range map[string]struct {
		create func(*iam.Account) error
		rename func(*iam.Account) error
		find   func(*iam.Account, string) error
	}{
		"a user": {
			func(a *iam.Account) error { _, err := a.CreateUser(iam.NewUser{Name: "old"}); return err },
			func(a *iam.Account) error { return a.RenameUser("old", "new", "") }, user,
		},
		"a group": {
			func(a *iam.Account) error { _, err := a.CreateGroup("old", "/"); return err },
			func(a *iam.Account) error { return a.RenameGroup("old", "new", "") }, group,
		},
	} {
		for appends := range 3 {
			d := &disk{tables: map[string]map[string]json.RawMessage{}, left: 1}
			open := func() *iam.Account {
				a, err := iam.New(iam.Options{ID: "000000000000", Journal: d, Now: time.Now})
				if err != nil {
					t.Fatal(err)
				}
				return a
			}
			a := open()
			if err := test.create(a); err != nil {
				t.Fatal(err)
			}
			d.left = appends
			want, other := "new", "old"
			if err := test.rename(a); err != nil {
				want, other = other, want
			}
			for when, account := range map[string]*iam.Account{"at once": a, "after a restart": open()} {
				if err := test.find(account, want); err != nil {
					t.Errorf("%s, %d appends, %s: %v", what, appends, when, err)
				}
				if test.find(account, other) == nil {
					t.Errorf("%s, %d appends, %s: the name %s exists, too", what, appends, when, other)
				}
			}
		}
	}
}
