// SPDX-License-Identifier: Apache-2.0

// Package gobuild builds programs from a Go module that exists only as a template, once per user.
//
// It must not know what it builds: the control plane is one module among others, and the tests build a tiny one.
package gobuild

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Module is what to build.
type Module struct {
	// Name and Version say which module this is; both appear in the cache directory's name and in messages.
	Name, Version string
	// Template holds the files of the module. Each is named as in the module plus ".txt", with go.mod and go.sum named
	// gomod.txt and gosum.txt: a directory with a real go.mod could not be embedded.
	Template fs.FS
	// Programs are directories of main packages below the module's root. Each becomes an executable of that base name.
	Programs []string
	// LinkFlags is the value of -ldflags.
	LinkFlags string
	// Expect says how long the build takes, for the progress message: "about 3 minutes".
	Expect string
}

// Options say where and how to build.
type Options struct {
	// CacheDir receives one directory per module and version. It is created if needed.
	CacheDir string
	// Progress is told in one short sentence what takes long. It may be nil.
	Progress func(string)
	// Path is searched for the go command; empty means the PATH of this process.
	Path string
}

// ErrNoGo says that there is no go command to build with.
var ErrNoGo = errors.New("no go command found")

// Build returns the directory that holds the programs of m, building them first if no process of this user did
// before. Several processes may call it at once: one builds, the others wait. An error says what to do next; after an
// error or the end of ctx nothing half-built is left where a later call would take it for complete.
func Build(ctx context.Context, m Module, o Options) (string, error) {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	key, err := m.key()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(o.CacheDir, key)
	if isDir(dir) {
		return dir, nil
	}
	if err := os.MkdirAll(o.CacheDir, 0o755); err != nil {
		return "", fmt.Errorf("cannot keep the programs of %s: %w; make the directory writable or name another one", m.Name, err)
	}
	release, err := lock(ctx, dir+".lock", func(holder string) {
		o.Progress(fmt.Sprintf("waiting for %s, which builds %s", holder, m.Name))
	})
	if err != nil {
		return "", fmt.Errorf("cannot lock the build of %s: %w", m.Name, err)
	}
	defer release()
	if isDir(dir) {
		return dir, nil
	}
	if err := m.build(ctx, dir, o); err != nil {
		return "", err
	}
	return dir, nil
}

// Built returns the directory that holds the programs of m, and whether they are built.
func Built(m Module, cacheDir string) (string, bool) {
	key, err := m.key()
	if err != nil {
		return "", false
	}
	dir := filepath.Join(cacheDir, key)
	return dir, isDir(dir)
}

// key names one version of the module for one platform: whatever changes the result changes the key.
func (m Module) key() (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, m.LinkFlags, m.Programs)
	err := m.walk(func(name string, content []byte) error {
		fmt.Fprintln(h, name, len(content))
		_, err := h.Write(content)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("cannot read the template of %s: %w", m.Name, err)
	}
	sum := hex.EncodeToString(h.Sum(nil))[:12]
	return strings.Join([]string{m.Name, m.Version, runtime.GOOS, runtime.GOARCH, sum}, "-"), nil
}

// walk calls f with every file of the module under its real name, in a fixed order.
func (m Module) walk(f func(name string, content []byte) error) error {
	return fs.WalkDir(m.Template, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(m.Template, path)
		if err != nil {
			return err
		}
		return f(realName(path), content)
	})
}

func realName(path string) string {
	switch path {
	case "gomod.txt":
		return "go.mod"
	case "gosum.txt":
		return "go.sum"
	default:
		return strings.TrimSuffix(path, ".txt")
	}
}

// build makes dir appear complete, by a rename, or not at all. The caller holds the lock of dir.
func (m Module) build(ctx context.Context, dir string, o Options) error {
	if err := removeLeftovers(dir); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+".tmp-")
	if err != nil {
		return fmt.Errorf("cannot build %s: %w; make the directory writable or name another one", m.Name, err)
	}
	defer os.RemoveAll(tmp)
	src, bin := filepath.Join(tmp, "src"), filepath.Join(tmp, "bin")
	if err := m.write(src); err != nil {
		return fmt.Errorf("cannot write the source of %s: %w", m.Name, err)
	}
	o.Progress(fmt.Sprintf("building %s %s (%s, once)", strings.Join(baseNames(m.Programs), ", "), m.Version, m.Expect))
	if err := m.compile(ctx, src, bin, o.Path); err != nil {
		return err
	}
	if err := os.Chmod(bin, 0o755); err != nil {
		return fmt.Errorf("cannot finish the build of %s: %w", m.Name, err)
	}
	if err := os.Rename(bin, dir); err != nil {
		return fmt.Errorf("cannot finish the build of %s: %w", m.Name, err)
	}
	return nil
}

// removeLeftovers deletes what a builder that was killed left behind.
func removeLeftovers(dir string) error {
	old, err := filepath.Glob(dir + ".tmp-*")
	if err != nil {
		return fmt.Errorf("cache directory %s: %w", dir, err)
	}
	for _, d := range old {
		if err := os.RemoveAll(d); err != nil {
			return fmt.Errorf("cannot remove an unfinished build: %w", err)
		}
	}
	return nil
}

func (m Module) write(dir string) error {
	return m.walk(func(name string, content []byte) error {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		return os.WriteFile(path, content, 0o600)
	})
}

func baseNames(programs []string) []string {
	names := slices.Clone(programs)
	for i, p := range names {
		names[i] = filepath.Base(p)
	}
	return names
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
