// SPDX-License-Identifier: Apache-2.0

package reasons

import "github.com/cooper-cosi/cooper/internal/conditions"

// ofController returns the texts of the initial reason and of the Controller's reasons.
func ofController() map[conditions.Reason]explained {
	return map[conditions.Reason]explained{
		conditions.Initial: {
			"COSI has not processed the object yet.",
			"The object was created a moment ago, or the Controller or the driver's sidecar is not running.",
			"Wait a few seconds. If the reason remains, run kubectl cosi doctor. An administrator must start the missing component.",
		},
		conditions.ControllerValidated: {
			"The Controller has validated the object and all objects that it refers to.", normal, nothing,
		},
		conditions.WaitingForClass: {
			"The class that the object names does not exist.",
			"The name is misspelt, or an administrator has not created the class yet.",
			"Compare the name with kubectl get bucketclasses,bucketaccessclasses. If you may not list classes, ask an administrator. COSI continues when a class of that name exists.",
		},
		conditions.WaitingForBucketClaim: {
			"A BucketClaim that the BucketAccess names does not exist or is not provisioned.",
			"The name is misspelt, the claim is in another namespace, or its bucket is not ready.",
			"Create the claim, or run kubectl cosi status claim/NAME to see the reason.",
		},
		conditions.WaitingForBucket: {
			"The Bucket does not exist or is not provisioned yet.",
			"The driver is creating the bucket. For a claim with existingBucketName, an administrator has not created the Bucket yet.",
			"Wait a minute. If the reason remains, read the condition ProvisionFailed, and run kubectl cosi drivers to check that the driver is running. " +
				"An administrator must create the Bucket of a claim with existingBucketName.",
		},
		conditions.WaitingForBucketAccess: {
			"The object is being deleted, but BucketAccesses still use it.",
			"COSI revokes all credentials for a claim before it deletes the claim.",
			"Delete the BucketAccesses that the message names.",
		},
		conditions.ClassRejected: {
			"The API server rejected the Bucket that COSI created from the class.",
			"The class was created when other CRDs were installed (of another Cooper version or another project), and one of its fields is not valid for a Bucket.",
			"An administrator must delete the class and create it again with valid fields. COSI then continues.",
		},
		conditions.BucketMissing: {
			"The Bucket that the BucketClaim is bound to no longer exists.",
			"The finalizer of the Bucket was removed manually, or the cluster was restored without the Bucket.",
			"An administrator must restore the Bucket from a backup. If that is impossible, delete the claim and create another.",
		},
		conditions.BindingInvalid: {
			"The Bucket and the BucketClaim do not refer to each other.",
			"The Bucket is bound to or reserved for another claim, is being deleted, or was changed or restored.",
			"Follow the message; it names the steps that need an administrator. To use another Bucket, delete the claim and create it again.",
		},
		conditions.BucketClaimDeleting: {
			"A BucketClaim that the BucketAccess uses is being deleted.",
			"A user deleted the claim or its namespace. The claim waits for the deletion of this access.",
			"Delete the BucketAccess, too. If you still need an access, create it again for another claim.",
		},
		conditions.BucketClaimMissing: {
			"The BucketClaim of an access or of a Bucket no longer exists.",
			"The claim's finalizer was removed manually, or the cluster was restored from a backup.",
			"Delete the BucketAccess. An administrator must decide what happens to the Bucket, as its condition ReleaseHeld describes.",
		},
		conditions.ProtocolUnsupported: {
			"The Bucket does not support a requested protocol.",
			"The driver of the class supports other protocols.",
			"Choose a protocol that the message lists, or a class of another driver. " + remake,
		},
		conditions.DriverMismatch: {
			"The BucketAccessClass and the Bucket have different drivers.",
			"Only the driver that created a bucket can grant access to it.",
			"Choose a BucketAccessClass of the Bucket's driver. " + remake,
		},
		conditions.ServiceAccountRequired: {
			"The class authenticates Pods by their ServiceAccount, but the BucketAccess names none.",
			"spec.serviceAccountName is empty.",
			"Set spec.serviceAccountName. " + remake,
		},
		conditions.AccessModeDisallowed: {
			"The BucketAccessClass disallows a requested access mode.",
			"An administrator has restricted the class with disallowedBucketAccessModes.",
			"Request another mode, or choose another class. " + remake,
		},
		conditions.MultiBucketDisallowed: {
			"The BucketAccess names several BucketClaims, but its class allows only one.",
			"multiBucketAccess of the class is SingleBucket, which is the default.",
			"Create one BucketAccess for each claim, or choose a class with multiBucketAccess: MultipleBuckets. " + remake,
		},
		conditions.BucketInvalid: {
			"The Bucket of the claim is not valid.",
			"The sidecar rejected the Bucket. The message repeats the sidecar's reason.",
			"Follow the message. Users who can read Buckets find more in the conditions of the Bucket.",
		},
		conditions.SpecInvalid: {
			"The spec of the object contradicts itself.",
			"The object was created when other CRDs were installed, of another Cooper version or another project.",
			remake,
		},
	}
}

