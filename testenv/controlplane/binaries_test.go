// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

func TestTheUsersOwnAssetsAreUsed(t *testing.T) {
	assets := assetsWith(t, "kube-apiserver", "etcd", "kube-controller-manager", "kubectl")
	t.Setenv("KUBEBUILDER_ASSETS", assets)
	got, err := controlplane.FindBinaries(t.Context(), controlplane.BinaryOptions{CacheDir: t.TempDir()})
	want := controlplane.Binaries{
		APIServer:         filepath.Join(assets, "kube-apiserver"),
		Etcd:              filepath.Join(assets, "etcd"),
		ControllerManager: filepath.Join(assets, "kube-controller-manager"),
		Kubectl:           filepath.Join(assets, "kubectl"),
	}
	if err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
}

func TestTheUsersOwnAssetsReallyRun(t *testing.T) {
	t.Parallel()
	built, err := controlplane.FindBinaries(t.Context(), controlplane.BinaryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	assets := t.TempDir()
	for name, path := range map[string]string{"kube-apiserver": built.APIServer, "etcd": built.Etcd} {
		if err := os.Symlink(path, filepath.Join(assets, name)); err != nil {
			t.Fatal(err)
		}
	}
	// What such a directory usually lacks, kube-controller-manager, is taken from the cache.
	cp := start(t, controlplane.Options{BinaryOptions: controlplane.BinaryOptions{Assets: assets}})
	createConfigMap(t, cp, "works")
	if got := cp.Kubectl(); got != built.Kubectl {
		t.Errorf("kubectl is %s, want the built %s", got, built.Kubectl)
	}
}

func TestAssetsWithoutAnAPIServerAreRefused(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		assets  string
		missing string
	}{
		"an empty directory":       {assetsWith(t), "no executable kube-apiserver"},
		"a directory without etcd": {assetsWith(t, "kube-apiserver"), "no executable etcd"},
		"a missing directory":      {filepath.Join(t.TempDir(), "missing"), "no executable kube-apiserver"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := controlplane.FindBinaries(t.Context(), controlplane.BinaryOptions{Assets: tc.assets})
			wantParts(t, err, tc.assets, tc.missing, "unset KUBEBUILDER_ASSETS")
		})
	}
}

func TestWithoutGoAndAssetsTheErrorSaysBothWaysOut(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := controlplane.FindBinaries(t.Context(), controlplane.BinaryOptions{CacheDir: t.TempDir()})
	wantParts(t, err, "no go command found", "install Go", "KUBEBUILDER_ASSETS can name a directory")
}

func TestWithoutAHomeDirectoryTheErrorSaysWhatToSet(t *testing.T) {
	t.Setenv("HOME", "")
	t.Setenv("XDG_CACHE_HOME", "")
	_, err := controlplane.FindBinaries(t.Context(), controlplane.BinaryOptions{})
	wantParts(t, err, "cannot tell where to keep the control plane", "set HOME or XDG_CACHE_HOME")
}

// assetsWith returns a directory with empty executables.
func assetsWith(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
