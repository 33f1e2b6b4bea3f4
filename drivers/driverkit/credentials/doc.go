// SPDX-License-Identifier: Apache-2.0

// Package credentials grants keys: for each thing that a backend can do with a secret there is one
// algorithm here, which returns the identical credential on every repeat, rotates with exactly one
// overlap, and may be killed at any point.
//
// Pick by what the backend can do, the first that fits:
//
//   - Derived: the secret follows from one that the driver has and from a mark that the backend
//     keeps, such as a signature that names a stored policy. Nothing has to be stored.
//   - Readable: the backend returns a secret again when it is asked. Nothing has to be stored.
//   - Supplied: the backend takes the secret from its caller. It is stored before the backend hears
//     of it, so that no key is ever made twice.
//   - ShownOnce: the backend makes the secret and shows it only then. A key that is not in the store
//     was never delivered, and is replaced.
//
// Where the backend makes none, an administrator can give the driver one for all (Given).
//
// A driver keeps what its backend does not in a Store. A store that is lost or exchanged must not
// end live credentials: drivers with a Store mark each account with Store.ID, and refuse accounts
// that carry another one.
//
// All functions expect what driverkit guarantees: no two calls for one account at a time in one process.
// A second process can work for a few seconds, since a leader notices late that it was replaced. Then
// GrantShownOnce and GrantSupplied return Aborted rather than end a credential that the other process
// delivered, or make one work again that it revoked. That the account is the driver's own, and was
// asked for with this access, is for the caller to check before.
package credentials
