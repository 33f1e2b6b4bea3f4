// SPDX-License-Identifier: Apache-2.0

// Command images builds the container images of Cooper. With -stores, it builds the images of third-party
// stores for tests with containers. It builds the programs of an image or copies them from this machine. An
// image has a single layer with only these programs. Docker only loads the image, and no registry is needed.
// The same sources produce the same image. A previous image with the same name is removed.
//
// For each image it prints a line with the image's name. With -stores, the lines have the form VARIABLE=name
// for compose.yaml.
package main

import (
	"cmp"
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

	"github.com/cooper-cosi/cooper/testenv/gobuild"
)

// options are the values of the flags, with the progress display.
type options struct {
	repository, tag, arch, only, archives string
	stores, client, stage                 bool
	progress                              *gobuild.Progress
}

func main() {
	o := options{progress: gobuild.NewProgress(os.Stderr)}
	flag.BoolVar(&o.stores, "stores", false, "build the images of third-party stores")
	flag.StringVar(&o.repository, "repository", "", `prefix of the image names (default "cooper", "cooper-stores" of stores)`)
	flag.StringVar(&o.tag, "tag", "dev", "tag of the images")
	flag.StringVar(&o.arch, "arch", runtime.GOARCH, "Go architecture; with -archives, a comma-separated list, which limits the build to images of Cooper's programs")
	flag.StringVar(&o.only, "only", "", "comma-separated images to build; empty means all")
	flag.StringVar(&o.archives, "archives", "", "directory for a file of each image, instead of loading them into Docker")
	flag.BoolVar(&o.client, "client", false, "also build the images of the test clients for clusters")
	flag.BoolVar(&o.stage, "stage", false, "only create the files below dist/images for the Dockerfile, without Docker")
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
	if o.stage {
		for _, i := range wanted {
			if err := i.layOut(ctx, filepath.Join("dist", "images", i.name), o.arch, o.progress); err != nil {
				return fmt.Errorf("build image %s: %w", i.name, err)
			}
		}
		return nil
	}
	common, err := commonLabels(ctx)
	if err != nil {
		return err
	}
	repository := cmp.Or(o.repository, "cooper")
	if o.stores {
		common, repository = nil, cmp.Or(o.repository, "cooper-stores")
	}
	for _, i := range wanted {
		name := repository + "/" + i.name + ":" + o.tag
		if err := i.build(ctx, o, name, common); err != nil {
			return fmt.Errorf("build image %s: %w", i.name, err)
		}
		if i.variable != "" {
			name = i.variable + "=" + name
		}
		fmt.Println(name)
	}
	return nil
}

// wanted returns the images selected by the flags.
func (o options) wanted() ([]image, error) {
	all := ours()
	if o.stores {
		all = others()
	}
	if o.client {
		all = append(all, clients()...)
	}
	found := all
	if len(o.architectures()) > 1 {
		if o.archives == "" {
			return nil, errors.New("images of several architectures require -archives")
		}
		found = slices.DeleteFunc(slices.Clone(all), func(i image) bool { return i.native })
	}
	if o.only != "" {
		found = nil
		for name := range strings.SplitSeq(o.only, ",") {
			at := slices.IndexFunc(all, func(i image) bool { return i.name == name })
			if at < 0 {
				return nil, fmt.Errorf("image %q of flag -only does not exist", name)
			}
			found = append(found, all[at])
		}
	}
	if fixed := slices.IndexFunc(found, func(i image) bool { return i.native }); fixed >= 0 && o.arch != runtime.GOARCH {
		return nil, fmt.Errorf("image %s cannot be built for %s on this machine: select other images with -only", found[fixed].name, o.arch)
	}
	return found, nil
}

func (o options) architectures() []string { return strings.Split(o.arch, ",") }

// commonLabels returns the labels that describe the source of Cooper's images.
func commonLabels(ctx context.Context) (map[string]string, error) {
	found := map[string]string{"licenses": "Apache-2.0", "vendor": "Cooper", "source": "https://github.com/cooper-cosi/cooper"}
	revision, err := exec.CommandContext(ctx, "git", "rev-parse", "HEAD").Output()
	if _, failed := errors.AsType[*exec.ExitError](err); failed {
		return found, nil // no git history, for example in a source archive
	}
	if err != nil {
		return nil, fmt.Errorf("run git: %w", err)
	}
	found["revision"] = strings.TrimSpace(string(revision))
	return found, nil
}
