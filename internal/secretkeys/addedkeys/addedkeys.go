// SPDX-License-Identifier: Apache-2.0

// Package addedkeys renders the keys that a user adds to the Secrets of an access with the annotation
// cooper.dev/secret-keys.
//
// A user writes the annotation, so the package limits its size, the work of a template and the size of a Secret. A
// template reads only the values of its own access. Rendering is a pure function of the annotation and of these values.
// Errors are for the user and contain no values of Secrets.
package addedkeys

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/secretkeys"
	"github.com/cooper-cosi/cooper/internal/secretkeys/formats"
)

const (
	// maxAnnotation limits the annotation, in bytes.
	maxAnnotation = 16 << 10
	// maxKeys limits the number of added keys.
	maxKeys = 32
	// maxSecret limits the keys and values of a whole Secret, in bytes.
	maxSecret = 256 << 10
	// maxProblems limits the problems in an error.
	maxProblems = 4
)

// Add returns the data of each grant's Secret with the added keys that the annotation of the access defines. It ignores
// keys in the data of a grant that are not COSI's. The error describes the keys that could not be rendered. Even
// with an error, the result has all other keys, and always those of COSI.
func Add(annotation string, grants []formats.Grant) ([]map[string][]byte, error) {
	own := make([]formats.Grant, len(grants))
	for i, grant := range grants {
		own[i] = formats.Grant{Claim: grant.Claim, Secret: grant.Secret, Data: Own(grant.Data)}
	}
	work := &budget{left: maxWork}
	keys, problems := keysOf(annotation, work)
	data := make([]map[string][]byte, len(grants))
	var fitting []formats.Grant
	for i, grant := range own {
		data[i] = maps.Clone(grant.Data)
		if size(grant.Data) <= maxSecret {
			fitting = append(fitting, grant)
		}
	}
	if len(keys) == 0 {
		return data, join(problems)
	}
	values := valuesOf(fitting)
	for i, grant := range own {
		added, failed := render(keys, grant, values, work)
		problems = append(problems, failed...)
		maps.Copy(data[i], added)
	}
	return data, join(problems)
}

// join returns the first problems as one error, or nil if there are none.
func join(problems []error) error {
	if more := len(problems) - maxProblems; more > 0 {
		problems = append(problems[:maxProblems:maxProblems], fmt.Errorf("and %d more", more))
	}
	return errors.Join(problems...)
}

// Own returns the keys of COSI in the data of a Secret.
func Own(data map[string][]byte) map[string][]byte {
	own := map[string][]byte{}
	for _, key := range secretkeys.Keys(cosiapi.Protocol(data[secretkeys.Protocol])) {
		if value, ok := data[key]; ok {
			own[key] = value
		}
	}
	return own
}

// Rendered returns the values of all keys that are not COSI's, in the order of their names. They count as secrets.
func Rendered(data map[string][]byte) []string {
	own := Own(data)
	var values []string
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if _, ok := own[key]; !ok {
			values = append(values, string(data[key]))
		}
	}
	return values
}

// render renders the keys for the Secret of one grant. It adds none if the Secret would become too large.
func render(keys []key, grant formats.Grant, values map[string]map[string]string, work *budget) (added map[string][]byte, problems []error) {
	large := fmt.Errorf("Secret %q would have more than %d bytes", grant.Secret, maxSecret)
	left := maxSecret - size(grant.Data)
	if left < 0 {
		return nil, []error{large}
	}
	added = map[string][]byte{}
	for _, k := range keys {
		var text bytes.Buffer
		var err error
		if k.template == nil {
			err = writePreset(&text, k.preset, grant, work)
		} else {
			err = k.template.execute(&text, grant.Claim, values, work)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("key %q of Secret %q: %w", k.name, grant.Secret, err))
			continue
		}
		if left -= len(k.name) + text.Len(); left < 0 {
			return nil, append(problems, large)
		}
		added[k.name] = text.Bytes()
	}
	return added, problems
}

// writePreset writes a preset. It counts the data that the preset reads and writes as work.
func writePreset(w io.Writer, preset string, grant formats.Grant, work *budget) error {
	if err := work.spend(size(grant.Data)); err != nil {
		return err
	}
	return formats.Write(limited{Writer: w, work: work}, preset, []formats.Grant{grant}, formats.Options{})
}

// size returns the length of all keys and values in bytes.
func size(data map[string][]byte) int {
	n := 0
	for key, value := range data {
		n += len(key) + len(value)
	}
	return n
}
