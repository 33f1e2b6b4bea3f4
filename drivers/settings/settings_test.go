// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/drivers/settings"
)

type shelf struct {
	Length string `json:"length,omitempty"`
}

type shelves struct {
	Name    string           `json:"name,omitempty"`
	Shelves map[string]shelf `json:"shelves"`
}

func format() settings.Format[shelves, shelf] {
	return settings.Format[shelves, shelf]{
		Backend: "shelf",
		Variables: []settings.Variable[shelves, shelf]{
			{Name: "SHELF_NAME", Description: "Name of the driver.", Set: func(c *shelves, _ *shelf, v string) { c.Name = v }},
			{Name: "SHELF_LENGTH", Description: "How long it is.", Set: func(_ *shelves, b *shelf, v string) { b.Length = v }},
		},
		Single: func(c *shelves, b shelf) error {
			c.Shelves = map[string]shelf{"only": b}
			return nil
		},
		Complete: func(c shelves) (shelves, error) {
			if len(c.Shelves) == 0 || c.Shelves["only"].Length == "endless" {
				return shelves{}, errors.New("shelves: at least one that ends")
			}
			if c.Name == "" {
				c.Name = "shelf"
			}
			return c, nil
		},
	}
}

func TestFormat(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte("shelves: {only: {depth: 2m}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	environment := func(values map[string]string) (shelves, error) {
		return format().FromEnvironment(func(name string) (string, bool) { value, ok := values[name]; return value, ok })
	}
	two := shelves{Name: "shelf", Shelves: map[string]shelf{"only": {Length: "2m"}}}
	tests := map[string]struct {
		read func() (shelves, error)
		want shelves
		err  string
	}{
		"a file is completed": {read: func() (shelves, error) { return format().Parse([]byte("shelves: {only: {length: 2m}}")) }, want: two},
		"the environment describes one backend": {read: func() (shelves, error) {
			return environment(map[string]string{"SHELF_LENGTH": " 2m\n", "SHELF_NAME": "", "SHELF_OTHER": "x"})
		}, want: two},
		"an unknown field is an error with the file's name": {read: func() (shelves, error) { return format().Load(file) }, err: file},
		"a file that does not exist is an error":            {read: func() (shelves, error) { return format().Load(file + "x") }, err: "read the configuration"},
		"a file that is not valid":                          {read: func() (shelves, error) { return format().Parse([]byte("name: x")) }, err: "at least one"},
		"variables that are not valid":                      {read: func() (shelves, error) { return environment(map[string]string{"SHELF_LENGTH": "endless"}) }, err: "by environment variables is not valid: shelves"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := test.read()
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("error %v, want one with %q", err, test.err)
				}
				return
			}
			if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	want := "\nVariables that configure one shelf, if --config is not set:\n" +
		"  SHELF_NAME   Name of the driver.\n  SHELF_LENGTH How long it is.\n"
	if diff := cmp.Diff(want, format().Help()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
