// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	validate "k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/objects"
	"github.com/cooper-cosi/cooper/sidecar/internal/proof"
)

// conflictTries is how often a write to a Secret is tried when somebody else
// writes to it at the same time.
const conflictTries = 3

// Secrets is the SecretStore in the Kubernetes API. Use NewSecrets.
type Secrets struct {
	store  objects.Store
	keeper Keeper
}

// A Keeper is the sidecar that keeps Secrets. All fields are required.
type Keeper struct {
	// Driver is the name of its driver.
	Driver string
	// Proof proves what it wrote.
	Proof *proof.Key
	// Inherit is told of an access that is gone and has an account, as one of its
	// Secrets proves.
	Inherit func(*cosiapi.BucketAccess)
}

// NewSecrets returns the SecretStore that writes with c. It reads Secrets one by
// one and past every cache: the sidecar may neither list nor watch them.
func NewSecrets(c client.Client, live client.Reader, keeper Keeper) Secrets {
	return Secrets{store: objects.NewStore(c, live), keeper: keeper}
}

// A TakenError says that the name of an access Secret is not free.
type TakenError struct {
	// Name of the Secret.
	Name string
	// Why it is not free, as the end of a sentence.
	Why string
	// Held says that it is the access's own and on its way out, and that others
	// must take their finalizers off first.
	Held bool
}

// Error implements error.
func (e *TakenError) Error() string { return fmt.Sprintf("Secret %q %s", e.Name, e.Why) }

// A SealedError says that an access Secret belongs to its access and cannot be
// written, because somebody made it immutable.
type SealedError struct {
	// Name of the Secret.
	Name string
}

// Error implements error.
func (e *SealedError) Error() string { return fmt.Sprintf("Secret %q is immutable", e.Name) }

// Reserve makes sure that the Secret of one claim exists, belongs to the access
// and has its finalizer and references. What it holds stays as it is. A Secret
// that belongs to somebody else is left alone, for which Reserve returns a
// *TakenError, unless our finalizer alone keeps it for an access that is gone.
func (s Secrets) Reserve(ctx context.Context, a *cosiapi.BucketAccess, claim cosiapi.BucketClaimAccess) (*corev1.Secret, error) {
	key := client.ObjectKey{Namespace: a.Namespace, Name: claim.AccessSecretName}
	var taken TakenError
	for try := range conflictTries {
		var secret *corev1.Secret
		var err error
		if try > 0 || !untold(a) { // otherwise there is most likely none
			secret, err = s.get(ctx, key)
		}
		if err != nil {
			return nil, err
		}
		taken = TakenError{Name: key.Name, Why: "is changed by somebody else all the time"}
		switch {
		case secret == nil:
			secret, err = s.create(ctx, a, claim)
		case !owns(a, secret):
			err = s.forceRelease(ctx, secret, a.UID)
		case secret.DeletionTimestamp != nil:
			err = s.removeProtection(ctx, secret)
		default:
			err = s.repair(ctx, a, claim, secret)
		}
		switch {
		case apierrors.IsAlreadyExists(err), apierrors.IsConflict(err), apierrors.IsNotFound(err) && secret != nil:
			continue
		case err != nil:
			return nil, err
		case secret.DeletionTimestamp == nil:
			return secret, nil
		case len(secret.Finalizers) > 0:
			taken = TakenError{Name: key.Name, Why: "is being deleted, and cannot go because of its finalizers: " + conditions.List(secret.Finalizers), Held: true}
		}
	}
	return nil, &taken
}

// A Content is what Write delivers.
type Content struct {
	// Data replaces all data of the Secret.
	Data map[string][]byte
	// Notes are annotations to set; an empty value removes one.
	Notes map[string]string
}

// Write makes the Secret, which Reserve returned, hold exactly the content. It
// writes nothing if it does already.
func (s Secrets) Write(ctx context.Context, a *cosiapi.BucketAccess, secret *corev1.Secret, content Content) error {
	notes, err := s.records(ctx, a, secret)
	if err != nil {
		return err
	}
	maps.Copy(notes, content.Notes)
	if notes[dataProofAnnotation], err = s.keeper.Proof.Prove(ctx, ofData(secret), dataDigest(content.Data)); err != nil {
		return err
	}
	for range conflictTries {
		_, err := s.store.Patch(ctx, secret, func() {
			secret.Data = content.Data
			for key, value := range notes {
				if value == "" {
					delete(secret.Annotations, key)
				} else {
					metav1.SetMetaDataAnnotation(&secret.ObjectMeta, key, value)
				}
			}
		})
		if !apierrors.IsConflict(err) {
			return err
		}
		newer, err := s.get(ctx, client.ObjectKeyFromObject(secret))
		if err != nil {
			return err
		}
		if newer == nil || newer.DeletionTimestamp != nil || !owns(a, newer) {
			return &TakenError{Name: secret.Name, Why: "was deleted or replaced while COSI wrote to it"}
		}
		*secret = *newer
	}
	return &TakenError{Name: secret.Name, Why: "is changed by somebody else all the time"}
}

