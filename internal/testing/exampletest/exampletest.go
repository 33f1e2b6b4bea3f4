// SPDX-License-Identifier: Apache-2.0

// Package exampletest runs examples of functions that need a testing.TB. Package testing does not pass one to examples.
package exampletest

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
)

// Run calls example like a test and returns after the cleanups. It prints a failure, so that the output differs from
// the example's expected output. It ignores a skip, because an example cannot be skipped.
func Run(example func(testing.TB)) {
	ctx, cancel := context.WithCancel(context.Background())
	t := &tb{ctx: ctx}
	t.wait(func() { example(t) })
	cancel()
	for len(t.cleanups) > 0 {
		last := len(t.cleanups) - 1
		cleanup := t.cleanups[last]
		t.cleanups = slices.Delete(t.cleanups, last, last+1)
		t.wait(cleanup)
	}
}

// tb is the testing.TB of an example. Methods that it does not implement panic.
type tb struct {
	testing.TB

	ctx context.Context //nolint:containedctx // TB.Context returns it

	mu       sync.Mutex
	failed   bool
	skipped  bool
	cleanups []func()
}

// wait calls f and waits for its end, which may be a call of runtime.Goexit.
func (t *tb) wait(f func()) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f()
	}()
	<-ended
}

func (t *tb) Name() string { return "Example" }

func (t *tb) Helper() {}

func (t *tb) Context() context.Context { return t.ctx }

func (t *tb) Log(...any) {}

func (t *tb) Logf(string, ...any) {}

func (t *tb) Fail() { t.mark(&t.failed) }

func (t *tb) Failed() bool { return t.is(&t.failed) }

func (t *tb) Skipped() bool { return t.is(&t.skipped) }

func (t *tb) FailNow() {
	t.Fail()
	runtime.Goexit()
}

func (t *tb) SkipNow() {
	t.mark(&t.skipped)
	runtime.Goexit()
}

func (t *tb) Error(args ...any) {
	fmt.Println(args...)
	t.Fail()
}

func (t *tb) Errorf(format string, args ...any) { t.Error(fmt.Sprintf(format, args...)) }

func (t *tb) Fatal(args ...any) {
	t.Error(args...)
	runtime.Goexit()
}

func (t *tb) Fatalf(format string, args ...any) { t.Fatal(fmt.Sprintf(format, args...)) }

func (t *tb) Skip(...any) { t.SkipNow() }

func (t *tb) Skipf(string, ...any) { t.SkipNow() }

func (t *tb) Cleanup(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cleanups = append(t.cleanups, f)
}

func (t *tb) TempDir() string {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func (t *tb) mark(what *bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	*what = true
}

func (t *tb) is(what *bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return *what
}
