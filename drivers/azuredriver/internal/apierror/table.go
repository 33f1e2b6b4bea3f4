// SPDX-License-Identifier: Apache-2.0

package apierror

import (
	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/backenderror"
)

// Meanings that are specific to Azure.
var (
	leaving   = backenderror.Meaning{Kind: driverkit.Unavailable, Text: "Azure is deleting a container with this name, which takes at least 30 seconds; the driver tries again"}
	protected = backenderror.Meaning{Kind: driverkit.FailedPrecondition, Text: "an immutability policy or a legal hold prevents this change"}
	leased    = backenderror.Meaning{Kind: driverkit.FailedPrecondition, Text: "the container or blob has an active lease; the driver can change it after the lease ends"}
	disabled  = backenderror.Meaning{Kind: driverkit.FailedPrecondition, Text: "the storage account is disabled; an administrator has to enable it"}
	keyOff    = backenderror.Meaning{Kind: driverkit.FailedPrecondition, Text: "the storage account does not accept its account keys; an administrator has to allow shared key access, or set signing to userDelegation in the driver's configuration"}
	spreading = backenderror.Meaning{Kind: driverkit.Unavailable, Text: "the new identity has not propagated in Azure yet; the driver tries again"}
	full      = backenderror.Meaning{Kind: driverkit.ResourceExhausted, Text: "the subscription has the maximum number of role assignments (4000, which Azure does not raise), and each access of a service account " +
		"needs one for each of its containers; an administrator has to remove some, or use a storage account of another subscription"}
	misplaced = backenderror.Meaning{Kind: driverkit.FailedPrecondition, Text: "a subscription, resource group or role in the driver's configuration does not exist; an administrator has to correct it"}
)

var table = backenderror.Table{Backend: "Azure", Read: read, Codes: byCode}

// byCode maps the codes in the API references of the Blob service.
var byCode = map[string]backenderror.Meaning{
	"AuthenticationFailed":               backenderror.Login,
	"InvalidAuthenticationInfo":          backenderror.Login,
	"NoAuthenticationInformation":        backenderror.Login,
	"AuthorizationFailure":               backenderror.Denied,
	"AuthorizationPermissionMismatch":    backenderror.Denied,
	"AuthorizationProtocolMismatch":      backenderror.Denied,
	"AuthorizationResourceTypeMismatch":  backenderror.Denied,
	"AuthorizationServiceMismatch":       backenderror.Denied,
	"AuthorizationSourceIPMismatch":      backenderror.Denied,
	"InsufficientAccountPermissions":     backenderror.Denied,
	"KeyBasedAuthenticationNotPermitted": keyOff,

	// Azure Resource Manager.
	"AuthenticationFailedInvalidHeader": backenderror.Login,
	"InvalidAuthenticationToken":        backenderror.Login,
	"ExpiredAuthenticationToken":        backenderror.Login,
	"AuthorizationFailed":               backenderror.Denied,
	"LinkedAuthorizationFailed":         backenderror.Denied,
	"PrincipalNotFound":                 spreading,
	"RoleAssignmentLimitExceeded":       full,
	"SubscriptionNotFound":              misplaced,
	"ResourceGroupNotFound":             misplaced,
	"RoleDefinitionDoesNotExist":        misplaced,
	"ConcurrentFederatedIdentityCredentialsWritesForSingleManagedIdentity": backenderror.Changing,

	"ServerBusy":                 backenderror.Throttled,
	"AccountRequestRateExceeded": backenderror.Throttled,
	"TooManyRequests":            backenderror.Throttled,
	"InternalError":              backenderror.Down,
	"OperationTimedOut":          backenderror.Down,
	"AccountIsDisabled":          disabled,
	"ContainerDisabled":          disabled,
	"AccountBeingCreated":        backenderror.Changing,

	"ContainerNotFound":     backenderror.Missing,
	"ResourceNotFound":      backenderror.Missing,
	"ContainerBeingDeleted": leaving,

	"LeaseIdMissing":                        leased,
	"LeaseIdMismatchWithContainerOperation": backenderror.Changing,
	"LeaseNotPresentWithContainerOperation": backenderror.Changing,
	"LeaseLost":                             backenderror.Changing,
	"LeaseAlreadyPresent":                   backenderror.Changing,
	"ConditionNotMet":                       backenderror.Changing,
	"SystemInUse":                           backenderror.Changing,

	"ContainerImmutableDueToPolicy":                   protected,
	"BlobImmutableDueToPolicy":                        protected,
	"BlobImmutableDueToLegalHold":                     protected,
	"ImmutabilityPolicyDeleteOnLockedPolicy":          protected,
	"ContainerUnderWriteOnceReadManyLegalHold":        protected,
	"ContainerProtectedFromDeletion":                  protected,
	"LegalHoldShouldBeClearedBeforeContainerDeletion": protected,

	"EncryptionScopeNotFound":       backenderror.Value,
	"EncryptionScopeDisabled":       backenderror.Value,
	"InvalidEncryptionScope":        backenderror.Value,
	"InvalidHeaderValue":            backenderror.Value,
	"InvalidInput":                  backenderror.Value,
	"InvalidMetadata":               backenderror.Value,
	"EmptyMetadataKey":              backenderror.Value,
	"MetadataTooLarge":              backenderror.Value,
	"InvalidResourceName":           backenderror.Value,
	"OutOfRangeInput":               backenderror.Value,
	"FeatureNotSupportedForAccount": backenderror.Value,
}
