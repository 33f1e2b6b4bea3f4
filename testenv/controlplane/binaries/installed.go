// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"

	"github.com/cooper-cosi/cooper/internal/gobuild"
)

// oldest returns the oldest releases that are used of what the machine has: Oldest, and the first kubectl whose wait
// knows --for=create.
func oldest() map[string]release {
	return map[string]release{APIServer: parseRelease(Oldest), Etcd: {3, 5}, Kubectl: {1, 31}}
}

// installed returns the executables that the machine has, by name, and says which those are. Assets that the user
// names must be complete and new enough; what lies where others install it is passed over otherwise.
func installed(ctx context.Context, assets string, progress *gobuild.Progress) (map[string]string, error) {
	if assets == "" {
		assets = os.Getenv(assetsVariable)
	}
	if assets != "" {
		return named(ctx, assets, progress)
	}
	found := map[string]string{}
	for _, dir := range installations() {
		if all, err := inDirectory(ctx, dir); err == nil {
			found = all
			progress.Say("using the kube-apiserver and etcd of %s", dir)
			break
		} else if isExecutable(filepath.Join(dir, APIServer)) {
			progress.Say("not using %s: %v", dir, err)
		}
	}
	addKubectl(ctx, found, progress)
	return found, nil
}

// named returns the executables in the directory that the user names.
func named(ctx context.Context, assets string, progress *gobuild.Progress) (map[string]string, error) {
	dir, err := filepath.Abs(assets)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", assetsVariable, err)
	}
	found, err := inDirectory(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("the assets directory %s cannot be used: %w; put kube-apiserver and etcd there, or unset %s "+
			"so that they are built", dir, err, assetsVariable)
	}
	progress.Say("using the kube-apiserver and etcd of %s", dir)
	addKubectl(ctx, found, progress)
	return found, nil
}

// inDirectory returns the executables in dir, if kube-apiserver and etcd are among them and new enough.
func inDirectory(ctx context.Context, dir string) (map[string]string, error) {
	found := map[string]string{}
	for _, program := range []string{APIServer, Etcd} {
		path := filepath.Join(dir, program)
		if !isExecutable(path) {
			return nil, fmt.Errorf("there is no executable %s", program)
		}
		if err := newEnough(ctx, program, path, "--version"); err != nil {
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

// addKubectl adds the kubectl of the PATH to found, if that has none.
func addKubectl(ctx context.Context, found map[string]string, progress *gobuild.Progress) {
	path, err := exec.LookPath(Kubectl)
	if err != nil || found[Kubectl] != "" {
		return
	}
	if err := newEnough(ctx, Kubectl, path, "version", "--client"); err != nil {
		progress.Say("not using %s: %v", path, err)
		return
	}
	progress.Say("using the kubectl of this machine, %s", path)
	found[Kubectl] = path
}

// installations returns the directory of this program, with which others may have been shipped, and those where
// setup-envtest puts its downloads, the newest first.
func installations() []string {
	data := os.Getenv("XDG_DATA_HOME")
	if home, err := os.UserHomeDir(); data == "" && err == nil {
		data = filepath.Join(home, ".local", "share")
	}
	found, err := filepath.Glob(filepath.Join(data, "kubebuilder-envtest", "k8s", "*-"+runtime.GOOS+"-"+runtime.GOARCH))
	if err != nil {
		found = nil // a home with an odd name, in which nothing can be looked for
	}
	slices.SortFunc(found, func(a, b string) int { return compare(parseRelease(filepath.Base(b)), parseRelease(filepath.Base(a))) })
	if program, err := os.Executable(); err == nil {
		found = slices.Insert(found, 0, filepath.Dir(program))
	}
	return found
}

// release is the major and minor number of a version.
type release [2]int

var releasePattern = regexp.MustCompile(`(\d+)\.(\d+)\.\d+`)

// parseRelease returns the first version in text; the zero release if there is none.
func parseRelease(text string) release {
	match := releasePattern.FindStringSubmatch(text)
	if match == nil {
		return release{}
	}
	major, _ := strconv.Atoi(match[1]) // digits, so at worst too many of them
	minor, _ := strconv.Atoi(match[2])
	return release{major, minor}
}

func compare(a, b release) int { return slices.Compare(a[:], b[:]) }

// newEnough asks the executable for its version.
func newEnough(ctx context.Context, program, path string, arguments ...string) error {
	out, err := exec.CommandContext(ctx, path, arguments...).Output()
	if err != nil {
		return fmt.Errorf("%s does not print its version: %w", path, err)
	}
	if got, least := parseRelease(string(out)), oldest()[program]; compare(got, least) < 0 {
		return fmt.Errorf("%s is version %d.%d, and %d.%d is the oldest that will do", program, got[0], got[1], least[0], least[1])
	}
	return nil
}

func isExecutable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
