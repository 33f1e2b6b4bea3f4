// SPDX-License-Identifier: Apache-2.0

package apierror

import (
	"net/http"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/backenderror"
)

var noCluster = backenderror.Meaning{
	Kind: driverkit.FailedPrecondition,
	Text: "the cluster does not exist in EKS; an administrator has to correct iam.serviceAccounts in the driver's configuration",
}

// quota returns the meaning of an error about an exhausted quota.
func quota(text string) backenderror.Meaning {
	return backenderror.Meaning{Kind: driverkit.ResourceExhausted, Text: text}
}

// The quotas in "IAM and AWS STS quotas", "Bucket quotas" and "Amazon EKS service quotas".
var (
	tooManyUsers = quota("the AWS account has the maximum number of IAM users (5000, which AWS does not raise), and each access with a key needs one; " +
		"an administrator has to delete users, use another AWS account as a second backend, or use authentication type ServiceAccount")
	tooManyKeys     = quota("its IAM user has the maximum number of access keys (two), one of which is not in the driver's credential store; an administrator has to delete unused keys")
	tooManyPolicies = quota("the AWS account has the maximum number of managed policies (1500 unless the quota was raised), and an access to more than about 14 buckets needs one; " +
		"an administrator has to raise the quota \"Customer managed policies in an AWS account\", or users have to request fewer buckets in one access")
	tooManyAttached = quota("its IAM user has the maximum number of managed policies (10 unless the quota was raised); an administrator has to detach unused ones")
	tooManyRoles    = quota("the AWS account has the maximum number of IAM roles (1000 unless the quota was raised), and each service account with an access needs one; " +
		"an administrator has to raise the quota \"Roles per account\", or delete roles")
	tooManyBuckets = quota("the AWS account has the maximum number of buckets (10000 unless the quota was raised); an administrator has to raise the quota \"General purpose buckets\", or delete buckets")
	tooManyPods    = quota("the EKS cluster has the maximum number of Pod Identity associations (5000), and each service account with an access needs one; " +
		"an administrator has to delete associations, or configure oidcProvider instead of eksCluster")
)

var refusedQueue = backenderror.Meaning{
	Kind: driverkit.InvalidArgument,
	Text: "{backend} does not accept the queue or an event type; the queue must exist in the region of the bucket, must not be a FIFO queue, and its policy must allow s3.amazonaws.com to send messages",
}

var table = backenderror.Table{
	Backend: "the store", Read: read, Codes: byCode, Operations: byOperation,
	// The missing resource may be a different one than the subject of the call.
	Statuses: map[int]backenderror.Meaning{http.StatusNotFound: backenderror.Unknown, http.StatusGone: backenderror.Unknown},
}

