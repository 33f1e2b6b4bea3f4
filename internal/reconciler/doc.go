// SPDX-License-Identifier: Apache-2.0

// Package reconciler is the framework of the reconcilers of the Controller, the Sidecar and cosi-obc.
//
// A reconcile is a list of named steps (Step). Each step establishes one observable fact and returns a Verdict, which
// determines how the reconcile continues. If a step has to wait for another component, it returns a verdict, not an
// error: the reconcile ends, and a watch event, the resync or a time limit (WaitAtMost) triggers the next one. An error
// means that something failed, and the reconcile is retried with backoff (Limiter). Run runs the steps and reports
// their outcome in logs, metrics and spans. If the API server refuses requests repeatedly, Run also emits an Event.
//
// Base is the struct that the reconciler of each kind embeds. Request is one reconcile of an object. Store writes
// objects: its patches contain only the change, and fail with a conflict if the object has changed since it was read.
// The patches therefore never overwrite a change by another client, and they preserve fields of newer API versions.
// EventRecorder emits Events with reasons from a closed list. Scope restricts a component to some namespaces. NewScheme
// and Slim configure the clients and caches of a component.
//
// The reconcilers themselves define the content of the steps, when to retry driver calls, and when to emit other
// Events.
package reconciler
