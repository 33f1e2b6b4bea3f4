// SPDX-License-Identifier: Apache-2.0

package driverkit_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

func TestBackends(t *testing.T) {
	t.Parallel()
	stores := driverkit.Backends[int]{Default: "main", ByName: map[string]int{"main": 1, "lab": 2}}
	tests := map[string]struct {
		id, name string
		backend  int
	}{
		"an ID without a backend is at the default one":             {"bucket", "bucket", 1},
		"an ID with a backend is there":                             {"lab.bucket", "bucket", 2},
		"a bucket may have dots in its name":                        {"www.example.com", "www.example.com", 1},
		"and so at another backend":                                 {"lab.www.example.com", "www.example.com", 2},
		"the default backend is not named, or a bucket had two IDs": {"main.bucket", "main.bucket", 1},
		"a backend alone is a name":                                 {"lab.", "lab.", 1},
	}
	for test, want := range tests {
		t.Run(test, func(t *testing.T) {
			t.Parallel()
			if backend, name := stores.SplitID(want.id); backend != want.backend || name != want.name {
				t.Errorf("SplitID(%q) is %d, %q, want %d, %q", want.id, backend, name, want.backend, want.name)
			}
		})
	}
	if got := stores.JoinID("lab", "bucket"); got != "lab.bucket" {
		t.Errorf("JoinID is %q", got)
	}
	if got := stores.JoinID("main", "bucket"); got != "bucket" {
		t.Errorf("JoinID of the default backend is %q", got)
	}
}

func TestOfClass(t *testing.T) {
	t.Parallel()
	stores := driverkit.Backends[int]{Default: "main", ByName: map[string]int{"main": 1, "lab": 2}}
	for parameter, want := range map[string]int{"": 1, "main": 1, "lab": 2} {
		if got, err := stores.OfClass(parameter); err != nil || got != want {
			t.Errorf("OfClass(%q) is %d, %v, want %d", parameter, got, err, want)
		}
	}
	_, err := stores.OfClass("moon")
	if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "lab, main") {
		t.Errorf("the error of an unknown backend is %v, want InvalidArgument with the known ones", err)
	}
}

func tooPlain(string) error { return errors.New("is too plain") }

func TestCheckBackends(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		stores driverkit.Backends[int]
		want   string // empty for no problem
	}{
		"one backend needs no default":            {driverkit.Backends[int]{ByName: map[string]int{"main": 1}}, ""},
		"several need one":                        {driverkit.Backends[int]{ByName: map[string]int{"main": 1, "lab": 2}}, "is required with several backends (lab, main)"},
		"none is not enough":                      {driverkit.Backends[int]{}, "at least one is required"},
		"the default must be one of them":         {driverkit.Backends[int]{Default: "moon", ByName: map[string]int{"main": 1}}, `"moon" is not one of the backends (main)`},
		"a name with a dot would not do in an ID": {driverkit.Backends[int]{ByName: map[string]int{"ma.in": 1}}, `backends: the name "ma.in" must be`},
		"a cloud may have a word of its own":      {driverkit.Backends[int]{ByName: map[string]int{"main": 1, "lab": 2}, Word: "account"}, "defaultAccount: is required with several accounts (lab, main)"},
		"and a rule of its own for names":         {driverkit.Backends[int]{ByName: map[string]int{"main": 1}, CheckName: tooPlain}, `the name "main" is too plain`},
	}
	for test, c := range tests {
		t.Run(test, func(t *testing.T) {
			t.Parallel()
			c.stores.Default = c.stores.DefaultName()
			problems := c.stores.Check()
			if c.want == "" && len(problems) > 0 {
				t.Errorf("the problems are %v", problems)
			}
			if c.want != "" && (len(problems) != 1 || !strings.Contains(problems[0].Error(), c.want)) {
				t.Errorf("the problems are %v, want one with %q", problems, c.want)
			}
		})
	}
}

// TestPing has backends that respond only together: each waits for the other's call.
func TestPing(t *testing.T) {
	t.Parallel()
	stores := driverkit.Backends[string]{ByName: map[string]string{"main": "lab", "lab": "main"}}
	asked := map[string]chan struct{}{"main": make(chan struct{}), "lab": make(chan struct{})}
	results := stores.Ping(t.Context(), func(ctx context.Context, other string) error {
		own := stores.ByName[other]
		close(asked[own])
		select {
		case <-asked[other]:
		case <-ctx.Done():
			return ctx.Err()
		}
		if own == "lab" {
			return errors.New("connection refused")
		}
		return nil
	})
	if len(results) != 2 || results["main"] != nil || results["lab"] == nil {
		t.Errorf("the results are %v, want an error of lab alone", results)
	}
}
