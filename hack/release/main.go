// SPDX-License-Identifier: Apache-2.0

// Command release builds the files of a release from the current commit. docs/howto/release.md describes the
// files and how to verify and sign them. The command clones the repository, tags the commit with the
// version and builds in the clone, so uncommitted files are not included. The build is reproducible: the same
// commit and the same Go version produce identical files. If the release already exists, the command compares
// its files with the new ones, and fails if they differ.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
)

// website is the address of the sources.
const website = "https://github.com/cooper-cosi/cooper"

// options are the values of the flags.
type options struct {
	version string
	// checkout is a directory in the checkout.
	checkout string
	// dist is the parent directory of the version's directory.
	dist string
	// platforms are the platforms of the programs, such as linux/amd64. Images are built for the Linux
	// platforms.
	platforms []string
	// only limits the release to some programs; empty means all.
	only []string
}

// platforms returns the platforms of a release.
func platforms() []string {
	return []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"}
}

func main() {
	o := options{checkout: ".", platforms: platforms()}
	flag.StringVar(&o.version, "version", "", "version to release, such as v0.1.0")
	flag.StringVar(&o.dist, "dist", "dist", "parent directory of the version's directory")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// A release is a release that is being built.
type release struct {
	options

	source   source
	programs []program
	// images are the names of the images of the programs.
	images []string
	// archives are the programs in krew archives, by archive name.
	archives map[string]string
	// work is the working directory, files the directory that becomes the release.
	work, files string
}

// run builds a release in a temporary sibling directory and renames it when it is complete.
func run(ctx context.Context, o options) error {
	before, err := look(ctx, o.checkout, o.version)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.dist, 0o755); err != nil { //nolint:gosec // readable by all users
		return err
	}
	dist, err := filepath.Abs(o.dist)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp(dist, "."+o.version+"-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	r := &release{options: o, work: work, files: filepath.Join(work, "files")}
	if err := os.Mkdir(r.files, 0o755); err != nil { //nolint:gosec // as above
		return err
	}
	if r.source, err = before.clone(ctx, filepath.Join(work, "source"), o.version); err != nil {
		return err
	}
	if err := r.make(ctx); err != nil {
		return err
	}
	return publish(r.files, filepath.Join(dist, o.version))
}

func (r *release) make(ctx context.Context) error {
	for _, part := range []struct {
		name string
		make func(context.Context) error
	}{
		{"API changes", r.checkAPI},
		{"changelog", r.writeChangelog},
		{"CRDs and manifest", r.writeManifests},
		{"charts", r.packageCharts},
		{"programs", r.buildPrograms},
		{"archives for krew", r.packPlugin},
		{"images", r.buildImages},
		{"bill of materials", r.writeBill},
		{"provenance", r.writeProvenance},
		{"checksums", r.writeSums},
	} {
		fmt.Fprintf(os.Stderr, "%s: %s\n", r.version, part.name)
		if err := part.make(ctx); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return nil
}

// publish renames the directory to its final name. It does not replace an existing release, which may have
// been signed.
func publish(files, directory string) error {
	if _, err := os.Stat(directory); errors.Is(err, os.ErrNotExist) {
		if err := os.Rename(files, directory); err != nil {
			return err
		}
		fmt.Println(directory)
		return nil
	}
	there, err := readSums(directory)
	if err != nil {
		return fmt.Errorf("%s already exists and is not a release: %w", directory, err)
	}
	// The files are compared rather than the existing sums. A missing file has no sum.
	for name := range there {
		if there[name], err = sumIn(directory, name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	made, err := readSums(files)
	if err != nil {
		return err
	}
	var different []string
	for name := range maps.Keys(union(there, made)) {
		if there[name] != made[name] {
			different = append(different, name)
		}
	}
	if len(different) > 0 {
		slices.Sort(different)
		return fmt.Errorf("%s already exists and differs in %s, because it was built from another commit or with another Go version: delete it, or choose another version",
			directory, strings.Join(different, ", "))
	}
	fmt.Printf("%s already exists, with the same contents\n", directory)
	return nil
}

func union(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// output runs a command in a directory and returns its output.
func output(ctx context.Context, directory string, environment []string, name string, args ...string) (string, error) {
	var out, problem strings.Builder
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = directory, &out, &problem
	cmd.Env = append(os.Environ(), environment...)
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, problem.String())
	}
	return strings.TrimSpace(out.String()), nil
}
