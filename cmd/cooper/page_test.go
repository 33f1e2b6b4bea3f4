// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/minio/minio-go/v7"

	"github.com/cooper-cosi/cooper/internal/fulltest"
)

// images is where the pages of docs find pictures of the page.
const images = "../../docs/images"

// TestThePageShowsTheTutorial follows the tutorial with a browser beside it, which is
// never told to load anything again.
func TestThePageShowsTheTutorial(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "it needs a browser")
	path, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("COOPER_REQUIRE_STORES") != "" {
			t.Fatal("there is no chromium, and CI needs it: install Debian's package chromium")
		}
		t.Skip("there is no chromium: install Debian's package chromium")
	}
	up := startUp(t)
	env := up.environment(t)
	browser, complaints := browse(t, path)

	claim, access, secret := box("BucketClaim/tutorial/sample"), box("BucketAccess/tutorial/sample"), box("Secret/tutorial/sample-credentials")
	must(browser, t, chromedp.EmulateViewport(1180, 420), chromedp.Navigate(up.page), chromedp.WaitVisible(claim), chromedp.WaitVisible(access))
	picture(browser, t, "page.png")

	t.Log("by the keyboard alone, to the timeline of the claim")
	must(browser, t, chromedp.Focus(claim), chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(`svg[aria-label="Timeline"]`))
	if focused := ask(browser, t, chromedp.Evaluate[string](`document.querySelector('[aria-current]').id`)); focused != "BucketClaim/tutorial/sample" {
		t.Errorf("Enter selected %q", focused)
	}
	words := ask(browser, t, chromedp.TextContent(`svg[aria-label="Timeline"]`))
	for _, want := range []string{"DriverCreateBucket", "reconcile BucketClaim", "reconcile Bucket", "S3.CreateBucket"} {
		if !strings.Contains(words, want) {
			t.Errorf("the timeline lacks %s: %s", want, words)
		}
	}
	picture(browser, t, "page-timeline.png")

	t.Log("the objects of the bucket")
	client := minioClient(t, env)
	if _, err := client.PutObject(t.Context(), env["BUCKET_NAME"], "hello.txt", strings.NewReader("hello"), 5, minio.PutObjectOptions{}); err != nil {
		t.Fatal(err)
	}
	follow(browser, t, secret, `a[href*="objects"]`)
	follow(browser, t, `a[href*="objects"]`, "section ul li")
	if keys := ask(browser, t, chromedp.TextContent("section ul li")); keys != "hello.txt" {
		t.Errorf("the page lists %q, want hello.txt", keys)
	}
	if whole := ask(browser, t, chromedp.OuterHTML("html")); strings.Contains(whole, env["AWS_SECRET_ACCESS_KEY"]) || strings.Contains(whole, env["AWS_ACCESS_KEY_ID"]) {
		t.Error("the page shows the credential")
	}
	if err := client.RemoveObject(t.Context(), env["BUCKET_NAME"], "hello.txt", minio.RemoveObjectOptions{}); err != nil {
		t.Fatal(err)
	}

	t.Log("what failed, and the Event that says so")
	manifest := filepath.Join(t.TempDir(), "misspelt.yaml")
	if err := os.WriteFile(manifest, []byte(misspelt), 0o600); err != nil {
		t.Fatal(err)
	}
	up.kubectl(t, env, "create", "-f", manifest)
	follow(browser, t, `a[href="/"]`, access)
	must(browser, t, chromedp.WaitVisible(box("BucketClaim/tutorial/misspelt")+" rect.failed"), chromedp.WaitVisible("td.failed"))
	if counts := ask(browser, t, chromedp.TextContent("li.failed")); counts != "✗ 1 failed" {
		t.Errorf("the page says %q", counts)
	}
	if events := ask(browser, t, chromedp.TextContent("tbody")); !strings.Contains(events, "versionning") {
		t.Errorf("no Event says which parameter is wrong: %s", events)
	}
	up.kubectl(t, env, "delete", "-f", manifest, "--timeout=60s")

	t.Log("what goes")
	dark := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}}
	if _, err := chromedp.Call(browser, emulation.SetEmulatedMedia, dark); err != nil {
		t.Fatal(err)
	}
	picture(browser, t, "page-dark.png")
	up.kubectl(t, env, "delete", "bucketaccess", "sample", "--timeout=60s")
	must(browser, t, chromedp.WaitNotPresent(access))
	up.kubectl(t, env, "delete", "bucketclaim", "sample", "--timeout=60s")
	must(browser, t, chromedp.WaitNotPresent(claim))
	complaints.none(t)

	response, err := http.Get(strings.Split(up.page, "?")[0])
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusUnauthorized {
		t.Errorf("without the token: %s", response.Status)
	}
	up.interrupt(t)
}

// misspelt is a claim that the driver refuses.
const misspelt = `
apiVersion: objectstorage.k8s.io/v1alpha2
kind: BucketClass
metadata: {name: misspelt}
spec: {driverName: s3.cooper.dev, deletionPolicy: Delete, parameters: {versionning: "true"}}
---
apiVersion: objectstorage.k8s.io/v1alpha2
kind: BucketClaim
metadata: {name: misspelt, namespace: tutorial}
spec: {bucketClassName: misspelt, protocols: [S3]}
`

// box selects the box of an object on the map.
func box(id string) string { return fmt.Sprintf(`a[id=%q]`, id) }

// follow clicks on something and waits until something else is there.
func follow(browser context.Context, t *testing.T, what, until string) {
	t.Helper()
	must(browser, t, chromedp.Click(what), chromedp.WaitVisible(until))
}

// complaints are what a browser writes to its console.
type complaints struct {
	mu    sync.Mutex
	texts []string
}

func (c *complaints) add(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.texts = append(c.texts, text)
}

func (c *complaints) none(t *testing.T) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.texts) > 0 {
		t.Errorf("the browser's console has %q", c.texts)
	}
}

// browse starts a browser with nothing in it.
func browse(t *testing.T, path string) (context.Context, *complaints) {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.UserDataDir(t.TempDir()), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
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
	if err := chromedp.Do(browser); err != nil { // a browser lives as long as the context of its first action
		t.Fatal(err)
	}
	return browser, c
}

// patience is how long a browser may take for what a person does at once.
const patience = 2 * time.Minute

// must takes steps in a browser.
func must(browser context.Context, t *testing.T, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	ask(browser, t, chromedp.Steps(steps...))
}

// ask returns what an action in a browser does.
func ask[T any](browser context.Context, t *testing.T, action chromedp.Action[T]) T {
	t.Helper()
	limited, cancel := context.WithTimeout(browser, patience)
	defer cancel()
	value, err := chromedp.Run(limited, action)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// picture takes one of the page and, with COOPER_UPDATE, keeps it for the docs.
func picture(browser context.Context, t *testing.T, name string) {
	t.Helper()
	png := ask(browser, t, chromedp.FullScreenshot(100))
	if !bytes.HasPrefix(png, []byte("\x89PNG")) {
		t.Fatalf("%s is no picture", name)
	}
	if os.Getenv("COOPER_UPDATE") == "" {
		return
	}
	if err := os.MkdirAll(images, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(images, name), png, 0o644); err != nil {
		t.Fatal(err)
	}
}
