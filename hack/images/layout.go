// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// An image is one target of the Dockerfile.
type image struct {
	name string
	// program is the command of ours in it.
	program string
	// controlPlane adds the programs of the control plane.
	controlPlane bool
	// state are directories that belong to the user the image runs as. An empty
	// volume mounted there takes over the owner.
	state []string
}

// images are all of them, in the order of the Dockerfile.
func images() []image {
	sockets := "var/lib/cosi"
	return []image{
		{name: "cosi-controller", program: "cosi-controller"},
		{name: "cosi-sidecar", program: "cosi-sidecar", state: []string{sockets}},
		{name: "cosi-driver-s3", program: "cosi-driver-s3", state: []string{sockets, "data"}},
		{name: "cosi-driver-azure", program: "cosi-driver-azure", state: []string{sockets}},
		{name: "cosi-driver-gcs", program: "cosi-driver-gcs", state: []string{sockets, "data"}},
		{name: "cooper", program: "cooper", state: []string{"data", "keys"}},
		{name: "cosi-sanity", program: "cosi-sanity", state: []string{sockets}},
		{name: "control-plane", program: "cooper", controlPlane: true, state: []string{"data", "kube"}},
	}
}

// layout lays out the files of images below a directory: root/ for what belongs
// to root, state/ for what belongs to the user that the image runs as.
type layout struct {
	dir, arch string
}

func (l layout) of(i image) string { return filepath.Join(l.dir, i.name) }

// lay makes the directory of one image from scratch. Times of files are fixed, so that
// the same sources give the same layers.
func (l layout) lay(ctx context.Context, i image) error {
	dir := l.of(i)
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("clear what was built before: %w", err)
	}
	root := filepath.Join(dir, "root")
	for _, d := range append([]string{filepath.Join("root", "tmp"), "state"}, prefixed("state", i.state)...) {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil { //nolint:gosec // readable by whom the image runs as
			return fmt.Errorf("lay out the image: %w", err)
		}
	}
	if err := os.Chmod(filepath.Join(root, "tmp"), 0o777|fs.ModeSticky); err != nil {
		return fmt.Errorf("lay out the image: %w", err)
	}
	if err := l.compile(ctx, i.program, filepath.Join(root, i.program)); err != nil {
		return err
	}
	if i.controlPlane {
		programs, err := controlPlanePrograms(ctx)
		if err != nil {
			return err
		}
		for _, program := range programs {
			if err := copyFile(program, filepath.Join(root, "usr", "local", "bin", filepath.Base(program))); err != nil {
				return err
			}
		}
	}
	return fixTimes(dir)
}

func prefixed(prefix string, paths []string) []string {
	out := make([]string, 0, len(paths))
	for _, p := range paths {
		out = append(out, filepath.Join(prefix, p))
	}
	return out
}

// compile builds a command of ours, static and without traces of this machine.
func (l layout) compile(ctx context.Context, program, to string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w -buildid=", "-o", to, "./cmd/"+program)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+l.arch)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

func copyFile(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil { //nolint:gosec // readable by whom the image runs as
		return fmt.Errorf("copy: %w", err)
	}
	in, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755) //nolint:gosec // a program
	if err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	if _, err := io.Copy(out, in); err != nil {
		_ = out.Close()
		return fmt.Errorf("copy %s: %w", from, err)
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("copy %s: %w", from, err)
	}
	return nil
}

// fixTimes gives all files one time.
func fixTimes(dir string) error {
	epoch := time.Unix(0, 0)
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, epoch, epoch) //nolint:gosec // we have just made all that is in it
	})
}
