// SPDX-License-Identifier: Apache-2.0

// Package binaries finds the executables of a control plane. It prefers executables that the user names or has
// installed, then downloads those of envtest, and builds the rest from Go modules. It does not start them.
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

	"github.com/cooper-cosi/cooper/testenv/gobuild"
)

// Version is the release of Kubernetes to build.
const Version = "v1.37.2"

// Oldest is the last patch of the oldest supported release of Kubernetes. Sidecars need selectable fields of
// CRDs to watch only the objects of their driver. Since Kubernetes 1.32, that feature cannot be disabled.
const Oldest = "v1.32.13"

// assetsVariable is the environment variable of envtest that names a directory with executables.
const assetsVariable = "KUBEBUILDER_ASSETS"

// Names of the executables.
const (
	APIServer         = "kube-apiserver"
	Etcd              = "etcd"
	Kubectl           = "kubectl"
	ControllerManager = "kube-controller-manager"
)

// Each module contains only the files that it is built from, so its cache key does not depend on other
// programs.
var (
	//go:embed template/gomod.txt template/gosum.txt template/parent template/kube-apiserver template/etcd template/kubectl
	template embed.FS
	//go:embed template/gomod.txt template/gosum.txt template/parent template/kube-controller-manager
	managerTemplate embed.FS
	//go:embed template/gomod.txt template/oldest.mod.txt template/oldest.sum.txt template/parent template/kube-apiserver
	oldestTemplate embed.FS
)

// Paths are the paths of the executables of a control plane.
type Paths struct {
	APIServer, Etcd, ControllerManager, Kubectl string
}

// Options configure where executables come from. With the zero value, Find tries these sources in order:
//
//   - the directory in KUBEBUILDER_ASSETS
//   - the directory of this program
//   - the store of setup-envtest
//   - the builds of earlier calls in the user's cache directory
//   - a release of envtest, which Find downloads to the store of setup-envtest
//   - a new build in the user's cache directory
//
// A kubectl that is still missing is taken from the PATH. Executables that are too old are ignored.
type Options struct {
	// Assets is a directory with kube-apiserver, etcd and, optionally, kubectl and kube-controller-manager.
	// It takes precedence over KUBEBUILDER_ASSETS. If kubectl or kube-controller-manager is missing, Find uses the
	// other sources for it.
	Assets string
	// Own builds all four executables statically and from one release, so that they can be copied to other
	// machines. It ignores existing executables and downloads none.
	Own bool
	// Oldest builds the API server of the release Oldest and ignores others.
	Oldest bool
	// CacheDir is the directory for built executables. Empty means the directory cooper in os.UserCacheDir.
	CacheDir string
	// Progress receives lines about the executables in use and about the progress of downloads and builds. On
	// a terminal, one line is updated. It may be nil.
	Progress io.Writer
}

// Find returns the paths of the executables, which exist unless it returns an error. A download takes
// seconds, a build minutes; ctx cancels both. Only a build needs the go command.
func Find(ctx context.Context, o Options) (Paths, error) { return find(ctx, o, publicSite) }

func find(ctx context.Context, o Options, s site) (Paths, error) {
	progress := gobuild.NewProgress(o.Progress)
	found := map[string]string{}
	if !o.Own {
		var err error
		if found, err = ready(ctx, o, s, progress); err != nil {
			return Paths{}, err
		}
	}
	if o.Oldest {
		delete(found, APIServer)
		if err := build(ctx, o, progress, found, oldestServer(), APIServer); err != nil {
			return Paths{}, err
		}
	}
	if err := build(ctx, o, progress, found, controlPlane(), APIServer, Etcd, Kubectl); err != nil {
		return Paths{}, err
	}
	if err := build(ctx, o, progress, found, controllerManager(), ControllerManager); err != nil {
		return Paths{}, err
	}
	return Paths{
		APIServer: found[APIServer], Etcd: found[Etcd], ControllerManager: found[ControllerManager], Kubectl: found[Kubectl],
	}, nil
}

// controlPlane returns the module to build if the programs of envtest cannot be downloaded.
func controlPlane() gobuild.Module {
	return gobuild.Module{Name: "control-plane", Version: Version, Template: files(template), LinkFlags: LinkFlags(Version)}
}

// controllerManager returns the module of the program that envtest lacks.
func controllerManager() gobuild.Module {
	return gobuild.Module{Name: "controller-manager", Version: Version, Template: files(managerTemplate), LinkFlags: LinkFlags(Version)}
}

// oldestServer returns the module of the API server of the release Oldest. It is compiled without
// optimization: the saved compile time exceeds the time lost in the few tests that use it.
func oldestServer() gobuild.Module {
	return gobuild.Module{
		Name: "oldest", Version: Oldest, Template: files(oldestTemplate), ModFile: "oldest.mod", LinkFlags: LinkFlags(Oldest),
		CompileFlags: "k8s.io/...=-N -l -dwarf=false",
	}
}

func files(template embed.FS) fs.FS {
	sub, err := fs.Sub(template, "template")
	if err != nil {
		panic(err) // Sub fails only for an invalid path
	}
	return sub
}

// build builds the programs that are missing in found, or takes them from the cache directory, and adds them.
func build(ctx context.Context, o Options, progress *gobuild.Progress, found map[string]string, module gobuild.Module, programs ...string) error {
	wanted := slices.DeleteFunc(programs, func(program string) bool { return found[program] != "" })
	if len(wanted) == 0 {
		return nil
	}
	cache, err := CacheDir(o.CacheDir)
	if err != nil {
		return err
	}
	dir, err := gobuild.Build(ctx, module, gobuild.Options{CacheDir: cache, Progress: progress}, wanted...)
	if err != nil {
		return fmt.Errorf("%w\n(to use prebuilt programs, put kube-apiserver, etcd, kube-controller-manager and kubectl into the directory of this "+
			"program, or set %s to a directory that contains them)", err, assetsVariable)
	}
	for _, program := range wanted {
		found[program] = filepath.Join(dir, program)
	}
	return nil
}

// LinkFlags returns the linker flags that set the version of the components, as in the release build of
// Kubernetes. kube-apiserver does not start without a version.
func LinkFlags(version string) string {
	var flags []string
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		flags = append(flags, "-X "+pkg+".gitVersion="+version, "-X "+pkg+".gitTreeState=clean")
	}
	return strings.Join(flags, " ")
}

// CacheDir returns asked, or Cooper's directory in the user's cache if asked is empty.
func CacheDir(asked string) (string, error) {
	if asked != "" {
		return filepath.Abs(asked)
	}
	user, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache directory for the control plane: %w; set HOME or XDG_CACHE_HOME", err)
	}
	return filepath.Join(user, "cooper"), nil
}
