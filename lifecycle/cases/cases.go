// SPDX-License-Identifier: Apache-2.0

// Package cases is the register of what controller and sidecar must do together. Tests declare with Covers
// which cases they test, hack/mutations introduces defects that violate the cases, and
// docs/reference/lifecycle-coverage.md lists both for each case.
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
	// Decision is the number of the record in docs/adr that decides what the KEP leaves open; empty if
	// nothing is open.
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
			Sentence: "DriverGenerateBucketId gets the name of the Bucket object, which is bc- and the UID of its claim.",
		},
		{
			ID: "bucket-id-stored-first", Section: creating, Decision: "0011",
			Sentence: "The bucket ID is in the status of the Bucket before DriverCreateBucket is called with it.",
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
			Sentence: "DriverGenerateBucketId and DriverCreateBucket get the same protocols and the same parameters.",
		},
		{
			ID: "bucket-deleted-before-id", Section: deleting, Decision: "0011",
			Sentence: "A Bucket that is deleted before its ID is stored is removed without another call.",
		},
		{
			ID: "bucket-deleted-before-creation", Section: deleteBucket, Decision: "0011",
			Sentence: "A Bucket that has an ID is deleted by DriverDeleteBucket, though its creation never succeeded.",
		},
		{
			ID: "bucket-id-is-not-enough", Section: creating, Decision: "0011",
			Sentence: "A bucket ID alone makes neither a claim provisioned nor an access granted.",
		},
		{
			ID: "bucket-imported", Section: importing,
			Sentence: "An imported Bucket takes its ID from existingBucketID, stores it, and is looked up by DriverGetBucket: nothing is generated or created.",
		},
		{
			ID: "bucket-adopted", Section: skew, Decision: "0038",
			Sentence: "A Bucket that was provisioned under the upstream project's CRDs, whose place ours took, is looked up by DriverGetBucket: nothing is created, and its claim stays bound to it.",
		},
		{
			ID: "bucket-id-malformed", Section: generateID, Decision: "0011",
			Sentence: "An ID that is empty or holds forbidden characters is refused before it is stored, and nothing is created.",
		},
		{
			ID: "bucket-id-returned-twice", Section: generateID, Decision: "0011",
			Sentence: "A bucket ID that another Bucket of the driver has, or was just given, is refused when DriverGenerateBucketId returns it: it is not stored and nothing is created.",
		},
		{
			ID: "bucket-protocols-missing", Section: createBucket,
			Sentence: "A creation that returns no protocol, or not those that were requested, is a failure that is not retried; the backend bucket is still deleted with its Bucket.",
		},
		{
			ID: "bucket-protocols-unsupported", Section: bucket,
			Sentence: "A Bucket that requests a protocol which the driver does not support causes no call.",
		},
		{
			ID: "bucket-of-another-driver", Section: creating,
			Sentence: "A sidecar changes nothing on the Buckets of other drivers.",
		},
		{
			ID: "bucket-info", Section: bucket, Decision: "0010",
			Sentence: "The field bucketInfo holds the KEP's keys of each protocol and COSI_PROTOCOL, no credential, and is not shown on the claim.",
		},
		{
			ID: "calls-one-per-id", Section: createBucket, Decision: "0004",
			Sentence: "No two calls for one bucket ID or account ID run at once, and a call that hangs delays no other ID.",
		},
		{
			ID: "classes-share-workers", Section: createBucket, Decision: "0036",
			Sentence: "Calls with the parameters of one class, all of which hang, leave workers to other classes, and each object that waits for them gets its turn.",
		},
	}
}

