// SPDX-License-Identifier: Apache-2.0

package reasons

import "github.com/cooper-cosi/cooper/internal/conditions"

// ofController returns the texts of the initial reason and of the Controller's reasons.
func ofController() map[conditions.Reason]explained {
	return map[conditions.Reason]explained{
		conditions.Initial: {
			"COSI has not looked at the object yet.",
			"It was created a moment ago, or the Controller or the sidecar of the driver does not run.",
			"Nothing if it passes within seconds. Otherwise run kubectl cosi doctor: an administrator must see why they do not run.",
		},
		conditions.ControllerValidated: {
			"The Controller has checked the object and all that it refers to.", "All is in order.", nothing,
		},
		conditions.WaitingForClass: {
			"The class that the object names does not exist.",
			"Its name is misspelt, or an administrator has not created it yet.",
			"Compare the name with kubectl get bucketclasses,bucketaccessclasses, or with what an administrator says if you may not list them. Once a class of that name exists, COSI goes on by itself.",
		},
		conditions.WaitingForBucketClaim: {
			"A BucketClaim that the BucketAccess names does not exist or is not provisioned.",
			"Its name is misspelt, it is in another namespace, or its bucket is not ready.",
			"Create the claim, or see what it waits for by kubectl cosi status claim/NAME.",
		},
		conditions.WaitingForBucket: {
			"The Bucket does not exist or is not provisioned yet.",
			"The driver is at work. For a claim with existingBucketName, an administrator has not created the Bucket.",
			"Nothing if it passes within a minute. If it lasts, the condition ProvisionFailed says why, or kubectl cosi drivers that no such driver runs. " +
				"A Bucket that is to be imported an administrator must create.",
		},
		conditions.WaitingForBucketAccess: {
			"The object is being deleted and waits for BucketAccesses that use it.",
			"No credential outlives the claim that it was granted for.",
			"Delete the BucketAccesses that the message names.",
		},
		conditions.ClassRejected: {
			"The class does not make a valid Bucket.",
			"It was stored under the rules of another version or project, and a field of it breaks those of Buckets.",
			"An administrator must delete the class and create it again with valid fields. COSI goes on by itself then.",
		},
		conditions.BucketMissing: {
			"The Bucket that the BucketClaim is bound to does not exist any more.",
			"Somebody removed the finalizer of the Bucket, or the cluster was restored without it.",
			"An administrator must restore the Bucket from a backup. Otherwise delete the claim and create another.",
		},
		conditions.BindingInvalid: {
			"Bucket and BucketClaim do not refer to each other.",
			"The Bucket belongs or is reserved to another claim, is being deleted, or was changed or restored.",
			"Use the Bucket that is yours: delete the claim and create it for another. What the message asks of an administrator, only they can do.",
		},
		conditions.BucketClaimDeleting: {
			"A BucketClaim that the BucketAccess uses is being deleted.",
			"The claim waits for this access, or goes with its namespace.",
			"Delete the BucketAccess, too, and create it again for another claim if one is needed.",
		},
		conditions.BucketClaimMissing: {
			"A BucketClaim is gone that an access used, or that a Bucket was bound to.",
			"Somebody took off the finalizer of the claim by hand, or the cluster was restored from a backup.",
			"Delete a BucketAccess whose claim is gone. Of a Bucket, an administrator must decide: its condition ReleaseHeld says how.",
		},
		conditions.ProtocolUnsupported: {
			"The Bucket does not offer a protocol that was asked for.",
			"The driver of the class speaks others.",
			"Choose a protocol that the message lists, or a class of another driver. " + remake,
		},
		conditions.DriverMismatch: {
			"The BucketAccessClass and the Bucket have different drivers.",
			"Only the driver that made a bucket can grant access to it.",
			"Choose a BucketAccessClass of the Bucket's driver. " + remake,
		},
		conditions.ServiceAccountRequired: {
			"The class authenticates Pods by their ServiceAccount, and the BucketAccess names none.",
			"spec.serviceAccountName is empty.",
			"Set spec.serviceAccountName. " + remake,
		},
		conditions.AccessModeDisallowed: {
			"The BucketAccessClass forbids an access mode that was asked for.",
			"An administrator has limited the class by disallowedBucketAccessModes.",
			"Ask for less, or choose another class. " + remake,
		},
		conditions.MultiBucketDisallowed: {
			"The BucketAccess names several BucketClaims, and its class allows one.",
			"multiBucketAccess of the class is SingleBucket, which is the default.",
			"Create one BucketAccess for each claim, or choose a class with multiBucketAccess: MultipleBuckets. " + remake,
		},
		conditions.BucketInvalid: {
			"The Bucket of the claim is not valid.",
			"Its sidecar found it so: the message repeats what the Bucket says.",
			"Do what the message says. Who may read Buckets finds more in the conditions of the Bucket.",
		},
		conditions.SpecInvalid: {
			"The object contradicts itself.",
			"The API server accepted it under the rules of another version or project.",
			remake,
		},
	}
}

