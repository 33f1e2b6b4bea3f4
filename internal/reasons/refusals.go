// SPDX-License-Identifier: Apache-2.0

package reasons

import (
	"slices"
	"strings"
)

// refused explains why a request is refused and what to do. The message itself describes the event.
type refused struct{ why, do string }

// Refusals returns the texts of all refusals, by message.
func Refusals() []Text {
	var all []Text
	for _, texts := range []map[string]refused{ofSpecs(), ofStatus(), ofPolicies()} {
		for message, text := range texts {
			all = append(all, Text{Kind: Refusal, Reason: message, Why: text.why, Do: text.do})
		}
	}
	slices.SortFunc(all, func(a, b Text) int { return strings.Compare(a.Reason, b.Reason) })
	return all
}

// messagesIn returns the refusals and errors that a text contains. A text of several words also matches a refusal that
// contains it. A single word does not: it is more likely a misspelt reason.
func messagesIn(said string) []Text {
	said = strings.Join(strings.Fields(said), " ")
	var found []Text
	for _, text := range Refusals() {
		if strings.Contains(said, text.Reason) || strings.Contains(said, " ") && strings.Contains(text.Reason, said) {
			found = append(found, text)
		}
	}
	for _, text := range Errors() {
		if is(said, text.Reason) {
			found = append(found, text)
		}
	}
	return found
}

// ofSpecs returns the texts of the CRDs' refusals of a spec, by message.
func ofSpecs() map[string]refused {
	const (
		copied       = "Objects of the class have a copy of its settings, so a change would not affect them."
		anotherClass = "Create a class of another name, or delete this one and create it again. Existing objects keep their settings."
	)
	fixed := refused{
		"The driver created the bucket with this value. COSI does not send changes to the driver.",
		"Leave this Bucket unchanged, and create another one with the new value.",
	}
	return map[string]refused{
		"parameters: a key must not be empty": {
			"A driver identifies its parameters by their names.", "Name the parameter or remove it.",
		},
		"parameters: keys and values together must not be longer than 65536 characters": {
			"Parameters are copied to each Bucket and BucketAccess, and sent with calls to the driver.",
			"Remove parameters that the driver does not document, and shorten the others.",
		},
		"the spec of a BucketAccessClass is immutable: create another class, or delete this one and create it again": {copied, anotherClass},
		"the spec of a BucketClass is immutable: create another class, or delete this one and create it again":       {copied, anotherClass},
		"the spec of a BucketClaim is immutable: create another claim": {
			"The bucket was created for the current spec.",
			"Create a claim of another name. Deleting this claim can delete its data: that depends on the deletionPolicy of its Bucket.",
		},
		"the spec of a BucketAccess is immutable: create another access, and delete this one": {
			"The credential was granted for the current spec.",
			"Create an access of another name, with another accessSecretName. Change the Pods to use its Secret, then delete this access.",
		},
		"exactly one of bucketClassName and existingBucketName must be set": {
			"A claim requests either a new bucket or a Bucket that an administrator has imported.",
			"Set bucketClassName for a new bucket, or existingBucketName for an imported one, and remove the other.",
		},
		"every accessSecretName may be used only once": {
			"Each bucket of an access has its own Secret.", "Give each entry of bucketClaims a different accessSecretName.",
		},
		"at least one access mode must be set": {
			"The access sets no mode in any of its three categories.",
			"Set objectData, objectMetadata or bucketMetadata.",
		},
		"deletionPolicy must be Retain when existingBucketID is set: COSI does not delete a bucket that it did not create": {
			"The bucket existed before, and its data may belong to other users.",
			"Set deletionPolicy: Retain. To delete the bucket later, an administrator must delete it in the backend.",
		},
		"driverName is immutable":       fixed,
		"existingBucketID is immutable": fixed,
		"parameters is immutable":       fixed,
		"protocols is immutable":        fixed,
		"name and namespace of bucketClaimRef are immutable": {
			"A Bucket always belongs to the same claim, so that no other user can get its data.",
			"To give an imported bucket to another claim, delete the Bucket, which keeps the data in the backend. Then import the bucket again for that claim.",
		},
		"bucketClaimRef.uid may not be changed or removed once it is set": {
			"The Bucket is bound to one claim. A later claim of the same name is a different claim.",
			"To give a retained bucket to another claim, check that deletionPolicy is Retain, note status.bucketID, delete the Bucket, and import the bucket by that ID.",
		},
	}
}

// ofStatus returns the texts of the CRDs' refusals of a status, by message.
func ofStatus() map[string]refused {
	const leave = "Do not edit the status, and do not write the status of a backup to an object that is in use."
	once := refused{"COSI needs this value to find the object's resources in the backend.", leave}
	together := refused{"The Controller hands an access off to the sidecar in one write. The sidecar must not see an incomplete hand-off.", leave}
	return map[string]refused{
		"accountID may not be set before driverName":                                           together,
		"driverName, authenticationType and accessedBuckets must be set together":              together,
		"status.accessedBuckets may not be changed or removed once it is set":                  once,
		"status.accountID may not be changed or removed once it is set":                        once,
		"status.authenticationType may not be changed or removed once it is set":               once,
		"status.boundBucketName may not be changed or removed once it is set":                  once,
		"status.bucketID may not be changed or removed once it is set":                         once,
		"status.driverName may not be changed or removed once it is set":                       once,
		"status.disallowedBucketAccessModes may not be changed once it is set":                 {"The field records the modes that the class disallowed when the access was granted.", leave},
		"status.parameters may not be changed once status.driverName is set":                   {"The driver receives the same parameters in every call for an access.", leave},
		"status.cleanup may not be removed once it is set, and Finished may not be taken back": {"The Controller completes a deletion when the field is Finished. A finished cleanup cannot be undone.", leave},
		"status.boundBucketName must equal spec.existingBucketName": {
			"The claim requests this Bucket.", "Do not edit the status. For another Bucket, create another claim.",
		},
		"status.bucketID must equal spec.existingBucketID": {
			"The Bucket represents this backend bucket.",
			"Do not edit the status. For another backend bucket, create another Bucket.",
		},
	}
}

