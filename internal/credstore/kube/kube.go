// SPDX-License-Identifier: Apache-2.0

// Package kube implements a credential store with Kubernetes Secrets in the driver's own namespace.
//
// The sidecar, which serves the store to its driver, and the commands of drivers import it. Drivers do not. Its users
// need a Role, not a ClusterRole, with get, list, create, update and delete on secrets in that namespace.
package kube

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"

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

// Secrets gives access to the Secrets of one namespace. The typed client of client-go implements it.
type Secrets interface {
	Get(ctx context.Context, name string, o metav1.GetOptions) (*corev1.Secret, error)
	List(ctx context.Context, o metav1.ListOptions) (*corev1.SecretList, error)
	Create(ctx context.Context, secret *corev1.Secret, o metav1.CreateOptions) (*corev1.Secret, error)
	Update(ctx context.Context, secret *corev1.Secret, o metav1.UpdateOptions) (*corev1.Secret, error)
	Delete(ctx context.Context, name string, o metav1.DeleteOptions) error
}

// SecretsIn returns the Secrets of a namespace. It supports no other kind: the typed client, which has all kinds of
// Kubernetes, would make the binary of a driver larger by half.
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

// Blobs implements credstore.Blobs with one Secret per name. Versions are resourceVersions.
type Blobs struct {
	secrets Secrets
	driver  string
	id      string
}

var _ credstore.Blobs = (*Blobs)(nil)

// Open opens the store of a driver; see OpenBlobs.
func Open(ctx context.Context, secrets Secrets, driver string) (credstore.Store, error) {
	blobs, err := OpenBlobs(ctx, secrets, driver)
	if err != nil {
		return nil, err
	}
	return credstore.OnBlobs(blobs), nil
}

// OpenBlobs opens the Secrets of a driver's store and creates the Secret with the store ID if the store is empty. If
// there are entries but no ID, the error wraps credstore.ErrStoreID.
func OpenBlobs(ctx context.Context, secrets Secrets, driver string) (*Blobs, error) {
	blobs := &Blobs{secrets: secrets, driver: driver}
	id, err := blobs.readID(ctx)
	if apierrors.IsNotFound(err) {
		id, err = blobs.makeID(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("open the credential store of driver %s: %w", driver, err)
	}
	blobs.id = id
	return blobs, nil
}

// ID implements credstore.Blobs. It reads the Secret again, to detect a namespace that was recreated while the driver
// runs.
func (s *Blobs) ID(ctx context.Context) (string, error) {
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

// Get implements credstore.Blobs. It never returns a Secret that this store did not create.
func (s *Blobs) Get(ctx context.Context, name string) (credstore.Blob, error) {
	secret, err := s.secrets.Get(ctx, s.name(name), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return credstore.Blob{}, fmt.Errorf("account %q: %w", name, credstore.ErrNotFound)
	}
	if err != nil {
		return credstore.Blob{}, fmt.Errorf("read the stored credential of account %q: %w", name, err)
	}
	data, holds := secret.Data[keyEntry]
	if secret.Labels[labelStore] != s.driver || !holds {
		return credstore.Blob{}, fmt.Errorf("secret %s is no entry of this store: %w", secret.Name, credstore.ErrCorrupt)
	}
	return credstore.Blob{Data: cosi.NewSecret(string(data)), Version: secret.ResourceVersion, Place: "secret " + secret.Name}, nil
}

// Put implements credstore.Blobs. It replaces the whole Secret, because the store is its only writer.
func (s *Blobs) Put(ctx context.Context, name string, data cosi.Secret, version string) (string, error) {
	secret := s.newSecret(s.name(name), map[string][]byte{keyEntry: []byte(data.Reveal())})
	secret.Annotations = map[string]string{annotationAccount: name}
	secret.ResourceVersion = version
	var written *corev1.Secret
	var err error
	switch {
	case version == "":
		written, err = s.secrets.Create(ctx, secret, metav1.CreateOptions{})
	case !ours(version):
		return "", fmt.Errorf("account %q: %w", name, credstore.ErrConflict)
	default:
		written, err = s.secrets.Update(ctx, secret, metav1.UpdateOptions{})
	}
	switch {
	case apierrors.IsAlreadyExists(err), apierrors.IsConflict(err), apierrors.IsNotFound(err) && version != "":
		return "", fmt.Errorf("account %q: %w", name, credstore.ErrConflict)
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
func (s *Blobs) Delete(ctx context.Context, name string) error {
	err := s.secrets.Delete(ctx, s.name(name), metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete the stored credential of account %q: %w", name, err)
	}
	return nil
}

func (s *Blobs) readID(ctx context.Context) (string, error) {
	secret, err := s.secrets.Get(ctx, s.idName(), metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("read the ID of the credential store: %w", err)
	}
	if id := string(secret.Data[keyID]); id != "" {
		return id, nil
	}
	return "", fmt.Errorf("secret %s is damaged: %w; restore it from a backup", secret.Name, credstore.ErrStoreID)
}

func (s *Blobs) makeID(ctx context.Context) (string, error) {
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

func (s *Blobs) newSecret(name string, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{labelStore: s.driver}},
		Type:       corev1.SecretTypeOpaque,
		Data:       data,
	}
}

func (s *Blobs) idName() string { return namePrefix + "store-" + digest(s.driver) }

// name returns a hash, because account IDs may be longer than names of Secrets and may contain other characters.
func (s *Blobs) name(account string) string { return namePrefix + digest(s.driver+"\n"+account) }

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}
