// SPDX-License-Identifier: Apache-2.0

package credstore_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/cooper-cosi/cooper/internal/credstore"
	"github.com/cooper-cosi/cooper/internal/testing/processtest"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity/store"
)

// serve serves a store that is not open yet and returns its address.
func serve(t *testing.T, log *slog.Logger) (*credstore.Server, string) {
	t.Helper()
	endpoint := "unix://" + filepath.Join(processtest.ShortTempDir(t), "credentials.sock")
	server, err := credstore.Serve(t.Context(), endpoint, log)
	must(t, err)
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return server, endpoint
}

func dial(t *testing.T, endpoint string) *credstore.Remote {
	t.Helper()
	client, err := credstore.Dial(endpoint)
	must(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// TestBlobs runs the conformance cases of credential stores.
func TestBlobs(t *testing.T) {
	t.Parallel()
	directory, err := credstore.OpenDirectory(t.TempDir())
	must(t, err)
	for name, test := range map[string]struct {
		blobs credstore.Blobs
		// except is a case that need not pass.
		except string
	}{
		"in memory":      {blobs: credstore.NewMemoryBlobs()},
		"in a directory": {blobs: directory, except: "CST-PUT-002"}, // its versions are checksums
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, endpoint := serve(t, slog.New(slog.DiscardHandler))
			server.Open(test.blobs)
			connection, err := grpc.NewClient(endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()))
			must(t, err)
			t.Cleanup(func() { _ = connection.Close() })
			results, err := store.Run(t.Context(), cosi.NewCredentialStoreClient(connection))
			must(t, err)
			for _, result := range results {
				if len(result.Problems) > 0 && result.Case.ID != test.except {
					t.Errorf("%s %s: %q", result.Case.ID, result.Case.Title, result.Problems)
				}
			}
		})
	}
}

func TestServerRefusesInvalidRequests(t *testing.T) {
	t.Parallel()
	server, endpoint := serve(t, slog.New(slog.DiscardHandler))
	server.Open(credstore.NewMemoryBlobs())
	client := dial(t, endpoint)
	for name, tc := range map[string]struct {
		call func(ctx context.Context) error
		want string
	}{
		"no name": {func(ctx context.Context) error { _, err := client.Get(ctx, ""); return err }, "name is required"},
		"a name that is too long": {func(ctx context.Context) error {
			return client.Delete(ctx, strings.Repeat("a", cosi.MaxIDLength+1))
		}, "name has 2049 bytes"},
		"no data": {func(ctx context.Context) error { _, err := client.Put(ctx, "ba-1", cosi.Secret{}, ""); return err }, "data is required"},
		"data that is too large": {func(ctx context.Context) error {
			_, err := client.Put(ctx, "ba-1", cosi.NewSecret(strings.Repeat("a", cosi.MaxEntrySize+1)), "")
			return err
		}, "data has 524289 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := tc.call(t.Context()); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want InvalidArgument with %q", err, tc.want)
			}
		})
	}
}

// failing is storage that returns err.
type failing struct {
	credstore.Blobs

	err error
}

func (f failing) Get(context.Context, string) (credstore.Blob, error) { return credstore.Blob{}, f.err }

func TestRemoteReturnsTheErrorsOfTheStore(t *testing.T) {
	t.Parallel()
	server, endpoint := serve(t, slog.New(slog.DiscardHandler))
	client := dial(t, endpoint)
	if _, err := client.ID(t.Context()); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "not available yet") {
		t.Errorf("before the store is open: %v", err)
	}
	for _, want := range []error{credstore.ErrNotFound, credstore.ErrConflict, credstore.ErrCorrupt, credstore.ErrStoreID} {
		server.Open(failing{err: want})
		if _, err := client.Get(t.Context(), "ba-1"); !errors.Is(err, want) {
			t.Errorf("Get = %v, want %v", err, want)
		}
	}
	server.Open(failing{err: errors.New("the API server is away")})
	if _, err := client.Get(t.Context(), "ba-1"); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "is away") {
		t.Errorf("Get = %v, want Unavailable", err)
	}
	absent := dial(t, "unix://"+filepath.Join(processtest.ShortTempDir(t), "credentials.sock"))
	if _, err := absent.ID(t.Context()); status.Code(err) != codes.Unavailable {
		t.Errorf("without a sidecar: %v", err)
	}
}

// TestServerLogsNoSecret searches the log at the highest verbosity.
func TestServerLogsNoSecret(t *testing.T) {
	t.Parallel()
	var log lines
	server, endpoint := serve(t, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	server.Open(credstore.NewMemoryBlobs())
	client := dial(t, endpoint)
	_, err := client.Put(t.Context(), "ba-1", cosi.NewSecret("hush"), "")
	must(t, err)
	_, err = client.Get(t.Context(), "ba-1")
	must(t, err)
	if text := log.String(); !strings.Contains(text, "PutEntry") || strings.Contains(text, "hush") || strings.Contains(text, "aHVzaA") {
		t.Errorf("want the calls without their secret:\n%s", text)
	}
}

// lines collects a log.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
