// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/pflag"
)

// probeTimeout limits the request of Probe.
const probeTimeout = 3 * time.Second

// askReady asks the instance at the flag's address whether it is ready. Images use it for probes because they
// contain no other program.
func askReady(ctx context.Context, flag *pflag.Flag) error {
	if flag == nil || flag.Value.String() == "" {
		return Usagef("--probe requires the --health-address of the running instance")
	}
	host, port, err := net.SplitHostPort(flag.Value.String())
	if err != nil {
		return Usagef("--health-address: %w", err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return Probe(ctx, "http://"+net.JoinHostPort(host, port)+"/readyz")
}

// Probe sends one GET request and returns an error unless the status is 200 within three seconds.
func Probe(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return Usagef("invalid URL: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("not ready: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("not ready: %s returns %s", url, response.Status)
	}
	return nil
}
