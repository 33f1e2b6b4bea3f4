// SPDX-License-Identifier: Apache-2.0

package apierror

import (
	"net/http"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// rule is the meaning of a code.
type rule struct {
	kind     func(format string, args ...any) *driverkit.Error
	sentence string
}

var (
	login     = rule{driverkit.Unauthenticated, "the store does not accept the driver's own credentials; an administrator has to renew them"}
	denied    = rule{driverkit.PermissionDenied, "the store denies the driver this action; an administrator has to allow it"}
	throttled = rule{driverkit.ResourceExhausted, "the store asks for fewer requests; the driver tries again later"}
	quota     = rule{driverkit.ResourceExhausted, "a quota of the store is used up; an administrator has to raise it or remove something"}
	down      = rule{driverkit.Unavailable, "the store has an internal problem; the driver tries again"}
	clock     = rule{driverkit.Unavailable, "the clocks of driver and store differ; an administrator has to set them"}
	changing  = rule{driverkit.Aborted, "another change is under way; the driver tries again"}
	settling  = rule{driverkit.Unavailable, "the store has not yet settled an earlier change; the driver tries again"}
	value     = rule{driverkit.InvalidArgument, "the store does not accept a value of the request; check the class parameters"}
	foreign   = rule{driverkit.AlreadyExists, "this name belongs to somebody else at the store"}
	notEmpty  = rule{driverkit.FailedPrecondition, "it is not empty"}
	protected = rule{driverkit.FailedPrecondition, "the store protects it from this change"}
	noCluster = rule{driverkit.FailedPrecondition, "EKS does not know the cluster; an administrator has to correct iam.serviceAccounts in the driver's configuration"}
	missing   = rule{driverkit.NotFound, "it does not exist at the store"}
	unknown   = rule{driverkit.Internal, "the store gave an answer that the driver does not expect; its log has the details"}
)

// byCode is the meaning of codes of S3, IAM, STS and EKS, as their API references list them, and of
// the codes that compatible stores add.
var byCode = map[string]rule{
	"InvalidAccessKeyId":                    login,
	"SignatureDoesNotMatch":                 login,
	"InvalidClientTokenId":                  login,
	"UnrecognizedClient":                    login,
	"ExpiredToken":                          login,
	"InvalidToken":                          login,
	"TokenRefreshRequired":                  login,
	"IncompleteSignature":                   login,
	"MissingAuthenticationToken":            login,
	"AuthorizationHeaderMalformed":          login,
	"InvalidSecurity":                       login,
	"XMinioAdminNoSuchUser":                 settling,
	"XAdminUserNotFound":                    settling,
	"XMinioAdminNoSuchPolicy":               settling,
	"XMinioAdminPolicyChangeAlreadyApplied": changing,
	"XAdminAccessDenied":                    denied,
	"XAdminInvalidAccessKey":                login,

	"AccessDenied":       denied,
	"Forbidden":          denied,
	"AllAccessDisabled":  denied,
	"AccountProblem":     denied,
	"NotSignedUp":        denied,
	"OptInRequired":      denied,
	"UnauthorizedAccess": denied,
	"FeatureDisabled":    denied,
	"KMS.Disabled":       denied,
	"KMS.AccessDenied":   denied,

	"SlowDown":                      throttled,
	"SlowDownRead":                  throttled,
	"SlowDownWrite":                 throttled,
	"Throttling":                    throttled,
	"Throttled":                     throttled,
	"RequestLimitExceeded":          throttled,
	"RequestThrottled":              throttled,
	"TooManyRequests":               throttled,
	"BandwidthLimitExceeded":        throttled,
	"ProvisionedThroughputExceeded": throttled,

	"LimitExceeded":                  quota,
	"ServiceQuotaExceeded":           quota,
	"ResourceLimitExceeded":          quota,
	"TooManyBuckets":                 quota,
	"QuotaExceeded":                  quota,
	"StorageFull":                    quota,
	"XMinioStorageFull":              quota,
	"XMinioAdminBucketQuotaExceeded": quota,

	"InternalError":              down,
	"InternalFailure":            down,
	"ServiceFailure":             down,
	"ServiceUnavailable":         down,
	"Unavailable":                down,
	"Busy":                       down,
	"RequestTimeout":             down,
	"XMinioServerNotInitialized": down,
	"Server":                     down,

	"RequestTimeTooSkewed": clock,
	"RequestExpired":       clock,

	"OperationAborted":              changing,
	"ConcurrentModification":        changing,
	"ConditionalRequestConflict":    changing,
	"DeleteConflict":                changing,
	"EntityTemporarilyUnmodifiable": changing,
	"ResourceInUse":                 changing,
	"RestoreAlreadyInProgress":      changing,

	"NoSuchEntity": settling,
	"NoSuchUpload": settling,

	"InvalidBucketName":         value,
	"InvalidLocationConstraint": value,
	"IllegalLocationConstraint": value,
	"InvalidBucketState":        protected,
	"MalformedPolicyDocument":   value,
	"MalformedPolicy":           value,
	"XMinioMalformedIAMPolicy":  value,
	"PolicyNotAttachable":       value,
	"InvalidTag":                value,
	"KMS.NotFound":              value,
	"KMS.InvalidKeyUsage":       value,
	"KMS.InvalidState":          protected,

	"BucketAlreadyExists":     foreign,
	"BucketAlreadyOwnedByYou": foreign,
	"EntityAlreadyExists":     foreign,

	"BucketNotEmpty":                  notEmpty,
	"ObjectLocked":                    protected,
	"UnmodifiableEntity":              protected,
	"ObjectLockConfigurationNotFound": protected,

	"NoSuchBucket": missing,
	"NotFound":     missing,
}

// byOperation is the meaning of codes that depends on the call: what a class parameter is sent with
// can be wrong because of the parameter.
var byOperation = withValueCodes(map[string]rule{
	"DeleteObjects/AccessDenied": protected,
	// The document names a user that was removed a moment ago.
	"PutBucketPolicy/MalformedPolicy": settling,
	// EKS does not see a role that was made a moment ago.
	"CreatePodIdentityAssociation/InvalidParameter": settling,
	"CreatePodIdentityAssociation/InvalidRequest":   settling,
	"ListPodIdentityAssociations/ResourceNotFound":  noCluster,
})

func withValueCodes(rules map[string]rule) map[string]rule {
	operations := []string{
		"CreateBucket", "PutBucketVersioning", "PutBucketEncryption", "PutObjectLockConfiguration",
		"PutBucketLifecycleConfiguration", "PutBucketCors", "PutBucketTagging", "CreateUser", "PutUserPolicy", "CreatePolicy",
		"CreateRole", "PutRolePolicy", "UpdateAssumeRolePolicy",
	}
	codes := []string{"InvalidArgument", "InvalidRequest", "MalformedXML", "InvalidInput", "ValidationError", "NotImplemented", "InvalidParameterValue", "InvalidAction"}
	for _, operation := range operations {
		for _, code := range codes {
			rules[operation+"/"+code] = value
		}
	}
	return rules
}

// byStatus is the meaning of a code that the table does not have.
func byStatus(status int) rule {
	switch {
	case status == http.StatusTooManyRequests:
		return throttled
	case status >= http.StatusInternalServerError:
		return down
	case status == http.StatusUnauthorized:
		return login
	case status == http.StatusForbidden:
		return denied
	case status == http.StatusConflict || status == http.StatusPreconditionFailed:
		return changing
	default:
		return unknown
	}
}
