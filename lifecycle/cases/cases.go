// SPDX-License-Identifier: Apache-2.0

// Package cases lists the cases: the requirements that the controller and the sidecar fulfill together. Tests call
// Covers to declare which cases they test. hack/mutations introduces defects that violate the cases.
// docs/reference/lifecycle-coverage.md lists the tests and the defects of each case.
package cases

import "slices"

// A Case is one requirement.
type Case struct {
	// ID is the unique and stable ID by which tests and defects refer to the case.
	ID string
	// Sentence is the requirement.
	Sentence string
	// Section is the title of the section of KEP-1979 that the case belongs to.
	Section string
	// Decision is the number of the record in docs/adr that decides a question that the KEP leaves open. It is
	// empty if the KEP leaves no question open.
	Decision string
}

// Titles of sections of KEP-1979.
const (
	creating      = "Creating a Bucket"
	importing     = "Accessing an Existing OSP Bucket"
	deleting      = "Deleting a Bucket"
	granting      = "Generating Bucket Access Credentials"
	revoking      = "Deleting a BucketAccess"
	annotations   = "Annotations and finalizers"
	conditions    = "Conditions"
	bucket        = "Bucket"
	bucketClaim   = "BucketClaim"
	bucketAccess  = "BucketAccess"
	accessClass   = "BucketAccessClass"
	secretData    = "BucketAccess Secret data"
	generateID    = "DriverGenerateBucketId"
	createBucket  = "DriverCreateBucket"
	deleteBucket  = "DriverDeleteBucket"
	generateAcc   = "DriverGenerateBucketAccessId"
	grantAccess   = "DriverGrantBucketAccess"
	controllers   = "Controller overview"
	objects       = "COSI Object Lifecycle"
	updateSecrets = "Updating BucketAccess Secrets"
	multiBucket   = "Multi-bucket BucketAccess considerations"
	indicators    = "What are the SLIs (Service Level Indicators) an operator can use to determine the health of the service?"
	skew          = "Version Skew Strategy"
	working       = "How can someone using this feature know that it is working for their instance?"
)

// All returns all cases in the order of the lifecycle.
func All() []Case {
	return slices.Concat(ofBuckets(), ofClaims(), ofDeletions(), ofAccesses(), ofSecrets(), ofReports())
}

// Known reports whether a case has the ID.
func Known(id string) bool {
	return slices.ContainsFunc(All(), func(c Case) bool { return c.ID == id })
}

