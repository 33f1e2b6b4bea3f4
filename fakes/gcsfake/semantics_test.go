// SPDX-License-Identifier: Apache-2.0

package gcsfake_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/fakes/gcsfake"
)

// ask sends a request of the administrator, which must succeed, and reads the response.
func (w *world) ask(t *testing.T, method, path, body string) map[string]any {
	t.Helper()
	got := w.send(t, w.admin, operation{method: method, path: path, body: body})
	if got.Code >= http.StatusBadRequest {
		t.Fatalf("%s %s: %d %s", method, path, got.Code, got.Body.String())
	}
	out := map[string]any{}
	if got.Body.Len() > 0 {
		wantNoError(t, json.Unmarshal(got.Body.Bytes(), &out))
	}
	return out
}

// refused sends a request of the administrator that must be refused with a status and a word.
func (w *world) refused(t *testing.T, op operation, status int, word string) {
	t.Helper()
	if got := w.send(t, w.admin, op); got.Code != status || !strings.Contains(got.Body.String(), word) {
		t.Errorf("%s %s: %d %s, want %d with %q", op.method, op.path, got.Code, got.Body.String(), status, word)
	}
}

// TestRewriteInSteps copies to another location, a MiB at a time ("Objects: rewrite").
func TestRewriteInSteps(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.close(t)
	w.must(t, insertBucket(`"name":"far","location":"EU"`))
	w.must(t, operation{method: "POST", path: up + "?uploadType=media&name=big", body: strings.Repeat("x", 5<<19)})
	steps := func(to string) (n int) {
		path, token := b+"/o/big/rewriteTo/b/"+to+"/o/copy?maxBytesRewrittenPerCall=1048576", ""
		for {
			n++
			got := w.ask(t, "POST", path+token, "")
			if got["done"] == true {
				if got["objectSize"] != "2621440" || got["totalBytesRewritten"] != "2621440" {
					t.Errorf("at the end: %v", got)
				}
				return n
			}
			if got["resource"] != nil || got["totalBytesRewritten"] != fmt.Sprint(n<<20) {
				t.Errorf("step %d: %v", n, got)
			}
			token = "&rewriteToken=" + got["rewriteToken"].(string)
		}
	}
	if n := steps("far"); n != 3 {
		t.Errorf("%d calls to another location, want 3", n)
	}
	if n := steps("docs"); n != 1 {
		t.Errorf("%d calls to the same location, want 1", n)
	}
	token := w.ask(t, "POST", b+"/o/big/rewriteTo/b/far/o/again?maxBytesRewrittenPerCall=1048576", "")["rewriteToken"].(string)
	w.refused(t, operation{method: "POST", path: b + "/o/big/rewriteTo/b/far/o/other?rewriteToken=" + token}, 400, "rewrite token")
}

// TestKeysOfCopies makes sure that a copy has the Cloud KMS key that it asks for, and not that of its source.
func TestKeysOfCopies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.close(t)
	key := func(name string) string { return "projects/p/locations/us/keyRings/r/cryptoKeys/" + name }
	version := func(name string) string { return key(name) + "/cryptoKeyVersions/1" }
	w.must(t, operation{method: "POST", path: up + "?uploadType=media&name=kept&kmsKeyName=" + key("a"), body: "x"})
	for path, want := range map[string]any{
		"/o/kept/copyTo/b/empty/o/a":                                            nil,
		"/o/kept/copyTo/b/empty/o/b?destinationKmsKeyName=" + key("b"):          version("b"),
		"/o/kept/rewriteTo/b/empty/o/c?destinationKmsKeyName=" + key("b"):       version("b"),
		"/o/composed/compose?kmsKeyName=" + key("c"):                            version("c"),
		"/o/kept/rewriteTo/b/docs/o/same?ifSourceGenerationNotMatch=1&fields=*": nil,
	} {
		got := w.ask(t, "POST", b+path, map[bool]string{true: `{"sourceObjects":[{"name":"o"}]}`}[strings.Contains(path, "compose")])
		if resource, ok := got["resource"].(map[string]any); ok {
			got = resource
		}
		if got["kmsKeyName"] != want {
			t.Errorf("%s: %v, want %v", path, got["kmsKeyName"], want)
		}
	}
}

