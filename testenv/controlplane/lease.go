// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cooper-cosi/cooper/internal/flock"
)

// temporaryPrefix is the prefix of directory names without a DataDir. sweepTemporary looks for it.
const temporaryPrefix = "cooper-controlplane-"

// takePatience is how long a start tries to acquire a held lease.
const takePatience = 200 * time.Millisecond

// Holder describes the process that uses a data directory.
type Holder struct {
	PID     int       `json:"pid"`
	Command string    `json:"command"`
	Started time.Time `json:"started"`
	// Server is the URL of the API server, empty during startup.
	Server string `json:"server,omitempty"`
}

// HeldError reports that a running process uses the data directory.
type HeldError struct {
	Dir    string
	Holder Holder
}

// Error names the directory and the process, and says what to do.
func (e *HeldError) Error() string {
	return fmt.Sprintf("the data directory %s is in use by process %d (%s) since %s; stop that process or use another directory",
		e.Dir, e.Holder.PID, e.Holder.Command, e.Holder.Started.Format(time.DateTime))
}

// HolderOf returns the running process that uses the data directory, and whether there is one.
func HolderOf(dataDir string) (Holder, bool, error) {
	file, err := lockExisting(dataDir)
	if held, ok := errors.AsType[*HeldError](err); ok {
		return held.Holder, true, nil
	}
	if err != nil || file == nil {
		return Holder{}, false, err
	}
	return Holder{}, false, flock.Release(file)
}

// EndOrphans ends the processes that a killed process left running on the data directory. It returns a
// *HeldError, and ends nothing, if a running process uses the directory.
func EndOrphans(dataDir string) error {
	file, err := lockExisting(dataDir)
	if err != nil || file == nil {
		return err
	}
	l, err := existing(dataDir)
	if err == nil {
		err = endProcesses(l)
	}
	return errors.Join(err, flock.Release(file))
}

// lockExisting is lockLease for a directory that may not exist. The file is nil if it does not.
func lockExisting(dataDir string) (*os.File, error) {
	l, err := existing(dataDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // a missing directory is not an error
	}
	if err != nil {
		return nil, err
	}
	return lockLease(l, os.O_CREATE)
}

// lease is the exclusive right to use a directory. The kernel releases it when the process ends, even after
// SIGKILL.
type lease struct {
	file *os.File
	// alive is a locked file. The components exit when its lock is released.
	alive *os.File
}

// acquire prepares the directory for exclusive use by this process, and ends the processes that an earlier
// one left running.
func acquire(dataDir string) (layout, *lease, error) {
	if dataDir == "" {
		return acquireTemporary()
	}
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return layout{}, nil, fmt.Errorf("cannot use the data directory: %w", err)
	}
	layout, err := existing(dataDir)
	if err != nil {
		return layout, nil, err
	}
	l, err := take(layout)
	if err != nil {
		return layout, nil, err
	}
	if err := endProcesses(layout); err != nil {
		return layout, nil, errors.Join(err, l.release())
	}
	return layout, l, nil
}

// existing returns the layout of a directory by its canonical path, which appears in the arguments of
// processes.
func existing(dataDir string) (layout, error) {
	dir, err := filepath.Abs(dataDir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return layout{}, fmt.Errorf("cannot use the data directory: %w", err)
	}
	return layout{dir: dir}, nil
}

// acquireTemporary creates a new directory. It renames the directory to its final name only once it is
// leased, so that sweepTemporary in another process never sees it without a lease.
func acquireTemporary() (layout, *lease, error) {
	root, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		return layout{}, nil, fmt.Errorf("create a temporary directory: %w", err)
	}
	draft, err := os.MkdirTemp(root, "."+temporaryPrefix)
	if err != nil {
		return layout{}, nil, fmt.Errorf("create a temporary directory: %w", err)
	}
	l, err := take(layout{dir: draft})
	if err != nil {
		return layout{}, nil, err
	}
	final := filepath.Join(root, strings.TrimPrefix(filepath.Base(draft), "."))
	if err := os.Rename(draft, final); err != nil {
		return layout{}, nil, errors.Join(fmt.Errorf("create a temporary directory: %w", err), l.release(), os.RemoveAll(draft))
	}
	return layout{dir: final, temporary: true}, l, nil
}

// take acquires the lease of the directory for this process and records the holder, or returns a *HeldError.
// Readers hold the lock only for a moment, so it retries for takePatience.
func take(l layout) (*lease, error) { return takeWith(l, os.O_CREATE) }

// takeOver is take for a directory that another process created and may be removing: it creates no file
// there. If there is no lease, the error is os.ErrNotExist.
func takeOver(l layout) (*lease, error) { return takeWith(l, 0) }

func takeWith(l layout, create int) (*lease, error) {
	deadline := time.After(takePatience)
	for {
		file, err := lockLease(l, create)
		if err == nil {
			taken := &lease{file: file}
			if err := taken.describe(l, ""); err != nil {
				return nil, errors.Join(err, taken.release())
			}
			return taken, nil
		}
		if _, ok := errors.AsType[*HeldError](err); !ok {
			return nil, err
		}
		select {
		case <-deadline:
			return nil, err
		case <-time.After(takePatience / 10):
		}
	}
}

// lockLease locks the lease of the directory or returns a *HeldError. If create is 0, the lease must exist.
func lockLease(l layout, create int) (*os.File, error) {
	file, err := os.OpenFile(l.lease(), os.O_RDWR|create, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot use the data directory: %w", err)
	}
	got, err := flock.Try(file)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot use the data directory: %w", err), file.Close())
	}
	if got {
		return file, nil
	}
	held := &HeldError{Dir: l.dir}
	// Used only in the message: it may be incomplete while the holder writes it.
	_ = json.NewDecoder(file).Decode(&held.Holder)
	if err := file.Close(); err != nil {
		return nil, fmt.Errorf("cannot use the data directory: %w", err)
	}
	return nil, held
}

// describe records the holder of the lease.
func (l *lease) describe(at layout, server string) error {
	content, err := json.Marshal(Holder{
		PID: os.Getpid(), Command: strings.Join(os.Args, " "), Started: time.Now().Truncate(time.Second), Server: server,
	})
	if err != nil {
		return fmt.Errorf("write the lease of %s: %w", at.dir, err)
	}
	if err := l.file.Truncate(0); err != nil {
		return fmt.Errorf("write the lease of %s: %w", at.dir, err)
	}
	if _, err := l.file.WriteAt(append(content, '\n'), 0); err != nil {
		return fmt.Errorf("write the lease of %s: %w", at.dir, err)
	}
	return nil
}

// holdAlive locks the file that the components watch. It is a separate file from the lease: a component that
// wakes up because the lock is released holds it for a moment, and the next start must not mistake the
// component for a running holder.
func (l *lease) holdAlive(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("lock the file that the components watch: %w", err)
	}
	got, err := flock.Try(file)
	if err == nil && !got {
		err = fmt.Errorf("%s is locked by another process", path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("lock the file that the components watch: %w", err), file.Close())
	}
	l.alive = file
	return nil
}

func (l *lease) release() error {
	var alive error
	if l.alive != nil {
		alive = flock.Release(l.alive)
	}
	return errors.Join(alive, flock.Release(l.file))
}
