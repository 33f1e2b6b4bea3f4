// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/cooper-cosi/cooper/testenv/controlplane/internal/gobuild"
)

// Version is the release of Kubernetes that is built.
const Version = "v1.36.3"

// assetsVariable is the environment variable that users of envtest know: a directory with their own binaries.
const assetsVariable = "KUBEBUILDER_ASSETS"

const (
	apiServer         = "kube-apiserver"
	etcd              = "etcd"
	kubectl           = "kubectl"
	controllerManager = "kube-controller-manager"
)

//go:embed template
var template embed.FS

// Binaries are the paths of the executables of a control plane.
type Binaries struct {
	APIServer, Etcd, ControllerManager, Kubectl string
}

// BinaryOptions say where the executables come from. The zero value means: those of KUBEBUILDER_ASSETS if that is
// set, otherwise our own from the user's cache directory, built there first if needed.
type BinaryOptions struct {
	// Assets is a directory with kube-apiserver, etcd and, if possible, kubectl and kube-controller-manager; it
	// takes precedence over KUBEBUILDER_ASSETS. What it lacks of the latter two is built.
	Assets string
	// CacheDir is where executables are built and kept; empty means the directory cooper in os.UserCacheDir.
	CacheDir string
	// Progress is told in one short sentence what takes long. It may be nil.
	Progress func(string)
}

// FindBinaries returns the executables, which exist when it returns without an error. The first call of a user builds
// them, which takes minutes; ctx ends that. It needs the go command only for that first call.
func FindBinaries(ctx context.Context, o BinaryOptions) (Binaries, error) {
	assets := o.Assets
	if assets == "" {
		assets = os.Getenv(assetsVariable)
	}
	if assets == "" {
		return build(ctx, o, all...)
	}
	return fromAssets(ctx, assets, o)
}

func fromAssets(ctx context.Context, assets string, o BinaryOptions) (Binaries, error) {
	assets, err := filepath.Abs(assets)
	if err != nil {
		return Binaries{}, fmt.Errorf("%s: %w", assetsVariable, err)
	}
	in := func(name string) string { return filepath.Join(assets, name) }
	for _, name := range []string{apiServer, etcd} {
		if !isExecutable(in(name)) {
			return Binaries{}, fmt.Errorf("the assets directory %s has no executable %s; put kube-apiserver and etcd there, "+
				"or unset %s so that they are built", assets, name, assetsVariable)
		}
	}
	var missing []string
	for _, name := range []string{controllerManager, kubectl} {
		if !isExecutable(in(name)) {
			missing = append(missing, name)
		}
	}
	found := inDir(assets)
	if len(missing) == 0 {
		return found, nil
	}
	built, err := build(ctx, o, missing...)
	if err != nil {
		return Binaries{}, fmt.Errorf("%s lacks %s: %w", assets, strings.Join(missing, " and "), err)
	}
	for _, name := range missing {
		switch name {
		case controllerManager:
			found.ControllerManager = built.ControllerManager
		case kubectl:
			found.Kubectl = built.Kubectl
		}
	}
	return found, nil
}

// all are the programs of a complete build.
var all = []string{apiServer, etcd, controllerManager, kubectl}

func build(ctx context.Context, o BinaryOptions, programs ...string) (Binaries, error) {
	cache, err := cacheDir(o.CacheDir)
	if err != nil {
		return Binaries{}, err
	}
	complete, err := module(all...)
	if err != nil {
		return Binaries{}, err
	}
	if dir, ok := gobuild.Built(complete, cache); ok {
		return inDir(dir), nil
	}
	wanted, err := module(programs...)
	if err != nil {
		return Binaries{}, err
	}
	dir, err := gobuild.Build(ctx, wanted, gobuild.Options{CacheDir: cache, Progress: o.Progress})
	if err != nil {
		return Binaries{}, fmt.Errorf("%w\n(instead of building, %s can name a directory with ready kube-apiserver, etcd, "+
			"kube-controller-manager and kubectl)", err, assetsVariable)
	}
	return inDir(dir), nil
}

// module is what builds the programs.
func module(programs ...string) (gobuild.Module, error) {
	files, err := fs.Sub(template, "template")
	if err != nil {
		return gobuild.Module{}, fmt.Errorf("embedded template: %w", err)
	}
	return gobuild.Module{
		Name:      "controlplane",
		Version:   Version,
		Template:  files,
		Programs:  programs,
		LinkFlags: linkFlags(),
		Expect:    "3 to 5 minutes on two cores",
	}, nil
}

// inDir returns the paths in a directory that holds all or some of the programs.
func inDir(dir string) Binaries {
	in := func(name string) string { return filepath.Join(dir, name) }
	return Binaries{APIServer: in(apiServer), Etcd: in(etcd), ControllerManager: in(controllerManager), Kubectl: in(kubectl)}
}

// linkFlags tell the components which release they are, as the release build of Kubernetes does; without a version
// kube-apiserver does not start. The rest keeps the executables small.
func linkFlags() string {
	flags := []string{"-s", "-w"}
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		flags = append(flags, "-X "+pkg+".gitVersion="+Version, "-X "+pkg+".gitTreeState=clean")
	}
	return strings.Join(flags, " ")
}

// cacheDir returns asked or, if that is empty, the directory of Cooper in the user's cache.
func cacheDir(asked string) (string, error) {
	if asked != "" {
		return filepath.Abs(asked)
	}
	user, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("cannot tell where to keep the control plane: %w; set HOME or XDG_CACHE_HOME", err)
	}
	return filepath.Join(user, "cooper"), nil
}

func isExecutable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
