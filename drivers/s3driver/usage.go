// SPDX-License-Identifier: Apache-2.0

package s3driver

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc/codes"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
)

const (
	// usageEntry is the credential store's entry with the names of backends in use. It contains '/', which the driver's
	// account IDs do not.
	usageEntry = "driver/backends"
	// noteDefault is the note with the name of the default backend; noteBackend is the prefix of the notes for all
	// backends.
	noteDefault = "default"
	noteBackend = "backend/"
)

// usage records in the credential store which backends are in use, because their names are part of IDs. After a
// change of the configuration, an existing ID could refer to something else or to nothing, and resources would be
// orphaned silently.
type usage struct {
	store  credentials.Store
	config Config

	mu sync.Mutex
	// checked means that the record matches the configuration, which does not change at run time.
	checked bool
	noted   map[string]bool
}

// check returns an error if the configuration does not fit resources that were created with an earlier one.
func (u *usage) check(ctx context.Context) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.checked {
		return nil
	}
	_, err := u.read(ctx)
	u.checked = err == nil
	return err
}

// note records that something is about to be created at the backend.
func (u *usage) note(ctx context.Context, backend string) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.noted[backend] {
		return nil
	}
	entry, err := u.read(ctx)
	if err != nil {
		return err
	}
	if entry.Notes[noteBackend+backend] == "" {
		notes := map[string]string{noteDefault: u.config.DefaultBackend, noteBackend + backend: "used"}
		maps.Copy(notes, entry.Notes)
		entry.Notes = notes
		if _, err := u.store.Put(ctx, entry); errors.Is(err, credentials.ErrConflict) {
			return driverkit.Aborted("another process is also recording the first use of backend %s; the driver tries again", backend).WithDetail(err)
		} else if err != nil {
			return unusableStore(err)
		}
	}
	if u.noted == nil {
		u.noted = map[string]bool{}
	}
	u.noted[backend] = true
	return nil
}

// read returns the record, which is empty if there is none, or an error if the configuration does not fit it.
func (u *usage) read(ctx context.Context) (credentials.Entry, error) {
	entry, err := u.store.Get(ctx, usageEntry)
	if errors.Is(err, credentials.ErrNotFound) {
		return credentials.Entry{Account: usageEntry}, nil
	}
	if err != nil {
		return credentials.Entry{}, unusableStore(err)
	}
	if was := entry.Notes[noteDefault]; was != u.config.DefaultBackend {
		return credentials.Entry{}, driverkit.FailedPrecondition("defaultBackend was changed from %q to %q, "+
			"but the IDs of existing buckets and accounts of the default backend contain no backend name: set defaultBackend to %q again, and select the other backend in the classes", was, u.config.DefaultBackend, was)
	}
	for _, note := range slices.Sorted(maps.Keys(entry.Notes)) {
		name, isBackend := strings.CutPrefix(note, noteBackend)
		if _, configured := u.config.Backends[name]; !isBackend || configured || slices.Contains(u.config.RemovedBackends, name) {
			continue
		}
		return credentials.Entry{}, driverkit.FailedPrecondition("backend %q was removed or renamed, but has buckets or accounts with its name in their IDs: "+
			"configure it with that name again; or, if the store and all its contents were deleted permanently, list it in removedBackends", name)
	}
	return entry, nil
}

func unusableStore(err error) error {
	return driverkit.Unavailable("the driver cannot use its credential store; see the driver's log for the reason").WithDetail(err)
}

// CheckConfiguration returns an error if the configuration does not fit resources that were created with an earlier
// one. Either a backend in use was removed or renamed, or the default backend has changed. Every call then fails. If
// the credential store cannot be read now, CheckConfiguration returns nil.
func (d *Driver) CheckConfiguration(ctx context.Context) error {
	err := d.usage.check(ctx)
	if refusal, ok := errors.AsType[*driverkit.Error](err); ok && refusal.Code() == codes.FailedPrecondition {
		return err
	}
	return nil
}

// checkID returns an error for IDs that can no longer be created or used.
func (d *Driver) checkID(ctx context.Context, id string) error {
	if d.removed(id) {
		return driverkit.FailedPrecondition("%s belongs to a backend that was removed permanently (removedBackends)", id)
	}
	return d.usage.check(ctx)
}

// removed reports whether the ID belongs to a backend that was removed on purpose.
func (d *Driver) removed(id string) bool {
	prefix, _, found := strings.Cut(id, ".")
	return found && slices.Contains(d.config.RemovedBackends, prefix)
}
