// SPDX-License-Identifier: Apache-2.0

package containers

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/moby/moby/client"
)

// countedUntil is the first version of Docker that no longer keeps a count of the
// endpoints of a network beside the endpoints.
const countedUntil = 28

// Miscounted reports whether err, which came of removing a network, is Docker's own:
// before version 28 it counts the endpoints of a network, two containers that join or
// leave it in the same instant may be counted as three, and a network whose count is
// not 0 cannot be removed until Docker is restarted (moby/moby issues 42119 and
// 43286). It is so only if no container is on the network.
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
		tb.Errorf("version of Docker: %v", err)
		return false
	}
	inspected, err := e.client.NetworkInspect(ctx, network, client.NetworkInspectOptions{})
	if err != nil {
		tb.Errorf("network %s: %v", network, err)
		return false
	}
	if !counts(server.Version) || len(inspected.Network.Containers) > 0 {
		return false
	}
	tb.Logf("network %s, which no container is on, stays until Docker %s is restarted: it has miscounted the endpoints", network, server.Version)
	return true
}

// counts reports whether a version of Docker, such as 20.10.24+dfsg1, counts endpoints.
func counts(version string) bool {
	major, _, _ := strings.Cut(version, ".")
	number, err := strconv.Atoi(major)
	return err == nil && number < countedUntil
}
