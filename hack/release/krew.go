// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// plugin is the program that krew installs.
const plugin = "kubectl-cosi"

// packPlugin writes the krew archives of the kubectl plugin, and the manifest that refers to them. It does
// nothing if the plugin is not part of the release.
func (r *release) packPlugin(context.Context) error {
	r.archives = map[string]string{}
	values := []string{"VERSION", r.version, "DOWNLOADS", website + "/releases/download/" + r.version}
	for _, p := range r.programs {
		if p.name != plugin {
			continue
		}
		platform := strings.ReplaceAll(p.platform, "/", "-")
		archive := plugin + "-" + platform + ".tar.gz"
		if err := r.pack(archive, p.file); err != nil {
			return err
		}
		r.archives[archive] = p.file
		sum, err := r.sum(archive)
		if err != nil {
			return err
		}
		values = append(values, "SHA256_"+strings.ToUpper(strings.ReplaceAll(platform, "-", "_")), sum)
	}
	if len(r.archives) == 0 {
		return nil
	}
	template, err := os.ReadFile(filepath.Join(r.source.directory, "deploy", "krew", "cosi.yaml"))
	if err != nil {
		return err
	}
	_, manifest, found := strings.Cut(string(template), "\napiVersion:") // the text before it explains the placeholders
	if !found {
		return errors.New("deploy/krew/cosi.yaml must begin with a comment, followed by apiVersion")
	}
	manifest = strings.NewReplacer(values...).Replace("apiVersion:" + manifest)
	if strings.Contains(manifest, "SHA256_") {
		return fmt.Errorf("deploy/krew/cosi.yaml contains a platform that is not one of %v", r.platforms)
	}
	return r.write("krew-cosi.yaml", manifest)
}

// pack writes an archive of the plugin and the licence with the commit's timestamp.
func (r *release) pack(archive, program string) error {
	out, err := os.OpenFile(filepath.Join(r.files, archive), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // readable by all users
	if err != nil {
		return err
	}
	zipped := gzip.NewWriter(out)
	writer := tar.NewWriter(zipped)
	for _, f := range []struct {
		name, from string
		mode       int64
	}{{plugin, filepath.Join(r.files, program), 0o755}, {"LICENSE", filepath.Join(r.source.directory, "LICENSE"), 0o644}} {
		content, err := os.ReadFile(f.from)
		if err == nil {
			err = writer.WriteHeader(&tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(content)), ModTime: r.source.time.Truncate(time.Second)})
		}
		if err == nil {
			_, err = writer.Write(content)
		}
		if err != nil {
			return errors.Join(err, out.Close())
		}
	}
	return errors.Join(writer.Close(), zipped.Close(), out.Close())
}
