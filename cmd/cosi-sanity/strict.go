// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/cooper-cosi/cooper/internal/unixsocket"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/sanity/strict"
)

// socketMode admits the sidecar under test, which may run as another user of the group.
const socketMode = 0o660

// runStrict serves the strict driver until it is interrupted and prints violations as they occur. It fails if
// there was any.
func runStrict(ctx context.Context, arguments []string, out, problems io.Writer) (int, error) {
	var endpoint string
	var asJSON bool
	flags := newFlags("cosi-sanity serve-strict", problems)
	flags.StringVar(&endpoint, "endpoint", os.Getenv("COSI_ENDPOINT"), "address to listen on, unix:///path/to/driver.sock (default: COSI_ENDPOINT)")
	flags.BoolVar(&asJSON, "json", false, "print each violation as one line of JSON")
	if err := flags.Parse(arguments); err != nil {
		return exitUsage, err
	}
	listener, err := unixsocket.Listen(ctx, endpoint, socketMode)
	if err != nil {
		return exitUsage, fmt.Errorf("--endpoint: %w", err)
	}
	var mu sync.Mutex
	checker := strict.New(strict.Options{OnViolation: func(v strict.Violation) {
		mu.Lock()
		defer mu.Unlock()
		if !asJSON {
			_, _ = fmt.Fprintln(out, "VIOLATION", v)
			return
		}
		// A failure to print must not fail the server.
		_ = json.NewEncoder(out).Encode(v)
	}})
	driver := memdriver.New(memdriver.Options{
		Name: "strict.cooper.dev", StaticPrefix: "static-", ServerOptions: checker.ServerOptions(),
	})
	server := driver.NewServer()
	_, _ = fmt.Fprintf(problems, "strict driver %s on %s; press Ctrl-C for the verdict\n", driver.Name(), endpoint)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case <-ctx.Done():
		server.GracefulStop()
	case err := <-ended:
		return exitNotTested, fmt.Errorf("serve the strict driver: %w", err)
	}
	violations, calls := checker.Violations(), checker.Calls()
	_, _ = fmt.Fprintf(problems, "%d calls, %d violations\n", calls, len(violations))
	switch {
	case calls == 0:
		return exitNotTested, errors.New("the strict driver received no calls: connect a sidecar to its socket")
	case len(violations) > 0:
		return exitNotConformant, nil
	}
	return exitConformant, nil
}