// ofSidecar returns the texts of the Sidecar's reasons.
func ofSidecar() map[conditions.Reason]explained {
	return map[conditions.Reason]explained{
		conditions.SidecarValidated: {
			"The sidecar has checked the object and all that it needs.", "All is in order.", nothing,
		},
		conditions.Provisioned: {
			"The driver has made the bucket, or granted the access.", "All is in order.", nothing,
		},
		conditions.Retrying: {
			"A call to the driver failed in a way that may pass.",
			"The backend is away or busy, or the driver has lost its rights there. The message has the code and the words of the driver.",
			"Do what the driver asks for in the message, such as emptying a bucket. If it asks for nothing, nothing at first: COSI tries again, with growing pauses. " +
				"If it lasts, an administrator must see to the driver and its backend.",
		},
		conditions.Terminal: {
			"The driver refused, and repeating the call would not help.",
			"A parameter of the class is wrong, the name is taken, or the backend forbids it. The message has the words of the driver.",
			"Do what the message says. Mostly an administrator must correct the class; then delete the object and create it again.",
		},
		conditions.RPCSucceeded: {
			"The last call of that kind succeeded.", "All is in order.", nothing,
		},
		conditions.DriverIncompatible: {
			"The driver speaks another version of the contract than its sidecar.",
			"It implements COSI v1alpha1, or the v1alpha2 of the upstream project.",
			"An administrator must install a version of the driver that fits, or give the sidecar the --driver-dialect that the message names.",
		},
		conditions.DriverResponseInvalid: {
			"The driver said that it succeeded, with a response that breaks the contract.",
			"It is a mistake in the driver.",
			"An administrator must install a version of the driver without it; its vendor finds it with cosi-sanity.",
		},
		conditions.DriverLacksProtocol: {
			"The driver does not speak a protocol that the object must have.",
			"The class is of the wrong driver, or the driver was replaced by a version that lacks the protocol.",
			"Choose another protocol or a class of another driver. " + remake,
		},
		conditions.BucketNotUsable: {
			"A Bucket of the access is being deleted, missing, or not as the access needs it.",
			"Its claim was deleted, or an administrator changed the Bucket.",
			"Delete the BucketAccess, and create it again for a claim whose Bucket stays.",
		},
		conditions.WaitingForProvisionedBucket: {
			"A Bucket of the access is not provisioned yet.",
			"The driver is at work, or failed to make the bucket.",
			"Nothing if it passes within a minute. Otherwise see what the claim waits for by kubectl cosi status.",
		},
		conditions.SecretTaken: {
			"A Secret of the name accessSecretName belongs to somebody else, and COSI does not touch it.",
			"The Secret was there before, or another BucketAccess has it.",
			"Delete that Secret if nobody needs it. Otherwise delete the BucketAccess and create it again with another accessSecretName.",
		},
		conditions.SecretNotWritable: {
			"The Kubernetes API refuses to store an access Secret.",
			"A quota is used up, an admission policy forbids it, or the sidecar lacks the right.",
			"Make room in the ResourceQuota of the namespace, or ask an administrator to see to the rights of the sidecar.",
		},
		conditions.StatusDegraded: {
			"The status contradicts the spec, or has lost what further calls to the driver need.",
			"Somebody edited it, or a restoration dropped parts of it.",
			"Delete the object and create it again. An administrator must look after what it had in the backend.",
		},
		conditions.ClaimStillBound: {
			"The Bucket is being deleted while its BucketClaim lives.",
			"Somebody deleted the Bucket and not the claim.",
			"Delete the BucketClaim if the bucket is to go. A deletion cannot be taken back: the bucket is kept until then.",
		},
		conditions.IDShared: {
			"The object is being deleted while another one has the same bucket ID or account ID.",
			"One backend bucket was imported twice, or objects were restored beside those that they are copies of.",
			"An administrator must delete one of the objects in a way that keeps the backend's, as the message says.",
		},
	}
}
