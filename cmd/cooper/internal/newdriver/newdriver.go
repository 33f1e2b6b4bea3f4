// SPDX-License-Identifier: Apache-2.0

// Package newdriver generates the skeleton of a COSI driver for `cooper new driver`. The tests of the
// skeleton pass before the user changes anything. The package only writes files: it does not build or run the
// driver.
package newdriver

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"

	"k8s.io/apimachinery/pkg/util/validation"
)

// module is the Go module of the driver SDK.
const module = "github.com/cooper-cosi/cooper"

// maxName is the maximum length of a driver name in a class.
const maxName = 63

//go:embed all:template
var embedded embed.FS

// Options describe the new driver.
type Options struct {
	// Driver is the DNS name of the driver, by which classes choose it.
	Driver string
	// Module is the path of its Go module. Empty derives it from the name.
	Module string
	// Dir is the directory to create. Empty means a directory with the name of the program in the working
	// directory.
	Dir string
	// Version is the version of Cooper to build the driver with.
	Version string
	// Checkout is a directory with the sources of Cooper to use in place of a published version. Empty means
	// none.
	Checkout string
	// Out receives the instructions for the next steps.
	Out io.Writer
}

// skeleton is the data for the templates.
type skeleton struct {
	Driver, Program, Name, Module, Version, Checkout string
}

// Make creates the skeleton in a new directory. On error it leaves no directory.
func Make(o Options) error {
	s, err := o.skeleton()
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(cmp.Or(o.Dir, s.Program))
	if err != nil {
		return fmt.Errorf("--dir %s: %w", o.Dir, err)
	}
	_, err = os.Lstat(dir)
	if err == nil {
		return fmt.Errorf("%s already exists and is not overwritten: pass another directory with --dir", dir)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("check for an existing directory: %w", err)
	}
	if err := write(embedded, s, dir); err != nil {
		return fmt.Errorf("generate the driver: %w", err)
	}
	_, err = fmt.Fprintf(o.Out, "Generated %s in %s. To run its tests:\n\n  cd %[2]s\n  go mod tidy\n  go test .\n\nThe next steps are in its README.md.\n", s.Driver, dir)
	if err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	return nil
}

// modulePath matches the paths that are valid in go.mod.
var modulePath = regexp.MustCompile(`^[A-Za-z0-9._~-]+(/[A-Za-z0-9._~-]+)*$`)

// release matches a published version of Cooper, and no pseudo-version.
var release = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z]+(\.\d+)?)?$`)

func (o Options) skeleton() (skeleton, error) {
	if problems := validation.IsDNS1123Subdomain(o.Driver); len(problems) > 0 || len(o.Driver) > maxName {
		return skeleton{}, fmt.Errorf("%q is not a valid driver name: use a DNS name of at most %d bytes, such as acme.example.com", o.Driver, maxName)
	}
	label, _, _ := strings.Cut(o.Driver, ".")
	s := skeleton{Driver: o.Driver, Program: "cosi-driver-" + label, Name: label, Version: o.Version}
	if s.Module = cmp.Or(o.Module, "example.com/"+s.Program); !modulePath.MatchString(s.Module) {
		return skeleton{}, fmt.Errorf("--module %q is not a valid Go module path: use one such as example.com/%s", s.Module, s.Program)
	}
	if o.Checkout == "" {
		if !release.MatchString(o.Version) {
			return skeleton{}, fmt.Errorf("the version of cooper, %q, is not a release, so go mod tidy cannot find it: "+
				"set --checkout to a directory with Cooper's source code", o.Version)
		}
		return s, nil
	}
	var err error
	if s.Checkout, err = filepath.Abs(o.Checkout); err != nil {
		return skeleton{}, fmt.Errorf("--checkout %s: %w", o.Checkout, err)
	}
	if text, err := os.ReadFile(filepath.Join(s.Checkout, "go.mod")); err != nil || !strings.HasPrefix(string(text), "module "+module+"\n") {
		return skeleton{}, errors.Join(fmt.Errorf("--checkout %s does not contain Cooper's source code", s.Checkout), err)
	}
	s.Version = "v0.0.0"
	return s, nil
}

// write renders the templates into dir. It uses a temporary sibling directory, which it removes on error.
func write(templates fs.FS, s skeleton, dir string) (err error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil { //nolint:gosec // source files with the usual permissions
		return err
	}
	unfinished, err := os.MkdirTemp(filepath.Dir(dir), ".unfinished-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(unfinished))
		}
	}()
	files, err := template.New("").Option("missingkey=error").ParseFS(templates, "template/*")
	if err != nil {
		return fmt.Errorf("parse the templates: %w", err)
	}
	for _, file := range files.Templates() {
		if err := fill(filepath.Join(unfinished, strings.TrimSuffix(file.Name(), ".txt")), file, s); err != nil {
			return err
		}
	}
	if err := os.Chmod(unfinished, 0o755); err != nil { //nolint:gosec // as above
		return err
	}
	return os.Rename(unfinished, dir)
}

func fill(path string, file *template.Template, s skeleton) error {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(file.Execute(out, s), out.Close())
}
