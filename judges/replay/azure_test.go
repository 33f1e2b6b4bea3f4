// SPDX-License-Identifier: Apache-2.0

package replay_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"

	"github.com/cooper-cosi/cooper/fakes/azurefake"
	"github.com/cooper-cosi/cooper/fakes/faketest"
)

const (
	azureAccount   = "gocloudblobtests"
	azureDomain    = "blob.core.windows.net"
	azureContainer = "https://" + azureAccount + "." + azureDomain + "/go-cloud-bucket"
	// azureVersion is the version of the service that the recorded SDK asked for; the recorder cleared it.
	azureVersion = "2023-11-03"
)

func azureSuite() suite {
	return suite{
		name: "Azure", module: "gocloud.dev", files: "blob/azureblob/testdata",
		want:  score{recorded: 455, sent: 452, status: 451, equal: 449},
		start: startAzure,
		outside: []exclusion{
			{match: ` = 502$`, reason: "the recorder had no connection", count: 2},
			{match: `maxresults=1&prefix=&restype=container = 200$`, reason: "the container held blobs that are not recorded", count: 1},
		},
		known: []exclusion{
			{match: `/blob-for-upload-download = 202: `, reason: "Azure deleted a blob a second time", count: 1},
			{match: `/blob-for-signing = 404: header X-Ms-(Version|Error-Code) added`, reason: "Azure hides the service from an anonymous request", count: 1},
			{match: `: header X-Ms-Delete-Type-Permanent "true"`, reason: "the account had soft delete", count: 1},
		},
		rules: rules{
			format: func(e *exchange) string {
				if e.Response.StatusCode >= http.StatusMultipleChoices || strings.Contains(e.Request.URL, "comp=list") {
					return formXML
				}
				return data
			},
			listed:  regexp.MustCompile(`\.Blob(\[\d+\])?\.Name$`),
			ignored: regexp.MustCompile(`^Server$`),
			varying: regexp.MustCompile(`^(Date|Etag|Last-Modified|X-Ms-Request-Id|X-Ms-Creation-Time|X-Ms-Copy-Id|X-Ms-Copy-Completion-Time|X-Ms-Copy-Source)$` +
				`|@ServiceEndpoint$|\.(Etag|Creation-Time|Last-Modified|NextMarker|Marker|Message|UriPath|CopyId|CopySource|CopyCompletionTime)$`),
		},
	}
}

// startAzure stores the blobs that the recording lists before it writes them.
func startAzure(t *testing.T, r *recording) service {
	t.Helper()
	server := faketest.Start(t, azurefake.New, azurefake.Options{
		Accounts: []azurefake.Account{{Name: azureAccount}}, Domains: []string{azureDomain},
	})
	key, _ := server.Keys(azureAccount)
	out := service{url: server.URL(), sign: signAzure(key)}
	shared := http.Header{"X-Ms-Version": {""}}
	out.prepare(t, http.MethodPut, azureContainer+"?restype=container", shared, nil)
	for _, name := range r.leftovers(t, azureSuite().rules) {
		out.prepare(t, http.MethodPut, azureContainer+"/"+url.PathEscape(name), http.Header{"X-Ms-Version": {""}, "X-Ms-Blob-Type": {"BlockBlob"}, "X-Ms-Blob-Content-Type": {"text/plain; charset=utf-8"}}, []byte(leftover))
	}
	return out
}

// signAzure signs requests of the SDK, which name a version, with the account key, and SAS URLs in the query. Requests
// with neither were anonymous.
func signAzure(key string) func(*testing.T, *http.Request, *exchange) {
	return func(t *testing.T, r *http.Request, _ *exchange) {
		t.Helper()
		query := r.URL.Query()
		if query.Has("sp") {
			r.URL.RawQuery = signedBlob(t, key, r.URL, query)
		}
		if r.Header.Values("X-Ms-Version") == nil {
			return
		}
		r.Header.Set("X-Ms-Version", azureVersion)
		r.Header.Set("X-Ms-Date", time.Now().UTC().Format(http.TimeFormat))
		length := ""
		if r.ContentLength > 0 {
			length = strconv.FormatInt(r.ContentLength, 10)
		}
		lines := []string{r.Method}
		for _, name := range []string{"Content-Encoding", "Content-Language", "", "Content-Md5", "Content-Type", "", "If-Modified-Since", "If-Match", "If-None-Match", "If-Unmodified-Since", "Range"} {
			lines = append(lines, r.Header.Get(name))
		}
		lines[3] = length
		var named []string
		for name, values := range r.Header {
			if lower := strings.ToLower(name); strings.HasPrefix(lower, "x-ms-") {
				named = append(named, lower+":"+values[0])
			}
		}
		slices.Sort(named)
		lines = append(append(lines, named...), "/"+azureAccount+r.URL.EscapedPath())
		var parameters []string
		for name, values := range query {
			parameters = append(parameters, strings.ToLower(name)+":"+values[0])
		}
		slices.Sort(parameters)
		raw, err := base64.StdEncoding.DecodeString(key)
		if err != nil {
			t.Fatal(err)
		}
		mac := hmac.New(sha256.New, raw)
		_, _ = mac.Write([]byte(strings.Join(append(lines, parameters...), "\n")))
		r.Header.Set("Authorization", "SharedKey "+azureAccount+":"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
}

// signedBlob returns the query of a SAS with the recorded permissions.
func signedBlob(t *testing.T, key string, target *url.URL, query url.Values) string {
	t.Helper()
	credential, err := azblob.NewSharedKeyCredential(azureAccount, key)
	if err != nil {
		t.Fatal(err)
	}
	container, blob, _ := strings.Cut(strings.TrimPrefix(target.Path, "/"), "/")
	values := sas.BlobSignatureValues{
		Version: query.Get("sv"), Permissions: query.Get("sp"), ExpiryTime: time.Now().Add(time.Hour), ContainerName: container, BlobName: blob,
	}
	signed, err := values.SignWithSharedKey(credential)
	if err != nil {
		t.Fatal(err)
	}
	return signed.Encode()
}
