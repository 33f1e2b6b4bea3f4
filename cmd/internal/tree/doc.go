// SPDX-License-Identifier: Apache-2.0

// Package tree shows how claims, Buckets, accesses, Secrets and drivers are related, their state, and for
// each problem what to do next. Read reads the objects with the user's permissions, Build arranges them in
// trees as a pure function, and programs print the trees. Page shows them in a browser as a map that is
// updated live, with Events, the duration of each step, and the objects in a granted bucket.
//
// The package does not write to the API. Of a Secret it keeps only the names of the keys.
package tree
