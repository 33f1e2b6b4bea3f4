// SPDX-License-Identifier: Apache-2.0

package gobuild

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// shownLines is how many of the last lines of a failed build the error includes.
const shownLines = 15

// tick is how often the elapsed time of a running build is updated.
const tick = time.Second

// ErrNoGo means that there is no go command to build with.
var ErrNoGo = errors.New("no go command found")

// A Command is one run of go build that produces static and reproducible executables. All Commands use the
// same compile flags, so they share compiled packages.
type Command struct {
	// Name is the name of the build in messages.
	Name string
	// Dir is a directory in the module.
	Dir string
	// ModFile, if set, is used in place of go.mod, with its go.sum next to it.
	ModFile string
	// Packages are main packages of the module, in the syntax of go build.
	Packages []string
	// Output is a file, or a directory if the path ends in a slash.
	Output string
	// CompileFlags is the value of -gcflags.
	CompileFlags string
	// LinkFlags is added to -ldflags.
	LinkFlags string
	// Tags are build tags, separated by commas.
	Tags string
	// Platform is the target, such as linux/arm64. Empty means this machine.
	Platform string
	// Path is searched for the go command; empty means the PATH of this process.
	Path string
}

// Run builds the executables, and shows how many packages are compiled if any need compiling. Cancelling ctx
// ends the build.
func (c Command) Run(ctx context.Context, progress *Progress) error {
	goCommand, err := findGo(c.Path)
	if err != nil {
		return fmt.Errorf("cannot build %s: %w", c.Name, err)
	}
	b := &build{command: c, goCommand: goCommand, began: time.Now(), task: progress.start(c.Name)}
	return b.finish(b.run(ctx))
}

// Install builds a main package of a published module at the given version, and puts the executable into dir.
// It uses the dependency versions of that module, and shows how many packages are compiled. Cancelling ctx
// ends the build.
func Install(ctx context.Context, dir, main, version string, progress *Progress) error {
	goCommand, err := findGo("")
	if err != nil {
		return fmt.Errorf("cannot build %s: %w", main, err)
	}
	c := Command{Name: path.Base(main) + " " + version, Packages: []string{main + "@" + version}}
	b := &build{command: c, goCommand: goCommand, began: time.Now(), task: progress.start(c.Name), env: []string{"GOBIN=" + dir}}
	_, err = b.exec(ctx, []string{"install", "-v", "-ldflags", "-s -w"}, func(line string) bool {
		compiled := !strings.ContainsAny(line, " :") // a package path rather than a message
		if compiled {
			b.done++
		}
		return compiled
	})
	return b.finish(err)
}

// BuildModule is Install for a module whose go.mod has replace directives, which go install rejects. It downloads the
// module and builds the package in it, as its developers do.
func BuildModule(ctx context.Context, dir, main, module, version string, progress *Progress) error {
	goCommand, err := findGo("")
	if err != nil {
		return fmt.Errorf("cannot build %s: %w", main, err)
	}
	cmd := exec.CommandContext(ctx, goCommand, "mod", "download", "-json", module+"@"+version)
	cmd.Dir = dir
	out, err := cmd.Output()
	var downloaded struct{ Dir, Error string }
	if parsed := json.Unmarshal(out, &downloaded); err != nil || parsed != nil {
		return fmt.Errorf("cannot build %s %s: download its module: %w: %s", path.Base(main), version, errors.Join(err, parsed), downloaded.Error)
	}
	return Command{
		Name: path.Base(main) + " " + version, Dir: downloaded.Dir, Packages: []string{main}, Output: dir + "/",
	}.Run(ctx, progress)
}

// build is a running Command.
type build struct {
	command   Command
	goCommand string
	began     time.Time
	task      *task
	stale     map[string]bool // packages by path; true if they must be compiled
	total     int             // number of packages to compile
	done      int
	downloads int
	env       []string // variables in addition to those of Environment
}

// finish reports the result of the build.
func (b *build) finish(err error) error {
	if err != nil {
		b.task.end("failed")
		return err
	}
	if b.done == 0 {
		b.task.end("done in %s", b.elapsed())
		return nil
	}
	b.task.end("%d packages in %s", b.done, b.elapsed())
	return nil
}

func (b *build) run(ctx context.Context) error {
	b.task.set("looking for existing builds")
	// The go command considers a main package stale until it is installed, and these never are.
	const format = `{{.ImportPath}} {{if ne .Name "main"}}{{.Stale}}{{end}}`
	list, err := b.exec(ctx, []string{"list", "-deps", "-f", format}, nil)
	if err != nil {
		return err
	}
	b.stale = map[string]bool{}
	for line := range strings.Lines(list) {
		name, stale, _ := strings.Cut(strings.TrimSpace(line), " ")
		b.stale[name] = stale == "true"
		if b.stale[name] {
			b.total++
		}
	}
	args := []string{"build", "-v", "-ldflags", strings.TrimSpace("-s -w " + b.command.LinkFlags), "-o", b.command.Output}
	_, err = b.exec(ctx, args, b.compiled)
	return err
}

// compiled handles a line of go build -v, and reports whether it names a package.
func (b *build) compiled(line string) bool {
	stale, known := b.stale[line]
	if stale {
		b.done++
	}
	return known
}

