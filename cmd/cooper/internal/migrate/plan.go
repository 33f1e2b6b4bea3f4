// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// A plan is the migration of the claims of one driver.
type plan struct {
	claims []*claimMove
	// unclaimed are Buckets without a claim, lost the accesses whose claim does not exist. others counts the
	// Buckets of other drivers.
	unclaimed, lost []*old
	others          map[string]int
}

// A claimMove is the migration of one claim.
type claimMove struct {
	claim, was *old
	// skip is the reason why the claim is not migrated. notes are remarks for the administrator.
	skip     string
	notes    []string
	bucket   *cosiapi.Bucket
	made     *cosiapi.BucketClaim
	done     bool
	accesses []*accessMove
}

// An accessMove is the migration of one access.
type accessMove struct {
	access *old
	skip   string
	made   *cosiapi.BucketAccess
	done   bool
}

// plan computes the migration of each claim and access. It is a pure function of options, backup and cluster.
func (o Options) plan(backup olds, now *cluster) plan {
	p := plan{others: map[string]int{}}
	claims := by(backup["BucketClaim"], func(claim *old) string { return claim.Status.BucketName })
	accesses := by(backup["BucketAccess"], func(access *old) string { return key(access.GetNamespace(), access.Spec.BucketClaimName) })
	for _, bucket := range backup["Bucket"] {
		switch {
		case bucket.Spec.DriverName != o.From:
			p.others[bucket.Spec.DriverName]++
		case len(claims[bucket.GetName()]) == 0:
			p.unclaimed = append(p.unclaimed, bucket)
		}
	}
	for _, claim := range backup["BucketClaim"] {
		was := backup.get("Bucket", claim.Status.BucketName)
		if was != nil && was.Spec.DriverName != o.From {
			continue
		}
		m := &claimMove{claim: claim, was: was}
		if m.skip = unfit(claim, was); m.skip == "" {
			o.moveClaim(m, claims[was.GetName()], now)
		}
		for _, access := range accesses[claim.key()] {
			a := &accessMove{access: access}
			o.moveAccess(a, m, backup.get("BucketAccessClass", access.Spec.ClassName), now)
			m.accesses = append(m.accesses, a)
		}
		p.claims = append(p.claims, m)
	}
	for _, access := range backup["BucketAccess"] {
		if backup.get("BucketClaim", key(access.GetNamespace(), access.Spec.BucketClaimName)) == nil {
			p.lost = append(p.lost, access)
		}
	}
	p.shareNoSecret()
	return p
}

// by groups objects by a key.
func by(all []*old, group func(*old) string) map[string][]*old {
	groups := map[string][]*old{}
	for _, one := range all {
		groups[group(one)] = append(groups[group(one)], one)
	}
	return groups
}

// shareNoSecret skips accesses that share their Secret with another access, which v1alpha1 allows.
func (p plan) shareNoSecret() {
	first := map[string]string{}
	for _, a := range p.moved() {
		secret := key(a.access.GetNamespace(), a.access.Spec.SecretName)
		if first[secret] != "" {
			a.skip = fmt.Sprintf("it shares its Secret with access %s, which v1alpha2 does not support: create it manually with another accessSecretName", first[secret])
			continue
		}
		first[secret] = a.access.GetName()
	}
}

// owner returns the claim that a Bucket names, or an empty string.
func (o *old) owner() string {
	if o.Spec.BucketClaim == nil {
		return ""
	}
	return key(o.Spec.BucketClaim.Namespace, o.Spec.BucketClaim.Name)
}

// unfit returns the reason why a claim cannot be migrated, or an empty string.
func unfit(claim, was *old) string {
	switch {
	case claim.GetDeletionTimestamp() != nil:
		return "it is being deleted. To keep its bucket, import the bucket manually"
	case claim.Status.BucketName == "":
		return "it is not bound to a Bucket. Let v1alpha1 bind it before you stop v1alpha1, or claim a new bucket after the migration"
	case was == nil:
		return fmt.Sprintf("its Bucket %q does not exist", claim.Status.BucketName)
	case was.GetDeletionTimestamp() != nil:
		return fmt.Sprintf("its Bucket %q is being deleted with policy %s, which may have deleted the data. If bucket %q still exists in the store, import it manually",
			was.GetName(), was.Spec.Policy, was.Status.BucketID)
	case was.owner() != claim.key():
		return fmt.Sprintf("its Bucket %q refers to claim %q. In v1alpha1, any claim can use a Bucket by its name. If this namespace should have the data, import the bucket manually", was.GetName(), was.owner())
	case was.Status.BucketID == "":
		return fmt.Sprintf("its Bucket %q has no bucket ID yet. Let v1alpha1 provision it before you stop v1alpha1, or check whether the store has a bucket for it", was.GetName())
	default:
		return ""
	}
}

