// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"errors"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cooper-cosi/cooper/internal/credstore"
	"github.com/cooper-cosi/cooper/internal/credstore/kube"
	"github.com/cooper-cosi/cooper/internal/testing/processtest"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity/store"
	"github.com/cooper-cosi/cooper/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// namespace is a namespace with the Secrets of drivers.
type namespace struct {
	*testenv.Env

	t    *testing.T
	name string
}

func newNamespace(t *testing.T) namespace {
	t.Helper()
	env := testenv.Start(t, testenv.Options{})
	return namespace{env, t, env.Namespace()}
}

// open returns the store of a driver.
func (n namespace) open(driver string) *kube.Secrets {
	n.t.Helper()
	secrets, err := kube.Open(n.t.Context(), n.Config(), n.name, driver)
	n.must(err)
	return secrets
}

// serve serves the store of a driver and returns its address.
func (n namespace) serve(driver string) string { return n.serveWith(n.Config(), driver) }

func (n namespace) serveWith(config *rest.Config, driver string) string {
	n.t.Helper()
	address := "unix://" + filepath.Join(processtest.ShortTempDir(n.t), "credentials.sock")
	server, err := kube.Serve(n.t.Context(), config, n.name, address, slog.New(slog.DiscardHandler))
	n.must(err)
	n.t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			n.t.Error(err)
		}
	})
	server.OpenFor(driver)
	return address
}

func (n namespace) dial(address string) *credstore.Remote {
	n.t.Helper()
	remote, err := credstore.Dial(address)
	n.must(err)
	n.t.Cleanup(func() { _ = remote.Close() })
	return remote
}

func (n namespace) must(err error) {
	n.t.Helper()
	if err != nil {
		n.t.Fatal(err)
	}
}

func (n namespace) secrets() []corev1.Secret {
	n.t.Helper()
	var list corev1.SecretList
	n.must(n.Client.List(n.t.Context(), &list, client.InNamespace(n.name)))
	return list.Items
}

// TestServed runs the conformance cases of credential stores. A driver with its own permissions then finds the entries
// that the sidecar stored, and vice versa.
func TestServed(t *testing.T) {
	t.Parallel()
	n := newNamespace(t)
	address := n.serve("s3.example.com")
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	n.must(err)
	t.Cleanup(func() { _ = connection.Close() })
	results, err := store.Run(t.Context(), cosi.NewCredentialStoreClient(connection))
	n.must(err)
	for _, result := range results {
		if len(result.Problems) > 0 {
			t.Errorf("%s %s: %q", result.Case.ID, result.Case.Title, result.Problems)
		}
	}
	if left := n.secrets(); len(left) != 1 { // the Secret with the store's ID
		t.Errorf("the cases left %d Secrets", len(left))
	}

	remote := n.dial(address)
	version, err := remote.Put(t.Context(), "ba-1", cosi.NewSecret("by the sidecar"), "")
	n.must(err)
	direct := n.open("s3.example.com")
	served, err := remote.ID(t.Context())
	n.must(err)
	if id, err := direct.ID(t.Context()); err != nil || id != served {
		t.Errorf("the ID is %q, %v; want %q", id, err, served)
	}
	version, err = direct.Put(t.Context(), "ba-1", cosi.NewSecret("by the driver"), version)
	n.must(err)
	if blob, err := remote.Get(t.Context(), "ba-1"); err != nil || blob.Data.Reveal() != "by the driver" || blob.Version != version {
		t.Errorf("Get = %+v, %v", blob, err)
	}
}

func TestLostID(t *testing.T) {
	t.Parallel()
	n := newNamespace(t)
	const driver = "s3.example.com"
	running := n.open(driver)
	_, err := running.Put(t.Context(), "ba-1", cosi.NewSecret("mine"), "")
	n.must(err)
	for _, secret := range n.secrets() {
		if secret.Immutable != nil && *secret.Immutable {
			n.must(n.Client.Delete(t.Context(), &secret))
		}
	}
	if _, err := running.ID(t.Context()); !errors.Is(err, credstore.ErrStoreID) {
		t.Errorf("ID of the running store = %v, want ErrStoreID", err)
	}
	if _, err := kube.Open(t.Context(), n.Config(), n.name, driver); !errors.Is(err, credstore.ErrStoreID) {
		t.Errorf("Open after a restart = %v, want ErrStoreID", err)
	}
	served := n.dial(n.serve(driver))
	if _, err := served.Get(t.Context(), "ba-1"); !errors.Is(err, credstore.ErrStoreID) {
		t.Errorf("Get of the served store after a restart = %v, want ErrStoreID", err)
	}
	n.open("other.example.com")
}