// TestCompositionThatDeletes deletes the sources, except the one that the result has replaced.
func TestCompositionThatDeletes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.close(t)
	w.ask(t, "POST", o+"/compose", `{"sourceObjects":[{"name":"dir/a"},{"name":"o"}],"deleteSourceObjects":true}`)
	if got := w.send(t, w.admin, operation{method: "GET", path: o + "?alt=media"}); got.Body.String() != "firstsecond" {
		t.Errorf("composed %q", got.Body.String())
	}
	w.refused(t, operation{method: "GET", path: b + "/o/dir%2Fa"}, 404, "notFound")
}

// TestSizeOfResumableUploads refuses a total that is not the one that a client has announced.
func TestSizeOfResumableUploads(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.close(t)
	begin := func(headers string) string {
		got := w.send(t, w.admin, operation{method: "POST", path: up + "?uploadType=resumable&name=fresh", headers: headers})
		_, path, _ := strings.Cut(got.Header().Get("Location"), "127.0.0.1")
		return path
	}
	announced := begin("X-Upload-Content-Length: 4")
	w.refused(t, operation{method: "PUT", path: announced, headers: "Content-Range: bytes 0-4/5", body: "12345"}, 400, "final size")
	w.refused(t, operation{method: "PUT", path: announced, body: "12345"}, 400, "final size")
	w.must(t, operation{method: "PUT", path: announced, headers: "Content-Range: bytes 0-3/4", body: "1234"})

	chunk := strings.Repeat("x", 256<<10)
	unknown := begin("")
	for _, step := range []struct {
		contentRange, body string
		status             int
		held               string
	}{
		{"bytes */*", "", 308, ""},
		{"bytes 0-262143/262148", chunk, 308, "bytes=0-262143"},
		{"bytes 262144-262147/262150", "tail", 400, ""},
		{"bytes 300000-300003/262148", "tail", 400, ""},
		{"bytes */262148", "", 308, "bytes=0-262143"},
		{"bytes 262144-262147/262148", "tail", 200, ""},
		{"bytes */262148", "", 200, ""},
	} {
		got := w.send(t, w.admin, operation{method: "PUT", path: unknown, headers: "Content-Range: " + step.contentRange, body: step.body})
		if got.Code != step.status || got.Header().Get("Range") != step.held {
			t.Errorf("%s: %d, %q, want %d, %q\n%s", step.contentRange, got.Code, got.Header().Get("Range"), step.status, step.held, got.Body.String())
		}
	}
}

// TestHashOfResumableUploads compares x-goog-hash of the last chunk, which is that of the whole object, in both APIs.
func TestHashOfResumableUploads(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.close(t)
	for name, start := range map[string]operation{
		"JSON": {method: "POST", path: up + "?uploadType=resumable&name=hashed"},
		"XML":  {method: "POST", path: "/docs/hashed", headers: "X-Goog-Resumable: start"},
	} {
		for hash, status := range map[string]int{"crc32c=AAAAAA==": 400, "crc32c=mnG7TA==": 200} { // of "hello"
			got := w.send(t, w.admin, start)
			_, path, _ := strings.Cut(got.Header().Get("Location"), "127.0.0.1")
			got = w.send(t, w.admin, operation{method: "PUT", path: path, headers: "X-Goog-Hash: " + hash, body: "hello"})
			if got.Code != status {
				t.Errorf("%s with %s: %d %s, want %d", name, hash, got.Code, got.Body, status)
			}
		}
	}
}

// TestHoldsAndRetention makes sure that the end of an event-based hold begins the bucket's retention again ("Object holds"),
// and that null removes a retention of the object's own.
func TestHoldsAndRetention(t *testing.T) {
	t.Parallel()
	clock := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	w := worldAt(t, &clock)
	defer w.close(t)
	w.must(t, insertBucket(`"name":"year","retentionPolicy":{"retentionPeriod":"60","isLocked":true},"defaultEventBasedHold":true`))
	held := w.ask(t, "POST", "/upload/storage/v1/b/year/o?uploadType=media&name=o", "x")
	if held["eventBasedHold"] != true || held["retentionExpirationTime"] != nil {
		t.Errorf("under a hold: %v", held)
	}
	clock = clock.Add(time.Hour)
	const object = "/storage/v1/b/year/o/o"
	if got := w.ask(t, "PATCH", object, `{"eventBasedHold":false}`)["retentionExpirationTime"]; got != "2026-01-01T01:01:00.000Z" {
		t.Errorf("released, it is retained until %v", got)
	}
	w.refused(t, operation{method: "DELETE", path: object}, 403, "retentionPolicyNotMet")
	clock = clock.Add(time.Minute)
	w.must(t, operation{method: "DELETE", path: object})
	if got := w.ask(t, "PATCH", "/storage/v1/b/year", `{"retentionPolicy":{"retentionPeriod":"50","isLocked":true}}`); strings.Contains(fmt.Sprint(got), "isLocked") {
		t.Errorf("locked without lockRetentionPolicy: %v", got)
	}

	own := "/storage/v1/b/locked/o/o"
	w.must(t, operation{method: "PATCH", path: own, body: `{"retention":{"mode":"Unlocked","retainUntilTime":"2099-01-01T00:00:00Z"}}`})
	w.refused(t, operation{method: "PATCH", path: own, body: `{"retention":null}`}, 403, "overrideUnlockedRetention")
	if got := w.ask(t, "PATCH", own+"?overrideUnlockedRetention=true", `{"retention":null}`); got["retention"] != nil {
		t.Errorf("after its removal: %v", got)
	}
	w.must(t, operation{method: "DELETE", path: own})
}

