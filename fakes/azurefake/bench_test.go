// SPDX-License-Identifier: Apache-2.0

package azurefake_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"

	"github.com/cooper-cosi/cooper/fakes/azurefake"
	"github.com/cooper-cosi/cooper/fakes/faketest"
)

// BenchmarkGet gets a blob of 4 KiB again and again, signature and all, without a network.
func BenchmarkGet(b *testing.B) {
	server := faketest.Open(b, azurefake.New, azurefake.Options{})
	key, _ := server.Keys(azurefake.DefaultAccount)
	cred, err := container.NewSharedKeyCredential(azurefake.DefaultAccount, key)
	wantNoError(b, err)
	c := byKey(b, direct{server: server}, cred)
	_, err = c.Create(b.Context(), nil)
	wantNoError(b, err)
	wantNoError(b, upload(b.Context(), c, "k", strings.Repeat("x", 4096)))
	values := sas.AccountSignatureValues{Permissions: "r", ResourceTypes: "o", ExpiryTime: time.Now().UTC().Add(time.Hour)}
	query, err := values.SignWithSharedKey(cred)
	wantNoError(b, err)
	req := httptest.NewRequestWithContext(b.Context(), http.MethodGet, fuzzURL+"/k?"+query.Encode(), http.NoBody)
	req.Header.Set("X-Ms-Version", "2021-12-02")
	b.ReportAllocs()
	for b.Loop() {
		got := httptest.NewRecorder()
		if server.ServeHTTP(got, req); got.Code != http.StatusOK {
			b.Fatal(got.Body.String())
		}
	}
}
