// SPDX-License-Identifier: Apache-2.0

// Package binaries builds the Go programs that a node needs in addition to a control plane and Debian
// packages. It does not start them.
//
// It imports little more than the standard library, so that programs that import only this package compile
// within seconds.
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
	// Pause runs in the first container of each Pod.
	Pause = "pause"
	// DNS resolves the names of Services.
	DNS = "dns"
	// Guard holds the Linux namespaces of a node.
	Guard = "cooper-node"
)

// plugins is the module path of the CNI plugins.
const plugins = "github.com/containernetworking/plugins/plugins"

// Options configure where the executables are built.
type Options struct {
	// CacheDir is the directory for built executables. Empty means the directory cooper in os.UserCacheDir.
	CacheDir string
	// Progress receives lines about the progress of the build. It may be nil.
	Progress io.Writer
}

// Find returns the directory with the executables that the constants name, and with the CNI plugins. It builds
// them first if needed, which takes minutes. Packages that the control plane also contains are compiled only
// once.
func Find(ctx context.Context, o Options) (string, error) {
	cache, err := binaries.CacheDir(o.CacheDir)
	if err != nil {
		return "", err
	}
	files, err := fs.Sub(template, "template")
	if err != nil {
		return "", fmt.Errorf("open the embedded template: %w", err)
	}
	module := gobuild.Module{
		Name: "node", Version: binaries.Version, Template: files, LinkFlags: binaries.LinkFlags(binaries.Version),
	}
	return gobuild.Build(ctx, module, gobuild.Options{CacheDir: cache, Progress: gobuild.NewProgress(o.Progress)},
		Kubelet, Scheduler, ControllerManager, Proxy, Pause, DNS, Guard,
		plugins+"/main/ptp", plugins+"/main/loopback", plugins+"/ipam/host-local")
}
