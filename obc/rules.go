// SPDX-License-Identifier: Apache-2.0

package obc

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/cooper-cosi/cooper/api/objectbucket"
	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/secretkeys"
)

// Parameters of a StorageClass that COSI serves.
const (
	// paramBucket is the driver's ID of an existing bucket. Without it, each claim gets a new bucket.
	paramBucket = "bucketName"
	// paramBucketClass names the BucketClass of new buckets.
	paramBucketClass = "bucketClassName"
	// paramAccessClass names the BucketAccessClass of the credentials. COSI serves only StorageClasses that have it.
	paramAccessClass = "bucketAccessClassName"
	// paramPrefixParameter names the driver parameter for the prefix of a new bucket's name.
	paramPrefixParameter = "bucketPrefixParameter"
	// paramAllowedConfig lists the allowed keys of additionalConfig, each optionally followed by "=" and the driver
	// parameter that it sets.
	paramAllowedConfig = "allowedAdditionalConfig"
	// paramNamespaces lists the namespaces that may use the StorageClass. Without it, all namespaces may.
	paramNamespaces = "namespaces"
	// paramRemoved used to name the driver parameter for the full name of a new bucket. StorageClasses that set it are
	// refused: the driver cannot check which tenant requests a name, so a name could give access to another tenant's
	// retained bucket.
	paramRemoved = "bucketNameParameter"
)

// Keys of the ObjectBucket's additionalState, which records a decision.
const (
	stateDriver      = "cosi-driver"
	stateAccessClass = "cosi-bucket-access-class"
	stateMode        = "cosi-access-mode"
	stateBucketClass = "cosi-bucket-class"
	stateExisting    = "cosi-existing-bucket"
	stateParameters  = "cosi-parameters"
)

// A decision describes what a claim gets. It is recorded in the claim's ObjectBucket, which users cannot write. Later
// changes of claim and classes do not affect it, except if the bucket was refused and the claim then changed.
type decision struct {
	driver      string
	accessClass string
	// mode is the access mode of the credential for object data.
	mode cosiapi.BucketAccessMode
	// bucketClass is the administrator's BucketClass. It is empty for an existing bucket and if the claim needs its
	// own class.
	bucketClass string
	// existing is the driver's ID of an existing bucket.
	existing string
	// parameters are those of the claim's own class or of the existing bucket.
	parameters map[string]string
	// policy is the deletion policy of a new bucket.
	policy cosiapi.DeletionPolicy
}

// ownClass reports whether the claim needs a BucketClass of its own.
func (d decision) ownClass() bool { return d.existing == "" && d.bucketClass == "" }

// state returns the decision in the form that is stored in an ObjectBucket.
func (d decision) state() map[string]string {
	state := map[string]string{stateDriver: d.driver, stateAccessClass: d.accessClass, stateMode: string(d.mode)}
	if d.bucketClass != "" {
		state[stateBucketClass] = d.bucketClass
	}
	if d.existing != "" {
		state[stateExisting] = d.existing
	}
	if len(d.parameters) > 0 {
		text, _ := json.Marshal(d.parameters) //nolint:errchkjson // strings
		state[stateParameters] = string(text)
	}
	return state
}

// decisionOf reads a decision that state wrote; ok is false for the ObjectBucket of another provisioner.
func decisionOf(bucket *objectbucket.ObjectBucket) (d decision, ok bool) {
	state := bucket.Spec.AdditionalState
	d = decision{
		driver: state[stateDriver], accessClass: state[stateAccessClass], mode: cosiapi.BucketAccessMode(state[stateMode]),
		bucketClass: state[stateBucketClass], existing: state[stateExisting], policy: cosiapi.DeletionPolicy(bucket.Spec.ReclaimPolicy),
	}
	if text := state[stateParameters]; text != "" && json.Unmarshal([]byte(text), &d.parameters) != nil {
		return d, false
	}
	return d, d.driver != "" && bucket.Spec.ClaimRef != nil
}

// A problem explains why a claim cannot be served, or not yet.
type problem struct {
	// phase is Pending if the problem may resolve without a change by a user, Failed if a change is needed, or
	// Released.
	phase objectbucket.Phase
	// message is for users: what happened, to which object, and what to do.
	message string
	// stalled reports that a change by a user is needed although the phase is Pending.
	stalled bool
	// unready is the reason why a claim in phase Bound is not ready, or empty.
	unready string
}

func refuse(format string, args ...any) *problem {
	return &problem{phase: objectbucket.PhaseFailed, message: fmt.Sprintf(format, args...)}
}

func wait(format string, args ...any) *problem {
	return &problem{phase: objectbucket.PhasePending, message: fmt.Sprintf(format, args...)}
}