// worldAt is a world with a clock.
func worldAt(t *testing.T, clock *time.Time) *world {
	t.Helper()
	return worldOf(t, gcsfake.Options{Now: func() time.Time { return *clock }})
}

// TestUniformAccessStays refuses to switch it off while a binding has a condition, and after 90 days.
func TestUniformAccessStays(t *testing.T) {
	t.Parallel()
	clock := time.Now()
	w := worldAt(t, &clock)
	defer w.close(t)
	off := patchBucket(`"iamConfiguration":{"uniformBucketLevelAccess":{"enabled":false}}`)
	w.must(t, setBinding(`"members":["user:a@example.com"],"condition":{"title":"t","expression":"true"}`))
	w.refused(t, off, 412, "conditions")
	w.must(t, setPolicy(`{"version":3,"bindings":[]}`))
	clock = clock.Add(89 * 24 * time.Hour)
	w.must(t, off)
	w.must(t, patchBucket(`"iamConfiguration":{"uniformBucketLevelAccess":{"enabled":true}}`))
	clock = clock.Add(90 * 24 * time.Hour)
	w.refused(t, off, 400, "90 days")
}

// TestBucketsAsGoogleCompletesThem reads fields that were not set explicitly.
func TestBucketsAsGoogleCompletesThem(t *testing.T) {
	t.Parallel()
	clock := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	w := worldAt(t, &clock)
	defer w.close(t)
	made := w.ask(t, "POST", "/storage/v1/b?project=cooper-fake", `{"name":"fresh","location":"US","customPlacementConfig":{"dataLocations":["US-EAST1","US-WEST1"]},"autoclass":{"enabled":true}}`)
	const then, later = "2026-01-01T00:00:00.000Z", "2026-01-01T01:00:00.000Z"
	want := map[string]any{"enabled": true, "toggleTime": then, "terminalStorageClass": "NEARLINE", "terminalStorageClassUpdateTime": then}
	if diff := cmp.Diff(want, made["autoclass"]); diff != "" || made["locationType"] != "dual-region" {
		t.Errorf("%v, Autoclass (-want +got)\n%s", made["locationType"], diff)
	}
	clock = clock.Add(time.Hour)
	changed := w.ask(t, "PATCH", "/storage/v1/b/fresh", `{"autoclass":{"terminalStorageClass":"ARCHIVE"}}`)
	want["terminalStorageClass"], want["terminalStorageClassUpdateTime"] = "ARCHIVE", later
	if diff := cmp.Diff(want, changed["autoclass"]); diff != "" {
		t.Errorf("another terminal class (-want +got)\n%s", diff)
	}
	if got := w.ask(t, "PATCH", "/storage/v1/b/fresh", `{"autoclass":{"enabled":false}}`)["autoclass"]; !cmp.Equal(got, any(map[string]any{"enabled": false, "toggleTime": later})) {
		t.Errorf("switched off: %v", got)
	}
	if got := w.ask(t, "PATCH", "/storage/v1/b/fresh", `{}`); got["metageneration"] != "3" {
		t.Errorf("a patch of nothing leads to metageneration %v", got["metageneration"])
	}
	w.refused(t, operation{method: "PATCH", path: "/storage/v1/b/fresh?ifMetagenerationMatch=1", body: `{}`}, 412, "conditionNotMet")
}

