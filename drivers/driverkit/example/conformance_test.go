// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/cooper-cosi/cooper/internal/testing/conformancetest"
	"github.com/cooper-cosi/cooper/sanity"
)

// TestConformance holds the driver, as a process, against the conformance suite. It has no data plane.
func TestConformance(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	backend := exampleBackend{root: filepath.Join(t.TempDir(), "data")}
	conformancetest.Test(t, "drivers/driverkit/example", sanity.Config{
		Launcher:    sanity.Exec{Command: []string{program}},
		Environment: []string{"EXAMPLE_ROOT=" + backend.root},
		Params: sanity.Params{
			Bucket: map[string]string{"tier": "hot"}, Incompatible: map[string]string{"tier": "cold"}, Invalid: map[string]string{"tier": "lukewarm"},
		},
		Rotation:  true,
		Inventory: backend.inventory,
		Fixture:   backend,
	})
}

// exampleBackend looks into the directory of the example driver and makes buckets there.
type exampleBackend struct{ root string }

func (b exampleBackend) inventory(context.Context) ([]sanity.Resource, error) {
	var state struct {
		Buckets  map[string]string
		Accounts map[string]struct{ Keys [][2]string }
	}
	text, err := os.ReadFile(filepath.Join(b.root, "state.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the state: %w", err)
	}
	if err := json.Unmarshal(text, &state); err != nil {
		return nil, fmt.Errorf("read the state: %w", err)
	}
	var found []sanity.Resource
	for id := range state.Buckets {
		found = append(found, sanity.Resource{Kind: sanity.KindBucket, Name: id})
	}
	for id, account := range state.Accounts {
		found = append(found, sanity.Resource{Kind: sanity.KindAccount, Name: id})
		for _, key := range account.Keys {
			found = append(found, sanity.Resource{Kind: sanity.KindKey, Name: key[0]})
		}
	}
	return found, nil
}

// BucketID implements sanity.Fixture.
func (exampleBackend) BucketID(name string) string { return name }

func (b exampleBackend) path(name string) string {
	return filepath.Join(b.root, fmt.Sprintf("bucket-%x", sha256.Sum256([]byte(name))))
}

// MakeBucket implements sanity.Fixture.
func (b exampleBackend) MakeBucket(_ context.Context, name string) error {
	return os.MkdirAll(b.path(name), 0o750)
}

// TakeName implements sanity.ForeignFixture.
func (b exampleBackend) TakeName(_ context.Context, id string) error {
	return os.Mkdir(b.path(id), 0o750)
}

// FreeName implements sanity.ForeignFixture.
func (b exampleBackend) FreeName(_ context.Context, id string) error {
	return os.RemoveAll(b.path(id))
}

// RemoveBucket implements sanity.Fixture.
func (b exampleBackend) RemoveBucket(_ context.Context, name string) error {
	return os.RemoveAll(b.path(name))
}
