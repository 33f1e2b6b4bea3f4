// SPDX-License-Identifier: Apache-2.0

package obc

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cooper-cosi/cooper/api/objectbucket"
	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/bucketchange"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// configAnnotation is set on a Bucket together with the changes that cosi-obc requests. Its value is the digest of the
// additionalConfig from which they were computed.
const configAnnotation = "cooper.dev/objectbucketclaim-config"

// maxChanges limits the annotation with the changes, in bytes. The annotations of an object have at most 256 KiB, and those of
// the sidecar and the Controller must fit, too.
const maxChanges = 64 << 10

// A change is the state of an edited additionalConfig of a claim with a new bucket. It is empty if the bucket has the
// settings of the claim.
type change struct {
	// ignored are the edited fields that have no effect.
	ignored []string
	// message is for users.
	message string
	// failed reports that a user or an administrator must act.
	failed bool
}

// change requests the settings of an edited claim for its bucket. The sidecar applies them if the driver can change the
// parameters of an existing bucket. The outcome never affects the phase of the claim, because the bucket is usable.
func (r *claimReconciler) change(ctx context.Context, w *work) (reconciler.Verdict, error) {
	if !w.ownClaim() {
		return reconciler.Next(), nil
	}
	fields := changedConfig(w.claim, w.bucket)
	b, err := r.boundBucket(ctx, w)
	if err != nil || b != nil && !w.ownBucket(b) {
		return reconciler.Next(), err
	}
	w.change = pendingChange(fields)
	if b == nil || !conditions.Is(b.Status.Conditions, cosiapi.ConditionProvisioned, metav1.ConditionTrue) {
		return reconciler.Next(), nil
	}
	requested := b.Annotations[configAnnotation]
	switch {
	case requested == "" && len(fields) == 0:
		return reconciler.Next(), nil // it was never edited
	case requested == configDigest(w.claim):
		class, err := storageClass(ctx, r.Client, w.bucket.Spec.StorageClassName)
		w.change = changeOf(b, class, fields)
		return reconciler.Next(), err
	}
	f, err := r.facts(ctx, w.bucket.Spec.StorageClassName)
	if err != nil {
		return reconciler.Verdict{}, err
	}
	changes, p := changesOf(w, b, f)
	switch {
	case p != nil:
		w.change = failedChange(fields, p.message)
	case len(changes) == 0:
		w.change = &change{}
	default:
		return r.request(ctx, w, b, changes, f.storage, fields)
	}
	return reconciler.Next(), nil
}

// request writes the changes to the Bucket. A role of an earlier version does not allow it.
func (r *claimReconciler) request(
	ctx context.Context, w *work, b *cosiapi.Bucket, changes bucketchange.Changes, class *storagev1.StorageClass, fields []string,
) (reconciler.Verdict, error) {
	_, err := r.Patch(ctx, b, func() {
		cosiapi.SetAnnotation(b, cosiapi.ParameterChangesAnnotation, changes.Text())
		cosiapi.SetAnnotation(b, configAnnotation, configDigest(w.claim))
		cosiapi.SetAnnotation(b, claimAnnotation, w.claim.Namespace+"/"+w.claim.Name) // for the watch
	})
	if apierrors.IsForbidden(err) {
		w.change = failedChange(fields, "The API server does not allow cosi-obc to annotate the Bucket. An administrator must apply the current role and policy of cosi-obc.")
		return reconciler.Next(), nil
	}
	if err != nil {
		return reconciler.Verdict{}, err
	}
	w.change = changeOf(b, class, fields)
	return reconciler.Next(), nil
}

// configDigest returns the digest of a claim's additionalConfig.
func configDigest(claim *objectbucket.ObjectBucketClaim) string {
	text, _ := json.Marshal(claim.Spec.AdditionalConfig) //nolint:errchkjson // strings
	return fmt.Sprintf("%.8x", sha256.Sum256(text))
}

// ownClaim reports whether the claim's bucket is new, and its BucketClaim requests that bucket, or does not exist yet. Users
// can create a BucketClaim of that name with another spec.
func (w *work) ownClaim() bool {
	return w.decision.existing == "" && (w.bucketClaim == nil || w.bucketClaim.DeletionTimestamp == nil &&
		equality.Semantic.DeepEqual(w.bucketClaim.Spec, bucketClaimOf(w.claim, w.decision).Spec))
}

// boundBucket returns the Bucket to which the claim's BucketClaim is bound, or nil.
func (r *claimReconciler) boundBucket(ctx context.Context, w *work) (*cosiapi.Bucket, error) {
	if !w.hasBucket() {
		return nil, nil //nolint:nilnil // none is not an error
	}
	return lookUp(ctx, r.Client, w.bucketClaim.Status.BoundBucketName, &cosiapi.Bucket{})
}

// ownBucket reports whether the Controller created the Bucket for the claim's BucketClaim, and the decision names its driver.
func (w *work) ownBucket(b *cosiapi.Bucket) bool {
	ref := b.Spec.BucketClaimRef
	return b.DeletionTimestamp == nil && b.Spec.ExistingBucketID == "" && b.Spec.DriverName == w.decision.driver && cosiapi.HasAnnotation(b, cosiapi.CreatedAnnotation) &&
		ref.Namespace == w.bucketClaim.Namespace && ref.Name == w.bucketClaim.Name && ref.UID == w.bucketClaim.UID
}

