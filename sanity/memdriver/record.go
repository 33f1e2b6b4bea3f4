// SPDX-License-Identifier: Apache-2.0

package memdriver

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/cooper-cosi/cooper/proto/v1alpha1"
)

// RPC is the name of an RPC without its service.
type RPC string

// The RPCs of the contract.
const (
	GetInfo          RPC = "DriverGetInfo"
	GenerateBucketID RPC = "DriverGenerateBucketId"
	CreateBucket     RPC = "DriverCreateBucket"
	GetBucket        RPC = "DriverGetBucket"
	DeleteBucket     RPC = "DriverDeleteBucket"
	GenerateAccessID RPC = "DriverGenerateBucketAccessId"
	GrantAccess      RPC = "DriverGrantBucketAccess"
	RevokeAccess     RPC = "DriverRevokeBucketAccess"
)

// Call is one recorded call.
type Call struct {
	// RPC that was called.
	RPC RPC
	// ID is the ID of the call's bucket or account. In phase 1 it is the requested name, and for GetInfo it is empty.
	ID string
	// Request is a copy of the request.
	Request proto.Message
	// Started and Finished order the starts and ends of all calls: every start and every end gets the next number,
	// beginning with 1. Finished is 0 while the call is running.
	Started, Finished int
	// Code and Message are the status of the response; Response is a copy of the response, or nil on failure. They are
	// not set while the call is running.
	Code     codes.Code
	Message  string
	Response proto.Message
}

// recorder keeps all calls. Its zero value is ready for use.
type recorder struct {
	mu      sync.Mutex
	events  int
	calls   []*Call
	running map[string]int
	highest map[string]int
	// changed is closed and replaced on each event.
	changed chan struct{}
}

func (r *recorder) start(rpc RPC, request proto.Message) *Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events++
	call := &Call{RPC: rpc, ID: idOf(request), Request: proto.Clone(request), Started: r.events}
	r.calls = append(r.calls, call)
	if call.ID != "" {
		if r.running == nil {
			r.running, r.highest = map[string]int{}, map[string]int{}
		}
		r.running[call.ID]++
		r.highest[call.ID] = max(r.highest[call.ID], r.running[call.ID])
	}
	r.announce()
	return call
}

func (r *recorder) finish(call *Call, response proto.Message, code codes.Code, message string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events++
	call.Finished, call.Code, call.Message = r.events, code, message
	if response != nil {
		call.Response = proto.Clone(response)
	}
	if call.ID != "" {
		r.running[call.ID]--
	}
	r.announce()
}

// announce wakes all waiters. The caller holds mu.
func (r *recorder) announce() {
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// snapshot returns copies of the calls of the given RPCs, and a channel that is closed on the next event.
func (r *recorder) snapshot(rpcs []RPC) ([]Call, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.changed == nil {
		r.changed = make(chan struct{})
	}
	var out []Call
	for _, call := range r.calls {
		if len(rpcs) == 0 || slices.Contains(rpcs, call.RPC) {
			out = append(out, *call)
		}
	}
	return out, r.changed
}

// idOf returns the bucket or account of a request.
func idOf(request proto.Message) string {
	switch r := request.(type) {
	case *v1alpha1.DriverGrantBucketAccessRequest:
		return r.GetName()
	case *v1alpha1.DriverRevokeBucketAccessRequest:
		return r.GetAccountId()
	case interface{ GetExistingBucketId() string }:
		return r.GetExistingBucketId()
	case interface{ GetBucketId() string }:
		return r.GetBucketId()
	case interface{ GetAccountId() string }:
		return r.GetAccountId()
	case interface{ GetAccountName() string }:
		return r.GetAccountName()
	case interface{ GetName() string }:
		return r.GetName()
	default:
		return ""
	}
}

// Calls returns the calls of the given RPCs in the order in which they started. Without rpcs, it returns all calls. The
// result includes calls that failed or are still running. Do not modify the messages of the calls.
func (d *Driver) Calls(rpcs ...RPC) []Call {
	calls, _ := d.record.snapshot(rpcs)
	return calls
}

// CallsFor is Calls for one bucket ID, account ID or name.
func (d *Driver) CallsFor(id string, rpcs ...RPC) []Call {
	return slices.DeleteFunc(d.Calls(rpcs...), func(call Call) bool { return call.ID != id })
}

// Requests returns the requests of one type in the order of their arrival, such as
// Requests[*cosi.DriverCreateBucketRequest](driver).
func Requests[T proto.Message](d *Driver) []T {
	var out []T
	for _, call := range d.Calls() {
		if request, ok := call.Request.(T); ok {
			out = append(out, request)
		}
	}
	return out
}

// Await waits until the function enough returns true for the recorded calls of the given RPCs, and returns these calls.
// Without rpcs, it considers all calls. It calls enough at first and whenever a call starts or ends. If ctx ends before
// enough returns true, Await returns the calls so far and the error of ctx.
func (d *Driver) Await(ctx context.Context, enough func([]Call) bool, rpcs ...RPC) ([]Call, error) {
	for {
		calls, changed := d.record.snapshot(rpcs)
		if enough(calls) {
			return calls, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return calls, ctx.Err()
		}
	}
}

// Finished returns a condition for Await: at least n calls have ended.
func Finished(n int) func([]Call) bool {
	return func(calls []Call) bool {
		ended := 0
		for _, call := range calls {
			if call.Finished > 0 {
				ended++
			}
		}
		return ended >= n
	}
}

// Started returns a condition for Await: at least n calls have started.
func Started(n int) func([]Call) bool { return func(calls []Call) bool { return len(calls) >= n } }

// MaxConcurrency returns the maximum number of concurrent calls for one bucket ID, account ID or name. If id is empty,
// MaxConcurrency returns the highest of these numbers over all IDs.
func (d *Driver) MaxConcurrency(id string) int {
	d.record.mu.Lock()
	defer d.record.mu.Unlock()
	if id != "" {
		return d.record.highest[id]
	}
	highest := 0
	for _, count := range d.record.highest {
		highest = max(highest, count)
	}
	return highest
}

// ForgetCalls clears the record. Running calls still count for MaxConcurrency.
func (d *Driver) ForgetCalls() {
	d.record.mu.Lock()
	defer d.record.mu.Unlock()
	d.record.calls = nil
	d.record.highest = map[string]int{}
	maps.Copy(d.record.highest, d.record.running)
}

// rpcOf returns the RPC of a full method name.
func rpcOf(method string) RPC { return RPC(method[strings.LastIndex(method, "/")+1:]) }
