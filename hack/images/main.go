// SPDX-License-Identifier: Apache-2.0

// Command images builds the container images of Cooper with the Dockerfile in
// the root, and pulls none: it builds the programs here and lays out the files
// of each image below dist/images, from where Docker copies them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/testenv/controlplane/binaries"
)

// options are what the flags came to.
type options struct {
	repository, tag, arch string
	only, dir             string
	stage, noCache        bool
}

func main() {
	var o options
	flag.StringVar(&o.repository, "repository", "cooper", "what the names of the images begin with")
	flag.StringVar(&o.tag, "tag", "dev", "tag of the images")
	flag.StringVar(&o.arch, "arch", runtime.GOARCH, "architecture, as Go calls it; the control plane is built for this machine's alone")
	flag.StringVar(&o.only, "only", "", "images to build, separated by commas; empty means all")
	flag.StringVar(&o.dir, "dir", filepath.Join("dist", "images"), "where to lay out the files")
	flag.BoolVar(&o.stage, "stage", false, "lay out the files and leave Docker alone")
	flag.BoolVar(&o.noCache, "no-cache", false, "let Docker make every layer again")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := o.run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "images:", err)
		os.Exit(1)
	}
}

func (o options) run(ctx context.Context) error {
	wanted, err := o.wanted()
	if err != nil {
		return err
	}
	l := layout{dir: o.dir, arch: o.arch}
	for _, i := range wanted {
		if err := l.lay(ctx, i); err != nil {
			return fmt.Errorf("image %s: %w", i.name, err)
		}
	}
	if o.stage {
		return nil
	}
	labels, err := labels(ctx)
	if err != nil {
		return err
	}
	for _, i := range wanted {
		name := o.repository + "/" + i.name + ":" + o.tag
		if err := o.build(ctx, i, name, l.of(i), labels); err != nil {
			return err
		}
		fmt.Println(name)
	}
	return nil
}

// wanted are the images that the flags name.
func (o options) wanted() ([]image, error) {
	if o.arch != runtime.GOARCH && o.only == "" {
		return nil, fmt.Errorf("the control plane cannot be built for %s here: name the images that you want with -only", o.arch)
	}
	if o.only == "" {
		return images(), nil
	}
	var found []image
	for name := range strings.SplitSeq(o.only, ",") {
		at := slices.IndexFunc(images(), func(i image) bool { return i.name == name })
		if at < 0 {
			return nil, fmt.Errorf("there is no image %q", name)
		}
		found = append(found, images()[at])
	}
	return found, nil
}

// build runs docker build. The classic builder is asked for: it is everywhere,
// and it stops at the target, before the stages that pull images.
func (o options) build(ctx context.Context, i image, name, files string, labels []string) error {
	args := []string{"build", "--quiet", "--file", "Dockerfile", "--target", i.name, "--tag", name, "--platform", "linux/" + o.arch}
	if o.noCache {
		args = append(args, "--no-cache")
	}
	for _, label := range append(labels, "org.opencontainers.image.title="+i.name) {
		args = append(args, "--label", label)
	}
	cmd := exec.CommandContext(ctx, "docker", append(args, files)...)
	cmd.Env = append(os.Environ(), "DOCKER_BUILDKIT=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("docker build of %s: %w\n%s", name, err, out)
	}
	return nil
}

// labels describe where an image comes from.
func labels(ctx context.Context) ([]string, error) {
	found := []string{
		"org.opencontainers.image.licenses=Apache-2.0", "org.opencontainers.image.vendor=Cooper",
		"org.opencontainers.image.source=https://github.com/cooper-cosi/cooper",
	}
	revision, err := exec.CommandContext(ctx, "git", "rev-parse", "HEAD").Output()
	if _, failed := errors.AsType[*exec.ExitError](err); failed {
		return found, nil // sources without a history, such as an archive
	}
	if err != nil {
		return nil, fmt.Errorf("git: %w", err)
	}
	return append(found, "org.opencontainers.image.revision="+strings.TrimSpace(string(revision))), nil
}

// programs of Kubernetes in the image of the control plane.
func controlPlanePrograms(ctx context.Context) ([]string, error) {
	b, err := binaries.Find(ctx, binaries.Options{Own: true, Progress: os.Stderr})
	if err != nil {
		return nil, err
	}
	return []string{b.APIServer, b.Etcd, b.ControllerManager, b.Kubectl}, nil
}
