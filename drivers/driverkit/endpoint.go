// SPDX-License-Identifier: Apache-2.0

package driverkit

import "github.com/cooper-cosi/cooper/internal/unixsocket"

// EndpointVariable is the environment variable that tells a driver where to listen, by the
// v1alpha1 specification, section "COSI_ENDPOINT".
const EndpointVariable = "COSI_ENDPOINT"

// SocketPath returns the path of an endpoint of the form unix:///path/to/driver.sock, the only one
// the specification allows. Its errors say what is wrong and what to write instead; the caller
// knows where the endpoint came from and says that.
func SocketPath(endpoint string) (string, error) { return unixsocket.Path(endpoint) }
