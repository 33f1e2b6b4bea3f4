// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
)

// selection is a parsed fields parameter ("Partial response"): the selected fields, each with the selection below it.
// A leaf selects everything; "*" means every field of an object.
type selection map[string]selection

// maxSelection bounds the nesting of a selection.
const maxSelection = 20

// parseSelection reads a,b/c,d(e,f/g).
func parseSelection(text string) (selection, error) {
	p := selectionParser{rest: text}
	out, err := p.list(0)
	if err == nil && p.rest != "" {
		err = errSelection
	}
	if err != nil {
		return nil, gcserr.Invalid.Say("Invalid field selection %s", text)
	}
	return out, nil
}

var errSelection = errors.New("not a selection of fields")

type selectionParser struct{ rest string }

// list reads fields up to a closing parenthesis or the end.
func (p *selectionParser) list(depth int) (selection, error) {
	out := selection{}
	for {
		if err := p.path(out, depth); err != nil {
			return nil, err
		}
		if !strings.HasPrefix(p.rest, ",") {
			return out, nil
		}
		p.rest = p.rest[1:]
	}
}

// path parses one field with its subfields, and adds it to the selection.
func (p *selectionParser) path(into selection, depth int) error {
	end := strings.IndexAny(p.rest, ",/()")
	if end < 0 {
		end = len(p.rest)
	}
	name := strings.TrimSpace(p.rest[:end])
	if name == "" || depth > maxSelection {
		return errSelection
	}
	p.rest = p.rest[end:]
	below := selection{}
	var err error
	switch {
	case strings.HasPrefix(p.rest, "/"):
		p.rest = p.rest[1:]
		err = p.path(below, depth+1)
	case strings.HasPrefix(p.rest, "("):
		p.rest = p.rest[1:]
		if below, err = p.list(depth + 1); err == nil {
			var closed bool
			if p.rest, closed = strings.CutPrefix(p.rest, ")"); !closed {
				err = errSelection
			}
		}
	}
	into.add(name, below)
	return err
}

// add selects a field. One that is selected as a whole stays whole.
func (s selection) add(name string, below selection) {
	old, known := s[name]
	switch {
	case !known:
		s[name] = below
	case len(old) == 0 || len(below) == 0:
		s[name] = selection{}
	default:
		for n, b := range below {
			old.add(n, b)
		}
	}
}

// apply returns the selected part of a value; an object without selected fields becomes an empty one.
func (s selection) apply(v any) any {
	if len(s) == 0 {
		return v
	}
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = s.apply(v[i])
		}
		return v
	case map[string]any:
		for name, field := range v {
			below, ok := s[name]
			if !ok {
				below, ok = s["*"]
			}
			if !ok {
				delete(v, name)
				continue
			}
			v[name] = below.apply(field)
		}
		return v
	}
	return v
}

// partially handles the call with the fields that it asks for.
func (c *Call) partially(w http.ResponseWriter) error {
	s, err := parseSelection(c.query.Get("fields"))
	if err != nil {
		return err
	}
	whole := &responseBuffer{header: w.Header(), status: http.StatusOK}
	if err := c.handler(c, whole); err != nil {
		return err
	}
	raw := whole.body.Bytes()
	if strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") && len(raw) > 0 {
		d := json.NewDecoder(&whole.body)
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			return err
		}
		if raw, err = json.Marshal(s.apply(v)); err != nil {
			return err
		}
		writeJSON(w, whole.status, raw)
		return nil
	}
	w.WriteHeader(whole.status)
	_, _ = w.Write(raw) // fails only if the client has disconnected
	return nil
}

// responseBuffer buffers a response; its headers are set immediately.
type responseBuffer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (b *responseBuffer) Header() http.Header { return b.header }

// WriteHeader implements http.ResponseWriter.
func (b *responseBuffer) WriteHeader(status int) { b.status = status }

// Write implements http.ResponseWriter.
func (b *responseBuffer) Write(p []byte) (int, error) { return b.body.Write(p) }
