// SPDX-License-Identifier: Apache-2.0

// Package rundir is the directory of one `cooper up`: who uses it, where its
// files are, and what other commands need to know of what runs. It must not
// start or stop anything.
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

	"github.com/cooper-cosi/cooper/cmd/internal/shellenv"
)

// A Dir is the directory of one system.
type Dir struct {
	path string
}

// Default is where a system keeps its files when nobody says otherwise.
func Default() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no place for files: %w; say where with --data DIR", err)
	}
	return filepath.Join(cache, "cooper", "up"), nil
}

// Option is the option, with a space before it, by which a command finds the
// directory; it is empty for the default one.
func Option(path string) string {
	if standard, err := Default(); err == nil && standard == path {
		return ""
	}
	return " --data " + shellenv.Quote(path)
}

// At returns the directory at a path, which need not exist.
func At(path string) (Dir, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return Dir{}, fmt.Errorf("directory %s: %w", path, err)
	}
	return Dir{path: absolute}, nil
}

// Path is the absolute path of the directory.
func (d Dir) Path() string { return d.path }

// ControlPlane is for the state of the API server.
func (d Dir) ControlPlane() string { return filepath.Join(d.path, "control-plane") }

// Store is for the data of one fake store.
func (d Dir) Store(name string) string { return filepath.Join(d.path, "stores", name) }

// Credentials is for the credential store of one driver.
func (d Dir) Credentials(driver string) string { return filepath.Join(d.path, "credentials", driver) }

// Kubeconfig is the kubeconfig file of the administrator.
func (d Dir) Kubeconfig() string { return filepath.Join(d.path, "kubeconfig") }

// Bin is for executables that the user gets on the PATH.
func (d Dir) Bin() string { return filepath.Join(d.path, "bin") }

// KubectlCache is for what kubectl remembers of the API server.
func (d Dir) KubectlCache() string { return filepath.Join(d.path, "kubectl-cache") }

// Log is the file with the logs of controller, sidecars and drivers.
func (d Dir) Log() string { return filepath.Join(d.path, "cooper.log") }

// Ports is for the ports of the last run.
func (d Dir) Ports() string { return filepath.Join(d.path, "ports.json") }

func (d Dir) lock() string   { return filepath.Join(d.path, "lock") }
func (d Dir) info() string   { return filepath.Join(d.path, "cooper.json") }
func (d Dir) marker() string { return filepath.Join(d.path, "CREATED-BY-COOPER") }

// Info is what other processes can read about what runs.
type Info struct {
	// PID is the process that holds the directory.
	PID int `json:"pid"`
	// Started is when it took hold of it.
	Started time.Time `json:"started"`
	// Ready is true once everything runs and the sample is provisioned.
	Ready bool `json:"ready"`
	// Namespace is where the sample was applied.
	Namespace string `json:"namespace,omitempty"`
	// Sockets is the directory of the drivers' sockets.
	Sockets string `json:"sockets,omitempty"`
	// Secrets are the names of the access Secrets of the sample.
	Secrets []string `json:"secrets,omitempty"`
	// StoreAdministrator are the variables by which clients act as root of the S3
	// store.
	StoreAdministrator map[string]string `json:"storeAdministrator,omitempty"`
	// Services are the URLs of what runs, by what it is.
	Services map[string]string `json:"services,omitempty"`
}

// HeldError says that a living process uses the directory.
type HeldError struct {
	Path string
	Info Info
}

func (e *HeldError) Error() string {
	services := slices.Sorted(maps.Values(e.Info.Services))
	text := fmt.Sprintf("cooper runs already: process %d uses %s since %s", e.Info.PID, e.Path, e.Info.Started.Format(time.DateTime))
	if len(services) > 0 {
		text += " and listens on " + strings.Join(services, ", ")
	}
	option := Option(e.Path)
	return text + ". Use it (cooper env" + option + "), end it (cooper down" + option + "), or start another one with --data DIR"
}

// NotOursError says that a directory holds something else.
type NotOursError struct{ Path string }

func (e *NotOursError) Error() string {
	return fmt.Sprintf("%s holds files that cooper did not make: nothing was touched. Name an empty or a new directory", e.Path)
}

// A Lease is the right to use a directory. The kernel takes it back when the
// process ends, kill -9 included.
type Lease struct {
	Dir

	// Previous is what the last process had published if it was killed.
	Previous Info

	file *os.File
	held Info
}

