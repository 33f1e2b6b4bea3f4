// SPDX-License-Identifier: Apache-2.0

package driverkit

import "github.com/cooper-cosi/cooper/internal/unixsocket"

// EndpointVariable is the environment variable with the address that a driver listens on. See the v1alpha1
// specification, section "COSI_ENDPOINT".
const EndpointVariable = "COSI_ENDPOINT"

// SocketPath returns the path of an endpoint. The endpoint must have the form unix:///path/to/driver.sock, the only
// form that the specification allows. An error states the problem and the fix; the caller adds the source of the
// endpoint, such as a flag or variable.
func SocketPath(endpoint string) (string, error) { return unixsocket.Path(endpoint) }
