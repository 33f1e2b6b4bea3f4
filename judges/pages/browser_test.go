// SPDX-License-Identifier: Apache-2.0

// Package pages_test opens the web pages of Cooper's programs in a browser and checks them.
package pages_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// complaints are the messages that a browser writes to its console.
type complaints struct {
	mu    sync.Mutex
	texts []string
}

func (c *complaints) add(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.texts = append(c.texts, text)
}

// none fails the test if there are any complaints.
func (c *complaints) none(t *testing.T) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.texts) > 0 {
		t.Errorf("the browser's console has %q", c.texts)
	}
}

// startBrowser starts an empty browser that is closed at the end of the test. If no browser is installed, the test is
// skipped, or fails if all tools are required.
func startBrowser(t *testing.T) (context.Context, *complaints) {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("COOPER_REQUIRE_STORES") != "" {
			t.Fatal("chromium is missing and required in CI: install Debian's package chromium")
		}
		t.Skip("chromium is missing: install Debian's package chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.UserDataDir(t.TempDir()), chromedp.WSURLReadTimeout(patience), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	started, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	c := &complaints{}
	browser, end := chromedp.NewContext(started, chromedp.WithListener(func(event any) {
		switch event := event.(type) {
		case *runtime.EventExceptionThrown:
			c.add(event.ExceptionDetails.Text)
		case *runtime.EventConsoleAPICalled:
			c.add(fmt.Sprint(event.Type, event.Args))
		case *log.EventEntryAdded:
			c.add(event.Entry.Text)
		}
	}))
	t.Cleanup(end)
	if err := chromedp.Do(browser); err != nil { // the browser lives as long as the context of its first action
		t.Fatal(err)
	}
	return browser, c
}

// patience is the maximum duration of the start of a browser, and of an action that takes a user only a moment.
const patience = 2 * time.Minute

// must runs actions in a browser, one after the other.
func must(browser context.Context, t *testing.T, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	for _, step := range steps {
		ask(browser, t, step)
	}
}

// stateError is the browser's error code for an object that no longer exists.
const stateError = -32000

// ask returns the result of an action in a browser. If the page is rendered again, the element that the action has
// found may disappear before the action ends. The action is then repeated with the new element.
func ask[T any](browser context.Context, t *testing.T, action chromedp.Action[T]) T {
	t.Helper()
	limited, cancel := context.WithTimeout(browser, patience)
	defer cancel()
	for {
		value, err := chromedp.Run(limited, action)
		var refused *cdproto.Error
		switch {
		case err == nil:
			return value
		case !errors.As(err, &refused) || refused.Code != stateError || limited.Err() != nil:
			t.Fatal(err)
		}
	}
}
