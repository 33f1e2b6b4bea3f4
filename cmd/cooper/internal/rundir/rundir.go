// SPDX-License-Identifier: Apache-2.0

// Package rundir manages the directory of a system that `cooper up` runs: the lock, the file names, and the
// information that other commands need about the running system. It does not start or stop processes.
package rundir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/cooper-cosi/cooper/internal/shellenv"
)

// A Dir is the directory of one system.
type Dir struct {
	path string
}

// Default returns the default directory of a system.
func Default() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache directory: %w; pass a directory with --data", err)
	}
	return filepath.Join(cache, "cooper", "up"), nil
}

// Option returns the command-line option that selects the directory, with a leading space. It is empty for
// the default directory.
func Option(path string) string {
	if standard, err := Default(); err == nil && standard == path {
		return ""
	}
	return " --data " + shellenv.Quote(path)
}

// At returns the directory at a path. It need not exist.
func At(path string) (Dir, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return Dir{}, fmt.Errorf("make the path %s absolute: %w", path, err)
	}
	return Dir{path: absolute}, nil
}

// Path returns the absolute path of the directory.
func (d Dir) Path() string { return d.path }

// ControlPlane returns the directory for the state of the API server.
func (d Dir) ControlPlane() string { return filepath.Join(d.path, "control-plane") }

// Store returns the directory for the data of one fake store.
func (d Dir) Store(name string) string { return filepath.Join(d.path, "stores", name) }

// Credentials returns the directory for the credential store of one driver.
func (d Dir) Credentials(driver string) string { return filepath.Join(d.path, "credentials", driver) }

// Kubeconfig returns the path of the administrator's kubeconfig.
func (d Dir) Kubeconfig() string { return filepath.Join(d.path, "kubeconfig") }

// Bin returns the directory for executables that `cooper env` adds to the PATH.
func (d Dir) Bin() string { return filepath.Join(d.path, "bin") }

// KubectlCache returns the directory for kubectl's discovery cache.
func (d Dir) KubectlCache() string { return filepath.Join(d.path, "kubectl-cache") }

// Log returns the path of the log file of the controller, the sidecars and the drivers.
func (d Dir) Log() string { return filepath.Join(d.path, "cooper.log") }

// Ports returns the path of the file with the ports of the last run.
func (d Dir) Ports() string { return filepath.Join(d.path, "ports.json") }

func (d Dir) lock() string   { return filepath.Join(d.path, "lock") }
func (d Dir) info() string   { return filepath.Join(d.path, "cooper.json") }
func (d Dir) marker() string { return filepath.Join(d.path, "CREATED-BY-COOPER") }

// Info is the published information about a running system.
type Info struct {
	// PID is the process that holds the lease of the directory.
	PID int `json:"pid"`
	// Started is when that process acquired the lease.
	Started time.Time `json:"started"`
	// Ready is true once everything runs and the sample is provisioned.
	Ready bool `json:"ready"`
	// Namespace is the namespace of the sample.
	Namespace string `json:"namespace,omitempty"`
	// Sockets is the directory of the drivers' sockets.
	Sockets string `json:"sockets,omitempty"`
	// Secrets are the names of the access Secrets of the sample.
	Secrets []string `json:"secrets,omitempty"`
	// StoreAdministrator holds the environment variables that give clients the root credential of the S3
	// store.
	StoreAdministrator map[string]string `json:"storeAdministrator,omitempty"`
	// Services holds the URLs of the running services by service name.
	Services map[string]string `json:"services,omitempty"`
}

// HeldError is returned when a running process uses the directory.
type HeldError struct {
	Path string
	Info Info
}

func (e *HeldError) Error() string {
	services := slices.Sorted(maps.Values(e.Info.Services))
	text := fmt.Sprintf("cooper is already running: process %d has used %s since %s", e.Info.PID, e.Path, e.Info.Started.Format(time.DateTime))
	if len(services) > 0 {
		text += " and listens on " + strings.Join(services, ", ")
	}
	option := Option(e.Path)
	return text + ". Use it (cooper env" + option + "), stop it (cooper down" + option + "), or start another system with --data DIR"
}

// NotOursError is returned when a directory holds files that Cooper did not write.
type NotOursError struct{ Path string }

func (e *NotOursError) Error() string {
	return fmt.Sprintf("directory %s contains files that cooper did not create: pass an empty or new directory with --data", e.Path)
}

// A Lease is the exclusive right to use a directory. The kernel releases it when the process ends, even after
// SIGKILL.
type Lease struct {
	Dir

	// Previous is the last information of an earlier process that was killed.
	Previous Info

	file *os.File
	held Info
}

