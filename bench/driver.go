// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
)

// behaviour is the class parameter that makes calls for its buckets fail or hang.
const (
	behaviour = "bench"
	fails     = "fails"
	hangs     = "hangs"
)

// A driver is a driver of a bench. Its class has the same name.
type driver struct{ name, class, protocol, socket, serve string }

// cloudDriver returns the driver of a cloud, with the fake store of that cloud.
func cloudDriver(dir, cloud string) driver {
	class := strings.ToLower(cloud)
	d := driver{name: class + ".bench.cooper.dev", class: class, protocol: cloud, socket: filepath.Join(dir, class+".sock")}
	d.serve = fmt.Sprintf("%s -cloud=%s -serve-driver=%s -driver-name=%s", filepath.Join(dir, "drivers"), cloud, d.socket, d.name)
	return d
}

// newDriver returns the n-th in-memory driver.
func newDriver(dir, self string, n int) driver {
	d := driver{
		name: fmt.Sprintf("bench-%d.cooper.dev", n), class: fmt.Sprintf("bench-%d", n), protocol: "S3",
		socket: fmt.Sprintf("%s/driver-%d.sock", dir, n),
	}
	d.serve = fmt.Sprintf("%s -serve-driver=%s -driver-name=%s", self, d.socket, d.name)
	return d
}

// calls counts the calls of each RPC.
type calls struct {
	mu    sync.Mutex
	byRPC map[string]int
	// letGo is closed to release the hanging calls.
	letGo   chan struct{}
	release func()
}

// intercept counts a call, and makes it hang or fail if its class requires it. Deletions always succeed.
func (c *calls) intercept(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	rpc := path.Base(info.FullMethod)
	c.mu.Lock()
	c.byRPC[rpc]++
	c.mu.Unlock()
	if r, creates := request.(*cosi.DriverCreateBucketRequest); creates {
		switch r.GetParameters()[behaviour] {
		case hangs:
			select {
			case <-ctx.Done():
				return nil, status.FromContextError(ctx.Err()).Err()
			case <-c.letGo:
			}
		case fails:
			return nil, status.Error(codes.Unavailable, "this class always fails")
		}
	}
	return handle(ctx, request)
}

// ServeHTTP returns the counts as JSON. DELETE releases the hanging calls.
func (c *calls) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodDelete {
		c.release()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := json.NewEncoder(w).Encode(c.byRPC); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// serveDriver runs the process of a driver.
func serveDriver(ctx context.Context, name, socket string) error {
	letGo := make(chan struct{})
	counts := &calls{byRPC: map[string]int{}, letGo: letGo, release: sync.OnceFunc(func() { close(letGo) })}
	d := memdriver.New(memdriver.Options{Name: name, ServerOptions: []grpc.ServerOption{grpc.ChainUnaryInterceptor(counts.intercept)}})
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", countsOf(socket))
	if err != nil {
		return fmt.Errorf("serve or request the call counts: %w", err)
	}
	server := &http.Server{Handler: counts, ReadHeaderTimeout: grace}
	go func() { _ = server.Serve(listener) }()
	return errors.Join(d.Serve(ctx, "unix://"+socket), server.Close())
}

// countsOf returns the socket at which a driver serves its call counts.
func countsOf(socket string) string { return socket + ".calls" }

// counts reports whether the driver serves its call counts, as in-memory drivers do.
func (d driver) counts() bool {
	_, err := os.Stat(countsOf(d.socket))
	return !errors.Is(err, fs.ErrNotExist)
}

// ask requests the call counts of an in-memory driver, by RPC. It returns nothing for other drivers.
func (d driver) ask(ctx context.Context, method string) (map[string]int, error) {
	counts := map[string]int{}
	if !d.counts() {
		return counts, nil
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", countsOf(d.socket))
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://driver/", http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("serve or request the call counts: %w", err)
	}
	response, err := (&http.Transport{DialContext: dial, DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		return nil, fmt.Errorf("get the call counts of driver %s: %w", d.name, err)
	}
	if err := errors.Join(json.NewDecoder(response.Body).Decode(&counts), response.Body.Close()); err != nil {
		return nil, fmt.Errorf("get the call counts of driver %s: %w", d.name, err)
	}
	return counts, nil
}

// rpcs returns the call counts of the in-memory drivers.
func (s *system) rpcs(ctx context.Context) (map[string]int, error) {
	total := map[string]int{}
	for _, d := range s.drivers {
		counts, err := d.ask(ctx, http.MethodGet)
		if err != nil {
			return nil, err
		}
		for rpc, n := range counts {
			total[rpc] += n
		}
	}
	// The sidecar calls it to check that the driver is available, independent of the workload.
	maps.DeleteFunc(total, func(rpc string, _ int) bool { return rpc == string(memdriver.GetInfo) || rpc == "Check" })
	return total, nil
}