func ofBuckets() []Case {
	return []Case{
		{
			ID: "bucket-name", Section: generateID,
			Sentence: "DriverGenerateBucketId receives the name of the Bucket object: bc- and the UID of its claim.",
		},
		{
			ID: "bucket-id-stored-first", Section: creating, Decision: "0011",
			Sentence: "The bucket ID is stored in the status of the Bucket before DriverCreateBucket is called with it.",
		},
		{
			ID: "bucket-id-generated-once", Section: creating, Decision: "0011",
			Sentence: "Once a Bucket has its ID, DriverGenerateBucketId is never called for it again, not even by a restarted sidecar.",
		},
		{
			ID: "bucket-id-not-stored", Section: creating, Decision: "0011",
			Sentence: "While the bucket ID cannot be stored, nothing is created, and the ID is generated again from the same name.",
		},
		{
			ID: "bucket-phases-agree", Section: createBucket,
			Sentence: "DriverGenerateBucketId and DriverCreateBucket receive the same protocols and parameters.",
		},
		{
			ID: "bucket-deleted-before-id", Section: deleting, Decision: "0011",
			Sentence: "A Bucket that is deleted before its ID is stored is removed without another call.",
		},
		{
			ID: "bucket-deleted-before-creation", Section: deleteBucket, Decision: "0011",
			Sentence: "A Bucket with an ID is deleted with DriverDeleteBucket even if its creation never succeeded.",
		},
		{
			ID: "bucket-id-is-not-enough", Section: creating, Decision: "0011",
			Sentence: "A bucket ID alone is not sufficient for a claim to be provisioned or an access to be granted.",
		},
		{
			ID: "bucket-imported", Section: importing,
			Sentence: "The ID of an imported Bucket is copied from existingBucketID and verified with DriverGetBucket. Nothing is generated or created.",
		},
		{
			ID: "bucket-adopted", Section: skew, Decision: "0038",
			Sentence: "A Bucket that was provisioned under the upstream project's CRDs, which ours replaced, is verified with DriverGetBucket. Nothing is created, and its claim remains bound.",
		},
		{
			ID: "bucket-id-malformed", Section: generateID, Decision: "0011",
			Sentence: "An ID that is empty or contains forbidden characters is rejected before it is stored, and nothing is created.",
		},
		{
			ID: "bucket-id-returned-twice", Section: generateID, Decision: "0011",
			Sentence: "If DriverGenerateBucketId returns the ID of another Bucket of the driver, even one that is not stored yet, the ID is rejected and nothing is created.",
		},
		{
			ID: "bucket-protocols-missing", Section: createBucket,
			Sentence: "A creation that returns no protocol, or lacks a requested one, is a terminal failure. The backend bucket is still deleted with its Bucket.",
		},
		{
			ID: "bucket-protocols-unsupported", Section: bucket,
			Sentence: "A Bucket that requests a protocol that the driver does not support causes no call.",
		},
		{
			ID: "bucket-of-another-driver", Section: creating,
			Sentence: "A sidecar changes nothing on the Buckets of other drivers.",
		},
		{
			ID: "bucket-info", Section: bucket, Decision: "0010",
			Sentence: "The field bucketInfo contains the KEP's keys of each protocol and COSI_PROTOCOL, but no credential. It is not copied to the claim.",
		},
		{
			ID: "calls-one-per-id", Section: createBucket, Decision: "0004",
			Sentence: "Calls for the same bucket ID or account ID do not run concurrently, and a hanging call does not delay other IDs.",
		},
		{
			ID: "classes-share-workers", Section: createBucket, Decision: "0036",
			Sentence: "If all calls with the parameters of one class hang, workers remain for other classes, and each waiting object is eventually served.",
		},
	}
}

func ofClaims() []Case {
	return []Case{
		{
			ID: "bucket-finalizer", Section: creating, Decision: "0034",
			Sentence: "A Bucket has the finalizer before the first call, set by the controller at creation, or by the sidecar for an import. While no ID is stored, the controller removes it together with the claim, so a deleted claim without a sidecar leaves nothing behind.",
		},
		{
			ID: "bucket-lost", Section: creating, Decision: "0009",
			Sentence: "If the Bucket of a bound claim is missing, the claim reports an error, and the Bucket is not created again.",
		},
		{
			ID: "bucket-cache-lags", Section: creating, Decision: "0009",
			Sentence: "A Bucket that is missing only from a stale cache is not reported as lost.",
		},
		{
			ID: "bucket-exists", Section: creating, Decision: "0009",
			Sentence: "An existing Bucket with the name of the claim's Bucket is used only if it references this claim, including its UID.",
		},
		{
			ID: "class-copied-once", Section: objects,
			Sentence: "A change or deletion of a class does not affect existing Buckets or their deletion.",
		},
		{
			ID: "import-for-another-claim", Section: importing, Decision: "0009",
			Sentence: "A claim does not bind to a Bucket that is reserved for another claim, and binds when the Bucket is reserved for it.",
		},
		{
			ID: "import-binds-once", Section: importing, Decision: "0009",
			Sentence: "A Bucket that is bound to one claim never binds to another, not even to one with the same name.",
		},
		{
			ID: "import-before-its-bucket", Section: importing, Decision: "0004",
			Sentence: "A claim that imports a Bucket waits for it and is reconciled when it is created.",
		},
		{
			ID: "import-protocols", Section: importing, Decision: "0009",
			Sentence: "A claim that requests a protocol that its imported Bucket does not support is not provisioned.",
		},
	}
}

