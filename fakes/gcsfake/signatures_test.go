// SPDX-License-Identifier: Apache-2.0

package gcsfake_test

import (
	keyed "crypto/hmac"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cooper-cosi/cooper/fakes/faketest"
	"github.com/cooper-cosi/cooper/fakes/gcsfake"
)

// conformance reads a file of Google's conformance tests, which come with its storage client.
func conformance(t *testing.T, name string) []byte {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "cloud.google.com/go/storage").Output()
	wantNoError(t, err)
	raw, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "internal", "test", "conformance", name))
	wantNoError(t, err)
	return raw
}

// conformanceAccount returns a server with a fixed clock, and the account and key that signed Google's tests.
func conformanceAccount(t *testing.T, at time.Time) *world {
	t.Helper()
	var account struct {
		Project string `json:"project_id"`
		Private string `json:"private_key"`
	}
	wantNoError(t, json.Unmarshal(conformance(t, "service-account"), &account))
	block, _ := pem.Decode([]byte(account.Private))
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	wantNoError(t, err)
	key, ok := parsed.(*rsa.PrivateKey)
	if !ok {
		t.Fatalf("the key is a %T", parsed)
	}
	w := serverAt(t, account.Project, at)
	w.must(t, operation{method: "POST", path: "/v1/projects/dummy-project-id/serviceAccounts", body: `{"accountId":"test-iam-credentials"}`})
	w.must(t, operation{
		method: "POST", path: "/v1/projects/-/serviceAccounts/test-iam-credentials@dummy-project-id.iam.gserviceaccount.com/keys:upload",
		body: `{"publicKeyData":"` + certificateOf(key) + `"}`,
	})
	return w
}

// TestGooglesSignatures sends the signed URLs of Google's own conformance tests, at the time for which they were made
// and with the key that made them.
func TestGooglesSignatures(t *testing.T) {
	t.Parallel()
	var vectors struct {
		Signing []struct {
			Description, Method, Timestamp, ExpectedURL string
			Headers                                     map[string]string
		} `json:"signingV4Tests"`
	}
	wantNoError(t, json.Unmarshal(conformance(t, "v4_signatures.json"), &vectors))
	if len(vectors.Signing) < 29 {
		t.Fatalf("%d vectors", len(vectors.Signing))
	}
	for _, v := range vectors.Signing {
		at, err := time.Parse(time.RFC3339, v.Timestamp)
		wantNoError(t, err)
		w := conformanceAccount(t, at)
		send := func(address string) string {
			req := httptest.NewRequestWithContext(t.Context(), v.Method, address, http.NoBody)
			for name, value := range v.Headers {
				req.Header.Set(name, value)
			}
			rec := httptest.NewRecorder()
			w.ServeHTTP(rec, req)
			return rec.Body.String()
		}
		// These buckets do not exist, so this error shows that the signer was authenticated.
		if got := send(v.ExpectedURL); !strings.Contains(got, "NoSuchBucket") {
			t.Errorf("%s: %s", v.Description, got)
		}
		if got := send(v.ExpectedURL[:len(v.ExpectedURL)-4] + "0123"); !strings.Contains(got, "SignatureDoesNotMatch") {
			t.Errorf("%s with another signature: %s", v.Description, got)
		}
		before, signature, _ := strings.Cut(v.ExpectedURL, "X-Goog-Signature=")
		if got := send(before + "X-Goog-Signature=" + strings.ToUpper(signature)); !strings.Contains(got, "SignatureDoesNotMatch") {
			t.Errorf("%s in capitals: %s", v.Description, got)
		}
		w.close(t)
	}
}

// serverAt returns a server with a fixed clock.
func serverAt(t *testing.T, project string, at time.Time) *world {
	t.Helper()
	s := faketest.Open(t, gcsfake.New, gcsfake.Options{Projects: []gcsfake.Project{{ID: project}}, Now: func() time.Time { return at }})
	token, err := s.Token(s.AdminEmail(""))
	wantNoError(t, err)
	return &world{Server: s, admin: token, known: map[string]string{}}
}

// hmacSigner signs in the way of AWS or Google with a secret. It shares no code with the tested implementation.
type hmacSigner struct {
	family, service, id, secret string
	at                          time.Time
}

