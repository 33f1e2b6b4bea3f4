// SPDX-License-Identifier: Apache-2.0

// Package tree shows how claims, Buckets, accesses, Secrets and drivers hang
// together, how far each is, what is wrong and what to do next. Read gets what a
// user may read, Build makes the trees of it, which is a pure function, and
// programs print or draw them.
//
// It must not write, and must not keep what is secret: of a Secret it knows the
// names of its keys.
package tree
