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
	// paramBucket is the driver's ID of a bucket that exists; without it, each claim gets a new one.
	paramBucket = "bucketName"
	// paramBucketClass names the BucketClass of new buckets.
	paramBucketClass = "bucketClassName"
	// paramAccessClass names the BucketAccessClass of the credentials. By it a StorageClass is known to be COSI's.
	paramAccessClass = "bucketAccessClassName"
	// paramPrefixParameter is the driver's parameter that takes what a new bucket's name begins with.
	paramPrefixParameter = "bucketPrefixParameter"
	// paramAllowedConfig lists the keys of additionalConfig that go to the driver as parameters.
	paramAllowedConfig = "allowedAdditionalConfig"
	// paramNamespaces lists the namespaces that may use the StorageClass; without it, all may.
	paramNamespaces = "namespaces"
	// paramRemoved named the driver's parameter for the whole name of a new bucket. A StorageClass that has it is refused:
	// a driver cannot tell which tenant asks for a name, so that a name could lead to another tenant's retained bucket.
	paramRemoved = "bucketNameParameter"
)

// Keys of an ObjectBucket's additionalState, where a decision is kept.
const (
	stateDriver      = "cosi-driver"
	stateAccessClass = "cosi-bucket-access-class"
	stateMode        = "cosi-access-mode"
	stateBucketClass = "cosi-bucket-class"
	stateExisting    = "cosi-existing-bucket"
	stateParameters  = "cosi-parameters"
)

// A decision is what a claim gets. It is made once, kept in the claim's ObjectBucket, which users cannot write, and
// holds whatever becomes of claim and classes.
type decision struct {
	driver      string
	accessClass string
	// mode is what the credential may do with objects.
	mode cosiapi.BucketAccessMode
	// bucketClass is an administrator's; empty for an existing bucket, and where the claim needs a class of its own.
	bucketClass string
	// existing is the driver's ID of an existing bucket.
	existing string
	// parameters are those of the claim's own class, or of the existing bucket.
	parameters map[string]string
	// policy of a new bucket.
	policy cosiapi.DeletionPolicy
}

// ownClass reports whether no class of an administrator describes the bucket.
func (d decision) ownClass() bool { return d.existing == "" && d.bucketClass == "" }

// state is the decision as an ObjectBucket keeps it.
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

// decisionOf reads what state wrote; ok is false for the ObjectBucket of another provisioner.
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

// A problem is why a claim is not served, or not yet.
type problem struct {
	// phase is Pending if it may pass by itself, Failed if somebody must change something, or Released.
	phase objectbucket.Phase
	// message tells a person what happened, to which object, and what to do.
	message string
}

func refuse(format string, args ...any) *problem {
	return &problem{objectbucket.PhaseFailed, fmt.Sprintf(format, args...)}
}

func wait(format string, args ...any) *problem {
	return &problem{objectbucket.PhasePending, fmt.Sprintf(format, args...)}
}

// facts are what a claim refers to; what is missing does not exist.
type facts struct {
	storage *storagev1.StorageClass
	// bucketClass and accessClass are those that the StorageClass names.
	bucketClass *cosiapi.BucketClass
	accessClass *cosiapi.BucketAccessClass
}

// served reports whether a StorageClass is COSI's.
func served(class *storagev1.StorageClass) bool {
	_, named := class.Parameters[paramAccessClass]
	return named && strings.HasSuffix(class.Provisioner, objectbucket.ProvisionerSuffix)
}

// driverOf is the name of the driver of a StorageClass that COSI serves.
func driverOf(class *storagev1.StorageClass) string {
	return strings.TrimSuffix(class.Provisioner, objectbucket.ProvisionerSuffix)
}

// decide returns what a claim gets, or why it gets nothing.
func decide(claim *objectbucket.ObjectBucketClaim, f facts) (decision, *problem) {
	d := decision{driver: driverOf(f.storage), accessClass: f.storage.Parameters[paramAccessClass], policy: policyOf(f.storage)}
	for _, check := range []func(*objectbucket.ObjectBucketClaim, facts) *problem{checkRemoved, checkNames, checkNamespace, checkAccessClass, checkConfig} {
		if p := check(claim, f); p != nil {
			return d, p
		}
	}
	if d.mode = modeOf(f.accessClass); d.mode == "" {
		return d, refuse("BucketAccessClass %q allows no access to objects. Use another StorageClass.", d.accessClass)
	}
	if d.existing = f.storage.Parameters[paramBucket]; d.existing != "" {
		d.policy, d.parameters = cosiapi.DeletionPolicyRetain, maps.Clone(claim.Spec.AdditionalConfig)
		return d, checkExisting(claim, f.storage)
	}
	return d.decideNew(claim, f)
}

