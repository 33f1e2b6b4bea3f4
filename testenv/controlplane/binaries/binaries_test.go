// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// allPrograms are the programs of a directory that needs no build.
var allPrograms = []string{"kube-apiserver", "etcd", "kube-controller-manager", "kubectl"}

// wantNoError ends the test if there is an error.
func wantNoError(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func TestFind(t *testing.T) {
	const newer, older = "v1.99.0", "v1.31.9"
	tests := map[string]struct {
		// assets, setupEnvtest and path are the versions of the executables in KUBEBUILDER_ASSETS, in the
		// directories of setup-envtest, and on the PATH.
		assets       map[string]string
		setupEnvtest map[string]string
		path         map[string]string
		// want is the directory of each program, wantSaid the expected messages.
		want     map[string]string
		wantSaid []string
		wantErr  []string
	}{
		"uses all that KUBEBUILDER_ASSETS has": {
			assets:   versionsOf(newer, allPrograms...),
			want:     map[string]string{"kube-apiserver": "assets", "etcd": "assets", "kube-controller-manager": "assets", "kubectl": "assets"},
			wantSaid: []string{"using kube-apiserver and etcd from", "assets"},
		},
		"prefers KUBEBUILDER_ASSETS to what lies elsewhere": {
			assets:       versionsOf(newer, "kube-apiserver", "etcd", "kube-controller-manager"),
			setupEnvtest: versionsOf(newer, allPrograms...),
			path:         versionsOf(newer, "kubectl"),
			want:         map[string]string{"kube-apiserver": "assets", "etcd": "assets", "kube-controller-manager": "assets", "kubectl": "path"},
			wantSaid:     []string{"using kube-apiserver and etcd from", "using the installed kubectl"},
		},
		"uses what setup-envtest has downloaded": {
			setupEnvtest: versionsOf(newer, allPrograms...),
			want:         map[string]string{"kube-apiserver": "setup-envtest", "etcd": "setup-envtest", "kube-controller-manager": "setup-envtest", "kubectl": "setup-envtest"},
			wantSaid:     []string{"using kube-apiserver and etcd from", "kubebuilder-envtest"},
		},
		"refuses KUBEBUILDER_ASSETS that are too old": {
			assets:  versionsOf(older, allPrograms...),
			wantErr: []string{"assets directory", "kube-apiserver is version 1.31, but the minimum is 1.32", "unset KUBEBUILDER_ASSETS"},
		},
		"refuses KUBEBUILDER_ASSETS without kube-apiserver": {
			assets:  versionsOf(newer, "etcd"),
			wantErr: []string{"assets directory", "there is no executable kube-apiserver", "unset KUBEBUILDER_ASSETS"},
		},
		"refuses KUBEBUILDER_ASSETS without etcd": {
			assets:  versionsOf(newer, "kube-apiserver"),
			wantErr: []string{"there is no executable etcd", "unset KUBEBUILDER_ASSETS"},
		},
		"without Go names both ways out": {
			path:     versionsOf(newer, "kubectl"),
			wantSaid: []string{"using the installed kubectl"},
			wantErr:  []string{"no go command found", "install Go", "into the directory of this program, or set KUBEBUILDER_ASSETS to a directory"},
		},
		"passes over what setup-envtest has if that is too old, and a kubectl that is": {
			setupEnvtest: versionsOf(older, allPrograms...),
			path:         versionsOf("v1.30.0", "kubectl"),
			wantSaid: []string{
				"not using", "kube-apiserver is version 1.31, but the minimum is 1.32",
				"kubectl is version 1.30, but the minimum is 1.31",
				"building kube-apiserver, etcd, kubectl v",
			},
			wantErr: []string{"cannot build control-plane", "no go command found"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			installed := filepath.Join(root, "data", "kubebuilder-envtest", "k8s", "1.99.0-"+runtime.GOOS+"-"+runtime.GOARCH)
			dirs := map[string]string{"assets": filepath.Join(root, "assets"), "path": filepath.Join(root, "path"), "setup-envtest": installed}
			t.Setenv("PATH", dirs["path"])
			t.Setenv("XDG_DATA_HOME", filepath.Join(root, "data"))
			t.Setenv("KUBEBUILDER_ASSETS", "")
			t.Setenv("ENVTEST_INSTALLED_ONLY", "true") // TestDownload covers downloads
			if tc.assets != nil {
				t.Setenv("KUBEBUILDER_ASSETS", dirs["assets"])
			}
			for dir, programs := range map[string]map[string]string{"assets": tc.assets, "path": tc.path, "setup-envtest": tc.setupEnvtest} {
				install(t, dirs[dir], programs)
			}
			var said bytes.Buffer
			got, err := find(t.Context(), Options{CacheDir: t.TempDir(), Progress: &said}, site{})
			wantParts(t, said.String(), tc.wantSaid...)
			if tc.wantErr != nil {
				if err == nil {
					t.Fatalf("no error, want one with %q", tc.wantErr)
				}
				wantParts(t, err.Error(), tc.wantErr...)
				return
			}
			in := func(program string) string { return filepath.Join(dirs[tc.want[program]], program) }
			want := Paths{
				APIServer: in("kube-apiserver"), Etcd: in("etcd"), ControllerManager: in("kube-controller-manager"), Kubectl: in("kubectl"),
			}
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

func TestFindWithoutAHomeDirectorySaysWhatToSet(t *testing.T) {
	t.Setenv("HOME", "")
	t.Setenv("XDG_CACHE_HOME", "")
	_, err := Find(t.Context(), Options{Own: true})
	if err == nil {
		t.Fatal("no error")
	}
	wantParts(t, err.Error(), "find the cache directory for the control plane", "set HOME or XDG_CACHE_HOME")
}

// versionsOf returns programs of the same version.
func versionsOf(version string, programs ...string) map[string]string {
	all := map[string]string{}
	for _, program := range programs {
		all[program] = version
	}
	return all
}

// install writes programs into dir that only print their version.
func install(t *testing.T, dir string, programs map[string]string) {
	t.Helper()
	wantNoError(t, os.MkdirAll(dir, 0o700))
	for name, version := range programs {
		wantNoError(t, os.WriteFile(filepath.Join(dir, name), []byte(script(name, version)), 0o700))
	}
}

// script returns a program that only prints its version.
func script(name, version string) string {
	if name == Etcd {
		version = "3.6.1"
	}
	return fmt.Sprintf("#!/bin/sh\necho %s %s\n", name, version)
}

func wantParts(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q lacks %q", text, part)
		}
	}
}
