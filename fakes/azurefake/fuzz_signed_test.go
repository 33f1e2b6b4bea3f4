// SPDX-License-Identifier: Apache-2.0

package azurefake_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"

	"github.com/cooper-cosi/cooper/fakes/azurefake"
	"github.com/cooper-cosi/cooper/fakes/faketest"
)

// direct hands requests to a server without a connection, changed on the way if change is set.
type direct struct {
	server *azurefake.Server
	change func(*http.Request)
}

// Do implements policy.Transporter.
func (d direct) Do(r *http.Request) (*http.Response, error) {
	// A connection does this: the client writes some names in lower case.
	wire := http.Header{}
	for name, values := range r.Header {
		for _, value := range values {
			wire.Add(name, value)
		}
	}
	r.Header = wire
	if d.change != nil {
		d.change(r)
	}
	if r.Body == nil {
		r.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	d.server.ServeHTTP(w, r)
	response := w.Result()
	response.Request = r
	return response, nil
}

func fuzzed(f *testing.F) (*azurefake.Server, *container.SharedKeyCredential) {
	f.Helper()
	server := faketest.Open(f, azurefake.New, azurefake.Options{})
	key, _ := server.Keys(azurefake.DefaultAccount)
	cred, err := container.NewSharedKeyCredential(azurefake.DefaultAccount, key)
	wantNoError(f, err)
	return server, cred
}

const fuzzURL = "http://azure.example/" + azurefake.DefaultAccount + "/fuzz"

// byKey is a container client with the account's key.
func byKey(t testing.TB, d direct, cred *container.SharedKeyCredential) *container.Client {
	t.Helper()
	options := noRetry()
	options.Transport = d
	c, err := container.NewClientWithSharedKeyCredential(fuzzURL, cred, &container.ClientOptions{ClientOptions: options})
	wantNoError(t, err)
	return c
}

// authentication reports whether an error is about the signature.
func authentication(err error) bool {
	answered, ok := errors.AsType[*azcore.ResponseError](err)
	return ok && answered.ErrorCode == "AuthenticationFailed"
}

// FuzzSignatures lets the official client sign requests with odd names and values: whatever it sends, the signature
// must be understood, and must not hold for another request.
func FuzzSignatures(f *testing.F) {
	server, cred := fuzzed(f)
	if _, err := byKey(f, direct{server, nil}, cred).Create(f.Context(), nil); err != nil {
		f.Fatal(err)
	}
	f.Add("plain", "value", "attachment")
	f.Add("a/b c+d%20e", "x  y", "inline; filename=\"a,b\"")
	f.Add("ä/ß?x=1&y", "1,2", "a\tb")
	f.Add("..", "~", "%")
	f.Add(" lead", "-", "+")
	f.Fuzz(func(t *testing.T, name, value, disposition string) {
		if name == "" || len(name) > 900 || strings.TrimSpace(value) != value || strings.ContainsAny(name+value+disposition, "\x00\r\n\x7f") {
			return
		}
		for _, r := range value + disposition { // the characters that a client may put into a header
			if r < ' ' || r > '~' {
				return
			}
		}
		upload := func(d direct) error {
			_, err := byKey(t, d, cred).NewBlockBlobClient(name).Upload(t.Context(), readSeekCloser("text"), &blockblob.UploadOptions{
				Metadata: map[string]*string{"k": to.Ptr(value)}, Tags: map[string]string{"t": "1"},
			})
			return err
		}
		if err := upload(direct{server, nil}); authentication(err) {
			t.Errorf("name %q, metadata %q: %v", name, value, err)
		}
		for what, change := range map[string]func(*http.Request){
			"a header":  func(r *http.Request) { r.Header.Set("X-Ms-Meta-K", value+"x") },
			"the query": func(r *http.Request) { r.URL.RawQuery = "timeout=1" },
			"the path":  func(r *http.Request) { r.URL = r.URL.JoinPath("x") },
		} {
			if err := upload(direct{server, change}); !authentication(err) {
				t.Errorf("name %q, metadata %q: %s was changed, and the response is %v", name, value, what, err)
			}
		}
		values := sas.BlobSignatureValues{
			ContainerName: "fuzz", BlobName: name, Permissions: "r", ExpiryTime: time.Now().UTC().Add(time.Hour), ContentDisposition: disposition,
		}
		query, err := values.SignWithSharedKey(cred)
		wantNoError(t, err)
		signed := func(query string) int {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
			r.URL = &url.URL{Path: "/" + azurefake.DefaultAccount + "/fuzz/" + name, RawQuery: query}
			w := httptest.NewRecorder()
			server.ServeHTTP(w, r)
			return w.Code
		}
		// Names that are paths with dots are other blobs to the service, which a client finds out from a 403.
		if code := signed(query.Encode()); code == http.StatusForbidden && !strings.Contains("/"+name+"/", "/.") && !strings.Contains(name, "//") && !strings.HasSuffix(name, "/") && !strings.HasPrefix(name, "/") {
			t.Errorf("name %q, disposition %q: the signature is not understood", name, disposition)
		}
		if code := signed(query.Encode() + "&rscc=x"); code != http.StatusForbidden && code != http.StatusBadRequest {
			t.Errorf("name %q: a field was added to the signature, and the response is %d", name, code)
		}
	})
}

// FuzzBodies sends arbitrary bodies to the calls that parse XML, with a key. Nothing may break, and accepted values
// must be returned in the service's format and within its limits.
func FuzzBodies(f *testing.F) {
	server, cred := fuzzed(f)
	c := byKey(f, direct{server, nil}, cred)
	if _, err := c.Create(f.Context(), nil); err != nil {
		f.Fatal(err)
	}
	id := base64.StdEncoding.EncodeToString([]byte("block1"))
	for _, body := range []string{
		"", "<", "<x/>", "<SignedIdentifiers/>", "<SignedIdentifiers></SignedIdentifiers>trailing",
		"<SignedIdentifiers><SignedIdentifier><Id>a</Id><AccessPolicy><Start>2020-01-01</Start><Expiry>2099-01-01T00:00:00.0000000Z</Expiry><Permission>rwd</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>",
		"<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList><Latest>" + id + "</Latest><Uncommitted>" + id + "</Uncommitted><Committed>" + id + "</Committed></BlockList>",
		"<Tags><TagSet><Tag><Key>a</Key><Value>1</Value></Tag><Tag><Key>a</Key><Value>2</Value></Tag></TagSet></Tags>",
		"<!DOCTYPE x [<!ENTITY e \"e\">]><BlockList><Latest>&e;</Latest></BlockList>",
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		blob := c.NewBlockBlobClient("blob")
		if _, err := blob.Upload(t.Context(), readSeekCloser("text"), nil); err != nil {
			t.Fatal(err)
		}
		if _, err := blob.StageBlock(t.Context(), id, readSeekCloser("more"), nil); err != nil {
			t.Fatal(err)
		}
		for query, again := range map[string]string{"restype=container&comp=acl": "restype=container&comp=acl", "comp=tags": "comp=tags", "comp=blocklist": "comp=blocklist&blocklisttype=all"} {
			path := ""
			if !strings.HasPrefix(query, "restype") {
				path = "/blob"
			}
			put := raw(t, server, http.MethodPut, path, query, body)
			if put.Code >= 500 {
				t.Errorf("%s returns %d to %q: %s", query, put.Code, body, put.Body)
			}
			got := raw(t, server, http.MethodGet, path, again, "")
			var document struct {
				XMLName xml.Name
				Inner   []struct{} `xml:",any"`
			}
			if err := xml.Unmarshal(got.Body.Bytes(), &document); got.Code != http.StatusOK || err != nil {
				t.Errorf("after %q, %s returns %d, %v: %s", body, again, got.Code, err, got.Body)
			}
			if document.XMLName.Local == "SignedIdentifiers" && len(document.Inner) > 5 {
				t.Errorf("%d policies by %q", len(document.Inner), body)
			}
		}
	})
}

