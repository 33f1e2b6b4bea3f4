// SPDX-License-Identifier: Apache-2.0

package containers

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
)

// An Image is a container image with its possible names.
type Image struct {
	// Variable is the environment variable that overrides the image.
	Variable string
	// Build is the command that builds the image.
	Build string

	// built is the name of the image when built on this machine.
	built string
	// published is its name in a registry, or empty if it is not published.
	published string
}

// Ours returns an image of Cooper, such as cosi-sidecar. COOPER_REPOSITORY and COOPER_TAG select another one,
// as for compose.yaml.
func Ours(name string) Image {
	return Image{Variable: "COOPER_REPOSITORY and COOPER_TAG", Build: "make images", built: ourName(name)}
}

func ourName(name string) string {
	return cmp.Or(os.Getenv("COOPER_REPOSITORY"), "cooper") + "/" + name + ":" + cmp.Or(os.Getenv("COOPER_TAG"), "dev")
}

// MinIOImage returns the image of the MinIO server.
func MinIOImage() Image {
	return third("COOPER_MINIO_IMAGE", "minio", "minio/minio:RELEASE.2025-09-07T16-13-09Z")
}

// VersityGWImage returns the image of Versity's S3 gateway.
func VersityGWImage() Image {
	return third("COOPER_VERSITYGW_IMAGE", "versitygw", "versity/versitygw:v1.8.0")
}

// AzuriteImage returns the image of Microsoft's Azure Storage emulator.
func AzuriteImage() Image {
	return third("COOPER_AZURITE_IMAGE", "azurite", "mcr.microsoft.com/azure-storage/azurite:3.37.0")
}

// FakeGCSServerImage returns the image of fake-gcs-server, a Cloud Storage emulator without accounts.
func FakeGCSServerImage() Image {
	return third("COOPER_FAKE_GCS_IMAGE", "fake-gcs-server", "fsouza/fake-gcs-server:1.56.1")
}

func third(variable, name, published string) Image {
	return Image{Variable: variable, Build: "make store-images", built: "cooper-stores/" + name + ":dev", published: published}
}

// Name returns the name of the image in Docker on this machine. It skips the test if the image is not
// available.
func Name(tb testing.TB, i Image) string {
	tb.Helper()
	return need(tb).needImage(tb, i)
}

// needImage returns the name of an image on this machine, or ends the test with a message that says how to
// get the image.
func (e *engine) needImage(tb testing.TB, i Image) string {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), pullTimeout)
	defer cancel()
	name, err := e.find(ctx, i)
	if err != nil {
		absent(tb, "%v; build the image with `%s`, or set %s to another image", err, i.Build, i.Variable)
	}
	return name
}

// find returns the first name of an image that exists on this machine. If none exists, it pulls the published
// one.
func (e *engine) find(ctx context.Context, i Image) (string, error) {
	names := []string{i.built, i.published}
	if named := os.Getenv(i.Variable); named != "" {
		names = []string{named}
	}
	last := ""
	for _, name := range names {
		if name == "" {
			continue
		}
		_, err := e.client.ImageInspect(ctx, name)
		switch {
		case err == nil:
			return name, nil
		case !errdefs.IsNotFound(err):
			return "", fmt.Errorf("look for the image %s: %w", name, err)
		}
		last = name
	}
	if last == i.built && i.published == "" {
		return "", fmt.Errorf("the image %s does not exist", last)
	}
	if err := e.pull(ctx, last); err != nil {
		return "", fmt.Errorf("the image %s does not exist locally, and pulling it failed (%w)", last, err)
	}
	return last, nil
}

func (e *engine) pull(ctx context.Context, name string) error {
	response, err := e.client.ImagePull(ctx, name, client.ImagePullOptions{})
	if err != nil {
		return fmt.Errorf("pull: %w", err)
	}
	if err := response.Wait(ctx); err != nil {
		return fmt.Errorf("pull: %w", err)
	}
	return nil
}

// Tag gives an image on this machine another name until the end of the test, and returns the name.
func Tag(tb testing.TB, image, name string) string {
	tb.Helper()
	e := need(tb)
	if _, err := e.client.ImageTag(tb.Context(), client.ImageTagOptions{Source: image, Target: name}); err != nil {
		tb.Fatalf("tag image %s as %s: %v", image, name, err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
		defer cancel()
		if _, err := e.client.ImageRemove(ctx, name, client.ImageRemoveOptions{}); err != nil {
			tb.Errorf("remove the name %s of an image: %v", name, err)
		}
	})
	return name
}
