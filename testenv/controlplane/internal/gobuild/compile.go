// SPDX-License-Identifier: Apache-2.0

package gobuild

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// shownLines is how many of the last lines of a failed build its error repeats.
const shownLines = 15

func (m Module) compile(ctx context.Context, src, bin, path string) error {
	goCommand, err := findGo(path)
	if err != nil {
		return fmt.Errorf("cannot build %s: %w", m.Name, err)
	}
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return fmt.Errorf("cannot build %s: %w", m.Name, err)
	}
	args := []string{"build", "-trimpath", "-ldflags", m.LinkFlags, "-o", bin + string(os.PathSeparator)}
	for _, p := range m.Programs {
		args = append(args, "./"+p)
	}
	var output bytes.Buffer
	cmd := exec.CommandContext(ctx, goCommand, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = src, &output, &output
	cmd.Env = buildEnv(os.Environ())
	// The go command starts compilers; a group of their own lets all of them be ended together.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("the build of %s was interrupted: %w", m.Name, context.Cause(ctx))
		}
		return fmt.Errorf("cannot build %s %s: %s build: %w; the last lines of its output:\n%s",
			m.Name, m.Version, goCommand, err, lastLines(output.String(), shownLines))
	}
	return nil
}

func findGo(path string) (string, error) {
	if path == "" {
		path = os.Getenv("PATH")
	}
	for _, dir := range filepath.SplitList(path) {
		candidate := filepath.Join(dir, "go")
		if info, err := os.Stat(candidate); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return filepath.Abs(candidate)
		}
	}
	return "", fmt.Errorf("%w in PATH %q; install Go (https://go.dev/dl) or add its bin directory to PATH", ErrNoGo, path)
}

// buildEnv is env without what would make the result depend on the caller's own module or platform settings.
func buildEnv(env []string) []string {
	const ours = " GOFLAGS GOWORK GO111MODULE GOOS GOARCH CGO_ENABLED GOEXPERIMENT "
	kept := make([]string, 0, len(env))
	for _, e := range env {
		name, _, _ := strings.Cut(e, "=")
		if !strings.Contains(ours, " "+name+" ") {
			kept = append(kept, e)
		}
	}
	return append(kept, "GOFLAGS=", "GOWORK=off", "GO111MODULE=on", "CGO_ENABLED=0",
		"GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
}

func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return strings.Join(lines, "\n")
}