// ofSidecar returns the texts of the Sidecar's reasons.
func ofSidecar() map[conditions.Reason]explained {
	return map[conditions.Reason]explained{
		conditions.SidecarValidated: {
			"The sidecar has validated the object and all objects that it needs.", normal, nothing,
		},
		conditions.Provisioned: {
			"The driver has created the bucket or granted the access.", normal, nothing,
		},
		conditions.Retrying: {
			"A call to the driver failed with an error that may be temporary.",
			"The backend is unreachable or busy, or the driver lacks permissions there. The message contains the code and the driver's message.",
			"Follow the driver's message. It may ask you to empty the bucket, for example. Otherwise wait: COSI retries with increasing delays. " +
				"If the error persists, an administrator must check the driver and its backend.",
		},
		conditions.Terminal: {
			"The driver refused the call, and a retry would not help.",
			"A parameter of the class is wrong, the name is in use, or the backend forbids the operation. The message contains the driver's message.",
			"Follow the message. In most cases, an administrator must correct the class. Then delete the object and create it again.",
		},
		conditions.RPCSucceeded: {
			"The last call of that kind succeeded.", normal, nothing,
		},
		conditions.DriverIncompatible: {
			"The driver implements another version of the contract than its sidecar expects.",
			"The driver implements COSI v1alpha1, or the v1alpha2 of the upstream project.",
			"An administrator must install a compatible version of the driver, or run cosi-driver-adapter between the sidecar and the driver.",
		},
		conditions.DriverResponseInvalid: {
			"The driver reported success, but its response violates the contract.",
			"The driver has a bug.",
			"An administrator must install a fixed version of the driver. Its vendor can reproduce the bug with cosi-sanity.",
		},
		conditions.DriverLacksProtocol: {
			"The driver does not support a protocol that the object needs.",
			"The class names the wrong driver, or the driver was replaced by a version that lacks the protocol.",
			"Choose another protocol or a class of another driver. " + remake,
		},
		conditions.BucketNotUsable: {
			"A Bucket of the access is missing, is being deleted, or does not match the access.",
			"The Bucket or its claim was deleted, or an administrator changed the Bucket.",
			"Delete the BucketAccess, and create it again for another claim.",
		},
		conditions.WaitingForProvisionedBucket: {
			"A Bucket of the access is not provisioned yet.",
			"The driver is creating the bucket, or failed to create it.",
			"Wait a minute. If the reason remains, run kubectl cosi status to see what the claim is waiting for.",
		},
		conditions.SecretTaken: {
			"COSI cannot use the Secret that accessSecretName names, and does not change it.",
			"The Secret has another owner, or is being deleted and another component's finalizer keeps it.",
			"If the Secret is not in use, delete it. Otherwise delete the BucketAccess and create it again with another accessSecretName.",
		},
		conditions.SecretNotWritable: {
			"COSI cannot write or delete an access Secret.",
			"A quota is used up, an admission policy rejects the request, the sidecar lacks permissions, or the Secret is immutable.",
			"Follow the message. Free capacity in the ResourceQuota of the namespace, or ask an administrator to check the sidecar's permissions.",
		},
		conditions.SecretKeysRendered: {
			"The Secrets of the access have all keys that its annotation cooper.dev/secret-keys adds.", normal, nothing,
		},
		conditions.SecretKeysPending: {
			"The Secrets of the access do not have the keys of its current annotation cooper.dev/secret-keys yet.",
			"The annotation was changed more often than the rate limit permits.",
			"Wait a minute.",
		},
		conditions.SecretKeysInvalid: {
			"The Secrets of the access lack keys that its annotation cooper.dev/secret-keys adds. The access itself works.",
			"The annotation has an error, a preset does not support the protocol or a value, or the Secret would be too large.",
			"Correct the annotation as the message describes. COSI then adds the keys.",
		},
		conditions.StatusDegraded: {
			"The status contradicts the spec, or has lost data that further calls to the driver need.",
			"The status was edited manually, or a restore did not include all of it.",
			"Delete the object and create it again. An administrator must check for leftover resources in the backend.",
		},
		conditions.ClaimStillBound: {
			"The Bucket is being deleted, but its BucketClaim still exists.",
			"The Bucket was deleted before its claim.",
			"To delete the bucket, delete the BucketClaim. Until then the bucket is kept. The deletion of the Bucket object cannot be undone.",
		},
		conditions.IDShared: {
			"The object is being deleted, but another object has the same bucket ID or account ID.",
			"One backend bucket was imported twice, or a restore created copies of existing objects.",
			"An administrator must delete one of the objects and keep the backend resource, as the message describes.",
		},
	}
}
