// SPDX-License-Identifier: Apache-2.0

// Package binaries builds from Go modules what a node needs besides a control plane and Debian's packages. It must
// not start it.
//
// It uses the standard library alone, so that a program that only builds is itself there within seconds.
package binaries

import (
	"context"
	"embed"
	"fmt"
	"io"
	"io/fs"

	"github.com/cooper-cosi/cooper/testenv/controlplane/binaries"
	"github.com/cooper-cosi/cooper/testenv/gobuild"
)

//go:embed template
var template embed.FS

// Names of the executables.
const (
	Kubelet           = "kubelet"
	Scheduler         = "kube-scheduler"
	ControllerManager = "kube-controller-manager"
	Proxy             = "kube-proxy"
	// Pause is what the first container of each Pod runs.
	Pause = "pause"
	// DNS responds with the addresses of Services.
	DNS = "dns"
	// Guard holds the namespaces of a node.
	Guard = "cooper-node"
)

// plugins are those of the network of Pods.
const plugins = "github.com/containernetworking/plugins/plugins"

// Options say where the executables are built.
type Options struct {
	// CacheDir is where executables are built and kept; empty means the directory cooper in os.UserCacheDir.
	CacheDir string
	// Progress gets a line while they are built, which says how far that is. It may be nil.
	Progress io.Writer
}

// Find returns the directory with the executables of the names above and the plugins of the network, which it builds
// first if needed. That takes minutes, of which those of a control plane are a part: a package that both have is
// compiled once.
func Find(ctx context.Context, o Options) (string, error) {
	cache, err := binaries.CacheDir(o.CacheDir)
	if err != nil {
		return "", err
	}
	files, err := fs.Sub(template, "template")
	if err != nil {
		return "", fmt.Errorf("embedded template: %w", err)
	}
	module := gobuild.Module{
		Name: "node", Version: binaries.Version, Template: files, LinkFlags: binaries.LinkFlags(binaries.Version),
	}
	return gobuild.Build(ctx, module, gobuild.Options{CacheDir: cache, Progress: gobuild.NewProgress(o.Progress)},
		Kubelet, Scheduler, ControllerManager, Proxy, Pause, DNS, Guard,
		plugins+"/main/ptp", plugins+"/main/loopback", plugins+"/ipam/host-local")
}
