// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
)

const journalName = "journal"

// markerName and formatOf distinguish the directories of different programs.
func markerName(program string) string { return program + ".json" }

func formatOf(program string) string { return "cooper-" + program + "/1" }

// ErrForeign is returned for a directory that contains other files than a journal of the program.
var ErrForeign = errors.New("the directory is not empty and was not created by this program")

// ErrInUse is returned for a directory that another process uses.
var ErrInUse = errors.New("the directory is in use by another process")

// File is a Journal that is stored in a directory.
type File struct {
	mu   sync.Mutex
	file *os.File
	// end is the end of the last complete line.
	end    int64
	lock   *os.File
	tables tables
}

type marker struct {
	Format string `json:"format"`
	PID    int    `json:"pid"`
}

// Open opens or creates the journal of a program, such as s3fake, in dir and reads it. A crash during a write can
// leave an incomplete last record, which was never acknowledged; Open removes it. Any other damage is an error.
func Open(dir, program string) (*File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the data directory: %w", err)
	}
	lock, err := claim(dir, program)
	if err != nil {
		return nil, err
	}
	f := &File{lock: lock, tables: tables{}}
	if err := f.load(dir); err != nil {
		return nil, errors.Join(err, release(lock))
	}
	return f, nil
}

// release unlocks and closes the lock. Closing alone is not sufficient, because a child process that another
// goroutine is starting may briefly have a copy of the open file.
func release(lock *os.File) error {
	return errors.Join(syscall.Flock(int(lock.Fd()), syscall.LOCK_UN), lock.Close())
}

// claim checks that dir is empty or belongs to the program, marks it and locks it.
func claim(dir, program string) (*os.File, error) {
	path := filepath.Join(dir, markerName(program))
	raw, err := os.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, fmt.Errorf("read the data directory: %w", err)
		}
		if len(entries) > 0 {
			return nil, fmt.Errorf("data directory %s: %w (it contains %s); choose an empty or a new directory", dir, ErrForeign, entries[0].Name())
		}
	case err != nil:
		return nil, fmt.Errorf("read the data directory: %w", err)
	}
	var m marker
	if len(raw) > 0 && (json.Unmarshal(raw, &m) != nil || m.Format != formatOf(program)) {
		return nil, fmt.Errorf("data directory %s: %w (%s has format %q, this program writes %q)", dir, ErrForeign, markerName(program), m.Format, formatOf(program))
	}
	lock, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("data directory %s: %w (pid %d); stop that process or choose another directory", dir, ErrInUse, m.PID), lock.Close())
	}
	raw, err = json.Marshal(marker{Format: formatOf(program), PID: os.Getpid()})
	if err == nil {
		err = lock.Truncate(0)
	}
	if err == nil {
		_, err = lock.WriteAt(raw, 0)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("write the marker of the data directory: %w", err), release(lock))
	}
	return lock, nil
}

func (f *File) load(dir string) error {
	path := filepath.Join(dir, journalName)
	old, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("open the journal: %w", err)
	}
	total, end, err := f.read(old)
	if err != nil {
		return errors.Join(err, old.Close())
	}
	live := 0
	for _, t := range f.tables {
		live += len(t)
	}
	if total > 2*live+1000 {
		return errors.Join(old.Close(), f.compact(path))
	}
	if err := old.Truncate(end); err != nil {
		return errors.Join(fmt.Errorf("truncate the incomplete last record of the journal: %w", err), old.Close())
	}
	f.file, f.end = old, end
	return nil
}

// read applies every complete line and returns the number of records and the end of the last good line.
func (f *File) read(r io.Reader) (total int, end int64, err error) {
	br := bufio.NewReaderSize(r, 1<<20)
	for {
		line, err := br.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return total, end, nil
		}
		if err != nil {
			return total, end, fmt.Errorf("read the journal: %w", err)
		}
		records, ok := decode(line)
		if !ok {
			if _, err := br.Peek(1); errors.Is(err, io.EOF) {
				return total, end, nil
			}
			return total, end, fmt.Errorf("the journal is damaged at byte %d; restore the data directory from a backup", end)
		}
		f.tables.apply(records)
		total += len(records)
		end += int64(len(line))
	}
}

// compact rewrites the journal with live values only and swaps it in atomically.
func (f *File) compact(path string) error {
	next, err := os.OpenFile(path+".new", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("compact the journal: %w", err)
	}
	w := bufio.NewWriterSize(next, 1<<20)
	for table, values := range f.tables {
		for key, value := range values {
			line, err := encode([]Record{{Table: table, Key: key, Value: value}})
			if err != nil {
				return errors.Join(err, next.Close())
			}
			if _, err := w.Write(line); err != nil {
				return errors.Join(fmt.Errorf("compact the journal: %w", err), next.Close())
			}
			f.end += int64(len(line))
		}
	}
	if err := errors.Join(w.Flush(), next.Sync(), os.Rename(path+".new", path)); err != nil {
		return errors.Join(fmt.Errorf("compact the journal: %w", err), next.Close())
	}
	f.file = next
	return nil
}

// encode writes one line: the CRC-32 of the JSON in hex, a space, the JSON.
func encode(records []Record) ([]byte, error) {
	raw, err := json.Marshal(records)
	if err != nil {
		return nil, fmt.Errorf("encode journal records: %w", err)
	}
	line := make([]byte, 0, len(raw)+10)
	line = fmt.Appendf(line, "%08x ", crc32.ChecksumIEEE(raw))
	line = append(line, raw...)
	return append(line, '\n'), nil
}

func decode(line []byte) ([]Record, bool) {
	sum, raw, ok := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
	if !ok || !slices.Equal(sum, fmt.Appendf(nil, "%08x", crc32.ChecksumIEEE(raw))) {
		return nil, false
	}
	var records []Record
	return records, json.Unmarshal(raw, &records) == nil
}

// Append implements Journal. It writes the records to the operating system before it returns. They survive a crash of
// this process, but may not survive a power failure. After an error, the next records overwrite the incomplete ones.
func (f *File) Append(records ...Record) error {
	line, err := encode(records)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.file.WriteAt(line, f.end); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	f.end += int64(len(line))
	return nil
}

// Table implements Journal.
func (f *File) Table(name string) map[string]json.RawMessage {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.tables[name]
	delete(f.tables, name)
	return t
}

// Close implements Journal.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return errors.Join(f.file.Sync(), f.file.Close(), release(f.lock))
}
