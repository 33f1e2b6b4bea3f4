// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/tools/setup-envtest/store"
	"sigs.k8s.io/controller-runtime/tools/setup-envtest/versions"

	"github.com/cooper-cosi/cooper/testenv/gobuild"
)

// oldest returns the minimum releases of installed executables: Oldest, and the first kubectl that supports
// wait --for=create.
func oldest() map[string]release {
	return map[string]release{APIServer: parseRelease(Oldest), Etcd: {3, 5}, Kubectl: {1, 31}}
}

// ready returns the executables that need not be built, by name, and reports them. Assets that the user names
// must be complete and new enough. Other unsuitable executables are ignored.
func ready(ctx context.Context, o Options, s site, progress *gobuild.Progress) (map[string]string, error) {
	if assets := cmp.Or(o.Assets, os.Getenv(assetsVariable)); assets != "" {
		dir, err := filepath.Abs(assets)
		if err != nil {
			return nil, fmt.Errorf("find the directory in %s: %w", assetsVariable, err)
		}
		found, err := inDirectory(ctx, dir, APIServer, Etcd)
		if err != nil {
			return nil, fmt.Errorf("the assets directory %s cannot be used: %w; put kube-apiserver and etcd there, or unset %s "+
				"to download or build them", dir, err, assetsVariable)
		}
		return withKubectl(ctx, found, progress), nil
	}
	if found := installed(ctx, progress); found != nil {
		return withKubectl(ctx, found, progress), nil
	}
	cache, err := CacheDir(o.CacheDir)
	if err != nil {
		return nil, err
	}
	if controlPlane().Has(cache, APIServer, Etcd) || os.Getenv(installedOnlyVariable) != "" {
		return withKubectl(ctx, nil, progress), nil
	}
	found, err := s.download(ctx, cache, progress)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("the download of Kubernetes was interrupted: %w", context.Cause(ctx))
	}
	if err != nil {
		progress.Say("cannot download Kubernetes: %v", err)
	}
	return withKubectl(ctx, found, progress), nil
}

// installed returns the executables next to this program, or else those of the best release in the store of
// setup-envtest, or nil.
func installed(ctx context.Context, progress *gobuild.Progress) map[string]string {
	if program, err := os.Executable(); err == nil {
		if found := inInstallation(ctx, progress, filepath.Dir(program), APIServer, Etcd); found != nil {
			return found
		}
	}
	for _, dir := range stored(ctx) {
		if found := inInstallation(ctx, progress, dir, archived...); found != nil {
			return found
		}
	}
	return nil
}

// inInstallation returns the executables in dir. If dir has a kube-apiserver that cannot be used, it reports
// why.
func inInstallation(ctx context.Context, progress *gobuild.Progress, dir string, programs ...string) map[string]string {
	found, err := inDirectory(ctx, dir, programs...)
	if err != nil && isExecutable(filepath.Join(dir, APIServer)) {
		progress.Say("not using %s: %v", dir, err)
	}
	return found
}

// stored returns the directories of the store of setup-envtest, newest release first, with those newer than
// Version at the end.
func stored(ctx context.Context) []string {
	root, err := store.DefaultStoreDir()
	if err != nil {
		return nil // no home directory, so no store
	}
	all := store.NewAt(root)
	platform := versions.Platform{OS: runtime.GOOS, Arch: runtime.GOARCH}
	items, err := all.List(logr.NewContext(ctx, logr.Discard()), store.Filter{Version: versions.AnyVersion, Platform: platform})
	if err != nil {
		return nil // the store does not exist
	}
	tooNew := func(item store.Item) bool { return compare(releaseOf(item.Version), parseRelease(Version)) > 0 }
	var dirs []string
	for _, last := range []bool{false, true} {
		for _, item := range items {
			if dir, err := all.Path(item); err == nil && tooNew(item) == last {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs
}

// inDirectory returns the executables in dir if they include programs and are new enough.
func inDirectory(ctx context.Context, dir string, programs ...string) (map[string]string, error) {
	found := map[string]string{}
	for _, program := range programs {
		path := filepath.Join(dir, program)
		if !isExecutable(path) {
			return nil, fmt.Errorf("there is no executable %s", program)
		}
		if err := newEnough(ctx, program, path); err != nil {
			return nil, err
		}
		found[program] = path
	}
	for _, program := range []string{ControllerManager, Kubectl} {
		if path := filepath.Join(dir, program); isExecutable(path) {
			found[program] = path
		}
	}
	return found, nil
}

// withKubectl adds the kubectl of the PATH if found has none, and reports which one is used.
func withKubectl(ctx context.Context, found map[string]string, progress *gobuild.Progress) map[string]string {
	if found == nil {
		found = map[string]string{}
	}
	if server := found[APIServer]; server != "" {
		progress.Say("using kube-apiserver and etcd from %s", filepath.Dir(server))
	}
	path, err := exec.LookPath(Kubectl)
	if err != nil || found[Kubectl] != "" {
		return found
	}
	if err := newEnough(ctx, Kubectl, path); err != nil {
		progress.Say("not using %s: %v", path, err)
		return found
	}
	progress.Say("using the installed kubectl, %s", path)
	found[Kubectl] = path
	return found
}

// release is the major and minor number of a version.
type release [2]int

var releasePattern = regexp.MustCompile(`(\d+)\.(\d+)\.\d+`)

// parseRelease returns the first version in text, or the zero release if there is none.
func parseRelease(text string) release {
	match := releasePattern.FindStringSubmatch(text)
	if match == nil {
		return release{}
	}
	major, _ := strconv.Atoi(match[1]) // digits, so at worst out of range
	minor, _ := strconv.Atoi(match[2])
	return release{major, minor}
}

func releaseOf(version versions.Concrete) release { return release{version.Major, version.Minor} }

func compare(a, b release) int { return slices.Compare(a[:], b[:]) }

// newEnough runs the executable to check its version.
func newEnough(ctx context.Context, program, path string) error {
	arguments := []string{"--version"}
	if program == Kubectl {
		arguments = []string{"version", "--client"}
	}
	out, err := exec.CommandContext(ctx, path, arguments...).Output()
	if err != nil {
		return fmt.Errorf("get the version of %s: %w", path, err)
	}
	if got, least := parseRelease(string(out)), oldest()[program]; compare(got, least) < 0 {
		return fmt.Errorf("%s is version %d.%d, but the minimum is %d.%d", program, got[0], got[1], least[0], least[1])
	}
	return nil
}

func isExecutable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
