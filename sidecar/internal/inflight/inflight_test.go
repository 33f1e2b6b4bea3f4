// SPDX-License-Identifier: Apache-2.0

package inflight_test

import (
	"testing"

	"github.com/cooper-cosi/cooper/sidecar/internal/inflight"
)

func TestKeys(t *testing.T) {
	t.Parallel()
	var keys inflight.Keys
	never := func() { t.Error("told to come again although it got its keys") }
	release := keys.Try([]string{"a", "b", "a"}, never)
	if release == nil {
		t.Fatal("free keys were refused")
	}
	if keys.Try([]string{"c"}, never) == nil {
		t.Error("a key that nobody holds was refused")
	}
	told := 0
	if keys.Try([]string{"d", "b"}, func() { told++ }) != nil {
		t.Fatal("a taken key was given twice")
	}
	if keys.Try([]string{"d"}, never) == nil {
		t.Error("a refused call kept one of its keys")
	}
	if told != 0 {
		t.Error("told to come again while the key is taken")
	}
	release()
	if told != 1 {
		t.Errorf("told to come again %d times, want once", told)
	}
	if keys.Try([]string{"a", "b"}, never) == nil {
		t.Error("released keys were refused")
	}
}