func ofClaims() []Case {
	return []Case{
		{
			ID: "bucket-finalizer", Section: creating, Decision: "0034",
			Sentence: "A Bucket has the finalizer before the first call, from the controller that creates it or from the sidecar if it is imported; it comes off with the claim while no ID is stored, so that nothing is left of a deleted claim without a sidecar.",
		},
		{
			ID: "bucket-lost", Section: creating, Decision: "0009",
			Sentence: "A bound Bucket that is missing is an error of its claim, and is not created again.",
		},
		{
			ID: "bucket-cache-lags", Section: creating, Decision: "0009",
			Sentence: "A Bucket that is only missing from a stale cache does not count as lost.",
		},
		{
			ID: "bucket-exists", Section: creating, Decision: "0009",
			Sentence: "A Bucket that already has the claim's name is adopted only if it refers to this very claim.",
		},
		{
			ID: "class-copied-once", Section: objects,
			Sentence: "A class that is changed or deleted after its Bucket was created changes neither the Bucket nor its deletion.",
		},
		{
			ID: "import-for-another-claim", Section: importing, Decision: "0009",
			Sentence: "A claim does not bind to a Bucket that is meant for another, and binds once the Bucket is meant for it.",
		},
		{
			ID: "import-binds-once", Section: importing, Decision: "0009",
			Sentence: "A Bucket with the UID of one claim never gets the UID of another, not even of one with the same name.",
		},
		{
			ID: "import-before-its-bucket", Section: importing, Decision: "0004",
			Sentence: "A claim that imports a Bucket waits for it and is woken by its creation.",
		},
		{
			ID: "import-protocols", Section: importing, Decision: "0009",
			Sentence: "A claim that requests a protocol which its imported Bucket does not support is not provisioned.",
		},
	}
}

func ofDeletions() []Case {
	return []Case{
		{
			ID: "claim-in-use", Section: deleting, Decision: "0009",
			Sentence: "A deleted claim that accesses use stays, its Bucket is not annotated, and the removal of the last access wakes it.",
		},
		{
			ID: "claim-in-use-unseen", Section: deleting, Decision: "0053",
			Sentence: "The hand-off of an access and the deletion of its claim exclude each other, whatever the caches show: a claim whose deletion has begun gets no new access, and one that has the UID of an access waits for it.",
		},
		{
			ID: "annotated-before-deletion", Section: deleting, Decision: "0009",
			Sentence: "The controller annotates a Bucket with bucketclaim-being-deleted before it deletes it.",
		},
		{
			ID: "claim-without-its-bucket", Section: deleting, Decision: "0009",
			Sentence: "A deleted claim whose Bucket is missing is removed; one whose Bucket was replaced by somebody else's stays, with the reason.",
		},
		{
			ID: "deletion-needs-both-signs", Section: deleting,
			Sentence: "DriverDeleteBucket is called only if the Bucket is both annotated and being deleted.",
		},
		{
			ID: "bucket-deleted-first", Section: deleting, Decision: "0009",
			Sentence: "A Bucket that is deleted before its claim is removed once its claim is deleted, too.",
		},
		{
			ID: "retain", Section: deleting, Decision: "0009",
			Sentence: "Under Retain the claim is removed, its Bucket stays, annotated, nothing is deleted in the backend, and no other claim binds to the Bucket.",
		},
		{
			ID: "policy-changes", Section: bucket, Decision: "0009",
			Sentence: "The deletion policy that counts is the one at the time of DriverDeleteBucket; a change to Delete after the claim is gone deletes nothing by itself.",
		},
		{
			ID: "deletion-fails", Section: deleteBucket, Decision: "0020",
			Sentence: "A Bucket whose deletion the driver refuses stays, says why, and is removed once the driver deletes it.",
		},
		{
			ID: "bucket-id-shared", Section: deleteBucket, Decision: "0011",
			Sentence: "DriverDeleteBucket is not called while another Bucket that may not go has the same bucket ID; the Bucket says so, its user learns no foreign name, and it goes when the other does.",
		},
		{
			ID: "sidecar-rights", Section: controllers,
			Sentence: "The sidecar may delete neither Buckets nor accesses, and may not read claims and classes.",
		},
		{
			ID: "claim-removed-by-hand", Section: deleting, Decision: "0029",
			Sentence: "A bound Bucket whose claim is gone without its annotation is released once that deletes nothing or an administrator confirms it.",
		},
		{
			ID: "restored-bucket-held", Section: deleting, Decision: "0029",
			Sentence: "Claims, Buckets, accesses and Secrets that are restored from a backup in any order delete nothing: a Bucket whose claim has another UID is held, whatever its annotations say, with a condition and Events.",
		},
		{
			ID: "claim-gone-before-its-bucket", Section: deleting, Decision: "0029",
			Sentence: "A Bucket that is created for a claim which has gone meanwhile is released at once.",
		},
		{
			ID: "restored-bucket-confirmed", Section: deleting, Decision: "0029",
			Sentence: "A held Bucket is deleted when an administrator confirms it with its UID or a configured grace has passed since it was restored, and kept when its policy becomes Retain.",
		},
		{
			ID: "bucket-never-attempted", Section: deleting, Decision: "0029",
			Sentence: "A Bucket whose claim is gone and for which no sidecar attempted anything is deleted at once, unless it comes from a backup.",
		},
		{
			ID: "one-phase-deleted-early", Section: deleting, Decision: "0038",
			Sentence: "What a driver with one phase was asked for, and has not told the ID of, is looked for by its name before the Bucket or access goes.",
		},
		{
			ID: "deletion-linear", Section: deleting, Decision: "0053",
			Sentence: "Claims of a namespace that are deleted at the same time are released without a list of its accesses; the imports of other drivers are listed at most once a second.",
		},
		{
			ID: "namespace-deleted", Section: deleting, Decision: "0020",
			Sentence: "A deleted namespace with claims, accesses and Secrets is emptied; if the backend fails, only what must stay does, with the reason; no waits are reported that end by themselves.",
		},
	}
}

