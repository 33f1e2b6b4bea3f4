// SPDX-License-Identifier: Apache-2.0

package apierror

import (
	"net/http"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// rule is the meaning of an error.
type rule struct {
	kind     func(format string, args ...any) *driverkit.Error
	sentence string
}

var (
	login     = rule{driverkit.Unauthenticated, "Google Cloud does not accept the driver's own credentials; an administrator has to renew them"}
	denied    = rule{driverkit.PermissionDenied, "Google Cloud denies the driver this action; an administrator has to allow it"}
	throttled = rule{driverkit.ResourceExhausted, "Google Cloud asks for fewer requests; the driver tries again later"}
	quota     = rule{driverkit.ResourceExhausted, "a quota of the project is used up; an administrator has to raise it or remove something"}
	down      = rule{driverkit.Unavailable, "Google Cloud has an internal problem; the driver tries again"}
	changing  = rule{driverkit.Aborted, "another change is under way; the driver tries again"}
	value     = rule{driverkit.InvalidArgument, "Google Cloud does not accept a value of the request; check the class parameters"}
	foreign   = rule{driverkit.AlreadyExists, "this name belongs to somebody else"}
	protected = rule{driverkit.FailedPrecondition, "it is protected from this change"}
	forbidden = rule{driverkit.FailedPrecondition, "a policy of the organization forbids this; an administrator has to allow it"}
	missing   = rule{driverkit.NotFound, "it does not exist"}
	settling  = rule{driverkit.Unavailable, "an earlier change has not reached all of Google Cloud yet; the driver tries again"}
	unknown   = rule{driverkit.Internal, "Google Cloud gave an answer that the driver does not expect; its log has the details"}

	// The limits of "Quotas and limits" of IAM and of "HMAC keys", in plain words.
	tooManyHMACKeys = rule{driverkit.ResourceExhausted, "its service account has all the HMAC keys that Google allows for one (ten); delete keys that nobody uses"}
	tooManyJSONKeys = rule{driverkit.ResourceExhausted, "its service account has all the keys that Google allows for one (ten); delete keys that nobody uses"}
	tooManyAccounts = rule{driverkit.ResourceExhausted, "the project has all the service accounts that its quota allows (100 unless it was raised), and every access with keys needs one; " +
		"an administrator has to raise the quota, or to use authentication type ServiceAccount, which needs none"}
	noJSONKeys = rule{driverkit.FailedPrecondition, "the project does not let service account keys be made, by the organization policy iam.disableServiceAccountKeyCreation for example; " +
		"an administrator has to allow it, or to set the class parameter credentials to hmac"}
	noHMACKeys = rule{driverkit.FailedPrecondition, "the project does not let HMAC keys be made, by the organization policy storage.restrictAuthTypes for example; " +
		"an administrator has to allow it, or to set the class parameter credentials to json"}
	unbindable = rule{driverkit.FailedPrecondition, "the bucket does not take this permission; it needs uniform bucket-level access, roles that exist, and room for one of at most 1500 members, " +
		"or, with a Kubernetes service account, for one of its at most 20 accesses"}
)

// byCode is the meaning of the reasons of the storage API ("HTTP status and error codes for JSON")
// and of the statuses of the others (google.rpc.Code).
var byCode = map[string]rule{
	"authError":           login,
	"required":            value,
	"expired":             login,
	"lockedDomainExpired": login,
	"UNAUTHENTICATED":     login,

	"forbidden":               denied,
	"insufficientPermissions": denied,
	"accountDisabled":         denied,
	"accessNotConfigured":     denied,
	"usageLimits":             denied,
	"sslRequired":             denied,
	"UserProjectAccessDenied": denied,
	"userProjectMissing":      denied,
	"PERMISSION_DENIED":       denied,

	"rateLimitExceeded":     throttled,
	"userRateLimitExceeded": throttled,
	"dailyLimitExceeded":    quota,
	"quotaExceeded":         quota,
	"RESOURCE_EXHAUSTED":    quota,

	"backendError":      down,
	"internalError":     down,
	"gatewayTimeout":    down,
	"INTERNAL":          down,
	"UNKNOWN":           down,
	"UNAVAILABLE":       down,
	"DEADLINE_EXCEEDED": down,

	"conditionNotMet": changing,
	"conflict":        changing,
	"ABORTED":         changing,

	"invalid":                          value,
	"invalidParameter":                 value,
	"invalidArgument":                  value,
	"parseError":                       value,
	"badRequest":                       value,
	"INVALID_ARGUMENT":                 value,
	"customerEncryptionKeyIsIncorrect": value,

	"ALREADY_EXISTS": foreign,

	"retentionPolicyNotMet":     protected,
	"objectUnderActiveHold":     protected,
	"cloudKmsDisabledKey":       protected,
	"cloudKmsBadKey":            value,
	"cannotDecryptOrEncrypt":    protected,
	"failedPrecondition":        protected,
	"FAILED_PRECONDITION":       protected,
	"orgPolicyConstraintFailed": forbidden,

	"notFound":  missing,
	"NOT_FOUND": missing,
}

// byOperation is the meaning of codes that depends on the call.
var byOperation = map[string]rule{
	// The name is one that an other call has just found free.
	"storage.buckets.insert/conflict": foreign,
	// No condition is sent with a new bucket: what is not met is a constraint of the organization.
	"storage.buckets.insert/conditionNotMet": forbidden,
	"storage.buckets.delete/conflict":        {driverkit.FailedPrecondition, "it is not empty"},

	// The account that the key or the binding is for was made a moment ago.
	"storage.projects.hmacKeys.create/notFound":          settling,
	"iam.projects.serviceAccounts.keys.create/NOT_FOUND": settling,
	"storage.buckets.setIamPolicy/invalid":               unbindable,
	"storage.buckets.setIamPolicy/badRequest":            unbindable,
	"storage.buckets.setIamPolicy/INVALID_ARGUMENT":      unbindable,
	"storage.buckets.setIamPolicy/failedPrecondition":    unbindable,

	// A key that was made inactive a moment ago still counts as active somewhere.
	"storage.projects.hmacKeys.delete/invalid":         settling,
	"storage.projects.hmacKeys.delete/badRequest":      settling,
	"storage.projects.hmacKeys.delete/conditionNotMet": settling,

	"storage.projects.hmacKeys.create/quotaExceeded":               tooManyHMACKeys,
	"storage.projects.hmacKeys.create/RESOURCE_EXHAUSTED":          tooManyHMACKeys,
	"storage.projects.hmacKeys.create/conditionNotMet":             noHMACKeys,
	"storage.projects.hmacKeys.create/failedPrecondition":          noHMACKeys,
	"storage.projects.hmacKeys.create/orgPolicyConstraintFailed":   noHMACKeys,
	"iam.projects.serviceAccounts.create/RESOURCE_EXHAUSTED":       tooManyAccounts,
	"iam.projects.serviceAccounts.keys.create/RESOURCE_EXHAUSTED":  tooManyJSONKeys,
	"iam.projects.serviceAccounts.keys.create/FAILED_PRECONDITION": noJSONKeys,
}

// byStatus is the meaning of an error without a code that the table has.
func byStatus(status int) rule {
	switch {
	case status == http.StatusTooManyRequests:
		return throttled
	case status >= http.StatusInternalServerError || status == http.StatusRequestTimeout:
		return down
	case status == http.StatusUnauthorized:
		return login
	case status == http.StatusForbidden:
		return denied
	case status == http.StatusConflict || status == http.StatusPreconditionFailed:
		return changing
	case status == http.StatusNotFound || status == http.StatusGone:
		return missing
	default:
		return unknown
	}
}
