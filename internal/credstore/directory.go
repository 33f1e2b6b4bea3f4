// SPDX-License-Identifier: Apache-2.0

package credstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/cooper-cosi/cooper/internal/flock"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// Names of files in the directory. Entries end in entrySuffix. Files with names that start with a dot are left over
// from a process that was killed during a write.
const (
	idFile      = "store.json"
	lockFile    = "lock"
	entrySuffix = ".credential.json"
	tempPrefix  = ".tmp-"
)

// maxPlainName is the maximum length of an account ID that is used as a file name. Longer IDs are hashed.
const maxPlainName = 200

// Directory implements Blobs with one file per name. A write goes to a temporary file that is then renamed. A process
// that is killed at any point leaves either the old or the new content. Processes on one machine exclude each other
// with a lock file. Versions are checksums, so equal content has an equal version.
type Directory struct{ path, id string }

// OpenDirectory opens the directory at path. If it is missing or empty, it creates a store there with a new ID. A
// directory with entries but without an ID is an error that wraps ErrStoreID: part of the store was lost, and with a
// new ID the driver would no longer recognize its accounts.
func OpenDirectory(path string) (*Directory, error) {
	absolute, err := filepath.Abs(path)
	if err == nil {
		err = os.MkdirAll(absolute, 0o700)
	}
	if err != nil {
		return nil, fmt.Errorf("open the credential store %s: %w", path, err)
	}
	d := &Directory{path: absolute}
	unlock, err := d.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := d.removeUnfinished(); err != nil {
		return nil, fmt.Errorf("open the credential store %s: %w", absolute, err)
	}
	if d.id, err = d.readOrMakeID(); err != nil {
		return nil, err
	}
	return d, nil
}

// ID implements Blobs. It reads the file again, to detect a directory that was replaced while the driver runs.
func (d *Directory) ID(context.Context) (string, error) {
	id, err := d.readID()
	if err != nil {
		return "", err
	}
	if id != d.id {
		return "", fmt.Errorf("directory %s was replaced while the driver was running: %w; check the directory, and then restart the driver", d.path, ErrStoreID)
	}
	return id, nil
}

// Get implements Blobs.
func (d *Directory) Get(_ context.Context, name string) (Blob, error) {
	file := d.file(name)
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return Blob{}, NotFound(name)
	}
	if err != nil {
		return Blob{}, fmt.Errorf("read the stored credential of account %q: %w", name, err)
	}
	return Blob{Data: cosi.NewSecret(string(data)), Version: checksum(data), Place: file}, nil
}

// Put implements Blobs.
func (d *Directory) Put(ctx context.Context, name string, data cosi.Secret, version string) (string, error) {
	unlock, err := d.lock()
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := d.ID(ctx); err != nil {
		return "", err
	}
	current, err := d.Get(ctx, name)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return "", err
	}
	if current.Version != version {
		return "", Conflict(name)
	}
	content := []byte(data.Reveal())
	if err := d.write(d.file(name), content); err != nil {
		return "", err
	}
	return checksum(content), nil
}

// Delete implements Blobs.
func (d *Directory) Delete(_ context.Context, name string) error {
	unlock, err := d.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if err := os.Remove(d.file(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete the stored credential of account %q: %w", name, err)
	}
	return d.syncDirectory()
}

// write creates the file atomically and durably with its full content.
func (d *Directory) write(file string, data []byte) (err error) {
	temp, err := os.CreateTemp(d.path, tempPrefix+"*")
	if err != nil {
		return fmt.Errorf("write to the credential store: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temp.Name())
		}
	}()
	_, writeErr := temp.Write(data)
	if err := errors.Join(writeErr, temp.Sync(), temp.Close()); err != nil {
		return fmt.Errorf("write to the credential store: %w", err)
	}
	if err := os.Rename(temp.Name(), file); err != nil {
		return fmt.Errorf("write to the credential store: %w", err)
	}
	return d.syncDirectory()
}

// syncDirectory makes renames and removals durable across a power failure.
func (d *Directory) syncDirectory() error {
	handle, err := os.Open(d.path)
	if err != nil {
		return fmt.Errorf("sync the credential store: %w", err)
	}
	if err := errors.Join(handle.Sync(), handle.Close()); err != nil {
		return fmt.Errorf("sync the credential store %s: %w", d.path, err)
	}
	return nil
}

// lock excludes other goroutines and processes.
func (d *Directory) lock() (release func(), err error) {
	file, err := os.OpenFile(filepath.Join(d.path, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the credential store: %w", err)
	}
	if err := flock.Wait(file); err != nil {
		return nil, errors.Join(fmt.Errorf("lock the credential store: %w", err), file.Close())
	}
	return func() { _ = flock.Release(file) }, nil
}

func (d *Directory) removeUnfinished() error {
	names, err := filepath.Glob(filepath.Join(d.path, tempPrefix+"*"))
	for _, name := range names {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}

func (d *Directory) readID() (string, error) {
	file := filepath.Join(d.path, idFile)
	data, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrStoreID, err)
	}
	var stored struct {
		Format int    `json:"format"`
		ID     string `json:"id"`
	}
	if err := json.Unmarshal(data, &stored); err != nil || stored.Format != codecFormat || stored.ID == "" {
		return "", fmt.Errorf("%w: %s is damaged; restore it from a backup", ErrStoreID, file)
	}
	return stored.ID, nil
}

func (d *Directory) readOrMakeID() (string, error) {
	id, err := d.readID()
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return id, err
	}
	entries, err := filepath.Glob(filepath.Join(d.path, "*"+entrySuffix))
	if err != nil {
		return "", fmt.Errorf("open the credential store %s: %w", d.path, err)
	}
	if len(entries) > 0 {
		return "", fmt.Errorf("directory %s contains %d credentials, but not the file %s: %w; restore that file from a backup", d.path, len(entries), idFile, ErrStoreID)
	}
	id = NewID()
	return id, d.write(filepath.Join(d.path, idFile), fmt.Appendf(nil, "{\"format\":%d,\"id\":%q}\n", codecFormat, id))
}

// file returns the path of the file of a name: the name itself if it is a distinct file name on every file system, and
// a hash of it otherwise. No plain name starts with hashPrefix, which contains an underscore.
func (d *Directory) file(name string) string {
	const hashPrefix = "sha256_"
	if !isPlainName(name) {
		name = hashPrefix + checksum([]byte(name))
	}
	return filepath.Join(d.path, name+entrySuffix)
}

func isPlainName(account string) bool {
	if len(account) > maxPlainName || strings.HasPrefix(account, ".") {
		return false
	}
	for _, r := range account {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '.' && r != '-' {
			return false
		}
	}
	return true
}
