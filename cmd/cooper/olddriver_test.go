// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/minio/minio-go/v7"

	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/internal/testing/processtest"
)

// oldKills is how many points to kill a process at are tried.
const oldKills = 4

// TestADriverOfV1alpha1 claims, uses and deletes buckets with a driver that supports only v1alpha1, behind an
// adapter. All components are processes. The adapter or the sidecar is killed at each line that the driver
// prints about its calls, or at oldKills of them, while the driver continues.
func TestADriverOfV1alpha1(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "the tests of drivers/adapter kill it at each write and call of a fake of this generation")
	w := startOldWorld(t)
	w.up.kubectl(t, w.env, "apply", "-f", "testdata/olddriver/classes.yaml")
	before := w.inventory(t)
	makes, removes := w.round(t, "whole", 0, 0)
	if makes < 4 || removes < 4 {
		t.Fatalf("the driver printed %d lines while it made, and %d while it removed", makes, removes)
	}
	type point struct{ makes, removes int }
	var points []point
	for line := 1; line <= makes; line++ {
		points = append(points, point{makes: line})
	}
	for line := 1; line <= removes; line++ {
		points = append(points, point{removes: line})
	}
	for i, p := range fulltest.Spread(points, oldKills) {
		w.victim = []*oldProcess{w.adapter, w.sidecar}[i%2]
		t.Logf("killed at line %d of %d while the driver makes, or at %d of %d while it removes", p.makes, makes, p.removes, removes)
		w.round(t, fmt.Sprint("killed-", i), p.makes, p.removes)
		if left := w.inventory(t); left != before {
			t.Fatalf("the store has new entries:\n%s\nbefore:\n%s", left, before)
		}
	}
}

// An oldWorld is a running `cooper up`, and a sidecar and an adapter with a JavaScript driver for its store.
type oldWorld struct {
	up               *upProcess
	env              map[string]string // of a user
	root             map[string]string // of the store's administrator
	driver           *printer
	adapter, sidecar *oldProcess
	// victim is the process that is killed.
	victim *oldProcess
}

// An oldProcess is a process that is started again after it was killed.
type oldProcess struct {
	t         *testing.T
	program   string
	env       map[string]string
	log       io.Writer
	arguments []string
	command   *exec.Cmd
}

// start starts the process.
func (p *oldProcess) start() {
	p.t.Helper()
	p.command = exec.Command(p.program, p.arguments...)
	p.command.Env = shellEnvironment(p.env)
	p.command.Stdout, p.command.Stderr = p.log, p.log
	processtest.BindToTest(p.command)
	if err := p.command.Start(); err != nil {
		p.t.Fatal(err)
	}
}

// kill kills the process with SIGKILL.
func (p *oldProcess) kill() {
	_ = p.command.Process.Kill() // it may have exited already
	_ = p.command.Wait()         // always an error after a kill
}

func startOldWorld(t *testing.T) *oldWorld {
	t.Helper()
	packages, err := exec.CommandContext(t.Context(), "bash", "../../hack/npm.sh", "grpc").Output()
	if err != nil {
		t.Skipf("no gRPC for Node: %v %s", err, stderrOf(err))
	}
	programs := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", programs, "../cosi-sidecar", "../cosi-driver-adapter")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build cosi-sidecar and cosi-driver-adapter: %v\n%s", err, out)
	}
	up := startUp(t)
	w := &oldWorld{up: up, env: up.environment(t), root: up.environment(t, "--store-administrator")}
	sockets := processtest.ShortTempDir(t)
	endpoint, adapted := "unix://"+filepath.Join(sockets, "old.sock"), "unix://"+filepath.Join(sockets, "new.sock")

	driver := exec.Command("node", "../../testenv/olddriver/driver.js")
	driver.Env = append(shellEnvironment(w.root), "COSI_ENDPOINT="+endpoint, "NODE_PATH="+strings.TrimSpace(string(packages)))
	w.driver = startPrinter(t, driver)
	w.driver.await(t, 1) // the line that reports that it serves

	log := &sharedLog{}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the driver:\n%s\nadapters and sidecars:\n%s", w.driver.text(), log)
		}
	})
	w.adapter = &oldProcess{t: t, program: filepath.Join(programs, "cosi-driver-adapter"), log: log, arguments: []string{
		"--driver-address", endpoint, "--endpoint", adapted, "--credential-store", "directory:" + t.TempDir(),
	}}
	w.sidecar = &oldProcess{t: t, program: filepath.Join(programs, "cosi-sidecar"), env: w.env, log: log, arguments: []string{
		"--driver-address", adapted, "--leader-elect=false", "--metrics-address=", "--health-address=",
	}}
	for _, process := range []*oldProcess{w.adapter, w.sidecar} {
		process.start()
		t.Cleanup(process.kill)
	}
	return w
}

