// SPDX-License-Identifier: Apache-2.0

package reasons_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	"github.com/cooper-cosi/cooper/internal/reasons"
)

// constants returns the values of all constants of a type in a file.
func constants(t *testing.T, path, name string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); !ok || kind.Name != name {
			return true
		}
		for _, value := range spec.Values {
			text, err := strconv.Unquote(value.(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, text)
		}
		return true
	})
	if len(found) == 0 {
		t.Fatalf("%s has no constant of the type %s", path, name)
	}
	slices.Sort(found)
	return found
}

// TestEveryReasonHasItsText also finds texts of reasons that no longer exist.
func TestEveryReasonHasItsText(t *testing.T) {
	t.Parallel()
	want := map[reasons.Kind][]string{
		reasons.Condition: constants(t, "../conditions/reasons.go", "Reason"),
		reasons.Event:     constants(t, "../reconciler/events.go", "EventReason"),
		reasons.Status:    constants(t, "words.go", "Word"),
	}
	for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
		want[reasons.Code] = append(want[reasons.Code], code.String())
	}
	slices.Sort(want[reasons.Code])
	got := map[reasons.Kind][]string{}
	for _, text := range reasons.All() {
		got[text.Kind] = append(got[text.Kind], text.Reason)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-constants +texts):\n%s", diff)
	}
}

func TestTextsAreWholeSentences(t *testing.T) {
	t.Parallel()
	for _, text := range slices.Concat(reasons.All(), reasons.Refusals(), reasons.Errors()) {
		parts := []string{text.Why, text.Do}
		if text.Kind != reasons.Refusal && text.Kind != reasons.Failure {
			parts = append(parts, text.Happened)
		}
		for _, part := range parts {
			if !strings.HasSuffix(part, ".") || strings.ToUpper(part[:1]) != part[:1] && !strings.HasPrefix(part, "spec.") && !strings.HasPrefix(part, "kubectl cosi") && !strings.HasPrefix(part, "multiBucketAccess") {
				t.Errorf("%s %s: not a whole sentence: %q", text.Kind, text.Reason, part)
			}
		}
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		want   []reasons.Kind
	}{
		"a condition and an Event of one name": {"WaitingForBucket", []reasons.Kind{reasons.Condition, reasons.Event}},
		"letters of another case":              {"secrettaken", []reasons.Kind{reasons.Condition}},
		"a code":                               {"PermissionDenied", []reasons.Kind{reasons.Code}},
		"a part of a name":                     {"Secret", nil},
		"a word of a refusal":                  {"immutable", nil},
		"a part of a refusal":                  {"BucketClaim is immutable", []reasons.Kind{reasons.Refusal}},
		"a refusal, as kubectl prints it":      {"The Bucket \"b\" is invalid: spec: Invalid value:  protocols is\nimmutable", []reasons.Kind{reasons.Refusal}},
		"an error, as it is printed":           {"error: BucketAccess \"a\" does not use claim \"b\": set --claim to one of c", []reasons.Kind{reasons.Failure}},
		"words of an error":                    {"BucketAccess does not", nil},
		"nothing":                              {"", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []reasons.Kind
			for _, text := range reasons.Find(tc.reason) {
				got = append(got, text.Kind)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if reasons.OfCondition("FailedCreateBucket") != (reasons.Text{}) {
		t.Error("an Event's reason is taken for a condition's")
	}
}
