// SPDX-License-Identifier: Apache-2.0

// Package controlplane runs a Kubernetes API server on this machine with etcd, the namespace and garbage
// collection controllers, and kubectl. Tests and `cooper up` use it.
//
// The package must not import testing, since the cooper command uses it. It installs Cooper's CRDs, but does
// not otherwise depend on COSI.
package controlplane