// byCode maps the codes of S3, IAM, STS and EKS in their API references, and the codes that compatible stores add.
var byCode = map[string]backenderror.Meaning{
	"InvalidAccessKeyId":                    backenderror.Login,
	"SignatureDoesNotMatch":                 backenderror.Login,
	"InvalidClientTokenId":                  backenderror.Login,
	"UnrecognizedClient":                    backenderror.Login,
	"ExpiredToken":                          backenderror.Login,
	"InvalidToken":                          backenderror.Login,
	"TokenRefreshRequired":                  backenderror.Login,
	"IncompleteSignature":                   backenderror.Login,
	"MissingAuthenticationToken":            backenderror.Login,
	"AuthorizationHeaderMalformed":          backenderror.Login,
	"InvalidSecurity":                       backenderror.Login,
	"XMinioAdminNoSuchUser":                 backenderror.Settling,
	"XAdminUserNotFound":                    backenderror.Settling,
	"XMinioAdminNoSuchPolicy":               backenderror.Settling,
	"XMinioAdminPolicyChangeAlreadyApplied": backenderror.Changing,
	"NoSuchUser":                            backenderror.Settling,
	"UserAlreadyExists":                     backenderror.Changing,
	"UserSuspended":                         backenderror.Login,
	"XAdminAccessDenied":                    backenderror.Denied,
	"XAdminInvalidAccessKey":                backenderror.Login,

	"AccessDenied":       backenderror.Denied,
	"Forbidden":          backenderror.Denied,
	"AllAccessDisabled":  backenderror.Denied,
	"AccountProblem":     backenderror.Denied,
	"NotSignedUp":        backenderror.Denied,
	"OptInRequired":      backenderror.Denied,
	"UnauthorizedAccess": backenderror.Denied,
	"FeatureDisabled":    backenderror.Denied,
	"KMS.Disabled":       backenderror.Denied,
	"KMS.AccessDenied":   backenderror.Denied,

	"SlowDown":                      backenderror.Throttled,
	"SlowDownRead":                  backenderror.Throttled,
	"SlowDownWrite":                 backenderror.Throttled,
	"Throttling":                    backenderror.Throttled,
	"Throttled":                     backenderror.Throttled,
	"RequestLimitExceeded":          backenderror.Throttled,
	"RequestThrottled":              backenderror.Throttled,
	"TooManyRequests":               backenderror.Throttled,
	"BandwidthLimitExceeded":        backenderror.Throttled,
	"ProvisionedThroughputExceeded": backenderror.Throttled,

	"LimitExceeded":                  backenderror.Quota,
	"ServiceQuotaExceeded":           backenderror.Quota,
	"ResourceLimitExceeded":          backenderror.Quota,
	"TooManyBuckets":                 backenderror.Quota,
	"QuotaExceeded":                  backenderror.Quota,
	"StorageFull":                    backenderror.Quota,
	"XMinioStorageFull":              backenderror.Quota,
	"XMinioAdminBucketQuotaExceeded": backenderror.Quota,

	"InternalError":              backenderror.Down,
	"InternalFailure":            backenderror.Down,
	"ServiceFailure":             backenderror.Down,
	"ServiceUnavailable":         backenderror.Down,
	"Unavailable":                backenderror.Down,
	"Busy":                       backenderror.Down,
	"RequestTimeout":             backenderror.Down,
	"XMinioServerNotInitialized": backenderror.Down,
	"Server":                     backenderror.Down,

	"RequestTimeTooSkewed": backenderror.ClockSkew,
	"RequestExpired":       backenderror.ClockSkew,

	"OperationAborted":              backenderror.Changing,
	"ConcurrentModification":        backenderror.Changing,
	"ConditionalRequestConflict":    backenderror.Changing,
	"DeleteConflict":                backenderror.Changing,
	"EntityTemporarilyUnmodifiable": backenderror.Changing,
	"ResourceInUse":                 backenderror.Changing,
	"RestoreAlreadyInProgress":      backenderror.Changing,

	"NoSuchEntity": backenderror.Settling,
	"NoSuchUpload": backenderror.Settling,

	"InvalidBucketName":         backenderror.Value,
	"InvalidLocationConstraint": backenderror.Value,
	"IllegalLocationConstraint": backenderror.Value,
	"InvalidBucketState":        backenderror.Protected,
	"MalformedPolicyDocument":   backenderror.Value,
	"MalformedPolicy":           backenderror.Value,
	"XMinioMalformedIAMPolicy":  backenderror.Value,
	"PolicyNotAttachable":       backenderror.Value,
	"InvalidTag":                backenderror.Value,
	"KMS.NotFound":              backenderror.Value,
	"KMS.InvalidKeyUsage":       backenderror.Value,
	"KMS.InvalidState":          backenderror.Protected,

	"BucketAlreadyExists":     backenderror.Foreign,
	"BucketAlreadyOwnedByYou": backenderror.Foreign,
	"EntityAlreadyExists":     backenderror.Foreign,

	"BucketNotEmpty":                  backenderror.NotEmpty,
	"ObjectLocked":                    backenderror.Protected,
	"UnmodifiableEntity":              backenderror.Protected,
	"ObjectLockConfigurationNotFound": backenderror.Protected,

	"NoSuchBucket": backenderror.Missing,
	"NotFound":     backenderror.Missing,
}

// byOperation contains the codes whose meaning depends on the call: a call that sends a class parameter can fail
// because of that parameter.
var byOperation = withValueCodes(map[string]backenderror.Meaning{
	"DeleteObjects/AccessDenied": backenderror.Protected,
	// The document names a user that was just deleted.
	"PutBucketPolicy/MalformedPolicy":                    backenderror.Settling,
	"PutBucketNotificationConfiguration/InvalidArgument": refusedQueue,
	// EKS does not see a role that was just created.
	"CreatePodIdentityAssociation/InvalidParameter": backenderror.Settling,
	"CreatePodIdentityAssociation/InvalidRequest":   backenderror.Settling,
	"ListPodIdentityAssociations/ResourceNotFound":  noCluster,

	"CreateUser/LimitExceeded":                           tooManyUsers,
	"CreateAccessKey/LimitExceeded":                      tooManyKeys,
	"CreatePolicy/LimitExceeded":                         tooManyPolicies,
	"AttachUserPolicy/LimitExceeded":                     tooManyAttached,
	"CreateRole/LimitExceeded":                           tooManyRoles,
	"CreateBucket/TooManyBuckets":                        tooManyBuckets,
	"CreatePodIdentityAssociation/ResourceLimitExceeded": tooManyPods,
})

func withValueCodes(rules map[string]backenderror.Meaning) map[string]backenderror.Meaning {
	operations := []string{
		"CreateBucket", "PutBucketVersioning", "PutBucketEncryption", "PutObjectLockConfiguration",
		"PutBucketLifecycleConfiguration", "PutBucketCors", "PutBucketTagging", "CreateUser", "PutUserPolicy", "CreatePolicy",
		"CreateRole", "PutRolePolicy", "UpdateAssumeRolePolicy",
	}
	codes := []string{"InvalidArgument", "InvalidRequest", "MalformedXML", "InvalidInput", "ValidationError", "NotImplemented", "InvalidParameterValue", "InvalidAction"}
	for _, operation := range operations {
		for _, code := range codes {
			rules[operation+"/"+code] = backenderror.Value
		}
	}
	return rules
}
