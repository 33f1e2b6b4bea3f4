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

// Backends are the stores of a driver that serves several, by name. An ID of something at another
// than the default one begins with the backend's name and a dot; names are part of IDs and must not
// change while what was made there exists.
type Backends[B any] struct {
	// Default is the name of the backend of classes that name none, and of IDs without a name.
	Default string
	// ByName are all of them.
	ByName map[string]B
	// Word is what the driver's users call a backend, such as "account": the parameter of classes has that name, and
	// the configuration has its plural and a default, as in defaultAccount. Empty means "backend".
	Word string
	// CheckName, if set, is the rule for names in place of the kit's. Its error goes on after the name, such as
	// "must be lower-case letters". Names that it admits have no dot.
	CheckName func(name string) error
}

func (b Backends[B]) word() string {
	if b.Word == "" {
		return "backend"
	}
	return b.Word
}

// field returns the name of the configuration's field for the default one, such as defaultBackend.
func (b Backends[B]) field() string {
	word := b.word()
	return "default" + strings.ToUpper(word[:1]) + word[1:]
}

// Names returns the names of all backends, sorted.
func (b Backends[B]) Names() []string { return slices.Sorted(maps.Keys(b.ByName)) }

// JoinID returns the ID of a bucket or account with this name at a backend.
func (b Backends[B]) JoinID(backend, name string) string {
	if backend == b.Default {
		return name
	}
	return backend + "." + name
}

// SplitID finds the backend and the name of an ID. A part before the first dot counts only if it
// names a backend that is not the default one: an administrator's bucket may have dots in its name, and
// no bucket has two IDs, because who deletes one compares them as text.
func (b Backends[B]) SplitID(id string) (B, string) {
	if prefix, name, found := strings.Cut(id, "."); found && name != "" && prefix != b.Default {
		if named, ok := b.ByName[prefix]; ok {
			return named, name
		}
	}
	return b.ByName[b.Default], id
}

// OfClass returns the backend that the parameter of a class names, or the default one if it is empty.
// The error is InvalidArgument and lists the names.
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

// Check returns everything that is wrong with a configuration's backends and its default one, each
// with its field. A default that is left out is to be completed with DefaultName before.
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
		problems = append(problems, fmt.Errorf("%s: at least one is needed", all))
	case b.Default == "":
		problems = append(problems, fmt.Errorf("%s: is needed with several %s (%s)", b.field(), all, strings.Join(b.Names(), ", ")))
	case !known:
		problems = append(problems, fmt.Errorf("%s: %q is not one of the %s (%s)", b.field(), b.Default, all, strings.Join(b.Names(), ", ")))
	}
	return problems
}

// DefaultName returns the default backend: the configured one, or the only one there is.
func (b Backends[B]) DefaultName() string {
	if b.Default == "" && len(b.ByName) == 1 {
		return b.Names()[0]
	}
	return b.Default
}

// Ping makes a call to each backend and returns by the names of all of them why they do not respond; nil for one that
// does. It asks all at once, so that one that hangs delays no other. A driver's CheckBackends needs no more than this.
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