// TestServedAfterAFailure verifies that a store that could not be read at first is read again by the next call.
func TestServedAfterAFailure(t *testing.T) {
	t.Parallel()
	n := newNamespace(t)
	config := rest.CopyConfig(n.Config())
	var down atomic.Bool
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if down.Load() {
				return nil, errors.New("the test cut the connection")
			}
			return next.RoundTrip(r)
		})
	})
	remote := n.dial(n.serveWith(config, "s3.example.com"))
	down.Store(true)
	if _, err := remote.ID(t.Context()); err == nil {
		t.Error("ID succeeded without a connection")
	}
	down.Store(false)
	_, err := remote.Put(t.Context(), "ba-1", cosi.NewSecret("mine"), "")
	n.must(err)
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

func TestDamagedEntry(t *testing.T) {
	t.Parallel()
	n := newNamespace(t)
	entries := credstore.OnBlobs(n.open("s3.example.com"))
	entry := credstore.Entry{Account: "ba-1", Current: credstore.Credential{ID: "id", Secret: cosi.NewSecret("secret")}}
	_, err := entries.Put(t.Context(), entry)
	n.must(err)
	for _, secret := range n.secrets() {
		if _, holds := secret.Data["entry"]; holds {
			secret.Data["entry"] = secret.Data["entry"][1:]
			n.must(n.Client.Update(t.Context(), &secret))
		}
	}
	if _, err := entries.Get(t.Context(), "ba-1"); !errors.Is(err, credstore.ErrCorrupt) {
		t.Errorf("Get = %v, want ErrCorrupt", err)
	}
	if _, err := entries.Put(t.Context(), entry); !errors.Is(err, credstore.ErrConflict) {
		t.Errorf("Put = %v, want ErrConflict", err)
	}
}

// TestNoOtherSecretIsReached tries to reach Secrets in the namespace that are not the driver's, with all kinds of
// entry names.
func TestNoOtherSecretIsReached(t *testing.T) {
	t.Parallel()
	n := newNamespace(t)
	_, err := n.open("neighbour.example.com").Put(t.Context(), "ba-1", cosi.NewSecret("neighbour's"), "")
	n.must(err)
	n.must(n.Client.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: n.name, Name: "photos"}, Data: map[string][]byte{"entry": []byte("a user's"), "id": []byte("a user's")},
	}))
	hostile := n.open("hostile.example.com")
	_, err = hostile.ID(t.Context())
	n.must(err)
	before := n.secrets()
	for _, target := range before {
		for _, name := range tricks(target.Name) {
			if got, err := hostile.Get(t.Context(), name); !errors.Is(err, credstore.ErrNotFound) {
				t.Errorf("Get %q = %+v, %v; want ErrNotFound", name, got, err)
			}
			// Update requires the version of the other Secret, Create requires none.
			if _, err := hostile.Put(t.Context(), name, cosi.NewSecret("hostile"), target.ResourceVersion); !errors.Is(err, credstore.ErrConflict) {
				t.Errorf("Put %q on the version of %s: %v, want ErrConflict", name, target.Name, err)
			}
			if err := hostile.Delete(t.Context(), name); err != nil {
				t.Errorf("Delete %q: %v", name, err)
			}
			if _, err := hostile.Put(t.Context(), name, cosi.NewSecret("hostile"), ""); err != nil {
				t.Errorf("Put %q: %v", name, err)
			}
			if err := hostile.Delete(t.Context(), name); err != nil {
				t.Errorf("Delete %q: %v", name, err)
			}
		}
	}
	if diff := cmp.Diff(before, n.secrets()); diff != "" {
		t.Errorf("what is not the driver's was changed (-before +after):\n%s", diff)
	}
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
	n := newNamespace(t)
	secrets := n.open("s3.example.com")
	for name, change := range map[string]func(*corev1.Secret){
		"of another store": func(s *corev1.Secret) {
			s.Labels = map[string]string{"cooper.dev/credential-store": "other.example.com"}
		},
		"of no store":      func(s *corev1.Secret) { s.Labels = nil },
		"without an entry": func(s *corev1.Secret) { s.Data = map[string][]byte{"password": []byte("a user's")} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := secrets.Put(t.Context(), name, cosi.NewSecret("mine"), ""); err != nil {
				t.Fatal(err)
			}
			blob, err := secrets.Get(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: n.name, Name: strings.TrimPrefix(blob.Place, "secret ")}}
			testenv.Change(n.Env, secret, change)
			if got, err := secrets.Get(t.Context(), name); !errors.Is(err, credstore.ErrCorrupt) || !got.Data.IsZero() {
				t.Errorf("Get = %+v, %v; want ErrCorrupt", got, err)
			}
		})
	}
}
