// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/cooper-cosi/cooper/deploy"
)

//go:embed cooper
var cooper embed.FS

// An implementation is the measured system: Cooper, or one described by a directory (see README.md).
type implementation struct {
	crds map[string][]byte
	// claim, access and classes are manifests with placeholders.
	claim, access, classes string
	commands               []command
	// ready is the readiness of each kind.
	ready map[kind]readiness
	// moves are the measured operations.
	moves []move
	// dir is the directory that describes it; empty for Cooper, which runs with its deployed roles.
	dir string
}

// A kind is one of the two kinds that users create.
type kind string

const (
	claim  kind = "claim"
	access kind = "access"
	// bucket is used only for the floor.
	bucket kind = "bucket"
)

// servesOurs reports whether the driver is the bench's own.
func (i implementation) servesOurs() bool {
	return slices.ContainsFunc(i.commands, func(c command) bool { return strings.Contains(c.line, "${SERVE}") })
}

// A command is a line in the file commands.
type command struct{ role, line string }

// ofCooper returns the description of Cooper.
func ofCooper() (implementation, error) {
	files, err := fs.Sub(cooper, "cooper")
	if err != nil {
		return implementation{}, fmt.Errorf("open the embedded templates: %w", err)
	}
	i, err := describedBy(files)
	if err != nil {
		return i, err
	}
	i.crds, err = deploy.CRDs()
	return i, err
}

// ofDirectory returns the description of another implementation.
func ofDirectory(dir string) (implementation, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return implementation{}, fmt.Errorf("-other %s: %w", dir, err)
	}
	files := os.DirFS(absolute)
	i, err := describedBy(files)
	if err != nil {
		return i, fmt.Errorf("-other %s: %w", dir, err)
	}
	i.dir, i.crds = absolute, map[string][]byte{}
	names, err := fs.Glob(files, "crds/*.yaml")
	if err != nil || len(names) == 0 {
		return i, errors.Join(fmt.Errorf("-other %s: the directory contains no CRDs; put each CRD into its own file crds/*.yaml", dir), err)
	}
	for _, name := range names {
		if i.crds[name], err = fs.ReadFile(files, name); err != nil {
			return i, fmt.Errorf("-other %s: %w", dir, err)
		}
	}
	return i, nil
}

func describedBy(files fs.FS) (implementation, error) {
	var i implementation
	var commands string
	for name, text := range map[string]*string{
		"claim.yaml": &i.claim, "access.yaml": &i.access, "classes.yaml": &i.classes, "commands": &commands,
	} {
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return i, err
		}
		*text = string(content)
	}
	var err error
	i.commands, err = parseCommands(commands)
	return i, err
}

func parseCommands(text string) ([]command, error) {
	var all []command
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		role, rest, _ := strings.Cut(line, " ")
		if rest = strings.TrimSpace(rest); rest == "" {
			return nil, fmt.Errorf("file commands: the line %q needs a component, followed by a space and its command", line)
		}
		all = append(all, command{role: role, line: rest})
	}
	return all, nil
}

// values are the values of placeholders: ${NAME} is values["NAME"].
type values map[string]string

// expand replaces the placeholders in a text by values or, if there is none, environment variables.
func (v values) expand(text string) string {
	return os.Expand(text, func(name string) string {
		if value, known := v[name]; known {
			return value
		}
		return os.Getenv(name)
	})
}

// objects returns the objects in a manifest with placeholders.
func (v values) objects(manifest string) ([]*unstructured.Unstructured, error) {
	return decode([]byte(v.expand(manifest)))
}

// decode decodes a file with several YAML documents.
func decode(manifest []byte) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), len(manifest)+1)
	for {
		object := &unstructured.Unstructured{}
		switch err := decoder.Decode(object); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("decode a manifest: %w", err)
		case len(object.Object) > 0:
			all = append(all, object)
		}
	}
}

// A readiness defines when an object is ready: when a condition is "True", or a field has a value.
type readiness struct {
	condition string
	path      []string
	value     string
}

// parseReadiness parses "condition:Provisioned" or ".status.phase=Ready".
func parseReadiness(text string) (readiness, error) {
	if name, found := strings.CutPrefix(text, "condition:"); found && name != "" {
		return readiness{condition: name}, nil
	}
	path, value, found := strings.Cut(text, "=")
	if !found || !strings.HasPrefix(path, ".") || len(path) < 2 {
		return readiness{}, fmt.Errorf("%q is neither condition:TYPE nor .path.of.a.field=VALUE", text)
	}
	return readiness{path: strings.Split(path[1:], "."), value: value}, nil
}

func (r readiness) of(object map[string]any) bool {
	if r.condition == "" {
		value, found, err := unstructured.NestedFieldNoCopy(object, r.path...)
		return err == nil && found && fmt.Sprint(value) == r.value
	}
	all, _, err := unstructured.NestedFieldNoCopy(object, "status", "conditions")
	list, isList := all.([]any)
	if err != nil || !isList {
		return false
	}
	for _, one := range list {
		if condition, isMap := one.(map[string]any); isMap && condition["type"] == r.condition {
			return condition["status"] == "True"
		}
	}
	return false
}