func ofAccesses() []Case {
	return []Case{
		{
			ID: "account-name", Section: generateAcc,
			Sentence: "DriverGenerateBucketAccessId gets ba- and the UID of the access, so that another access with the same name has another account.",
		},
		{
			ID: "account-id-stored-first", Section: granting, Decision: "0011",
			Sentence: "The account ID is stored before anything is granted, never changes, and is revoked whenever it is stored, though the grant never succeeded.",
		},
		{
			ID: "account-id-returned-twice", Section: generateAcc, Decision: "0011",
			Sentence: "An account ID that another access of the driver has is refused when DriverGenerateBucketAccessId returns it: it is not stored and nothing is granted.",
		},
		{
			ID: "access-phases-agree", Section: grantAccess,
			Sentence: "DriverGenerateBucketAccessId and DriverGrantBucketAccess get the same Buckets, modes and parameters, in whatever order.",
		},
		{
			ID: "access-refused-in-either-phase", Section: grantAccess, Decision: "0004",
			Sentence: "A refusal that is not retryable is reported and not repeated, in either phase.",
		},
		{
			ID: "one-phase-cannot-express", Section: granting, Decision: "0038",
			Sentence: "An access that v1alpha1 cannot express is refused with what to do before anything is made, and goes without a call.",
		},
		{
			ID: "granted-again", Section: updateSecrets, Decision: "0015",
			Sentence: "An access is granted again after a rotation and when the revision of the driver changes, and its Secret then holds exactly the new data; when nothing changed, nothing is granted.",
		},
		{
			ID: "grants-again-are-spread", Section: updateSecrets, Decision: "0036",
			Sentence: "What is granted again though nobody asked, as after a change of the driver, is spread over time; first grants and rotations never wait for it.",
		},
		{
			ID: "access-order", Section: granting, Decision: "0010",
			Sentence: "An access is provisioned in this order: class, finalizer, annotation of its claims, hand-off, Secret, account ID, grant; one that its class rejects leaves nothing.",
		},
		{
			ID: "hand-off-once", Section: granting, Decision: "0010",
			Sentence: "The hand-off is one write, and the controller never changes what it has handed off.",
		},
		{
			ID: "claim-being-deleted", Section: granting, Decision: "0010",
			Sentence: "No access is granted to a claim that is being deleted; one that is already provisioned stays so and reports that its claim is being deleted.",
		},
		{
			ID: "access-protocol", Section: bucketAccess,
			Sentence: "An access waits until the protocols of its claim are known, and is refused if its own is not one of them.",
		},
		{
			ID: "access-driver", Section: granting, Decision: "0010",
			Sentence: "An access to a Bucket of another driver than its class names is refused without a call.",
		},
		{
			ID: "access-modes", Section: bucketAccess, Decision: "0016",
			Sentence: "An access names a mode in at least one category, one that it leaves open is sent as any, and a class forbids modes category by category.",
		},
		{
			ID: "disallowed-modes", Section: accessClass, Decision: "0016",
			Sentence: "The driver hears in both phases which modes the class disallows, as they were at the hand-off, so that a category that is left open gets no more. An access of before stays as it is until it is granted again.",
		},
		{
			ID: "single-bucket-default", Section: accessClass,
			Sentence: "A class that does not set multiBucketAccess allows one Bucket.",
		},
		{
			ID: "service-account", Section: bucketAccess,
			Sentence: "ServiceAccount authentication needs the name of a ServiceAccount; with Key no call carries one.",
		},
		{
			ID: "shared-bucket", Section: multiBucket, Decision: "0010",
			Sentence: "Two claims of one access on one bucket of the backend are one entry of the call with merged modes, which the class must allow, and each Secret is filled.",
		},
		{
			ID: "revocation-order", Section: revoking,
			Sentence: "A deleted access is cleaned up in this order: Secrets, account, sidecar-cleanup-finished, has-bucketaccess-references if it was the last of the claim, finalizer.",
		},
		{
			ID: "revocation-fails", Section: revoking,
			Sentence: "While a revocation fails it is retried, the Secrets stay deleted, and finalizer and annotations stay.",
		},
		{
			ID: "account-id-shared", Section: revoking, Decision: "0011",
			Sentence: "DriverRevokeBucketAccess is not called while another access that is not being deleted has the same account ID; the access says so without the name of the other, and goes when the other does.",
		},
		{
			ID: "last-access", Section: revoking, Decision: "0010",
			Sentence: "An access that is still being deleted counts as a reference to its claim.",
		},
		{
			ID: "never-handed-off", Section: revoking, Decision: "0010",
			Sentence: "An access that was never handed off is cleaned up by the controller alone.",
		},
		{
			ID: "completion-forged", Section: revoking, Decision: "0054",
			Sentence: "An access is revoked before it is deleted, even if a user sets sidecar-cleanup-finished.",
		},
		{
			ID: "completion-by-annotation", Section: revoking, Decision: "0054",
			Sentence: "A sidecar that does not write status.cleanup returns an access by sidecar-cleanup-finished alone.",
		},
		{
			ID: "notes-guarded", Section: annotations, Decision: "0054",
			Sentence: "Users of a namespace cannot change the finalizer and the annotations of COSI where its admission policy is installed; who may override can, and neither COSI nor rotations are hindered.",
		},
		{
			ID: "access-finalizer-removed", Section: revoking, Decision: "0054",
			Sentence: "An access whose finalizer is removed manually while the sidecar runs is revoked, also during its grant, and its Secrets are deleted.",
		},
	}
}

