// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	validate "k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	"github.com/cooper-cosi/cooper/sidecar/internal/scheduling"
)

// Annotations of an access Secret. Users can write Secrets, so the annotations prove nothing.
const (
	// ownerAnnotation is the UID of the access that the Secret was created for.
	ownerAnnotation = cosiapi.AccessUIDAnnotation
	// driverAnnotation is the driver whose sidecar writes the Secret. The policy cosi-sidecar-secrets reads it.
	driverAnnotation = "cooper.dev/driver"
)

// formerAnnotations were written by earlier versions and are removed with the next write.
func formerAnnotations() []string {
	return []string{"cooper.dev/account", "cooper.dev/account-proof", "cooper.dev/data-proof"}
}

// Secrets writes the access Secrets of one driver. Use NewSecrets.
type Secrets struct {
	store  reconciler.Store
	driver string
}

// NewSecrets returns the Secrets of a driver, written with c. It reads each Secret by name with live, from the API
// server, because the sidecar may neither list nor watch Secrets by default.
func NewSecrets(c client.Client, live client.Reader, driver string) Secrets {
	return Secrets{store: reconciler.NewStore(c, live), driver: driver}
}

// A TakenError reports that an access Secret cannot be written until a user changes something.
type TakenError struct {
	// Name is the name of the Secret.
	Name string
	// Why is the reason, worded as the end of a sentence that begins with the Secret.
	Why string
	// Held reports that the Secret belongs to the access and is being deleted, but that another component's finalizer
	// blocks the deletion. Immutable reports that the Secret belongs to the access and is immutable.
	Held, Immutable bool
}

// Error implements error.
func (e *TakenError) Error() string { return fmt.Sprintf("Secret %q %s", e.Name, e.Why) }

// Reserve ensures that the Secret of one claim exists, belongs to the access, and has COSI's finalizer and the
// references to its owner. It does not change the data. The error is a *TakenError if the Secret belongs to another
// owner. If an orphaned access Secret with that name is being deleted, Reserve removes our finalizer from it.
func (s Secrets) Reserve(ctx context.Context, a *cosiapi.BucketAccess, claim cosiapi.BucketClaimAccess) (*corev1.Secret, error) {
	if neverReconciled(a) { // the Secret is unlikely to exist
		if secret, err := s.create(ctx, a, claim); !apierrors.IsAlreadyExists(err) {
			return secret, err
		}
	}
	secret, err := s.get(ctx, client.ObjectKey{Namespace: a.Namespace, Name: claim.AccessSecretName})
	switch {
	case err != nil:
		return nil, err
	case secret == nil:
		return s.create(ctx, a, claim)
	case secret.DeletionTimestamp == nil && owns(a, secret):
		_, err = s.store.Patch(ctx, secret, func() { addMetadata(a, claim, secret) })
		return secret, err
	case secret.DeletionTimestamp == nil:
		return nil, notOwned(secret)
	case owns(a, secret):
		err = s.removeFinalizer(ctx, secret)
	default:
		err = s.releaseOrphan(ctx, secret)
	}
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	if err == nil && len(secret.Finalizers) > 0 {
		return nil, &TakenError{Name: secret.Name, Why: "is being deleted, but the deletion is blocked by the finalizers " + conditions.List(secret.Finalizers), Held: true}
	}
	return s.create(ctx, a, claim)
}

// Write sets the data and the annotations of a Secret that Reserve returned. An empty value removes an annotation.
// Write sends no request if the Secret is up to date.
func (s Secrets) Write(ctx context.Context, a *cosiapi.BucketAccess, secret *corev1.Secret, data map[string][]byte, annotations map[string]string) error {
	owned := func(_, now client.Object) bool {
		current, ok := now.(*corev1.Secret)
		return ok && current.DeletionTimestamp == nil && owns(a, current)
	}
	return s.store.Record(ctx, secret, owned, func() {
		secret.Data = data
		for _, key := range formerAnnotations() {
			delete(secret.Annotations, key)
		}
		for key, value := range annotations {
			if value == "" {
				delete(secret.Annotations, key)
			} else {
				metav1.SetMetaDataAnnotation(&secret.ObjectMeta, key, value)
			}
		}
	})
}