// facts are the objects that a claim refers to; nil if one does not exist.
type facts struct {
	storage *storagev1.StorageClass
	// bucketClass and accessClass are the classes that the StorageClass names.
	bucketClass *cosiapi.BucketClass
	accessClass *cosiapi.BucketAccessClass
}

// served reports whether COSI serves a StorageClass.
func served(class *storagev1.StorageClass) bool {
	_, named := class.Parameters[paramAccessClass]
	return named && strings.HasSuffix(class.Provisioner, objectbucket.ProvisionerSuffix)
}

// driverOf returns the driver name of a StorageClass that COSI serves.
func driverOf(class *storagev1.StorageClass) string {
	return strings.TrimSuffix(class.Provisioner, objectbucket.ProvisionerSuffix)
}

// decide returns what a claim gets, or the problem that prevents it.
func decide(claim *objectbucket.ObjectBucketClaim, f facts) (decision, *problem) {
	d := decision{driver: driverOf(f.storage), accessClass: f.storage.Parameters[paramAccessClass], policy: policyOf(f.storage)}
	for _, check := range []func(*objectbucket.ObjectBucketClaim, facts) *problem{checkRemoved, checkNames, checkNamespace, checkAccessClass} {
		if p := check(claim, f); p != nil {
			return d, p
		}
	}
	config, p := settingsOf(claim, f.storage)
	if p != nil {
		return d, p
	}
	if d.mode = modeOf(f.accessClass); d.mode == "" {
		return d, refuse("BucketAccessClass %q allows no access to objects. Use another StorageClass.", d.accessClass)
	}
	if d.existing = f.storage.Parameters[paramBucket]; d.existing != "" {
		if d.policy = cosiapi.DeletionPolicyRetain; len(config.values) > 0 {
			d.parameters = config.values
		}
		return d, checkExisting(claim, f.storage)
	}
	return d.decideNew(claim, f, config)
}

// decideNew decides for a new bucket. The administrator's BucketClass is used if neither the claim nor the
// StorageClass asks for anything that differs from it.
func (d decision) decideNew(claim *objectbucket.ObjectBucketClaim, f facts, config settings) (decision, *problem) {
	name := f.storage.Parameters[paramBucketClass]
	switch {
	case name == "":
		return d, refuse("StorageClass %q has neither the parameter %s nor %s. An administrator must create it again with one of them.", f.storage.Name, paramBucketClass, paramBucket)
	case f.bucketClass == nil:
		return d, wait("Waiting for BucketClass %q of StorageClass %q to exist. An administrator must create it.", name, f.storage.Name)
	case f.bucketClass.Spec.DriverName != d.driver:
		return d, refuse("BucketClass %q belongs to driver %q, but StorageClass %q belongs to driver %q. An administrator must correct one of them.", name, f.bucketClass.Spec.DriverName, f.storage.Name, d.driver)
	}
	d.parameters = maps.Clone(f.bucketClass.Spec.Parameters)
	if d.parameters == nil {
		d.parameters = map[string]string{}
	}
	if p := config.checkOverrides(f.storage, d.parameters); p != nil {
		return d, p
	}
	maps.Copy(d.parameters, config.values)
	if p := d.nameBucket(claim, f.storage); p != nil {
		return d, p
	}
	if d.policy == f.bucketClass.Spec.DeletionPolicy && maps.Equal(d.parameters, f.bucketClass.Spec.Parameters) {
		d.bucketClass, d.parameters = name, nil
	}
	return d, nil
}

// nameBucket passes the claim's prefix to drivers that accept one. The driver chooses the rest of the name, so a claim
// cannot choose the name of another tenant's bucket.
func (d decision) nameBucket(claim *objectbucket.ObjectBucketClaim, class *storagev1.StorageClass) *problem {
	prefix, prefixed := claim.Spec.GenerateBucketName, class.Parameters[paramPrefixParameter]
	switch {
	case claim.Spec.BucketName != "":
		return refuse("StorageClass %q does not allow claims to choose the bucket name. Remove spec.bucketName and set spec.generateBucketName.", class.Name)
	case prefix == "":
		return refuse("StorageClass %q creates new buckets. Set spec.generateBucketName, or use a StorageClass with an existing bucket.", class.Name)
	case prefixed != "":
		d.parameters[prefixed] = prefix + "-" // the driver appends the rest
	}
	return nil
}

// policyOf maps the reclaim policy of a StorageClass to a deletion policy. Any policy other than Delete keeps the
// bucket.
func policyOf(class *storagev1.StorageClass) cosiapi.DeletionPolicy {
	if class.ReclaimPolicy == nil || *class.ReclaimPolicy == corev1.PersistentVolumeReclaimDelete {
		return cosiapi.DeletionPolicyDelete
	}
	return cosiapi.DeletionPolicyRetain
}

