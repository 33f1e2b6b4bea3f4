// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/cooper-cosi/cooper/internal/freeport"
)

const (
	access = "benchbenchbench"
	secret = "benchbenchbenchbench"
)

// process starts a store as a program of its own and waits until it responds. dir is removed with it.
func process(ctx context.Context, name, program string, env []string, args func(address, dir string) []string) (*target, error) {
	if program == "" {
		return nil, nil
	}
	port, err := freeport.Reserve()
	if err != nil {
		return nil, fmt.Errorf("prepare %s: %w", name, err)
	}
	address := port.Address()
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("prepare %s: %w", name, err), port.Release())
	}
	begin := time.Now()
	cmd := exec.CommandContext(ctx, program, args(address, dir)...)
	cmd.Env = append(os.Environ(), env...)
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", name, err), os.RemoveAll(dir), port.Release())
	}
	t := &target{name: name, url: "http://" + address, access: access, secret: secret, stop: func() error {
		_ = cmd.Process.Signal(syscall.SIGKILL) // it may be gone already
		_ = cmd.Wait()                          // killed: always an error
		return errors.Join(os.RemoveAll(dir), port.Release())
	}}
	if err := responds(ctx, t.url); err != nil {
		return nil, errors.Join(fmt.Errorf("%s does not respond: %w", name, err), t.stop())
	}
	t.started = time.Since(begin)
	return t, nil
}

func responds(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return fmt.Errorf("make a request: %w", err)
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			return resp.Body.Close()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

func startVersity(ctx context.Context, s settings) (*target, error) {
	return process(ctx, "versitygw", s.versity, nil, func(address, dir string) []string {
		return []string{"--port", address, "--access", access, "--secret", secret, "--quiet", "--keep-alive", "posix", "--sidecar", filepath.Join(dir, "meta"), mkdir(dir, "data")}
	})
}

func startMinIO(ctx context.Context, s settings) (*target, error) {
	env := []string{"MINIO_ROOT_USER=" + access, "MINIO_ROOT_PASSWORD=" + secret, "MINIO_BROWSER=off", "MINIO_CI_CD=1"}
	return process(ctx, "minio", s.minio, env, func(address, dir string) []string {
		return []string{"server", "--quiet", "--address", address, "--certs-dir", mkdir(dir, "certs"), mkdir(dir, "data")}
	})
}

// mkdir makes the directories that a program expects.
func mkdir(dir, name string) string {
	for _, d := range []string{name, "meta"} {
		_ = os.MkdirAll(filepath.Join(dir, d), 0o700) // the program says so if it is missing
	}
	return filepath.Join(dir, name)
}
