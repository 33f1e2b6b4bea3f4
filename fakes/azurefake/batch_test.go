// SPDX-License-Identifier: Apache-2.0

package azurefake_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"

	"github.com/cooper-cosi/cooper/fakes/azurefake"
)

// batchType is the content type of a result of batchOf.
const batchType = "multipart/mixed; boundary=edge"

// batchOf writes a batch of requests.
func batchOf(requests ...string) string {
	var out strings.Builder
	for i, r := range requests {
		fmt.Fprintf(&out, "--edge\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\nContent-ID: %d\r\n\r\n%s\r\n", i, r)
	}
	return out.String() + "--edge--\r\n"
}

// TestBatchesBySDK deletes blobs and sets tiers with azblob, for an account and a container, with each credential.
func TestBatchesBySDK(t *testing.T) {
	t.Parallel()
	h := startHosted(t)
	_, _, bearer := h.signer(t, "Storage Blob Data Contributor")
	key, _ := h.Keys(azurefake.DefaultAccount)
	cred, err := service.NewSharedKeyCredential(azurefake.DefaultAccount, key)
	wantNoError(t, err)
	options := &service.ClientOptions{ClientOptions: h.options}
	shared, err := service.NewClientWithSharedKeyCredential("https://"+h.host, cred, options)
	wantNoError(t, err)
	pathStyle, err := service.NewClientWithSharedKeyCredential(h.AccountURL(azurefake.DefaultAccount), cred, options)
	wantNoError(t, err)
	permissions := sas.AccountPermissions{Read: true, Write: true, Delete: true, Create: true, List: true}
	signed, err := shared.GetSASURL(sas.AccountResourceTypes{Service: true, Container: true, Object: true}, permissions, time.Now().Add(time.Hour), nil)
	wantNoError(t, err)
	bySAS, err := service.NewClientWithNoCredential(signed, options)
	wantNoError(t, err)
	for name, svc := range map[string]*service.Client{"shared key": shared, "path style": pathStyle, "token": bearer, "account SAS": bySAS} {
		at := "batch-" + strings.ReplaceAll(strings.ToLower(name), " ", "-")
		c := svc.NewContainerClient(at)
		_, err := c.Create(t.Context(), nil)
		wantNoError(t, err)
		for _, blob := range []string{"a b", "x/y", "z"} {
			wantCode(t, name, upload(t.Context(), c, blob, "text"), "")
		}
		tiers, err := svc.NewBatchBuilder()
		wantNoError(t, err)
		for _, b := range []string{"a b", "missing"} {
			wantNoError(t, tiers.SetTier(at, b, blob.AccessTierCool, nil))
		}
		moved, err := svc.SubmitBatch(t.Context(), tiers, nil)
		wantNoError(t, err)
		if len(moved.Responses) != 2 || moved.Responses[0].Error != nil || moved.Responses[0].RequestID == nil || moved.Responses[0].Version == nil {
			t.Fatalf("%s: tiers: %+v", name, moved.Responses)
		}
		wantCode(t, name+": the tier of nothing", moved.Responses[1].Error, "BlobNotFound")
		properties, err := c.NewBlobClient("a b").GetProperties(t.Context(), nil)
		if err != nil || *properties.AccessTier != "Cool" {
			t.Errorf("%s: the tier is %v: %v", name, properties.AccessTier, err)
		}
		wantDeleted(t, name, c)
	}
}

// wantDeleted deletes three blobs and a missing one in a batch of the container.
func wantDeleted(t *testing.T, name string, c *container.Client) {
	t.Helper()
	batch, err := c.NewBatchBuilder()
	wantNoError(t, err)
	for _, blob := range []string{"a b", "missing", "x/y", "z"} {
		wantNoError(t, batch.Delete(blob, nil))
	}
	deleted, err := c.SubmitBatch(t.Context(), batch, nil)
	wantNoError(t, err)
	for i, code := range []string{"", "BlobNotFound", "", ""} {
		if id := deleted.Responses[i].ContentID; id == nil || *id != i {
			t.Errorf("%s: response %d has the ID %v", name, i, id)
		}
		wantCode(t, name, deleted.Responses[i].Error, code)
	}
	page, err := c.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{Prefix: to.Ptr("")}).NextPage(t.Context())
	if err != nil || len(page.Segment.BlobItems) > 0 {
		t.Errorf("%s: blobs are left: %v", name, err)
	}
}

