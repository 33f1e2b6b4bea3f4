// SPDX-License-Identifier: Apache-2.0

package credentialstore_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cooper-cosi/cooper/internal/credstore"
	"github.com/cooper-cosi/cooper/internal/credstore/kube"
	"github.com/cooper-cosi/cooper/internal/testing/credstoretest"
	"github.com/cooper-cosi/cooper/internal/testing/processtest"
	"github.com/cooper-cosi/cooper/internal/unixsocket"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity/store"
	"github.com/cooper-cosi/cooper/sidecar/internal/credentialstore"
	"github.com/cooper-cosi/cooper/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

func newSecrets(t *testing.T) kube.Secrets {
	t.Helper()
	env := testenv.Start(t, testenv.Options{})
	secrets, err := kube.SecretsIn(env.Config(), env.Namespace())
	if err != nil {
		t.Fatal(err)
	}
	return secrets
}

// listen serves a store that is not open yet and returns its address.
func listen(t *testing.T, log logr.Logger) (*credentialstore.Server, string) {
	t.Helper()
	endpoint := "unix://" + filepath.Join(processtest.ShortTempDir(t), "credentials.sock")
	listener, err := unixsocket.Listen(t.Context(), endpoint, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	server, service := credentialstore.Register(log)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return service, endpoint
}

// serve is listen with a client of the store.
func serve(t *testing.T, log logr.Logger) (*credentialstore.Server, *credstore.RemoteBlobs) {
	t.Helper()
	service, endpoint := listen(t, log)
	client, err := credstore.NewRemoteBlobs(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return service, client
}

// serveDriver serves the store of a driver.
func serveDriver(t *testing.T, secrets kube.Secrets, driver string, log logr.Logger) *credstore.RemoteBlobs {
	t.Helper()
	service, client := serve(t, log)
	service.OpenBy(func(ctx context.Context) (credstore.Blobs, error) { return kube.OpenBlobs(ctx, secrets, driver) })
	return client
}

// named stores the driver of a store, for the next process.
type named struct {
	credstore.Store

	driver string
}

func TestServed(t *testing.T) {
	t.Parallel()
	secrets := newSecrets(t)
	var count atomic.Int32
	credstoretest.Run(t, credstoretest.Target{
		New: func(t *testing.T) credstore.Store {
			t.Helper()
			driver := fmt.Sprintf("s%d.example.com", count.Add(1))
			return named{credstore.OnBlobs(serveDriver(t, secrets, driver, logr.Discard())), driver}
		},
		// A driver with its own permissions finds the entries that the sidecar stored, and vice versa.
		Reopen: func(t *testing.T, store credstore.Store) credstore.Store {
			t.Helper()
			direct, err := kube.Open(t.Context(), secrets, store.(named).driver)
			if err != nil {
				t.Fatal(err)
			}
			return direct
		},
	})
}

// TestSanity runs the conformance test of credential stores.
func TestSanity(t *testing.T) {
	t.Parallel()
	secrets := newSecrets(t)
	service, endpoint := listen(t, logr.Discard())
	service.OpenBy(func(ctx context.Context) (credstore.Blobs, error) {
		return kube.OpenBlobs(ctx, secrets, "s3.example.com")
	})
	connection, err := grpc.NewClient(endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	results, err := store.Run(t.Context(), cosi.NewCredentialStoreClient(connection))
	if err != nil {
		t.Fatal(err)
	}
	for _, result := range results {
		if len(result.Problems) > 0 {
			t.Errorf("%s %s: %q", result.Case.ID, result.Case.Title, result.Problems)
		}
	}
	if left, err := secrets.List(t.Context(), metav1.ListOptions{}); err != nil || len(left.Items) > 1 { // the Secret with the store's ID
		t.Errorf("the cases left %d Secrets, %v", len(left.Items), err)
	}
}

// TestNoOtherSecretIsReached tries to reach Secrets in the namespace that are not the driver's, with all kinds of
// entry names.
func TestNoOtherSecretIsReached(t *testing.T) {
	t.Parallel()
	secrets := newSecrets(t)
	neighbour := serveDriver(t, secrets, "neighbour.example.com", logr.Discard())
	if _, err := neighbour.Put(t.Context(), "ba-1", cosi.NewSecret("neighbour's"), ""); err != nil {
		t.Fatal(err)
	}
	if _, err := secrets.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "photos"}, Data: map[string][]byte{"entry": []byte("a user's"), "id": []byte("a user's")},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	client := serveDriver(t, secrets, "hostile.example.com", logr.Discard())
	if _, err := client.ID(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := contents(t, secrets)
	for _, target := range before {
		for _, name := range tricks(target.name) {
			if got, err := client.Get(t.Context(), name); !errors.Is(err, credstore.ErrNotFound) {
				t.Errorf("Get %q = %+v, %v; want ErrNotFound", name, got, err)
			}
			// Update requires the version of the other Secret, Create requires none.
			if _, err := client.Put(t.Context(), name, cosi.NewSecret("hostile"), target.version); !errors.Is(err, credstore.ErrConflict) {
				t.Errorf("Put %q on the version of %s: %v, want ErrConflict", name, target.name, err)
			}
			if err := client.Delete(t.Context(), name); err != nil {
				t.Errorf("Delete %q: %v", name, err)
			}
			if _, err := client.Put(t.Context(), name, cosi.NewSecret("hostile"), ""); err != nil {
				t.Errorf("Put %q: %v", name, err)
			}
			if err := client.Delete(t.Context(), name); err != nil {
				t.Errorf("Delete %q: %v", name, err)
			}
		}
	}
	if diff := cmp.Diff(before, contents(t, secrets), cmp.AllowUnexported(content{})); diff != "" {
		t.Errorf("objects of other owners were changed (-before +after):\n%s", diff)
	}
}

// content is a Secret that must not change.
type content struct {
	name, version string
	data          map[string][]byte
}

func contents(t *testing.T, secrets kube.Secrets) []content {
	t.Helper()
	list, err := secrets.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var all []content
	for _, s := range list.Items {
		all = append(all, content{s.Name, s.ResourceVersion, s.Data})
	}
	return all
}

// tricks returns names of entries that might lead to a Secret.
func tricks(secret string) []string {
	const prefix = "cosi-credential-"
	return []string{
		secret, "/" + secret, "../" + secret, "../secrets/" + secret, "../../default/secrets/" + secret, "./" + secret,
		secret + "/", secret + "?", secret + "#", secret + "%2e%2e", secret + "\x00", "\n" + secret, "ba-1\x00", "\nba-1", "ba-1/../ba-1",
		strings.TrimPrefix(secret, prefix), "store-" + strings.TrimPrefix(secret, prefix),
		"neighbour.example.com", "neighbour.example.com\nba-1", "\nneighbour.example.com\nba-1", "../neighbour.example.com/ba-1",
		"hostile.example.com", "hostile.example.com\nba-1", "store", "id",
	}
}

// TestSecretThatTheStoreDidNotMake creates a foreign Secret under the name of an entry.
func TestSecretThatTheStoreDidNotMake(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*corev1.Secret){
		"of another store": func(s *corev1.Secret) {
			s.Labels = map[string]string{"cooper.dev/credential-store": "other.example.com"}
		},
		"of no store":      func(s *corev1.Secret) { s.Labels = nil },
		"without an entry": func(s *corev1.Secret) { s.Data = map[string][]byte{"password": []byte("a user's")} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			secrets := newSecrets(t)
			client := serveDriver(t, secrets, "s3.example.com", logr.Discard())
			if _, err := client.Put(t.Context(), "ba-1", cosi.NewSecret("mine"), ""); err != nil {
				t.Fatal(err)
			}
			blob, err := client.Get(t.Context(), "ba-1")
			if err != nil {
				t.Fatal(err)
			}
			secret, err := secrets.Get(t.Context(), strings.TrimPrefix(blob.Place, "secret "), metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			change(secret)
			if _, err := secrets.Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			if got, err := client.Get(t.Context(), "ba-1"); !errors.Is(err, credstore.ErrCorrupt) || !got.Data.IsZero() {
				t.Errorf("Get = %+v, %v; want ErrCorrupt", got, err)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	client := serveDriver(t, newSecrets(t), "s3.example.com", logr.Discard())
	long := strings.Repeat("a", cosi.MaxIDLength+1)
	for name, tc := range map[string]struct {
		call func(ctx context.Context) error
		want string
	}{
		"no name":                 {func(ctx context.Context) error { _, err := client.Get(ctx, ""); return err }, "name is required"},
		"a name that is too long": {func(ctx context.Context) error { return client.Delete(ctx, long) }, "name has 2049 bytes"},
		"no data":                 {func(ctx context.Context) error { _, err := client.Put(ctx, "ba-1", cosi.Secret{}, ""); return err }, "data is required"},
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
	largest := cosi.NewSecret(strings.Repeat("a", cosi.MaxEntrySize))
	if _, err := client.Put(t.Context(), "largest", largest, ""); err != nil {
		t.Errorf("an entry of the largest size: %v", err)
	}
}

// TestStoreThatDoesNotExistYet calls a store before it is open, and while opening it fails.
func TestStoreThatDoesNotExistYet(t *testing.T) {
	t.Parallel()
	secrets := newSecrets(t)
	service, client := serve(t, logr.Discard())
	if _, err := client.ID(t.Context()); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "not available yet") {
		t.Errorf("before it is open: %v", err)
	}
	broken := true
	service.OpenBy(func(ctx context.Context) (credstore.Blobs, error) {
		if broken {
			return nil, errors.New("the API server is away")
		}
		return kube.OpenBlobs(ctx, secrets, "s3.example.com")
	})
	if _, err := client.ID(t.Context()); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "is away") {
		t.Errorf("while it cannot be opened: %v", err)
	}
	broken = false
	if _, err := client.ID(t.Context()); err != nil {
		t.Errorf("when it can: %v", err)
	}
	absent, err := credstore.NewRemoteBlobs("unix://" + filepath.Join(processtest.ShortTempDir(t), "credentials.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = absent.Close() }()
	if _, err := absent.ID(t.Context()); status.Code(err) != codes.Unavailable {
		t.Errorf("without a sidecar: %v", err)
	}
}

// TestLogHasNoSecret searches the log at the highest verbosity.
func TestLogHasNoSecret(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var lines strings.Builder
	client := serveDriver(t, newSecrets(t), "s3.example.com", funcr.New(func(_, line string) {
		mu.Lock()
		defer mu.Unlock()
		lines.WriteString(line)
	}, funcr.Options{Verbosity: 1}))
	if _, err := client.Put(t.Context(), "ba-1", cosi.NewSecret("hush"), ""); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Get(t.Context(), "ba-1"); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if !strings.Contains(lines.String(), "PutEntry") || strings.Contains(lines.String(), "hush") || strings.Contains(lines.String(), "aHVzaA") {
		t.Errorf("want the calls without their secret:\n%s", lines.String())
	}
}
