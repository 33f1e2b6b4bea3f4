// SPDX-License-Identifier: Apache-2.0

package s3fakecmd_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/cooper-cosi/cooper/fakes/internal/fakecmd/fakecmdtest"
	"github.com/cooper-cosi/cooper/fakes/s3fake/s3fakecmd"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
)

func TestMain(m *testing.M) { os.Exit(fakecmdtest.Main(m, s3fakecmd.Prepare)) }

// child is the command in a process of its own.
type child struct{ *fakecmdtest.Child }

func startChild(t *testing.T, args ...string) child {
	t.Helper()
	return child{fakecmdtest.Start(t, args...)}
}

func (c child) config() aws.Config {
	return aws.Config{
		Region: c.Env["AWS_REGION"], BaseEndpoint: aws.String(c.Env["AWS_ENDPOINT_URL"]), RetryMaxAttempts: 1, HTTPClient: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32}},
		Credentials: credentials.NewStaticCredentialsProvider(c.Env["AWS_ACCESS_KEY_ID"], c.Env["AWS_SECRET_ACCESS_KEY"], ""),
	}
}

func (c child) s3() *s3.Client {
	return s3.NewFromConfig(c.config(), func(o *s3.Options) { o.UsePathStyle = true })
}

// TestNothingAcknowledgedIsLost kills the process under load, again and again, and looks for everything that it had
// acknowledged. The soak does so 50 times.
func TestNothingAcknowledgedIsLost(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	ledger := &ledger{objects: map[string]int{}}
	for round := range fulltest.Size(3, 3, 50) {
		c := startChild(t, "--data", dir)
		if round == 0 {
			if _, err := c.s3().CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("load")}); err != nil {
				t.Fatal(err)
			}
		}
		ledger.check(t, c)
		ledger.load(t, c, round, 200)
	}
	ledger.check(t, startChild(t, "--data", dir))
}

// ledger records the writes that the process has acknowledged.
type ledger struct {
	mu      sync.Mutex
	objects map[string]int
	users   []string
}

func (l *ledger) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.objects) + len(l.users)
}

// load writes from several clients until enough is acknowledged, then kills the process in the middle of it.
func (l *ledger) load(t *testing.T, c child, round, enough int) {
	t.Helper()
	target := l.size() + enough
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			client, accounts := c.s3(), iam.NewFromConfig(c.config())
			for n := 0; ; n++ {
				if worker == 0 {
					name := fmt.Sprintf("user-%d-%d", round, n)
					if _, err := accounts.CreateUser(t.Context(), &iam.CreateUserInput{UserName: &name}); err != nil {
						return
					}
					l.mu.Lock()
					l.users = append(l.users, name)
					l.mu.Unlock()
				}
				key, size := fmt.Sprintf("%d/%d/%d", round, worker, n), 100+n*37
				if _, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("load"), Key: &key, Body: bytes.NewReader(fakecmdtest.Content(key, size))}); err != nil {
					return
				}
				l.mu.Lock()
				l.objects[key] = size
				l.mu.Unlock()
				if l.size() >= target {
					c.Strike() // another worker may have been faster
				}
			}
		})
	}
	wg.Wait()
	c.Kill()
}

func (l *ledger) check(t *testing.T, c child) {
	t.Helper()
	client, accounts := c.s3(), iam.NewFromConfig(c.config())
	for key, size := range l.objects {
		out, err := client.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String("load"), Key: &key})
		if err != nil {
			t.Fatalf("acknowledged object %s is lost: %v", key, err)
		}
		got, err := io.ReadAll(out.Body)
		if err != nil || !bytes.Equal(got, fakecmdtest.Content(key, size)) {
			t.Fatalf("acknowledged object %s came back with %d bytes, want %d: %v", key, len(got), size, err)
		}
	}
	for _, name := range l.users {
		if _, err := accounts.GetUser(t.Context(), &iam.GetUserInput{UserName: &name}); err != nil {
			t.Fatalf("acknowledged user is lost: %v", err)
		}
	}
}