// TestBatches sends batches as text. The service's parser accepts fewer forms than HTTP
// (https://github.com/pgbackrest/pgbackrest/pull/2786).
func TestBatches(t *testing.T) {
	t.Parallel()
	s := shared(t, azurefake.Options{})
	const refused, unsigned = "InvalidInput", "HTTP/1.1 401 Unauthorized"
	remove := func(name, more string) string {
		return "DELETE /{container}/" + name + "?{signature} HTTP/1.1\r\n" + more
	}
	tier := "PUT /{container}/b?comp=tier&{signature} HTTP/1.1\r\nx-ms-access-tier: Cool\r\n"
	many := func(n int) string {
		out := make([]string, n)
		for i := range out {
			out[i] = remove("n"+strconv.Itoa(i), "")
		}
		return batchOf(out...)
	}
	for name, row := range map[string]struct {
		body        string
		has, hasNot []string
		// account sends the batch to the account.
		account, kept bool
		// query is added to the query for the account.
		query string
	}{
		"blobs are deleted in order":              {body: batchOf(remove("b", ""), remove("none", "")), has: []string{"HTTP/1.1 202 Accepted", "HTTP/1.1 404 Not Found", "x-ms-error-code: BlobNotFound", "Content-ID: 0", "Content-ID: 1"}},
		"for the account":                         {body: batchOf(remove("b", "")), account: true, has: []string{"202 Accepted"}},
		"for the account as a container":          {body: batchOf(remove("b", "")), account: true, query: ofType + "&", has: []string{"202 Accepted"}},
		"the path has the account":                {body: batchOf("DELETE /" + azurefake.DefaultAccount + remove("b", "")[7:]), has: []string{"202 Accepted"}},
		"a length of zero":                        {body: batchOf(remove("b", "Content-Length: 0\r\n")), has: []string{"202 Accepted"}},
		"no empty line at the end of a request":   {body: strings.Replace(batchOf(remove("b", "")), "\r\n\r\n--edge--", "\r\n--edge--", 1), has: []string{"202 Accepted"}},
		"256 requests":                            {body: many(256), has: []string{"Content-ID: 255"}, kept: true},
		"257 requests":                            {body: many(257), has: []string{"400 Bad Request", "ExceedsMaxBatchRequestCount"}, hasNot: []string{"Content-ID"}, kept: true},
		"no request":                              {body: "--edge--\r\n", has: []string{refused}, kept: true},
		"an empty line before the first":          {body: "\r\n" + batchOf(remove("b", "")), has: []string{refused}, kept: true},
		"no blank after the colon":                {body: batchOf(remove("b", "Content-Length:0\r\n")), has: []string{refused}, kept: true},
		"no end":                                  {body: strings.TrimSuffix(batchOf(remove("b", "")), "--edge--\r\n"), has: []string{refused}, kept: true},
		"a body":                                  {body: batchOf(remove("b", "Content-Length: 1\r\n\r\nx")), has: []string{refused}, kept: true},
		"another operation":                       {body: batchOf(remove("b", ""), "GET /{container}/b?{signature} HTTP/1.1\r\n"), has: []string{refused}, kept: true},
		"two operations":                          {body: batchOf(remove("b", ""), tier), has: []string{"AllBatchSubRequestsShouldBeSameApi"}, kept: true},
		"another container":                       {body: batchOf(strings.Replace(remove("b", ""), "{container}", "other", 1)), has: []string{refused}, kept: true},
		"another server":                          {body: batchOf(strings.Replace(remove("b", ""), "/{container}", "http://other/{container}", 1)), has: []string{refused}, kept: true},
		"a request without a signature":           {body: batchOf("DELETE /{container}/b HTTP/1.1\r\n"), has: []string{unsigned}, kept: true},
		"a wrong signature":                       {body: batchOf("DELETE /{container}/b HTTP/1.1\r\nAuthorization: SharedKey " + azurefake.DefaultAccount + ":AAAA\r\n"), has: []string{"403 Forbidden", "AuthenticationFailed"}, kept: true},
		"a lease is asked for":                    {body: batchOf(remove("leased", "")), has: []string{"LeaseIdMissing"}, kept: true},
		"a header that the operation cannot have": {body: batchOf(remove("b", "x-ms-access-tier: Cool\r\n")), has: []string{"UnsupportedHeader"}, kept: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := s.converse(t)
			c.said["signature"] = c.signature
			c.send(t, put("b", "x"))
			c.send(t, put("leased", "x"))
			c.send(t, acquireFor("leased", leaseA, "-1"))
			call := request{method: "POST", query: ofType + "&" + comp + "batch", headers: headers{"Content-Type": batchType}, body: row.body}
			if row.account {
				call.blob, call.query = "/", row.query+comp+"batch"
			}
			got := c.send(t, call)
			for _, difference := range (behaviour{status: http.StatusAccepted, has: row.has, hasNot: row.hasNot}).differences(got, c) {
				t.Errorf("%s in %s", difference, got.body)
			}
			if kept := c.send(t, get("b", nil)).status == http.StatusOK; kept != row.kept {
				t.Errorf("the blob is kept: %t", kept)
			}
		})
	}
	t.Run("the type of the content is another", func(t *testing.T) {
		t.Parallel()
		c := s.converse(t)
		for _, kind := range []string{"", "text/plain", "multipart/form-data; boundary=edge"} {
			got := c.send(t, request{method: "POST", query: ofType + "&" + comp + "batch", headers: headers{"Content-Type": kind}, body: batchOf(tier)})
			if got.status != http.StatusBadRequest {
				t.Errorf("%q: got %d", kind, got.status)
			}
		}
	})
}

