// SPDX-License-Identifier: Apache-2.0

// Package driverkit is an SDK for writing COSI drivers: implement Driver and call Main.
//
// The kit handles everything that is the same for all drivers. It serves the gRPC contract on the socket of
// COSI_ENDPOINT and checks required fields, sizes, parameters, protocols, access modes and authentication types
// against the driver's Info. Calls for one bucket or account do not overlap, and every call has a deadline. Errors
// become gRPC codes with a text suitable for users. The kit also validates the driver's responses, recovers from
// panics, logs without secrets, records metrics and traces, serves health checks, and shuts down gracefully.
//
// Package credentials implements key management, with one algorithm for each way in which backends handle secrets.
// Package drivertest serves a driver in tests and kills it at every call.
//
// The kit is independent of storage backends and of Kubernetes. A driver gets everything it needs from its requests
// and its own configuration.
package driverkit
