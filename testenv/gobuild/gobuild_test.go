// SPDX-License-Identifier: Apache-2.0

package gobuild_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/cooper-cosi/cooper/internal/flock"
	"github.com/cooper-cosi/cooper/internal/testing/processtest"
	"github.com/cooper-cosi/cooper/testenv/gobuild"
)

func TestMain(m *testing.M) { processtest.HelperMain(m, helper) }

// helper builds the tiny module in a cache directory. It prints its progress and its result, one line each.
func helper(cache string) {
	dir, err := gobuild.Build(context.Background(), tiny(hello), gobuild.Options{ //nolint:forbidigo // this is a main function
		CacheDir: cache, Progress: gobuild.NewProgress(os.Stdout),
	}, "hello")
	fmt.Println("result", dir, err)
}

const hello = `package main

import "tiny/text"

var greeting = "nothing"

func main() { println(greeting + text.End) }
`

// tiny is a module with two programs and a package.
func tiny(source string) gobuild.Module {
	return gobuild.Module{
		Name: "tiny", Version: "v1",
		Template: fstest.MapFS{
			"gomod.txt":         {Data: []byte("module tiny\n\ngo 1.26.0\n")},
			"hello/main.go.txt": {Data: []byte(source)},
			"bye/main.go.txt":   {Data: []byte("package main\n\nfunc main() { println(\"bye\") }\n")},
			"text/text.go.txt":  {Data: []byte("package text\n\nconst End = \"!\"\n")},
		},
		LinkFlags: "-X main.greeting=linked",
	}
}

