// SPDX-License-Identifier: Apache-2.0

// Package node runs a whole Kubernetes cluster with one node on this machine: a control plane, containerd,
// kubelet, kube-proxy, a Pod network and DNS for Services. It needs neither a registry nor a virtual machine.
// Deployments behave as they do on any other cluster.
//
// The node has its own Linux namespaces. Its mounts, network links and addresses are not visible on the
// machine, and all its processes end together. Nothing remains on the machine, with one exception: on
// cgroup v2, the controllers that the node enables in the root's cgroup.subtree_control remain enabled. The
// node needs root and the Debian packages containerd, runc and nftables, or their equivalents.
//
// The package must not import testing, since `make node` uses it. It does not depend on COSI.
package node