func (b *build) elapsed() time.Duration { return time.Since(b.began).Round(time.Second) }

func (b *build) show() {
	switch {
	case b.total > 0:
		b.task.set("%d of %d packages, %s", b.done, b.total, b.elapsed())
	case b.done > 0:
		b.task.set("%d packages, %s", b.done, b.elapsed())
	case b.downloads > 0:
		b.task.set("%d modules downloaded, %s", b.downloads, b.elapsed())
	}
}

// exec runs the go command and returns its output. An error includes its standard error, without the lines
// that taken handles and those about downloads.
func (b *build) exec(ctx context.Context, args []string, taken func(line string) bool) (string, error) {
	args = append(args, "-trimpath", "-tags", b.command.Tags, "-modfile", b.command.ModFile)
	if b.command.CompileFlags != "" {
		args = append(args, "-gcflags", b.command.CompileFlags)
	}
	env, err := Environment(ctx, b.goCommand, b.command.Dir, b.command.Platform)
	if err != nil && ctx.Err() == nil {
		return "", fmt.Errorf("cannot build %s: %w", b.command.Name, err)
	}
	cmd := exec.CommandContext(ctx, b.goCommand, append(args, b.command.Packages...)...)
	cmd.Dir, cmd.Env = b.command.Dir, slices.Concat(env, b.env)
	// The go command starts compilers. In their own process group, all of them can be ended together.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	var output strings.Builder
	cmd.Stdout = &output
	reader, writer := io.Pipe()
	cmd.Stderr = writer
	said := make(chan []string)
	go func() { said <- b.follow(reader, taken) }()
	err = cmd.Run()
	_ = writer.Close() // closing an in-process pipe cannot fail
	messages := <-said
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("the build of %s was interrupted: %w", b.command.Name, context.Cause(ctx))
	case err != nil:
		return "", fmt.Errorf("cannot build %s: %s %s: %w; the last lines of its output:\n%s",
			b.command.Name, b.goCommand, args[0], err, strings.Join(messages[max(0, len(messages)-shownLines):], "\n"))
	}
	return output.String(), nil
}

// follow shows the progress of the go command until its standard error is closed, and returns the messages in
// it.
func (b *build) follow(from io.Reader, taken func(line string) bool) []string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(from); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	var messages []string
	for {
		select {
		case line, ok := <-lines:
			switch {
			case !ok:
				return messages
			case strings.HasPrefix(line, "go: downloading "):
				b.downloads++
			case taken == nil || !taken(line):
				messages = append(messages, line)
			}
		case <-ticker.C:
		}
		b.show()
	}
}

func findGo(search string) (string, error) {
	search = cmp.Or(search, os.Getenv("PATH"))
	for _, dir := range filepath.SplitList(search) {
		candidate := filepath.Join(dir, "go")
		if info, err := os.Stat(candidate); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return filepath.Abs(candidate)
		}
	}
	return "", fmt.Errorf("%w in PATH %q; install Go (https://go.dev/dl) or add its bin directory to PATH", ErrNoGo, search)
}

// Environment returns the environment for a go command that produces the same output from the same source for
// all users. It is the environment of this process with most Go settings reset. From the process's environment
// and go env -w, it keeps only settings for the sources of modules, the locations of files, and the Go version.
func Environment(ctx context.Context, goCommand, dir, platform string) ([]string, error) {
	system, arch, _ := strings.Cut(cmp.Or(platform, runtime.GOOS+"/"+runtime.GOARCH), "/")
	// Distributions may build Go with other defaults, such as a newer processor level or FIPS.
	fixed := []string{
		"GOFLAGS=-trimpath", "GOWORK=off", "GO111MODULE=on", "CGO_ENABLED=0", "GOOS=" + system, "GOARCH=" + arch,
		"GOAMD64=v1", "GOARM64=v8.0", "GOFIPS140=off", "GOEXPERIMENT=",
	}
	ask := exec.CommandContext(ctx, goCommand, "env", "-json")
	ask.Dir, ask.Env = dir, append(os.Environ(), fixed...)
	answer, err := ask.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("run %s env: %w\n%s", goCommand, err, exit.Stderr)
	} else if err != nil {
		return nil, fmt.Errorf("run %s env: %w", goCommand, err)
	}
	variables := map[string]string{}
	if err := json.Unmarshal(answer, &variables); err != nil {
		return nil, fmt.Errorf("run %s env: %w", goCommand, err)
	}
	env := os.Environ()
	const kept = " GOAUTH GOCACHE GOCACHEPROG GOINSECURE GOMODCACHE GONOPROXY GONOSUMDB GOPATH GOPRIVATE GOPROXY GOSUMDB GOTMPDIR GOTOOLCHAIN GOVCS "
	for name, value := range variables {
		if !strings.Contains(kept, " "+name+" ") {
			value = "" // same as unset, because GOENV is off
		}
		env = append(env, name+"="+value)
	}
	if os.Getenv("GOGC") == "" {
		// With less garbage collection the compiler uses a tenth less CPU. The output is the same.
		env = append(env, "GOGC=300")
	}
	return append(append(env, fixed...), "GOENV=off"), nil
}
