// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/metrics"
	"github.com/cooper-cosi/cooper/internal/secretkeys"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sidecar/internal/driver"
)

// Annotations by which an access Secret says what it was made of, so that a
// sidecar that starts sees whether anything changed without a call to the
// driver. They are bookkeeping and hold no credential.
const (
	// ownerAnnotation is the UID of the access that the Secret was made for.
	ownerAnnotation = cosiapi.AccessUIDAnnotation
	// grantAnnotation is a digest of what the grant was asked for and of the
	// driver's revision.
	grantAnnotation = "cooper.dev/grant"
	// dataAnnotation is a digest of the data as it was delivered.
	dataAnnotation = "cooper.dev/data"
	// renewAnnotation is when a credential that expires is asked for again,
	// RFC 3339.
	renewAnnotation = "cooper.dev/renew-at"
)

const (
	// renewShare is the part of the remaining life of a credential that is kept
	// in reserve when it is renewed: a third, at most maxReserve.
	renewShare = 3
	maxReserve = 24 * time.Hour
	// minRenewal keeps a driver that never prolongs a credential from being
	// asked all the time.
	minRenewal = time.Minute
)

// An order is what the driver is asked to grant.
type order struct {
	request *cosi.DriverGrantBucketAccessRequest
	// digest identifies what the grant depends on.
	digest string
}

// orderOf returns what the driver is asked to grant to an account. One with one phase is
// asked by the name of the account, whose ID may be empty until it has told it.
func orderOf(asked *cosi.DriverGenerateBucketAccessIdRequest, account string, info driver.Info) order {
	request := grantRequest(asked, account)
	if info.OnePhase {
		request.AccountId = asked.GetAccountName()
	}
	type bucket struct{ ID, Data, ObjectMetadata, BucketMetadata string }
	parts := struct {
		Account, Protocol, Authentication, Namespace, ServiceAccount, Rotation, Revision string

		Parameters map[string]string
		Buckets    []bucket
	}{
		Account: account, Protocol: request.GetProtocol().GetType().String(),
		Authentication: request.GetAuthenticationType().GetType().String(),
		Namespace:      request.GetServiceAccountNamespace(), ServiceAccount: request.GetServiceAccountName(),
		Rotation: request.GetRotation(), Revision: info.Revision, Parameters: request.GetParameters(),
	}
	// What the class disallows never changes after the hand-off, and is no part of the digest: a sidecar that
	// learns to send it would grant every access again at once.
	for _, b := range request.GetBuckets() {
		parts.Buckets = append(parts.Buckets, bucket{
			b.GetBucketId(), b.GetObjectDataAccessMode().GetMode().String(),
			b.GetObjectMetadataAccessMode().GetMode().String(), b.GetBucketMetadataAccessMode().GetMode().String(),
		})
	}
	return order{request: request, digest: digest(parts)}
}

// dataDigest identifies the data of a Secret.
func dataDigest(data map[string][]byte) string { return digest(data) }

func digest(v any) string {
	// Marshal sorts the keys of maps; strings, bytes and maps of them never fail.
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))
}

// bookkeeping returns the annotations of a Secret that is delivered now.
func bookkeeping(o order, data map[string][]byte, now time.Time) map[string]string {
	notes := map[string]string{
		grantAnnotation: o.digest, dataAnnotation: dataDigest(data), cosiapi.DeliveredRotationAnnotation: o.request.GetRotation(), renewAnnotation: "",
	}
	if expiry, ok := secretkeys.Expiry(data); ok {
		notes[renewAnnotation] = renewal(now, expiry).UTC().Format(time.RFC3339)
	}
	return notes
}

// renewal returns when a credential that expires is asked for again.
func renewal(now, expiry time.Time) time.Time {
	reserve := min(expiry.Sub(now)/renewShare, maxReserve)
	at := expiry.Add(-reserve)
	if soonest := now.Add(minRenewal); at.Before(soonest) {
		return soonest
	}
	return at
}

// intervalPassed is why an access is granted again though nobody changed anything.
const intervalPassed = "the regrant interval has passed"

