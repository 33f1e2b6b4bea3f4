// SPDX-License-Identifier: Apache-2.0

package credstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/cooper-cosi/cooper/internal/flock"
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

// Directory is a Store with one file per account. A write goes to a temporary file that is then renamed. A process
// that is killed at any point leaves either the old or the new entry. Processes on one machine exclude each other with
// a lock file.
type Directory struct {
	path string
	id   string
	mu   sync.Mutex
}

// OpenDirectory opens the store at path. If the directory is missing or empty, it creates the store with a new ID. A
// directory with entries but without an ID is an error that wraps ErrStoreID: part of the store was lost, and with a
// new ID the driver would no longer recognize its accounts.
func OpenDirectory(path string) (*Directory, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open the credential store %s: %w", path, err)
	}
	if err := os.MkdirAll(absolute, 0o700); err != nil {
		return nil, fmt.Errorf("make the credential store %s: %w", absolute, err)
	}
	d := &Directory{path: absolute}
	unlock, err := d.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := d.removeUnfinished(); err != nil {
		return nil, err
	}
	if d.id, err = d.readOrMakeID(); err != nil {
		return nil, err
	}
	return d, nil
}

// ID implements Store. It reads the file again, to detect a directory that was replaced while the driver runs.
func (d *Directory) ID(context.Context) (string, error) {
	id, err := d.readID()
	if err != nil {
		return "", err
	}
	if id != d.id {
		return "", fmt.Errorf("%s was exchanged while the driver runs: %w; restart the driver after checking the directory", d.path, ErrStoreID)
	}
	return id, nil
}

// Get implements Store.
func (d *Directory) Get(_ context.Context, account string) (Entry, error) {
	return d.read(account)
}

// Put implements Store.
func (d *Directory) Put(ctx context.Context, entry Entry) (Entry, error) {
	data, err := Encode(entry)
	if err != nil {
		return Entry{}, err
	}
	unlock, err := d.lock()
	if err != nil {
		return Entry{}, err
	}
	defer unlock()
	if _, err := d.ID(ctx); err != nil {
		return Entry{}, err
	}
	current, err := d.read(entry.Account)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return Entry{}, err
	}
	if current.Version != entry.Version {
		return Entry{}, conflict(entry.Account)
	}
	if err := d.write(fileName(entry.Account), data); err != nil {
		return Entry{}, err
	}
	entry = entry.clone()
	entry.Version = checksum(data)
	return entry, nil
}

// Delete implements Store. It also removes a damaged entry, because it is called after the account was deleted.
func (d *Directory) Delete(_ context.Context, account string) error {
	unlock, err := d.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if err := os.Remove(d.file(account)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete the stored credential of account %q: %w", account, err)
	}
	return d.syncDirectory()
}

func (d *Directory) read(account string) (Entry, error) {
	file := d.file(account)
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return Entry{}, notFound(account)
	}
	if err != nil {
		return Entry{}, fmt.Errorf("read the stored credential of account %q: %w", account, err)
	}
	entry, err := Decode(account, data)
	if err != nil {
		return Entry{}, fmt.Errorf("read %s: %w; restore the file from a backup, or remove it to have a new credential issued", file, err)
	}
	entry.Version = checksum(data)
	return entry, nil
}

// write creates the file atomically and durably with its full content.
func (d *Directory) write(name string, data []byte) (err error) {
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
	if err := os.Rename(temp.Name(), filepath.Join(d.path, name)); err != nil {
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

// lock excludes other goroutines and processes. The operating system releases the file lock when the process ends for
// any reason.
func (d *Directory) lock() (func(), error) {
	d.mu.Lock()
	file, err := os.OpenFile(filepath.Join(d.path, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		d.mu.Unlock()
		return nil, fmt.Errorf("lock the credential store: %w", err)
	}
	if err := flock.Wait(file); err != nil {
		_ = file.Close()
		d.mu.Unlock()
		return nil, fmt.Errorf("lock the credential store %s: %w", d.path, err)
	}
	return func() {
		_ = flock.Release(file)
		d.mu.Unlock()
	}, nil
}

func (d *Directory) removeUnfinished() error {
	names, err := filepath.Glob(filepath.Join(d.path, tempPrefix+"*"))
	if err != nil {
		return fmt.Errorf("open the credential store %s: %w", d.path, err)
	}
	for _, name := range names {
		if err := os.Remove(name); err != nil {
			return fmt.Errorf("open the credential store %s: %w", d.path, err)
		}
	}
	return nil
}

type storedID struct {
	Format int    `json:"format"`
	ID     string `json:"id"`
}

func (d *Directory) readID() (string, error) {
	file := filepath.Join(d.path, idFile)
	data, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrStoreID, err)
	}
	var stored storedID
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
	entries, globErr := filepath.Glob(filepath.Join(d.path, "*"+entrySuffix))
	if globErr != nil {
		return "", fmt.Errorf("open the credential store %s: %w", d.path, globErr)
	}
	if len(entries) > 0 {
		return "", fmt.Errorf("%s holds %d credentials but no %s: %w; restore that file from a backup", d.path, len(entries), idFile, ErrStoreID)
	}
	id = NewID()
	data, err := json.Marshal(storedID{Format: codecFormat, ID: id})
	if err != nil {
		return "", fmt.Errorf("make the credential store %s: %w", d.path, err)
	}
	return id, d.write(idFile, append(data, '\n'))
}

func (d *Directory) file(account string) string { return filepath.Join(d.path, fileName(account)) }

// fileName returns the account ID itself if it is a distinct file name on every file system, and a hash of it
// otherwise. No plain name starts with hashPrefix, which contains an underscore.
func fileName(account string) string {
	const hashPrefix = "sha256_"
	if isPlainName(account) {
		return account + entrySuffix
	}
	sum := sha256.Sum256([]byte(account))
	return hashPrefix + hex.EncodeToString(sum[:]) + entrySuffix
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
