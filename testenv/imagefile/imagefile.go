// SPDX-License-Identifier: Apache-2.0

// Package imagefile writes archives of container images from local files. The archives use the OCI layout,
// which containerd and registry clients read. Any version of Docker can also load an archive for a single
// architecture.
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
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// An Image is the image for one architecture. It has a single layer.
type Image struct {
	// Architecture is the GOARCH of its programs; the operating system is Linux.
	Architecture string
	// Config is the run configuration.
	Config ocispec.ImageConfig
	// Trees are the files of the layer.
	Trees []Tree
}

// A Tree is the contents of a directory, with the owner of the files.
type Tree struct {
	Dir   string
	Owner int
}

// Write writes an archive of the images. The name of the image must include a tag. The same files produce the
// same archive. Images for several architectures are listed in one index.
func Write(archive, name string, images ...Image) (err error) {
	parts, err := os.MkdirTemp("", "image-")
	if err != nil {
		return fmt.Errorf("write the image %s: %w", name, err)
	}
	defer os.RemoveAll(parts)
	if err := (layout{dir: parts}).write(name, images); err != nil {
		return fmt.Errorf("write the image %s: %w", name, err)
	}
	if err := writeTar(archive, io.Discard, func(w *tar.Writer) error { return addTree(w, parts, 0) }); err != nil {
		return fmt.Errorf("write the image %s: %w", name, err)
	}
	return nil
}

// layout is a directory in the OCI layout.
type layout struct{ dir string }

func (l layout) write(name string, images []Image) error {
	full, tag, err := fullName(name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(l.dir, ocispec.ImageBlobsDir, string(digest.SHA256)), 0o755); err != nil {
		return err
	}
	index := ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex}
	for _, i := range images {
		manifest, err := l.image(i, name, len(images) == 1)
		if err != nil {
			return err
		}
		index.Manifests = append(index.Manifests, manifest)
	}
	if len(images) > 1 {
		nested, err := l.blob(index.MediaType, index)
		if err != nil {
			return err
		}
		index.Manifests = []ocispec.Descriptor{nested}
	}
	// containerd uses the first annotation as the image's name; other tools, which know the repository, use
	// the second.
	index.Manifests[0].Annotations = map[string]string{"io.containerd.image.name": full, ocispec.AnnotationRefName: tag}
	return errors.Join(
		l.file(ocispec.ImageIndexFile, index),
		l.file(ocispec.ImageLayoutFile, ocispec.ImageLayout{Version: ocispec.ImageLayoutVersion}))
}

// fullName returns the name of an image with its registry, as containerd knows it, and its tag.
func fullName(name string) (full, tag string, err error) {
	colon := strings.LastIndex(name, ":")
	if colon < 0 || colon == len(name)-1 || strings.Contains(name[colon:], "/") {
		return "", "", fmt.Errorf("the name %q has no tag; append one, such as :dev", name)
	}
	switch first, _, hasPath := strings.Cut(name, "/"); {
	case !hasPath:
		full = "docker.io/library/" + name
	case first != "localhost" && !strings.ContainsAny(first, ".:"): // no host
		full = "docker.io/" + name
	default:
		full = name
	}
	return full, name[colon+1:], nil
}

// image writes the blobs of an image and, if forDocker is set, also a manifest for Docker versions that
// cannot read an index.
func (l layout) image(i Image, name string, forDocker bool) (ocispec.Descriptor, error) {
	layer, err := l.layer(i.Trees)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	epoch, platform := time.Unix(0, 0).UTC(), ocispec.Platform{Architecture: i.Architecture, OS: "linux"}
	config, err := l.blob(ocispec.MediaTypeImageConfig, ocispec.Image{
		Created: &epoch, Platform: platform, Config: i.Config,
		RootFS: ocispec.RootFS{Type: "layers", DiffIDs: []digest.Digest{layer.Digest}},
	})
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	if forDocker {
		if err := l.file("manifest.json", []map[string]any{
			{"Config": blobPath(config.Digest), "RepoTags": []string{name}, "Layers": []string{blobPath(layer.Digest)}},
		}); err != nil {
			return ocispec.Descriptor{}, err
		}
	}
	manifest, err := l.blob(ocispec.MediaTypeImageManifest, ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest,
		Config: config, Layers: []ocispec.Descriptor{layer},
	})
	manifest.Platform = &platform
	return manifest, err
}

// layer writes the layer of an image.
func (l layout) layer(trees []Tree) (ocispec.Descriptor, error) {
	hash, written := sha256.New(), filepath.Join(l.dir, "layer")
	if err := writeTar(written, hash, func(w *tar.Writer) error {
		for _, tree := range trees {
			if err := addTree(w, tree.Dir, tree.Owner); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return ocispec.Descriptor{}, err
	}
	info, err := os.Stat(written)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	d := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageLayer, Digest: digest.NewDigest(digest.SHA256, hash), Size: info.Size()}
	return d, os.Rename(written, filepath.Join(l.dir, blobPath(d.Digest)))
}

// blob writes a document under its digest.
func (l layout) blob(mediaType string, document any) (ocispec.Descriptor, error) {
	text, err := json.Marshal(document)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	d := ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(text), Size: int64(len(text))}
	return d, os.WriteFile(filepath.Join(l.dir, blobPath(d.Digest)), text, 0o600)
}

// file writes a document to a named file.
func (l layout) file(name string, document any) error {
	text, err := json.Marshal(document)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(l.dir, name), text, 0o600)
}

func blobPath(d digest.Digest) string {
	return filepath.Join(ocispec.ImageBlobsDir, d.Algorithm().String(), d.Encoded())
}

// writeTar writes an archive to a file and to a second writer.
func writeTar(path string, copied io.Writer, fill func(*tar.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	w := tar.NewWriter(io.MultiWriter(file, copied))
	return errors.Join(fill(w), w.Close(), file.Close())
}

// addTree adds the contents of a directory with the given owner. Timestamps are fixed, so that the same
// sources give the same layer.
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
			return fmt.Errorf("add the entry %s: %w", name, err)
		}
		header.Name = name
		header.Uid, header.Gid, header.Uname, header.Gname, header.ModTime = owner, owner, "", "", time.Unix(0, 0)
		if err := w.WriteHeader(header); err != nil {
			return fmt.Errorf("add the entry %s: %w", name, err)
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
