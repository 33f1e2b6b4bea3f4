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
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// TestDockerfileBuildsTheSameImages compares the Dockerfile, which Docker builds
// from where there is a registry, with what we build.
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

// TestArchive writes an image twice, and looks into what docker image load is given.
func TestArchive(t *testing.T) {
	t.Parallel()
	made := image{
		name: "made", state: []string{"var/data"}, config: ocispec.ImageConfig{Entrypoint: []string{"/program"}},
		lay: func(_ context.Context, to place) error {
			return errors.Join(os.WriteFile(filepath.Join(to.root, "program"), []byte(to.arch), 0o600), os.Symlink("program", filepath.Join(to.root, "link")))
		},
	}
	write := func() []byte {
		dir := t.TempDir()
		files := filepath.Join(dir, "files")
		if err := made.layOut(t.Context(), files, "arm64", nil); err != nil {
			t.Fatal(err)
		}
		archive := filepath.Join(dir, "made.tar")
		if err := made.write(archive, files, "repository/made:dev", "arm64", map[string]string{"vendor": "us"}); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(archive)
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	first, _ := untar(t, write())
	second, _ := untar(t, write())
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("the same files give another image (-first +second):\n%s", diff)
	}
	var config ocispec.Image
	if err := json.Unmarshal([]byte(first["config.json"]), &config); err != nil {
		t.Fatal(err)
	}
	if got := config.Config; config.Architecture != "arm64" || got.User != "65532:65532" || got.Labels[titled+"vendor"] != "us" || got.Labels[titled+"title"] != "made" {
		t.Errorf("configuration: %+v", config)
	}
	_, owners := untar(t, []byte(first["layer.tar"]))
	if diff := cmp.Diff(map[string]int{"link": 0, "program": 0, "tmp": 0, "var": user, "var/data": user}, owners); diff != "" {
		t.Errorf("owners (-want +got):\n%s", diff)
	}
}

// untar returns contents and owners of the files of an archive.
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