// ofPolicies returns the texts of the admission policies' refusals, by message or by the expression that builds the
// message.
func ofPolicies() map[string]refused {
	const (
		confined  = "The component does not need to do this, so the policy denies it to attackers who control the component."
		uninstall = "Follow the steps to uninstall in docs/howto/deploy.md."
		compare   = "An administrator must compare the component's programs and versions with the release. Users must not use the component's account."
	)
	otherClass := refused{
		"An administrator defines the classes that each namespace may use.",
		"Choose another class, or ask an administrator to add it to the annotation of the namespace.",
	}
	return map[string]refused{
		`'This namespace may not use BucketClass "' + object.spec.bucketClassName + '". An administrator must add it to the annotation cooper.dev/bucket-classes of the namespace.'`:                    otherClass,
		`'This namespace may not use BucketAccessClass "' + object.spec.bucketAccessClassName + '". An administrator must add it to the annotation cooper.dev/bucket-access-classes of the namespace.'`: otherClass,
		"A sidecar may change only Buckets, BucketAccesses and access Secrets of its own driver. The policy identifies a sidecar by its permission to hold the driver's Lease in cosi-system: apply the Role and RoleBinding of the driver's lease.yaml. If the sidecar runs with --leader-namespace, also replace cosi-system by that namespace in the policy cosi-sidecar-driver.": {
			"The account of the sidecar does not have permission to hold the Lease of the driver.",
			"An administrator must apply the Role and RoleBinding of the driver's lease.yaml, in the namespace that the policy names.",
		},
		"A sidecar may write only Secrets of BucketAccesses, and the entries of its driver's credential store in its own namespace.": {confined, compare},
		"Deleting this CustomResourceDefinition deletes every object of its kind, and Buckets with deletionPolicy Delete lose their data. Delete all BucketAccesses and BucketClaims first. Then set the annotation cooper.dev/allow-deletion=true on the CustomResourceDefinition and delete it again.": {
			"Without this protection, a tool that prunes resources, or kubectl delete -k, would delete all data.", uninstall,
		},
		"Deleting this CustomResourceDefinition deletes every object of its kind, and the data of those with reclaimPolicy Delete. Delete all ObjectBucketClaims first. Then set the annotation cooper.dev/allow-deletion=true on the CustomResourceDefinition and delete it again.": {
			"Without this protection, a tool that prunes resources, or kubectl delete -k, would delete all data.", uninstall,
		},
		"cosi-obc may create and delete only Buckets that import existing backend buckets.":                 {confined, compare},
		"cosi-obc may change only its own annotations of Buckets that were created for ObjectBucketClaims.": {confined, compare},
		"cosi-obc may write only Secrets of type Opaque.":                                                   {confined, compare},
		"cosi-obc may write only objects that an ObjectBucketClaim owns.":                                   {confined, compare},
		"The names of COSI objects that cosi-obc creates must begin with obc-.":                             {confined, compare},
		"The finalizer objectstorage.k8s.io/protection belongs to COSI, which removes it after the cleanup. If a deleted object remains, read its conditions and Events. If this is an exported manifest, remove metadata.finalizers from it; a full replacement must keep the current finalizer. Administrators and restore tools need the verb override (ClusterRole cosi-override).": {
			"Without the finalizer, the object would be deleted and its bucket or credential would remain in the backend.",
			"Run kubectl cosi status to see what the deletion waits for. In a manifest for kubectl apply, leave metadata.finalizers out. With kubectl replace, keep the current value.",
		},
		"Annotations of objectstorage.k8s.io belong to COSI, as do cooper.dev/access-uid and cooper.dev/driver. If this is an exported manifest, remove them from it; a full replacement must keep the current ones. Administrators and restore tools need the verb override (ClusterRole cosi-override).": {
			"COSI records in these annotations which objects are in use, and the driver and the access of each Secret.",
			"In a manifest for kubectl apply, leave these annotations out. With kubectl replace, keep the current ones. A restore tool needs the ClusterRole cosi-override.",
		},
		"Only COSI creates Secrets with the finalizer objectstorage.k8s.io/protection. Remove metadata.finalizers and metadata.ownerReferences from this copy of an access Secret. Administrators and restore tools need the verb override (ClusterRole cosi-override).": {
			"No BucketAccess would ever release the copy, so neither it nor its namespace could be deleted.",
			"Remove metadata.finalizers, ownerReferences, labels and annotations from the copy. COSI does not update a copy when the credential changes.",
		},
	}
}
