// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/cooper-cosi/cooper/internal/testing/browsertest"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
)

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

// TestRenderedLayout shows the longest texts in a browser.
func TestRenderedLayout(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "it needs a browser")
	browser, complaints := browsertest.Start(t)
	found := someState()
	for _, bucket := range found.objects.Buckets {
		bucket.Spec.DriverName = strings.Repeat("w", 63)
		bucket.Status.BucketID = "bc-349e1852-5627-4aa5-995f-2ef45bc3ca04"
		bucket.Status.BucketInfo["AWS_ENDPOINT_URL"] = "https://" + strings.Repeat("m", 60) + ".example.com"
	}
	for _, claim := range found.objects.Claims {
		claim.Status.Conditions[0].Reason = "WaitingForBucketClaims"
	}
	event := found.events[0]
	event.Of.Name, event.Reason, event.Note = strings.Repeat("app.", 63), "WaitingForBucketClaims", strings.Repeat("No such bucket. ", 60)
	found.events = append(found.events, event)

	page := withState(t, found)
	listener, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = page.Serve(t.Context(), listener) }() // ends with the test
	for _, width := range []int{1180, 800} {
		address := page.URL(listener.Addr()) + "&select=BucketClaim/app/photos"
		browsertest.Must(browser, t, chromedp.EmulateViewport(int64(width), 800), chromedp.Navigate(address), chromedp.WaitVisible("svg a"))
		for _, problem := range browsertest.Ask(browser, t, chromedp.Evaluate[[]string](misplaced)) {
			t.Errorf("%d pixels wide: %s", width, problem)
		}
	}
	complaints.None(t)
}