func ofDeletions() []Case {
	return []Case{
		{
			ID: "claim-in-use", Section: deleting, Decision: "0009",
			Sentence: "A deleted claim remains while accesses use it, and its Bucket is not annotated. The removal of the last access continues the deletion.",
		},
		{
			ID: "claim-in-use-unseen", Section: deleting, Decision: "0053",
			Sentence: "The hand-off of an access and the deletion of its claim exclude each other, even with stale caches: no access is handed off after the deletion has started, and a claim that records the UID of an access waits for it.",
		},
		{
			ID: "annotated-before-deletion", Section: deleting, Decision: "0009",
			Sentence: "The controller annotates a Bucket with bucketclaim-being-deleted before it deletes it.",
		},
		{
			ID: "claim-without-its-bucket", Section: deleting, Decision: "0009",
			Sentence: "A deleted claim is removed if its Bucket is missing. It remains, with the reason, if its Bucket was replaced by one of another claim.",
		},
		{
			ID: "deletion-needs-both-signs", Section: deleting,
			Sentence: "DriverDeleteBucket is called only if the Bucket is both annotated and being deleted.",
		},
		{
			ID: "bucket-deleted-first", Section: deleting, Decision: "0009",
			Sentence: "A Bucket that is deleted before its claim remains until the claim is deleted, too.",
		},
		{
			ID: "retain", Section: deleting, Decision: "0009",
			Sentence: "With the policy Retain, the claim is removed, and its Bucket remains with the annotation. Nothing is deleted in the backend, and no other claim binds to the Bucket.",
		},
		{
			ID: "policy-changes", Section: bucket, Decision: "0009",
			Sentence: "The deletion policy at the time of DriverDeleteBucket decides. A change to Delete after the claim was removed does not delete anything.",
		},
		{
			ID: "deletion-fails", Section: deleteBucket, Decision: "0020",
			Sentence: "If the driver refuses the deletion, the Bucket remains and reports the reason. It is removed when a later call succeeds.",
		},
		{
			ID: "bucket-id-shared", Section: deleteBucket, Decision: "0011",
			Sentence: "DriverDeleteBucket is not called while another Bucket needs the same bucket ID. The Bucket reports this without the name of the other to its user, and is deleted after the other.",
		},
		{
			ID: "sidecar-rights", Section: controllers,
			Sentence: "The sidecar may delete neither Buckets nor accesses, and may not read claims and classes.",
		},
		{
			ID: "claim-removed-by-hand", Section: deleting, Decision: "0029",
			Sentence: "If the claim of a bound Bucket disappeared without the annotation, the Bucket is released only if that deletes nothing, or after an administrator confirms it.",
		},
		{
			ID: "restored-bucket-held", Section: deleting, Decision: "0029",
			Sentence: "Restoring claims, Buckets, accesses and Secrets from a backup in any order deletes nothing: a Bucket with a claim of another UID is held with a condition and Events, regardless of its annotations.",
		},
		{
			ID: "claim-gone-before-its-bucket", Section: deleting, Decision: "0029",
			Sentence: "A Bucket that is created for a claim that was removed in the meantime is released immediately.",
		},
		{
			ID: "restored-bucket-confirmed", Section: deleting, Decision: "0029",
			Sentence: "A held Bucket is deleted when an administrator confirms it with its UID, or when the configured grace period after its restoration has passed. It is kept if its policy is changed to Retain.",
		},
		{
			ID: "restored-bucket-bound", Section: deleting, Decision: "0064",
			Sentence: "A Bucket that an administrator restores with the annotation bind-until and without the UID of its claim causes no write and no call until its status is restored. A claim with the name that was created before that time binds to it. If the time is malformed, the driver or the protocols do not fit, or there are several such Buckets, the claim waits for an administrator.",
		},
		{
			ID: "bucket-never-attempted", Section: deleting, Decision: "0029",
			Sentence: "If the claim of a Bucket no longer exists and no sidecar has attempted anything for it, the Bucket is deleted immediately, unless it comes from a backup.",
		},
		{
			ID: "one-phase-deleted-early", Section: deleting, Decision: "0060",
			Sentence: "If a one-phase driver was asked for a bucket or account and its ID is unknown, the adapter looks it up by name before the Bucket or access is removed.",
		},
		{
			ID: "deletion-linear", Section: deleting, Decision: "0053",
			Sentence: "Claims of a namespace that are deleted at the same time are released without listing its accesses. Imports of other drivers are listed at most once per second.",
		},
		{
			ID: "namespace-deleted", Section: deleting, Decision: "0020",
			Sentence: "Deleting a namespace removes its claims, accesses and Secrets. If the backend fails, only the objects that depend on it remain, with the reason. Temporary waits are not reported.",
		},
	}
}

