// SPDX-License-Identifier: Apache-2.0

package xmltext_test

import (
	"encoding/xml"
	"testing"

	"github.com/cooper-cosi/cooper/fakes/internal/xmltext"
)

func TestEscape(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"the header 'x' is \"y\"": `the header 'x' is "y"`,
		"two\nlines\tand a tab":   "two\nlines\tand a tab",
		"a < b & c > d":           "a &lt; b &amp; c &gt; d",
		"&#39; as a client wrote": "&amp;#39; as a client wrote",
		"]]> ends no section":     "]]&gt; ends no section",
		"a return\r":              "a return&#xD;",
	} {
		got := xmltext.Escape(text)
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
		var back string
		if err := xml.Unmarshal([]byte("<a>"+got+"</a>"), &back); err != nil || back != text {
			t.Errorf("%q is parsed as %q: %v", text, back, err)
		}
	}
}
