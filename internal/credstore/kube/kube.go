// SPDX-License-Identifier: Apache-2.0

// Package kube implements a credential store with Kubernetes Secrets in the driver's own namespace.
//
// The sidecar imports it to serve the store to its driver, and driver commands import it to use the Secrets directly.
// The driver packages do not import it. The importing program needs a Role, not a ClusterRole, with get, list, create,
// update and delete on secrets in that namespace.
package kube

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/cooper-cosi/cooper/internal/credstore"
	cosi "github.com/cooper-cosi/cooper/proto"
)

const (
	// labelStore is set on every Secret of a store. Its value is the name of the driver.
	labelStore = "cooper.dev/credential-store"
	// annotationAccount has the account ID of an entry, for humans.
	annotationAccount = "cooper.dev/account"
	keyID             = "id"
	keyEntry          = "entry"
	namePrefix        = "cosi-credential-"
)

// client is a client for the Secrets of one namespace. It supports no other kind: the typed client, which has all
// kinds of Kubernetes, would make the binary of a driver larger by half.
type client = gentype.ClientWithList[*corev1.Secret, *corev1.SecretList]

func newClient(config *rest.Config, namespace string) (*client, error) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("register the API types: %w", err)
	}
	config = rest.CopyConfig(config)
	config.APIPath, config.GroupVersion = "/api", &corev1.SchemeGroupVersion
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("cannot reach the API server: %w", err)
	}
	return gentype.NewClientWithList[*corev1.Secret, *corev1.SecretList]("secrets", client, runtime.NewParameterCodec(scheme), namespace,
		func() *corev1.Secret { return &corev1.Secret{} }, func() *corev1.SecretList { return &corev1.SecretList{} }), nil
}

// A Server serves the Secrets of one namespace to a driver. Until OpenFor is called, it rejects every call with
// Unavailable.
type Server struct {
	*credstore.Server

	secrets *client
}

// Serve creates a socket and serves the store there until Stop.
func Serve(ctx context.Context, config *rest.Config, namespace, address string, log *slog.Logger) (*Server, error) {
	secrets, err := newClient(config, namespace)
	if err != nil {
		return nil, err
	}
	server, err := credstore.Serve(ctx, address, log)
	if err != nil {
		return nil, err
	}
	return &Server{server, secrets}, nil
}

// OpenFor starts to accept calls for the entries of that driver.
func (s *Server) OpenFor(driver string) { s.Open(&Secrets{secrets: s.secrets, driver: driver}) }

// Secrets implements credstore.Blobs with one Secret per name. Versions are resourceVersions. The first call creates
// the Secret with the store ID if the store is empty. If there are entries but no ID, every call returns an error that
// wraps credstore.ErrStoreID.
type Secrets struct {
	secrets *client
	driver  string

	mu sync.Mutex
	id string
}

var _ credstore.Blobs = (*Secrets)(nil)