func ofAccesses() []Case {
	return []Case{
		{
			ID: "account-name", Section: generateAcc,
			Sentence: "DriverGenerateBucketAccessId receives ba- and the UID of the access, so a later access with the same name has another account.",
		},
		{
			ID: "account-id-stored-first", Section: granting, Decision: "0011",
			Sentence: "The account ID is stored before the grant and never changes. A stored account ID is always revoked, even if the grant never succeeded.",
		},
		{
			ID: "account-id-returned-twice", Section: generateAcc, Decision: "0011",
			Sentence: "If DriverGenerateBucketAccessId returns the account ID of another access of the driver, the ID is rejected and nothing is granted.",
		},
		{
			ID: "access-phases-agree", Section: grantAccess,
			Sentence: "DriverGenerateBucketAccessId and DriverGrantBucketAccess receive the same Buckets, modes and parameters, in any order.",
		},
		{
			ID: "access-refused-in-either-phase", Section: grantAccess, Decision: "0004",
			Sentence: "A terminal failure is reported and not retried, in both phases.",
		},
		{
			ID: "one-phase-cannot-express", Section: granting, Decision: "0060",
			Sentence: "An access that v1alpha1 cannot express is refused with instructions before anything is created, and is deleted without a call.",
		},
		{
			ID: "granted-again", Section: updateSecrets, Decision: "0015",
			Sentence: "An access is granted again after a rotation and after a change of the driver's revision. Its Secret then contains exactly the new data. Without a change, nothing is granted.",
		},
		{
			ID: "grants-again-are-spread", Section: updateSecrets, Decision: "0036",
			Sentence: "Grants that no user requested, such as those after a change of the driver, are rate-limited. First grants and rotations do not wait for them.",
		},
		{
			ID: "access-order", Section: granting, Decision: "0010",
			Sentence: "An access is provisioned in this order: class, finalizer, annotation of its claims, hand-off, Secret, account ID, grant. An access that its class rejects creates nothing.",
		},
		{
			ID: "hand-off-once", Section: granting, Decision: "0010",
			Sentence: "The hand-off is one write, and the controller never changes those fields afterwards.",
		},
		{
			ID: "claim-being-deleted", Section: granting, Decision: "0010",
			Sentence: "No access is granted to a claim that is being deleted. An access that is already provisioned remains so, and reports the deletion of its claim.",
		},
		{
			ID: "access-protocol", Section: bucketAccess,
			Sentence: "An access waits until the protocols of its claim are known, and is refused if they do not include its own.",
		},
		{
			ID: "access-driver", Section: granting, Decision: "0010",
			Sentence: "An access is refused without a call if its Bucket and its class have different drivers.",
		},
		{
			ID: "access-modes", Section: bucketAccess, Decision: "0016",
			Sentence: "An access sets a mode in at least one category. Unset categories are sent as ANY. A class disallows modes for each category separately.",
		},
		{
			ID: "disallowed-modes", Section: accessClass, Decision: "0016",
			Sentence: "In both phases, the driver receives the modes that the class disallowed at the hand-off, and enforces them in unset categories. Older accesses are unchanged until they are granted again.",
		},
		{
			ID: "single-bucket-default", Section: accessClass,
			Sentence: "A class that does not set multiBucketAccess allows one Bucket.",
		},
		{
			ID: "service-account", Section: bucketAccess,
			Sentence: "ServiceAccount authentication requires the name of a ServiceAccount. With Key, no call contains one.",
		},
		{
			ID: "shared-bucket", Section: multiBucket, Decision: "0010",
			Sentence: "Two claims of an access for the same backend bucket are one entry of the call with merged modes, which the class must allow. Each claim's Secret is written.",
		},
		{
			ID: "revocation-order", Section: revoking,
			Sentence: "A deleted access is cleaned up in this order: Secrets, account, sidecar-cleanup-finished, has-bucketaccess-references if it was the last of the claim, finalizer.",
		},
		{
			ID: "revocation-fails", Section: revoking,
			Sentence: "A failed revocation is retried. Until it succeeds, the Secrets remain deleted, and the finalizer and the annotations remain set.",
		},
		{
			ID: "account-id-shared", Section: revoking, Decision: "0011",
			Sentence: "DriverRevokeBucketAccess is not called while another access that is not being deleted has the same account ID. The access reports this without the name of the other, and is deleted after the other.",
		},
		{
			ID: "last-access", Section: revoking, Decision: "0010",
			Sentence: "An access that is still being deleted counts as a reference to its claim.",
		},
		{
			ID: "never-handed-off", Section: revoking, Decision: "0010",
			Sentence: "The controller alone cleans up an access that was never handed off.",
		},
		{
			ID: "completion-forged", Section: revoking, Decision: "0054",
			Sentence: "An access is revoked before it is deleted, even if a user sets sidecar-cleanup-finished.",
		},
		{
			ID: "completion-by-annotation", Section: revoking, Decision: "0054",
			Sentence: "For a sidecar that does not write status.cleanup, the annotation sidecar-cleanup-finished is sufficient to finish the deletion of an access.",
		},
		{
			ID: "notes-guarded", Section: annotations, Decision: "0054",
			Sentence: "With the admission policy, users of a namespace cannot change COSI's finalizer and annotations, but accounts with the verb override can. COSI itself and rotations are not affected.",
		},
		{
			ID: "access-finalizer-removed", Section: revoking, Decision: "0054",
			Sentence: "If the finalizer of an access is removed manually while the sidecar runs, even during its grant, the access is revoked and its Secrets are deleted.",
		},
	}
}

