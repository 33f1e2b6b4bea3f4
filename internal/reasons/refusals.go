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
		copied       = "What was made by the class has a copy of its settings, which a change would not reach."
		anotherClass = "Create a class of another name, or delete this one and create it again. What was made by it keeps its settings."
	)
	fixed := refused{
		"The driver made the bucket by it, and would not notice a change.",
		"Leave the Bucket as it is, and create another one for what differs.",
	}
	return map[string]refused{
		"parameters: a key must not be empty": {
			"A driver knows its parameters by their names.", "Name the parameter or remove it.",
		},
		"parameters: keys and values together must not be longer than 65536 characters": {
			"Parameters are copied to each Bucket and BucketAccess, and sent with calls to the driver.",
			"Leave out what the driver does not document, and shorten the rest.",
		},
		"the spec of a BucketAccessClass is immutable: create another class, or delete this one and create it again": {copied, anotherClass},
		"the spec of a BucketClass is immutable: create another class, or delete this one and create it again":       {copied, anotherClass},
		"the spec of a BucketClaim is immutable: create another claim": {
			"The bucket was made for the spec as it is.",
			"Create a claim of another name. Delete this one only if its data may go: the deletionPolicy of its Bucket decides.",
		},
		"the spec of a BucketAccess is immutable: create another access, and delete this one": {
			"The credential was granted for the spec as it is.",
			"Create an access of another name, with another accessSecretName, let the Pods use its Secret, and delete this one.",
		},
		"exactly one of bucketClassName and existingBucketName must be set": {
			"A claim asks either for a new bucket or for a Bucket that an administrator has imported.",
			"Set bucketClassName for a new bucket, or existingBucketName for an imported one, and remove the other.",
		},
		"every accessSecretName may be used only once": {
			"Each bucket of an access has a Secret of its own.", "Give each entry of bucketClaims another accessSecretName.",
		},
		"at least one access mode must be set": {
			"Without a mode, an access would allow nothing.",
			"Set objectData, objectMetadata or bucketMetadata, or leave out the field that holds them.",
		},
		"deletionPolicy must be Retain when existingBucketID is set: COSI does not delete a bucket that it did not create": {
			"The bucket was there before, and its data may be somebody's.",
			"Set deletionPolicy: Retain. An administrator deletes the bucket in the backend if it is to go.",
		},
		"driverName is immutable":       fixed,
		"existingBucketID is immutable": fixed,
		"parameters is immutable":       fixed,
		"protocols is immutable":        fixed,
		"name and namespace of bucketClaimRef are immutable": {
			"A Bucket belongs to one claim for ever, so that nobody comes by the data of another.",
			"To give an imported bucket to another claim, delete the Bucket, whose data stay in the backend, and import it again for that claim.",
		},
		"bucketClaimRef.uid may not be changed or removed once it is set": {
			"The Bucket is bound to one claim, and a later claim of the same name is not that one.",
			"To give a retained bucket to another claim, see that deletionPolicy is Retain, note status.bucketID, delete the Bucket, and import the bucket by that ID.",
		},
	}
}

// ofStatus returns the texts of the CRDs' refusals of a status, by message.
func ofStatus() map[string]refused {
	const leave = "Leave the status to COSI. Do not write one of a backup over that of an object that is in use."
	once := refused{"COSI finds by it what the object has in the backend, and would lose that.", leave}
	together := refused{"The Controller hands an access to the sidecar in one step, and the sidecar must not see half of it.", leave}
	return map[string]refused{
		"accountID may not be set before driverName":                                           together,
		"driverName, authenticationType and accessedBuckets must be set together":              together,
		"status.accessedBuckets may not be changed or removed once it is set":                  once,
		"status.accountID may not be changed or removed once it is set":                        once,
		"status.authenticationType may not be changed or removed once it is set":               once,
		"status.boundBucketName may not be changed or removed once it is set":                  once,
		"status.bucketID may not be changed or removed once it is set":                         once,
		"status.driverName may not be changed or removed once it is set":                       once,
		"status.disallowedBucketAccessModes may not be changed once it is set":                 {"It is what the class forbade when the access was granted.", leave},
		"status.parameters may not be changed once status.driverName is set":                   {"The driver gets the same parameters in every call for an access.", leave},
		"status.cleanup may not be removed once it is set, and Finished may not be taken back": {"The Controller ends a deletion by it: what was cleaned up stays so.", leave},
		"status.boundBucketName must equal spec.existingBucketName": {
			"The claim asks for that one Bucket.", "Leave the status to COSI. For another Bucket, create another claim.",
		},
		"status.bucketID must equal spec.existingBucketID": {
			"The Bucket stands for that one bucket of the backend.",
			"Leave the status to COSI. For another bucket, create another Bucket.",
		},
	}
}

