// SPDX-License-Identifier: Apache-2.0

// Package binaries finds the executables of a control plane: those that the user names or has, those of envtest, which
// it downloads, and otherwise those that it builds from Go modules. It must not start them.
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

// Each module has only the files that it is built from: its name in the cache does not change with other programs.
var (
	//go:embed template/gomod.txt template/gosum.txt template/parent template/kube-apiserver template/etcd template/kubectl
	template embed.FS
	//go:embed template/gomod.txt template/gosum.txt template/parent template/kube-controller-manager
	managerTemplate embed.FS
	//go:embed template/gomod.txt template/oldest.mod.txt template/oldest.sum.txt template/parent template/kube-apiserver
	oldestTemplate embed.FS
)

// Paths are those of the executables of a control plane.
type Paths struct {
	APIServer, Etcd, ControllerManager, Kubectl string
}

// Options say where the executables come from. The zero value means, in this order: those of KUBEBUILDER_ASSETS, those
// beside this program, those in the store of setup-envtest, those that an earlier call has built, those of a release of
// envtest, which Find downloads to that store, and those that Find builds in the user's cache directory. A kubectl that
// is still missing is taken from the PATH. Executables that are too old are not used.
type Options struct {
	// Assets is a directory with kube-apiserver, etcd and, if possible, kubectl and kube-controller-manager; it takes
	// precedence over KUBEBUILDER_ASSETS. What it lacks of the latter two comes from elsewhere.
	Assets string
	// Own builds all four, static and of one release, to be copied elsewhere. It ignores what the machine has and
	// downloads nothing.
	Own bool
	// Oldest builds the API server of the release Oldest, and leaves aside any other.
	Oldest bool
	// CacheDir is where executables are built and kept; empty means the directory cooper in os.UserCacheDir.
	CacheDir string
	// Progress gets lines that say which executables are used and, while they are downloaded or built, how far that is.
	// On a terminal one line is kept current. It may be nil.
	Progress io.Writer
}

// Find returns the executables, which exist when it returns without an error. A download takes seconds, a build
// minutes; ctx ends both. Only a build needs the go command.
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

// controlPlane is the module that is built if the programs of envtest cannot be downloaded.
func controlPlane() gobuild.Module {
	return gobuild.Module{Name: "control-plane", Version: Version, Template: files(template), LinkFlags: LinkFlags(Version)}
}

// controllerManager is the module of the program that envtest lacks.
func controllerManager() gobuild.Module {
	return gobuild.Module{Name: "controller-manager", Version: Version, Template: files(managerTemplate), LinkFlags: LinkFlags(Version)}
}

// oldestServer is the module of the API server of Oldest. What is not optimized takes less time to compile than it loses
// in the few tests that use it.
func oldestServer() gobuild.Module {
	return gobuild.Module{
		Name: "oldest", Version: Oldest, Template: files(oldestTemplate), ModFile: "oldest.mod", LinkFlags: LinkFlags(Oldest),
		CompileFlags: "k8s.io/...=-N -l -dwarf=false",
	}
}

func files(template embed.FS) fs.FS {
	sub, err := fs.Sub(template, "template")
	if err != nil {
		panic(err) // the path is not valid, which is all that Sub checks
	}
	return sub
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
