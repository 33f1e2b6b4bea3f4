// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"fmt"
	"strings"
)

const (
	scheme = "unix://"
	suffix = ".sock"
	// maxPath is what fits into the address of a UNIX domain socket on every
	// supported system, without its final zero byte.
	maxPath = 103
)

// SocketPath returns the file name in an address such as
// unix:///var/run/cosi/driver.sock. The error says which rule the address
// breaks and what it should look like.
func SocketPath(address string) (string, error) {
	path, ok := strings.CutPrefix(address, scheme)
	switch {
	case address == "":
		return "", fmt.Errorf("driver address is empty; give it as %s/path/to/driver%s", scheme, suffix)
	case !ok:
		return "", fmt.Errorf("driver address %q does not begin with %s; give it as %s/path/to/driver%s", address, scheme, scheme, suffix)
	case !strings.HasPrefix(path, "/"):
		return "", fmt.Errorf("driver address %q has no absolute path; three slashes follow the colon, as in %s/path/to/driver%s", address, scheme, suffix)
	case !strings.HasSuffix(path, suffix) || strings.HasSuffix(path, "/"+suffix):
		return "", fmt.Errorf("driver address %q does not name a file that ends in %s", address, suffix)
	case strings.ContainsAny(path, "\x00?#%"):
		return "", fmt.Errorf("driver address %q holds one of the characters ?, # and %%, or a zero byte; use a plain path", address)
	case len(path) > maxPath:
		return "", fmt.Errorf("driver address %q has a path of %d bytes, and a UNIX socket takes at most %d; use a shorter directory", address, len(path), maxPath)
	default:
		return path, nil
	}
}
