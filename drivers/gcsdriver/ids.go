// SPDX-License-Identifier: Apache-2.0

package gcsdriver

import (
	"strings"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// joinID answers the ID of something at a backend: its name, after the backend's name and a dot
// unless that is the default one.
func (d *Driver) joinID(backend, name string) string {
	if backend == d.config.DefaultBackend {
		return name
	}
	return backend + "." + name
}

// splitID finds the backend and the name of an ID. A part before the first dot counts only if it
// names a configured backend: an administrator's bucket may have dots in its name.
func (d *Driver) splitID(id string) (*backend, string) {
	if prefix, name, found := strings.Cut(id, "."); found && name != "" {
		if named, ok := d.backends[prefix]; ok {
			return named, name
		}
	}
	return d.backends[d.config.DefaultBackend], id
}

// backendFor answers the backend that a class names, or the default one.
func (d *Driver) backendFor(name string) (*backend, error) {
	if name == "" {
		name = d.config.DefaultBackend
	}
	if found, ok := d.backends[name]; ok {
		return found, nil
	}
	return nil, driverkit.InvalidArgument("parameter backend is %q, but this driver has: %s", name, strings.Join(d.config.backendNames(), ", "))
}