// ofPolicies returns the texts of the admission policies' refusals, by message or by the expression that builds the
// message.
func ofPolicies() map[string]refused {
	const (
		confined  = "COSI needs no more, and who takes over one of its components is not to get it."
		uninstall = "Follow the steps of an uninstallation in docs/howto/deploy.md."
		compare   = "An administrator must compare what runs there with the release, in its version, too. A person must use an account of their own."
	)
	otherClass := refused{
		"An administrator allows each namespace its classes.",
		"Choose another class, or ask an administrator to add it to the annotation of the namespace.",
	}
	return map[string]refused{
		`'This namespace may not use BucketClass "' + object.spec.bucketClassName + '". An administrator must add it to the annotation cooper.dev/bucket-classes of the namespace.'`:                    otherClass,
		`'This namespace may not use BucketAccessClass "' + object.spec.bucketAccessClassName + '". An administrator must add it to the annotation cooper.dev/bucket-access-classes of the namespace.'`: otherClass,
		"A sidecar may change only Buckets, BucketAccesses and access Secrets of its own driver, whose Lease in cosi-system it may hold. Apply the driver's lease.yaml with the Role to hold it and a RoleBinding. Where --leader-namespace names another namespace, write that one for cosi-system in the policy cosi-sidecar-driver, too.": {
			"The account of the sidecar has no right to the Lease of the driver, by which the policy knows whose it is.",
			"An administrator must apply the Role and RoleBinding of the driver's lease.yaml, in the namespace that the policy names.",
		},
		"A sidecar may write only Secrets of BucketAccesses, and the entries of its driver's credential store in its own namespace.": {confined, compare},
		"Deleting this CustomResourceDefinition deletes every object of its kind, and Buckets with deletionPolicy Delete lose their data. Delete all BucketAccesses and BucketClaims first. Then set the annotation cooper.dev/allow-deletion=true on the CustomResourceDefinition and delete it again.": {
			"A tool that prunes what it has installed, or kubectl delete -k, would otherwise delete all data.", uninstall,
		},
		"Deleting this CustomResourceDefinition deletes every object of its kind, and with reclaimPolicy Delete their data. Delete all ObjectBucketClaims first. Then set the annotation cooper.dev/allow-deletion=true on the CustomResourceDefinition and delete it again.": {
			"A tool that prunes what it has installed, or kubectl delete -k, would otherwise delete all data.", uninstall,
		},
		"cosi-obc may make and delete only Buckets that stand for buckets which exist.": {confined, compare},
		"cosi-obc may write only Secrets of type Opaque.":                               {confined, compare},
		"cosi-obc may write only what an ObjectBucketClaim owns.":                       {confined, compare},
		"Objects of COSI that cosi-obc makes have names that begin with obc-.":          {confined, compare},
		"The finalizer objectstorage.k8s.io/protection belongs to COSI, which removes it after the cleanup. If a deleted object remains, read its conditions and Events. If this is an exported manifest, remove metadata.finalizers from it; a full replacement must keep the current finalizer. Administrators and restore tools need the verb override (ClusterRole cosi-override).": {
			"Without the finalizer, the object would be deleted and its bucket or credential would remain in the backend.",
			"Run kubectl cosi status to see what the deletion waits for. In a manifest for kubectl apply, leave metadata.finalizers out. With kubectl replace, keep the current value.",
		},
		"Annotations of objectstorage.k8s.io belong to COSI, as do cooper.dev/access-uid and cooper.dev/driver. If this is an exported manifest, remove them from it; a full replacement must keep the current ones. Administrators and restore tools need the verb override (ClusterRole cosi-override).": {
			"COSI records there which objects are in use and which driver and access they belong to.",
			"In a manifest for kubectl apply, leave these annotations out. With kubectl replace, keep the current ones. A restore tool needs the ClusterRole cosi-override.",
		},
		"Only COSI creates Secrets with the finalizer objectstorage.k8s.io/protection. Remove metadata.finalizers and metadata.ownerReferences from this copy of an access Secret. Administrators and restore tools need the verb override (ClusterRole cosi-override).": {
			"No BucketAccess would ever release the copy, so neither it nor its namespace could be deleted.",
			"Remove metadata.finalizers, ownerReferences, labels and annotations from the copy. COSI does not update a copy when the credential changes.",
		},
	}
}
