// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// TestDockerfileBuildsTheSameImages compares the images of this command with those in the Dockerfile, which
// requires a registry.
func TestDockerfileBuildsTheSameImages(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	quoted := func(list []string) string { return `["` + strings.Join(list, `", "`) + `"]` }
	_, have, _ := strings.Cut(string(text), "\n\nFROM scratch")
	var want strings.Builder
	for _, i := range ours() {
		fmt.Fprintf(&want, "\n\nFROM scratch AS source-%s\nCOPY --from=build /src/dist/images/%[1]s/root/ /\n"+
			"COPY --from=build --chown=%[2]d:%[2]d /src/dist/images/%[1]s/state/ /\nUSER %[2]d:%[2]d", i.name, user)
		if len(i.config.Env) > 0 {
			want.WriteString("\nENV " + strings.Join(i.config.Env, " "))
		}
		want.WriteString("\nENTRYPOINT " + quoted(i.config.Entrypoint))
		if len(i.config.Cmd) > 0 {
			want.WriteString("\nCMD " + quoted(i.config.Cmd))
		}
	}
	if diff := cmp.Diff(want.String()+"\n", "\n\nFROM scratch"+have); diff != "" {
		t.Errorf("-hack/images +Dockerfile:\n%s", diff)
	}
}

// TestArchive writes an image twice, and checks the archive for docker image load and registries.
func TestArchive(t *testing.T) {
	t.Parallel()
	made := image{
		name: "made", state: []string{"var/data"}, config: ocispec.ImageConfig{Entrypoint: []string{"/program"}},
		lay: func(_ context.Context, to place) error {
			return errors.Join(os.WriteFile(filepath.Join(to.root, "program"), []byte(to.arch), 0o600), os.Symlink("program", filepath.Join(to.root, "link")))
		},
	}
	for name, architectures := range map[string][]string{"of one architecture": {"arm64"}, "of two": {"amd64", "arm64"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			write := func() map[string]string {
				dir := t.TempDir()
				files, archive := filepath.Join(dir, "files"), filepath.Join(dir, "made.tar")
				for _, arch := range architectures {
					if err := made.layOut(t.Context(), filepath.Join(files, arch), arch, nil); err != nil {
						t.Fatal(err)
					}
				}
				if err := made.write(archive, files, "repository/made:dev", architectures, map[string]string{"vendor": "us"}); err != nil {
					t.Fatal(err)
				}
				content, err := os.ReadFile(archive)
				if err != nil {
					t.Fatal(err)
				}
				contents, _ := untar(t, content)
				return contents
			}
			archive := write()
			if diff := cmp.Diff(archive, write()); diff != "" {
				t.Errorf("the same files give another image (-first +second):\n%s", diff)
			}
			inspect(t, archive, architectures)
		})
	}
}

// inspect reads an archive both as an OCI layout and as Docker does.
func inspect(t *testing.T, archive map[string]string, architectures []string) {
	t.Helper()
	var index ocispec.Index
	decode(t, archive["index.json"], &index)
	if got := index.Manifests[0].Annotations; got["io.containerd.image.name"] != "docker.io/repository/made:dev" || got[ocispec.AnnotationRefName] != "dev" {
		t.Errorf("names: %v", got)
	}
	if len(architectures) > 1 {
		decode(t, blob(t, archive, index.Manifests[0]), &index)
	}
	var found []string
	for _, described := range index.Manifests {
		var manifest ocispec.Manifest
		decode(t, blob(t, archive, described), &manifest)
		var config ocispec.Image
		decode(t, blob(t, archive, manifest.Config), &config)
		found = append(found, described.Platform.Architecture)
		if got := config.Config; config.Architecture != described.Platform.Architecture || got.User != "65532:65532" || got.Labels[titled+"vendor"] != "us" || got.Labels[titled+"title"] != "made" {
			t.Errorf("configuration: %+v", config)
		}
		files, owners := untar(t, []byte(blob(t, archive, manifest.Layers[0])))
		if diff := cmp.Diff(map[string]int{"link": 0, "program": 0, "tmp": 0, "var": user, "var/data": user}, owners); diff != "" {
			t.Errorf("owners (-want +got):\n%s", diff)
		}
		if files["program"] != config.Architecture {
			t.Errorf("on %s there is the program for %s", config.Architecture, files["program"])
		}
		var docker []struct {
			Config           string   `json:"Config"`
			RepoTags, Layers []string //nolint:tagliatelle // names of Docker's format
		}
		if len(architectures) == 1 {
			decode(t, archive["manifest.json"], &docker)
			if archive[docker[0].Config] != blob(t, archive, manifest.Config) || archive[docker[0].Layers[0]] != blob(t, archive, manifest.Layers[0]) || docker[0].RepoTags[0] != "repository/made:dev" {
				t.Errorf("Docker finds another image: %+v", docker)
			}
		}
	}
	if diff := cmp.Diff(architectures, found); diff != "" {
		t.Errorf("architectures (-want +got):\n%s", diff)
	}
}

// blob returns the contents of a descriptor after checking the digest.
func blob(t *testing.T, archive map[string]string, d ocispec.Descriptor) string {
	t.Helper()
	content := archive["blobs/sha256/"+d.Digest.Encoded()]
	if digest.FromString(content) != d.Digest || int64(len(content)) != d.Size {
		t.Fatalf("%+v does not match the content of %d bytes", d, len(content))
	}
	return content
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
}

// untar returns the contents and owners of the files in an archive.
func untar(t *testing.T, archive []byte) (contents map[string]string, owners map[string]int) {
	t.Helper()
	contents, owners = map[string]string{}, map[string]int{}
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return contents, owners
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		contents[header.Name], owners[header.Name] = string(content), header.Uid
	}
}
