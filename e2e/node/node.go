// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/cooper-cosi/cooper/e2e/node/binaries"
	"github.com/cooper-cosi/cooper/internal/freeport"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
	cpbinaries "github.com/cooper-cosi/cooper/testenv/controlplane/binaries"
)

// Options configure the cluster.
type Options struct {
	// Progress receives lines about the progress of building executables. It may be nil.
	Progress io.Writer
}

const (
	// startTimeout limits the start of all components on a busy machine.
	startTimeout = 4 * time.Minute
	stopTimeout  = 30 * time.Second
)

// Node is a running cluster with one node.
type Node struct {
	layout       layout
	guard        *guard
	controlPlane *controlplane.ControlPlane
	client       kubernetes.Interface
	port         *freeport.Port

	mu         sync.Mutex
	components map[string]*controlplane.Process
	logs       []*os.File

	stop    sync.Once
	stopErr error
}

// Missing returns the reason why no node can run here, or nil.
func Missing() error {
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		return errors.New("a node needs Linux and root, for separate namespaces and containers")
	}
	for program, debian := range map[string]string{"containerd": "containerd", "ctr": "containerd", "runc": "runc", "nft": "nftables", "mount": "mount"} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("a node needs %s: apt-get install %s (%w)", program, debian, err)
		}
	}
	return possible()
}

// Start builds the executables if needed, starts a control plane and a node, and returns when the node is
// ready for Pods. It first removes nodes of killed processes. After an error nothing is left running.
func Start(ctx context.Context, o Options) (*Node, error) {
	if err := Missing(); err != nil {
		return nil, err
	}
	if _, err := cpbinaries.Find(ctx, cpbinaries.Options{Own: true, Progress: o.Progress}); err != nil {
		return nil, err
	}
	bin, err := binaries.Find(ctx, binaries.Options{Progress: o.Progress})
	if err != nil {
		return nil, err
	}
	sweep(ctx, filepath.Join(bin, binaries.Guard))
	dir, err := os.MkdirTemp("", prefix)
	if err != nil {
		return nil, fmt.Errorf("create the directory of the node: %w", err)
	}
	// Pods that do not run as root read below it.
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, fmt.Errorf("create the directory of the node: %w", err)
	}
	n := &Node{layout: layout{dir: dir, bin: bin}, components: map[string]*controlplane.Process{}}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := n.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("%w%s", err, n.lastLogs()), n.Stop())
	}
	return n, nil
}

func (n *Node) start(ctx context.Context) error {
	// The API server has the same port inside the node.
	port, err := freeport.Reserve()
	if err != nil {
		return err
	}
	n.port = &port
	if err := n.layout.write(); err != nil {
		return err
	}
	if n.guard, err = startGuard(n.layout, port.Address()); err != nil {
		return err
	}
	cluster, err := n.cluster()
	if err != nil {
		return err
	}
	n.controlPlane, err = controlplane.Start(ctx, controlplane.Options{
		Binaries: cpbinaries.Options{Own: true}, Port: port.Number, Cluster: cluster,
	})
	if err != nil {
		return err
	}
	if n.client, err = kubernetes.NewForConfig(n.Config()); err != nil {
		return fmt.Errorf("create a client: %w", err)
	}
	if err := n.startRuntime(ctx); err != nil {
		return err
	}
	if err := n.startKubernetes("https://" + net.JoinHostPort(address, strconv.Itoa(port.Number))); err != nil {
		return err
	}
	return n.waitReady(ctx)
}

// cluster returns the configuration of the control plane, and writes the certificates of API server and
// kubelet.
func (n *Node) cluster() (*controlplane.Cluster, error) {
	ca, err := newAuthority()
	if err != nil {
		return nil, err
	}
	c := &controlplane.Cluster{
		CA:                ca.pem(),
		ControllerManager: n.layout.program(binaries.ControllerManager), Scheduler: n.layout.program(binaries.Scheduler),
		APIServer: map[string]string{
			"advertise-address": address, "service-cluster-ip-range": services, "authorization-mode": "Node,RBAC",
			"enable-admission-plugins":        "NodeRestriction",
			"service-account-issuer":          issuer,
			"service-account-jwks-uri":        issuer + "/openid/v1/jwks",
			"egress-selector-config-file":     n.layout.path("egress.yaml"),
			"kubelet-certificate-authority":   n.layout.path("ca.crt"),
			"kubelet-client-certificate":      n.layout.path("client.crt"),
			"kubelet-client-key":              n.layout.path("client.key"),
			"kubelet-preferred-address-types": "InternalIP",
		},
	}
	names := []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"}
	if c.Certificate, c.Key, err = ca.sign(pkix.Name{CommonName: "kube-apiserver"}, names, "127.0.0.1", address, apiService); err != nil {
		return nil, err
	}
	if _, c.TokenKey, err = ca.sign(pkix.Name{CommonName: "tokens"}, nil); err != nil {
		return nil, err
	}
	node, nodeKey, err := ca.sign(pkix.Name{CommonName: Name}, []string{Name}, address)
	if err != nil {
		return nil, err
	}
	client, clientKey, err := ca.sign(pkix.Name{CommonName: "kube-apiserver", Organization: []string{"system:masters"}}, nil)
	if err != nil {
		return nil, err
	}
	for name, content := range map[string][]byte{
		"ca.crt": c.CA, "node.crt": node, "node.key": nodeKey, "client.crt": client, "client.key": clientKey,
	} {
		if err := os.WriteFile(n.layout.path(name), content, 0o600); err != nil {
			return nil, fmt.Errorf("write the certificates of the node: %w", err)
		}
	}
	return c, nil
}

