// SPDX-License-Identifier: Apache-2.0

// Package node runs a whole Kubernetes cluster with one node on this machine: a control plane, containerd,
// kubelet, kube-proxy, a Pod network and DNS for Services. It needs neither a registry nor a virtual machine.
// Deployments behave as they do on any other cluster.
//
// The node has its own Linux namespaces: its mounts, links and addresses are not visible on the machine, and
// its processes end together. It leaves nothing on the machine except, on cgroup v2, the controllers that it
// enabled in the root's cgroup.subtree_control. It needs root and the Debian packages containerd, runc and
// nftables, or their equivalents.
//
// It must not import testing, since `make node` uses it. It does not depend on COSI.
package node
