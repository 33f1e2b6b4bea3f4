// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/testenv/imagefile"
)

// user is the user ID that every image runs as.
const user = 65532

// titled is the prefix of the label names.
const titled = "org.opencontainers.image."

// build builds an image and loads it into Docker under a name. It removes the image that had the name before,
// unless that has another name or a container uses it. If a directory for archives is set, it writes a file
// instead of using Docker.
func (i image) build(ctx context.Context, o options, name string, common map[string]string) error {
	if version := i.labels["version"]; version != "" && o.archives == "" {
		same, err := imageIDs(ctx, "--filter=label="+titled+"version="+version, name)
		if err != nil || len(same) > 0 {
			return err
		}
	}
	dir, err := os.MkdirTemp("", "image-")
	if err != nil {
		return fmt.Errorf("create a directory for the files: %w", err)
	}
	defer os.RemoveAll(dir)
	files := filepath.Join(dir, "files")
	for _, arch := range o.architectures() {
		if err := i.layOut(ctx, filepath.Join(files, arch), arch, o.progress); err != nil {
			return err
		}
	}
	archive := filepath.Join(dir, "image.tar")
	if o.archives != "" {
		if err := makeDir(o.archives); err != nil {
			return err
		}
		archive = filepath.Join(o.archives, i.name+".tar")
	}
	if err := i.write(archive, files, name, o.architectures(), common); err != nil || o.archives != "" {
		return err
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
		o.progress.Say("the previous image with the name %s was not deleted: %v", name, err)
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

// write writes the archive of an image to a file. Each architecture has one layer, made of its files.
func (i image) write(archive, files, name string, architectures []string, common map[string]string) error {
	config := i.config
	config.User = fmt.Sprintf("%d:%[1]d", user)
	config.Labels = map[string]string{titled + "title": i.name}
	for _, labels := range []map[string]string{common, i.labels} {
		for key, value := range labels {
			config.Labels[titled+key] = value
		}
	}
	var images []imagefile.Image
	for _, arch := range architectures {
		images = append(images, imagefile.Image{
			Architecture: arch, Config: config,
			Trees: []imagefile.Tree{{Dir: filepath.Join(files, arch, "root")}, {Dir: filepath.Join(files, arch, "state"), Owner: user}},
		})
	}
	return imagefile.Write(archive, name, images...)
}
