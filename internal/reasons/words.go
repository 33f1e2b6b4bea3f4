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
		Provisioned: {"The bucket is there, or the access is granted.", "All is in order.", nothing},
		Waiting: {
			"The object is not provisioned yet, and COSI goes on by itself.",
			"What it refers to is not there yet, or a call to the driver failed in a way that may pass. Beside it is the reason.",
			"Nothing if it passes within a minute. Otherwise run kubectl cosi explain for the reason.",
		},
		Failed: {
			"The object is not provisioned, and does not become so by itself.",
			"The object, its class, what it refers to or the driver's answer rules it out. Beside it is the reason.",
			"Run kubectl cosi explain for the reason.",
		},
		Degraded: {
			"What was provisioned is there, and the object is not valid any more.",
			"A Bucket, a claim or a Secret that it uses was changed, deleted or restored after it was provisioned. Beside it is the reason.",
			"Run kubectl cosi explain for the reason.",
		},
		Held: ofEvents()[reconciler.BucketHeld],
		Deleting: {
			"The object is being deleted.",
			"It waits for others that use it, for the driver, or for a finalizer that is not COSI's.",
			"Nothing if it passes within a minute. Otherwise do what is beside it.",
		},
		NotFound: {"The object does not exist.", "Its name is misspelt, it is in another namespace, or it is not made yet.", "Do what is beside it."},
		Unreadable: {
			"What you see is not all: you may not read the object.",
			"No role of yours allows it. Buckets, classes and Leases of drivers are for administrators.",
			"Nothing if the rest answers your question. Otherwise ask an administrator.",
		},
		Filled:  {"The Secret holds the credential of its BucketAccess.", "All is in order.", nothing},
		Empty:   {"The Secret is there and holds no credential yet.", "Access is being granted, or somebody emptied the Secret.", "Nothing: COSI fills it within minutes."},
		Taken:   ofSidecar()[conditions.SecretTaken],
		Running: {"The Controller, or the sidecar of the driver, renews its Lease.", "All is in order.", nothing},
		NotRunning: {
			"The Controller, or the sidecar of the driver, has been there and does not renew its Lease.",
			"Its Pods were removed, do not start, or cannot reach the API server.",
			"An administrator must see why its Pods do not run.",
		},
		NotInstalled: {
			"The Controller or the driver has never run in this cluster.",
			"It is not installed, or the class names a driver of another name.",
			"An administrator must install it, or correct the driverName of the class.",
		},
		NoLease: {
			"The sidecar has worked on objects, and nobody holds its Lease.",
			"It runs with --leader-elect=false, or it was removed.",
			"Nothing if objects are provisioned. Otherwise an administrator must see whether it runs.",
		},
	}
}