// Release takes our finalizer off the Secret and deletes it. A Secret that does
// not belong to the access is left alone, except that our finalizer does not stay
// on one that belongs to nobody. The error is a *TakenError while the finalizer of
// somebody else keeps the Secret.
func (s Secrets) Release(ctx context.Context, a *cosiapi.BucketAccess, name string) error {
	key := client.ObjectKey{Namespace: a.Namespace, Name: name}
	secret, err := s.get(ctx, key)
	if err != nil || secret == nil {
		return err
	}
	if !owns(a, secret) {
		return s.leave(ctx, a, secret)
	}
	if err := s.removeProtection(ctx, secret); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	uid, version := secret.UID, secret.ResourceVersion
	var deleted error
	if secret.DeletionTimestamp == nil {
		deleted = s.store.Client.Delete(ctx, secret, client.Preconditions{UID: &uid, ResourceVersion: &version})
	}
	if deleted == nil && len(secret.Finalizers) == 0 {
		return nil // the API server removes at once what nothing holds
	}
	// A conflict is no failure if the name has another Secret by now.
	if deleted != nil && !apierrors.IsNotFound(deleted) && !apierrors.IsConflict(deleted) {
		return fmt.Errorf("delete Secret %q: %w", key, deleted)
	}
	left, err := s.get(ctx, key)
	if err != nil || left == nil || left.UID != uid {
		return err
	}
	if len(left.Finalizers) == 0 && deleted != nil {
		return fmt.Errorf("delete Secret %q: %w", key, deleted)
	}
	return &TakenError{Name: name, Why: "cannot go because of its finalizers: " + conditions.List(left.Finalizers)}
}

