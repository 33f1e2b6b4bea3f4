// SPDX-License-Identifier: Apache-2.0

package inflight_test

import (
	"testing"

	"github.com/cooper-cosi/cooper/sidecar/internal/inflight"
)

func about(keys ...string) inflight.Call { return inflight.Call{About: keys} }

func TestKeys(t *testing.T) {
	t.Parallel()
	var keys inflight.Keys
	never := func() { t.Error("called back although it got its keys") }
	release := keys.Try(about("a", "b", "a"), never)
	if release == nil {
		t.Fatal("free keys were refused")
	}
	if keys.Try(about("c"), never) == nil {
		t.Error("a free key was refused")
	}
	calledBack := 0
	if keys.Try(about("d", "b"), func() { calledBack++ }) != nil {
		t.Fatal("a taken key was given twice")
	}
	if keys.Try(about("d"), never) == nil {
		t.Error("a refused call kept one of its keys")
	}
	if calledBack != 0 {
		t.Error("called back while the key is taken")
	}
	release()
	if calledBack != 1 {
		t.Errorf("called back %d times, want once", calledBack)
	}
	if keys.Try(about("a", "b"), never) == nil {
		t.Error("released keys were refused")
	}
}

// Grants for several accounts use one bucket at the same time. A call about the bucket itself waits for the last of
// them and blocks further ones.
func TestSharedKeys(t *testing.T) {
	t.Parallel()
	var keys inflight.Keys
	calledBack := 0
	free := func() { calledBack++ }
	first := keys.Try(inflight.Call{About: []string{"account 1"}, Using: []string{"bucket"}}, free)
	second := keys.Try(inflight.Call{About: []string{"account 2"}, Using: []string{"bucket", "bucket"}}, free)
	if first == nil || second == nil {
		t.Fatal("two accounts could not use one bucket at once")
	}
	if keys.Try(about("bucket"), free) != nil {
		t.Fatal("a bucket was given away while it is used")
	}
	first()
	if calledBack != 0 || keys.Try(about("bucket"), free) != nil {
		t.Fatal("a bucket was given away while the second account uses it")
	}
	second()
	if calledBack != 2 {
		t.Errorf("called back %d times, want twice", calledBack)
	}
	release := keys.Try(about("bucket"), free)
	if release == nil {
		t.Fatal("an unused bucket was refused")
	}
	if keys.Try(inflight.Call{About: []string{"account 1"}, Using: []string{"bucket"}}, free) != nil {
		t.Error("an account uses a bucket that a call is about")
	}
	if keys.Try(about("account 1"), free) == nil {
		t.Error("a refused call kept its account")
	}
	release()
	if calledBack != 3 {
		t.Errorf("called back %d times, want three times", calledBack)
	}
}
