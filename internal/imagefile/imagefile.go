// SPDX-License-Identifier: Apache-2.0

// Package imagefile writes archives of container images, as docker image save does, from files of this machine. It must
// not know what is in them, nor who loads them.
package imagefile

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// An Image is described by what is in its only layer.
type Image struct {
	// Name is the one under which it is loaded, with a tag.
	Name string
	// Architecture is that of its programs, as Go calls it; the system is Linux.
	Architecture string
	// Config is how it is run.
	Config ocispec.ImageConfig
	// Trees are the files of the layer.
	Trees []Tree
}

// A Tree is what is below a directory, as files of an owner.
type Tree struct {
	Dir   string
	Owner int
}

// Write writes the archive of an image to a file. Of the same files it is the same.
func Write(archive string, i Image) (err error) {
	parts, err := os.MkdirTemp("", "image-")
	if err != nil {
		return fmt.Errorf("image %s: %w", i.Name, err)
	}
	defer os.RemoveAll(parts)
	if err := i.write(archive, parts); err != nil {
		return fmt.Errorf("image %s: %w", i.Name, err)
	}
	return nil
}

func (i Image) write(archive, parts string) error {
	hash := sha256.New()
	if err := writeTar(filepath.Join(parts, "layer.tar"), hash, func(w *tar.Writer) error {
		for _, tree := range i.Trees {
			if err := addTree(w, tree.Dir, tree.Owner); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return err
	}
	epoch := time.Unix(0, 0).UTC()
	for file, content := range map[string]any{
		"config.json": ocispec.Image{
			Created: &epoch, Platform: ocispec.Platform{Architecture: i.Architecture, OS: "linux"}, Config: i.Config,
			RootFS: ocispec.RootFS{Type: "layers", DiffIDs: []digest.Digest{digest.NewDigest(digest.SHA256, hash)}},
		},
		"manifest.json": []map[string]any{{"Config": "config.json", "RepoTags": []string{i.Name}, "Layers": []string{"layer.tar"}}},
	} {
		text, err := json.Marshal(content)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(parts, file), text, 0o600); err != nil {
			return err
		}
	}
	return writeTar(archive, io.Discard, func(w *tar.Writer) error { return addTree(w, parts, 0) })
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
			return fmt.Errorf("entry %s: %w", name, err)
		}
		header.Name = name
		header.Uid, header.Gid, header.Uname, header.Gname, header.ModTime = owner, owner, "", "", time.Unix(0, 0)
		if err := w.WriteHeader(header); err != nil {
			return fmt.Errorf("entry %s: %w", name, err)
		}
		if !info.Mode().IsRegular() {
			return nil
		}
		file, err := root.Open(name)
		if err != nil {
			return err
		}
		_, err = io.Copy(w, file)
		return errors.Join(err, file.Close())
	})
}
