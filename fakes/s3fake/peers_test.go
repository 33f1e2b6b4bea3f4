// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/cooper-cosi/cooper/internal/freeport"
	"github.com/cooper-cosi/cooper/internal/testing/processtest"
	"github.com/cooper-cosi/cooper/testenv/stores"
)

// peer is a real store that the behavioural table is tried on.
type peer struct {
	name, url string
	root      aws.Credentials
	// credential makes credentials that a policy, "" for none, is all that they have.
	credential func(t *testing.T, policy string) (aws.Credentials, error)
	// iam is where the peer serves the Query protocol of IAM, "" if nowhere.
	iam    string
	worlds atomic.Int64
	// last is the last world of IAM.
	last *peerWorld
}

// peers starts the real stores that are there.
func peers(t *testing.T) []*peer {
	t.Helper()
	var out []*peer
	if path, err := stores.MinIO().Find(); err == nil {
		out = append(out, minioPeer(t, path))
	}
	if path, err := stores.VersityGW().Find(); err == nil {
		out = append(out, versityPeer(t, path))
	}
	return out
}

const (
	peerKey    = "rootaccesskey"
	peerSecret = "root-secret-key"
)

func minioPeer(t *testing.T, path string) *peer {
	t.Helper()
	address := freeport.ForTest(t).Address()
	startPeer(t, path, []string{"MINIO_ROOT_USER=" + peerKey, "MINIO_ROOT_PASSWORD=" + peerSecret, "MINIO_UPDATE=off", "MINIO_BROWSER=off"},
		"server", "--quiet", "--address", address, "--certs-dir", t.TempDir(), t.TempDir())
	p := &peer{name: "MinIO", url: "http://" + address, root: aws.Credentials{AccessKeyID: peerKey, SecretAccessKey: peerSecret}}
	await(t, p.url+"/minio/health/cluster")
	// Credentials of a session have the root user's permissions, limited by the session's policy.
	p.credential = func(t *testing.T, policy string) (aws.Credentials, error) {
		t.Helper()
		if policy == "" {
			policy = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:GetObject","Resource":"arn:aws:s3:::no-such-bucket/*"}]}`
		}
		got := p.send(t, p.root, query("AssumeRole", "Version=2011-06-15", "Policy="+policy, "DurationSeconds=3600"))
		c := aws.Credentials{AccessKeyID: element(got, "AccessKeyId"), SecretAccessKey: element(got, "SecretAccessKey"), SessionToken: element(got, "SessionToken")}
		if got.Code != http.StatusOK {
			return c, fmt.Errorf("%d %s", got.Code, got.Body.String())
		}
		return c, nil
	}
	return p
}

func versityPeer(t *testing.T, path string) *peer {
	t.Helper()
	dir := processtest.ShortTempDir(t)
	for _, sub := range []string{"data", "versions", "iam"} {
		wantNoError(t, os.Mkdir(filepath.Join(dir, sub), 0o700))
	}
	socket, iamAddress, address := filepath.Join(dir, "iam.sock"), freeport.ForTest(t).Address(), freeport.ForTest(t).Address()
	root := []string{"-a", peerKey, "-s", peerSecret, "--keep-alive"}
	startPeer(t, path, nil, slices.Concat([]string{"-p", iamAddress}, root, []string{"iam", "--quiet", "--dir", filepath.Join(dir, "iam"), "--private-ports", socket})...)
	await(t, "http://"+iamAddress)
	startPeer(t, path, nil, slices.Concat([]string{"-p", address}, root, []string{
		"--quiet", "--iam-cache-disable", "--iam-standalone-endpoint", socket, "posix", "--versioning-dir", filepath.Join(dir, "versions"), filepath.Join(dir, "data"),
	})...)
	p := &peer{name: "versitygw", url: "http://" + address, iam: "http://" + iamAddress, root: aws.Credentials{AccessKeyID: peerKey, SecretAccessKey: peerSecret}}
	await(t, p.url)
	var users atomic.Int64
	p.credential = func(t *testing.T, policy string) (aws.Credentials, error) {
		t.Helper()
		user := fmt.Sprintf("user-%d", users.Add(1))
		steps := []operation{query("CreateUser", "Version=2010-05-08", "UserName="+user)}
		if policy != "" {
			steps = append(steps, query("PutUserPolicy", "Version=2010-05-08", "UserName="+user, "PolicyName=p", "PolicyDocument="+policy))
		}
		steps = append(steps, query("CreateAccessKey", "Version=2010-05-08", "UserName="+user))
		var got *httptest.ResponseRecorder
		for _, step := range steps {
			if got = p.send(t, p.root, step); got.Code != http.StatusOK {
				return aws.Credentials{}, fmt.Errorf("%d %s", got.Code, got.Body.String())
			}
		}
		return aws.Credentials{AccessKeyID: element(got, "AccessKeyId"), SecretAccessKey: element(got, "SecretAccessKey")}, nil
	}
	return p
}

func element(got *httptest.ResponseRecorder, name string) string {
	_, rest, _ := strings.Cut(got.Body.String(), "<"+name+">")
	value, _, _ := strings.Cut(rest, "</")
	return value
}

// send signs a request, sends it and returns the response.
func (p *peer) send(t *testing.T, c aws.Credentials, op operation) *httptest.ResponseRecorder {
	t.Helper()
	base := p.url
	if op.isQuery() && p.iam != "" {
		base = p.iam
	}
	req := signedRequest(t, base, c, op)
	req.RequestURI = ""
	if op.body == "" {
		req.Body = http.NoBody // and not a body of unknown length
	}
	rec := httptest.NewRecorder()
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatalf("%s %s: %v", p.name, op.path, err)
	}
	rec.Code = resp.StatusCode
	maps.Copy(rec.Header(), resp.Header)
	if _, err := io.Copy(rec.Body, resp.Body); err != nil {
		t.Fatal(err)
	}
	wantNoError(t, resp.Body.Close())
	return rec
}

// peerWorld are a peer's buckets for one row, or for all rows that change nothing.
type peerWorld struct {
	peer   *peer
	memory world
	names  *strings.Replacer
	// missing are objects that the peer could not make.
	missing []string
}

// isQuery reports whether the operation is one of IAM or STS.
func (op operation) isQuery() bool { return op.path == "/" && op.method == http.MethodPost }

// world creates separate buckets on the peer or, for operations of IAM, users and roles, together with the resources
// that the table's operations need.
func (p *peer) world(t *testing.T, iam bool) *peerWorld {
	t.Helper()
	suffix := fmt.Sprintf("-%d", p.worlds.Add(1))
	pairs := []string{"/docs", "/docs" + suffix, " docs/", " docs" + suffix + "/", ":docs", ":docs" + suffix, "/empty", "/empty" + suffix, "/fresh", "/fresh" + suffix}
	if iam {
		pairs = nil
		for _, name := range []string{"UserName=target", "UserName=spare", "UserName=full", "UserName=new", "RoleName=role", "RoleName=spare", "RoleName=new", "role%2Frole"} {
			pairs = append(pairs, name, name+suffix)
		}
		for _, host := range []string{"issuer", "other"} {
			pairs = append(pairs, host+".example.com", host+suffix+".example.com")
		}
	}
	w := &peerWorld{peer: p, memory: world{known: map[string]string{}}, names: strings.NewReplacer(pairs...)}
	if iam {
		p.forget(t, w)
	}
	for _, step := range setup() {
		if step.isQuery() != iam {
			continue
		}
		// The rows that need a feature that the peer lacks will fail.
		if got := p.send(t, p.root, w.here(step)); got.Code < http.StatusMultipleChoices {
			w.memory.learn(step, got)
		} else if name, _, _ := strings.Cut(strings.TrimPrefix(step.path, "/"), "?"); strings.Contains(name, "/") {
			w.missing = append(w.missing, name)
		}
	}
	return w
}

// forget deletes the identity providers of the last world: an account has 100 at most.
func (p *peer) forget(t *testing.T, w *peerWorld) {
	t.Helper()
	if last := p.last; last != nil {
		for _, arn := range []string{provider, strings.Replace(provider, "issuer", "other", 1)} {
			p.send(t, p.root, last.here(query("DeleteOpenIDConnectProvider", "OpenIDConnectProviderArn="+arn)))
		}
	}
	p.last = w
}

// lacks reports whether the peer could not make the object that the operation is about.
func (w *peerWorld) lacks(op operation) bool {
	return slices.ContainsFunc(w.missing, func(name string) bool { return strings.Contains(op.path+" "+op.headers, name) })
}

// here is an operation on this world's buckets.
func (w *peerWorld) here(op operation) operation {
	if version := map[bool]string{true: "2011-06-15", false: "2010-05-08"}[strings.HasPrefix(op.actions, "sts:") || op.actions == ""]; op.isQuery() && !strings.Contains(op.body, "&Version=") {
		op.body += "&Version=" + version
	}
	op.path, op.headers, op.body = w.names.Replace(w.memory.fill(op.path)), w.names.Replace(w.memory.fill(op.headers)), w.names.Replace(w.memory.fill(op.body))
	return op
}

// startPeer runs a program until the test ends.
func startPeer(t *testing.T, path string, env []string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), path, args...)
	cmd.Env = append(os.Environ(), env...)
	wantNoError(t, cmd.Start())
	t.Cleanup(func() {
		if err := cmd.Process.Kill(); err != nil {
			t.Errorf("end %s: %v", path, err)
		}
		_ = cmd.Wait() // killed: always an error
	})
}

// await asks until something responds.
func await(t *testing.T, address string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	at, err := url.Parse(address)
	wantNoError(t, err)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		resp, err := http.DefaultTransport.RoundTrip((&http.Request{Method: http.MethodGet, URL: at, Header: http.Header{}}).WithContext(ctx))
		if err == nil {
			err = resp.Body.Close()
		}
		if err == nil && resp.StatusCode < http.StatusInternalServerError {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s does not respond: %v", address, err)
		case <-tick.C:
		}
	}
}