func ofSecrets() []Case {
	return []Case{
		{
			ID: "secret-without-owner", Section: revoking, Decision: "0054",
			Sentence: "A Secret whose owner and annotations a user removed can be deleted, and its access gets another one.",
		},
		{
			ID: "secret-copied", Section: revoking, Decision: "0054",
			Sentence: "A copy of an access Secret, which has our finalizer, can be deleted while the access exists.",
		},
		{
			ID: "secret-restored", Section: revoking, Decision: "0054",
			Sentence: "A namespace can be deleted after its accesses and Secrets were restored with their finalizers.",
		},
		{
			ID: "secret-of-somebody-else", Section: granting, Decision: "0010",
			Sentence: "A Secret of somebody else is never written; the access waits, before its first call, until that Secret is gone.",
		},
		{
			ID: "secret-left-over", Section: granting, Decision: "0010",
			Sentence: "A Secret left by a deleted access with the same name is waited for: it is neither adopted nor a permanent error.",
		},
		{
			ID: "secret-name-twice", Section: bucketAccess, Decision: "0010",
			Sentence: "One Secret name for two claims of an access, or for two accesses, is refused, and nothing is granted in part.",
		},
		{
			ID: "secret-name-wanted-by-many", Section: bucketAccess, Decision: "0004",
			Sentence: "Of accesses that want one Secret name, none is woken by what changes nothing for it, and one gets the name once it is free.",
		},
		{
			ID: "grant-response", Section: grantAccess,
			Sentence: "A grant must return exactly the Buckets and the protocol that were requested, with every field that the KEP requires.",
		},
		{
			ID: "secret-metadata", Section: annotations, Decision: "0010",
			Sentence: "A Secret has the finalizer, our label, both reference annotations and its access as owner, and what users change or delete in it is restored.",
		},
		{
			ID: "secret-read-when-changed", Section: annotations, Decision: "0010",
			Sentence: "A sidecar that watches Secrets reads those of an access again only when they, the access or what its driver says have changed.",
		},
		{
			ID: "secret-keys", Section: secretData, Decision: "0010",
			Sentence: "The Secret of each protocol has exactly the keys of the KEP that apply; optional ones are left out if the driver returned none.",
		},
	}
}

