// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/fakes/internal/blob"
	"github.com/cooper-cosi/cooper/fakes/internal/journal"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/store"
)

// newVersioned returns a store with one versioned bucket, "docs".
func newVersioned(tb testing.TB, j journal.Journal) *store.Store {
	tb.Helper()
	bodies, err := blob.New(tb.TempDir(), 0)
	if err != nil {
		tb.Fatal(err)
	}
	s, err := store.New(store.Options{Journal: j, Blobs: bodies, Now: time.Now})
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := s.Bucket("docs"); err == nil {
		return s
	}
	if err := s.CreateBucket(store.Bucket{Name: "docs", Versioning: store.VersioningEnabled}); err != nil {
		tb.Fatal(err)
	}
	return s
}

func put(tb testing.TB, s *store.Store, key string) string {
	tb.Helper()
	v, err := s.Put(store.Version{Bucket: "docs", Key: key}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return v.ID
}

func setVersioning(tb testing.TB, s *store.Store, state string) {
	tb.Helper()
	err := s.UpdateBucket("docs", func(b *store.Bucket) error {
		b.Versioning = state
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
}

// listed returns the version IDs of a key in the order of a listing that follows the version after.
func listed(tb testing.TB, s *store.Store, after string, limit int) []string {
	tb.Helper()
	q := store.Query{Bucket: "docs", Max: limit}
	if after != "" {
		q.After, q.AfterVersion = "k", after
	}
	p, err := s.ListVersions(q)
	if err != nil {
		tb.Fatal(err)
	}
	var out []string
	for _, v := range p.Versions {
		out = append(out, v.ID)
	}
	return out
}

// TestVersionsKeepTheirOrder writes one key under all states of versioning, and lists and removes its versions.
func TestVersionsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j, err := journal.Open(dir, "test")
	if err != nil {
		t.Fatal(err)
	}
	s := newVersioned(t, j)
	a := put(t, s, "k")
	setVersioning(t, s, store.VersioningSuspended)
	put(t, s, "k")
	setVersioning(t, s, store.VersioningEnabled)
	b, c, d := put(t, s, "k"), put(t, s, "k"), put(t, s, "k")
	same(t, "newest first", []string{d, c, b, "null", a}, listed(t, s, "", 10))
	same(t, "a page follows the one before", []string{b, "null"}, listed(t, s, c, 2))
	remove(t, s, c)
	same(t, "a marker that is gone keeps its place", []string{b, "null", a}, listed(t, s, c, 10))
	setVersioning(t, s, store.VersioningSuspended)
	put(t, s, "k")
	same(t, "a null version replaces the earlier one", []string{"null", d, b, a}, listed(t, s, "", 10))
	if v, err := s.Get("docs", "k", b); err != nil || v.ID != b {
		t.Errorf("get %s: %v, %v", b, v, err)
	}
	if _, err := s.Get("docs", "k", c); err == nil {
		t.Error("a version that was removed is still there")
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if j, err = journal.Open(dir, "test"); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	}()
	same(t, "after a restart", []string{"null", d, b, a}, listed(t, newVersioned(t, j), "", 10))
}

func remove(tb testing.TB, s *store.Store, id string) {
	tb.Helper()
	if _, err := s.Delete("docs", "k", id, nil); err != nil {
		tb.Fatal(err)
	}
}

func same(t *testing.T, what string, want, got []string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// BenchmarkPutVersion writes one key that has so many versions already: the time must not depend on their number.
func BenchmarkPutVersion(b *testing.B) {
	for _, n := range []int{1, 1000, 100000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := newVersioned(b, journal.Discard{})
			for range n {
				put(b, s, "k")
			}
			b.ResetTimer()
			for b.Loop() {
				remove(b, s, put(b, s, "k"))
			}
		})
	}
}