// moveClaim creates the manifests of the Bucket and the claim. sharing are all claims that use the bucket.
func (o Options) moveClaim(m *claimMove, sharing []*old, now *cluster) {
	claim, was := m.claim, m.was
	name := was.GetName()
	for _, other := range sharing {
		if other != claim {
			m.notes = append(m.notes, fmt.Sprintf("claim %s uses the same bucket", other.key()))
		}
	}
	if len(was.Spec.Parameters) > 0 {
		m.notes = append(m.notes, fmt.Sprintf("its parameters were %q. If the driver needs some of them to find the bucket, copy them to spec.parameters of the Bucket", was.Spec.Parameters))
	}
	id := o.idOf(was.Status.BucketID)
	protocols, err := protocolsOf(claim.Spec.Protocols)
	switch {
	case err != nil:
		m.skip = err.Error()
	case cosi.ValidateBucketID(id) != nil:
		m.skip = fmt.Sprintf("%q is not a valid bucket ID for driver %s: %v", id, o.Driver, cosi.ValidateBucketID(id))
	}
	m.bucket = &cosiapi.Bucket{
		TypeMeta: typeOf("Bucket"), ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: cosiapi.BucketSpec{
			DriverName: o.Driver, DeletionPolicy: cosiapi.DeletionPolicyRetain, Protocols: protocols, ExistingBucketID: id,
			BucketClaimRef: cosiapi.BucketClaimReference{Namespace: claim.GetNamespace(), Name: claim.GetName()},
		},
	}
	m.made = &cosiapi.BucketClaim{
		TypeMeta: typeOf("BucketClaim"), ObjectMeta: metav1.ObjectMeta{Namespace: claim.GetNamespace(), Name: claim.GetName()},
		Spec: cosiapi.BucketClaimSpec{ExistingBucketName: name, Protocols: protocols},
	}
	hasBucket, hasClaim := now.buckets[name], now.claims[claim.key()]
	switch {
	case m.skip != "":
	case hasBucket != nil && (hasBucket.Spec.DriverName != o.Driver || hasBucket.Spec.ExistingBucketID != id ||
		key(hasBucket.Spec.BucketClaimRef.Namespace, hasBucket.Spec.BucketClaimRef.Name) != claim.key()):
		m.skip = fmt.Sprintf("v1alpha2 already has a different Bucket %q, for bucket %q of driver %s", name, hasBucket.Spec.ExistingBucketID, hasBucket.Spec.DriverName)
	case hasClaim != nil && hasClaim.Spec.ExistingBucketName != name:
		m.skip = "v1alpha2 already has a claim of this name for another bucket: rename the claim in the manifests, or delete the existing one if it is not in use"
	default:
		m.done = hasBucket != nil && hasClaim != nil && meta.IsStatusConditionTrue(hasClaim.Status.Conditions, cosiapi.ConditionProvisioned)
	}
}

// idOf returns the new driver's ID of a bucket. If the driver stays the same and runs with Cooper's sidecar,
// its IDs may contain any character.
func (o Options) idOf(id string) string {
	if o.Driver == o.From && o.IDPrefix == "" {
		return cosi.EscapeID(id)
	}
	return o.IDPrefix + id
}

