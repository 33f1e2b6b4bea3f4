// SPDX-License-Identifier: Apache-2.0

package elements_test

import (
	"encoding/xml"
	"testing"

	"github.com/cooper-cosi/cooper/fakes/internal/elements"
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

func TestUnknown(t *testing.T) {
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
		if got := elements.Unknown([]byte(tc.text), &document{}); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
