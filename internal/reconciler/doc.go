// SPDX-License-Identifier: Apache-2.0

// Package reconciler is the framework of all reconcilers: those of the controller, of the sidecar and of cosi-obc.
//
// A reconcile is a list of named steps (Step). Each step establishes one observable fact and returns a Verdict, which
// says how the reconcile continues. Waiting for another component is a verdict, never an error: an error means that
// something failed and is retried with backoff (Limiter), while a wait ends the reconcile until a watch starts the next
// one. Run runs the steps and reports their outcome in the log, in metrics and spans and, if the API server refuses
// requests repeatedly, in an Event.
//
// Base is what the reconciler of one kind embeds, and Request is one reconcile of an object. Store writes objects: its
// patches contain only the change and are refused if the object has changed since it was read, so that no write of
// another client is lost and fields of a newer version of the API are kept. EventRecorder emits Events; their reasons
// are a closed list. Scope limits a component to some namespaces. NewScheme and Slim are for its clients and caches.
//
// The package does not decide what a step does, when a call is retried, or when an Event is due.
package reconciler