// moveAccess creates the manifest of the new access. was is its old class, or nil if it no longer exists.
func (o Options) moveAccess(a *accessMove, m *claimMove, was *old, now *cluster) {
	access := a.access
	className, secret := o.AccessClasses[access.Spec.ClassName], access.Spec.SecretName+o.Suffix
	protocol, err := protocolOf(access, m)
	switch {
	case access.GetDeletionTimestamp() != nil:
		a.skip = "it is being deleted. Check in the store whether v1alpha1 has revoked the credential of its account"
	case m.skip != "":
		a.skip = "its claim is skipped"
	case access.Spec.SecretName == "":
		a.skip = "it does not name a Secret"
	case className == "":
		a.skip = fmt.Sprintf("its class has no replacement: set --bucket-access-class %s=NEW", access.Spec.ClassName)
	case err != nil:
		a.skip = err.Error()
	case byServiceAccount(was) && access.Spec.ServiceAccount == "":
		a.skip = "it authenticates by ServiceAccount (IAM) but does not name one"
	case len(validation.IsDNS1123Subdomain(secret)) > 0:
		a.skip = fmt.Sprintf("%q is not a valid Secret name. Set another --suffix", secret)
	case now.secrets[key(access.GetNamespace(), secret)] != nil && now.accesses[access.key()] == nil:
		a.skip = fmt.Sprintf("Secret %q already exists and does not belong to this access. Set another --suffix", secret)
	default:
		a.skip = o.unfitClass(className, now.classes[className], was)
	}
	if a.skip != "" {
		return
	}
	a.made = &cosiapi.BucketAccess{
		TypeMeta: typeOf("BucketAccess"), ObjectMeta: metav1.ObjectMeta{Namespace: access.GetNamespace(), Name: access.GetName()},
		Spec: cosiapi.BucketAccessSpec{
			BucketAccessClassName: className, Protocol: protocol, ServiceAccountName: access.Spec.ServiceAccount,
			BucketClaims: []cosiapi.BucketClaimAccess{{
				BucketClaimName: m.claim.GetName(), AccessSecretName: secret,
				AccessModes: cosiapi.BucketAccessModes{ObjectData: cosiapi.BucketAccessModeReadWrite},
			}},
		},
	}
	has := now.accesses[access.key()]
	switch {
	case has == nil:
	case !sameAccess(has.Spec, a.made.Spec):
		a.skip = "v1alpha2 already has an access of this name with another class, claim or Secret: rename the access in the manifest, or delete the existing one if it is not in use"
	default:
		a.made.Spec = has.Spec // keeps access modes that a user has edited
		a.done = meta.IsStatusConditionTrue(has.Status.Conditions, cosiapi.ConditionProvisioned)
	}
}

// unfitClass returns the reason why a new class cannot replace an old one. Each may be nil if it does not
// exist.
func (o Options) unfitClass(name string, class *cosiapi.BucketAccessClass, was *old) string {
	switch {
	case class == nil:
		return ""
	case class.Spec.DriverName != o.Driver:
		return fmt.Sprintf("BucketAccessClass %q belongs to driver %s, but the bucket migrates to %s", name, class.Spec.DriverName, o.Driver)
	case was != nil && byServiceAccount(was) != (class.Spec.AuthenticationType == cosiapi.AuthenticationTypeServiceAccount):
		return fmt.Sprintf("its authentication type is %s, but that of BucketAccessClass %q is %s", was.AuthenticationType, name, class.Spec.AuthenticationType)
	default:
		return ""
	}
}

// protocolOf returns the protocol of an access. The access may omit it if its claim has exactly one.
func protocolOf(access *old, m *claimMove) (cosiapi.Protocol, error) {
	names := []string{access.Spec.Protocol}
	if names[0] == "" {
		names = m.claim.Spec.Protocols
	}
	protocols, err := protocolsOf(names)
	if err == nil && len(protocols) != 1 {
		err = fmt.Errorf("it does not name a protocol, and its claim has %d protocols. Create the access manually", len(protocols))
	}
	if err != nil {
		return "", err
	}
	return protocols[0], nil
}

// sameAccess reports whether two accesses are equal apart from their access modes, which the administrator
// chooses.
func sameAccess(a, b cosiapi.BucketAccessSpec) bool {
	without := func(spec cosiapi.BucketAccessSpec) *cosiapi.BucketAccessSpec {
		copied := spec.DeepCopy()
		for i := range copied.BucketClaims {
			copied.BucketClaims[i].AccessModes = cosiapi.BucketAccessModes{}
		}
		return copied
	}
	return equality.Semantic.DeepEqual(without(a), without(b))
}

// byServiceAccount reports whether a class of v1alpha1 authenticates by ServiceAccount.
func byServiceAccount(class *old) bool {
	return class != nil && strings.EqualFold(class.AuthenticationType, "IAM")
}

// protocolsOf translates protocols. v1alpha1 has two spellings of some.
func protocolsOf(names []string) ([]cosiapi.Protocol, error) {
	known := map[string]cosiapi.Protocol{"s3": cosiapi.ProtocolS3, "azure": cosiapi.ProtocolAzure, "gcs": cosiapi.ProtocolGCS, "gcp": cosiapi.ProtocolGCS}
	var all []cosiapi.Protocol
	for _, name := range names {
		protocol, ok := known[strings.ToLower(name)]
		if !ok {
			return nil, fmt.Errorf("v1alpha2 does not support protocol %q", name)
		}
		if !slices.Contains(all, protocol) {
			all = append(all, protocol)
		}
	}
	return all, nil
}

func typeOf(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: cosiapi.GroupVersion().String(), Kind: kind}
}
