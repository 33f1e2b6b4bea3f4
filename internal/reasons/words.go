// SPDX-License-Identifier: Apache-2.0

package reasons

import (
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/reconciler"
)

// A Word summarizes the state of an object, in the column STATUS of kubectl cosi status and on the status page.
// Package tree chooses it.
type Word = string

// The words for COSI objects, for any object, for Secrets, and for drivers.
const (
	Provisioned  Word = "Provisioned"
	Waiting      Word = "Waiting"
	Failed       Word = "Failed"
	Degraded     Word = "Degraded"
	Held         Word = "Held"
	Deleting     Word = "Deleting"
	NotFound     Word = "NotFound"
	Unreadable   Word = "Unreadable"
	Filled       Word = "Filled"
	Empty        Word = "Empty"
	Taken        Word = "Taken"
	Running      Word = "Running"
	NotRunning   Word = "NotRunning"
	NotInstalled Word = "NotInstalled"
	NoLease      Word = "NoLease"
)

// ofWords returns the texts of the words.
func ofWords() map[Word]explained {
	return map[Word]explained{
		Provisioned: {"The bucket exists, or the access is granted.", normal, nothing},
		Waiting: {
			"The object is not provisioned yet. COSI continues automatically.",
			"An object that it refers to does not exist or is not ready yet, or a call to the driver failed with an error that may be temporary. The reason is displayed next to the status.",
			"Wait a minute. If the status remains, run kubectl cosi explain with the reason.",
		},
		Failed: {
			"The object is not provisioned, and COSI cannot provision it without a change.",
			"The object, its class, an object that it refers to, or the driver's response prevents provisioning. The reason is displayed next to the status.",
			"Run kubectl cosi explain with the reason.",
		},
		Degraded: {
			"The object was provisioned, but is no longer valid.",
			"A Bucket, a claim or a Secret that it uses was changed, deleted or restored later. The reason is displayed next to the status.",
			"Run kubectl cosi explain with the reason.",
		},
		Held: ofEvents()[reconciler.BucketHeld],
		Deleting: {
			"The object is being deleted.",
			"It waits for objects that use it, for the driver, or for another component's finalizer.",
			"Follow the message next to the status. A claim that is in use shows one after five minutes.",
		},
		NotFound: {"The object does not exist.", "Its name is misspelt, it is in another namespace, or it has not been created yet.", "Follow the message next to the status."},
		Unreadable: {
			"You do not have permission to read the object, so the output is incomplete.",
			"None of your roles allows it. Only administrators can read Buckets, classes and Leases of drivers.",
			"If you need the missing part, ask an administrator.",
		},
		Filled:  {"The Secret contains the credential of its BucketAccess.", normal, nothing},
		Empty:   {"The Secret exists but contains no credential yet.", "COSI is granting the access, or the Secret was emptied manually.", "Wait: COSI writes the credential within minutes."},
		Taken:   ofSidecar()[conditions.SecretTaken],
		Running: {"The Controller, or the sidecar of the driver, renews its Lease.", normal, nothing},
		NotRunning: {
			"The Controller, or the sidecar of the driver, has stopped renewing its Lease.",
			"Its Pods were removed, do not start, or cannot reach the API server.",
			"An administrator must check its Pods.",
		},
		NotInstalled: {
			"The Controller or the driver has never run in this cluster.",
			"It is not installed, or the driverName of the class is wrong.",
			"An administrator must install it, or correct the driverName of the class.",
		},
		NoLease: {
			"The sidecar has processed objects, but no process holds its Lease.",
			"The sidecar runs with --leader-elect=false, or was removed.",
			"If objects are not provisioned, an administrator must check whether the sidecar is running.",
		},
	}
}
