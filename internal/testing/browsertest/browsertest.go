// SPDX-License-Identifier: Apache-2.0

// Package browsertest opens pages in a browser, for the tests of programs that serve some. It must not know what a page says.
package browsertest

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

// Complaints are what a browser writes to its console.
type Complaints struct {
	mu    sync.Mutex
	texts []string
}

func (c *Complaints) add(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.texts = append(c.texts, text)
}

// None fails the test if there are some.
func (c *Complaints) None(t *testing.T) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.texts) > 0 {
		t.Errorf("the browser's console has %q", c.texts)
	}
}

// Start starts a browser with nothing in it, which ends with the test. Where there is none, the test is skipped, or fails where all
// must be there.
func Start(t *testing.T) (context.Context, *Complaints) {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("COOPER_REQUIRE_STORES") != "" {
			t.Fatal("there is no chromium, and CI needs it: install Debian's package chromium")
		}
		t.Skip("there is no chromium: install Debian's package chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.UserDataDir(t.TempDir()), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	started, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	c := &Complaints{}
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
	if err := chromedp.Do(browser); err != nil { // a browser lives as long as the context of its first action
		t.Fatal(err)
	}
	return browser, c
}

// patience is how long a browser may take for what a person does at once.
const patience = 2 * time.Minute

// Must takes steps in a browser, one after the other.
func Must(browser context.Context, t *testing.T, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	for _, step := range steps {
		Ask(browser, t, step)
	}
}

// stateError is the code by which the browser says that what it is asked about is not there any more.
const stateError = -32000

// Ask returns what an action in a browser does. A page that is shown anew takes away the element that an action has found before
// the action is done with it: the action is taken again, with the element that is in its place.
func Ask[T any](browser context.Context, t *testing.T, action chromedp.Action[T]) T {
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