// startRuntime starts containerd and loads the pause image.
func (n *Node) startRuntime(ctx context.Context) error {
	if err := n.startComponent("containerd", "containerd", "--config", n.layout.path("containerd.toml")); err != nil {
		return err
	}
	if err := controlplane.Until(ctx, func(ctx context.Context) error { return n.ctr(ctx, nil, "version") }); err != nil {
		return err
	}
	return n.LoadProgram(ctx, pauseImage, n.layout.program(binaries.Pause))
}

// startKubernetes starts the node components of Kubernetes.
func (n *Node) startKubernetes(server string) error {
	for name, user := range map[string]struct{ name, group string }{
		"kubelet.kubeconfig": {"system:node:" + Name, "system:nodes"},
		"proxy.kubeconfig":   {"system:kube-proxy", ""},
		"dns.kubeconfig":     {"system:dns", "system:masters"},
	} {
		config, err := n.controlPlane.User(user.name, strings.Fields(user.group)...)
		if err != nil {
			return err
		}
		config.Host = server
		if err := controlplane.WriteKubeconfig(n.layout.path(name), config, "default"); err != nil {
			return err
		}
	}
	return errors.Join(n.startKubelet(),
		n.startComponent("kube-proxy", n.layout.program(binaries.Proxy), "--kubeconfig="+n.layout.path("proxy.kubeconfig"),
			"--hostname-override="+Name, "--proxy-mode=nftables", "--cluster-cidr="+podNetwork, "--nodeport-addresses="+podNetwork,
			"--healthz-bind-address=", "--conntrack-max-per-core=0",
			"--conntrack-tcp-timeout-established=0", "--conntrack-tcp-timeout-close-wait=0"),
		n.startComponent("dns", n.layout.program(binaries.DNS), "--kubeconfig="+n.layout.path("dns.kubeconfig"), "--listen="+address+":53"))
}

func (n *Node) startKubelet() error {
	return n.startComponent(kubelet, n.layout.program(binaries.Kubelet), "--config="+n.layout.path("kubelet.yaml"),
		"--kubeconfig="+n.layout.path("kubelet.kubeconfig"), "--hostname-override="+Name, "--node-ip="+address)
}

const kubelet = "kubelet"

// RestartKubelet restarts the kubelet, like a restart of its service. Pods continue to run. RestartKubelet
// does not wait until the kubelet is ready.
func (n *Node) RestartKubelet() error {
	n.mu.Lock()
	process := n.components[kubelet]
	n.mu.Unlock()
	if err := process.Stop(stopTimeout); err != nil {
		return err
	}
	return n.startKubelet()
}

// startComponent starts a program inside the node.
func (n *Node) startComponent(name, program string, arguments ...string) error {
	log, err := os.OpenFile(filepath.Join(n.LogDir(), name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the log of %s: %w", name, err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.logs = append(n.logs, log)
	return inside(n.guard.pid, func() error {
		n.components[name], err = controlplane.StartProcess(log, program, arguments...)
		return err
	})
}

// waitReady waits until the kubelet reports the node ready.
func (n *Node) waitReady(ctx context.Context) error {
	return controlplane.Until(ctx, func(ctx context.Context) error {
		node, err := n.client.CoreV1().Nodes().Get(ctx, Name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("get the node: %w", err)
		}
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("the node is not ready: %v", node.Status.Conditions)
	})
}

// Stop ends everything and removes the node's files. Later calls return the same result.
func (n *Node) Stop() error {
	n.stop.Do(func() {
		var errs []error
		if n.guard != nil {
			errs = append(errs, n.guard.stop())
		}
		if n.controlPlane != nil {
			errs = append(errs, n.controlPlane.Stop())
		}
		if n.port != nil {
			errs = append(errs, n.port.Release())
		}
		for _, log := range n.logs {
			errs = append(errs, log.Close())
		}
		n.stopErr = errors.Join(append(errs, os.RemoveAll(n.layout.dir))...)
	})
	return n.stopErr
}

// Config returns an administrator's client configuration for this machine. Each call returns a copy.
func (n *Node) Config() *rest.Config { return n.controlPlane.Config() }

// ControlPlane returns the control plane of the cluster.
func (n *Node) ControlPlane() *controlplane.ControlPlane { return n.controlPlane }

// WriteKubeconfig writes an administrator's kubeconfig for use on this machine.
func (n *Node) WriteKubeconfig(path string) error {
	return controlplane.WriteKubeconfig(path, n.Config(), "default")
}

// Dir returns the directory of the node. Files in it are deleted with the node, even if this process is
// killed.
func (n *Node) Dir() string { return n.layout.dir }

// LogDir returns the directory with one log file per component of the node. Stop removes it.
func (n *Node) LogDir() string { return n.layout.path("logs") }

// shownLines is how many lines of each log the error of a failed start includes.
const shownLines = 12

func (n *Node) lastLogs() string {
	var b strings.Builder
	files, _ := filepath.Glob(filepath.Join(n.LogDir(), "*.log")) // the pattern is valid
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil || len(content) == 0 {
			continue
		}
		lines := strings.Split(strings.TrimSpace(string(content)), "\n")
		fmt.Fprintf(&b, "\nthe last lines of %s:\n%s", filepath.Base(file), strings.Join(lines[max(0, len(lines)-shownLines):], "\n"))
	}
	return b.String()
}
