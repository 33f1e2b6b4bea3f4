// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/cooper-cosi/cooper/testenv/imagefile"
)

// LoadImage loads the images of an archive, as written by `make images` or docker image save, into the node.
// Pods that use them need the imagePullPolicy IfNotPresent or Never.
func (n *Node) LoadImage(ctx context.Context, archive string) error {
	file, err := os.Open(archive)
	if err != nil {
		return fmt.Errorf("open the archive of an image: %w", err)
	}
	defer file.Close()
	return n.ctr(ctx, file, "images", "import", "-")
}

// LoadImages loads the images of all archives in a directory. An empty name loads none.
func (n *Node) LoadImages(ctx context.Context, dir string) error {
	if dir == "" {
		return nil
	}
	archives, err := filepath.Glob(filepath.Join(dir, "*.tar"))
	if err != nil {
		return fmt.Errorf("find the archives of images in %s: %w", dir, err)
	}
	if len(archives) == 0 {
		return fmt.Errorf("directory %s has no archive of an image (*.tar)", dir)
	}
	for _, archive := range archives {
		if err := n.LoadImage(ctx, archive); err != nil {
			return err
		}
	}
	return nil
}

// LoadProgram loads an image with one static program. The Pod sets the user that runs it.
func (n *Node) LoadProgram(ctx context.Context, name, program string) error {
	dir, err := os.MkdirTemp("", "image-")
	if err != nil {
		return fmt.Errorf("create the image %s: %w", name, err)
	}
	defer os.RemoveAll(dir)
	content, err := os.ReadFile(program)
	if err != nil {
		return fmt.Errorf("create the image %s: %w", name, err)
	}
	files, archive := filepath.Join(dir, "files"), filepath.Join(dir, "image.tar")
	if err := os.Mkdir(files, 0o700); err != nil {
		return fmt.Errorf("create the image %s: %w", name, err)
	}
	if err := os.WriteFile(filepath.Join(files, "main"), content, 0o755); err != nil {
		return fmt.Errorf("create the image %s: %w", name, err)
	}
	if err := imagefile.Write(archive, name, imagefile.Image{
		Architecture: runtime.GOARCH, Config: ocispec.ImageConfig{Entrypoint: []string{"/main"}},
		Trees: []imagefile.Tree{{Dir: files}},
	}); err != nil {
		return err
	}
	return n.LoadImage(ctx, archive)
}

// ctr runs containerd's command-line client on the node.
func (n *Node) ctr(ctx context.Context, input io.Reader, arguments ...string) error {
	cmd := exec.CommandContext(ctx, "ctr", append([]string{"--address", socket, "--namespace", "k8s.io"}, arguments...)...)
	cmd.Stdin = input
	var output strings.Builder
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := inside(n.guard.pid, cmd.Start); err != nil {
		return fmt.Errorf("run ctr in the node: %w", err)
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("run ctr %s: %w\n%s", strings.Join(arguments, " "), err, output.String())
	}
	return nil
}
