// SPDX-License-Identifier: Apache-2.0

// Package tree shows how claims, Buckets, accesses, Secrets and drivers hang
// together, how far each is, what is wrong and what to do next. Read gets what a
// user may read, Build makes the trees of it, which is a pure function, and
// programs print them. Page draws them in a browser, as a map that changes while a
// cluster does, with the Events, the time that each step took, and the objects of a
// granted bucket.
//
// It must not write, and must not keep what is secret: of a Secret it knows the
// names of its keys.
package tree
