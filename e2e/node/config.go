// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"
	"os"
	"path/filepath"
)

// Addresses in the node's network namespace, which are not visible on the machine.
const (
	address     = "10.244.0.1"
	podNetwork  = "10.244.0.0/24"
	firstPod    = "10.244.0.10"
	services    = "10.96.0.0/24"
	apiService  = "10.96.0.1"
	kubeletPort = 10250
)

// Name is the name of the node.
const Name = "cooper"

// issuer is the issuer of service account tokens, as on other clusters.
const issuer = "https://kubernetes.default.svc"

// layout names the files of a node, which are in its own directory and are deleted with it.
type layout struct {
	dir, bin string
}

func (l layout) path(name string) string    { return filepath.Join(l.dir, name) }
func (l layout) program(name string) string { return filepath.Join(l.bin, name) }
func (l layout) cgroup() string             { return filepath.Base(l.dir) }

// socket is containerd's socket in the node's mount namespace.
const socket = "/run/containerd/containerd.sock"

// pauseImage is the image of the first container of each Pod.
const pauseImage = "localhost/pause:1"

// write writes the configuration files of the components.
func (l layout) write() error {
	for _, dir := range []string{"lib", "log", "logs", "cni"} {
		if err := os.Mkdir(l.path(dir), 0o755); err != nil { // Pods that do not run as root read below it
			return fmt.Errorf("create a directory of the node: %w", err)
		}
	}
	for name, content := range map[string]string{
		"containerd.toml":      fmt.Sprintf(containerdConfig, pauseImage, l.bin, l.path("cni")),
		"cni/10-pods.conflist": fmt.Sprintf(networkConfig, podNetwork, firstPod, address),
		"kubelet.yaml":         fmt.Sprintf(kubeletConfig, l.cgroup(), socket, l.path("resolv.conf"), address, kubeletPort, l.path("node.crt"), l.path("node.key"), l.path("ca.crt")),
		"resolv.conf":          "",
		"egress.yaml":          fmt.Sprintf(egressConfig, l.path("egress.sock")),
	} {
		if err := os.WriteFile(l.path(name), []byte(content), 0o600); err != nil {
			return fmt.Errorf("write the configuration of the node: %w", err)
		}
	}
	return nil
}

// containerdConfig is valid for containerd 1.6 and later, which ignores unknown sections.
const containerdConfig = `version = 2
disabled_plugins = [
  "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.aufs", "io.containerd.tracing.processor.v1.otlp",
]
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = %q
  disable_apparmor = true
  # Without the capability CAP_SYS_RESOURCE no process may be given a lower score than it has, and runc fails.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = %q
    conf_dir = %q
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
`

// networkConfig gives each Pod its own link to the node, which routes between them. With a bridge, packets
// between Pods would bypass kube-proxy unless a kernel module is loaded for the whole machine.
const networkConfig = `{"cniVersion": "1.0.0", "name": "pods", "plugins": [{"type": "ptp", "ipam": {
  "type": "host-local", "ranges": [[{"subnet": %q, "rangeStart": %q, "gateway": %q}]], "routes": [{"dst": "0.0.0.0/0"}]
}}]}
`

const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false # of machines that have version 1
cgroupDriver: cgroupfs # there may be no systemd
cgroupRoot: /%s
failSwapOn: false
containerRuntimeEndpoint: unix://%s
resolvConf: %s
clusterDomain: cluster.local
clusterDNS: [%s]
port: %d
healthzPort: 0
tlsCertFile: %s
tlsPrivateKeyFile: %s
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: %s}}
authorization: {mode: Webhook}
makeIPTablesUtilChains: false
localStorageCapacityIsolation: true
evictionHard: {memory.available: 100Mi, nodefs.available: 1%%, imagefs.available: 1%%}
imageGCHighThresholdPercent: 100
# What a Pod mounts, such as a Secret, is up to date within this time, and a probe begins.
syncFrequency: 10s
`

// egressConfig configures how the API server reaches the kubelet and webhooks in Pods.
const egressConfig = `apiVersion: apiserver.k8s.io/v1beta1
kind: EgressSelectorConfiguration
egressSelections:
- name: cluster
  connection: {proxyProtocol: HTTPConnect, transport: {uds: {udsName: %s}}}
`
