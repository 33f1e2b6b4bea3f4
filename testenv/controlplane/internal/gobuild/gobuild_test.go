// SPDX-License-Identifier: Apache-2.0

package gobuild_test

import (
	"bufio"
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

	"github.com/cooper-cosi/cooper/testenv/controlplane/internal/flock"
	"github.com/cooper-cosi/cooper/testenv/controlplane/internal/gobuild"
	"github.com/cooper-cosi/cooper/testenv/controlplane/internal/helpertest"
)

func TestMain(m *testing.M) { helpertest.Main(m, helper) }

// helper builds the tiny module in a cache directory. It tells its progress and its result, a line each.
func helper(cache string) {
	dir, err := gobuild.Build(context.Background(), tiny(hello), gobuild.Options{ //nolint:forbidigo // a main function
		CacheDir: cache,
		Progress: func(message string) { fmt.Println(message) },
	})
	fmt.Println("result", dir, err)
}

const hello = `package main

var greeting = "nothing"

func main() { println(greeting) }
`

// tiny is a module with one program.
func tiny(source string) gobuild.Module {
	return gobuild.Module{
		Name: "tiny", Version: "v1",
		Template: fstest.MapFS{
			"gomod.txt":         {Data: []byte("module tiny\n\ngo 1.26.0\n")},
			"hello/main.go.txt": {Data: []byte(source)},
		},
		Programs:  []string{"hello"},
		LinkFlags: "-X main.greeting=linked",
		Expect:    "a second",
	}
}

func TestTheFirstCallBuildsAndTheSecondFindsIt(t *testing.T) {
	t.Parallel()
	cache := filepath.Join(t.TempDir(), "new", "cache")
	var told []string
	o := gobuild.Options{CacheDir: cache, Progress: func(m string) { told = append(told, m) }}
	if dir, ok := gobuild.Built(tiny(hello), cache); ok {
		t.Fatalf("found %s before it was built", dir)
	}
	first, err := gobuild.Build(t.Context(), tiny(hello), o)
	if err != nil {
		t.Fatal(err)
	}
	second, err := gobuild.Build(t.Context(), tiny(hello), gobuild.Options{CacheDir: cache, Path: t.TempDir()})
	if err != nil || second != first {
		t.Errorf("second call: %q, %v; want %q without needing go", second, err, first)
	}
	if dir, ok := gobuild.Built(tiny(hello), cache); !ok || dir != first {
		t.Errorf("Built says %q, %v", dir, ok)
	}
	if want := []string{"building hello v1 (a second, once)"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
	output, err := exec.CommandContext(t.Context(), filepath.Join(first, "hello")).CombinedOutput()
	if err != nil || strings.TrimSpace(string(output)) != "linked" {
		t.Errorf("the program says %q, %v; want what the link flags set", output, err)
	}
	onlyEntries(t, cache, first, first+".lock")
}

func TestAnotherSourceIsAnotherBuild(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	one, _ := gobuild.Built(tiny(hello), cache)
	two, _ := gobuild.Built(tiny(hello+"\n// changed\n"), cache)
	if one == two {
		t.Errorf("both are %s", one)
	}
}

func TestOfTwoProcessesOneBuildsWhileTheOtherWaits(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	dir, _ := gobuild.Built(tiny(hello), cache)
	file, err := os.Create(dir + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := flock.Try(file); !got || err != nil {
		t.Fatalf("lock: %v, %v", got, err)
	}
	outputs := []*bufio.Scanner{startHelper(t, cache), startHelper(t, cache)}
	for _, output := range outputs {
		if !output.Scan() || !strings.HasPrefix(output.Text(), "waiting for ") {
			t.Fatalf("helper says %q while the lock is held, want that it waits", output.Text())
		}
	}
	if err := flock.Release(file); err != nil {
		t.Fatal(err)
	}
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
	cmd, lines := helpertest.Start(t, cache)
	t.Cleanup(func() { _ = cmd.Wait() })
	return lines
}

func TestWhatAKilledBuilderLeftIsRemoved(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	dir, _ := gobuild.Built(tiny(hello), cache)
	if err := os.MkdirAll(filepath.Join(dir+".tmp-1", "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := gobuild.Build(t.Context(), tiny(hello), gobuild.Options{CacheDir: cache}); err != nil {
		t.Fatal(err)
	}
	onlyEntries(t, cache, dir, dir+".lock")
}

func TestABuildThatFailsShowsTheLastLinesAndLeavesNothing(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	broken := tiny("package main\n\nfunc main() { undefined() }\n")
	_, err := gobuild.Build(t.Context(), broken, gobuild.Options{CacheDir: cache})
	wantParts(t, err, "cannot build tiny v1", "exit status 1", "the last lines of its output", "undefined: undefined")
	dir, _ := gobuild.Built(broken, cache)
	onlyEntries(t, cache, dir+".lock")
}

func TestWithoutGoTheErrorSaysWhatToInstall(t *testing.T) {
	t.Parallel()
	_, err := gobuild.Build(t.Context(), tiny(hello), gobuild.Options{CacheDir: t.TempDir(), Path: t.TempDir()})
	if !errors.Is(err, gobuild.ErrNoGo) {
		t.Errorf("%v, want ErrNoGo", err)
	}
	wantParts(t, err, "cannot build tiny", "no go command found in PATH", "install Go")
}

func TestACacheDirectoryThatCannotBeMadeIsNamed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := gobuild.Build(t.Context(), tiny(hello), gobuild.Options{CacheDir: filepath.Join(file, "cache")})
	wantParts(t, err, "cannot keep the programs of tiny", file, "make the directory writable or name another one")
}

func TestTheEndOfTheContextEndsTheBuild(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	_, err := gobuild.Build(ctx, tiny(hello), gobuild.Options{CacheDir: cache, Progress: func(string) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want canceled", err)
	}
	wantParts(t, err, "was interrupted")
	dir, _ := gobuild.Built(tiny(hello), cache)
	onlyEntries(t, cache, dir+".lock")
}

func TestTheEndOfTheContextEndsTheWaitForAnotherBuilder(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	dir, _ := gobuild.Built(tiny(hello), cache)
	file, err := os.Create(dir + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := flock.Try(file); !got || err != nil {
		t.Fatalf("lock: %v, %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = gobuild.Build(ctx, tiny(hello), gobuild.Options{CacheDir: cache, Progress: func(string) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want canceled", err)
	}
}

func TestTheCallersGoSettingsDoNotMatter(t *testing.T) {
	t.Setenv("GOFLAGS", "-mod=vendor")
	t.Setenv("GOOS", "plan9")
	t.Setenv("GOWORK", filepath.Join(t.TempDir(), "missing.work"))
	if _, err := gobuild.Build(t.Context(), tiny(hello), gobuild.Options{CacheDir: t.TempDir()}); err != nil {
		t.Error(err)
	}
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

// onlyEntries checks that the directory holds exactly the paths.
func onlyEntries(t *testing.T, dir string, paths ...string) {
	t.Helper()
	entries, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(entries, paths) {
		t.Errorf("the cache holds %q, want %q", entries, paths)
	}
}