// wantNoError ends the test if there is an error.
func wantNoError(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// TestProgramsOfOtherModules builds a program of another module by its full path.
func TestProgramsOfOtherModules(t *testing.T) {
	t.Parallel()
	module := gobuild.Module{Name: "tiny", Version: "v1", Template: fstest.MapFS{
		"gomod.txt":              {Data: []byte("module tiny.example\n\ngo 1.26.0\n")},
		"deep/hello/main.go.txt": {Data: []byte("package main\n\nfunc main() { println(\"found\") }\n")},
	}}
	o := gobuild.Options{CacheDir: t.TempDir()}
	for range 2 {
		dir, err := gobuild.Build(t.Context(), module, o, "tiny.example/deep/hello")
		wantNoError(t, err)
		output, err := exec.CommandContext(t.Context(), filepath.Join(dir, "hello")).CombinedOutput()
		if err != nil || strings.TrimSpace(string(output)) != "found" {
			t.Errorf("the program prints %q, %v", output, err)
		}
		o.Path = t.TempDir() // a cached program needs no go command
	}
}

// TestBuild calls Build repeatedly with one cache directory.
//
//nolint:paralleltest,tparallel // its parts follow one another
func TestBuild(t *testing.T) {
	t.Parallel()
	cache := filepath.Join(t.TempDir(), "new", "cache")
	var said bytes.Buffer
	o := gobuild.Options{CacheDir: cache, Progress: gobuild.NewProgress(&said)}
	first, err := gobuild.Build(t.Context(), tiny(hello), o, "hello")
	wantNoError(t, err)
	if want := "building hello v1, once\n"; !strings.HasPrefix(said.String(), want) {
		t.Errorf("said %q, want %q", said.String(), want)
	}
	output, err := exec.CommandContext(t.Context(), filepath.Join(first, "hello")).CombinedOutput()
	if err != nil || strings.TrimSpace(string(output)) != "linked!" {
		t.Errorf("the program prints %q, %v; want the value of the link flags", output, err)
	}
	t.Run("a second call finds the program and needs no go command", func(t *testing.T) {
		second, err := gobuild.Build(t.Context(), tiny(hello), gobuild.Options{CacheDir: cache, Path: t.TempDir()}, "hello")
		if err != nil || second != first {
			t.Errorf("%q, %v; want %q", second, err, first)
		}
	})
	t.Run("a call for one program more builds that one", func(t *testing.T) {
		said.Reset()
		dir, err := gobuild.Build(t.Context(), tiny(hello), o, "hello", "bye")
		if err != nil || dir != first || !strings.HasPrefix(said.String(), "building bye v1, once\n") {
			t.Errorf("%q, %v, said %q; want bye and hello in %q", dir, err, said.String(), first)
		}
	})
	onlyEntries(t, cache, first, first+".lock")
	onlyEntries(t, first, filepath.Join(first, "bye"), filepath.Join(first, "hello"))
}

func TestAnotherSourceIsAnotherBuild(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	if one, two := dirOf(t, tiny(hello), cache), dirOf(t, tiny(hello+"\n// changed\n"), cache); one == two {
		t.Errorf("both are %s", one)
	}
}

func TestOfTwoProcessesOneBuildsWhileTheOtherWaits(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	dir := dirOf(t, tiny(hello), cache)
	file := locked(t, dir)
	outputs := []*bufio.Scanner{startHelper(t, cache), startHelper(t, cache)}
	for _, output := range outputs {
		if !output.Scan() || !strings.HasPrefix(output.Text(), "waiting for ") {
			t.Fatalf("helper prints %q while the lock is held, want that it waits", output.Text())
		}
	}
	wantNoError(t, flock.Release(file))
	builders, results := 0, 0
	for _, output := range outputs {
		for output.Scan() {
			switch line := output.Text(); {
			case strings.HasPrefix(line, "building "):
				builders++
			case line == "result "+dir+" <nil>":
				results++
			}
		}
	}
	if builders != 1 || results != 2 {
		t.Errorf("%d built and %d have it, want 1 and 2", builders, results)
	}
	onlyEntries(t, cache, dir, dir+".lock")
}

func startHelper(t *testing.T, cache string) *bufio.Scanner {
	t.Helper()
	cmd, lines := processtest.StartHelper(t, cache)
	t.Cleanup(func() { _ = cmd.Wait() })
	return lines
}

func TestWhatAKilledBuilderLeftIsRemoved(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	dir := dirOf(t, tiny(hello), cache)
	wantNoError(t, os.MkdirAll(filepath.Join(dir+".tmp-1", "bin"), 0o755))
	if _, err := gobuild.Build(t.Context(), tiny(hello), gobuild.Options{CacheDir: cache}, "hello"); err != nil {
		t.Fatal(err)
	}
	onlyEntries(t, cache, dir, dir+".lock")
}

func TestBuildThatFails(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		source  string
		options gobuild.Options
		want    []string
	}{
		"for a compiler's error shows the last lines": {
			source: "package main\n\nfunc main() { undefined() }\n",
			want:   []string{"cannot build tiny", "build: exit status 1", "the last lines of its output", "undefined: undefined"},
		},
		"for a missing module shows the output of the go command": {
			source: "package main\n\nimport _ \"example.com/missing\"\n\nfunc main() {}\n",
			want:   []string{"cannot build tiny", "list: exit status 1", "example.com/missing"},
		},
		"without Go explains what to install": {
			source: hello, options: gobuild.Options{Path: t.TempDir()},
			want: []string{"cannot build tiny", "no go command found in PATH", "install Go"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.options.CacheDir = t.TempDir()
			_, err := gobuild.Build(t.Context(), tiny(tc.source), tc.options, "hello")
			wantParts(t, err, tc.want...)
			if gone := tc.options.Path != ""; errors.Is(err, gobuild.ErrNoGo) != gone {
				t.Errorf("%v is ErrNoGo: %v, want %v", err, !gone, gone)
			}
			onlyEntries(t, tc.options.CacheDir, dirOf(t, tiny(tc.source), tc.options.CacheDir)+".lock")
		})
	}
}

func TestCacheDirectoryThatCannotBeMadeIsNamed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	wantNoError(t, os.WriteFile(file, nil, 0o600))
	_, err := gobuild.Build(t.Context(), tiny(hello), gobuild.Options{CacheDir: filepath.Join(file, "cache")}, "hello")
	wantParts(t, err, "cannot store the programs of tiny", file, "make the directory writable or choose another one")
}

// cancelling is a writer that cancels a context when it is written to.
type cancelling func()

func (c cancelling) Write(text []byte) (int, error) {
	c()
	return len(text), nil
}

func TestEndOfTheContextEndsTheBuild(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	_, err := gobuild.Build(ctx, tiny(hello), gobuild.Options{CacheDir: cache, Progress: gobuild.NewProgress(cancelling(cancel))}, "hello")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want canceled", err)
	}
	wantParts(t, err, "was interrupted")
	onlyEntries(t, cache, dirOf(t, tiny(hello), cache)+".lock")
}