// decideNew is decide for a new bucket. It is of the administrator's class, unless the claim or the StorageClass asks
// for more than that says.
func (d decision) decideNew(claim *objectbucket.ObjectBucketClaim, f facts) (decision, *problem) {
	name := f.storage.Parameters[paramBucketClass]
	switch {
	case name == "":
		return d, refuse("StorageClass %q has neither the parameter %s nor %s. An administrator must create it again with one of them.", f.storage.Name, paramBucketClass, paramBucket)
	case f.bucketClass == nil:
		return d, wait("Waiting for BucketClass %q of StorageClass %q to exist. An administrator must create it.", name, f.storage.Name)
	case f.bucketClass.Spec.DriverName != d.driver:
		return d, refuse("BucketClass %q is of driver %q, and StorageClass %q of driver %q. An administrator must correct that.", name, f.bucketClass.Spec.DriverName, f.storage.Name, d.driver)
	}
	d.parameters = maps.Clone(f.bucketClass.Spec.Parameters)
	if d.parameters == nil {
		d.parameters = map[string]string{}
	}
	maps.Copy(d.parameters, claim.Spec.AdditionalConfig)
	if p := d.nameBucket(claim, f.storage); p != nil {
		return d, p
	}
	if d.policy == f.bucketClass.Spec.DeletionPolicy && maps.Equal(d.parameters, f.bucketClass.Spec.Parameters) {
		d.bucketClass, d.parameters = name, nil
	}
	return d, nil
}

// nameBucket passes the claim's prefix to a driver that takes one. The rest of the name is the driver's: claims cannot
// choose a name that another tenant's bucket may have.
func (d decision) nameBucket(claim *objectbucket.ObjectBucketClaim, class *storagev1.StorageClass) *problem {
	prefix, prefixed := claim.Spec.GenerateBucketName, class.Parameters[paramPrefixParameter]
	switch {
	case claim.Spec.BucketName != "":
		return refuse("StorageClass %q does not let claims name their buckets. Remove spec.bucketName and set spec.generateBucketName.", class.Name)
	case prefix == "":
		return refuse("StorageClass %q makes new buckets. Set spec.generateBucketName, or use a StorageClass with an existing bucket.", class.Name)
	case prefixed != "":
		d.parameters[prefixed] = prefix + "-" // what follows is the driver's
	}
	return nil
}

// policyOf is the reclaim policy of a StorageClass in COSI's words. What is not Delete keeps the bucket.
func policyOf(class *storagev1.StorageClass) cosiapi.DeletionPolicy {
	if class.ReclaimPolicy == nil || *class.ReclaimPolicy == corev1.PersistentVolumeReclaimDelete {
		return cosiapi.DeletionPolicyDelete
	}
	return cosiapi.DeletionPolicyRetain
}

// checkRemoved refuses a StorageClass with a parameter that is no longer supported. Ignoring it would let
// allowedAdditionalConfig open the driver's parameter for names.
func checkRemoved(_ *objectbucket.ObjectBucketClaim, f facts) *problem {
	if _, set := f.storage.Parameters[paramRemoved]; set {
		return refuse("StorageClass %q has the parameter %s, which is no longer supported: bucket names are not unique across tenants. An administrator must create the StorageClass again without it.", f.storage.Name, paramRemoved)
	}
	return nil
}

// checkNames refuses a claim whose ObjectBucket could not have its name.
func checkNames(claim *objectbucket.ObjectBucketClaim, _ facts) *problem {
	if name := objectbucket.NameFor(claim.Namespace, claim.Name); len(name) > validation.DNS1123SubdomainMaxLength {
		return refuse("The name of this claim is too long: that of its ObjectBucket would have %d characters, and may have %d.", len(name), validation.DNS1123SubdomainMaxLength)
	}
	return nil
}

// checkNamespace refuses a namespace that the administrator left out.
func checkNamespace(claim *objectbucket.ObjectBucketClaim, f facts) *problem {
	allowed, limited := f.storage.Parameters[paramNamespaces]
	if limited && !slices.Contains(list(allowed), claim.Namespace) {
		return refuse("StorageClass %q is not for this namespace. Use another one, or ask an administrator.", f.storage.Name)
	}
	return nil
}

// checkAccessClass returns what is wrong with the class of the credential.
func checkAccessClass(_ *objectbucket.ObjectBucketClaim, f facts) *problem {
	name, driver := f.storage.Parameters[paramAccessClass], driverOf(f.storage)
	switch {
	case f.accessClass == nil:
		return wait("Waiting for BucketAccessClass %q of StorageClass %q to exist. An administrator must create it.", name, f.storage.Name)
	case f.accessClass.Spec.DriverName != driver:
		return refuse("BucketAccessClass %q is of driver %q, and StorageClass %q of driver %q. An administrator must correct that.", name, f.accessClass.Spec.DriverName, f.storage.Name, driver)
	case f.accessClass.Spec.AuthenticationType == cosiapi.AuthenticationTypeServiceAccount:
		return refuse("BucketAccessClass %q authenticates by ServiceAccount, and an ObjectBucketClaim has keys. An administrator must name another class in StorageClass %q.", name, f.storage.Name)
	}
	return nil
}

