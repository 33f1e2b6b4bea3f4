// SPDX-License-Identifier: Apache-2.0

package accept_test

import (
	"encoding/json"
	"encoding/xml"
	"testing"

	"github.com/cooper-cosi/cooper/fakes/internal/accept"
)

type rule struct {
	ID    string
	Names []string `xml:"Names>Name"`
}

type document struct {
	XMLName xml.Name `xml:"Document"`
	Rule    []rule
	Open    *struct {
		Status string
		Others []struct{ XMLName xml.Name } `xml:",any"`
	}
}

func TestUnknownElement(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ text, want string }{
		"nothing":                        {`<Document/>`, ""},
		"what there is":                  {`<Document><Rule><ID>a</ID><Names><Name>b</Name></Names></Rule></Document>`, ""},
		"an element":                     {`<Document><Colour/></Document>`, "Colour"},
		"an element within one":          {`<Document><Rule><Colour/></Rule></Document>`, "Colour"},
		"an element within a path":       {`<Document><Rule><Names><Colour/></Names></Rule></Document>`, "Colour"},
		"an element within a text":       {`<Document><Rule><ID><Colour/></ID></Rule></Document>`, "Colour"},
		"an element that its type keeps": {`<Document><Open><Colour><Deep/></Colour></Open></Document>`, ""},
	} {
		if got := accept.UnknownElement([]byte(tc.text), &document{}); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	list := accept.Names("a").Different("b").And(accept.List{}.Refused("c").Prefix("x-meta-").Ignored("a"))
	for name, tc := range map[string]struct {
		input string
		want  accept.Use
	}{
		"an input":                           {"b", accept.Different},
		"an input of another list":           {"c", accept.Refused},
		"the last of two entries":            {"a", accept.Ignored},
		"a name with a prefix":               {"x-meta-a", accept.Served},
		"a prefix as a name":                 {"x-meta-", accept.Served},
		"the beginning of a prefix":          {"x-met", accept.Unknown},
		"an exact name that is continued":    {"b-a", accept.Unknown},
		"an input that the list has not got": {"d", accept.Unknown},
	} {
		if got := list.Use(tc.input); got != tc.want || list.Has(tc.input) != (tc.want != accept.Unknown) {
			t.Errorf("%s: %q is used as %d, want %d", name, tc.input, got, tc.want)
		}
	}
}

// TestSharedLists derives two lists from one, which stays as it was.
func TestSharedLists(t *testing.T) {
	t.Parallel()
	shared := accept.Names("a", "b").With("c")
	first, second := shared.With("d"), shared.Ignored("e")
	below := shared.Below("f")
	if first.Has("e") || second.Has("d") || shared.Has("d") || shared.Has("f.a") || !below.Has("f.a") || below.Has("a") {
		t.Errorf("%v, %v and %v of %v", first, second, below, shared)
	}
}

func TestUnknownField(t *testing.T) {
	t.Parallel()
	list := accept.Names("name", "labels").With("age.years").And(accept.Names("key").Below("owners"))
	for name, tc := range map[string]struct {
		document string
		want     string
	}{
		"known fields":                       {`{"name":1,"age":{"years":1},"owners":[{"key":1}]}`, ""},
		"any field below one":                {`{"labels":{"colour":1}}`, ""},
		"a field":                            {`{"name":1,"colour":1}`, "colour"},
		"a field with an empty name":         {`{"":1}`, ""},
		"a field below one":                  {`{"age":{"days":1}}`, "age.days"},
		"a field in a list":                  {`{"owners":[{"key":1},{"colour":1}]}`, "owners.colour"},
		"the first of two fields":            {`{"b":1,"a":1}`, "a"},
		"a field without a value":            {`{"colour":null}`, ""},
		"another type where others are read": {`{"age":7}`, ""},
	} {
		var document any
		if err := json.Unmarshal([]byte(tc.document), &document); err != nil {
			t.Fatal(err)
		}
		got, unknown := list.UnknownField(document, func(v any) bool { return v == nil })
		if got != tc.want || unknown != (tc.want != "" || name == "a field with an empty name") {
			t.Errorf("%s: %q, %v; want %q", name, got, unknown, tc.want)
		}
	}
}
