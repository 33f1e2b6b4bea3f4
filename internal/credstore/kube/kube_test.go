// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cooper-cosi/cooper/internal/credstore"
	"github.com/cooper-cosi/cooper/internal/credstore/kube"
	"github.com/cooper-cosi/cooper/internal/testing/credstoretest"
	cosi "github.com/cooper-cosi/cooper/proto"
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

func open(t *testing.T, secrets kube.Secrets, driver string) credstore.Store {
	t.Helper()
	store, err := kube.Open(t.Context(), secrets, driver)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// named stores the driver of a store, for the next process.
type named struct {
	credstore.Store

	driver string
}

func TestKube(t *testing.T) {
	t.Parallel()
	secrets := newSecrets(t)
	var count atomic.Int32
	credstoretest.Run(t, credstoretest.Target{
		New: func(t *testing.T) credstore.Store {
			t.Helper()
			// Stores of several drivers share a namespace.
			driver := fmt.Sprintf("s%d.example.com", count.Add(1))
			return named{open(t, secrets, driver), driver}
		},
		Reopen: func(t *testing.T, store credstore.Store) credstore.Store {
			t.Helper()
			return open(t, secrets, store.(named).driver)
		},
	})
}

func TestLostID(t *testing.T) {
	t.Parallel()
	secrets := newSecrets(t)
	const driver = "s3.example.com"
	store := open(t, secrets, driver)
	_, err := store.Put(t.Context(), credstore.Entry{Account: "ba-1", Current: credstore.Credential{ID: "id", Secret: cosi.NewSecret("secret")}})
	if err != nil {
		t.Fatal(err)
	}
	all, err := secrets.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range all.Items {
		if secret.Immutable != nil && *secret.Immutable {
			if err := secrets.Delete(t.Context(), secret.Name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := store.ID(t.Context()); !errors.Is(err, credstore.ErrStoreID) {
		t.Errorf("ID of the running store = %v, want ErrStoreID", err)
	}
	if _, err := kube.Open(t.Context(), secrets, driver); !errors.Is(err, credstore.ErrStoreID) {
		t.Errorf("Open = %v, want ErrStoreID", err)
	}
	if _, err := kube.Open(t.Context(), secrets, "other.example.com"); err != nil {
		t.Errorf("Open for another driver: %v", err)
	}
}

func TestDamagedEntry(t *testing.T) {
	t.Parallel()
	secrets := newSecrets(t)
	store := open(t, secrets, "s3.example.com")
	entry := credstore.Entry{Account: "ba-1", Current: credstore.Credential{ID: "id", Secret: cosi.NewSecret("secret")}}
	if _, err := store.Put(t.Context(), entry); err != nil {
		t.Fatal(err)
	}
	all, err := secrets.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range all.Items {
		if _, holds := secret.Data["entry"]; !holds {
			continue
		}
		secret.Data["entry"] = secret.Data["entry"][1:]
		if _, err := secrets.Update(t.Context(), &secret, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := store.Get(t.Context(), "ba-1"); !errors.Is(err, credstore.ErrCorrupt) {
		t.Errorf("Get = %v, want ErrCorrupt", err)
	}
	if _, err := store.Put(t.Context(), entry); !errors.Is(err, credstore.ErrConflict) {
		t.Errorf("Put = %v, want ErrConflict", err)
	}
}
