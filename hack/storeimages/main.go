// SPDX-License-Identifier: Apache-2.0

// Command storeimages builds images of the stores that the tests with containers
// use, for machines that reach no registry: MinIO, versitygw and fake-gcs-server
// from their Go modules, Azurite from its package of npm with the Node of this
// machine. It lays out their files below dist/store-images and names the images
// cooper-stores/NAME:dev, which is where testenv/containers looks first. It prints
// a line VARIABLE=image for each, which tells compose.yaml.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/testenv/stores"
)

func main() {
	only := flag.String("only", "", "images to build, separated by commas; empty means all")
	anew := flag.Bool("anew", false, "build also what is there in this version")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *only, *anew)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "storeimages:", err)
		os.Exit(1)
	}
}

// An image is one target of the Dockerfile.
type image struct {
	name string
	// variable is the one by which tests and compose.yaml are told an image.
	variable string
	// lay puts its files below a directory.
	lay func(ctx context.Context, root string) error
	// state are directories that belong to the user the image runs as.
	state []string
	// version and source are labels.
	version, source string
}

func images() []image {
	azurite := image{name: "azurite", variable: "COOPER_AZURITE_IMAGE", lay: layAzurite, state: []string{"data"}, version: azuriteVersion, source: "https://www.npmjs.com/package/azurite"}
	return []image{
		fromModule("minio", "COOPER_MINIO_IMAGE", stores.MinIO(), "data"), fromModule("versitygw", "COOPER_VERSITYGW_IMAGE", stores.VersityGW(), "data", "iam"),
		fromModule("fake-gcs-server", "COOPER_FAKE_GCS_IMAGE", stores.FakeGCSServer(), "storage"), azurite,
	}
}

// fromModule is the image of a program from a Go module.
func fromModule(name, variable string, store stores.Store, state ...string) image {
	return image{name: name, variable: variable, state: state, version: store.Version, source: "https://pkg.go.dev/" + store.Package, lay: func(ctx context.Context, root string) error {
		program, err := store.Build(ctx, func(line string) { fmt.Fprintln(os.Stderr, line) })
		if err != nil {
			return err
		}
		return layProgram(ctx, program, root, store.Name())
	}}
}

func run(ctx context.Context, only string, anew bool) error {
	wanted := images()
	if only != "" {
		names := strings.Split(only, ",")
		wanted = slices.DeleteFunc(wanted, func(i image) bool { return !slices.Contains(names, i.name) })
		if len(wanted) != len(names) {
			return fmt.Errorf("-only %s: there are minio, versitygw, fake-gcs-server and azurite", only)
		}
	}
	for _, i := range wanted {
		if anew || !i.built(ctx) {
			if err := i.build(ctx, filepath.Join("dist", "store-images", i.name)); err != nil {
				return fmt.Errorf("image %s: %w", i.name, err)
			}
		}
		fmt.Println(i.variable + "=" + i.tag())
	}
	return nil
}

func (i image) tag() string { return "cooper-stores/" + i.name + ":dev" }

// built reports whether Docker has the image in this version.
func (i image) built(ctx context.Context) bool {
	const version = `{{index .Config.Labels "org.opencontainers.image.version"}}`
	out, err := exec.CommandContext(ctx, "docker", "image", "inspect", "--format", version, i.tag()).Output()
	return err == nil && strings.TrimSpace(string(out)) == i.version
}

// build lays out the files of an image in a directory and runs docker build, with
// the classic builder, which is everywhere.
func (i image) build(ctx context.Context, dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("clear what was built before: %w", err)
	}
	root := filepath.Join(dir, "root")
	for _, d := range i.state {
		if err := makeDir(filepath.Join(dir, "state", d)); err != nil {
			return err
		}
	}
	if err := makeDir(filepath.Join(root, "tmp")); err != nil {
		return err
	}
	if err := os.Chmod(filepath.Join(root, "tmp"), 0o777|fs.ModeSticky); err != nil {
		return fmt.Errorf("lay out the image: %w", err)
	}
	if err := i.lay(ctx, root); err != nil {
		return err
	}
	name := i.tag()
	cmd := exec.CommandContext(ctx, "docker", "build", "--quiet", "--file", "hack/storeimages/Dockerfile", "--target", i.name, "--tag", name,
		"--label", "org.opencontainers.image.version="+i.version, "--label", "org.opencontainers.image.source="+i.source, dir)
	cmd.Env = append(os.Environ(), "DOCKER_BUILDKIT=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("docker build of %s: %w\n%s", name, err, out)
	}
	return os.RemoveAll(dir) // hundreds of megabytes, which the image holds now
}

func makeDir(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // readable by whom the image runs as
		return fmt.Errorf("lay out the image: %w", err)
	}
	return nil
}

func copyFile(from, to string) error {
	if err := makeDir(filepath.Dir(to)); err != nil {
		return err
	}
	content, err := os.ReadFile(from)
	if err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	if err := os.WriteFile(to, content, 0o755); err != nil { //nolint:gosec // a program
		return fmt.Errorf("copy: %w", err)
	}
	return nil
}

var errNoNode = errors.New("there is no Node on this machine, which Azurite needs: apt-get install nodejs npm")
