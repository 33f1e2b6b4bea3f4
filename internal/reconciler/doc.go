// SPDX-License-Identifier: Apache-2.0

// Package reconciler is the framework of all reconcilers: those of the controller, of the sidecar and of cosi-obc.
//
// A reconcile is a list of named steps (Step). Each step establishes one observable fact and returns a Verdict, which
// determines how the reconcile continues. Waiting for another component is a verdict, never an error: an error means
// that something failed and is retried with backoff (Limiter), while a wait ends the reconcile until a watch triggers
// the next one. Run runs the steps and reports their outcome in the log, in metrics and spans and, if the API server
// refuses requests repeatedly, in an Event.
//
// Base is the struct that the reconciler of each kind embeds, and Request is one reconcile of an object. Store writes
// objects: its patches contain only the change and fail with a conflict if the object has changed since it was read.
// No write of another client is lost, and fields of a newer version of the API are kept. EventRecorder emits Events;
// their reasons are a closed list. Scope restricts a component to some namespaces. NewScheme and Slim are for its
// clients and caches.
//
// The content of steps, the retries of driver calls and the decision to emit an Event are up to the reconcilers.
package reconciler
