// SPDX-License-Identifier: Apache-2.0

// Package driverkit is what a vendor writes a COSI driver with: implement Driver, call Main.
//
// The kit does everything that is the same for every driver: it serves the gRPC contract on the
// socket of COSI_ENDPOINT, checks required fields, sizes, parameters, protocols, access modes and
// authentication types against what Info declares, keeps two calls for one bucket or account from
// overlapping, bounds calls in time, turns errors into gRPC codes with a text fit for users, checks
// the driver's responses, recovers panics, logs without secrets, counts, traces, serves health
// checks, and stops gracefully.
//
// Package credentials has the algorithms for keys, one for each thing that a backend can do with a
// secret; package drivertest serves a driver in a test and kills it at every call.
//
// It must not know a storage backend or Kubernetes; a driver gets all it needs from its requests
// and its own configuration.
package driverkit