func TestEndOfTheContextEndsTheWaitForAnotherBuilder(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	locked(t, dirOf(t, tiny(hello), cache))
	ctx, cancel := context.WithCancel(t.Context())
	_, err := gobuild.Build(ctx, tiny(hello), gobuild.Options{CacheDir: cache, Progress: gobuild.NewProgress(cancelling(cancel))}, "hello")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want canceled", err)
	}
}

// TestGoSettingsOfTheCallerDoNotMatter compares the built programs bit by bit.
//
//nolint:paralleltest // the environment is that of the process
func TestGoSettingsOfTheCallerDoNotMatter(t *testing.T) {
	build := func(t *testing.T) []byte {
		t.Helper()
		dir, err := gobuild.Build(t.Context(), tiny(hello), gobuild.Options{CacheDir: t.TempDir()}, "hello")
		wantNoError(t, err)
		program, err := os.ReadFile(filepath.Join(dir, "hello"))
		wantNoError(t, err)
		return program
	}
	want := build(t)
	settings := map[string]string{
		"GOFLAGS": "-mod=vendor", "GOOS": "plan9", "GOWORK": "/missing/go.work", "GOEXPERIMENT": "fieldtrack", "GOAMD64": "v3", "GOARM64": "v9.0",
		"GOFIPS140": "latest", "GO111MODULE": "off", "CGO_ENABLED": "1", "GODEBUG": "execerrdot=0",
	}
	t.Run("in the environment", func(t *testing.T) {
		for name, value := range settings {
			t.Setenv(name, value)
		}
		if !bytes.Equal(build(t), want) {
			t.Error("they change the program")
		}
	})
	t.Run("by go env -w", func(t *testing.T) {
		write(t, settings)
		if !bytes.Equal(build(t), want) {
			t.Error("they change the program")
		}
	})
	t.Run("where modules come from does", func(t *testing.T) {
		write(t, map[string]string{"GOPROXY": "https://proxy.example.com"})
		t.Setenv("GOPRIVATE", "example.com")
		env, err := gobuild.Environment(t.Context(), "go", "", "")
		if err != nil || !slices.Contains(env, "GOPROXY=https://proxy.example.com") || !slices.Contains(env, "GOPRIVATE=example.com") {
			t.Errorf("%v, %q", err, env)
		}
	})
}

// TestCompilersCollectLessGarbage checks the default, and that the caller's setting takes precedence.
//
//nolint:paralleltest // the environment is that of the process
func TestCompilersCollectLessGarbage(t *testing.T) {
	for set, want := range map[string]string{"": "GOGC=300", "50": "GOGC=50"} {
		t.Setenv("GOGC", set)
		env, err := gobuild.Environment(t.Context(), "go", "", "")
		var got string
		for _, variable := range env { // the last value takes effect
			if strings.HasPrefix(variable, "GOGC=") {
				got = variable
			}
		}
		if got != want || err != nil {
			t.Errorf("with GOGC=%q of the caller: %s, %v, want %s", set, got, err, want)
		}
	}
}

// write sets variables as go env -w does.
func write(t *testing.T, settings map[string]string) {
	t.Helper()
	file, lines := filepath.Join(t.TempDir(), "env"), ""
	for name, value := range settings {
		lines += name + "=" + value + "\n"
	}
	wantNoError(t, os.WriteFile(file, []byte(lines), 0o600))
	t.Setenv("GOENV", file)
}

func dirOf(t *testing.T, m gobuild.Module, cache string) string {
	t.Helper()
	dir, err := m.Dir(cache)
	wantNoError(t, err)
	return dir
}

// locked acquires the builder's lock of a directory.
func locked(t *testing.T, dir string) *os.File {
	t.Helper()
	file, err := os.Create(dir + ".lock")
	wantNoError(t, err)
	if got, err := flock.Try(file); !got || err != nil {
		t.Fatalf("lock: %v, %v", got, err)
	}
	return file
}

func wantParts(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q lacks %q", err, part)
		}
	}
}

// onlyEntries checks that the directory contains exactly the paths.
func onlyEntries(t *testing.T, dir string, paths ...string) {
	t.Helper()
	entries, err := filepath.Glob(filepath.Join(dir, "*"))
	wantNoError(t, err)
	if !slices.Equal(entries, paths) {
		t.Errorf("the cache holds %q, want %q", entries, paths)
	}
}
