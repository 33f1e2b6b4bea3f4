// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Backends holds the backends of a driver, by name. The ID of a bucket or account at a backend other than the default
// begins with the backend's name and a dot. Therefore, do not change a backend's name while buckets or accounts with
// this name in their IDs exist.
type Backends[B any] struct {
	// Default is the name of the backend for classes that name none and for IDs without a backend name.
	Default string
	// ByName maps names to backends.
	ByName map[string]B
	// Word is the driver's term for a backend, such as "account". The class parameter that selects a backend has this
	// name. The configuration uses the plural of Word, and a default such as defaultAccount. Empty means "backend".
	Word string
	// CheckName, if set, replaces the kit's rule for backend names. Its error text follows the name, such as "must be
	// lower-case letters". It must not accept names that contain a dot.
	CheckName func(name string) error
}

func (b Backends[B]) word() string {
	if b.Word == "" {
		return "backend"
	}
	return b.Word
}

// field returns the configuration field for the default backend, such as defaultBackend.
func (b Backends[B]) field() string {
	word := b.word()
	return "default" + strings.ToUpper(word[:1]) + word[1:]
}

// Names returns the names of all backends, sorted.
func (b Backends[B]) Names() []string { return slices.Sorted(maps.Keys(b.ByName)) }

// JoinID returns the ID of the bucket or account with this name at a backend.
func (b Backends[B]) JoinID(backend, name string) string {
	if backend == b.Default {
		return name
	}
	return backend + "." + name
}

// SplitID returns the backend and the name that an ID refers to. The part before the first dot is a backend name only
// if it names a backend other than the default one. The names of buckets that COSI did not create may therefore contain
// dots. Each bucket has exactly one ID. COSI relies on this: before it deletes a bucket, it looks for other Buckets with
// the same ID.
func (b Backends[B]) SplitID(id string) (B, string) {
	if prefix, name, found := strings.Cut(id, "."); found && name != "" && prefix != b.Default {
		if named, ok := b.ByName[prefix]; ok {
			return named, name
		}
	}
	return b.ByName[b.Default], id
}

// OfClass returns the backend that the class parameter names, or the default backend if the parameter is empty. If no
// backend has this name, OfClass returns InvalidArgument with the list of names.
func (b Backends[B]) OfClass(parameter string) (B, error) {
	if parameter == "" {
		parameter = b.Default
	}
	found, ok := b.ByName[parameter]
	if !ok {
		return found, InvalidArgument("parameter %s is %q, but this driver has: %s", b.word(), parameter, strings.Join(b.Names(), ", "))
	}
	return found, nil
}

var backendName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$`)

func checkBackendName(name string) error {
	if !backendName.MatchString(name) {
		return errors.New("must be 1 to 32 lower-case letters, digits and '-'")
	}
	return nil
}

// Check returns all errors in the backends of a configuration and in its default backend. Each error names its field.
// If the default is omitted, set it with DefaultName before calling Check.
func (b Backends[B]) Check() []error {
	check, all := b.CheckName, b.word()+"s"
	if check == nil {
		check = checkBackendName
	}
	var problems []error
	for _, name := range b.Names() {
		if err := check(name); err != nil {
			problems = append(problems, fmt.Errorf("%s: the name %q %w", all, name, err))
		}
	}
	switch _, known := b.ByName[b.Default]; {
	case len(b.ByName) == 0:
		problems = append(problems, fmt.Errorf("%s: at least one is required", all))
	case b.Default == "":
		problems = append(problems, fmt.Errorf("%s: is required with several %s (%s)", b.field(), all, strings.Join(b.Names(), ", ")))
	case !known:
		problems = append(problems, fmt.Errorf("%s: %q is not one of the %s (%s)", b.field(), b.Default, all, strings.Join(b.Names(), ", ")))
	}
	return problems
}

// DefaultName returns the configured default backend, or the only backend if there is just one.
func (b Backends[B]) DefaultName() string {
	if b.Default == "" && len(b.ByName) == 1 {
		return b.Names()[0]
	}
	return b.Default
}

// Ping calls ping for each backend concurrently, so a backend that hangs does not delay the others. It returns an
// entry for every backend: the error, or nil if the backend responds. A driver can implement CheckBackends with Ping
// alone.
func (b Backends[B]) Ping(ctx context.Context, ping func(context.Context, B) error) map[string]error {
	var mu sync.Mutex
	var group sync.WaitGroup
	results := map[string]error{}
	for name, backend := range b.ByName {
		group.Go(func() {
			err := ping(ctx, backend)
			mu.Lock()
			defer mu.Unlock()
			results[name] = err
		})
	}
	group.Wait()
	return results
}
