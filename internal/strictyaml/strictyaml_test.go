// SPDX-License-Identifier: Apache-2.0

package strictyaml_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/internal/strictyaml"
)

type file struct {
	Endpoint string             `json:"endpoint,omitempty"`
	Command  []string           `json:"command,omitempty"`
	Backends map[string]backend `json:"backends,omitempty"`
	Hidden   string             `json:"-"`
	When     *time.Time         `json:"when,omitempty"`
}

type backend struct {
	Region   string            `json:"region,omitempty"`
	Size     int               `json:"size,omitempty"`
	Accounts accounts          `json:"accounts,omitzero"`
	Labels   map[string]string `json:"labels,omitempty"`
}

type accounts struct {
	EKSCluster string `json:"eksCluster,omitempty"`
	Audience   string `json:"audience,omitempty"`
}

func TestUnmarshal(t *testing.T) {
	t.Parallel()
	var got file
	text := "endpoint: unix:///x.sock\ncommand: [./driver, -v]\nbackends: {a: {size: 3, labels: {tier: 5}}, b: }\nwhen: 2026-01-02T03:04:05Z\n"
	if err := strictyaml.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	when := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	want := file{
		Endpoint: "unix:///x.sock", Command: []string{"./driver", "-v"}, When: &when,
		Backends: map[string]backend{"a": {Size: 3, Labels: map[string]string{"tier": "5"}}, "b": {}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("parsed value (-want +got):\n%s", diff)
	}
	if err := strictyaml.Unmarshal(nil, &file{}); err != nil {
		t.Errorf("an empty file: %v", err)
	}
}

func TestMistakesHaveAPlaceAndAHint(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		want []string
	}{
		"a name with a percent sign":  {"backends: {'%d': {regoin: x}}", []string{"backends.%d.regoin: there is no such field"}},
		"letters that changed places": {"endpiont: x", []string{"endpiont: there is no such field; did you mean endpoint?"}},
		"a capital letter":            {"Endpoint: x", []string{"Endpoint: there is no such field; did you mean endpoint?"}},
		"a typo further down":         {"backends: {a: {regoin: x}}", []string{"backends.a.regoin: there is no such field; did you mean backends.a.region?"}},
		"half of a name":              {"backends: {a: {accounts: {cluster: x}}}", []string{"did you mean backends.a.accounts.eksCluster?"}},
		"a field in a wrong place":    {"region: x", []string{"region: there is no such field; did you mean backends.<name>.region?"}},
		"a field that nothing is like": {
			"backends: {a: {accounts: {xyz: 1}}}", []string{"backends.a.accounts.xyz: there is no such field; the valid fields are audience, eksCluster"},
		},
		"a field that only programs set": {"Hidden: x", []string{"Hidden: there is no such field"}},
		"all at once":                    {"endpiont: x\nbackends: {a: {regoin: x}}", []string{"endpiont: ", "backends.a.regoin: "}},
		"a list of backends":             {"backends: [{region: x}]", []string{"backends: expected a group of names, got a list"}},
		"a text for a list":              {"command: ./driver", []string{"command: expected a list, got a single value"}},
		"fields for a text":              {"command: [{a: b}]", []string{"command[0]: expected a single value, got a group of fields"}},
		"a file that is a list":          {"- a", []string{"the file: expected a group of fields, got a list"}},
		"a text for a number":            {"backends: {a: {size: many}}", []string{"size"}},
		"a field twice":                  {"endpoint: a\nendpoint: b", []string{"not valid YAML", "endpoint"}},
		"no YAML":                        {"endpoint: [", []string{"not valid YAML"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := strictyaml.Unmarshal([]byte(tc.text), &file{})
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("want %q in the error, got: %v", want, err)
				}
			}
		})
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	known := []string{"break", "bucketID", "freeName", "inventory", "makeBucket", "mend", "removeBucket", "takeName"}
	for name, want := range map[string]string{
		"makebucket": "makeBucket", "bucketId": "bucketID", "inventroy": "inventory", "freename": "freeName",
		"deleteBucket": "removeBucket", "x": "", "Mend": "mend", "inventoryCommand": "inventory",
	} {
		if got, _ := strictyaml.Nearest(name, known); got != want {
			t.Errorf("%s: want %q, got %q", name, want, got)
		}
	}
}
