// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Backends are the stores of a driver that serves several, by name. An ID of something at another
// than the default one begins with the backend's name and a dot; names are part of IDs and must not
// change while what was made there exists.
type Backends[B any] struct {
	// Default is the name of the backend of classes that name none, and of IDs without a name.
	Default string
	// ByName are all of them.
	ByName map[string]B
}

// Names are sorted.
func (b Backends[B]) Names() []string { return slices.Sorted(maps.Keys(b.ByName)) }

// JoinID returns the ID of a bucket or account with this name at a backend.
func (b Backends[B]) JoinID(backend, name string) string {
	if backend == b.Default {
		return name
	}
	return backend + "." + name
}

// SplitID finds the backend and the name of an ID. A part before the first dot counts only if it
// names a backend: an administrator's bucket may have dots in its name.
func (b Backends[B]) SplitID(id string) (B, string) {
	if prefix, name, found := strings.Cut(id, "."); found && name != "" {
		if named, ok := b.ByName[prefix]; ok {
			return named, name
		}
	}
	return b.ByName[b.Default], id
}

// OfClass returns the backend that the parameter "backend" of a class names, or the default one if
// it is empty. The error is InvalidArgument and lists the names.
func (b Backends[B]) OfClass(parameter string) (B, error) {
	if parameter == "" {
		parameter = b.Default
	}
	found, ok := b.ByName[parameter]
	if !ok {
		return found, InvalidArgument("parameter backend is %q, but this driver has: %s", parameter, strings.Join(b.Names(), ", "))
	}
	return found, nil
}

var backendName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$`)

// Check returns everything that is wrong with a configuration's backends and defaultBackend, each
// with its field. A default that is left out is to be completed with DefaultName before.
func (b Backends[B]) Check() []error {
	var problems []error
	for _, name := range b.Names() {
		if !backendName.MatchString(name) {
			problems = append(problems, fmt.Errorf("backends: the name %q must be 1 to 32 lower-case letters, digits and '-'", name))
		}
	}
	switch _, known := b.ByName[b.Default]; {
	case len(b.ByName) == 0:
		problems = append(problems, errors.New("backends: at least one is needed"))
	case b.Default == "":
		problems = append(problems, fmt.Errorf("defaultBackend: is needed with several backends (%s)", strings.Join(b.Names(), ", ")))
	case !known:
		problems = append(problems, fmt.Errorf("defaultBackend: %q is not one of the backends (%s)", b.Default, strings.Join(b.Names(), ", ")))
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
