// SPDX-License-Identifier: Apache-2.0

package s3fakecmd_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/spf13/pflag"

	"github.com/cooper-cosi/cooper/fakes/s3fake/s3fakecmd"
)

// childMark makes the test binary be the command instead of running tests.
const childMark = "S3FAKECMD_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childMark) == "" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt) //nolint:forbidigo // this is a main, not a test
	err := command(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func command(ctx context.Context, args []string, stdout io.Writer) error {
	flags := pflag.NewFlagSet("fakes s3", pflag.ContinueOnError)
	run := s3fakecmd.Prepare(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	return run(ctx, stdout, io.Discard)
}

// child is the command in a process of its own.
type child struct {
	cmd *exec.Cmd
	env map[string]string
}

func startChild(t *testing.T, args ...string) *child {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], append([]string{"--listen", "127.0.0.1:0"}, args...)...)
	cmd.Env = append(os.Environ(), childMark+"=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{cmd: cmd, env: map[string]string{}}
	t.Cleanup(c.kill)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "# ready") {
			return c
		}
		name, value, _ := strings.Cut(strings.TrimPrefix(lines.Text(), "export "), "=")
		c.env[name] = value
	}
	t.Fatal("the command ended before it was ready")
	return nil
}

// kill ends the process without giving it a chance; a second call does nothing.
func (c *child) kill() {
	_ = c.cmd.Process.Signal(syscall.SIGKILL) // it may be gone already
	_ = c.cmd.Wait()                          // killed: always an error
}

func (c *child) config() aws.Config {
	return aws.Config{
		Region: c.env["AWS_REGION"], BaseEndpoint: aws.String(c.env["AWS_ENDPOINT_URL"]), RetryMaxAttempts: 1, HTTPClient: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32}},
		Credentials: credentials.NewStaticCredentialsProvider(c.env["AWS_ACCESS_KEY_ID"], c.env["AWS_SECRET_ACCESS_KEY"], ""),
	}
}

func (c *child) s3() *s3.Client {
	return s3.NewFromConfig(c.config(), func(o *s3.Options) { o.UsePathStyle = true })
}

// TestNothingAcknowledgedIsLost kills the process under load, again and again, and looks for everything that it had
// acknowledged.
func TestNothingAcknowledgedIsLost(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	ledger := &ledger{objects: map[string]int{}}
	for round := range 3 {
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

// ledger is what the process has acknowledged.
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
func (l *ledger) load(t *testing.T, c *child, round, enough int) {
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
				if _, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("load"), Key: &key, Body: bytes.NewReader(content(key, size))}); err != nil {
					return
				}
				l.mu.Lock()
				l.objects[key] = size
				l.mu.Unlock()
				if l.size() >= target {
					_ = c.cmd.Process.Signal(syscall.SIGKILL) // another worker may have been faster
				}
			}
		})
	}
	wg.Wait()
	c.kill()
}

func content(key string, size int) []byte {
	return bytes.Repeat([]byte(key+"\n"), size/(len(key)+1)+1)[:size]
}

func (l *ledger) check(t *testing.T, c *child) {
	t.Helper()
	client, accounts := c.s3(), iam.NewFromConfig(c.config())
	for key, size := range l.objects {
		out, err := client.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String("load"), Key: &key})
		if err != nil {
			t.Fatalf("acknowledged object %s is lost: %v", key, err)
		}
		got, err := io.ReadAll(out.Body)
		if err != nil || !bytes.Equal(got, content(key, size)) {
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
func TestMemoryStaysBounded(t *testing.T) { //nolint:paralleltest // it moves 1 GiB, beside which nothing else is worth running
	if testing.Short() {
		t.Skip("-short: moves 1 GiB")
	}
	parts := 64
	if os.Getenv("COOPER_SOAK") != "" {
		parts = 320
	}
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
	peak := peakMemory(t, c.cmd.Process.Pid)
	t.Logf("%d MiB in parts: peak resident memory %d MiB", parts*partSize>>20, peak>>20)
	if peak > limit {
		t.Errorf("peak resident memory %d MiB, want at most %d MiB", peak>>20, limit>>20)
	}
}

func peakMemory(t *testing.T, pid int) int64 {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		t.Skipf("no peak memory on this system: %v", err)
	}
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kb << 10
		}
	}
	t.Fatal("no VmHWM in the process's status")
	return 0
}

func TestBadStartsSayWhatToDo(t *testing.T) {
	t.Parallel()
	busy, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := busy.Close(); err != nil {
			t.Error(err)
		}
	})
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "letters.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	inUse := filepath.Join(t.TempDir(), "data")
	startChild(t, "--data", inUse)
	plan := filepath.Join(t.TempDir(), "plan.yaml")
	if err := os.WriteFile(plan, []byte("rules: [{operation: PutObject, effect: explode}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		args []string
		want string
	}{
		"a busy port":                     {[]string{"--listen", busy.Addr().String()}, "the port is in use by another process; stop it, or choose another port"},
		"a directory with something else": {[]string{"--listen", "127.0.0.1:0", "--data", foreign}, "was not made by this program (it holds letters.txt); choose an empty or a new directory"},
		"a directory that is in use":      {[]string{"--listen", "127.0.0.1:0", "--data", inUse}, "is in use by another process"},
		"a plan with an unknown effect":   {[]string{"--listen", "127.0.0.1:0", "--faults", plan}, `effect "explode" is not one of fail`},
		"a plan that is not there":        {[]string{"--listen", "127.0.0.1:0", "--faults", "/nowhere.yaml"}, "read the fault plan"},
		"a root key without its secret":   {[]string{"--listen", "127.0.0.1:0", "--root-access-key-id", "AKIA"}, "set RootSecretAccessKey as well"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := command(t.Context(), tc.args, io.Discard)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestAdminEndpoint(t *testing.T) {
	t.Parallel()
	c := startChild(t, "--root-access-key-id", "root", "--root-secret-access-key", "secret")
	call := func(method, path, user, body string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, c.env["AWS_ENDPOINT_URL"]+"/_cooper/"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if user != "" {
			req.SetBasicAuth(user, "secret")
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(resp.Body)
		if err = errors.Join(err, resp.Body.Close()); err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(raw)
	}
	expect := func(method, path, user, body string, status int, want string) {
		t.Helper()
		got, text := call(method, path, user, body)
		if got != status || !strings.Contains(text, want) {
			t.Errorf("%s %s: got %d %q, want %d with %q", method, path, got, text, status, want)
		}
	}
	expect("GET", "health", "", "", 200, "ok")
	expect("GET", "inventory", "", "", 401, "root access key")
	expect("GET", "inventory", "somebody", "", 401, "root access key")
	expect("PUT", "faults", "root", "rules: [{operation: CreateBucket, code: SlowDown, times: 1}]", 204, "")
	expect("PUT", "faults", "root", "rules: [{operation: CreateBucket, effect: fail}]", 400, "needs a code")
	_, err := c.s3().CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("first")})
	if err == nil || !strings.Contains(err.Error(), "SlowDown") {
		t.Errorf("the fault did not hit: %v", err)
	}
	if _, err := c.s3().CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("first")}); err != nil {
		t.Error(err)
	}
	expect("GET", "inventory", "root", "", 200, `"name": "first"`)
	expect("GET", "calls", "root", "", 200, `"code": "SlowDown"`)
	expect("DELETE", "faults", "root", "", 204, "")
	expect("GET", "faults", "root", "", 200, `"rules": []`)
}
