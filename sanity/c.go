// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// C is a running case: the driver's clients, the resources that the case has created, and the checks. Its methods end
// the case when a check fails, so call them only from the case's own goroutine.
type C struct {
	ctx          context.Context //nolint:containedctx // a C lives exactly as long as its case
	suite        *suite
	cs           Case
	identity     cosi.IdentityClient
	provisioner  cosi.ProvisionerClient
	random       *rand.Rand
	names        int
	finished     bool
	failure      *Failure
	inapplicable string

	mu        sync.Mutex
	exchanges []exchange
	notes     []note
	undo      []func(context.Context) error
}

func newC(ctx context.Context, s *suite, cs Case) *C {
	hash := fnv.New64a()
	// Writing to a hash never fails.
	_, _ = hash.Write([]byte(cs.ID))
	c := &C{
		suite: s, cs: cs,
		identity: cosi.NewIdentityClient(s.driver), provisioner: cosi.NewProvisionerClient(s.driver),
		random: rand.New(rand.NewPCG(s.seed, hash.Sum64())), //nolint:gosec // repeatable on purpose
	}
	c.ctx = context.WithValue(ctx, caseKey{}, c)
	return c
}

// method is a client's RPC as a method value.
type method[Q, A proto.Message] func(context.Context, Q, ...grpc.CallOption) (A, error)

// try makes a call with the run's deadline and returns its result. It may be called from any goroutine.
func try[Q, A proto.Message](ctx context.Context, c *C, rpc method[Q, A], request Q) (A, codes.Code) {
	ctx, cancel := context.WithTimeout(ctx, c.suite.limits.RPC)
	defer cancel()
	response, err := rpc(ctx, request)
	return response, status.Code(err)
}

// ok makes a call that must succeed.
func ok[Q, A proto.Message](c *C, rpc method[Q, A], request Q) A {
	response, code := try(c.ctx, c, rpc, request)
	if code != codes.OK {
		c.excuse(request, code)
		c.Fail("%s must return OK, not %s", requestName(request), code)
	}
	return response
}

// refused makes a call that must fail with one of the codes, and returns the code.
func refused[Q, A proto.Message](c *C, rpc method[Q, A], request Q, allowed ...codes.Code) codes.Code {
	_, code := try(c.ctx, c, rpc, request)
	if !slices.Contains(allowed, code) {
		c.excuse(request, code)
		c.Fail("%s must return %s, not %s", requestName(request), orList(allowed), code)
	}
	return code
}

func requestName(request proto.Message) string {
	return strings.TrimSuffix(string(request.ProtoReflect().Descriptor().Name()), "Request")
}

func orList(allowed []codes.Code) string {
	names := make([]string, len(allowed))
	for i, code := range allowed {
		names[i] = code.String()
	}
	return strings.Join(names, " or ")
}

// together makes n concurrent calls and returns their codes.
func (c *C) together(n int, one func(i int) codes.Code) []codes.Code {
	found := make([]codes.Code, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { found[i] = one(i) })
	}
	group.Wait()
	return found
}

// onlyCodes fails the case if a code is not among the allowed ones.
func (c *C) onlyCodes(found []codes.Code, allowed ...codes.Code) {
	for _, code := range found {
		if !slices.Contains(allowed, code) {
			c.Fail("one of %d concurrent calls returned %s; only %s is allowed", len(found), code, orList(allowed))
		}
	}
}

// eventually repeats check until it returns "" or Limits.Settle has passed.
func (c *C) eventually(check func() string) { c.within(c.suite.limits.Settle, check) }

// within repeats check until it returns "" or the limit has passed.
func (c *C) within(limit time.Duration, check func() string) {
	deadline := time.Now().Add(limit)
	pause := pollInterval
	for {
		problem := check()
		if problem == "" {
			return
		}
		if time.Now().Add(pause).After(deadline) || c.ctx.Err() != nil {
			c.Fail("%s (%s after the call)", problem, limit)
		}
		select {
		case <-time.After(pause):
		case <-c.ctx.Done():
		}
		pause = min(2*pause, time.Second)
	}
}

