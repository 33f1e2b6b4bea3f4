// SPDX-License-Identifier: Apache-2.0

package reasons

import (
	"cmp"
	"slices"
)

// ofCodes returns the texts of gRPC codes, by their names in messages.
func ofCodes() map[string]explained {
	const retries = "COSI retries automatically."
	return map[string]explained{
		"Canceled": {"A call to the driver was cancelled.", "The sidecar or the driver was stopped.", retries},
		"Unknown": {
			"The driver failed with an unspecified error.", "The driver has a bug, or its backend returned an error that the driver does not recognize.",
			retries + " If the error persists, an administrator must check the driver's log.",
		},
		"InvalidArgument": {
			"The driver rejected the request.", "In most cases, a parameter of the class is unknown or has an invalid value.",
			recreate,
		},
		"DeadlineExceeded": {
			"The driver did not respond in time.", "The backend is slow or does not respond.",
			retries + " If the error persists, an administrator must check the backend, or raise the sidecar's --rpc-timeout.",
		},
		"NotFound": {
			"The driver did not find the resource that the call is for.", "An imported bucket does not exist, or parts of an account were removed in the backend.",
			"An administrator must compare the ID with the resources in the backend.",
		},
		"AlreadyExists": {
			"A bucket or account of that name exists and differs from the request.", "It has another owner, or was created with other parameters.",
			"An administrator must remove it or choose other parameters. Then create the object again.",
		},
		"PermissionDenied": {
			"The backend denied the driver's request.", "The driver's own account lacks a permission there.",
			"An administrator must grant the permission to the driver's account. The driver's documentation lists the permissions.",
		},
		"ResourceExhausted": {
			"The backend has no capacity left or limits requests.", "A quota or a rate limit is reached.",
			retries + " If the error persists, an administrator must raise the limit.",
		},
		"FailedPrecondition": {
			"A precondition of the call is not met.", "In most cases, a bucket that is being deleted is not empty.",
			"Follow the driver's message. It may ask you to empty the bucket, for example.",
		},
		"Aborted": {"The driver is processing another call for the same resource.", "The other call has not finished yet.", retries},
		"OutOfRange": {
			"A value is outside the range that the driver accepts.", "A parameter of the class is too large or too small.",
			recreate,
		},
		"Unimplemented": {
			"The driver does not implement the call.", "The driver implements another version of COSI.",
			"An administrator must install a compatible version, or run cosi-driver-adapter between the sidecar and the driver.",
		},
		"Internal": {
			"The driver failed with an internal error.", "The driver or its backend has a bug.",
			retries + " If the error persists, an administrator must check the driver's log.",
		},
		"Unavailable": {
			"The driver or its backend is unreachable.", "The driver is starting, or the network or the backend is down.",
			retries + " If the error persists, an administrator must check the driver, its backend and the network.",
		},
		"DataLoss": {
			"The backend has lost data that cannot be recovered.", "The backend is damaged.",
			"An administrator must repair the backend first.",
		},
		"Unauthenticated": {
			"The backend rejected the driver's credentials.", "The credentials expired, were replaced, or are wrong.",
			"An administrator must configure valid credentials for the driver.",
		},
	}
}

// sorted orders texts by kind, then by reason.
func sorted(texts []Text) []Text {
	order := []Kind{Condition, Event, Status, Code}
	slices.SortFunc(texts, func(a, b Text) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Kind), slices.Index(order, b.Kind)), cmp.Compare(a.Reason, b.Reason))
	})
	return texts
}