// leave leaves a Secret to others that an access names which goes. Nothing of that
// may hold up its revocation.
func (s Secrets) leave(ctx context.Context, a *cosiapi.BucketAccess, secret *corev1.Secret) error {
	if !stripped(secret) {
		return nil
	}
	err := s.releaseStripped(ctx, secret, a.UID)
	if _, taken := errors.AsType[*TakenError](err); taken || refused(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// get returns nil for a Secret that does not exist.
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
	mark(a, claim, secret)
	if err := s.store.Client.Create(ctx, secret); err != nil {
		return nil, fmt.Errorf("create %s: %w", objects.Name(secret), err)
	}
	return secret, nil
}

// repair gives an own Secret back what somebody took off it.
func (s Secrets) repair(ctx context.Context, a *cosiapi.BucketAccess, claim cosiapi.BucketClaimAccess, secret *corev1.Secret) error {
	notes, err := s.records(ctx, a, secret)
	if err != nil {
		return err
	}
	_, err = s.store.Patch(ctx, secret, func() {
		mark(a, claim, secret)
		for key, value := range notes {
			cosiapi.SetAnnotation(secret, key, value)
		}
	})
	return err
}

// owns reports whether the Secret was made for the very access: by its
// controller or, if it has none, by the UID that mark noted on it. The latter
// finds a Secret whose owner references were removed, as the deletion of an
// access with --cascade=orphan does. One of a type that we never make is a user's
// own, whatever it says: the policy cosi-sidecar-secrets keeps us from writing and
// deleting it, and the revocation would wait for that.
func owns(a *cosiapi.BucketAccess, secret *corev1.Secret) bool {
	if secret.Type != corev1.SecretTypeOpaque {
		return false
	}
	if owner := metav1.GetControllerOf(secret); owner != nil {
		return ofAccess(owner) && owner.UID == a.UID
	}
	return secret.Annotations[ownerAnnotation] == string(a.UID)
}

// mark puts owner, finalizer, label and references on the Secret in memory.
func mark(a *cosiapi.BucketAccess, claim cosiapi.BucketClaimAccess, secret *corev1.Secret) {
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

func (s Secrets) removeProtection(ctx context.Context, secret *corev1.Secret) error {
	_, err := s.store.Patch(ctx, secret, func() { cosiapi.RemoveProtection(secret) })
	return err
}

// Look cleans up behind the access that a Secret was made for, if that is gone.
func (s Secrets) Look(ctx context.Context, key types.NamespacedName) error {
	secret, err := s.get(ctx, key)
	if err != nil || secret == nil {
		return err
	}
	err = s.forceRelease(ctx, secret, "")
	if _, left := errors.AsType[*TakenError](err); left || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// forceRelease looks after a Secret whose access is gone: whoever took the
// finalizer off that access left nobody who would. If the Secret proves that the
// access has an account, that is revoked first; otherwise our finalizer comes
// off, once the Secret is being deleted. For every other Secret it does nothing.
// For one that says no access, there is releaseStripped. Unless the finalizer is off it
// returns a *TakenError. last is the access that the Secret may go with, if any.
func (s Secrets) forceRelease(ctx context.Context, secret *corev1.Secret, last types.UID) error {
	if Stranded(secret) {
		return s.releaseStripped(ctx, secret, last)
	}
	taken := &TakenError{Name: secret.Name, Why: "belongs to " + ownerOf(secret) + " and not to this BucketAccess"}
	name, uid := madeFor(secret)
	if secret.Type != corev1.SecretTypeOpaque || !cosiapi.HasProtection(secret) || stripped(secret) {
		return taken
	}
	access := &cosiapi.BucketAccess{}
	switch err := s.store.Live.Get(ctx, client.ObjectKey{Namespace: secret.Namespace, Name: name}, access); {
	case err == nil && access.UID == uid:
		return taken
	case client.IgnoreNotFound(err) != nil && len(validate.IsPathSegmentName(name)) == 0: // what cannot be a name is none
		return fmt.Errorf("read BucketAccess %q: %w", secret.Namespace+"/"+name, err)
	}
	left, err := s.recorded(ctx, secret)
	if err != nil {
		return err
	}
	switch other := secret.Annotations[driverAnnotation]; {
	case other != "" && other != s.keeper.Driver:
		taken.Why = fmt.Sprintf("was left by BucketAccess %q, behind which the sidecar of driver %q cleans up", name, other)
		return taken
	case left != nil && left.UID == uid:
		s.keeper.Inherit(left)
		taken.Why, taken.Held = fmt.Sprintf("was left by BucketAccess %q, which is being revoked", name), true
		return taken
	case secret.DeletionTimestamp == nil:
		return taken
	default:
		return s.removeProtection(ctx, secret)
	}
}

// MadeFor returns the access that a Secret of a driver was made for, as long as
// our finalizer holds the Secret; the UID is empty if there is none.
func MadeFor(secret metav1.Object, driver string) (reconcile.Request, types.UID) {
	name, uid := madeFor(secret)
	if uid == "" || !cosiapi.HasProtection(secret) || secret.GetAnnotations()[driverAnnotation] != driver {
		return reconcile.Request{}, ""
	}
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: secret.GetNamespace(), Name: name}}, uid
}

// Slim takes off a Secret in the cache, of which there are metadata alone, what
// MadeFor and Stranded do not read: our record of the account is most of it.
func Slim(obj any) (any, error) {
	secret, ok := obj.(metav1.Object)
	if !ok {
		return obj, nil
	}
	notes := secret.GetAnnotations()
	maps.DeleteFunc(notes, func(key, _ string) bool {
		return key != ownerAnnotation && key != driverAnnotation && key != cosiapi.BucketAccessReferenceAnnotation
	})
	secret.SetAnnotations(notes)
	secret.SetLabels(nil)
	secret.SetManagedFields(nil)
	return obj, nil
}

// madeFor returns the name and UID of the access that a Secret was made for, by its
// controller or, if it has none, by what mark noted on it. The UID is empty if it
// was made for none. A copy in another namespace, as the restoration of a backup
// may make, counts as made for an access of that one, which has none of the UID:
// so our finalizer does not hold it for ever.
func madeFor(secret metav1.Object) (name string, uid types.UID) {
	owner, notes := metav1.GetControllerOf(secret), secret.GetAnnotations()
	switch {
	case owner == nil:
		_, name, _ = strings.Cut(notes[cosiapi.BucketAccessReferenceAnnotation], "/")
		return name, types.UID(notes[ownerAnnotation])
	case ofAccess(owner):
		return owner.Name, owner.UID
	default:
		return "", ""
	}
}

// ofAccess reports whether an owner is a BucketAccess.
func ofAccess(owner *metav1.OwnerReference) bool {
	return strings.HasPrefix(owner.APIVersion, cosiapi.GroupName+"/") && owner.Kind == "BucketAccess"
}

// ownerOf returns, for a message, whom a Secret belongs to.
func ownerOf(secret *corev1.Secret) string {
	if secret.Type != corev1.SecretTypeOpaque {
		return fmt.Sprintf("somebody else, who made it with type %q,", secret.Type)
	}
	if owner := metav1.GetControllerOf(secret); owner != nil {
		if ofAccess(owner) {
			return fmt.Sprintf("BucketAccess %q with UID %q", owner.Name, owner.UID)
		}
		return fmt.Sprintf("%s %q", owner.Kind, owner.Name)
	}
	return "somebody else"
}

// refused reports whether the API will not store a Secret however often it is
// asked: the request is forbidden, over a quota, or invalid.
func refused(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && (apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsRequestEntityTooLargeError(err))
}
