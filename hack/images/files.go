// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"

	"github.com/cooper-cosi/cooper/testenv/gobuild"
)

// layOut recreates the directory of an image: root/ for files owned by root, state/ for files owned by the
// user that the image runs as.
func (i image) layOut(ctx context.Context, dir, arch string, progress *gobuild.Progress) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("delete the previous build: %w", err)
	}
	tmp := filepath.Join(dir, "root", "tmp")
	made := []string{tmp, filepath.Join(dir, "state")}
	for _, d := range i.state {
		made = append(made, filepath.Join(dir, "state", d))
	}
	for _, d := range made {
		if err := makeDir(d); err != nil {
			return err
		}
	}
	if err := os.Chmod(tmp, 0o777|fs.ModeSticky); err != nil {
		return fmt.Errorf("create a directory of the image: %w", err)
	}
	return i.lay(ctx, place{root: filepath.Join(dir, "root"), arch: arch, progress: progress})
}

func makeDir(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // readable by the image's user
		return fmt.Errorf("create a directory of the image: %w", err)
	}
	return nil
}

// library matches a path in the output of ldd.
var library = regexp.MustCompile(`(?m)(?:=> |^\s*)(/\S+)`)

// copyProgram copies a program of this machine, with its shared libraries, into root. Node has shared
// libraries, and a program that the user named may have some.
func copyProgram(ctx context.Context, program, root, to string) error {
	if err := copyFile(program, filepath.Join(root, to)); err != nil {
		return err
	}
	linked, err := isLinked(program)
	if err != nil || !linked {
		return err
	}
	printed, err := exec.CommandContext(ctx, "ldd", program).Output()
	if err != nil {
		return fmt.Errorf("ldd %s: %w", program, err)
	}
	for _, match := range library.FindAllStringSubmatch(string(printed), -1) {
		if err := copyFile(match[1], filepath.Join(root, match[1])); err != nil {
			return err
		}
	}
	return nil
}

// isLinked reports whether a program is dynamically linked, that is, whether it names a loader.
func isLinked(program string) (bool, error) {
	file, err := elf.Open(program)
	if err != nil {
		return false, fmt.Errorf("check whether %s is dynamically linked: %w", program, err)
	}
	defer file.Close()
	for _, header := range file.Progs {
		if header.Type == elf.PT_INTERP {
			return true, nil
		}
	}
	return false, nil
}

func copyFile(from, to string) error {
	if err := makeDir(filepath.Dir(to)); err != nil {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("copy a file into the image: %w", err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755) //nolint:gosec // an executable
	if err != nil {
		return fmt.Errorf("copy a file into the image: %w", err)
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// azuriteVersion is the version that hack/npm.sh installs.
const azuriteVersion = "3.37.0"

// azuriteProgram replaces the link that npm would create. It names the interpreter directly, because the
// image has no shell.
const azuriteProgram = `#!/bin/node
require("/app/node_modules/azurite/dist/src/blob/main.js");
`

// layAzurite lays out Node, its shared libraries and Azurite.
func layAzurite(ctx context.Context, to place) error {
	root := to.root
	install := exec.CommandContext(ctx, "bash", "hack/npm.sh", "azurite")
	install.Stderr = os.Stderr
	if err := install.Run(); err != nil {
		return fmt.Errorf("install Azurite: %w", err)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		return fmt.Errorf("Azurite needs Node, which is not installed: apt-get install nodejs npm (%w)", err)
	}
	if node, err = filepath.EvalSymlinks(node); err != nil {
		return fmt.Errorf("resolve the path of Node: %w", err)
	}
	if err := copyProgram(ctx, node, root, "bin/node"); err != nil {
		return err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return fmt.Errorf("find the cache directory with Azurite: %w", err)
	}
	installed := os.DirFS(filepath.Join(cache, "cooper", "stores", "azurite", "node_modules"))
	if err := os.CopyFS(filepath.Join(root, "app", "node_modules"), installed); err != nil {
		return fmt.Errorf("copy Azurite: %w", err)
	}
	return os.WriteFile(filepath.Join(root, "bin", "azurite-blob"), []byte(azuriteProgram), 0o755) //nolint:gosec // an executable
}
