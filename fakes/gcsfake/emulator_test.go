// SPDX-License-Identifier: Apache-2.0

package gcsfake_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"cloud.google.com/go/storage"

	"github.com/cooper-cosi/cooper/fakes/gcsfake"
)

// account creates a service account and returns a token for it.
func (w *world) account(t *testing.T, id string) (token string) {
	t.Helper()
	email, err := w.NewAccount("", id)
	wantNoError(t, err)
	token, err = w.Token(email)
	wantNoError(t, err)
	return token
}

// TestAnonymousCallsDoNotRevealProjects calls without credentials: the response is the same for a project that does not
// exist.
func TestAnonymousCallsDoNotRevealProjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.close(t)
	for _, path := range []string{
		"/storage/v1/b?project=PROJECT", "/v1/projects/PROJECT", "/v1/projects/PROJECT/serviceAccounts", "/storage/v1/projects/PROJECT/hmacKeys",
		"/v1/projects/PROJECT/serviceAccounts/target@cooper-fake.iam.gserviceaccount.com",
	} {
		known := w.send(t, "", operation{method: "GET", path: strings.Replace(path, "PROJECT", "cooper-fake", 1)})
		unknown := w.send(t, "", operation{method: "GET", path: strings.Replace(path, "PROJECT", "nowhere", 1)})
		if known.Code != http.StatusUnauthorized || known.Body.String() != unknown.Body.String() {
			t.Errorf("%s: %d %s, and %d %s", path, known.Code, known.Body, unknown.Code, unknown.Body)
		}
		for _, word := range []string{"STORAGE_EMULATOR_HOST", "--anonymous-is"} {
			if !strings.Contains(known.Body.String(), word) {
				t.Errorf("%s: the message has no %s: %s", path, word, known.Body)
			}
		}
	}
}

// TestAnonymousIs calls without credentials as an account. Its policies apply to the calls.
func TestAnonymousIs(t *testing.T) {
	t.Parallel()
	w := worldOf(t, gcsfake.Options{AnonymousIs: "stand-in"})
	defer w.close(t)
	read, write := operation{method: "GET", path: o + "?alt=media"}, operation{method: "POST", path: up + "?uploadType=media&name=x", body: "x"}
	const email = "stand-in@cooper-fake.iam.gserviceaccount.com"
	expect := func(when string, op operation, want int) {
		t.Helper()
		if got := w.send(t, "", op); got.Code != want {
			t.Errorf("%s: %s %s: %d %s", when, op.method, op.path, got.Code, got.Body)
		}
	}
	expect("before the account exists", read, 401)
	w.account(t, "stand-in")
	expect("without a role", read, 403)
	wantNoError(t, w.Grant("", "serviceAccount:"+email, "roles/storage.objectViewer"))
	expect("with a role", read, 200)
	expect("with a role", operation{method: "GET", path: "/docs/o"}, 200)
	expect("with a role", write, 403)
	for _, name := range []string{"X-Goog-Signature", "X-Goog-Credential", "X-Goog-Algorithm", "X-Amz-Signature", "X-Amz-Credential", "X-Amz-Algorithm", "Signature", "GoogleAccessId", "AWSAccessKeyId"} {
		for _, path := range []string{read.path + "&", "/docs/o?"} {
			if got := w.send(t, "", operation{method: "GET", path: path + name + "=x"}); got.Code < http.StatusBadRequest {
				t.Errorf("with an incomplete signature: %s%s: %d", path, name, got.Code)
			}
		}
	}
	if got := w.send(t, "invented", read); got.Code != http.StatusUnauthorized {
		t.Errorf("an invalid token: %d", got.Code)
	}
	if last := w.Calls(); last[len(last)-2].Principal != email {
		t.Errorf("the principal of the call is %q", last[len(last)-2].Principal)
	}
	w.must(t, operation{method: "POST", path: sas + "/" + email + ":disable"})
	expect("disabled", read, 401)
}