// Acquire creates the directory if necessary and locks it for this process. It returns a *HeldError if a
// running process holds it, and a *NotOursError if it contains files that Cooper did not write.
func (d Dir) Acquire() (*Lease, error) {
	if err := d.claim(); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(d.lock(), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock file of directory %s: %w", d.path, err)
	}
	if err := lockExclusively(file); err != nil {
		held := &HeldError{Path: d.path}
		held.Info, _ = d.read() // used only in the message
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(held, file.Close())
		}
		return nil, errors.Join(fmt.Errorf("lock %s: %w", d.lock(), err), file.Close())
	}
	// Stale information of a killed process must not be published as this process's.
	previous, _ := d.read() // the file may not exist
	if err := os.Remove(d.info()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(fmt.Errorf("remove the state of an earlier run from directory %s: %w", d.path, err), file.Close())
	}
	lease := &Lease{Dir: d, Previous: previous, file: file, held: Info{PID: os.Getpid(), Started: time.Now().Truncate(time.Second)}}
	return lease, lease.Publish(func(*Info) {})
}

// lockPatience is how long to wait for readers, which hold the lock briefly.
const lockPatience = 200 * time.Millisecond

// lockExclusively locks the file. Readers hold the lock only for a moment, so it retries for lockPatience.
func lockExclusively(file *os.File) error {
	deadline := time.After(lockPatience)
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return err //nolint:wrapcheck // the caller checks for this error
		}
		select {
		case <-deadline:
			return err //nolint:wrapcheck // as above
		case <-time.After(lockPatience / 20):
		}
	}
}

// claim marks an empty directory as Cooper's.
func (d Dir) claim() error {
	if err := os.MkdirAll(d.path, 0o700); err != nil {
		return fmt.Errorf("create directory %s: %w", d.path, err)
	}
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return fmt.Errorf("list directory %s: %w", d.path, err)
	}
	if _, err := os.Stat(d.marker()); errors.Is(err, fs.ErrNotExist) && len(entries) > 0 {
		return &NotOursError{Path: d.path}
	}
	if err := os.WriteFile(d.marker(), []byte("cooper up keeps its files here.\n"), 0o600); err != nil {
		return fmt.Errorf("mark directory %s as used by cooper: %w", d.path, err)
	}
	return nil
}

// Clear removes the state of an earlier run. The caller must have ended its processes.
func (l *Lease) Clear() error {
	for _, path := range []string{l.ControlPlane(), filepath.Dir(l.Store("any")), filepath.Dir(l.Credentials("any"))} {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("remove the state of an earlier run, %s: %w", path, err)
		}
	}
	return nil
}

// Publish changes the published information atomically.
func (l *Lease) Publish(change func(*Info)) error {
	change(&l.held)
	content, err := json.MarshalIndent(l.held, "", "  ")
	if err != nil {
		return fmt.Errorf("publish the state: %w", err)
	}
	draft := l.info() + ".new"
	if err := os.WriteFile(draft, append(content, '\n'), 0o600); err != nil {
		return fmt.Errorf("publish the state: %w", err)
	}
	if err := os.Rename(draft, l.info()); err != nil {
		return fmt.Errorf("publish the state: %w", err)
	}
	return nil
}

// Release removes the published information and unlocks the directory.
func (l *Lease) Release() error {
	err := os.Remove(l.info())
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, l.file.Close())
}

// Holder returns the information that the process holding the directory has published. ok is false if no
// process holds it. The Info is empty while the process starts or stops.
func (d Dir) Holder() (info Info, ok bool, err error) {
	file, err := os.OpenFile(d.lock(), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return Info{}, false, nil
	}
	if err != nil {
		return Info{}, false, fmt.Errorf("check whether a process uses directory %s: %w", d.path, err)
	}
	defer file.Close()
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if err == nil {
		return Info{}, false, nil
	}
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		return Info{}, false, fmt.Errorf("check whether a process uses directory %s: %w", d.path, err)
	}
	info, err = d.read()
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return info, true, err
}

// Abandoned reports whether published information exists that its process could not remove. It is also true
// while a process uses the directory.
func (d Dir) Abandoned() bool {
	_, err := os.Stat(d.info())
	return err == nil
}

func (d Dir) read() (Info, error) {
	var info Info
	content, err := os.ReadFile(d.info())
	if err != nil {
		return info, fmt.Errorf("read the published state: %w", err)
	}
	if err := json.Unmarshal(content, &info); err != nil {
		return info, fmt.Errorf("read the published state in %s: %w", d.info(), err)
	}
	return info, nil
}
