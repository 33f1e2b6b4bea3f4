// SPDX-License-Identifier: Apache-2.0

package addedkeys

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	yaml "sigs.k8s.io/yaml/goyaml.v3"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/secretkeys"
	"github.com/cooper-cosi/cooper/internal/secretkeys/formats"
	"github.com/cooper-cosi/cooper/internal/strictyaml"
)

// A source is the value of one key in the annotation. Exactly one field is set.
type source struct {
	// Preset is the name of a format.
	Preset string `json:"preset"`
	// Template is a template of package text/template.
	Template *string `json:"template"`
}

// A key is a valid key of the annotation. If template is nil, it has a preset.
type key struct {
	name     string
	preset   string
	template *compiled
}

// keysOf reads the annotation. It returns the valid keys in the order of their names, and a problem for each other key.
func keysOf(annotation string, work *budget) (keys []key, problems []error) {
	if annotation == "" {
		return nil, nil
	}
	sources, err := read(annotation)
	if err != nil {
		return nil, []error{err}
	}
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		k, err := compile(name, sources[name], work)
		if err != nil {
			problems = append(problems, fmt.Errorf("key %q: %w", name, err))
			continue
		}
		keys = append(keys, k)
	}
	return keys, problems
}

func read(annotation string) (map[string]source, error) {
	if len(annotation) > maxAnnotation {
		return nil, fmt.Errorf("the annotation has %d bytes, but the limit is %d", len(annotation), maxAnnotation)
	}
	if err := plain(annotation); err != nil {
		return nil, err
	}
	var sources map[string]source
	if err := strictyaml.Unmarshal([]byte(annotation), &sources); err != nil {
		return nil, err
	}
	if len(sources) > maxKeys {
		return nil, fmt.Errorf("the annotation has %d keys, but the limit is %d", len(sources), maxKeys)
	}
	return sources, nil
}

// plain refuses more than one document, and aliases, with which a short text can describe a huge value.
func plain(annotation string) error {
	decoder := yaml.NewDecoder(strings.NewReader(annotation))
	var document, another yaml.Node
	if err := decoder.Decode(&document); err != nil {
		return fmt.Errorf("not valid YAML: %w", err)
	}
	if hasAlias(&document) {
		return errors.New("YAML aliases are not supported")
	}
	if err := decoder.Decode(&another); !errors.Is(err, io.EOF) {
		return errors.New("the annotation must be one YAML document")
	}
	return nil
}

func hasAlias(node *yaml.Node) bool {
	return node.Kind == yaml.AliasNode || slices.ContainsFunc(node.Content, hasAlias)
}

func compile(name string, s source, work *budget) (key, error) {
	k := key{name: name, preset: s.Preset}
	switch {
	case len(validation.IsConfigMapKey(name)) > 0:
		return key{}, errors.New("the name of a key must consist of letters, digits, '-', '_' and '.', and must not begin with '..'")
	case reserved(name):
		return key{}, errors.New("the name belongs to COSI")
	case (s.Preset == "") == (s.Template == nil):
		return key{}, errors.New("set either preset or template")
	case s.Template != nil:
		t, err := compileTemplate(*s.Template, work)
		k.template = t
		return k, err
	case !slices.Contains(formats.Names(), s.Preset):
		return key{}, fmt.Errorf("preset %q does not exist. The presets are %s", s.Preset, strings.Join(formats.Names(), ", "))
	default:
		return k, nil
	}
}

// reserved reports whether a key belongs to COSI, for any protocol and in any version of the API.
func reserved(name string) bool {
	for _, protocol := range []cosiapi.Protocol{cosiapi.ProtocolS3, cosiapi.ProtocolAzure, cosiapi.ProtocolGCS} {
		if slices.Contains(secretkeys.Keys(protocol), name) {
			return true
		}
	}
	return strings.HasPrefix(name, "COSI_") || strings.EqualFold(strings.ReplaceAll(name, "_", ""), "BucketInfo")
}
