// SPDX-License-Identifier: Apache-2.0

// Package commits_test kills the fake of S3 during the conditional writes with which third-party libraries commit.
package commits_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/spf13/pflag"

	"github.com/cooper-cosi/cooper/fakes/s3fake/s3fakecmd"
	"github.com/cooper-cosi/cooper/internal/freeport"
	"github.com/cooper-cosi/cooper/internal/testing/processtest"
)

func TestMain(m *testing.M) {
	processtest.ProgramMain(func() {
		flags := pflag.NewFlagSet("s3", pflag.ExitOnError)
		run := s3fakecmd.Prepare(flags)
		err := flags.Parse(os.Args[1:])
		if err == nil {
			err = run(context.Background(), os.Stdout, os.Stderr) //nolint:forbidigo // there is no test in this process
		}
		panic(err)
	})
	m.Run()
}

// bucket has versioning, so it keeps every commit.
const bucket = "commits"

// root is the access key ID and the secret of the root user.
const root = "commits-root"

// A store is the fake as a process with a data directory. Its address stays the same.
type store struct {
	t       *testing.T
	data    string
	address string
	process *processtest.Process
}

func newStore(t *testing.T) *store {
	t.Helper()
	s := &store{t: t, data: filepath.Join(t.TempDir(), "data"), address: freeport.ForTest(t).Address()}
	s.start()
	client := s.client(nil)
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String(bucket)}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.PutBucketVersioning(t.Context(), &s3.PutBucketVersioningInput{
		Bucket: aws.String(bucket), VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusEnabled},
	}); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *store) start() {
	s.t.Helper()
	s.process = processtest.StartProgram(s.t, nil, "--listen", s.address, "--data", s.data, "--admin", "--root-access-key-id", root, "--root-secret-access-key", root)
	s.process.Await("# ready")
}

// client returns a client that sends each request once, on its own connection. It calls before, if that is not nil, with
// its first commit.
func (s *store) client(before func(*http.Request) *http.Request) *s3.Client {
	var once sync.Once
	connections := &http.Transport{DisableKeepAlives: true} // a restart would break a connection that is kept
	send := roundTrip(func(r *http.Request) (*http.Response, error) {
		if before != nil && commits(r) {
			once.Do(func() { r = before(r) })
		}
		return connections.RoundTrip(r)
	})
	return s3.New(s3.Options{
		Region: "us-east-1", BaseEndpoint: aws.String("http://" + s.address), UsePathStyle: true, RetryMaxAttempts: 1, HTTPClient: &http.Client{Transport: send},
		Credentials: credentials.NewStaticCredentialsProvider(root, root, ""),
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// commits reports whether a request writes or deletes an object, rather than a part of an upload.
func commits(r *http.Request) bool {
	query := r.URL.Query()
	switch r.Method {
	case http.MethodPut:
		return !query.Has("partNumber")
	case http.MethodDelete:
		return !query.Has("uploadId")
	}
	return r.Method == http.MethodPost && query.Has("uploadId")
}

// A crash kills the fake during a commit.
type crash struct {
	// rule is the effect of a rule for faults during the commit.
	rule string
	// pending means that the fake is killed when it has received the request, rather than after the end of the connection.
	pending bool
	// torn means that the last record of the journal is incomplete.
	torn bool
	// durable means that the commit survives.
	durable bool
}

var crashes = map[string]crash{
	"a crash before the commit":                   {rule: "effect: drop, latency: 1h", pending: true},
	"a crash while the fake writes its journal":   {rule: "effect: dropAfter", torn: true},
	"a crash between the commit and its response": {rule: "effect: dropAfter", durable: true},
}

// interrupt calls commit with a client whose commit a crash interrupts, and starts the fake again.
func (s *store) interrupt(c crash, operation string, commit func(*s3.Client) error) {
	s.t.Helper()
	s.fault(fmt.Sprintf("rules: [{operation: %s, %s}]", operation, c.rule))
	trace, process := &httptrace.ClientTrace{}, s.process
	if c.pending {
		trace.WroteRequest = func(httptrace.WroteRequestInfo) { process.Kill() }
	}
	client := s.client(func(r *http.Request) *http.Request {
		return r.WithContext(httptrace.WithClientTrace(r.Context(), trace))
	})
	if err := commit(client); err == nil {
		s.t.Error("a client received a response to its commit in spite of the crash")
	}
	s.process.Kill()
	if c.torn {
		s.tear()
	}
	s.start()
}

// during calls commit, and calls meanwhile when commit is about to send the request that commits. It returns the result of
// commit.
func (s *store) during(commit func(*s3.Client) error, meanwhile func()) error {
	s.t.Helper()
	ready, resume, result := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	client := s.client(func(r *http.Request) *http.Request {
		close(ready)
		select {
		case <-resume:
		case <-r.Context().Done():
		}
		return r
	})
	go func() { result <- commit(client) }()
	select {
	case <-ready:
	case err := <-result:
		s.t.Fatalf("a client did not commit: %v", err)
	}
	meanwhile()
	close(resume)
	return <-result
}

// fault sets the fake's plan for faults.
func (s *store) fault(plan string) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodPut, "http://"+s.address+"/_cooper/faults", strings.NewReader(plan))
	if err != nil {
		s.t.Fatal(err)
	}
	request.SetBasicAuth(root, root)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusNoContent {
		s.t.Fatalf("set the plan for faults: %s, %v", response.Status, err)
	}
}

// tear removes the last byte of the journal.
func (s *store) tear() {
	s.t.Helper()
	journal := filepath.Join(s.data, "journal")
	info, err := os.Stat(journal)
	if err == nil {
		err = os.Truncate(journal, info.Size()-1)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// versions returns the versions of a key, oldest first, and the number of delete markers.
func (s *store) versions(key string) (ids []string, markers int) {
	s.t.Helper()
	pages := s3.NewListObjectVersionsPaginator(s.client(nil), &s3.ListObjectVersionsInput{Bucket: aws.String(bucket), Prefix: aws.String(key)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		for _, version := range page.Versions {
			ids = append([]string{*version.VersionId}, ids...)
		}
		markers += len(page.DeleteMarkers)
	}
	return ids, markers
}