// TestProjectsOnFirstUse uses projects that no option lists.
func TestProjectsOnFirstUse(t *testing.T) {
	t.Parallel()
	f := start(t, gcsfake.Options{AnonymousIs: "cooper-admin"})
	w := &world{Server: f.Server}
	stranger := w.account(t, "some-account")
	for name, tc := range map[string]struct {
		token string
		op    operation
		want  int
	}{
		"a list":             {"", operation{method: "GET", path: "/storage/v1/b?project=fresh-one"}, 200},
		"a bucket":           {"", operation{method: "POST", path: "/storage/v1/b?project=p", body: `{"name":"one"}`}, 200},
		"a bucket by XML":    {"", operation{method: "PUT", path: "/two", headers: "X-Goog-Project-Id: fresh-two"}, 200},
		"an account":         {"", operation{method: "POST", path: "/v1/projects/fresh-three/serviceAccounts", body: `{"accountId":"account-one"}`}, 200},
		"none, as in Python": {"", operation{method: "POST", path: "/storage/v1/b?project=%3Cnone%3E", body: `{"name":"three"}`}, 200},
		"an invalid ID":      {"", operation{method: "GET", path: "/storage/v1/b?project=Not_an_ID"}, 404},
		"a billed one":       {"", operation{method: "GET", path: "/storage/v1/b?project=cooper-fake", headers: "X-Goog-User-Project: fresh-five"}, 404},
		"by another account": {stranger, operation{method: "GET", path: "/storage/v1/b?project=fresh-four"}, 404},
		"of another account": {stranger, operation{method: "GET", path: "/storage/v1/b?project=cooper-fake"}, 403},
	} {
		if got := w.send(t, tc.token, tc.op); got.Code != tc.want {
			t.Errorf("%s: %d %s", name, got.Code, got.Body)
		}
	}
	if got := f.Inventory(); len(got.Policies) != 5 || got.Policies["fresh-four"] != nil {
		t.Errorf("the projects are %v", got.Policies)
	}
	wantNoError(t, f.Seed([]byte("buckets: [{name: seeded, project: seeded-project}]")))
}

// TestOneProject uses IDs of projects that do not exist, and finds the buckets of the first project.
func TestOneProject(t *testing.T) {
	t.Parallel()
	f := start(t, gcsfake.Options{AnonymousIs: "cooper-admin", OneProject: true})
	wantNoError(t, f.Seed([]byte("buckets: [{name: seeded, project: another}]")))
	w := &world{Server: f.Server}
	w.must(t, operation{method: "POST", path: "/storage/v1/b?project=p", body: `{"name":"made"}`})
	w.must(t, operation{method: "POST", path: "/storage/v1/b", body: `{"name":"plain"}`})
	w.must(t, operation{method: "POST", path: "/storage/v1/projects/p/hmacKeys?serviceAccountEmail=" + f.AdminEmail("")})
	for _, path := range []string{"/storage/v1/b", "/storage/v1/b?project=Any:project", "/storage/v1/b?project=p&userProject=q"} {
		got := w.send(t, "", operation{method: "GET", path: path})
		for _, want := range []string{"seeded", "made", "plain"} {
			if got.Code != http.StatusOK || !strings.Contains(got.Body.String(), `"name":"`+want+`"`) {
				t.Errorf("%s: %d %s, want %s", path, got.Code, got.Body, want)
			}
		}
	}
	if got := w.send(t, "", operation{method: "GET", path: "/storage/v1/projects/other/hmacKeys"}); !strings.Contains(got.Body.String(), `"projectId":"cooper-fake"`) {
		t.Errorf("the keys are %s", got.Body)
	}
	if got := f.Inventory(); len(got.Policies) != 1 {
		t.Errorf("the projects are %v", got.Policies)
	}
}

// TestOptionsOfNode makes the calls of deleteFiles and makePublic of Google's client for Node, which sends its own options.
func TestOptionsOfNode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.close(t)
	w.must(t, operation{method: "GET", path: b + "/o?prefix=o&force=true"})
	w.must(t, operation{method: "GET", path: b + "/o?public=true&includeFiles=true"})
	w.must(t, operation{method: "DELETE", path: o + "?prefix=o&force=true&versions=true&delimiter=%2F"})
	if got := w.send(t, w.admin, operation{method: "DELETE", path: o + "?prefixes=o"}); !strings.Contains(got.Body.String(), "does not support the parameter prefixes") {
		t.Errorf("another parameter: %d %s", got.Code, got.Body)
	}
}

// TestStorageEmulatorHost uses Google's client for Go without options, as its variable configures it.
func TestStorageEmulatorHost(t *testing.T) { //nolint:paralleltest // it sets a variable of the process
	f := start(t, gcsfake.Options{AnonymousIs: "cooper-admin"})
	for name, host := range map[string]string{"a URL": f.URL(), "host and port": strings.TrimPrefix(f.URL(), "http://")} {
		t.Setenv("STORAGE_EMULATOR_HOST", host)
		ctx := t.Context()
		client, err := storage.NewClient(ctx)
		wantNoError(t, err)
		bucket := client.Bucket("bucket-" + strings.Fields(name)[0])
		wantNoError(t, bucket.Create(ctx, "any-project", nil))
		for object, chunk := range map[string]int{"simple": 0, "resumable": 256 << 10} {
			want := body(300 << 10)
			wantNoError(t, write(ctx, bucket.Object(object), want, chunk))
			if got, err := read(ctx, bucket.Object(object)); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: read %s: %d bytes, %v", name, object, len(got), err)
			}
		}
		if _, err := bucket.Object("copy").CopierFrom(bucket.Object("simple")).Run(ctx); err != nil {
			t.Errorf("%s: copy: %v", name, err)
		}
		emptyBucket(t, bucket, 3)
		wantNoError(t, bucket.Delete(ctx))
		wantNoError(t, client.Close())
	}
}
