// SPDX-License-Identifier: Apache-2.0

package s3driver

import (
	"crypto/sha256"
	"encoding/base32"
	"regexp"
	"strings"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

const (
	// maxBucketName is the longest bucket name of S3.
	maxBucketName = 63
	// maxAccountName is the longest IAM user name.
	maxAccountName = 64
	// hashMark begins names that stand for a longer or stranger one. A proposed name that begins
	// with it is hashed too, so that the two kinds never meet.
	hashMark = "h-"
	// hashDigits is 160 bits in base 32.
	hashDigits = 32
)

// plainName is a proposed name that stores take as it is: without dots, which end the name of the
// backend in an ID and break TLS with virtual addressing.
var plainName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)

// storeName answers the proposed name if it fits into limit bytes after prefix, and a hash of it
// otherwise. Names are never truncated: what is cut off may be what tells two of them apart.
func storeName(prefix, proposed string, limit int) string {
	fits := len(prefix)+len(proposed) <= limit && len(prefix)+len(proposed) >= 3
	if fits && plainName.MatchString(proposed) && !strings.HasPrefix(proposed, hashMark) {
		return prefix + proposed
	}
	sum := sha256.Sum256([]byte(proposed))
	digits := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:])
	return prefix + hashMark + strings.ToLower(digits[:hashDigits])
}

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
