// SPDX-License-Identifier: Apache-2.0

package azurefake_test

import (
	"net/http"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/cooper-cosi/cooper/fakes/azurefake"
)

// TestRecordedAnswers expects what Azure was recorded to answer in the tests of gocloud.dev v0.46.0. judges/replay replays
// all of those recordings.
func TestRecordedAnswers(t *testing.T) {
	t.Parallel()
	server := start(t, azurefake.Options{})
	key, _ := server.Keys(azurefake.DefaultAccount)
	cred, err := container.NewSharedKeyCredential(azurefake.DefaultAccount, key)
	wantNoError(t, err)
	s := blobService{server.AccountURL(azurefake.DefaultAccount), cred}
	at := func(version string) headers { return headers{"X-Ms-Version": version} }
	blob := []request{put("b", "hello")}
	for name, row := range map[string]behaviour{
		"Get Blob has no tier":                {before: blob, call: get("b", at("2023-11-03")), status: 200, headers: headers{"X-Ms-Access-Tier": ""}},
		"Get Blob has a tier in new versions": {before: blob, call: get("b", at("2026-10-06")), status: 200, headers: headers{"X-Ms-Access-Tier": "Hot"}},
		"Get Blob Properties has a tier":      {before: blob, call: head("b", at("2023-11-03")), status: 200, headers: headers{"X-Ms-Access-Tier": "Hot"}},
		"a listing has empty elements":        {before: blob, call: list(""), status: 200, has: []string{"<OrMetadata></OrMetadata>", "<Content-CRC64></Content-CRC64>"}},
		"the source of a copy is absent":      {call: request{method: "PUT", blob: "b", headers: headers{"X-Ms-Copy-Source": "{url}/none"}}, status: 404, code: "BlobNotFound"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, difference := range row.try(t, s) {
				t.Error(difference)
			}
		})
	}
	t.Run("an empty content disposition is returned", func(t *testing.T) {
		t.Parallel()
		c := s.converse(t)
		for disposition, want := range map[string]int{"": 1, "inline": 1, "-": 0} {
			sent := headers{"X-Ms-Blob-Content-Disposition": disposition}
			if disposition == "-" {
				sent = nil
			}
			c.send(t, put("b", "hello", sent))
			if got := c.send(t, head("b", nil)).headers.Values("Content-Disposition"); len(got) != want || want > 0 && got[0] != disposition {
				t.Errorf("got %q after %v", got, sent)
			}
		}
	})
	t.Run("a blob has no name", func(t *testing.T) {
		t.Parallel()
		for _, method := range []string{http.MethodGet, http.MethodPut} {
			c := s.converse(t)
			req, err := http.NewRequestWithContext(t.Context(), method, s.url+"/"+c.container+"/", http.NoBody)
			wantNoError(t, err)
			resp, err := http.DefaultClient.Do(req)
			wantNoError(t, err)
			_ = resp.Body.Close()
			if code := resp.Header.Get("X-Ms-Error-Code"); resp.StatusCode != http.StatusBadRequest || code != "InvalidUri" || resp.Header.Get("X-Ms-Version") != "" {
				t.Errorf("%s: got %d %s, version %q", method, resp.StatusCode, code, resp.Header.Get("X-Ms-Version"))
			}
		}
	})
}
