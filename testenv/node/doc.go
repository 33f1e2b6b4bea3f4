// SPDX-License-Identifier: Apache-2.0

// Package node runs a whole Kubernetes cluster with one node on this machine: a control plane, containerd, kubelet,
// kube-proxy, a network of Pods and names of Services, without a registry and without a virtual machine. What is
// deployed meets here what it meets on a cluster.
//
// The node has namespaces of its own, so that the machine sees none of its mounts, links and addresses, and its
// processes end together. Nothing is left of it but, on cgroup v2, the controllers that it had to enable in the
// cgroup.subtree_control of the root. It needs root, and Debian's containerd, runc and nftables or what they are elsewhere.
//
// It must not import testing, since `make node` uses it, and knows nothing of COSI.
package node