// name returns a new name that begins with the run ID and the case.
func (c *C) name() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.names++
	return fmt.Sprintf("cosi-sanity-%s-%s-%d", c.suite.run, strings.ToLower(c.cs.ID), c.names)
}

// longName returns a name of n bytes that ends in suffix.
func (c *C) longName(n int, suffix string) string {
	name := c.name() + "-"
	return name + strings.Repeat("x", n-len(name)-len(suffix)) + suffix
}

// record keeps the last exchanges for the failure report.
func (c *C) record(x exchange) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.exchanges = append(c.exchanges, x)
	if len(c.exchanges) > 3 {
		c.exchanges = c.exchanges[1:]
	}
	c.settleNotes(x)
}

func (c *C) lastExchanges() []Exchange {
	c.mu.Lock()
	defer c.mu.Unlock()
	var printed []Exchange
	for _, x := range c.exchanges {
		printed = append(printed, x.printed())
	}
	return printed
}

// later registers a cleanup function to run when the case is over.
func (c *C) later(undo func(context.Context) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.undo = append(c.undo, undo)
}

// inventory lists the resources in the backend, sorted, one line each.
func (c *C) inventory() []string {
	resources, err := c.suite.config.Inventory(c.ctx)
	if err != nil {
		c.Fail("the inventory hook failed: %v", err)
	}
	var lines []string
	for _, r := range resources {
		lines = append(lines, r.Kind+" "+r.Name)
	}
	slices.Sort(lines)
	return lines
}

// unchanged waits until the backend contains the same resources as before.
func (c *C) unchanged(before []string) {
	c.eventually(func() string {
		added, gone := differ(before, c.inventory())
		if len(added)+len(gone) == 0 {
			return ""
		}
		return fmt.Sprintf("the backend changed: added %q, removed %q", added, gone)
	})
}

// grown returns how many more resources of a kind the backend has than before.
func (c *C) grown(kind string, before []string) int {
	added, _ := differ(before, c.inventory())
	n := 0
	for _, line := range added {
		if strings.HasPrefix(line, kind+" ") {
			n++
		}
	}
	return n
}

// listsBucket fails unless the inventory shows a bucket that is not in before. A hook that lists nothing could not
// detect leftovers.
func (c *C) listsBucket(before []string) {
	c.eventually(func() string {
		if c.grown(KindBucket, before) > 0 {
			return ""
		}
		return "the inventory hook lists no new bucket after DriverCreateBucket returned OK: fix the hook, or the driver if it created no bucket"
	})
}

// listsAccess ends the case as not applicable unless the inventory shows a resource that is not in before, the
// inventory from before the grant. Some stores keep nothing for an access, so there is nothing to count.
func (c *C) listsAccess(before []string) {
	if added, _ := differ(before, c.inventory()); len(added) == 0 {
		c.notApplicable("the inventory hook lists nothing new after DriverGrantBucketAccess returned OK (fix the hook, unless an access creates no object in this store)")
	}
}

func differ(before, after []string) (added, gone []string) {
	count := map[string]int{}
	for _, line := range before {
		count[line]--
	}
	for _, line := range after {
		count[line]++
	}
	for line, n := range count {
		for range n {
			added = append(added, line)
		}
		for range -n {
			gone = append(gone, line)
		}
	}
	slices.Sort(added)
	slices.Sort(gone)
	return added, gone
}

// hasInventory reports whether the backend can be listed, for cases that need the inventory only for additional
// checks.
func (c *C) hasInventory() bool { return c.suite.config.Inventory != nil }

// canRestart reports whether the suite owns the driver's process.
func (c *C) canRestart() bool { return c.suite.config.Launcher != nil }

// restart kills the driver and starts it again.
func (c *C) restart() {
	if err := c.suite.driver.restart(c.ctx); err != nil {
		c.Fail("the driver does not start again after kill -9: %v", err)
	}
}