func TestGlobs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.close(t)
	w.must(t, insertBucket(`"name":"globs"`))
	for _, name := range []string{"a.txt", "b.txt", "dir/a.txt", "dir/deep/a.txt", "dir/x.log", "[x]"} {
		w.must(t, operation{method: "POST", path: "/upload/storage/v1/b/globs/o?uploadType=media&name=" + url.QueryEscape(name), body: "x"})
	}
	for text, want := range map[string][]string{
		"*.txt":            {"a.txt", "b.txt"},
		"**.txt":           {"a.txt", "b.txt", "dir/a.txt", "dir/deep/a.txt"},
		"**/a.txt":         {"a.txt", "dir/a.txt", "dir/deep/a.txt"},
		"dir/**/a.txt":     {"dir/a.txt", "dir/deep/a.txt"},
		"dir/*":            {"dir/a.txt", "dir/x.log"},
		"?.txt":            {"a.txt", "b.txt"},
		"[!a].txt":         {"b.txt"},
		"[a-z].txt":        {"a.txt", "b.txt"},
		"dir/{a.txt,x.*}":  {"dir/a.txt", "dir/x.log"},
		`\[x\]`:            {"[x]"},
		"dir?a.txt":        nil,
		"a.txt.":           nil,
		"{a,{b,c}}.t{x,}t": {"a.txt", "b.txt"},
	} {
		var got []string
		items, _ := w.ask(t, "GET", "/storage/v1/b/globs/o?fields=items(name)&matchGlob="+url.QueryEscape(text), "")["items"].([]any)
		for _, item := range items {
			got = append(got, item.(map[string]any)["name"].(string))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// TestPagesOfUploads lists unfinished uploads, two per page ("List multipart uploads").
func TestPagesOfUploads(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.close(t)
	for _, name := range []string{"a", "a", "a", "dir/x", "dir/y", "z"} {
		w.must(t, operation{method: "POST", path: "/empty/" + name + "?uploads"})
	}
	between := func(text, name string) string {
		_, rest, _ := strings.Cut(text, "<"+name+">")
		value, _, _ := strings.Cut(rest, "</"+name+">")
		return value
	}
	for query, want := range map[string][]string{"": {"a,a", "a,dir/x", "dir/y,z"}, "&delimiter=/": {"a,a", "a,dir/", "z"}, "&prefix=dir/": {"dir/x,dir/y"}} {
		var pages []string
		for next := ""; ; {
			text := w.send(t, w.admin, operation{method: "GET", path: "/empty?uploads&max-uploads=2" + query + next}).Body.String()
			var names []string
			for part := range strings.SplitSeq(strings.ReplaceAll(text, "<CommonPrefixes><Prefix>", "<Key>"), "<Key>") {
				if name, _, found := strings.Cut(part, "</"); found && !strings.HasPrefix(part, "<") {
					names = append(names, name)
				}
			}
			pages = append(pages, strings.Join(names, ","))
			if between(text, "IsTruncated") != "true" || len(pages) > 9 {
				break
			}
			next = "&key-marker=" + between(text, "NextKeyMarker") + "&upload-id-marker=" + between(text, "NextUploadIdMarker")
		}
		if !slices.Equal(pages, want) {
			t.Errorf("%q: %q, want %q", query, pages, want)
		}
	}
}

// TestMembersOfAllKinds keeps what other systems bind ("Principal identifiers").
func TestMembersOfAllKinds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.close(t)
	i := newIssuer(t)
	wantNoError(t, w.AddPool(gcsfake.Pool{ID: "cooper-fake.svc.id.goog", Issuer: i.URL}))
	members := []string{
		"principal://iam.googleapis.com/locations/global/workforcePools/p/subject/s", "principalSet://iam.googleapis.com/locations/global/workforcePools/p/group/g",
		"principalSet://cloudresourcemanager.googleapis.com/projects/1", "principalSet://cloudresourcemanager.googleapis.com/organizations/1/type/ServiceAccount",
		"deleted:principal://iam.googleapis.com/locations/global/workforcePools/p/subject/s", "serviceAccount:cooper-fake.svc.id.goog[shop/app]",
	}
	raw, err := json.Marshal(members)
	wantNoError(t, err)
	w.must(t, setBinding(`"members":`+string(raw)))
	audience := "//iam.googleapis.com/projects/111111111111/locations/global/workloadIdentityPools/cooper-fake.svc.id.goog/providers/kubernetes"
	token, code := exchange(t, w, audience, i.token(t, nil))
	if got := w.send(t, token, operation{method: "GET", path: o}); got.Code != http.StatusOK {
		t.Errorf("the older name of a Kubernetes service account: %q, %d", code, got.Code)
	}
}