// due returns why the driver must be asked for the access (again); empty means
// that everything is as it should be until at the latest next, which is zero
// if no time is set.
func due(a *cosiapi.BucketAccess, secrets []*corev1.Secret, grant string, periodic, now time.Time) (why string, next time.Time) {
	if why := ungranted(a); why != "" {
		return why, next
	}
	next = periodic
	for _, s := range secrets {
		if why := stale(s, grant, now); why != "" {
			return why, next
		}
		if at, ok := renewalOf(s); ok && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	if !periodic.IsZero() && !now.Before(periodic) {
		return intervalPassed, next
	}
	return "", next
}

// ungranted returns why the last grant does not count, whatever the Secrets say.
func ungranted(a *cosiapi.BucketAccess) (why string) {
	if !provisioned(a) || a.Status.AccountID == "" {
		return "the access is not provisioned"
	}
	if !conditions.Is(a.Status.Conditions, cosiapi.ConditionProvisionFailed, metav1.ConditionFalse) {
		return "the last call to the driver failed"
	}
	return ""
}

// works reports whether what was granted works for now: nothing of it is missing or
// about to expire, and nobody asked for anything else. Then only the driver or the
// clock want it granted again, of all accesses at once.
func works(a *cosiapi.BucketAccess, secrets []*corev1.Secret, o order, now time.Time) bool {
	return ungranted(a) == "" && !slices.ContainsFunc(secrets, func(s *corev1.Secret) bool {
		return s.Annotations[cosiapi.DeliveredRotationAnnotation] != o.request.GetRotation() || stale(s, s.Annotations[grantAnnotation], now) != ""
	})
}

// occasion returns what the metric says of why an access is granted again; it is empty for the first time.
func occasion(a *cosiapi.BucketAccess, secrets []*corev1.Secret, o order, why string, now time.Time) string {
	switch {
	case !provisioned(a):
		return ""
	case why == intervalPassed:
		return metrics.RegrantInterval
	case slices.ContainsFunc(secrets, func(s *corev1.Secret) bool { return renewable(s, now) }):
		return metrics.RegrantExpiry
	case works(a, secrets, o, now):
		return metrics.RegrantDriver
	case slices.ContainsFunc(secrets, func(s *corev1.Secret) bool {
		return s.Annotations[cosiapi.DeliveredRotationAnnotation] != o.request.GetRotation()
	}):
		return metrics.RegrantRotation
	default:
		return metrics.RegrantRepair
	}
}

// renewable reports whether the credential in a Secret is to be renewed by now.
func renewable(s *corev1.Secret, now time.Time) bool {
	at, ok := renewalOf(s)
	return ok && !now.Before(at)
}

// stale returns why a Secret must be written again; empty means that it need not.
func stale(s *corev1.Secret, grant string, now time.Time) string {
	switch at, ok := renewalOf(s); {
	case s.Annotations[dataAnnotation] != dataDigest(s.Data):
		return fmt.Sprintf("the data of Secret %q is not what was delivered", s.Name)
	case s.Annotations[grantAnnotation] != grant:
		return fmt.Sprintf("Secret %q was delivered for another request, rotation or configuration of the driver", s.Name)
	case ok && !now.Before(at):
		return fmt.Sprintf("the credential in Secret %q expires soon", s.Name)
	default:
		return ""
	}
}

// renewalOf returns when the credential in a Secret is asked for again; ok is false
// if it does not expire.
func renewalOf(s *corev1.Secret) (at time.Time, ok bool) {
	at, err := time.Parse(time.RFC3339, s.Annotations[renewAnnotation])
	return at, err == nil
}

// sealed returns the name of a Secret that must be written again and cannot be, since
// somebody made it immutable; empty means that there is none.
func sealed(secrets []*corev1.Secret, grant string, now time.Time) string {
	for _, s := range secrets {
		if ptr.Deref(s.Immutable, false) && stale(s, grant, now) != "" {
			return s.Name
		}
	}
	return ""
}
