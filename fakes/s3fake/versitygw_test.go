// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/cooper-cosi/cooper/fakes/s3fake"
	"github.com/cooper-cosi/cooper/testenv/stores"
)

// versityAdmin answers the one call of versitygw's own admin API that its test suite needs to make users, and
// leaves everything else to the fake.
func versityAdmin(s *s3fake.Server) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPatch || r.URL.Path != "/create-user" {
			if r.Method == http.MethodPut && r.URL.Query().Has("policy") {
				translatePrincipals(s, r)
			} else if r.Method == http.MethodPut {
				w = sizeWriter{w, r}
			}
			s.ServeHTTP(w, r)
			return
		}
		var account struct {
			Access string `xml:"Access"`
			Secret string `xml:"Secret"`
			Role   string `xml:"Role"`
		}
		if err := xml.NewDecoder(r.Body).Decode(&account); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		u := s3fake.ImportedUser{Name: account.Access, Credentials: s3fake.Credentials{AccessKeyID: account.Access, SecretAccessKey: account.Secret}}
		if account.Role == "admin" {
			u.Policy = allow("*", "*")
		}
		err := s.ImportUser(u)
		if err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
			return
		}
		w.WriteHeader(http.StatusCreated)
	})
}

// sizeWriter adds x-amz-object-size to answers of PutObject: versitygw sends it always, S3 for appends only, and the
// suite ends with a nil pointer without it.
type sizeWriter struct {
	http.ResponseWriter
	r *http.Request
}

func (w sizeWriter) WriteHeader(status int) {
	size := w.r.Header.Get("X-Amz-Decoded-Content-Length")
	if size == "" {
		size = strconv.FormatInt(w.r.ContentLength, 10)
	}
	w.Header().Set("X-Amz-Object-Size", size)
	w.ResponseWriter.WriteHeader(status)
}

// translatePrincipals rewrites a bucket policy of the suite: versitygw names principals by access key, without a type,
// S3 by ARN under "AWS". The request is signed again with the root credentials, which are what the suite uses.
func translatePrincipals(s *s3fake.Server, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(raw))
	var policy map[string]any
	if err != nil || json.Unmarshal(raw, &policy) != nil || !strings.Contains(r.Header.Get("Authorization"), s.Root().AccessKeyID) {
		return
	}
	statements, ok := policy["Statement"].([]any)
	changed := false
	for _, one := range statements {
		if statement, isObject := one.(map[string]any); ok && isObject {
			changed = typed(statement) || changed
		}
	}
	if !changed {
		return
	}
	if raw, err = json.Marshal(policy); err != nil {
		return
	}
	sum := sha256.Sum256(raw)
	hash := hex.EncodeToString(sum[:])
	clean := http.Header{"X-Amz-Content-Sha256": {hash}}
	r.Header, r.Body, r.ContentLength = clean, io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
	r.URL.Host, r.URL.Scheme = r.Host, "http"
	root := aws.Credentials{AccessKeyID: s.Root().AccessKeyID, SecretAccessKey: s.Root().SecretAccessKey}
	_ = v4.NewSigner().SignHTTP(r.Context(), root, r, hash, "s3", s.Region(), time.Now()) // a failure shows as a refused signature
}

// typed puts a statement's bare principals under "AWS"; users of the suite's own admin API become ARNs.
func typed(statement map[string]any) bool {
	var names []string
	principal := statement["Principal"]
	if by, ok := principal.(map[string]any); ok {
		principal = by["AWS"]
	}
	switch p := principal.(type) {
	case string:
		names = []string{p}
	case []any:
		for _, one := range p {
			name, _ := one.(string)
			names = append(names, name)
		}
	}
	known := false
	for i, name := range names {
		if strings.HasPrefix(name, "test-user-") {
			names[i] = "arn:aws:iam::000000000000:user/" + name
			known = true
		}
		known = known || (strings.HasPrefix(name, "arn:") && principal != nil)
	}
	if known {
		statement["Principal"] = map[string]any{"AWS": names}
	}
	return known
}

var ansi = regexp.MustCompile("\x1b\\[[0-9;]*m")

// TestVersitygw runs versitygw's own integration tests, as a process, against the fake: see docs/reference/s3fake.md.
// VERSITYGW_OUT names a directory that receives their output.
func TestVersitygw(t *testing.T) {
	t.Parallel()
	binary, err := stores.VersityGW().Find()
	if err != nil {
		t.Skip(err)
	}
	s, err := s3fake.New(s3fake.Options{OpenBuckets: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	server := httptest.NewServer(versityAdmin(s))
	defer server.Close()
	root := s.Root()
	out := os.Getenv("VERSITYGW_OUT")
	suites := []string{"full-flow --versioning-enabled", "full-flow", "iam", "s3-iam", "s3-iam-session"}
	if out == "" && os.Getenv("COOPER_SOAK") == "" {
		suites = []string{"iam"} // the others take minutes
	}
	if out == "" {
		out = t.TempDir()
	}
	for _, args := range suites {
		if only := os.Getenv("VERSITYGW_ONLY"); only != "" && only != args {
			continue
		}
		cmd := exec.CommandContext(t.Context(), binary, append([]string{"test", "--access", root.AccessKeyID, "--secret", root.SecretAccessKey, "--endpoint", server.URL}, strings.Fields(args)...)...)
		cmd.Dir = filepath.Dir(binary)
		// The SDK inside refuses a plain HTTP client when this is set.
		cmd.Env = append(os.Environ(), "AWS_CA_BUNDLE=")
		raw, err := cmd.CombinedOutput()
		if err != nil && len(raw) == 0 {
			t.Fatal(err)
		}
		text := ansi.ReplaceAllString(string(raw), "")
		if err := os.WriteFile(filepath.Join(out, strings.ReplaceAll(args, " ", "_")+".log"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(text), "\n")
		t.Logf("%s: %s", args, lines[len(lines)-1])
	}
}