// checkConfig refuses keys of additionalConfig that the administrator did not allow. The driver's parameter for prefixes
// is never allowed: a prefix comes from generateBucketName.
func checkConfig(claim *objectbucket.ObjectBucketClaim, f facts) *problem {
	p := f.storage.Parameters
	allowed := slices.DeleteFunc(list(p[paramAllowedConfig]), func(key string) bool {
		return key == p[paramPrefixParameter]
	})
	for _, key := range slices.Sorted(maps.Keys(claim.Spec.AdditionalConfig)) {
		if !slices.Contains(allowed, key) {
			return refuse("StorageClass %q does not allow %q in spec.additionalConfig. Remove it, or ask an administrator.", f.storage.Name, key)
		}
	}
	return nil
}

// checkExisting refuses a claim that asks for another bucket than the one that there is.
func checkExisting(claim *objectbucket.ObjectBucketClaim, class *storagev1.StorageClass) *problem {
	if name := claim.Spec.BucketName; claim.Spec.GenerateBucketName != "" || name != "" && name != class.Parameters[paramBucket] {
		return refuse("StorageClass %q gives access to a bucket that exists. Remove spec.bucketName and spec.generateBucketName, or use a StorageClass that makes buckets.", class.Name)
	}
	return nil
}

// modeOf is the widest access to objects that a class does not disallow.
func modeOf(class *cosiapi.BucketAccessClass) cosiapi.BucketAccessMode {
	for _, mode := range []cosiapi.BucketAccessMode{cosiapi.BucketAccessModeReadWrite, cosiapi.BucketAccessModeReadOnly, cosiapi.BucketAccessModeWriteOnly} {
		if !slices.Contains(class.Spec.DisallowedBucketAccessModes.ObjectData, mode) {
			return mode
		}
	}
	return ""
}

// list reads the values of a parameter, which have commas between them.
func list(text string) []string {
	values := strings.Split(text, ",")
	for i := range values {
		values[i] = strings.TrimSpace(values[i])
	}
	return values
}

// label is the value of objectbucket.ProvisionerLabel, as much of it as a label can hold.
func (d decision) label() string {
	value := d.driver + strings.ReplaceAll(objectbucket.ProvisionerSuffix, "/", "-")
	return strings.TrimRight(value[:min(len(value), validation.LabelValueMaxLength)], "-_.")
}

// nameOf is the name of COSI's objects for a claim: unlike the claim's own name, nobody else can have it.
func nameOf(uid types.UID) string { return "obc-" + string(uid) }

// ownClassOf is the BucketClass for a claim that no other class describes.
func ownClassOf(uid types.UID, d decision) *cosiapi.BucketClass {
	return &cosiapi.BucketClass{
		ObjectMeta: metav1.ObjectMeta{Name: nameOf(uid)},
		Spec:       cosiapi.BucketClassSpec{DriverName: d.driver, DeletionPolicy: d.policy, Parameters: d.parameters},
	}
}

// importedOf is the Bucket for a claim of an existing bucket.
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

// bucketClaimOf is the BucketClaim of a claim.
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

// accessOf is the BucketAccess of a claim.
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

// ownerOf refers to the claim that an object is made for.
func ownerOf(claim *objectbucket.ObjectBucketClaim) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: objectbucket.GroupVersion().String(), Kind: "ObjectBucketClaim", Name: claim.Name, UID: claim.UID,
	}
}

// ownedBy reports whether an object was made for the claim with that UID.
func ownedBy(object metav1.Object, uid types.UID) bool {
	return slices.ContainsFunc(object.GetOwnerReferences(), func(owner metav1.OwnerReference) bool { return owner.UID == uid })
}

// credential is the data of the claim's Secret.
func credential(granted map[string][]byte) map[string][]byte {
	id, secret := granted[secretkeys.S3AccessKeyID], granted[secretkeys.S3AccessSecretKey]
	return map[string][]byte{
		secretkeys.S3AccessKeyID: id, secretkeys.S3AccessSecretKey: secret,
		objectbucket.SecretAccessKeyID: id, objectbucket.SecretAccessKey: secret,
	}
}

// endpointOf is where the bucket is that a Secret of COSI gives access to.
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

// config is the data of the claim's ConfigMap: what the design lists, and what else COSI's Secret says that is no
// credential, such as the endpoint as one URL.
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
