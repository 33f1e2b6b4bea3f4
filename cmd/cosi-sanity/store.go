// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/cooper-cosi/cooper/internal/unixsocket"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity/store"
)

// runStore runs the contract tests against the credential store that a sidecar serves to its driver.
func runStore(ctx context.Context, arguments []string, out, problems io.Writer) (int, error) {
	var endpoint string
	flags := newFlags("cosi-sanity credential-store", problems)
	flags.StringVar(&endpoint, "endpoint", "", "address of the store, unix:///path/to/credentials.sock")
	if err := flags.Parse(arguments); err != nil {
		return exitUsage, err
	}
	if _, err := unixsocket.Path(endpoint); err != nil {
		return exitUsage, fmt.Errorf("--endpoint: %w", err)
	}
	connection, err := grpc.NewClient(endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return exitUsage, fmt.Errorf("--endpoint: %w", err)
	}
	defer func() { _ = connection.Close() }()
	results, err := store.Run(ctx, cosi.NewCredentialStoreClient(connection))
	if err != nil {
		return exitNotTested, err
	}
	passed := 0
	for _, result := range results {
		if len(result.Problems) == 0 {
			passed++
			continue
		}
		_, _ = fmt.Fprintf(out, "FAILED %s %s\n  contract: %s\n", result.Case.ID, result.Case.Title, result.Case.Rule)
		for _, problem := range result.Problems {
			_, _ = fmt.Fprintf(out, "  %s\n", problem)
		}
	}
	verdict, code := "conformant", exitConformant
	if passed < len(results) {
		verdict, code = "not conformant", exitNotConformant
	}
	_, _ = fmt.Fprintf(out, "%s: MUST %d/%d\n", verdict, passed, len(results))
	return code, nil
}
