// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
)

// ServerTime returns the time of the API server's clock, in whole seconds, from the header of a response that
// all users may get.
func (p *Plugin) ServerTime(ctx context.Context) (time.Time, error) {
	config, err := p.Config()
	if err != nil {
		return time.Time{}, err
	}
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return time.Time{}, fmt.Errorf("cannot reach the API server: %w", err)
	}
	address, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return time.Time{}, fmt.Errorf("find the address of the API server: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.JoinPath("version").String(), http.NoBody)
	if err != nil {
		return time.Time{}, fmt.Errorf("get the time of the API server: %w", err)
	}
	response, err := httpClient.Do(request)
	if err != nil {
		return time.Time{}, fmt.Errorf("get the time of the API server: %w", err)
	}
	defer response.Body.Close()
	now, err := http.ParseTime(response.Header.Get("Date"))
	if err != nil {
		return time.Time{}, fmt.Errorf("the API server's response has no valid Date header: %w", err)
	}
	return now, nil
}

// Now returns the time in the cluster or, if it is not available, on this machine.
func (p *Plugin) Now(ctx context.Context) time.Time {
	now, err := p.ServerTime(ctx)
	if err != nil {
		return time.Now()
	}
	return now
}