func ofSecrets() []Case {
	return []Case{
		{
			ID: "secret-without-owner", Section: revoking, Decision: "0054",
			Sentence: "If a user removed the owner and the annotations of a Secret, the Secret can be deleted, and its access gets a new one.",
		},
		{
			ID: "secret-copied", Section: revoking, Decision: "0054",
			Sentence: "A copy of an access Secret, including its finalizer, can be deleted while the access exists.",
		},
		{
			ID: "secret-restored", Section: revoking, Decision: "0054",
			Sentence: "A namespace can be deleted after its accesses and Secrets were restored with their finalizers.",
		},
		{
			ID: "secret-of-another-owner", Section: granting, Decision: "0010",
			Sentence: "A Secret with another owner is never written. The access waits for its deletion before the first call.",
		},
		{
			ID: "secret-left-over", Section: granting, Decision: "0010",
			Sentence: "If a Secret of a deleted access with the same name remains, the access waits for its deletion. It neither adopts the Secret nor fails permanently.",
		},
		{
			ID: "secret-name-twice", Section: bucketAccess, Decision: "0010",
			Sentence: "A Secret name that two claims of an access or two accesses use is refused, and nothing is partially granted.",
		},
		{
			ID: "secret-name-wanted-by-many", Section: bucketAccess, Decision: "0004",
			Sentence: "If several accesses use the same Secret name, changes that do not affect them cause no reconcile, and one of them gets the name when it is free.",
		},
		{
			ID: "grant-response", Section: grantAccess,
			Sentence: "The response to a grant must contain exactly the requested Buckets and protocol, with all fields that the KEP requires.",
		},
		{
			ID: "secret-metadata", Section: annotations, Decision: "0010",
			Sentence: "A Secret has the finalizer, our label, both reference annotations and its access as owner. Changes and deletions by users are reverted.",
		},
		{
			ID: "secret-read-when-changed", Section: annotations, Decision: "0010",
			Sentence: "A sidecar that watches Secrets reads those of an access again only after a change of them, the access or the driver's response.",
		},
		{
			ID: "secret-keys", Section: secretData, Decision: "0010",
			Sentence: "The Secret of each protocol has exactly the KEP's keys that apply. Optional keys without a value from the driver are omitted.",
		},
		{
			ID: "secret-keys-added", Section: secretData, Decision: "0062",
			Sentence: "Keys that a user adds follow rotation and repair, and a change of them makes no call. They cannot change the KEP's keys, and an error in them is only reported.",
		},
	}
}