// Acquire makes the directory if needed and takes it for this process. It
// returns a *HeldError while a living process has it, and a *NotOursError if
// it holds files of somebody else.
func (d Dir) Acquire() (*Lease, error) {
	if err := d.claim(); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(d.lock(), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("use directory %s: %w", d.path, err)
	}
	if err := lockExclusively(file); err != nil {
		held := &HeldError{Path: d.path}
		held.Info, _ = d.read() // for the message only
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(held, file.Close())
		}
		return nil, errors.Join(fmt.Errorf("lock %s: %w", d.lock(), err), file.Close())
	}
	// What a killed process left there must not be taken for our own word.
	previous, _ := d.read() // there need not be any
	if err := os.Remove(d.info()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(fmt.Errorf("use directory %s: %w", d.path, err), file.Close())
	}
	lease := &Lease{Dir: d, Previous: previous, file: file, held: Info{PID: os.Getpid(), Started: time.Now().Truncate(time.Second)}}
	return lease, lease.Publish(func(*Info) {})
}

// lockPatience is how long a lock that is only looked at may be in the way.
const lockPatience = 200 * time.Millisecond

// lockExclusively locks the file. Those who only look hold the lock for a
// moment, so it tries for a little longer than that.
func lockExclusively(file *os.File) error {
	deadline := time.After(lockPatience)
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return err //nolint:wrapcheck // the caller recognizes a held lock by this error
		}
		select {
		case <-deadline:
			return err //nolint:wrapcheck // as above
		case <-time.After(lockPatience / 20):
		}
	}
}

// claim marks an empty directory as ours.
func (d Dir) claim() error {
	if err := os.MkdirAll(d.path, 0o700); err != nil {
		return fmt.Errorf("use directory %s: %w", d.path, err)
	}
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return fmt.Errorf("use directory %s: %w", d.path, err)
	}
	if _, err := os.Stat(d.marker()); errors.Is(err, fs.ErrNotExist) && len(entries) > 0 {
		return &NotOursError{Path: d.path}
	}
	if err := os.WriteFile(d.marker(), []byte("cooper up keeps its files here.\n"), 0o600); err != nil {
		return fmt.Errorf("use directory %s: %w", d.path, err)
	}
	return nil
}

// Clear removes the state of an earlier run. The caller has ended the
// processes that used it.
func (l *Lease) Clear() error {
	for _, path := range []string{l.ControlPlane(), filepath.Dir(l.Store("any")), filepath.Dir(l.Credentials("any"))} {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("clear %s: %w", path, err)
		}
	}
	return nil
}

// Publish changes what other processes can read. They see the old text or the
// whole new one.
func (l *Lease) Publish(change func(*Info)) error {
	change(&l.held)
	content, err := json.MarshalIndent(l.held, "", "  ")
	if err != nil {
		return fmt.Errorf("publish what runs: %w", err)
	}
	draft := l.info() + ".new"
	if err := os.WriteFile(draft, append(content, '\n'), 0o600); err != nil {
		return fmt.Errorf("publish what runs: %w", err)
	}
	if err := os.Rename(draft, l.info()); err != nil {
		return fmt.Errorf("publish what runs: %w", err)
	}
	return nil
}

// Release frees the directory and takes back what was published.
func (l *Lease) Release() error {
	err := os.Remove(l.info())
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, l.file.Close())
}

// Holder returns what the process that uses the directory has published; ok is
// false if there is none. While the process starts or ends it has published
// nothing: the Info is then empty.
func (d Dir) Holder() (info Info, ok bool, err error) {
	file, err := os.OpenFile(d.lock(), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return Info{}, false, nil
	}
	if err != nil {
		return Info{}, false, fmt.Errorf("look into %s: %w", d.path, err)
	}
	defer file.Close()
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if err == nil {
		return Info{}, false, nil
	}
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		return Info{}, false, fmt.Errorf("look into %s: %w", d.path, err)
	}
	info, err = d.read()
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return info, true, err
}

// Abandoned says whether a process that used the directory could not take back
// what it had published. While one uses it, that is true as well.
func (d Dir) Abandoned() bool {
	_, err := os.Stat(d.info())
	return err == nil
}

func (d Dir) read() (Info, error) {
	var info Info
	content, err := os.ReadFile(d.info())
	if err != nil {
		return info, fmt.Errorf("read what runs: %w", err)
	}
	if err := json.Unmarshal(content, &info); err != nil {
		return info, fmt.Errorf("read what runs from %s: %w", d.info(), err)
	}
	return info, nil
}
