// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/cooper-cosi/cooper/testenv/controlplane/binaries"
	"github.com/cooper-cosi/cooper/testenv/gobuild"
	"github.com/cooper-cosi/cooper/testenv/stores"
)

// An image is defined by its contents.
type image struct {
	name string
	// variable is the environment variable with the name of a store's image for tests and compose.yaml.
	variable string
	// lay copies the image's files into place.
	lay func(ctx context.Context, to place) error
	// native means that its programs are copied from this machine.
	native bool
	// state are directories owned by the image's user. An empty volume that is mounted there inherits the
	// owner.
	state []string
	// config is the run configuration.
	config ocispec.ImageConfig
	// labels are the labels of this image only. An image is not rebuilt if Docker already has its version.
	labels map[string]string
}

// place is the target of an image's files, with the architecture and the progress display.
type place struct {
	root, arch string
	progress   *gobuild.Progress
}

// ours returns the images of Cooper, which are the same as in the Dockerfile.
func ours() []image {
	sockets := "var/lib/cosi"
	return []image{
		command("cosi-controller"),
		command("cosi-sidecar", sockets),
		command("cosi-obc"),
		command("cosi-driver-s3", sockets, "data"),
		command("cosi-driver-azure", sockets),
		command("cosi-driver-gcs", sockets, "data"),
		command("cosi-driver-static", sockets, "data"),
		command("cosi-driver-adapter", sockets, "var/lib/vendor", "data"),
		withLinks(command("cooper", "data", "keys"), "azurite", "azurite-blob", "fake-gcs-server", "localstack", "minio"),
		command("cosi-sanity", sockets),
		{
			name: "control-plane", lay: layControlPlane, native: true, state: []string{"data", "kube"},
			config: ocispec.ImageConfig{
				Env:        []string{"PATH=/usr/local/bin", "KUBEBUILDER_ASSETS=/usr/local/bin", "KUBECONFIG=/kube/admin.kubeconfig"},
				Entrypoint: []string{"/cooper"}, Cmd: []string{"control-plane"},
			},
		},
	}
}

// command returns the image of one of Cooper's commands.
func command(name string, state ...string) image {
	return image{
		name: name, state: state, config: ocispec.ImageConfig{Entrypoint: []string{"/" + name}},
		lay: func(ctx context.Context, to place) error { return to.compile(ctx, ".", "./cmd/"+name) },
	}
}

// withLinks adds links to the program in /bin, under the names of programs that it replaces. The official modules of
// testcontainers start some of these by name.
func withLinks(i image, names ...string) image {
	lay := i.lay
	i.lay = func(ctx context.Context, to place) error {
		if err := makeDir(filepath.Join(to.root, "bin")); err != nil {
			return err
		}
		for _, name := range names {
			if err := os.Symlink("../"+i.name, filepath.Join(to.root, "bin", name)); err != nil {
				return fmt.Errorf("link the program of image %s: %w", i.name, err)
			}
		}
		return lay(ctx, to)
	}
	return i
}

// clients returns the images of the workloads in tests on clusters. They are not published.
func clients() []image {
	return []image{client("e2e-client"), client("e2e-identity")}
}

func client(name string) image {
	return image{
		name: name, config: ocispec.ImageConfig{Entrypoint: []string{"/" + name}},
		lay: func(ctx context.Context, to place) error { return to.compile(ctx, "e2e", "./cluster/"+name) },
	}
}

// compile builds a program of the module in a directory.
func (p place) compile(ctx context.Context, module, program string) error {
	name := path.Base(program)
	output, err := filepath.Abs(filepath.Join(p.root, name))
	if err != nil {
		return fmt.Errorf("build the program of image %s: %w", name, err)
	}
	return gobuild.Command{
		Name: "image of " + name, Dir: module, Packages: []string{program}, Output: output, LinkFlags: "-buildid=", Platform: "linux/" + p.arch,
	}.Run(ctx, p.progress)
}

func layControlPlane(ctx context.Context, to place) error {
	if err := to.compile(ctx, ".", "./cmd/cooper"); err != nil {
		return err
	}
	b, err := binaries.Find(ctx, binaries.Options{Own: true, Progress: to.progress})
	if err != nil {
		return err
	}
	for _, program := range []string{b.APIServer, b.Etcd, b.ControllerManager, b.Kubectl} {
		if err := copyProgram(ctx, program, to.root, filepath.Join("usr", "local", "bin", filepath.Base(program))); err != nil {
			return err
		}
	}
	return nil
}

// others returns the images of third-party stores. They accept the same arguments as the official images.
func others() []image {
	return []image{
		fromModule("minio", "COOPER_MINIO_IMAGE", stores.MinIO(), "9000", "data"),
		fromModule("versitygw", "COOPER_VERSITYGW_IMAGE", stores.VersityGW(), "7070", "data", "iam"),
		fromModule("fake-gcs-server", "COOPER_FAKE_GCS_IMAGE", stores.FakeGCSServer(), "4443", "storage"),
		{
			name: "azurite", variable: "COOPER_AZURITE_IMAGE", lay: layAzurite, native: true, state: []string{"data"},
			config: ocispec.ImageConfig{
				Env: []string{"PATH=/bin", "HOME=/data"}, WorkingDir: "/data", ExposedPorts: port("10000"),
				Cmd: []string{"azurite-blob", "--blobHost", "0.0.0.0"},
			},
			labels: map[string]string{"version": azuriteVersion, "source": "https://www.npmjs.com/package/azurite"},
		},
	}
}

// fromModule returns the image of a program from a Go module.
func fromModule(name, variable string, store stores.Store, listens string, state ...string) image {
	return image{
		name: name, variable: variable, state: state, native: true,
		config: ocispec.ImageConfig{Entrypoint: []string{"/" + store.Name()}, ExposedPorts: port(listens)},
		labels: map[string]string{"version": store.Version, "source": "https://pkg.go.dev/" + store.Package},
		lay: func(ctx context.Context, to place) error {
			program, err := store.Build(ctx, to.progress)
			if err != nil {
				return err
			}
			return copyProgram(ctx, program, to.root, store.Name())
		},
	}
}

func port(number string) map[string]struct{} { return map[string]struct{}{number + "/tcp": {}} }
