// SPDX-License-Identifier: Apache-2.0

package apierror

import (
	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/backenderror"
)

var table = backenderror.Table{Backend: "Google Cloud", Read: read, Codes: byCode, Operations: byOperation}

// Meanings that are specific to Google Cloud.
var (
	forbidden = backenderror.Meaning{Kind: driverkit.FailedPrecondition, Text: "a policy of the Google Cloud organization forbids this call; an administrator has to change the policy"}

	// The limits in "Quotas and limits" of IAM and in "HMAC keys".
	tooManyHMACKeys = backenderror.Meaning{Kind: driverkit.ResourceExhausted, Text: "its service account has the maximum number of HMAC keys (ten); delete unused keys"}
	tooManyJSONKeys = backenderror.Meaning{Kind: driverkit.ResourceExhausted, Text: "its service account has the maximum number of keys (ten); delete unused keys"}
	tooManyAccounts = backenderror.Meaning{Kind: driverkit.ResourceExhausted, Text: "the project has the maximum number of service accounts (100 unless the quota was raised), and each access with keys needs one; " +
		"an administrator has to raise the quota, or users have to use authentication type ServiceAccount, which needs none"}
	noJSONKeys = backenderror.Meaning{Kind: driverkit.FailedPrecondition, Text: "the project does not allow the creation of service account keys, for example because of the organization policy iam.disableServiceAccountKeyCreation; " +
		"an administrator has to allow it, or set the class parameter credentials to hmac"}
	noHMACKeys = backenderror.Meaning{Kind: driverkit.FailedPrecondition, Text: "the project does not allow the creation of HMAC keys, for example because of the organization policy storage.restrictAuthTypes; " +
		"an administrator has to allow it, or set the class parameter credentials to json"}
	unbindable = backenderror.Meaning{Kind: driverkit.FailedPrecondition, Text: "Google Cloud rejects this permission in the IAM policy of the bucket; check that the bucket has uniform bucket-level access, that the roles exist, " +
		"that the policy has fewer than 1500 members, and that a Kubernetes service account has fewer than 20 accesses to the bucket"}
)

// byCode maps the reasons of the storage API ("HTTP status and error codes for JSON") and the statuses of the other
// APIs (google.rpc.Code).
var byCode = map[string]backenderror.Meaning{
	"authError":           backenderror.Login,
	"required":            backenderror.Value,
	"expired":             backenderror.Login,
	"lockedDomainExpired": backenderror.Login,
	"UNAUTHENTICATED":     backenderror.Login,

	"forbidden":               backenderror.Denied,
	"insufficientPermissions": backenderror.Denied,
	"accountDisabled":         backenderror.Denied,
	"accessNotConfigured":     backenderror.Denied,
	"usageLimits":             backenderror.Denied,
	"sslRequired":             backenderror.Denied,
	"UserProjectAccessDenied": backenderror.Denied,
	"userProjectMissing":      backenderror.Denied,
	"PERMISSION_DENIED":       backenderror.Denied,

	"rateLimitExceeded":     backenderror.Throttled,
	"userRateLimitExceeded": backenderror.Throttled,
	"dailyLimitExceeded":    backenderror.Quota,
	"quotaExceeded":         backenderror.Quota,
	"RESOURCE_EXHAUSTED":    backenderror.Quota,

	"backendError":      backenderror.Down,
	"internalError":     backenderror.Down,
	"gatewayTimeout":    backenderror.Down,
	"INTERNAL":          backenderror.Down,
	"UNKNOWN":           backenderror.Down,
	"UNAVAILABLE":       backenderror.Down,
	"DEADLINE_EXCEEDED": backenderror.Down,

	"conditionNotMet": backenderror.Changing,
	"conflict":        backenderror.Changing,
	"ABORTED":         backenderror.Changing,

	"invalid":                          backenderror.Value,
	"invalidParameter":                 backenderror.Value,
	"invalidArgument":                  backenderror.Value,
	"parseError":                       backenderror.Value,
	"badRequest":                       backenderror.Value,
	"INVALID_ARGUMENT":                 backenderror.Value,
	"customerEncryptionKeyIsIncorrect": backenderror.Value,

	"ALREADY_EXISTS": backenderror.Foreign,

	"retentionPolicyNotMet":     backenderror.Protected,
	"objectUnderActiveHold":     backenderror.Protected,
	"cloudKmsDisabledKey":       backenderror.Protected,
	"cloudKmsBadKey":            backenderror.Value,
	"cannotDecryptOrEncrypt":    backenderror.Protected,
	"failedPrecondition":        backenderror.Protected,
	"FAILED_PRECONDITION":       backenderror.Protected,
	"orgPolicyConstraintFailed": forbidden,

	"notFound":  backenderror.Missing,
	"NOT_FOUND": backenderror.Missing,
}

// byOperation contains the codes whose meaning depends on the call.
var byOperation = map[string]backenderror.Meaning{
	// Another call just found that the name is free.
	"storage.buckets.insert/conflict": backenderror.Foreign,
	// New buckets are created without a condition, so the violated condition is an organization constraint.
	"storage.buckets.insert/conditionNotMet": forbidden,
	"storage.buckets.delete/conflict":        backenderror.NotEmpty,

	// The service account for the key or binding was just created.
	"storage.projects.hmacKeys.create/notFound":          backenderror.Settling,
	"iam.projects.serviceAccounts.keys.create/NOT_FOUND": backenderror.Settling,
	"storage.buckets.setIamPolicy/invalid":               unbindable,
	"storage.buckets.setIamPolicy/badRequest":            unbindable,
	"storage.buckets.setIamPolicy/INVALID_ARGUMENT":      unbindable,
	"storage.buckets.setIamPolicy/failedPrecondition":    unbindable,

	// A key that was just deactivated still counts as active in some places.
	"storage.projects.hmacKeys.delete/invalid":         backenderror.Settling,
	"storage.projects.hmacKeys.delete/badRequest":      backenderror.Settling,
	"storage.projects.hmacKeys.delete/conditionNotMet": backenderror.Settling,

	"storage.projects.hmacKeys.create/quotaExceeded":               tooManyHMACKeys,
	"storage.projects.hmacKeys.create/RESOURCE_EXHAUSTED":          tooManyHMACKeys,
	"storage.projects.hmacKeys.create/conditionNotMet":             noHMACKeys,
	"storage.projects.hmacKeys.create/failedPrecondition":          noHMACKeys,
	"storage.projects.hmacKeys.create/orgPolicyConstraintFailed":   noHMACKeys,
	"iam.projects.serviceAccounts.create/RESOURCE_EXHAUSTED":       tooManyAccounts,
	"iam.projects.serviceAccounts.keys.create/RESOURCE_EXHAUSTED":  tooManyJSONKeys,
	"iam.projects.serviceAccounts.keys.create/FAILED_PRECONDITION": noJSONKeys,
}