// raw makes a request without the client, which would say no to most bodies.
func raw(t *testing.T, server *azurefake.Server, method, path, query, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, fuzzURL+path+"?"+query, strings.NewReader(body))
	r.Header.Set("X-Ms-Version", "2021-12-02")
	r.Header.Set("X-Ms-Date", time.Now().UTC().Format(http.TimeFormat))
	r.Header.Set("Authorization", "SharedKey "+azurefake.DefaultAccount+":"+sharedKeySignature(t, r, server, len(body)))
	w := httptest.NewRecorder()
	server.ServeHTTP(w, r)
	return w
}

// sharedKeySignature signs a request as described in "Authorize with Shared Key", independently of the fake's code.
func sharedKeySignature(t *testing.T, r *http.Request, server *azurefake.Server, length int) string {
	t.Helper()
	size := ""
	if length > 0 {
		size = strconv.Itoa(length)
	}
	resource := "/" + azurefake.DefaultAccount + r.URL.EscapedPath()
	for _, name := range []string{"blocklisttype", "comp", "restype"} {
		if v := r.URL.Query().Get(name); v != "" {
			resource += "\n" + name + ":" + v
		}
	}
	text := strings.Join([]string{r.Method, "", "", size, "", "", "", "", "", "", "", ""}, "\n") +
		"\nx-ms-date:" + r.Header.Get("X-Ms-Date") + "\nx-ms-version:" + r.Header.Get("X-Ms-Version") + "\n" + resource
	key, _ := server.Keys(azurefake.DefaultAccount)
	secret, err := base64.StdEncoding.DecodeString(key)
	wantNoError(t, err)
	mac := hmac.New(sha256.New, secret)
	_, _ = mac.Write([]byte(text)) // never fails
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