// checkRemoved refuses a StorageClass with a parameter that is no longer supported. If it were ignored,
// allowedAdditionalConfig could let claims set the driver parameter for bucket names.
func checkRemoved(_ *objectbucket.ObjectBucketClaim, f facts) *problem {
	if _, set := f.storage.Parameters[paramRemoved]; set {
		return refuse("StorageClass %q has the parameter %s, which is no longer supported: bucket names are not unique across tenants. An administrator must create the StorageClass again without it.", f.storage.Name, paramRemoved)
	}
	return nil
}

// checkNames refuses a claim whose name is too long for the name of its ObjectBucket.
func checkNames(claim *objectbucket.ObjectBucketClaim, _ facts) *problem {
	if name := objectbucket.NameFor(claim.Namespace, claim.Name); len(name) > validation.DNS1123SubdomainMaxLength {
		return refuse("The name of this claim is too long: the name of its ObjectBucket would have %d characters, but the maximum is %d. Create the claim again with a shorter name.", len(name), validation.DNS1123SubdomainMaxLength)
	}
	return nil
}

// checkNamespace refuses a claim from a namespace that may not use the StorageClass.
func checkNamespace(claim *objectbucket.ObjectBucketClaim, f facts) *problem {
	allowed, limited := f.storage.Parameters[paramNamespaces]
	if limited && !slices.Contains(list(allowed), claim.Namespace) {
		return refuse("StorageClass %q is not allowed in this namespace. Use another one, or ask an administrator.", f.storage.Name)
	}
	return nil
}

// checkAccessClass checks the BucketAccessClass of the credential.
func checkAccessClass(_ *objectbucket.ObjectBucketClaim, f facts) *problem {
	name, driver := f.storage.Parameters[paramAccessClass], driverOf(f.storage)
	switch {
	case f.accessClass == nil:
		return wait("Waiting for BucketAccessClass %q of StorageClass %q to exist. An administrator must create it.", name, f.storage.Name)
	case f.accessClass.Spec.DriverName != driver:
		return refuse("BucketAccessClass %q belongs to driver %q, but StorageClass %q belongs to driver %q. An administrator must correct one of them.", name, f.accessClass.Spec.DriverName, f.storage.Name, driver)
	case f.accessClass.Spec.AuthenticationType == cosiapi.AuthenticationTypeServiceAccount:
		return refuse("BucketAccessClass %q authenticates by ServiceAccount, but an ObjectBucketClaim needs keys. An administrator must set another class in StorageClass %q.", name, f.storage.Name)
	}
	return nil
}

// checkExisting refuses a claim that requests a new bucket or another bucket from a StorageClass with an existing one.
func checkExisting(claim *objectbucket.ObjectBucketClaim, class *storagev1.StorageClass) *problem {
	if name := claim.Spec.BucketName; claim.Spec.GenerateBucketName != "" || name != "" && name != class.Parameters[paramBucket] {
		return refuse("StorageClass %q gives access to an existing bucket. Remove spec.bucketName and spec.generateBucketName, or use a StorageClass that creates buckets.", class.Name)
	}
	return nil
}

// modeOf returns the widest access mode for object data that a class does not disallow, or an empty string.
func modeOf(class *cosiapi.BucketAccessClass) cosiapi.BucketAccessMode {
	for _, mode := range []cosiapi.BucketAccessMode{cosiapi.BucketAccessModeReadWrite, cosiapi.BucketAccessModeReadOnly, cosiapi.BucketAccessModeWriteOnly} {
		if !slices.Contains(class.Spec.DisallowedBucketAccessModes.ObjectData, mode) {
			return mode
		}
	}
	return ""
}

// list splits a comma-separated parameter.
func list(text string) []string {
	values := strings.Split(text, ",")
	for i := range values {
		values[i] = strings.TrimSpace(values[i])
	}
	return values
}

// label returns the value of objectbucket.ProvisionerLabel, truncated to the maximum length of a label.
func (d decision) label() string {
	value := d.driver + strings.ReplaceAll(objectbucket.ProvisionerSuffix, "/", "-")
	return strings.TrimRight(value[:min(len(value), validation.LabelValueMaxLength)], "-_.")
}

// nameOf returns the name of COSI's objects for a claim. Unlike the claim's name, it is unique.
func nameOf(uid types.UID) string { return "obc-" + string(uid) }

// ownClassOf returns the BucketClass for a claim that needs its own.
func ownClassOf(uid types.UID, d decision) *cosiapi.BucketClass {
	return &cosiapi.BucketClass{
		ObjectMeta: metav1.ObjectMeta{Name: nameOf(uid)},
		Spec:       cosiapi.BucketClassSpec{DriverName: d.driver, DeletionPolicy: d.policy, Parameters: d.parameters},
	}
}

