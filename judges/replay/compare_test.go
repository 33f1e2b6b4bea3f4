// SPDX-License-Identifier: Apache-2.0

package replay_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Formats of bodies.
const (
	data     = ""
	formXML  = "xml"
	formJSON = "json"
)

// The rules of a cloud determine which parts of an answer are compared.
type rules struct {
	// format returns the format of the recorded body: data is compared byte by byte, and of a document, the members.
	format func(e *exchange) string
	// listed matches the members with the names of listed objects.
	listed *regexp.Regexp
	// ignored matches the headers and members that are not compared at all.
	ignored *regexp.Regexp
	// varying matches the headers and members whose value is the cloud's choice. They must be present.
	varying *regexp.Regexp
	// later matches the headers and members that the cloud has added since; nil for none.
	later *regexp.Regexp
}

// compare returns one text for each difference, with the status first.
func (p player) compare(t *testing.T, e *exchange, got answer) []string {
	t.Helper()
	var out []string
	if got.status != e.Response.StatusCode {
		const shown = 300
		out = append(out, fmt.Sprintf("status %d %.*s", got.status, shown, got.body))
	}
	want := e.Response.Header.Clone()
	format := p.rules.format(e)
	if format != data || e.Request.Method != http.MethodHead {
		want.Del("Content-Length")
		got.header.Del("Content-Length")
	}
	out = append(out, p.differences("header", headers(want), headers(got.header))...)
	if format == data {
		if !bytes.Equal(e.Response.Body, got.body) {
			out = append(out, fmt.Sprintf("body of %d bytes, want %d", len(got.body), len(e.Response.Body)))
		}
		return out
	}
	theirs, err := members(format, e.Response.Body)
	if err != nil {
		t.Fatalf("%s: %v", e, err)
	}
	ours, err := members(format, got.body)
	if err != nil {
		return append(out, "body is not "+format)
	}
	return append(out, p.differences("member", theirs, ours)...)
}

// shortest is the length of the shortest value that is replaced in later requests. A metageneration is shorter.
const shortest = 4

// differences compares names and values, and records the values that vary.
func (p player) differences(kind string, want, got map[string]string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(want)) {
		ours, ok := got[name]
		switch {
		case p.rules.ignored.MatchString(name):
		case !ok:
			out = append(out, kind+" "+name+" missing")
		case p.rules.varying.MatchString(name) || want[name] == "CLEARED":
			if len(want[name]) >= shortest && ours != "" {
				p.ours[want[name]] = ours
			}
		case strings.HasSuffix(strings.ToLower(strings.ReplaceAll(name, "-", "")), "contenttype") && essence(want[name]) == essence(ours):
		case want[name] != ours:
			out = append(out, fmt.Sprintf("%s %s %q, want %q", kind, name, ours, want[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[name]; !ok && !p.rules.ignored.MatchString(name) && (p.rules.later == nil || !p.rules.later.MatchString(name)) {
			out = append(out, kind+" "+name+" added")
		}
	}
	return out
}

// essence is a content type without its parameters, which the recorder removed from requests.
func essence(contentType string) string {
	kind, _, _ := strings.Cut(contentType, ";")
	return kind
}

func headers(h http.Header) map[string]string {
	out := map[string]string{}
	for name, values := range h {
		out[http.CanonicalHeaderKey(name)] = strings.Join(values, ", ")
	}
	return out
}

// members returns the values of a document by path.
func members(format string, body []byte) (map[string]string, error) {
	out := map[string]string{}
	if len(body) == 0 {
		return out, nil
	}
	if format == formXML {
		return out, elements(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")), out)
	}
	var document any
	if err := json.Unmarshal(body, &document); err != nil {
		return nil, err
	}
	fields(document, "", out)
	return out, nil
}

func fields(value any, path string, out map[string]string) {
	switch value := value.(type) {
	case map[string]any:
		for name, v := range value {
			fields(v, strings.TrimPrefix(path+"."+name, "."), out)
		}
	case []any:
		for i, v := range value {
			fields(v, path+"["+strconv.Itoa(i)+"]", out)
		}
	default:
		out[path] = fmt.Sprint(value)
	}
}

func elements(body []byte, out map[string]string) error {
	d := xml.NewDecoder(bytes.NewReader(body))
	var path []string
	counts := map[string]int{}
	text, leaf := "", false
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch token := token.(type) {
		case xml.StartElement:
			name := strings.Join(append(slices.Clone(path), token.Name.Local), ".")
			step := token.Name.Local + "[" + strconv.Itoa(counts[name]) + "]"
			counts[name]++
			path, text, leaf = append(path, step), "", true
			for _, a := range token.Attr {
				out[strings.Join(path, ".")+"@"+a.Name.Local] = a.Value
			}
		case xml.CharData:
			text += string(token)
		case xml.EndElement:
			if leaf {
				out[strings.ReplaceAll(strings.Join(path, "."), "[0]", "")] = text
			}
			path, leaf = path[:len(path)-1], false
		}
	}
}
