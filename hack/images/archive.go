// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// user is whom every image runs as.
const user = 65532

// titled is what the names of labels begin with.
const titled = "org.opencontainers.image."

// build makes an image and has Docker load it under a name. The image that had the
// name before is removed, unless it has another one or a container uses it.
func (i image) build(ctx context.Context, name, arch string, common map[string]string) error {
	if version := i.labels["version"]; version != "" {
		same, err := imageIDs(ctx, "--filter=label="+titled+"version="+version, name)
		if err != nil || len(same) > 0 {
			return err
		}
	}
	dir, err := os.MkdirTemp("", "image-")
	if err != nil {
		return fmt.Errorf("directory for the files: %w", err)
	}
	defer os.RemoveAll(dir)
	files := filepath.Join(dir, "files")
	if err := i.layOut(ctx, files, arch); err != nil {
		return err
	}
	archive, err := i.write(dir, files, name, arch, common)
	if err != nil {
		return fmt.Errorf("write the image: %w", err)
	}
	before, err := imageIDs(ctx, name)
	if err != nil {
		return err
	}
	if _, err := docker(ctx, "image", "load", "--quiet", "--input", archive); err != nil {
		return err
	}
	untagged, err := imageIDs(ctx, "--filter=dangling=true")
	if err != nil || len(before) == 0 || !slices.Contains(untagged, before[0]) {
		return err
	}
	if _, err := docker(ctx, "image", "rm", before[0]); err != nil {
		progress(fmt.Sprintf("the image that was called %s before stays: %v", name, err))
	}
	return nil
}

// imageIDs returns the IDs of the images that docker image ls lists.
func imageIDs(ctx context.Context, which ...string) ([]string, error) {
	out, err := docker(ctx, append([]string{"image", "ls", "--quiet", "--no-trunc"}, which...)...)
	return strings.Fields(out), err
}

func docker(ctx context.Context, args ...string) (string, error) {
	var out, problem strings.Builder
	cmd := exec.CommandContext(ctx, "docker", args...)
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("docker %s: %w\n%s", strings.Join(args, " "), err, problem.String())
	}
	return out.String(), nil
}

// write writes the archive of an image below dir, as docker image save does, from
// the files of its only layer.
func (i image) write(dir, files, name, arch string, common map[string]string) (archive string, err error) {
	parts := filepath.Join(dir, "parts")
	if err := makeDir(parts); err != nil {
		return "", err
	}
	hash := sha256.New()
	if err := writeTar(filepath.Join(parts, "layer.tar"), hash, func(w *tar.Writer) error {
		return errors.Join(addTree(w, filepath.Join(files, "root"), 0), addTree(w, filepath.Join(files, "state"), user))
	}); err != nil {
		return "", err
	}
	config := i.config
	config.User = fmt.Sprintf("%d:%[1]d", user)
	config.Labels = map[string]string{titled + "title": i.name}
	for _, labels := range []map[string]string{common, i.labels} {
		for key, value := range labels {
			config.Labels[titled+key] = value
		}
	}
	epoch := time.Unix(0, 0).UTC()
	for file, content := range map[string]any{
		"config.json": ocispec.Image{
			Created: &epoch, Platform: ocispec.Platform{Architecture: arch, OS: "linux"}, Config: config,
			RootFS: ocispec.RootFS{Type: "layers", DiffIDs: []digest.Digest{digest.NewDigest(digest.SHA256, hash)}},
		},
		"manifest.json": []map[string]any{{"Config": "config.json", "RepoTags": []string{name}, "Layers": []string{"layer.tar"}}},
	} {
		text, err := json.Marshal(content)
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(parts, file), text, 0o600); err != nil {
			return "", err
		}
	}
	archive = filepath.Join(dir, "image.tar")
	return archive, writeTar(archive, io.Discard, func(w *tar.Writer) error { return addTree(w, parts, 0) })
}

// writeTar writes an archive to a file, and also to another writer.
func writeTar(path string, copied io.Writer, fill func(*tar.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	w := tar.NewWriter(io.MultiWriter(file, copied))
	return errors.Join(fill(w), w.Close(), file.Close())
}

// addTree adds what is below a directory, as files of an owner. Their times are
// fixed, so that the same sources give the same layer.
func addTree(w *tar.Writer, dir string, owner int) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		link := ""
		if info.Mode().Type() == fs.ModeSymlink {
			if link, err = root.Readlink(name); err != nil {
				return err
			}
		}
		header, err := tar.FileInfoHeader(info, link)
		if err != nil {
			return err
		}
		header.Name = name
		header.Uid, header.Gid, header.Uname, header.Gname, header.ModTime = owner, owner, "", "", time.Unix(0, 0)
		if err := w.WriteHeader(header); err != nil || !info.Mode().IsRegular() {
			return err
		}
		file, err := root.Open(name)
		if err != nil {
			return err
		}
		_, err = io.Copy(w, file)
		return errors.Join(err, file.Close())
	})
}