// changesOf returns the changes with which the bucket has the settings of the edited claim. Parameters that the claim does
// not set any longer get the values of the BucketClass. Other parameters are not changed, even if the class was replaced.
func changesOf(w *work, b *cosiapi.Bucket, f facts) (bucketchange.Changes, *problem) {
	if p := checkChange(w, f); p != nil {
		return nil, p
	}
	config, p := settingsOf(w.claim, f.storage)
	if p != nil {
		return nil, p
	}
	class := f.bucketClass.Spec.Parameters
	if p := config.checkOverrides(f.storage, class); p != nil {
		return nil, p
	}
	original, p := originalKeys(w.bucket, b, f.storage)
	if p != nil {
		return nil, p
	}
	requested, _ := bucketchange.Of(b) // an invalid annotation is replaced
	changes := bucketchange.Changes{}
	for _, key := range slices.Concat(slices.Collect(maps.Keys(requested)), slices.Collect(maps.Keys(config.values)), original) {
		value, set := config.values[key]
		if !set {
			value, set = class[key]
		}
		was, had := b.Spec.Parameters[key]
		if _, listed := requested[key]; !listed && set == had && value == was {
			continue
		}
		if changes[key] = nil; set {
			changes[key] = &value
		}
	}
	return changes, checkSize(b, changes)
}

// checkSize refuses changes that do not fit into an annotation or a request to the driver.
func checkSize(b *cosiapi.Bucket, changes bucketchange.Changes) *problem {
	if size := len(changes.Text()); size > maxChanges {
		return refuse("The requested settings have %d bytes, more than %d. Shorten spec.additionalConfig.", size, maxChanges)
	}
	changed, _ := changes.Apply(b.Spec.Parameters)
	if err := cosi.ValidateParameters(changed); err != nil {
		return refuse("The settings of the bucket would not be valid: %v. Shorten spec.additionalConfig.", err)
	}
	return nil
}

// checkChange refuses a change if the classes of the claim no longer allow it.
func checkChange(w *work, f facts) *problem {
	name := w.bucket.Spec.StorageClassName
	switch {
	case f.storage == nil:
		return refuse("StorageClass %q no longer exists. Ask an administrator.", name)
	case f.bucketClass == nil:
		return refuse("BucketClass %q of StorageClass %q no longer exists. Ask an administrator.", f.storage.Parameters[paramBucketClass], name)
	case !served(f.storage) || driverOf(f.storage) != w.decision.driver || f.bucketClass.Spec.DriverName != w.decision.driver:
		return refuse("StorageClass %q or its BucketClass now belongs to another driver. Ask an administrator.", name)
	}
	return checkNamespace(w.claim, f)
}

// originalKeys returns the parameters that the claim set when its bucket was created. It refuses a key that the StorageClass
// no longer allows, or now translates to a parameter that the bucket was created without: the original parameter is unknown.
func originalKeys(bucket *objectbucket.ObjectBucket, b *cosiapi.Bucket, class *storagev1.StorageClass) ([]string, *problem) {
	var keys []string
	allowed := allowedKeys(class)
	before, _ := originalRequest(bucket)
	for _, key := range slices.Sorted(maps.Keys(before.AdditionalConfig)) {
		parameter, ok := allowed[key]
		if _, had := b.Spec.Parameters[parameter]; !ok || !had {
			return nil, refuse("StorageClass %q no longer allows %q in spec.additionalConfig, so COSI cannot remove that setting. Ask an administrator to allow it.", class.Name, key)
		}
		keys = append(keys, parameter)
	}
	return keys, nil
}

// changeOf returns the state of the changes that were written to a Bucket. class is the claim's StorageClass, or nil.
func changeOf(b *cosiapi.Bucket, class *storagev1.StorageClass, fields []string) *change {
	result, found := bucketchange.ResultOf(b)
	if !found {
		return pendingChange(fields)
	}
	c := &change{}
	if result.Problem != "" {
		c = failedChange(fields, result.Problem)
		c.failed = !result.Retrying
	}
	c.ignored = fieldsOf(result.Unsupported, class, fields)
	return c
}

// fieldsOf returns those of the fields that set one of the parameters: as the StorageClass says, or else by default.
func fieldsOf(parameters []string, class *storagev1.StorageClass, fields []string) []string {
	var allowed map[string]string
	if class != nil {
		allowed = allowedKeys(class)
	}
	var found []string
	for _, field := range fields {
		key := strings.TrimPrefix(field, fieldConfig)
		if slices.Contains(parameters, cmp.Or(allowed[key], translations()[key].parameter, key)) {
			found = append(found, field)
		}
	}
	return found
}

// pendingChange returns the state of a change that is not applied yet. After all edits were reverted, there are no fields.
func pendingChange(fields []string) *change {
	if len(fields) == 0 {
		return &change{}
	}
	return &change{message: fmt.Sprintf("The change of %s is not applied yet.", naming(fields))}
}

// failedChange returns the state of a change that was not applied, or only in part.
func failedChange(fields []string, why string) *change {
	if len(fields) == 0 {
		return &change{message: "COSI could not restore the earlier settings of the bucket: " + why, failed: true}
	}
	return &change{message: fmt.Sprintf("COSI could not apply the change of %s, or applied only a part of it: %s", naming(fields), why), failed: true}
}
