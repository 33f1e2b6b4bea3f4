// SPDX-License-Identifier: Apache-2.0

package azurefake_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/cooper-cosi/cooper/fakes/azurefake"
)

// request is one call by a caller with all permissions that a signature can give.
type request struct {
	// method and blob select the target: blob is "" for the container, and "/" for the account.
	method, blob, query string
	// headers have a line for each value of one that is sent more than once.
	headers map[string]string
	body    string
	// secondary sends it to the secondary location.
	secondary bool
}

// behaviour is the service's response to a request after other requests. Texts in braces are replaced by values of
// earlier responses: {etag}, {modified}, {snapshot}, {version}, {lease}, {deleted} (the first deleted container's version
// in a list); {url} is the URL of the container and
// {container} its name.
type behaviour struct {
	before []request
	call   request
	status int
	// code is that of the error; "" where the reference names none.
	code string
	// headers are those of the response, * for any value and "" for none.
	headers map[string]string
	// has and hasNot are parts of the response's body.
	has, hasNot []string
}

// response is what came back.
type response struct {
	status  int
	headers http.Header
	body    string
}

// conversation is a container for one row, with the responses so far.
type conversation struct {
	service   blobService
	container string
	signature string
	said      map[string]string
}

func (s blobService) converse(t *testing.T) *conversation {
	t.Helper()
	name := fmt.Sprintf("talk-%d", containers.Add(1))
	c, err := container.NewClientWithSharedKeyCredential(s.url+"/"+name, s.cred, &container.ClientOptions{ClientOptions: noRetry()})
	if err == nil {
		_, err = c.Create(t.Context(), nil)
	}
	wantNoError(t, err)
	return &conversation{
		service: s, container: name, signature: ofAccount(letters, "sco")(t, s, name),
		said: map[string]string{"url": s.url + "/" + name, "container": name},
	}
}

var placeholder = regexp.MustCompile(`\{[a-z]+\}`)

func (c *conversation) fill(text string) string {
	return placeholder.ReplaceAllStringFunc(text, func(name string) string {
		if said, ok := c.said[strings.Trim(name, "{}")]; ok {
			return said
		}
		return name
	})
}

func (c *conversation) send(t *testing.T, call request) response {
	t.Helper()
	account := c.service.url
	if call.secondary {
		account += "-secondary"
	}
	path := account + "/" + c.container
	switch call.blob {
	case "":
	case "/":
		path = account
	default:
		path += "/" + call.blob
	}
	query := strings.Trim(c.fill(call.query)+"&"+c.signature, "&")
	req, err := http.NewRequestWithContext(t.Context(), call.method, path+"?"+query, bytes.NewReader([]byte(c.fill(call.body))))
	wantNoError(t, err)
	if call.headers["X-Ms-Version"] == "" {
		req.Header.Set("X-Ms-Version", "2021-12-02")
	}
	for name, value := range call.headers {
		value = c.fill(value)
		if name == "X-Ms-Copy-Source" {
			value += map[bool]string{true: "&", false: "?"}[strings.Contains(value, "?")] + c.signature
		}
		// The service keeps the case of metadata's names, which Set would change.
		req.Header[strings.ToLower(name)] = strings.Split(value, "\n")
	}
	resp, err := http.DefaultClient.Do(req)
	wantNoError(t, err)
	raw, err := io.ReadAll(resp.Body)
	wantNoError(t, err)
	_ = resp.Body.Close() // it was read
	for name, header := range map[string]string{"etag": "ETag", "modified": "Last-Modified", "snapshot": "X-Ms-Snapshot", "version": "X-Ms-Version-Id", "lease": "X-Ms-Lease-Id"} {
		if value := resp.Header.Get(header); value != "" {
			c.said[name] = value
		}
	}
	if _, rest, found := strings.Cut(string(raw), "<Version>"); found {
		c.said["deleted"], _, _ = strings.Cut(rest, "<")
	}
	// The end of a listing is written in several ways.
	body := strings.NewReplacer("<NextMarker/>", "", "<NextMarker />", "", "<NextMarker></NextMarker>", "").Replace(string(raw))
	return response{resp.StatusCode, resp.Header, body}
}

// differences returns the deviations of a response from the row.
func (b behaviour) differences(got response, c *conversation) []string {
	var out []string
	if got.status != b.status {
		out = append(out, fmt.Sprintf("status %d, want %d", got.status, b.status))
	}
	if code := got.headers.Get("X-Ms-Error-Code"); b.code != "" && code != b.code {
		out = append(out, fmt.Sprintf("code %q, want %q", code, b.code))
	}
	for _, name := range slices.Sorted(maps.Keys(b.headers)) {
		want, has := c.fill(b.headers[name]), got.headers.Get(name)
		if want == "*" && has == "" || want != "*" && has != want {
			out = append(out, fmt.Sprintf("%s %q, want %q", name, has, want))
		}
	}
	for _, part := range b.has {
		if part = c.fill(part); !strings.Contains(got.body, part) {
			out = append(out, fmt.Sprintf("no %q", part))
		}
	}
	for _, part := range b.hasNot {
		if strings.Contains(got.body, part) {
			out = append(out, fmt.Sprintf("%q", part))
		}
	}
	return out
}

// try has the conversation of a row and returns the differences.
func (b behaviour) try(t *testing.T, s blobService) []string {
	t.Helper()
	c := s.converse(t)
	for _, call := range b.before {
		if got := c.send(t, call); got.status >= http.StatusBadRequest {
			return []string{fmt.Sprintf("%s %s?%s before it: %d %s", call.method, call.blob, call.query, got.status, got.headers.Get("X-Ms-Error-Code"))}
		}
	}
	return b.differences(c.send(t, b.call), c)
}

// TestBehaviour runs the table of behaviours on the fake.
func TestBehaviour(t *testing.T) {
	t.Parallel()
	server := start(t, azurefake.Options{})
	key, _ := server.Keys(azurefake.DefaultAccount)
	cred, err := container.NewSharedKeyCredential(azurefake.DefaultAccount, key)
	wantNoError(t, err)
	s := blobService{server.AccountURL(azurefake.DefaultAccount), cred}
	table, refused := behaviours(), 0
	for name, row := range table {
		if row.status >= http.StatusBadRequest {
			refused++
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, difference := range row.try(t, s) {
				t.Error(difference)
			}
		})
	}
	t.Logf("%d rows, %d of them refusals", len(table), refused)
}
