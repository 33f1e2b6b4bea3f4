// SPDX-License-Identifier: Apache-2.0

// Package credentials implements the granting of keys. It has one algorithm for each way in which a backend can
// handle secrets. Every algorithm returns the identical credential on repeated calls and tolerates a crash at any
// point. After a rotation, only the new and the previous credential are valid.
//
// Choose the first algorithm that the backend supports:
//
//   - Derived: the driver computes the secret from a secret of its own and a mark stored at the backend. An
//     example is a signature that names a stored policy. The driver stores nothing.
//   - Readable: the backend returns a secret again on request. The driver stores nothing.
//   - Supplied: the backend accepts a secret chosen by the caller. The driver stores the secret before it sends it
//     to the backend, so it never creates a key twice.
//   - ShownOnce: the backend generates the secret and returns it only once. If a key is not in the store, it was
//     never delivered, so the driver replaces it.
//
// If the backend cannot create credentials, an administrator can configure one credential that all accounts share
// (see NoteGiven).
//
// A driver uses a Store for the data that its backend cannot keep. Losing or replacing the Store must not invalidate
// live credentials. If the backend can store a mark, a driver with a Store therefore marks each account with Store.ID,
// and rejects accounts that carry another ID.
//
// All functions rely on driverkit to serialize the calls for one account within a process. Calls of two processes can
// overlap for a few seconds, until a replaced leader notices that it has lost its lease. GrantShownOnce and
// GrantSupplied return Aborted if the other process changed the account's entry in the Store meanwhile. They do not
// invalidate a delivered credential or reactivate a revoked one. Before a driver calls either of them, it must check
// that it owns the account. Before it calls GrantShownOnce, it must also check that the account was created for this
// access.
package credentials
