// SPDX-License-Identifier: Apache-2.0

// Package controlplane runs a Kubernetes API server with what belongs to it (etcd, the controllers that
// end namespaces and collect garbage, kubectl) on this machine, for tests and for the laptop.
//
// It must not import testing, since the cooper command uses it, and knows nothing of COSI but the CRDs it installs.
package controlplane
