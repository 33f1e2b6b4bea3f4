// SPDX-License-Identifier: Apache-2.0

// Package driverkit is an SDK for writing COSI drivers: implement Driver and call Main.
//
// The kit implements the parts that are the same for all drivers. It serves the gRPC contract on the socket that
// COSI_ENDPOINT names. It checks required fields, sizes, parameters, protocols, access modes and authentication types
// against the driver's Info. It serializes the calls for one bucket or account, and sets a deadline for every call.
// It translates errors to gRPC codes with a text suitable for users. The kit also validates the driver's responses,
// recovers from panics, logs without secrets, records metrics and traces, serves health checks, and shuts down
// gracefully.
//
// Package credentials implements key management, with one algorithm for each way in which backends handle secrets.
// Package drivertest serves a driver in tests and simulates a crash at every call to its backend.
//
// The kit is independent of storage backends and of Kubernetes. A driver gets all its input from its requests and its
// own configuration.
package driverkit
