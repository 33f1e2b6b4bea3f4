// SPDX-License-Identifier: Apache-2.0

// Package adapter serves the driver contract in front of a vendor's driver that implements an older generation: the
// specification v1alpha1, or the upstream project's v1alpha2 of March 2026.
//
// Such a driver returns an ID only after it has created the bucket or account. The adapter therefore generates the
// IDs itself, and keeps an entry for each of them in its credential store. It stores the request before it calls the
// driver, and the driver's ID, the connection data and the credential afterwards. After an interruption, it repeats
// the request with the same name, and such a driver returns the existing bucket or account.
package adapter