func ofReports() []Case {
	return []Case{
		{
			ID: "provisioned-stays-true", Section: conditions, Decision: "0003",
			Sentence: "A provisioned object remains so when a later call fails. A claim copies True and False, but not Unknown. Unchanged conditions are not written.",
		},
		{
			ID: "retryable-or-not", Section: conditions, Decision: "0004",
			Sentence: "After a retryable failure, Provisioned remains Unknown and the call is retried with backoff. After a terminal failure, Provisioned is False and the call is not retried.",
		},
		{
			ID: "users-hurry-nothing", Section: conditions, Decision: "0004",
			Sentence: "Annotations, labels and rotations of users do not end a backoff. Continuous rotations reach the driver at most once per minute.",
		},
		{
			ID: "no-credential-leaks", Section: secretData,
			Sentence: "Conditions, Events, logs, metrics and objects other than the access Secret contain no credential.",
		},
		{
			ID: "operation-measured-once", Section: indicators, Decision: "0007",
			Sentence: "The duration of each operation is measured once per object. A deletion ends when the finalizer is removed.",
		},
		{
			ID: "failures-counted", Section: indicators, Decision: "0007",
			Sentence: "A failed reconcile is counted as Unknown, and a creation that a deletion interrupts as Canceled, with the name of the driver.",
		},
		{
			ID: "conditions-of-claims", Section: bucketClaim, Decision: "0003",
			Sentence: "A claim has the KEP's conditions in each of its states, each with its observed generation.",
		},
		{
			ID: "conditions-of-accesses", Section: bucketAccess, Decision: "0003",
			Sentence: "An access has the KEP's conditions in each of its states, although two components write one of them.",
		},
		{
			ID: "ready-summarizes", Section: working, Decision: "0061",
			Sentence: "Each write of conditions includes Ready and Stalled, which agree with the other conditions.",
		},
		{
			ID: "events", Section: working, Decision: "0003",
			Sentence: "The KEP's Events are emitted on the affected object, where its users see them. Repetitions are aggregated into one Event.",
		},
		{
			ID: "class-missing", Section: working, Decision: "0003",
			Sentence: "A claim or access with a missing class gets an Event with this reason.",
		},
		{
			ID: "foreign-names", Section: working, Decision: "0022",
			Sentence: "Messages to users do not contain claims, namespaces or bucket IDs of other users.",
		},
		{
			ID: "api-problem-is-an-event", Section: conditions, Decision: "0003",
			Sentence: "A persistent problem of the Kubernetes API is reported as an Event, not as a condition.",
		},
		{
			ID: "metrics", Section: indicators, Decision: "0007",
			Sentence: "The scraped metrics include the KEP's four metrics with its names, labels and boundaries.",
		},
		{
			ID: "access-without-mode", Section: skew, Decision: "0038",
			Sentence: "An access that lost its mode with the upstream project's CRDs is refused and not granted again. Its Secret remains unchanged, and its account is revoked when the access is deleted.",
		},
		{
			ID: "fields-of-newer-crds", Section: skew,
			Sentence: "Components that are older than the CRDs preserve unknown fields, including those in list items and in immutable values, and unknown fields do not cause failures.",
		},
		{
			ID: "fields-of-older-crds", Section: skew,
			Sentence: "Components that are newer than the CRDs tolerate that the API server drops fields, and do not write them repeatedly.",
		},
	}
}