// Update replaces the data of a Secret that Reserve returned, and its digest. Unlike Write, it fails with a conflict if
// the Secret has changed, because the data was derived from the Secret: another process may have written a new
// credential. Update sends no request if the Secret is up to date.
func (s Secrets) Update(ctx context.Context, secret *corev1.Secret, data map[string][]byte) error {
	_, err := s.store.Patch(ctx, secret, func() {
		secret.Data = data
		metav1.SetMetaDataAnnotation(&secret.ObjectMeta, dataAnnotation, scheduling.Digest(data))
	})
	return err
}

// Delete deletes the Secret of an access and removes our finalizer. It does not change a Secret that belongs to another
// owner. From an orphaned access Secret it only removes our finalizer. The error is a *TakenError while another
// component's finalizer blocks the deletion.
func (s Secrets) Delete(ctx context.Context, a *cosiapi.BucketAccess, name string) error {
	secret, err := s.get(ctx, client.ObjectKey{Namespace: a.Namespace, Name: name})
	if err != nil || secret == nil {
		return err
	}
	if !owns(a, secret) {
		if err := s.releaseOrphan(ctx, secret); !refused(err) { // a refusal must not delay the revocation
			return ignoreTaken(err)
		}
		return nil
	}
	if err := s.removeFinalizer(ctx, secret); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	if secret.DeletionTimestamp == nil {
		err := s.store.Client.Delete(ctx, secret, client.Preconditions{UID: &secret.UID, ResourceVersion: &secret.ResourceVersion})
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete %s: %w", reconciler.ObjectName(secret), err)
		}
	}
	if len(secret.Finalizers) > 0 {
		return &TakenError{Name: name, Why: "cannot be deleted because of the finalizers " + conditions.List(secret.Finalizers)}
	}
	return nil
}

// ReleaseOrphan removes our finalizer from a Secret that is being deleted and that no access owns: a copy, a Secret from
// a backup, or one whose access was deleted without cleanup.
func (s Secrets) ReleaseOrphan(ctx context.Context, key types.NamespacedName) error {
	secret, err := s.get(ctx, key)
	if err != nil || secret == nil || secret.DeletionTimestamp == nil {
		return err
	}
	return ignoreTaken(s.releaseOrphan(ctx, secret))
}

// releaseOrphan removes our finalizer from a Secret that no access owns, even if it is not being deleted. It changes
// nothing and returns a *TakenError if an access owns the Secret, or if another driver's sidecar or another component
// created it.
func (s Secrets) releaseOrphan(ctx context.Context, secret *corev1.Secret) error {
	driver := secret.Annotations[driverAnnotation]
	if secret.Type != corev1.SecretTypeOpaque || !cosiapi.HasProtection(secret) || driver != "" && driver != s.driver {
		return notOwned(secret)
	}
	name, _ := accessOf(secret)
	if len(validate.IsPathSegmentName(name)) == 0 && name != "" {
		access := &cosiapi.BucketAccess{}
		err := s.store.Live.Get(ctx, client.ObjectKey{Namespace: secret.Namespace, Name: name}, access)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("read BucketAccess %q: %w", secret.Namespace+"/"+name, err)
		}
		if err == nil && owns(access, secret) && names(access, secret.Name) {
			return notOwned(secret)
		}
	}
	return s.removeFinalizer(ctx, secret)
}

// ignoreTaken returns nil for a *TakenError and for a Secret that no longer exists.
func ignoreTaken(err error) error {
	if _, taken := errors.AsType[*TakenError](err); taken || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// get returns nil if the Secret does not exist.
func (s Secrets) get(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	err := s.store.Live.Get(ctx, key, secret)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // absence is no error here
	}
	if err != nil {
		return nil, fmt.Errorf("read Secret %q: %w", key, err)
	}
	return secret, nil
}

