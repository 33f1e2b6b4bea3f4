// SPDX-License-Identifier: Apache-2.0

package pages_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
)

// images is the directory of the screenshots in the documentation.
const images = root + "docs/images"

// TestThePageShowsTheTutorial follows the tutorial while a browser shows the page, and verifies that the page
// updates without reloading.
func TestThePageShowsTheTutorial(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "TestCooperDoesWhatTheReadmePromises in cmd/cooper has no browser")
	browser, complaints := startBrowser(t)
	up := startUp(t)
	env := up.env

	claim, access, secret := box("BucketClaim/tutorial/sample"), box("BucketAccess/tutorial/sample"), box("Secret/tutorial/sample-credentials")
	must(browser, t, chromedp.EmulateViewport(1180, 420), chromedp.Navigate(up.page), chromedp.WaitVisible(claim), chromedp.WaitVisible(access))
	checkLayout(browser, t)
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
	client, err := minio.New(strings.TrimPrefix(env["AWS_ENDPOINT_URL"], "http://"), &minio.Options{
		Creds: credentials.NewStaticV4(env["AWS_ACCESS_KEY_ID"], env["AWS_SECRET_ACCESS_KEY"], ""), Region: env["AWS_DEFAULT_REGION"],
	})
	if err != nil {
		t.Fatal(err)
	}
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

	t.Log("a failed claim and its Event")
	manifest := filepath.Join(t.TempDir(), "misspelt.yaml")
	if err := os.WriteFile(manifest, []byte(misspelt), 0o600); err != nil {
		t.Fatal(err)
	}
	follow(browser, t, `a[href="/"]`, access)
	x, y := press(browser, t, "BucketClaim/tutorial/sample")
	up.kubectl(t, "create", "-f", manifest)
	ask(browser, t, chromedp.Poll[bool]("window.sent"))
	must(browser, t, chromedp.MouseEvent(chromedp.MouseReleased, x, y, chromedp.ButtonLeft, chromedp.ClickCount(1)), chromedp.WaitVisible(`svg[aria-label="Timeline"]`))
	follow(browser, t, `a[href="/"]`, access)
	must(browser, t, chromedp.WaitVisible(box("BucketClaim/tutorial/misspelt")+" rect.failed"), chromedp.WaitVisible("td.failed"))
	if counts := ask(browser, t, chromedp.TextContent("li.failed")); counts != "✗ 1 failed" {
		t.Errorf("the page shows %q", counts)
	}
	if events := ask(browser, t, chromedp.TextContent("tbody")); !strings.Contains(events, "versionning") {
		t.Errorf("no Event names the wrong parameter: %s", events)
	}
	checkLayout(browser, t)
	up.kubectl(t, "delete", "-f", manifest, "--timeout=60s")

	t.Log("deletion, in dark mode")
	dark := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}}
	if _, err := chromedp.Call(browser, emulation.SetEmulatedMedia, dark); err != nil {
		t.Fatal(err)
	}
	checkLayout(browser, t)
	up.kubectl(t, "delete", "bucketaccess", "sample", "--timeout=60s")
	must(browser, t, chromedp.WaitNotPresent(access))
	up.kubectl(t, "delete", "bucketclaim", "sample", "--timeout=60s")
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
}

// upProcess is a running `cooper up`.
type upProcess struct {
	data string
	// page is the URL of the demo page, including its token.
	page string
	// env are the variables of `cooper env`.
	env map[string]string
}

func startUp(t *testing.T) *upProcess {
	t.Helper()
	up := &upProcess{data: filepath.Join(t.TempDir(), "data"), env: map[string]string{}}
	cooper := build(t, "cooper")
	up.page = start(t, `^page +(\S+)`, cooper, "up", "--data", up.data)
	shell := exec.CommandContext(t.Context(), "sh", "-c", `set -a; eval "$("$0" env --data "$1")"; env -0`, cooper, up.data)
	shell.Env = []string{"PATH=" + os.Getenv("PATH")}
	out, err := shell.Output()
	if err != nil {
		t.Fatalf("cooper env: %v", err)
	}
	for pair := range strings.SplitSeq(string(out), "\x00") {
		name, value, _ := strings.Cut(pair, "=")
		up.env[name] = value
	}
	return up
}

func (up *upProcess) kubectl(t *testing.T, args ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), filepath.Join(up.data, "bin", "kubectl"), args...)
	command.Env = []string{"KUBECONFIG=" + up.env["KUBECONFIG"], "KUBECACHEDIR=" + t.TempDir()}
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("kubectl %q: %v\n%s", args, err, out)
	}
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
	must(browser, t, chromedp.Click(what), chromedp.WaitVisible(until))
}

// press presses the mouse button on an object of the map and makes the page record in window.sent when it
// receives an update. It returns the coordinates at which to release the button.
func press(browser context.Context, t *testing.T, id string) (x, y float64) {
	t.Helper()
	at := ask(browser, t, chromedp.Evaluate[[]float64](fmt.Sprintf(`(() => {
		document.getElementById(%[1]q).scrollIntoView({block: "center"});
		const box = document.getElementById(%[1]q).getBoundingClientRect();
		return [box.x + box.width / 2, box.y + box.height / 2];
	})()`, id)))
	must(browser, t, chromedp.MouseEvent(chromedp.MousePressed, at[0], at[1], chromedp.ButtonLeft, chromedp.ClickCount(1)))
	ask(browser, t, chromedp.Evaluate[bool](`source.addEventListener("message", () => { window.sent = true; }), true`))
	return at[0], at[1]
}

// picture takes a screenshot. With COOPER_UPDATE it saves the screenshot for the documentation.
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

// misplaced is a script that returns the texts that cross the border of their box, the words that are broken in
// a table, and whether the page is wider than the window.
const misplaced = `(() => {
	const found = [];
	for (const box of document.querySelectorAll("svg a")) {
		const border = box.querySelector("rect").getBoundingClientRect();
		for (const text of box.querySelectorAll("text, span")) {
			const at = text.getBoundingClientRect();
			if (at.left < border.left || at.right > border.right || at.top < border.top || at.bottom > border.bottom)
				found.push("outside of its box: " + text.textContent);
		}
	}
	for (const cell of document.querySelectorAll("td")) {
		const text = document.createRange();
		text.selectNodeContents(cell);
		const lines = new Set([...text.getClientRects()].map((line) => line.top));
		if (lines.size > 1 && !/\s/.test(cell.textContent.trim()))
			found.push("a broken word: " + cell.textContent);
	}
	if (document.documentElement.scrollWidth > innerWidth)
		found.push("the page is wider than the window");
	return found;
})()`

// checkLayout fails the test if texts of the page are misplaced, or shortened in their boxes.
func checkLayout(browser context.Context, t *testing.T) {
	t.Helper()
	for _, problem := range ask(browser, t, chromedp.Evaluate[[]string](misplaced)) {
		t.Error(problem)
	}
	if cut := ask(browser, t, chromedp.Evaluate[[]string](`[...document.querySelectorAll(".label span")].filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.textContent)`)); len(cut) > 0 {
		t.Errorf("the boxes truncate %q", cut)
	}
}
