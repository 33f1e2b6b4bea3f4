// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cooper-cosi/cooper/testenv/controlplane/binaries"
	"github.com/cooper-cosi/cooper/testenv/gobuild"
)

// A program is a program for one platform.
type program struct {
	name, platform string
	// file is its file name in the release.
	file string
	info *buildinfo.BuildInfo
}

// run runs a command in the clone. The user's environment does not affect the result.
func (r *release) run(ctx context.Context, environment []string, name string, args ...string) (string, error) {
	fixed, err := gobuild.Environment(ctx, "go", r.source.directory, "")
	if err != nil {
		return "", err
	}
	return output(ctx, r.source.directory, append(append(fixed, "TZ=UTC", "LC_ALL=C"), environment...), name, args...)
}

// buildPrograms statically builds all programs of cmd/ for each platform, and checks the version that each
// reports.
func (r *release) buildPrograms(ctx context.Context) error {
	list, err := r.run(ctx, nil, "go", "list", "-f", `{{if eq .Name "main"}}{{.ImportPath}}{{end}}`, "./cmd/...")
	if err != nil {
		return err
	}
	packages := slices.DeleteFunc(strings.Fields(list), func(p string) bool { return len(r.only) > 0 && !slices.Contains(r.only, path.Base(p)) })
	for _, platform := range r.platforms {
		system, architecture, _ := strings.Cut(platform, "/")
		built := filepath.Join(r.work, system+"-"+architecture) + string(filepath.Separator)
		// The same options as in hack/images.
		if _, err := r.run(ctx, []string{"GOOS=" + system, "GOARCH=" + architecture},
			"go", append([]string{"build", "-ldflags=-s -w -buildid=", "-o", built}, packages...)...); err != nil {
			return err
		}
		for _, p := range packages {
			made := program{name: path.Base(p), platform: platform}
			made.file = strings.Join([]string{made.name, r.version, system, architecture}, "-")
			if made.info, err = buildinfo.ReadFile(filepath.Join(built, made.name)); err != nil {
				return err
			}
			if made.info.Main.Version != r.version {
				return fmt.Errorf("%s has version %s; check for another tag at commit %s", made.name, made.info.Main.Version, r.source.commit)
			}
			if err := os.Rename(filepath.Join(built, made.name), filepath.Join(r.files, made.file)); err != nil {
				return err
			}
			r.programs = append(r.programs, made)
		}
	}
	return nil
}

// buildImages makes hack/images write an archive of each image, for all architectures.
func (r *release) buildImages(ctx context.Context) error {
	var architectures []string
	for _, platform := range r.platforms {
		if architecture, ok := strings.CutPrefix(platform, "linux/"); ok {
			architectures = append(architectures, architecture)
		}
	}
	archives := filepath.Join(r.work, "images")
	if _, err := r.run(ctx, nil, "go", "run", "./hack/images", "-archives", archives, "-tag", r.version,
		"-arch", strings.Join(architectures, ","), "-only", strings.Join(r.only, ",")); err != nil {
		return err
	}
	found, err := os.ReadDir(archives)
	for _, archive := range found {
		name := strings.TrimSuffix(archive.Name(), ".tar")
		r.images = append(r.images, name)
		err = errors.Join(err, os.Rename(filepath.Join(archives, archive.Name()), filepath.Join(r.files, r.imageFile(name))))
	}
	return err
}

func (r *release) imageFile(name string) string { return name + "-" + r.version + ".oci.tar" }

// writeManifests writes the manifest of the CRDs, and that of the CRDs with this version's controller.
func (r *release) writeManifests(ctx context.Context) error {
	programs, err := binaries.Find(ctx, binaries.Options{Own: true, Progress: os.Stderr})
	if err != nil {
		return err
	}
	overlay := filepath.Join(r.work, "install")
	if err := os.Mkdir(overlay, 0o755); err != nil { //nolint:gosec // nothing secret
		return err
	}
	text := fmt.Sprintf("resources: [../source/deploy]\nimages: [{name: cooper/cosi-controller, newTag: %s}]\n", r.version)
	if err := os.WriteFile(filepath.Join(overlay, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		return err
	}
	install, err := r.run(ctx, nil, programs.Kubectl, "kustomize", overlay)
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(r.source.directory, "deploy", "crds", "*.yaml"))
	if err != nil {
		return err
	}
	var crds strings.Builder
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		crds.WriteString("---\n" + strings.TrimPrefix(string(content), "---\n"))
	}
	return errors.Join(r.write("install.yaml", install+"\n"), r.write("crds.yaml", crds.String()))
}

// packageCharts packages the charts with this version and its images.
func (r *release) packageCharts(ctx context.Context) error {
	helm, err := r.run(ctx, nil, "bash", "hack/helm.sh")
	if err != nil {
		return err
	}
	charts, err := filepath.Glob(filepath.Join(r.source.directory, "deploy", "charts", "*", "Chart.yaml"))
	if err != nil {
		return err
	}
	own := []string{"HELM_CACHE_HOME=" + r.work, "HELM_CONFIG_HOME=" + r.work, "HELM_DATA_HOME=" + r.work}
	for _, chart := range charts {
		version := strings.TrimPrefix(r.version, "v")
		if _, err := r.run(ctx, own, helm, "package", filepath.Dir(chart), "--version", version, "--app-version", r.version, "--destination", r.work); err != nil {
			return err
		}
		packaged := filepath.Base(filepath.Dir(chart)) + "-" + version + ".tgz"
		if err := r.repack(filepath.Join(r.work, packaged), filepath.Join(r.files, packaged)); err != nil {
			return err
		}
	}
	return nil
}

// repack rewrites a Helm package with the commit's timestamp in place of the current time.
func (r *release) repack(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	unzipped, err := gzip.NewReader(in)
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // readable by all users
	if err != nil {
		return err
	}
	zipped := gzip.NewWriter(out)
	writer, reader := tar.NewWriter(zipped), tar.NewReader(unzipped)
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return errors.Join(writer.Close(), zipped.Close(), out.Close())
		}
		if err == nil {
			header.ModTime, header.AccessTime, header.ChangeTime = r.source.time.Truncate(time.Second), time.Time{}, time.Time{}
			if err = writer.WriteHeader(header); err == nil {
				_, err = io.Copy(writer, reader) //nolint:gosec // size is trusted: Helm has just packed it
			}
		}
		if err != nil {
			return errors.Join(err, out.Close())
		}
	}
}

// write writes a file in the release.
func (r *release) write(name, content string) error {
	return os.WriteFile(filepath.Join(r.files, name), []byte(content), 0o644) //nolint:gosec // readable by all users
}