// importedOf returns the Bucket for a claim of an existing bucket.
func importedOf(claim *objectbucket.ObjectBucketClaim, d decision) *cosiapi.Bucket {
	return &cosiapi.Bucket{
		ObjectMeta: metav1.ObjectMeta{Name: nameOf(claim.UID), Annotations: map[string]string{claimAnnotation: claim.Namespace + "/" + claim.Name}},
		Spec: cosiapi.BucketSpec{
			DriverName: d.driver, DeletionPolicy: cosiapi.DeletionPolicyRetain, Protocols: []cosiapi.Protocol{cosiapi.ProtocolS3},
			Parameters: d.parameters, ExistingBucketID: d.existing,
			BucketClaimRef: cosiapi.BucketClaimReference{Namespace: claim.Namespace, Name: nameOf(claim.UID)},
		},
	}
}

// bucketClaimOf returns the BucketClaim of a claim.
func bucketClaimOf(claim *objectbucket.ObjectBucketClaim, d decision) *cosiapi.BucketClaim {
	wanted := &cosiapi.BucketClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: claim.Namespace, Name: nameOf(claim.UID), OwnerReferences: []metav1.OwnerReference{ownerOf(claim)}},
		Spec:       cosiapi.BucketClaimSpec{BucketClassName: d.bucketClass, Protocols: []cosiapi.Protocol{cosiapi.ProtocolS3}},
	}
	switch {
	case d.existing != "":
		wanted.Spec.ExistingBucketName = nameOf(claim.UID)
	case d.ownClass():
		wanted.Spec.BucketClassName = nameOf(claim.UID)
	}
	return wanted
}

// accessOf returns the BucketAccess of a claim.
func accessOf(claim *objectbucket.ObjectBucketClaim, d decision) *cosiapi.BucketAccess {
	name := nameOf(claim.UID)
	return &cosiapi.BucketAccess{
		ObjectMeta: metav1.ObjectMeta{Namespace: claim.Namespace, Name: name, OwnerReferences: []metav1.OwnerReference{ownerOf(claim)}},
		Spec: cosiapi.BucketAccessSpec{
			BucketAccessClassName: d.accessClass, Protocol: cosiapi.ProtocolS3,
			BucketClaims: []cosiapi.BucketClaimAccess{{
				BucketClaimName: name, AccessSecretName: name, AccessModes: cosiapi.BucketAccessModes{ObjectData: d.mode},
			}},
		},
	}
}

// ownerOf returns an owner reference to the claim.
func ownerOf(claim *objectbucket.ObjectBucketClaim) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: objectbucket.GroupVersion().String(), Kind: "ObjectBucketClaim", Name: claim.Name, UID: claim.UID,
	}
}

// ownedBy reports whether an object is owned by the claim with that UID.
func ownedBy(object metav1.Object, uid types.UID) bool {
	return slices.ContainsFunc(object.GetOwnerReferences(), func(owner metav1.OwnerReference) bool { return owner.UID == uid })
}

// credential returns the data of the claim's Secret.
func credential(granted map[string][]byte) map[string][]byte {
	id, secret := granted[secretkeys.S3AccessKeyID], granted[secretkeys.S3AccessSecretKey]
	return map[string][]byte{
		secretkeys.S3AccessKeyID: id, secretkeys.S3AccessSecretKey: secret,
		objectbucket.SecretAccessKeyID: id, objectbucket.SecretAccessKey: secret,
	}
}

// endpointOf returns the location of the bucket from the data of a COSI Secret.
func endpointOf(granted map[string][]byte) *objectbucket.Endpoint {
	e := &objectbucket.Endpoint{BucketName: string(granted[secretkeys.S3BucketName]), Region: string(granted[secretkeys.S3Region])}
	at, err := url.Parse(string(granted[secretkeys.S3Endpoint]))
	if err != nil {
		return e
	}
	e.BucketHost = at.Hostname()
	switch port, err := strconv.Atoi(at.Port()); {
	case err == nil:
		e.BucketPort = port
	case at.Scheme == "http":
		e.BucketPort = 80
	default:
		e.BucketPort = 443
	}
	return e
}

// config returns the data of the claim's ConfigMap: the keys of the original design, and the other values of COSI's
// Secret that are not credentials, such as the endpoint as one URL.
func config(granted map[string][]byte) map[string]string {
	e := endpointOf(granted)
	data := map[string]string{
		objectbucket.ConfigHost: e.BucketHost, objectbucket.ConfigPort: strconv.Itoa(e.BucketPort), objectbucket.ConfigName: e.BucketName,
		objectbucket.ConfigRegion: e.Region, objectbucket.ConfigSubRegion: e.SubRegion,
	}
	for _, key := range []string{secretkeys.S3Endpoint, secretkeys.S3Region, secretkeys.S3AddressingStyle, secretkeys.CertificateAuthority} {
		if value := string(granted[key]); value != "" {
			data[key] = value
		}
	}
	return data
}
