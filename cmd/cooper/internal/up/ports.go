// SPDX-License-Identifier: Apache-2.0

package up

import (
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
)

const (
	loopback = "127.0.0.1"
	maxPort  = 65535
)

func address(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }

// portOf returns the port for a service: the requested one; otherwise the port of the last run in this
// directory, if it is still free, so that noted URLs keep working; otherwise 0 for any free port.
func (o Options) portOf(service string, asked int) int {
	if asked != 0 || !o.Keep {
		return asked
	}
	last := o.lastPorts()[service]
	if last == 0 {
		return 0
	}
	listener, err := net.Listen("tcp", address(last))
	if err != nil {
		return 0
	}
	if err := listener.Close(); err != nil {
		return 0
	}
	return last
}

// keepPort saves the port of a service for the next run.
func (o Options) keepPort(service, serviceURL string) error {
	at, err := url.Parse(serviceURL)
	if err != nil {
		return fmt.Errorf("find the port of %s: %w", service, err)
	}
	port, err := strconv.Atoi(at.Port())
	if err != nil {
		return fmt.Errorf("find the port of %s in %s: %w", service, serviceURL, err)
	}
	ports := o.lastPorts()
	ports[service] = port
	content, err := json.Marshal(ports)
	if err != nil {
		return fmt.Errorf("save the ports: %w", err)
	}
	if err := os.WriteFile(o.Dir.Ports(), append(content, '\n'), 0o600); err != nil {
		return fmt.Errorf("save the ports: %w", err)
	}
	return nil
}

// lastPorts returns the ports of the last run by service. A missing or damaged file is ignored; the services
// then get other ports.
func (o Options) lastPorts() map[string]int {
	ports := map[string]int{}
	content, err := os.ReadFile(o.Dir.Ports())
	if err != nil {
		return ports
	}
	if json.Unmarshal(content, &ports) != nil {
		return map[string]int{}
	}
	return ports
}