func ofReports() []Case {
	return []Case{
		{
			ID: "provisioned-stays-true", Section: conditions, Decision: "0003",
			Sentence: "What is provisioned stays so when a call fails later, a claim copies True and False but not Unknown, and what did not change is not written.",
		},
		{
			ID: "retryable-or-not", Section: conditions, Decision: "0004",
			Sentence: "A retryable failure leaves Provisioned Unknown and is retried with backoff; any other makes it False and is not retried in a loop.",
		},
		{
			ID: "users-hurry-nothing", Section: conditions, Decision: "0004",
			Sentence: "No annotation, label or rotation of a user ends a backoff, and rotations without end reach the driver once a minute.",
		},
		{
			ID: "no-credential-leaks", Section: secretData,
			Sentence: "No credential is in conditions, Events, logs or metrics, nor in any object but its Secret.",
		},
		{
			ID: "operation-measured-once", Section: indicators, Decision: "0007",
			Sentence: "The duration of each operation is measured once per object, for deletions until the finalizer is removed.",
		},
		{
			ID: "failures-counted", Section: indicators, Decision: "0007",
			Sentence: "A reconcile that failed counts as Unknown, and a creation that a deletion came before as Canceled, with the name of the driver.",
		},
		{
			ID: "conditions-of-claims", Section: bucketClaim, Decision: "0003",
			Sentence: "A claim has the conditions of the KEP in each of its states, each with the generation that it was observed for.",
		},
		{
			ID: "conditions-of-accesses", Section: bucketAccess, Decision: "0003",
			Sentence: "An access has the conditions of the KEP in each of its states, though two components write one of them.",
		},
		{
			ID: "events", Section: working, Decision: "0003",
			Sentence: "The Events of the KEP are on the object that they are about, where its users see them, and repetitions are one Event.",
		},
		{
			ID: "class-missing", Section: working, Decision: "0003",
			Sentence: "A claim or access whose class does not exist gets an Event that says so.",
		},
		{
			ID: "foreign-names", Section: working, Decision: "0022",
			Sentence: "What users read names no claim, namespace or bucket ID of others.",
		},
		{
			ID: "api-problem-is-an-event", Section: conditions, Decision: "0003",
			Sentence: "A persistent problem of the Kubernetes API is reported as an Event, not as a condition.",
		},
		{
			ID: "metrics", Section: indicators, Decision: "0007",
			Sentence: "The four metrics of the KEP have its names, labels and boundaries when they are scraped.",
		},
		{
			ID: "access-without-mode", Section: skew, Decision: "0038",
			Sentence: "An access whose mode went with the upstream project's CRDs is refused and not granted again; its Secret stays as it is, and its account is revoked when it is deleted.",
		},
		{
			ID: "fields-of-newer-crds", Section: skew,
			Sentence: "Components that are older than the CRDs erase no field that they do not know, in items of lists and in what is immutable, and no such field is in their way.",
		},
		{
			ID: "fields-of-older-crds", Section: skew,
			Sentence: "Components that are newer than the CRDs do without the fields that the API server drops, and do not insist on them.",
		},
		{
			ID: "one-phase-replaced", Section: skew, Decision: "0038",
			Sentence: "A driver that is replaced by one of another generation goes on with the IDs that are known, and makes nothing that the former may have made.",
		},
	}
}
