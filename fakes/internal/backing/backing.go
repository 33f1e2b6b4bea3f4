// SPDX-License-Identifier: Apache-2.0

// Package backing provides the storage of a fake. The storage is either a directory that outlives the process, or
// memory with a temporary directory for bodies. The package does not interpret the stored data.
package backing

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/cooper-cosi/cooper/fakes/internal/blob"
	"github.com/cooper-cosi/cooper/fakes/internal/journal"
)

// Options configure the storage.
type Options struct {
	// Program is the name of the fake, such as s3fake.
	Program string
	// Dir is the directory for all data. If it is empty, data is kept in memory.
	Dir string
	// BodyThreshold is the size in bytes above which a body has a separate file even if Dir is empty.
	BodyThreshold int64
	// Past records earlier states with the times of the clock Now.
	Past bool
	Now  func() time.Time
}

// A Backing is the storage of a fake. It is open until Close. The zero value is closed.
type Backing struct {
	// Journal stores changes, and Bodies stores the contents of objects.
	Journal journal.Journal
	Bodies  *blob.Store
	// Past is the Journal if it records earlier states, and nil otherwise.
	Past *journal.Past
	// beginning is the state before the first call; nil with Options.Dir.
	beginning *journal.Beginning
	// scratch is the directory for the bodies of a fake in memory.
	scratch string
}

// Open opens the existing storage or creates it.
func Open(o Options) (Backing, error) { return open(o, journal.NewBeginning()) }

// open opens storage; if it is in memory, beginning is its initial state.
func open(o Options, beginning *journal.Beginning) (Backing, error) {
	b := Backing{Journal: beginning, beginning: beginning}
	if err := b.open(o); err != nil {
		return Backing{}, errors.Join(err, b.Close())
	}
	if o.Past {
		b.Past = journal.NewPast(b.Journal, o.Now)
		b.Journal = b.Past
	}
	return b, nil
}

func (b *Backing) open(o Options) error {
	if o.Dir != "" {
		j, err := journal.Open(o.Dir, o.Program)
		if err != nil {
			return err
		}
		b.Journal, b.beginning = j, nil
		b.Bodies, err = blob.New(o.Dir, 0)
		return err
	}
	dir, err := os.MkdirTemp("", o.Program+"-")
	if err != nil {
		return fmt.Errorf("create a directory for bodies: %w", err)
	}
	b.scratch = dir
	b.Bodies, err = blob.New(dir, o.BodyThreshold)
	return err
}

// Call records that the fake begins to serve a call. The fake must call it before each call.
func (b *Backing) Call() {
	b.beginning.Call()
	b.Past.Call()
}

// Before returns the storage in the earlier state that the journal describes. It does not need to be closed.
func (b *Backing) Before(was journal.Journal) Backing {
	return Backing{Journal: was, Bodies: b.Bodies.View()}
}

// Close releases all resources. Data in Options.Dir is kept. A second call does nothing.
func (b *Backing) Close() error {
	if b.Journal == nil {
		return nil
	}
	err := b.Journal.Close()
	b.Journal = journal.Discard{}
	if b.scratch == "" {
		return err
	}
	err = errors.Join(err, os.RemoveAll(b.scratch))
	b.scratch = ""
	if b.Bodies != nil {
		err = errors.Join(err, b.Bodies.Close())
	}
	return err
}
