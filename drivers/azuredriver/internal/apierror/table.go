// SPDX-License-Identifier: Apache-2.0

package apierror

import "github.com/cooper-cosi/cooper/drivers/driverkit"

// rule is the meaning of a code.
type rule struct {
	kind     func(format string, args ...any) *driverkit.Error
	sentence string
}

var (
	login     = rule{driverkit.Unauthenticated, "the service does not accept the driver's own credentials; an administrator has to renew them"}
	denied    = rule{driverkit.PermissionDenied, "the service denies the driver this action; an administrator has to allow it"}
	throttled = rule{driverkit.ResourceExhausted, "the service asks for fewer requests; the driver tries again later"}
	down      = rule{driverkit.Unavailable, "the service has an internal problem; the driver tries again"}
	absent    = rule{driverkit.Unavailable, "the service cannot be reached"}
	changing  = rule{driverkit.Aborted, "another change is under way; the driver tries again"}
	leaving   = rule{driverkit.Unavailable, "a container of this name is being deleted, which takes Azure at least 30 seconds; the driver tries again"}
	value     = rule{driverkit.InvalidArgument, "the service does not accept a value of the request; check the class parameters"}
	protected = rule{driverkit.FailedPrecondition, "an immutability policy or a legal hold protects it from this change"}
	leased    = rule{driverkit.FailedPrecondition, "somebody holds a lease on it; it can be changed when the lease has ended"}
	missing   = rule{driverkit.NotFound, "it does not exist at the service"}
	disabled  = rule{driverkit.FailedPrecondition, "the storage account is disabled; an administrator has to enable it"}
	keyOff    = rule{driverkit.FailedPrecondition, "the storage account does not accept its account keys; an administrator has to allow shared key access, or to configure the driver without it"}
	spreading = rule{driverkit.Unavailable, "Azure does not know the new identity everywhere yet; the driver tries again"}
	full      = rule{driverkit.ResourceExhausted, "the subscription has as many role assignments as Azure allows; an administrator has to remove some"}
	misplaced = rule{driverkit.FailedPrecondition, "a subscription, resource group or role of the driver's configuration does not exist; an administrator has to correct it"}
	unknown   = rule{driverkit.Internal, "the service gave an answer that the driver does not expect; its log has the details"}
	failed    = rule{driverkit.Internal, "the driver failed; its log has the details"}
)

// byCode is the meaning of codes that the API references of the Blob service list.
var byCode = map[string]rule{
	"AuthenticationFailed":               login,
	"InvalidAuthenticationInfo":          login,
	"NoAuthenticationInformation":        login,
	"AuthorizationFailure":               denied,
	"AuthorizationPermissionMismatch":    denied,
	"AuthorizationProtocolMismatch":      denied,
	"AuthorizationResourceTypeMismatch":  denied,
	"AuthorizationServiceMismatch":       denied,
	"AuthorizationSourceIPMismatch":      denied,
	"InsufficientAccountPermissions":     denied,
	"KeyBasedAuthenticationNotPermitted": keyOff,

	// Azure Resource Manager.
	"AuthenticationFailedInvalidHeader": login,
	"InvalidAuthenticationToken":        login,
	"ExpiredAuthenticationToken":        login,
	"AuthorizationFailed":               denied,
	"LinkedAuthorizationFailed":         denied,
	"PrincipalNotFound":                 spreading,
	"RoleAssignmentLimitExceeded":       full,
	"SubscriptionNotFound":              misplaced,
	"ResourceGroupNotFound":             misplaced,
	"RoleDefinitionDoesNotExist":        misplaced,
	"ConcurrentFederatedIdentityCredentialsWritesForSingleManagedIdentity": changing,

	"ServerBusy":                 throttled,
	"AccountRequestRateExceeded": throttled,
	"TooManyRequests":            throttled,
	"InternalError":              down,
	"OperationTimedOut":          down,
	"AccountIsDisabled":          disabled,
	"ContainerDisabled":          disabled,
	"AccountBeingCreated":        changing,

	"ContainerNotFound":     missing,
	"ResourceNotFound":      missing,
	"ContainerBeingDeleted": leaving,

	"LeaseIdMissing":                        leased,
	"LeaseIdMismatchWithContainerOperation": changing,
	"LeaseNotPresentWithContainerOperation": changing,
	"LeaseLost":                             changing,
	"LeaseAlreadyPresent":                   changing,
	"ConditionNotMet":                       changing,
	"SystemInUse":                           changing,

	"ContainerImmutableDueToPolicy":                   protected,
	"BlobImmutableDueToPolicy":                        protected,
	"BlobImmutableDueToLegalHold":                     protected,
	"ImmutabilityPolicyDeleteOnLockedPolicy":          protected,
	"ContainerUnderWriteOnceReadManyLegalHold":        protected,
	"ContainerProtectedFromDeletion":                  protected,
	"LegalHoldShouldBeClearedBeforeContainerDeletion": protected,

	"EncryptionScopeNotFound":       value,
	"EncryptionScopeDisabled":       value,
	"InvalidEncryptionScope":        value,
	"InvalidHeaderValue":            value,
	"InvalidInput":                  value,
	"InvalidMetadata":               value,
	"EmptyMetadataKey":              value,
	"MetadataTooLarge":              value,
	"InvalidResourceName":           value,
	"OutOfRangeInput":               value,
	"FeatureNotSupportedForAccount": value,
}
