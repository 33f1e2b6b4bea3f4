// SPDX-License-Identifier: Apache-2.0

// Package kube keeps a credential store in Kubernetes Secrets of the driver's own namespace.
//
// It is imported by the commands of drivers only. The driver needs a Role, not a ClusterRole, with
// get, list, create, update and delete on secrets in that namespace.
package kube

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/cooper-cosi/cooper/internal/credstore"
)

const (
	// labelStore is on every Secret of a store, with the name of the driver.
	labelStore = "cooper.dev/credential-store"
	// annotationAccount is the account of an entry, for people who look.
	annotationAccount = "cooper.dev/account"
	keyID             = "id"
	keyEntry          = "entry"
	namePrefix        = "cosi-credential-"
)

// Secrets are the Secrets of one namespace. The typed client of client-go implements it.
type Secrets interface {
	Get(ctx context.Context, name string, o metav1.GetOptions) (*corev1.Secret, error)
	List(ctx context.Context, o metav1.ListOptions) (*corev1.SecretList, error)
	Create(ctx context.Context, secret *corev1.Secret, o metav1.CreateOptions) (*corev1.Secret, error)
	Update(ctx context.Context, secret *corev1.Secret, o metav1.UpdateOptions) (*corev1.Secret, error)
	Delete(ctx context.Context, name string, o metav1.DeleteOptions) error
}

// SecretsIn returns the Secrets of a namespace. It knows no other kind: with the typed client, which knows all that
// Kubernetes has, a driver would be half as large again.
func SecretsIn(config *rest.Config, namespace string) (Secrets, error) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("kinds of the API: %w", err)
	}
	config = rest.CopyConfig(config)
	config.APIPath, config.GroupVersion = "/api", &corev1.SchemeGroupVersion
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("reach the API server: %w", err)
	}
	return gentype.NewClientWithList[*corev1.Secret, *corev1.SecretList]("secrets", client, runtime.NewParameterCodec(scheme), namespace,
		func() *corev1.Secret { return &corev1.Secret{} }, func() *corev1.SecretList { return &corev1.SecretList{} }), nil
}

// Store is a credstore.Store of one Secret an account. Its versions are resource versions.
type Store struct {
	secrets Secrets
	driver  string
	id      string
}

var _ credstore.Store = (*Store)(nil)

// Open opens the store of a driver, and makes it, with a new ID, if there is none. Secrets of
// entries without the one with the ID are an error that wraps credstore.ErrStoreID.
func Open(ctx context.Context, secrets Secrets, driver string) (*Store, error) {
	store := &Store{secrets: secrets, driver: driver}
	id, err := store.readID(ctx)
	if apierrors.IsNotFound(err) {
		id, err = store.makeID(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("open the credential store of driver %s: %w", driver, err)
	}
	store.id = id
	return store, nil
}

// ID implements credstore.Store. It reads the Secret again, so that a namespace made again while the
// driver runs is noticed.
func (s *Store) ID(ctx context.Context) (string, error) {
	id, err := s.readID(ctx)
	if apierrors.IsNotFound(err) {
		return "", fmt.Errorf("secret %s is gone: %w; restore it from a backup", s.idName(), credstore.ErrStoreID)
	}
	if err != nil {
		return "", fmt.Errorf("read the credential store: %w", err)
	}
	if id != s.id {
		return "", fmt.Errorf("secret %s was exchanged while the driver runs: %w; restart the driver after checking it", s.idName(), credstore.ErrStoreID)
	}
	return id, nil
}

// Get implements credstore.Store.
func (s *Store) Get(ctx context.Context, account string) (credstore.Entry, error) {
	secret, err := s.secrets.Get(ctx, s.name(account), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return credstore.Entry{}, fmt.Errorf("account %q: %w", account, credstore.ErrNotFound)
	}
	if err != nil {
		return credstore.Entry{}, fmt.Errorf("read the stored credential of account %q: %w", account, err)
	}
	entry, err := credstore.Decode(account, secret.Data[keyEntry])
	if err != nil {
		return credstore.Entry{}, fmt.Errorf("read secret %s: %w; restore it from a backup, or delete it to have a new credential issued", secret.Name, err)
	}
	entry.Version = secret.ResourceVersion
	return entry, nil
}

// Put implements credstore.Store. It writes the Secret as a whole: nobody else keeps anything in it.
func (s *Store) Put(ctx context.Context, entry credstore.Entry) (credstore.Entry, error) {
	data, err := credstore.Encode(entry)
	if err != nil {
		return credstore.Entry{}, fmt.Errorf("store a credential: %w", err)
	}
	secret := s.newSecret(s.name(entry.Account), map[string][]byte{keyEntry: data})
	secret.Annotations = map[string]string{annotationAccount: entry.Account}
	secret.ResourceVersion = entry.Version
	var written *corev1.Secret
	if entry.Version == "" {
		written, err = s.secrets.Create(ctx, secret, metav1.CreateOptions{})
	} else {
		written, err = s.secrets.Update(ctx, secret, metav1.UpdateOptions{})
	}
	switch {
	case apierrors.IsAlreadyExists(err), apierrors.IsConflict(err), apierrors.IsNotFound(err) && entry.Version != "":
		return credstore.Entry{}, fmt.Errorf("account %q: %w", entry.Account, credstore.ErrConflict)
	case err != nil:
		return credstore.Entry{}, fmt.Errorf("store the credential of account %q: %w", entry.Account, err)
	}
	stored, err := credstore.Decode(entry.Account, data)
	stored.Version = written.ResourceVersion
	return stored, err
}

// Delete implements credstore.Store.
func (s *Store) Delete(ctx context.Context, account string) error {
	err := s.secrets.Delete(ctx, s.name(account), metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete the stored credential of account %q: %w", account, err)
	}
	return nil
}

func (s *Store) readID(ctx context.Context) (string, error) {
	secret, err := s.secrets.Get(ctx, s.idName(), metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("read the ID of the credential store: %w", err)
	}
	if id := string(secret.Data[keyID]); id != "" {
		return id, nil
	}
	return "", fmt.Errorf("secret %s is damaged: %w; restore it from a backup", secret.Name, credstore.ErrStoreID)
}

func (s *Store) makeID(ctx context.Context) (string, error) {
	left, err := s.secrets.List(ctx, metav1.ListOptions{LabelSelector: labelStore + "=" + s.driver, Limit: 1})
	if err != nil {
		return "", fmt.Errorf("look for stored credentials: %w", err)
	}
	if len(left.Items) > 0 {
		return "", fmt.Errorf("there are credentials, such as secret %s, but no secret %s: %w; restore that from a backup",
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

func (s *Store) newSecret(name string, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{labelStore: s.driver}},
		Type:       corev1.SecretTypeOpaque,
		Data:       data,
	}
}

func (s *Store) idName() string { return namePrefix + "store-" + digest(s.driver) }

// name is a hash: account IDs may be longer than names of Secrets, and have other characters.
func (s *Store) name(account string) string { return namePrefix + digest(s.driver+"\n"+account) }

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}