func awsSigner(id, secret string, at time.Time) hmacSigner {
	return hmacSigner{"AWS4", "s3", id, secret, at}
}

func googleSigner(id, secret string, at time.Time) hmacSigner {
	return hmacSigner{"GOOG4", "storage", id, secret, at}
}

func (s hmacSigner) date() string { return s.at.UTC().Format("20060102T150405Z") }

func (s hmacSigner) scope(region string) string {
	return s.date()[:8] + "/" + region + "/" + s.service + "/" + strings.ToLower(s.family) + "_request"
}

// name is that of a header or parameter of the dialect.
func (s hmacSigner) name(rest string) string {
	return map[string]string{"AWS4": "X-Amz-", "GOOG4": "X-Goog-"}[s.family] + rest
}

// signature signs a canonical request.
func (s hmacSigner) signature(method, path, query string, headers map[string]string, payload, region string) string {
	names := slices.Sorted(maps.Keys(headers))
	lines := []string{method, path, query}
	for _, name := range names {
		lines = append(lines, name+":"+headers[name])
	}
	canonical := strings.Join(append(lines, "", strings.Join(names, ";"), payload), "\n")
	sum := sha256.Sum256([]byte(canonical))
	toSign := strings.Join([]string{s.family + "-HMAC-SHA256", s.date(), s.scope(region), hex.EncodeToString(sum[:])}, "\n")
	key := []byte(s.family + s.secret)
	for part := range strings.SplitSeq(s.scope(region), "/") {
		key = mac(key, part)
	}
	return hex.EncodeToString(mac(key, toSign))
}

func mac(key []byte, text string) []byte {
	h := keyed.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// TestSignerIsRight holds the signer of these tests to the examples of the Amazon S3 API Reference, "Authenticating
// Requests (AWS Signature Version 4)"; Google's differs from it in names only ("V4 signing process").
func TestSignerIsRight(t *testing.T) {
	t.Parallel()
	s := awsSigner("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC))
	const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	header := s.signature("GET", "/test.txt", "", map[string]string{
		"host": "examplebucket.s3.amazonaws.com", "range": "bytes=0-9", "x-amz-content-sha256": empty, "x-amz-date": s.date(),
	}, empty, "us-east-1")
	if want := "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"; header != want {
		t.Errorf("by header: %s, want %s", header, want)
	}
	query := s.signature("GET", "/test.txt", s.parameters(24*time.Hour, "us-east-1").Encode(), map[string]string{"host": "examplebucket.s3.amazonaws.com"}, "UNSIGNED-PAYLOAD", "us-east-1")
	if want := "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"; query != want {
		t.Errorf("by query: %s, want %s", query, want)
	}
}

// parameters are those of a presigned URL but its signature.
func (s hmacSigner) parameters(life time.Duration, region string) url.Values {
	return url.Values{
		s.name("Algorithm"): {s.family + "-HMAC-SHA256"}, s.name("Credential"): {s.id + "/" + s.scope(region)}, s.name("Date"): {s.date()},
		s.name("Expires"): {strconv.Itoa(int(life.Seconds()))}, s.name("SignedHeaders"): {"host"},
	}
}

// byHeader is a request that is signed in its Authorization header.
func (s hmacSigner) byHeader(t *testing.T, method, path, body string) *http.Request {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), method, "http://storage.example.com"+path, strings.NewReader(body))
	sum := sha256.Sum256([]byte(body))
	payload := hex.EncodeToString(sum[:])
	date, hash := strings.ToLower(s.name("Date")), strings.ToLower(s.name("Content-Sha256"))
	signed := map[string]string{"host": req.Host, date: s.date(), hash: payload}
	req.Header.Set(date, s.date())
	req.Header.Set(hash, payload)
	signature := s.signature(method, req.URL.Path, req.URL.Query().Encode(), signed, payload, "auto")
	req.Header.Set("Authorization", s.family+"-HMAC-SHA256 Credential="+s.id+"/"+s.scope("auto")+", SignedHeaders="+strings.Join(slices.Sorted(maps.Keys(signed)), ";")+", Signature="+signature)
	return req
}

