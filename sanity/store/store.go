// SPDX-License-Identifier: Apache-2.0

// Package store is the conformance suite for credential stores, which sidecars serve to their drivers. The contract is
// proto/credentialstore.proto. The suite depends neither on the language of the sidecar nor on how the store keeps its
// entries.
package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// callLimit limits the duration of each call.
const callLimit = 30 * time.Second

// Case is one check. Every case is a MUST.
type Case struct {
	// ID is stable and unique, such as "CST-PUT-003".
	ID string
	// Title describes in one line what a conforming store does.
	Title string
	// Rule is the sentence of the contract.
	Rule string

	run func(*c)
}

// Result is the result of one case.
type Result struct {
	Case Case
	// Problems describe how the store violates the rule. It is empty if the case passed.
	Problems []string
}

// Cases returns all cases, in the order in which they run.
func Cases() []Case {
	return []Case{
		{"CST-ID-001", "has one ID of 32 hexadecimal digits", "GetStoreId returns the random ID that the store got when it was created. REQUIRED. 32 hexadecimal digits.", runID},
		{"CST-GET-001", "returns NOT_FOUND for a missing entry", "NOT_FOUND: there is no entry.", runMissing},
		{"CST-GET-002", "returns exactly the stored bytes, up to 512 KiB", "REQUIRED. The data that the driver stored.", runRoundTrip},
		{"CST-GET-003", "keeps entries with similar names separate", "GetEntry returns the entry of a name. Any text that the driver chooses.", runSimilar},
		{"CST-PUT-001", "creates an entry only if none exists", "ABORTED: the entry has another version than the request, so another client wrote it. Nothing was changed. OPTIONAL. The version that is replaced; empty for a new entry.", runMadeOnce},
		{"CST-PUT-002", "changes the version with each write", "The version of the entry. The store chooses it and changes it with each write.", runVersions},
		{"CST-PUT-003", "rejects a write with an earlier version", "ABORTED: the entry has another version than the request, so another client wrote it. Nothing was changed.", runStale},
		{"CST-PUT-004", "rejects a write with the version of a deleted entry", "ABORTED: the entry has another version than the request.", runDeletedVersion},
		{"CST-PUT-005", "lets exactly one of several concurrent writers create an entry", "ABORTED: the entry has another version than the request, so another client wrote it.", runRace},
		{"CST-DEL-001", "deletes an entry, and returns OK for a missing entry", "DeleteEntry removes the entry of a name, regardless of its version. A missing entry is no error.", runDelete},
		{"CST-REQ-001", "rejects a request without a name, and a write without data", "REQUIRED: a request without the field is refused with INVALID_ARGUMENT.", runRequired},
		{"CST-REQ-002", "rejects names and data that exceed the limits", "Sizes, in bytes: names 2048, data 512 KiB. Over the limit is INVALID_ARGUMENT.", runSizes},
	}
}

// Run tests a store with all cases. It removes the entries that the cases create. Their names begin with
// "cosi-sanity-". Run returns an error if the store is unavailable, or if ctx ends before the last case.
func Run(ctx context.Context, client cosi.CredentialStoreClient) ([]Result, error) {
	first, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	if _, err := client.GetStoreId(first, &cosi.GetStoreIdRequest{}); status.Code(err) == codes.Unavailable {
		return nil, fmt.Errorf("the store is unavailable, so no case ran: %w", err)
	}
	var results []Result
	for _, one := range Cases() {
		if err := ctx.Err(); err != nil {
			return results, fmt.Errorf("the run was stopped before case %s: %w", one.ID, err)
		}
		c := &c{ctx: ctx, client: client, prefix: "cosi-sanity-" + rand.Text() + "-"}
		c.finish(one.run)
		results = append(results, Result{Case: one, Problems: c.problems})
	}
	return results, nil
}

// c is the state of one case.
type c struct {
	ctx      context.Context //nolint:containedctx // of one case, which is one call
	client   cosi.CredentialStoreClient
	prefix   string
	names    []string
	problems []string
}

// errEnough ends a case that cannot continue.
var errEnough = errors.New("enough")

// finish runs a case to completion and removes its entries.
func (c *c) finish(run func(*c)) {
	defer func() {
		if r := recover(); r != nil && r != errEnough { //nolint:errorlint // it is this very value
			panic(r)
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), callLimit)
		defer cancel()
		for _, name := range c.names {
			_, _ = c.client.DeleteEntry(ctx, &cosi.DeleteEntryRequest{Name: name})
		}
	}()
	run(c)
}

func (c *c) failf(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

// name returns a name for the case and schedules the removal of its entry.
func (c *c) name(suffix string) string {
	name := c.prefix + suffix
	c.names = append(c.names, name)
	return name
}

func (c *c) id() string {
	response, err := limited(c, c.client.GetStoreId, &cosi.GetStoreIdRequest{})
	c.must("GetStoreId", err)
	return response.GetId()
}

func (c *c) get(name string) (*cosi.GetEntryResponse, error) {
	return limited(c, c.client.GetEntry, &cosi.GetEntryRequest{Name: name})
}

func (c *c) put(name, data, version string) (string, error) {
	response, err := limited(c, c.client.PutEntry, &cosi.PutEntryRequest{Name: name, Data: []byte(data), Version: version})
	return response.GetVersion(), err
}

func (c *c) remove(name string) error {
	_, err := limited(c, c.client.DeleteEntry, &cosi.DeleteEntryRequest{Name: name})
	return err
}

// made creates a new entry and returns its version.
func (c *c) made(name, data string) string {
	version, err := c.put(name, data, "")
	c.must("PutEntry of a new entry", err)
	if version == "" {
		c.failf("PutEntry returned no version")
	}
	return version
}

// holds checks the contents of an entry.
func (c *c) holds(name, data, version, when string) {
	got, err := c.get(name)
	c.must("GetEntry "+when, err)
	if string(got.GetData()) != data {
		c.failf("%s the data of the entry differs from the %d bytes that PutEntry stored", when, len(data))
	}
	if got.GetVersion() != version {
		c.failf("%s the entry has version %q, want %q, which PutEntry returned", when, got.GetVersion(), version)
	}
}

// must ends the case if a call that must succeed failed.
func (c *c) must(call string, err error) {
	if err != nil {
		c.failf("%s: %s: %s, want OK", call, status.Code(err), status.Convert(err).Message())
		panic(errEnough)
	}
}

// refused checks the code of a call.
func (c *c) refused(call string, err error, want codes.Code) {
	if got := status.Code(err); got != want {
		c.failf("%s returned %s, want %s", call, got, want)
	}
}

// limited makes a call with a deadline.
func limited[Request, Response any](c *c, call func(context.Context, Request, ...grpc.CallOption) (Response, error), request Request) (Response, error) {
	ctx, cancel := context.WithTimeout(c.ctx, callLimit)
	defer cancel()
	return call(ctx, request)
}
