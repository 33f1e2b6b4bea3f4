// SPDX-License-Identifier: Apache-2.0

// Package proof lets the sidecar of a driver recognize what it wrote itself into
// objects that users may write, too. It holds one key, in a Secret of the
// sidecar's own namespace, and must not know what is written.
package proof

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// SecretPrefix begins the name of the Secret with the key; the rest is the
	// name of the driver.
	SecretPrefix = "cosi-sidecar-key-" //nolint:gosec // the name of a Secret
	// secretType is the type of that Secret.
	secretType = "cooper.dev/sidecar-key" //nolint:gosec // a type of Secrets
	// field is where the key is in it.
	field = "key"
	size  = 32
)

// Options say where a Key is. Client, Live and Driver are required.
type Options struct {
	// Client writes to the API server, Live reads from it past every cache.
	Client client.Client
	Live   client.Reader
	// Namespace is the sidecar's own; empty means that there is no key.
	Namespace string
	// Driver is the name of the driver.
	Driver string
	// Log is told once why there is no key.
	Log logr.Logger
}

// A Key makes proofs and checks them. It is read, or made, when it is first
// needed. The methods may be called by several goroutines.
type Key struct {
	options Options

	mu    sync.Mutex
	key   []byte
	known bool
}

// New returns a Key.
func New(o Options) *Key { return &Key{options: o} }

// Prove returns what proves that the text stands in the object with that UID
// because we wrote it there. A copy of the object has another UID and proves
// nothing. The proof is empty where there is no key.
func (k *Key) Prove(ctx context.Context, uid types.UID, text string) (string, error) {
	key, err := k.get(ctx)
	if err != nil || key == nil || uid == "" {
		return "", err
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(string(uid) + "\n" + text))
	return hex.EncodeToString(mac.Sum(nil)), nil
}

// Proves reports whether proof is what Prove returns.
func (k *Key) Proves(ctx context.Context, proof string, uid types.UID, text string) (bool, error) {
	want, err := k.Prove(ctx, uid, text)
	return want != "" && hmac.Equal([]byte(want), []byte(proof)), err
}

// get returns the key, nil if there is none.
func (k *Key) get(ctx context.Context) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known {
		return k.key, nil
	}
	key, why, err := k.find(ctx)
	if err != nil {
		return nil, err
	}
	if why != "" {
		k.options.Log.Info("Access Secrets do not name their accounts, so that what is removed by hand while no sidecar runs is not revoked", "reason", why)
	}
	k.key, k.known = key, true
	return key, nil
}

// find reads the key or makes it; why says why there is none.
func (k *Key) find(ctx context.Context) (key []byte, why string, err error) {
	if k.options.Namespace == "" {
		return nil, "the sidecar does not know its own namespace: set its owner", nil
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: k.options.Namespace, Name: SecretPrefix + k.options.Driver}}
	name := client.ObjectKeyFromObject(secret)
	err = k.options.Live.Get(ctx, name, secret)
	if apierrors.IsNotFound(err) {
		made := make([]byte, size)
		_, _ = rand.Read(made) // never fails
		secret.Type, secret.Data = secretType, map[string][]byte{field: made}
		if err = k.options.Client.Create(ctx, secret); apierrors.IsAlreadyExists(err) {
			err = k.options.Live.Get(ctx, name, secret)
		}
	}
	switch {
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err): // the namespace: outside of Kubernetes an owner has none
		return nil, err.Error(), nil
	case err != nil:
		return nil, "", fmt.Errorf("the sidecar's own key in Secret %q: %w", name, err)
	case len(secret.Data[field]) != size:
		return nil, fmt.Sprintf("Secret %q holds no key of %d bytes: delete it, and start the sidecar again", name, size), nil
	default:
		return secret.Data[field], "", nil
	}
}