// byQuery is a request by a presigned URL that lives for a minute.
func (s hmacSigner) byQuery(t *testing.T, method, path, body string) *http.Request {
	t.Helper()
	query := s.parameters(time.Second*59, "auto")
	signature := s.signature(method, path, query.Encode(), map[string]string{"host": "storage.example.com"}, "UNSIGNED-PAYLOAD", "auto")
	return httptest.NewRequestWithContext(t.Context(), method, "http://storage.example.com"+path+"?"+query.Encode()+"&"+s.name("Signature")+"="+signature, strings.NewReader(body))
}

// TestHMACSignatures uses an HMAC key in both dialects, by header and by query.
func TestHMACSignatures(t *testing.T) {
	t.Parallel()
	at := time.Now()
	w := serverAt(t, "cooper-fake", at)
	defer w.close(t)
	k, err := w.NewHMAC(w.AdminEmail(""))
	wantNoError(t, err)
	w.must(t, operation{method: "POST", path: "/storage/v1/b?project=cooper-fake", body: `{"name":"docs"}`})
	serve := func(req *http.Request) (int, string) {
		rec := httptest.NewRecorder()
		w.ServeHTTP(rec, req)
		return rec.Code, rec.Body.String()
	}
	for dialect, s := range map[string]hmacSigner{"AWS4": awsSigner(k.AccessID, k.Secret, at), "GOOG4": googleSigner(k.AccessID, k.Secret, at)} {
		wrong, unknown, old, swapped := s, s, s, s
		wrong.secret, unknown.id, old.at = "wrong", "GOOG1ENOBODY", at.Add(-16*time.Minute)
		swapped.service = "iam"
		for place, sign := range map[string]func(s hmacSigner, method, path, body string) *http.Request{
			"header": func(s hmacSigner, method, path, body string) *http.Request { return s.byHeader(t, method, path, body) },
			"query":  func(s hmacSigner, method, path, body string) *http.Request { return s.byQuery(t, method, path, body) },
		} {
			tampered := sign(s, http.MethodGet, "/docs/o", "")
			tampered.URL.Path = "/docs/other"
			reused := sign(s, http.MethodGet, "/docs/o", "")
			reused.Method = http.MethodDelete
			for _, tc := range []struct {
				name   string
				req    *http.Request
				status int
				text   string
			}{
				{"a write", sign(s, http.MethodPut, "/docs/o", "text"), 200, ""},
				{"a read", sign(s, http.MethodGet, "/docs/o", ""), 200, "text"},
				{"a listing", sign(s, http.MethodGet, "/docs", ""), 200, "<Key>o</Key>"},
				{"a wrong secret", sign(wrong, http.MethodGet, "/docs/o", ""), 403, "SignatureDoesNotMatch"},
				{"an unknown key", sign(unknown, http.MethodGet, "/docs/o", ""), 403, "InvalidAccessKeyId"},
				{"another path", tampered, 403, "SignatureDoesNotMatch"},
				{"another method", reused, 403, "SignatureDoesNotMatch"},
				{"a scope of another service", sign(swapped, http.MethodGet, "/docs/o", ""), 400, "incorrect service"},
				{"a time long ago", sign(old, http.MethodGet, "/docs/o", ""), 403, map[string]string{"header": "RequestTimeTooSkewed", "query": "Request has expired"}[place]},
			} {
				if code, body := serve(tc.req); code != tc.status || !strings.Contains(body, tc.text) {
					t.Errorf("%s by %s, %s: %d %s", dialect, place, tc.name, code, body)
				}
			}
		}
		for _, header := range []string{"X-Amz-Meta-Added", "X-Goog-Meta-Added", "X-Amz-Acl", "X-Goog-Acl", "X-Amz-Copy-Source", "X-Goog-Copy-Source"} {
			for _, added := range []*http.Request{s.byHeader(t, http.MethodPut, "/docs/o", "text"), s.byQuery(t, http.MethodPut, "/docs/o", "text")} {
				added.Header.Set(header, "x")
				if code, body := serve(added); code != 403 || !strings.Contains(body, "not signed") {
					t.Errorf("%s with %s, which is not signed: %d %s", dialect, header, code, body)
				}
			}
		}
		body := s.byHeader(t, http.MethodPut, "/docs/o", "text")
		body.Body = http.NoBody
		body.ContentLength = 0
		if code, text := serve(body); code < 400 {
			t.Errorf("%s with another body: %d %s", dialect, code, text)
		}
	}
}
