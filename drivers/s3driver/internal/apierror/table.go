// SPDX-License-Identifier: Apache-2.0

package apierror

import (
	"net/http"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/backenderror"
)

var noCluster = backenderror.Meaning{
	Kind: driverkit.FailedPrecondition,
	Text: "EKS does not know the cluster; an administrator has to correct iam.serviceAccounts in the driver's configuration",
}

var table = backenderror.Table{
	Backend: "the store", Read: read, Codes: byCode, Operations: byOperation,
	// What is missing may be anything, not only the subject of the call.
	Statuses: map[int]backenderror.Meaning{http.StatusNotFound: backenderror.Unknown, http.StatusGone: backenderror.Unknown},
}

// byCode is the meaning of codes of S3, IAM, STS and EKS, as their API references list them, and of
// the codes that compatible stores add.
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

// byOperation is the meaning of codes that depends on the call: what a class parameter is sent with
// can be wrong because of the parameter.
var byOperation = withValueCodes(map[string]backenderror.Meaning{
	"DeleteObjects/AccessDenied": backenderror.Protected,
	// The document names a user that was removed a moment ago.
	"PutBucketPolicy/MalformedPolicy": backenderror.Settling,
	// EKS does not see a role that was made a moment ago.
	"CreatePodIdentityAssociation/InvalidParameter": backenderror.Settling,
	"CreatePodIdentityAssociation/InvalidRequest":   backenderror.Settling,
	"ListPodIdentityAssociations/ResourceNotFound":  noCluster,
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
