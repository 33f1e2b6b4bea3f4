// SPDX-License-Identifier: Apache-2.0

// Package gobuild builds Go programs and shows the progress. Build builds a module that exists only as an
// embedded template, and keeps the programs in the user's cache. A Command builds packages of a module on
// this machine, and Install builds a program of a published module.
//
// The package does not depend on the programs that it builds. It imports little more than the standard
// library, so that programs that import only gobuild compile within seconds.
package gobuild

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
)

// Module is a module to build.
type Module struct {
	// Name and Version identify the module in the name of its cache directory and in messages.
	Name, Version string
	// Template holds the files of the module. The suffix .txt is appended to the file names. go.mod and go.sum
	// are named gomod.txt and gosum.txt, because a directory with a real go.mod cannot be embedded.
	Template fs.FS
	// ModFile is the file to use in place of go.mod; empty means go.mod.
	ModFile string
	// CompileFlags is the value of -gcflags.
	CompileFlags string
	// LinkFlags is added to -ldflags.
	LinkFlags string
}

// Options configure where and how to build.
type Options struct {
	// CacheDir contains one directory per module and version. It is created if needed.
	CacheDir string
	// Progress shows slow operations. It may be nil.
	Progress *Progress
	// Path is searched for the go command; empty means the PATH of this process.
	Path string
}

// Build returns the directory with the programs of m, after building those that are not in the user's cache.
// Each element of programs is the path of a main package. If its first element contains a dot, it is the import
// path of a package in a module that m requires. Otherwise it is a directory below the module's root. The
// executable has the name of the path's last element.
//
// Several processes may call Build concurrently: one builds, the others wait. An error says what to do next.
// After an error or cancellation, no incomplete program is left.
func Build(ctx context.Context, m Module, o Options, programs ...string) (string, error) {
	dir, missing, err := m.missing(o.CacheDir, programs)
	if err != nil || len(missing) == 0 {
		return dir, err
	}
	if err := os.MkdirAll(o.CacheDir, 0o755); err != nil {
		return "", fmt.Errorf("cannot store the programs of %s: %w; make the directory writable or choose another one", m.Name, err)
	}
	release, err := Lock(ctx, dir+".lock", func(holder string) {
		o.Progress.Say("waiting for %s, which is building %s", holder, m.Name)
	})
	if err != nil {
		return "", fmt.Errorf("cannot lock the build of %s: %w", m.Name, err)
	}
	defer release()
	if dir, missing, err = m.missing(o.CacheDir, programs); err != nil || len(missing) == 0 {
		return dir, err
	}
	if err := m.build(ctx, dir, o, missing); err != nil {
		return "", err
	}
	return dir, nil
}

// Dir returns the directory in which Build puts the programs of m.
func (m Module) Dir(cacheDir string) (string, error) {
	key, err := m.key()
	return filepath.Join(cacheDir, key), err
}

// Has reports whether Build would find all programs in cacheDir without compiling.
func (m Module) Has(cacheDir string, programs ...string) bool {
	_, missing, err := m.missing(cacheDir, programs)
	return err == nil && len(missing) == 0
}

// missing returns the directory of m's programs, and which of them do not exist.
func (m Module) missing(cacheDir string, programs []string) (dir string, missing []string, err error) {
	if dir, err = m.Dir(cacheDir); err != nil {
		return "", nil, err
	}
	for _, program := range programs {
		if _, err := os.Stat(filepath.Join(dir, path.Base(program))); err != nil {
			missing = append(missing, program)
		}
	}
	return dir, missing, nil
}

// key identifies one version of the module for one platform. Everything that affects the result is part of
// the key.
func (m Module) key() (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, m.LinkFlags+m.CompileFlags)
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

// walk calls f for every file of the module with its real name, in a fixed order.
func (m Module) walk(f func(name string, content []byte) error) error {
	return fs.WalkDir(m.Template, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(m.Template, file)
		if err != nil {
			return err
		}
		return f(realName(file), content)
	})
}

func realName(file string) string {
	switch file {
	case "gomod.txt":
		return "go.mod"
	case "gosum.txt":
		return "go.sum"
	default:
		return strings.TrimSuffix(file, ".txt")
	}
}

// build creates each program in dir atomically, by a rename. The caller holds the lock of dir.
func (m Module) build(ctx context.Context, dir string, o Options, programs []string) error {
	if err := removeLeftovers(dir); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+".tmp-")
	if err != nil {
		return fmt.Errorf("cannot build %s: %w; make the directory writable or choose another one", m.Name, err)
	}
	defer os.RemoveAll(tmp)
	src, bin := filepath.Join(tmp, "src"), filepath.Join(tmp, "bin")
	if err := m.write(src); err != nil {
		return fmt.Errorf("cannot write the source of %s: %w", m.Name, err)
	}
	o.Progress.Say("building %s %s, once", strings.Join(programs, ", "), m.Version)
	command := Command{
		Name: m.Name, Dir: src, ModFile: m.ModFile, CompileFlags: m.CompileFlags, LinkFlags: m.LinkFlags, Path: o.Path,
		Output: bin + string(os.PathSeparator),
	}
	for _, program := range programs {
		command.Packages = append(command.Packages, packageOf(program))
	}
	if err := command.Run(ctx, o.Progress); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cannot finish the build of %s: %w", m.Name, err)
	}
	for _, program := range programs {
		program = path.Base(program)
		if err := os.Rename(filepath.Join(bin, program), filepath.Join(dir, program)); err != nil {
			return fmt.Errorf("cannot finish the build of %s: %w", m.Name, err)
		}
	}
	return nil
}

// packageOf returns the package path of a program for the go command.
func packageOf(program string) string {
	if first, _, _ := strings.Cut(program, "/"); strings.Contains(first, ".") {
		return program
	}
	return "./" + program
}

// removeLeftovers deletes the files of a builder that was killed.
func removeLeftovers(dir string) error {
	old, err := filepath.Glob(dir + ".tmp-*")
	if err != nil {
		return fmt.Errorf("list unfinished builds of %s: %w", dir, err)
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
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		return os.WriteFile(file, content, 0o600)
	})
}
