// SPDX-License-Identifier: Apache-2.0

// Package tree shows how claims, Buckets, accesses, Secrets and drivers are related. It also shows the state
// of each object and, for each problem, what to do next. Read reads the objects with the user's permissions.
// Build arranges them in trees, without further requests. Programs print the trees. Page shows the trees in a
// browser as a map with live updates, Events, the duration of each step, and the objects in a granted bucket.
//
// The package does not write to the API server. It keeps no values of a Secret, only the names of the keys.
package tree
