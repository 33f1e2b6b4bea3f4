// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRunReadsTheLicencesOfRealModules(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	// This test's own dependency, which is BSD-3-Clause.
	if err := run(t.Context(), []string{"github.com/google/go-cmp/cmp"}, &out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("   1 modules: BSD-3-Clause\n", out.String()); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

func TestLicencesOf(t *testing.T) {
	t.Parallel()
	const (
		apache = "                Apache License\n          Version 2.0, January 2004\n"
		mit    = "Permission is hereby granted, free of charge,\nto any person obtaining a copy of this"
		mpl    = "Mozilla Public License Version 2.0 ... Secondary License means the GNU General Public License, Version 2.0, " +
			"or under the terms of the GNU General Public License"
	)
	tests := map[string]struct {
		files   map[string]string
		want    []string
		refusal string
	}{
		"the Apache licence, whatever its line breaks": {
			files: map[string]string{"LICENSE": apache},
			want:  []string{"Apache-2.0"},
		},
		"two licences in two files": {
			files: map[string]string{"LICENSE.txt": apache, "COPYING": mit},
			want:  []string{"Apache-2.0", "MIT"},
		},
		"the Mozilla licence mentions the GPL without being it": {
			files: map[string]string{"LICENSE": mpl},
			want:  []string{"MPL-2.0"},
		},
		"an AGPL module is refused": {
			files:   map[string]string{"LICENSE": "GNU AFFERO GENERAL PUBLIC LICENSE\n Version 3, 19 November 2007"},
			refusal: "AGPL is not allowed",
		},
		"a GPL notice beside a permissive licence is refused": {
			files:   map[string]string{"LICENSE": mit, "COPYING": "GNU GENERAL PUBLIC LICENSE Version 2, June 1991"},
			refusal: "GPL is not allowed",
		},
		"a module without a licence is refused": {
			files:   map[string]string{"README": "as is"},
			refusal: "no LICENSE",
		},
		"a licence nobody has read is refused": {
			files:   map[string]string{"LICENSE": "Do as I say."},
			refusal: "unknown licence text",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for file, text := range tc.files {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, err := licencesOf(dir)
			if err == nil {
				err = permitted(got)
			}
			if tc.refusal != "" {
				if err == nil || !strings.Contains(err.Error(), tc.refusal) {
					t.Fatalf("want a refusal with %q, got %v", tc.refusal, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("licences (-want +got):\n%s", diff)
			}
		})
	}
}
