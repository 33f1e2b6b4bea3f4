// SPDX-License-Identifier: Apache-2.0

package containers

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/moby/moby/client"
)

// countedUntil is the first version of Docker that does not keep a separate count of a network's endpoints.
const countedUntil = 28

// Miscounted reports whether a Docker bug has caused err, which is the error of a network's removal. Before
// version 28, Docker keeps a count of each network's endpoints, and the count becomes wrong if two containers
// join or leave at the same instant. Docker cannot remove a network with a nonzero count until Docker is
// restarted (moby/moby issues 42119 and 43286). Miscounted returns false if a container is on the network.
func Miscounted(tb testing.TB, network string, err error) bool {
	tb.Helper()
	e := need(tb)
	if err == nil || !strings.Contains(err.Error(), "has active endpoints") {
		return false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), responseTimeout)
	defer cancel()
	server, err := e.client.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		tb.Errorf("get the version of Docker: %v", err)
		return false
	}
	inspected, err := e.client.NetworkInspect(ctx, network, client.NetworkInspectOptions{})
	if err != nil {
		tb.Errorf("inspect network %s: %v", network, err)
		return false
	}
	if !counts(server.Version) || len(inspected.Network.Containers) > 0 {
		return false
	}
	tb.Logf("network %s has no containers, but remains until Docker %s is restarted, because its count of endpoints is wrong", network, server.Version)
	return true
}

// counts reports whether a version of Docker, such as 20.10.24+dfsg1, counts endpoints.
func counts(version string) bool {
	major, _, _ := strings.Cut(version, ".")
	number, err := strconv.Atoi(major)
	return err == nil && number < countedUntil
}