// Open opens the Secrets of a driver's store.
func Open(ctx context.Context, config *rest.Config, namespace, driver string) (*Secrets, error) {
	secrets, err := newClient(config, namespace)
	if err != nil {
		return nil, err
	}
	s := &Secrets{secrets: secrets, driver: driver}
	if _, err := s.open(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// open returns the ID that the store had at the first call.
func (s *Secrets) open(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.id != "" {
		return s.id, nil
	}
	id, err := s.readID(ctx)
	if apierrors.IsNotFound(err) {
		id, err = s.makeID(ctx)
	}
	if err != nil {
		return "", fmt.Errorf("open the credential store of driver %s: %w", s.driver, err)
	}
	s.id = id
	return id, nil
}

// ID implements credstore.Blobs. It reads the Secret again, to detect a namespace that was recreated while the driver
// runs.
func (s *Secrets) ID(ctx context.Context) (string, error) {
	first, err := s.open(ctx)
	if err != nil {
		return "", err
	}
	id, err := s.readID(ctx)
	switch {
	case apierrors.IsNotFound(err):
		return "", fmt.Errorf("secret %s does not exist: %w; restore it from a backup", s.idName(), credstore.ErrStoreID)
	case err != nil:
		return "", err
	case id != first:
		return "", fmt.Errorf("secret %s was replaced while the driver was running: %w; check the secret, and then restart the driver", s.idName(), credstore.ErrStoreID)
	}
	return id, nil
}

// Get implements credstore.Blobs. It never returns a Secret that this store did not create.
func (s *Secrets) Get(ctx context.Context, name string) (credstore.Blob, error) {
	if _, err := s.open(ctx); err != nil {
		return credstore.Blob{}, err
	}
	secret, err := s.secrets.Get(ctx, s.name(name), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return credstore.Blob{}, credstore.NotFound(name)
	}
	if err != nil {
		return credstore.Blob{}, fmt.Errorf("read the stored credential of account %q: %w", name, err)
	}
	data, holds := secret.Data[keyEntry]
	if secret.Labels[labelStore] != s.driver || !holds {
		return credstore.Blob{}, fmt.Errorf("secret %s is not an entry of this credential store: %w", secret.Name, credstore.ErrCorrupt)
	}
	return credstore.Blob{Data: cosi.NewSecret(string(data)), Version: secret.ResourceVersion, Place: "secret " + secret.Name}, nil
}

// Put implements credstore.Blobs. It replaces the whole Secret, because the store is its only writer.
func (s *Secrets) Put(ctx context.Context, name string, data cosi.Secret, version string) (string, error) {
	if _, err := s.open(ctx); err != nil {
		return "", err
	}
	secret := s.newSecret(s.name(name), map[string][]byte{keyEntry: []byte(data.Reveal())})
	secret.Annotations = map[string]string{annotationAccount: name}
	secret.ResourceVersion = version
	var written *corev1.Secret
	var err error
	switch {
	case version == "":
		written, err = s.secrets.Create(ctx, secret, metav1.CreateOptions{})
	case !ours(version):
		return "", credstore.Conflict(name)
	default:
		written, err = s.secrets.Update(ctx, secret, metav1.UpdateOptions{})
	}
	switch {
	case apierrors.IsAlreadyExists(err), apierrors.IsConflict(err), apierrors.IsNotFound(err) && version != "":
		return "", credstore.Conflict(name)
	case err != nil:
		return "", fmt.Errorf("store the credential of account %q: %w", name, err)
	}
	return written.ResourceVersion, nil
}

// ours reports whether Put can have returned a version. The API server accepts 0 without a comparison, and rejects a
// version that is not a number with an error that looks temporary.
func ours(version string) bool {
	number, err := strconv.ParseUint(version, 10, 64)
	return err == nil && number != 0
}

// Delete implements credstore.Blobs.
func (s *Secrets) Delete(ctx context.Context, name string) error {
	if _, err := s.open(ctx); err != nil {
		return err
	}
	err := s.secrets.Delete(ctx, s.name(name), metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete the stored credential of account %q: %w", name, err)
	}
	return nil
}

func (s *Secrets) readID(ctx context.Context) (string, error) {
	secret, err := s.secrets.Get(ctx, s.idName(), metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("read the ID of the credential store: %w", err)
	}
	if id := string(secret.Data[keyID]); id != "" {
		return id, nil
	}
	return "", fmt.Errorf("secret %s is damaged: %w; restore the secret from a backup", secret.Name, credstore.ErrStoreID)
}

func (s *Secrets) makeID(ctx context.Context) (string, error) {
	left, err := s.secrets.List(ctx, metav1.ListOptions{LabelSelector: labelStore + "=" + s.driver, Limit: 1})
	if err != nil {
		return "", fmt.Errorf("list the stored credentials: %w", err)
	}
	if len(left.Items) > 0 {
		return "", fmt.Errorf("the store contains credentials, such as secret %s, but secret %s does not exist: %w; restore the missing secret from a backup",
			left.Items[0].Name, s.idName(), credstore.ErrStoreID)
	}
	id := credstore.NewID()
	secret := s.newSecret(s.idName(), map[string][]byte{keyID: []byte(id)})
	secret.Immutable = ptr.To(true)
	_, err = s.secrets.Create(ctx, secret, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return s.readID(ctx)
	}
	if err != nil {
		return "", fmt.Errorf("store the ID of the credential store: %w", err)
	}
	return id, nil
}

func (s *Secrets) newSecret(name string, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{labelStore: s.driver}},
		Type:       corev1.SecretTypeOpaque,
		Data:       data,
	}
}

func (s *Secrets) idName() string { return namePrefix + "store-" + digest(s.driver) }

// name returns a hash, because account IDs may be longer than names of Secrets and may contain other characters.
func (s *Secrets) name(account string) string { return namePrefix + digest(s.driver+"\n"+account) }

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}
