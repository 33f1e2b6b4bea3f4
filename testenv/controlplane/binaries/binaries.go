// SPDX-License-Identifier: Apache-2.0

// Package binaries finds the executables of a control plane on this machine, and builds from Go modules what is not
// there. It must not start them.
//
// It uses the standard library alone, so that a program that only builds them is itself there within seconds.
package binaries

import (
	"context"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/internal/gobuild"
)

// Version is the release of Kubernetes that is built.
const Version = "v1.37.2"

// Oldest is the oldest release of Kubernetes that will do, in its last patch: the first whose API server always serves
// the selectable fields of our CRDs, by which a sidecar watches what is its driver's alone.
const Oldest = "v1.32.13"

// assetsVariable is the environment variable that users of envtest know: a directory with their own executables.
const assetsVariable = "KUBEBUILDER_ASSETS"

// Names of the executables.
const (
	APIServer         = "kube-apiserver"
	Etcd              = "etcd"
	Kubectl           = "kubectl"
	ControllerManager = "kube-controller-manager"
)

//go:embed template
var template embed.FS

// Paths are those of the executables of a control plane.
type Paths struct {
	APIServer, Etcd, ControllerManager, Kubectl string
}

// Options say where the executables come from. The zero value means: those of KUBEBUILDER_ASSETS if that is set,
// otherwise those beside this program, otherwise those that setup-envtest has downloaded and the kubectl of the PATH, as
// far as they are there and new enough, otherwise our own from the user's cache directory, built there first if needed.
type Options struct {
	// Assets is a directory with kube-apiserver, etcd and, if possible, kubectl and kube-controller-manager; it takes
	// precedence over KUBEBUILDER_ASSETS. What it lacks of the latter two comes from elsewhere.
	Assets string
	// Own leaves aside what the machine has: all four are built, static and of one release, to be copied elsewhere.
	Own bool
	// Oldest builds the API server of the release Oldest, and leaves aside any other.
	Oldest bool
	// CacheDir is where executables are built and kept; empty means the directory cooper in os.UserCacheDir.
	CacheDir string
	// Progress gets a line that says which executables are used and, while they are built, how far that is. On a terminal one line is
	// kept current. It may be nil.
	Progress io.Writer
}

// Find returns the executables, which exist when it returns without an error. To build them takes minutes; ctx ends
// that. It needs the go command only to build.
func Find(ctx context.Context, o Options) (Paths, error) {
	progress := gobuild.NewProgress(o.Progress)
	found := map[string]string{}
	if !o.Own {
		var err error
		if found, err = installed(ctx, o.Assets, progress); err != nil {
			return Paths{}, err
		}
	}
	if o.Oldest {
		delete(found, APIServer)
		// What is not optimized takes less time to compile than it loses in these few tests.
		module := gobuild.Module{Name: "oldest", Version: Oldest, ModFile: "oldest.mod", CompileFlags: "k8s.io/...=-N -l -dwarf=false"}
		if err := build(ctx, o, progress, found, module, APIServer); err != nil {
			return Paths{}, err
		}
	}
	module := gobuild.Module{Name: "control-plane", Version: Version}
	if err := build(ctx, o, progress, found, module, APIServer, Etcd, ControllerManager, Kubectl); err != nil {
		return Paths{}, err
	}
	return Paths{
		APIServer: found[APIServer], Etcd: found[Etcd], ControllerManager: found[ControllerManager], Kubectl: found[Kubectl],
	}, nil
}

// build adds to found the programs that are not in it, from the cache directory.
func build(ctx context.Context, o Options, progress *gobuild.Progress, found map[string]string, module gobuild.Module, programs ...string) error {
	wanted := slices.DeleteFunc(programs, func(program string) bool { return found[program] != "" })
	if len(wanted) == 0 {
		return nil
	}
	cache, err := CacheDir(o.CacheDir)
	if err != nil {
		return err
	}
	if module.Template, err = fs.Sub(template, "template"); err != nil {
		return fmt.Errorf("embedded template: %w", err)
	}
	module.LinkFlags = LinkFlags(module.Version)
	dir, err := gobuild.Build(ctx, module, gobuild.Options{CacheDir: cache, Progress: progress}, wanted...)
	if err != nil {
		return fmt.Errorf("%w\n(instead of building, ready kube-apiserver, etcd, kube-controller-manager and kubectl can be beside this "+
			"program, or %s can name a directory with them)", err, assetsVariable)
	}
	for _, program := range wanted {
		found[program] = filepath.Join(dir, program)
	}
	return nil
}

// LinkFlags tell the components which release they are, as the release build of Kubernetes does; without a version
// kube-apiserver does not start.
func LinkFlags(version string) string {
	var flags []string
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		flags = append(flags, "-X "+pkg+".gitVersion="+version, "-X "+pkg+".gitTreeState=clean")
	}
	return strings.Join(flags, " ")
}

// CacheDir returns asked or, if that is empty, the directory of Cooper in the user's cache.
func CacheDir(asked string) (string, error) {
	if asked != "" {
		return filepath.Abs(asked)
	}
	user, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("cannot tell where to keep the control plane: %w; set HOME or XDG_CACHE_HOME", err)
	}
	return filepath.Join(user, "cooper"), nil
}