func (s Secrets) create(ctx context.Context, a *cosiapi.BucketAccess, claim cosiapi.BucketClaimAccess) (*corev1.Secret, error) {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: a.Namespace, Name: claim.AccessSecretName},
		Type:       corev1.SecretTypeOpaque,
	}
	addMetadata(a, claim, secret)
	if err := s.store.Client.Create(ctx, secret); err != nil {
		return nil, fmt.Errorf("create %s: %w", reconciler.ObjectName(secret), err)
	}
	return secret, nil
}

func (s Secrets) removeFinalizer(ctx context.Context, secret *corev1.Secret) error {
	_, err := s.store.Patch(ctx, secret, func() { cosiapi.RemoveProtection(secret) })
	return err
}

// addMetadata adds owner, finalizer, label and references to the Secret in memory.
func addMetadata(a *cosiapi.BucketAccess, claim cosiapi.BucketClaimAccess, secret *corev1.Secret) {
	if metav1.GetControllerOf(secret) == nil {
		owner := metav1.NewControllerRef(a, cosiapi.GroupVersion().WithKind("BucketAccess"))
		secret.OwnerReferences = append(secret.OwnerReferences, *owner)
	}
	cosiapi.AddProtection(secret)
	metav1.SetMetaDataLabel(&secret.ObjectMeta, cosiapi.AccessSecretLabel, "true")
	cosiapi.SetAnnotation(secret, ownerAnnotation, string(a.UID))
	cosiapi.SetAnnotation(secret, driverAnnotation, a.Status.DriverName)
	cosiapi.SetAnnotation(secret, cosiapi.BucketAccessReferenceAnnotation, a.Namespace+"/"+a.Name)
	cosiapi.SetAnnotation(secret, cosiapi.BucketClaimReferenceAnnotation, a.Namespace+"/"+claim.BucketClaimName)
}

// owns reports whether the Secret, which the access names, was created for this access by its driver. Tenants can
// change the controller reference, but the admission policies forbid the sidecar to write Secrets of other types and
// of other drivers.
func owns(a *cosiapi.BucketAccess, secret *corev1.Secret) bool {
	_, uid := accessOf(secret)
	driver := secret.Annotations[driverAnnotation]
	return secret.Type == corev1.SecretTypeOpaque && uid == a.UID && uid != "" && (driver == "" || driver == a.Status.DriverName)
}

// accessOf returns the name and UID of the access that a Secret was created for. It uses the controller reference or,
// if there is none as after a deletion with --cascade=orphan, the annotations. The UID is empty if there is no such
// access.
func accessOf(secret metav1.Object) (name string, uid types.UID) {
	owner, annotations := metav1.GetControllerOf(secret), secret.GetAnnotations()
	switch {
	case owner == nil:
		_, name, _ = strings.Cut(annotations[cosiapi.BucketAccessReferenceAnnotation], "/")
		return name, types.UID(annotations[ownerAnnotation])
	case strings.HasPrefix(owner.APIVersion, cosiapi.GroupName+"/") && owner.Kind == "BucketAccess":
		return owner.Name, owner.UID
	default:
		return "", ""
	}
}

// names reports whether the access names the Secret.
func names(a *cosiapi.BucketAccess, secret string) bool {
	return slices.ContainsFunc(a.Spec.BucketClaims, func(c cosiapi.BucketClaimAccess) bool { return c.AccessSecretName == secret })
}

// notOwned returns the error for a Secret that belongs to another owner.
func notOwned(secret *corev1.Secret) *TakenError {
	why := "was not created for this BucketAccess"
	if owner := metav1.GetControllerOf(secret); owner != nil {
		why += fmt.Sprintf(": its controller is %s %q with UID %q, and its driver is %q", owner.Kind, owner.Name, owner.UID, secret.Annotations[driverAnnotation])
	}
	return &TakenError{Name: secret.Name, Why: why}
}

// refused reports whether the API server rejects a Secret permanently: the request is forbidden, exceeds a quota, or
// is invalid.
func refused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsRequestEntityTooLargeError(err)
}