// A sharedLog receives the output of several processes.
type sharedLog struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (l *sharedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns the output so far.
func (l *sharedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// killAt kills the victim once the driver has printed more lines, and starts it again. If more is 0, it
// does nothing.
func (w *oldWorld) killAt(t *testing.T, printed, more int) {
	t.Helper()
	if more == 0 {
		return
	}
	w.driver.await(t, printed+more)
	w.victim.kill()
	w.victim.start()
}

// round claims a bucket with an access, stores an object, and deletes everything. The victim is killed once
// the driver has printed the given number of lines in each half. round returns the number of lines in each
// half.
func (w *oldWorld) round(t *testing.T, name string, killMaking, killRemoving int) (makes, removes int) {
	t.Helper()
	manifest, err := os.ReadFile("testdata/olddriver/user.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "user.yaml")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(manifest), "NAME", name)), 0o600); err != nil {
		t.Fatal(err)
	}
	kubectl := func(args ...string) string {
		return w.up.kubectl(t, w.env, append([]string{"-n", "default"}, args...)...)
	}
	claim, access := "bucketclaim/"+name, "bucketaccess/"+name

	printed := w.driver.printed()
	kubectl("apply", "-f", file)
	w.killAt(t, printed, killMaking)
	kubectl("wait", "--for=condition=Provisioned", "--timeout=3m", claim, access)
	makes = w.driver.printed() - printed

	bucket := kubectl("get", claim, "-o", "jsonpath={.status.boundBucketName}")
	given := w.up.environment(t, "--namespace", "default", "--secret", name)
	if given["BUCKET_NAME"] != bucket {
		t.Errorf("BUCKET_NAME is %q, and v1alpha1 was asked for %q", given["BUCKET_NAME"], bucket)
	}
	client := minioClient(t, given)
	if _, err := client.PutObject(t.Context(), bucket, "hello.txt", strings.NewReader("hello"), 5, minio.PutObjectOptions{}); err != nil {
		t.Fatalf("put: %v", err)
	}
	object, err := client.GetObject(t.Context(), bucket, "hello.txt", minio.GetObjectOptions{})
	if err != nil {
		t.Fatalf("get: %v", err)
	}
	if got, err := io.ReadAll(object); err != nil || string(got) != "hello" {
		t.Errorf("get: want the stored object, got %q, %v", got, err)
	}
	if err := client.RemoveObject(t.Context(), bucket, "hello.txt", minio.RemoveObjectOptions{}); err != nil {
		t.Fatalf("remove: %v", err)
	}

	printed = w.driver.printed()
	kubectl("delete", "--wait=false", access, claim)
	w.killAt(t, printed, killRemoving)
	kubectl("wait", "--for=delete", "--timeout=3m", access, claim, "secret/"+name)
	kubectl("wait", "--for=delete", "--timeout=3m", "buckets.objectstorage.k8s.io/"+bucket)
	if code := codeOf(listError(t, given)); code != "InvalidAccessKeyId" {
		t.Errorf("the credential after its access was deleted: want InvalidAccessKeyId, got %q", code)
	}
	return makes, w.driver.printed() - printed
}

// inventory lists the buckets and users in the store.
func (w *oldWorld) inventory(t *testing.T) string {
	t.Helper()
	buckets, err := minioClient(t, w.root).ListBuckets(t.Context())
	if err != nil {
		t.Fatalf("list buckets: %v", err)
	}
	var names []string
	for _, bucket := range buckets {
		names = append(names, "bucket "+bucket.Name)
	}
	users, err := iam.New(iam.Options{
		BaseEndpoint: aws.String(w.root["AWS_ENDPOINT_URL"]), Region: w.root["AWS_DEFAULT_REGION"],
		Credentials: credentials.NewStaticCredentialsProvider(w.root["AWS_ACCESS_KEY_ID"], w.root["AWS_SECRET_ACCESS_KEY"], ""),
	}).ListUsers(t.Context(), &iam.ListUsersInput{})
	if err != nil {
		t.Fatalf("list users: %v", err)
	}
	for _, user := range users.Users {
		names = append(names, "user "+*user.UserName)
	}
	return strings.Join(names, "\n")
}

// A printer is a process that counts the lines of its output.
type printer struct {
	mu    sync.Mutex
	more  *sync.Cond
	lines []string
	ended bool
}

// startPrinter starts a process that is stopped at the end of the test.
func startPrinter(t *testing.T, command *exec.Cmd) *printer {
	t.Helper()
	p := &printer{}
	p.more = sync.NewCond(&p.mu)
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	command.Stderr = command.Stdout
	processtest.BindToTest(command)
	if err := command.Start(); err != nil {
		t.Skipf("%s cannot be started: %v", command.Path, err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill() // it may have exited already
		_ = command.Wait()         // always an error after a kill
	})
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.add(lines.Text(), false)
		}
		p.add("it ended", true)
	}()
	return p
}

func (p *printer) add(line string, ended bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines, p.ended = append(p.lines, line), ended
	p.more.Broadcast()
}

func (p *printer) printed() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.lines)
}

func (p *printer) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.lines, "\n")
}

// await waits until the given number of lines is printed.
func (p *printer) await(t *testing.T, lines int) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.lines) < lines {
		if p.ended {
			t.Fatalf("the driver ended:\n%s", strings.Join(p.lines, "\n"))
		}
		p.more.Wait()
	}
}