// TestBatchSignedWithoutTheAccount signs a request like Microsoft's client for Python, which omits the account in the
// path-style path, too.
func TestBatchSignedWithoutTheAccount(t *testing.T) {
	t.Parallel()
	server := start(t, azurefake.Options{})
	c := made(t, server, "data")
	key, _ := server.Keys(azurefake.DefaultAccount)
	secret, err := base64.StdEncoding.DecodeString(key)
	wantNoError(t, err)
	cred, err := container.NewSharedKeyCredential(azurefake.DefaultAccount, key)
	wantNoError(t, err)
	s := blobService{server.AccountURL(azurefake.DefaultAccount), cred}
	for signed, want := range map[string]string{"/data/b": "202 Accepted", "/" + azurefake.DefaultAccount + "/data/b": "202 Accepted", "/data/other": "AuthenticationFailed"} {
		wantCode(t, "upload", upload(t.Context(), c, "b", "text"), "")
		date := time.Now().UTC().Format(http.TimeFormat)
		mac := hmac.New(sha256.New, secret)
		_, _ = mac.Write([]byte("DELETE" + strings.Repeat("\n", 12) + "x-ms-date:" + date + "\n/" + azurefake.DefaultAccount + signed))
		body := batchOf("DELETE /data/b HTTP/1.1\r\nx-ms-date: " + date + "\r\nAuthorization: SharedKey " + azurefake.DefaultAccount + ":" + base64.StdEncoding.EncodeToString(mac.Sum(nil)) + "\r\n")
		got := s.converse(t).send(t, request{method: "POST", blob: "/", query: comp + "batch", headers: headers{"Content-Type": batchType}, body: body})
		if !strings.Contains(got.body, want) {
			t.Errorf("%s is signed: got %s", signed, got.body)
		}
	}
}

// FuzzBatch sends signed batches whose requests are not signed: nothing may be deleted.
func FuzzBatch(f *testing.F) {
	f.Add(batchOf("DELETE /fuzz/b HTTP/1.1\r\n"))
	f.Add(batchOf("PUT /fuzz/b?comp=tier HTTP/1.1\r\nx-ms-access-tier: Cool\r\n", "DELETE /fuzz/b HTTP/1.1\r\nAuthorization: SharedKey a:b\r\n"))
	server, cred := fuzzed(f)
	values := sas.AccountSignatureValues{Permissions: "rwdl", ResourceTypes: "sco", ExpiryTime: time.Now().UTC().Add(time.Hour)}
	query, err := values.SignWithSharedKey(cred)
	wantNoError(f, err)
	f.Fuzz(func(t *testing.T, body string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, fuzzURL+"?restype=container&comp=batch&"+query.Encode(), strings.NewReader(body))
		r.Header.Set("X-Ms-Version", "2021-12-02")
		r.Header.Set("Content-Type", batchType)
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		if w.Code != http.StatusAccepted || strings.Contains(w.Body.String(), "HTTP/1.1 2") || strings.Contains(w.Body.String(), "HTTP/1.1 5") {
			t.Errorf("got %d %s", w.Code, w.Body)
		}
	})
}
