// SPDX-License-Identifier: Apache-2.0

package reasons

import (
	"cmp"
	"slices"
)

// ofCodes returns the texts of gRPC codes, by their names in messages.
func ofCodes() map[string]explained {
	const again = "Nothing at first: COSI tries again."
	return map[string]explained{
		"Canceled": {"A call to the driver was broken off.", "The sidecar or the driver was stopped.", again},
		"Unknown": {
			"The driver failed and gives no reason.", "It is a mistake in the driver, or an error of its backend that it does not know.",
			again + " If it lasts, an administrator must read the log of the driver.",
		},
		"InvalidArgument": {
			"The driver does not accept the request.", "Mostly a parameter of the class is unknown or has a value that does not fit.",
			"An administrator must correct the class; create the object again then.",
		},
		"DeadlineExceeded": {
			"The driver did not respond in time.", "The backend hangs or is slow.",
			again + " If it lasts, an administrator must see to the backend, or raise the sidecar's time limit for calls.",
		},
		"NotFound": {
			"The driver does not find what the call is for.", "A bucket that is imported does not exist, or what an account is made of was removed in the backend.",
			"An administrator must compare the ID with what is in the backend.",
		},
		"AlreadyExists": {
			"There is a bucket or an account of that name which differs from what was asked for.", "It belongs to somebody else, or was made with other parameters.",
			"An administrator must remove it or choose other parameters; create the object again then.",
		},
		"PermissionDenied": {
			"The backend forbids the driver what it tries.", "The driver's own account lacks a right there.",
			"An administrator must give the driver's account the right; the pages of the drivers list them.",
		},
		"ResourceExhausted": {
			"The backend has no room or allows no more.", "A quota or a rate limit is reached.",
			again + " If it lasts, an administrator must raise the limit.",
		},
		"FailedPrecondition": {
			"Something must happen before the call can succeed.", "Mostly a bucket that is to be deleted is not empty.",
			"Do what the driver says, such as emptying the bucket.",
		},
		"Aborted": {"The driver is at work on the same thing.", "Another call has not ended yet.", again},
		"OutOfRange": {
			"A value is not within what the driver takes.", "A parameter of the class is too large or too small.",
			"An administrator must correct the class; create the object again then.",
		},
		"Unimplemented": {
			"The driver does not know the call.", "It is a driver of another version of COSI.",
			"An administrator must install a version that fits, or give the sidecar a --driver-dialect.",
		},
		"Internal": {
			"Something is broken in the driver.", "It is a mistake in the driver or its backend.",
			again + " If it lasts, an administrator must read the log of the driver.",
		},
		"Unavailable": {
			"The driver or its backend cannot be reached.", "The driver is starting, or the network or the backend is down.",
			again + " If it lasts, an administrator must see why.",
		},
		"DataLoss": {
			"The backend has lost data that cannot be recovered.", "It is broken.",
			"An administrator must see to the backend before anything else.",
		},
		"Unauthenticated": {
			"The backend does not accept the credentials of the driver.", "They expired, were replaced, or are wrong.",
			"An administrator must give the driver valid credentials.",
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