// TestMemoryStaysBounded uploads a large object in parts and looks at the process's peak memory.
func TestMemoryStaysBounded(t *testing.T) { //nolint:paralleltest // it moves 1 GiB and needs the whole machine
	parts := fulltest.Size(24, 64, 320) // more than limit
	const partSize, limit = 16 << 20, 256 << 20
	c := startChild(t)
	client := c.s3()
	bucket, key := aws.String("big"), aws.String("big")
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: bucket}); err != nil {
		t.Fatal(err)
	}
	up, err := client.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: bucket, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	part := bytes.Repeat([]byte("0123456789abcdef"), partSize/16)
	done := &types.CompletedMultipartUpload{}
	for n := range parts {
		out, err := client.UploadPart(t.Context(), &s3.UploadPartInput{Bucket: bucket, Key: key, UploadId: up.UploadId, PartNumber: aws.Int32(int32(n + 1)), Body: bytes.NewReader(part)})
		if err != nil {
			t.Fatal(err)
		}
		done.Parts = append(done.Parts, types.CompletedPart{ETag: out.ETag, PartNumber: aws.Int32(int32(n + 1)), ChecksumCRC32: out.ChecksumCRC32})
	}
	if _, err := client.CompleteMultipartUpload(t.Context(), &s3.CompleteMultipartUploadInput{Bucket: bucket, Key: key, UploadId: up.UploadId, MultipartUpload: done}); err != nil {
		t.Fatal(err)
	}
	out, err := client.GetObject(t.Context(), &s3.GetObjectInput{Bucket: bucket, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, out.Body)
	if want := int64(parts) * partSize; err != nil || n != want {
		t.Fatalf("read back %d bytes, want %d: %v", n, want, err)
	}
	peak := c.PeakMemory(t)
	t.Logf("%d MiB in parts: peak resident memory %d MiB", parts*partSize>>20, peak>>20)
	if peak > limit {
		t.Errorf("peak resident memory %d MiB, want at most %d MiB", peak>>20, limit>>20)
	}
}

// TestTLS trusts the CA that the command names, and looks for its file when the command has ended.
func TestTLS(t *testing.T) {
	t.Parallel()
	c := startChild(t, "--tls")
	ca, err := os.ReadFile(c.Env["AWS_CA_BUNDLE"])
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	config := c.config()
	config.HTTPClient = &http.Client{Transport: transport}
	if _, err := s3.NewFromConfig(config).ListBuckets(t.Context(), &s3.ListBucketsInput{}); err != nil {
		t.Errorf("list over TLS: %v", err)
	}
	if got := c.malformed(t, (&tls.Dialer{Config: transport.TLSClientConfig}).DialContext); !strings.Contains(got, "<Code>InvalidURI</Code>") {
		t.Errorf("a malformed path over TLS: %s", got)
	}
	if got := c.malformed(t, (&net.Dialer{}).DialContext); !strings.Contains(got, "Client sent an HTTP request to an HTTPS server.") {
		t.Errorf("a client that has left out TLS: %s", got)
	}
	c.Stop(t)
	if _, err := os.Stat(c.Env["AWS_CA_BUNDLE"]); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the temporary file of the CA is left behind: %v", err)
	}
}

// malformed sends a path that cannot be parsed, and returns the response as it is.
func (c child) malformed(t *testing.T, dial func(ctx context.Context, network, address string) (net.Conn, error)) string {
	t.Helper()
	_, address, _ := strings.Cut(c.Env["AWS_ENDPOINT_URL"], "://")
	conn, err := dial(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /docs/%zz HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestMalformedPath sends a path that cannot be parsed, which net/http would refuse in its own words.
func TestMalformedPath(t *testing.T) {
	t.Parallel()
	if got := startChild(t).malformed(t, (&net.Dialer{}).DialContext); !strings.Contains(got, "400 Bad Request") || !strings.Contains(got, "<Code>InvalidURI</Code>") {
		t.Errorf("the response is %s", got)
	}
}

func TestBadStartsSayWhatToDo(t *testing.T) {
	t.Parallel()
	fakecmdtest.BadStarts(t, s3fakecmd.Prepare, "PutObject", map[string]fakecmdtest.BadStart{
		"a root key without its secret": {Args: []string{"--root-access-key-id", "AKIA"}, Want: "must be set together"},
		"a root secret without its key": {Args: []string{"--root-secret-access-key", "x"}, Want: "must be set together"},
	})
}

func TestAdminIsOff(t *testing.T) {
	t.Parallel()
	fakecmdtest.AdminIsOff(t, startChild(t).Env["AWS_ENDPOINT_URL"])
}

func TestAdminEndpoint(t *testing.T) {
	t.Parallel()
	c := startChild(t, "--admin", "--root-access-key-id", "root", "--root-secret-access-key", "secret")
	admin := fakecmdtest.Admin{
		URL: c.Env["AWS_ENDPOINT_URL"], Wants: "root access key",
		Authenticate: func(r *http.Request) { r.SetBasicAuth("root", "secret") },
	}
	admin.TestAdmin(t, fakecmdtest.Create{Operation: "CreateBucket", Code: "SlowDown", Name: "first", Do: func() error {
		_, err := c.s3().CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("first")})
		return err
	}})
}
