// SPDX-License-Identifier: Apache-2.0

package azurefake_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/fakes/azurefake"
	"github.com/cooper-cosi/cooper/fakes/faketest"
)

// FuzzUnsigned sends whatever it can think of with no key at hand: nothing may be allowed, and nothing may break.
func FuzzUnsigned(f *testing.F) {
	server := faketest.Open(f, azurefake.New, azurefake.Options{})
	account := "/" + azurefake.DefaultAccount
	f.Add("GET", account+"/data/x", "sv=2021-12-02&sr=c&sp=r&se=2099-01-01&sig=AAAA", "", "")
	f.Add("PUT", account+"/data", "restype=container", "SharedKey "+azurefake.DefaultAccount+":AAAA", "2021-12-02")
	f.Add("GET", account, "comp=list", "Bearer ey.ey.x", "2021-12-02")
	f.Add("PUT", account+"/data/x", "comp=block&blockid=YQ%3D%3D&si=p&sig=A", "", "2015-02-21")
	f.Add("POST", account, "restype=service&comp=userdelegationkey", "SharedKey ", "")
	f.Add("GET", account+"/data/x", "ss=b&srt=sco&sp=r&sv=2021-12-02&se=x&sig=%00", "", "x")
	f.Add("HEAD", account+"/data/%2e%2e/x", "skoid=a&sktid=b&skt=c&ske=d&sks=b&skv=e&sr=b&sp=r&sig=A", "", "")
	f.Fuzz(func(t *testing.T, method, path, query, authorization, version string) {
		if method == "" || strings.ContainsAny(method, " \t\r\n\x00") {
			return
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://azure.example/", strings.NewReader("<x/>"))
		wantNoError(t, err)
		r.Method, r.URL = method, &url.URL{Path: path, RawQuery: query}
		r.Header.Set("Authorization", authorization)
		if authorization == "" {
			r.Header.Del("Authorization")
		}
		r.Header.Set("X-Ms-Version", version)
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		// The token endpoint's discovery document is public.
		if w.Code < 300 && !strings.HasSuffix(path, "/.well-known/openid-configuration") || w.Code >= 500 {
			t.Errorf("%s %s?%s returned %d: %s", method, path, query, w.Code, w.Body)
		}
		if left := server.Inventory().Containers; len(left) > 0 {
			t.Errorf("%s %s?%s made %v", method, path, query, left)
		}
	})
}
