// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Launch describes how to start one instance of a driver.
type Launch struct {
	// Environment is the complete environment of the process, as KEY=value.
	Environment []string
	// Arguments are appended to the command.
	Arguments []string
	// Directory is the working directory of the process. It is empty, and no other process uses it.
	Directory string
	// Stdout and Stderr receive the driver's output. They may be written concurrently.
	Stdout, Stderr io.Writer
}

// Launcher starts a driver. Exec runs a command; a Go program can also run a driver in process.
type Launcher interface {
	Launch(ctx context.Context, launch Launch) (Instance, error)
}

// Instance is a running driver.
type Instance interface {
	// Kill ends the driver immediately, like kill -9, and waits for its end.
	Kill() error
	// Terminate asks the driver to exit, like SIGTERM.
	Terminate() error
	// Done is closed when the driver has exited.
	Done() <-chan struct{}
	// ExitCode is the exit code once Done is closed, or -1 after a signal.
	ExitCode() int
}

// Usage is an Instance that can report its resource usage.
type Usage interface {
	// Usage returns counts, such as the number of open files, that must not grow with the number of calls.
	Usage() (map[string]int, error)
	// OpenFiles returns the paths of regular files that the driver has open for writing.
	OpenFiles() ([]string, error)
}

// Exec starts a driver by its command line.
type Exec struct {
	// Command is the program and its arguments.
	Command []string
}

// Launch implements Launcher.
func (e Exec) Launch(_ context.Context, launch Launch) (Instance, error) {
	if len(e.Command) == 0 {
		return nil, fmt.Errorf("start the driver: the command is empty")
	}
	program, err := exec.LookPath(e.Command[0])
	if err != nil {
		return nil, fmt.Errorf("start the driver: %w", err)
	}
	if program, err = filepath.Abs(program); err != nil {
		return nil, fmt.Errorf("start the driver: %w", err)
	}
	// The instance outlives the context of the case that starts it.
	command := exec.Command(program, append(append([]string{}, e.Command[1:]...), launch.Arguments...)...) //nolint:noctx // see above
	command.Env = launch.Environment
	command.Dir = launch.Directory
	command.Stdout, command.Stderr = launch.Stdout, launch.Stderr
	command.SysProcAttr = ownGroup()
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start the driver: %w", err)
	}
	instance := &process{command: command, done: make(chan struct{})}
	go instance.wait()
	return instance, nil
}

// process is a driver started by Exec in its own process group.
type process struct {
	command *exec.Cmd
	done    chan struct{}
}

func (p *process) wait() {
	// Only the exit code matters, which ProcessState contains.
	_ = p.command.Wait()
	close(p.done)
}

func (p *process) Kill() error {
	err := p.signal(syscall.SIGKILL)
	<-p.done
	return err
}

func (p *process) Terminate() error { return p.signal(syscall.SIGTERM) }

func (p *process) signal(signal syscall.Signal) error {
	select {
	case <-p.done:
		return nil
	default:
	}
	if err := syscall.Kill(-p.command.Process.Pid, signal); err != nil {
		return fmt.Errorf("send %s to the driver: %w", signal, err)
	}
	return nil
}

func (p *process) Done() <-chan struct{} { return p.done }

func (p *process) ExitCode() int { return p.command.ProcessState.ExitCode() }

func (p *process) Usage() (map[string]int, error) {
	files, err := os.ReadDir(p.proc("fd"))
	if err != nil {
		return nil, fmt.Errorf("count the open files of the driver: %w", err)
	}
	return map[string]int{"open files": len(files)}, nil
}

func (p *process) OpenFiles() ([]string, error) {
	files, err := os.ReadDir(p.proc("fd"))
	if err != nil {
		return nil, fmt.Errorf("list the open files of the driver: %w", err)
	}
	var paths []string
	for _, file := range files {
		path, err := os.Readlink(p.proc("fd", file.Name()))
		// A file may have been closed already; /dev, sockets and pipes do not count.
		if err != nil || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "/dev/") || !p.writes(file.Name()) {
			continue
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// writes reports whether the descriptor is open for writing: the octal flags end in 1 or 2.
func (p *process) writes(descriptor string) bool {
	info, err := os.ReadFile(p.proc("fdinfo", descriptor))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(info)) {
		if flags, found := strings.CutPrefix(line, "flags:"); found {
			flags = strings.TrimSpace(flags)
			return strings.HasSuffix(flags, "1") || strings.HasSuffix(flags, "2")
		}
	}
	return false
}

func (p *process) proc(path ...string) string {
	return filepath.Join(append([]string{"/proc", strconv.Itoa(p.command.Process.Pid)}, path...)...)
}
