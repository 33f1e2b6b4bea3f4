// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/cooper-cosi/cooper/internal/freeport"
)

// process is a running store.
type process struct {
	place
	// started is the time until it responded.
	started time.Duration
	command *exec.Cmd
	stop    func() error
}

// own starts a built-in store.
func own(name string) func(context.Context) (*process, error) {
	return func(ctx context.Context) (*process, error) {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("find the executable of this program: %w", err)
		}
		p := &process{command: exec.CommandContext(ctx, self)}
		p.command.Env, p.command.Stderr = append(os.Environ(), serveMark+"="+name), os.Stderr
		in, inErr := p.command.StdinPipe()
		out, outErr := p.command.StdoutPipe()
		begin := time.Now()
		if err := errors.Join(inErr, outErr, p.command.Start()); err != nil {
			return nil, fmt.Errorf("start the store: %w", err)
		}
		p.stop = func() error { return errors.Join(in.Close(), p.command.Wait()) }
		if err := json.NewDecoder(out).Decode(&p.place); err != nil {
			return nil, errors.Join(fmt.Errorf("start the store: %w", err), p.stop())
		}
		return p, p.await(ctx, begin)
	}
}

// program starts a third-party program at a free port, with a temporary directory.
func program(find func(context.Context) ([]string, error), at place, env []string, arguments func(address, dir string) []string) func(context.Context) (*process, error) {
	return func(ctx context.Context) (*process, error) {
		command, err := find(ctx)
		if err != nil {
			return nil, err
		}
		port, err := freeport.Reserve()
		if err != nil {
			return nil, err
		}
		dir, err := os.MkdirTemp("", "bench-")
		if err != nil {
			return nil, errors.Join(fmt.Errorf("create a directory for the store: %w", err), port.Release())
		}
		p := &process{place: at, command: exec.CommandContext(ctx, command[0], append(command[1:], arguments(port.Address(), dir)...)...)}
		p.URL, p.command.Dir = "http://"+port.Address(), dir
		p.command.Env = append(os.Environ(), env...)
		begin := time.Now()
		if err := p.command.Start(); err != nil {
			return nil, errors.Join(fmt.Errorf("start the store: %w", err), os.RemoveAll(dir), port.Release())
		}
		p.stop = func() error {
			_ = p.command.Process.Kill() // it may have exited
			_ = p.command.Wait()         // always an error after a kill
			return errors.Join(os.RemoveAll(dir), port.Release())
		}
		return p, p.await(ctx, begin)
	}
}

// await returns when the process responds with any status, or stops it.
func (p *process) await(ctx context.Context, begin time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	client := plain{http.DefaultClient}
	for {
		var refused statusError
		err := client.do(ctx, http.MethodGet, p.URL, nil, nil)
		if err == nil || errors.As(err, &refused) {
			p.started = time.Since(begin)
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("the store does not respond: %w", err), p.stop())
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// memory returns the resident memory of the process in bytes, or 0 without /proc. It does not include the
// page cache, in which the fakes keep the bodies of objects.
func (p *process) memory() int64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	return residentIn(string(text))
}

// residentIn reads VmRSS, which is in KiB.
func residentIn(status string) int64 {
	_, rest, _ := strings.Cut(status, "VmRSS:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	kib, _ := strconv.ParseInt(fields[0], 10, 64)
	return kib << 10
}
