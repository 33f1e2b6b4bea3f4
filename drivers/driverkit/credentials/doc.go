// SPDX-License-Identifier: Apache-2.0

// Package credentials implements the granting of keys. It has one algorithm for each way in which a backend can
// handle secrets. Every algorithm returns the identical credential on repeated calls, keeps exactly one previous
// credential valid after a rotation, and tolerates a crash at any point.
//
// Choose the first one that the backend supports:
//
//   - Derived: the secret is computed from a secret of the driver and a mark stored at the backend, such as a
//     signature that names a stored policy. Nothing needs to be stored.
//   - Readable: the backend returns a secret again on request. Nothing needs to be stored.
//   - Supplied: the backend accepts a secret chosen by the caller. The secret is stored before it is sent to the
//     backend, so no key is ever created twice.
//   - ShownOnce: the backend generates the secret and returns it only once. A key that is not in the store was
//     never delivered and is replaced.
//
// If the backend cannot create credentials, an administrator can give the driver one that all accounts share (Given).
//
// A driver keeps whatever its backend cannot in a Store. Losing or replacing a store must not invalidate live
// credentials: a driver with a Store therefore marks each account with Store.ID and rejects accounts that carry
// another ID.
//
// All functions rely on driverkit's guarantee that calls for one account do not overlap within a process. A second
// process can overlap for a few seconds, because a leader is slow to notice that it was replaced. In that case
// GrantShownOnce and GrantSupplied return Aborted rather than invalidate a credential that the other process
// delivered, or reactivate one that it revoked. The caller must first check that the account belongs to the driver
// and was requested with this access.
package credentials
