// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/minio/minio-go/v7"

	"github.com/cooper-cosi/cooper/internal/testing/browsertest"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
)

// images is the directory of the screenshots in the documentation.
const images = "../../docs/images"

// TestThePageShowsTheTutorial follows the tutorial while a browser shows the page, and verifies that the page
// updates without reloading.
func TestThePageShowsTheTutorial(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "it needs a browser")
	browser, complaints := browsertest.Start(t)
	up := startUp(t)
	env := up.environment(t)

	claim, access, secret := box("BucketClaim/tutorial/sample"), box("BucketAccess/tutorial/sample"), box("Secret/tutorial/sample-credentials")
	browsertest.Must(browser, t, chromedp.EmulateViewport(1180, 420), chromedp.Navigate(up.page), chromedp.WaitVisible(claim), chromedp.WaitVisible(access))
	if cut := browsertest.Ask(browser, t, chromedp.Evaluate[[]string](`[...document.querySelectorAll(".label span")].filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.textContent)`)); len(cut) > 0 {
		t.Errorf("the boxes truncate %q", cut)
	}
	picture(browser, t, "page.png")

	t.Log("by the keyboard alone, to the timeline of the claim")
	browsertest.Must(browser, t, chromedp.Focus(claim), chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(`svg[aria-label="Timeline"]`))
	if focused := browsertest.Ask(browser, t, chromedp.Evaluate[string](`document.querySelector('[aria-current]').id`)); focused != "BucketClaim/tutorial/sample" {
		t.Errorf("Enter selected %q", focused)
	}
	words := browsertest.Ask(browser, t, chromedp.TextContent(`svg[aria-label="Timeline"]`))
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
	if keys := browsertest.Ask(browser, t, chromedp.TextContent("section ul li")); keys != "hello.txt" {
		t.Errorf("the page lists %q, want hello.txt", keys)
	}
	if whole := browsertest.Ask(browser, t, chromedp.OuterHTML("html")); strings.Contains(whole, env["AWS_SECRET_ACCESS_KEY"]) || strings.Contains(whole, env["AWS_ACCESS_KEY_ID"]) {
		t.Error("the page shows the credential")
	}
	if err := client.RemoveObject(t.Context(), env["BUCKET_NAME"], "hello.txt", minio.RemoveObjectOptions{}); err != nil {
		t.Fatal(err)
	}

	t.Log("a failed claim and its Event")
	manifest := filepath.Join(t.TempDir(), "misspelt.yaml")
	if err := os.WriteFile(manifest, []byte(misspelt), 0o600); err != nil {
		t.Fatal(err)
	}
	follow(browser, t, `a[href="/"]`, access)
	x, y := press(browser, t, "BucketClaim/tutorial/sample")
	up.kubectl(t, env, "create", "-f", manifest)
	browsertest.Ask(browser, t, chromedp.Poll[bool]("window.sent"))
	browsertest.Must(browser, t, chromedp.MouseEvent(chromedp.MouseReleased, x, y, chromedp.ButtonLeft, chromedp.ClickCount(1)), chromedp.WaitVisible(`svg[aria-label="Timeline"]`))
	follow(browser, t, `a[href="/"]`, access)
	browsertest.Must(browser, t, chromedp.WaitVisible(box("BucketClaim/tutorial/misspelt")+" rect.failed"), chromedp.WaitVisible("td.failed"))
	if counts := browsertest.Ask(browser, t, chromedp.TextContent("li.failed")); counts != "✗ 1 failed" {
		t.Errorf("the page shows %q", counts)
	}
	if events := browsertest.Ask(browser, t, chromedp.TextContent("tbody")); !strings.Contains(events, "versionning") {
		t.Errorf("no Event names the wrong parameter: %s", events)
	}
	up.kubectl(t, env, "delete", "-f", manifest, "--timeout=60s")

	t.Log("deletion, in dark mode")
	dark := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}}
	if _, err := chromedp.Call(browser, emulation.SetEmulatedMedia, dark); err != nil {
		t.Fatal(err)
	}
	picture(browser, t, "page-dark.png")
	up.kubectl(t, env, "delete", "bucketaccess", "sample", "--timeout=60s")
	browsertest.Must(browser, t, chromedp.WaitNotPresent(access))
	up.kubectl(t, env, "delete", "bucketclaim", "sample", "--timeout=60s")
	browsertest.Must(browser, t, chromedp.WaitNotPresent(claim))
	complaints.None(t)

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

// misspelt is a claim that the driver rejects.
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

// box is the selector of an object's box on the map.
func box(id string) string { return fmt.Sprintf(`a[id=%q]`, id) }

// follow clicks on an element and waits until another one is visible.
func follow(browser context.Context, t *testing.T, what, until string) {
	t.Helper()
	browsertest.Must(browser, t, chromedp.Click(what), chromedp.WaitVisible(until))
}

// press presses the mouse button on an object of the map and makes the page record in window.sent when it
// receives an update. It returns the coordinates at which to release the button.
func press(browser context.Context, t *testing.T, id string) (x, y float64) {
	t.Helper()
	at := browsertest.Ask(browser, t, chromedp.Evaluate[[]float64](fmt.Sprintf(`(() => {
		document.getElementById(%[1]q).scrollIntoView({block: "center"});
		const box = document.getElementById(%[1]q).getBoundingClientRect();
		return [box.x + box.width / 2, box.y + box.height / 2];
	})()`, id)))
	browsertest.Must(browser, t, chromedp.MouseEvent(chromedp.MousePressed, at[0], at[1], chromedp.ButtonLeft, chromedp.ClickCount(1)))
	browsertest.Ask(browser, t, chromedp.Evaluate[bool](`source.addEventListener("message", () => { window.sent = true; }), true`))
	return at[0], at[1]
}

// picture takes a screenshot. With COOPER_UPDATE it saves the screenshot for the documentation.
func picture(browser context.Context, t *testing.T, name string) {
	t.Helper()
	png := browsertest.Ask(browser, t, chromedp.FullScreenshot(100))
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
