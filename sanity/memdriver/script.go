// SPDX-License-Identifier: Apache-2.0

package memdriver

import (
	"context"
	"slices"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Fault is a scripted deviation for calls that match RPC and ID. It does not affect the first Skip matching calls, but
// the next Times calls. If neither Code nor Answer is set, an affected call is held as Hold says, and then continues
// as usual.
type Fault struct {
	// RPC to affect; empty means every RPC except GetInfo.
	RPC RPC
	// ID to affect, as in Call; empty means every ID.
	ID string
	// Skip is how many matching calls pass first.
	Skip int
	// Times is how many calls are affected after that; 0 means one, Always means all.
	Times int
	// Code to return with Message instead of the usual response. codes.OK returns no error.
	Code    codes.Code
	Message string
	// AfterEffect lets the call take effect before Code is returned, as if the response were lost. If the call itself
	// fails, its own error is returned instead.
	AfterEffect bool
	// Answer replaces a successful response, after the effect.
	Answer proto.Message
	// Hold delays the call until the channel is closed or the call's context ends. The delay is before the effect, or
	// after the effect if AfterEffect is set. A nil channel does not delay the call.
	Hold <-chan struct{}
	// IgnoreContext makes Hold ignore the end of the call's context, like a driver that does not notice that its client
	// has disconnected.
	IgnoreContext bool
}

// Always makes a Fault affect all calls.
const Always = -1

// scripted is a fault with the number of matching calls so far.
type scripted struct {
	Fault
	seen int
}

// script holds the faults. Its zero value is ready for use.
type script struct {
	mu     sync.Mutex
	faults []*scripted
}

// Script adds faults. If several faults match a call, only one of them counts the call and affects it: the first that
// has not reached its Times. The returned function removes the faults.
func (d *Driver) Script(faults ...Fault) (remove func()) {
	added := make([]*scripted, len(faults))
	for i, fault := range faults {
		added[i] = &scripted{Fault: fault}
	}
	d.script.mu.Lock()
	defer d.script.mu.Unlock()
	d.script.faults = append(d.script.faults, added...)
	return func() {
		d.script.mu.Lock()
		defer d.script.mu.Unlock()
		d.script.faults = slices.DeleteFunc(d.script.faults, func(fault *scripted) bool {
			return slices.Contains(added, fault)
		})
	}
}

// ClearScript removes all faults.
func (d *Driver) ClearScript() {
	d.script.mu.Lock()
	defer d.script.mu.Unlock()
	d.script.faults = nil
}

// next returns the fault that applies to a call, or nil.
func (s *script) next(rpc RPC, id string) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, fault := range s.faults {
		if !fault.matches(rpc, id) || fault.usedUp() {
			continue
		}
		fault.seen++
		if fault.seen <= fault.Skip {
			return nil
		}
		return &fault.Fault
	}
	return nil
}

func (f *scripted) matches(rpc RPC, id string) bool {
	if f.RPC == "" && rpc == GetInfo {
		return false
	}
	return (f.RPC == "" || f.RPC == rpc) && (f.ID == "" || f.ID == id)
}

func (f *scripted) usedUp() bool {
	return f.Times != Always && f.seen >= f.Skip+max(f.Times, 1)
}

// before applies a fault before the effect.
func (f *Fault) before(ctx context.Context) error {
	if f == nil || f.AfterEffect {
		return nil
	}
	if err := f.hold(ctx); err != nil {
		return err
	}
	return f.err()
}

// after applies a fault to a successful response.
func (f *Fault) after(ctx context.Context, response proto.Message) (proto.Message, error) {
	if f == nil {
		return response, nil
	}
	if f.AfterEffect {
		if err := f.hold(ctx); err != nil {
			return nil, err
		}
		if err := f.err(); err != nil {
			return nil, err
		}
	}
	if f.Answer != nil {
		return f.Answer, nil
	}
	return response, nil
}

func (f *Fault) err() error {
	if f.Code == codes.OK {
		return nil
	}
	message := f.Message
	if message == "" {
		message = "scripted fault"
	}
	return status.Error(f.Code, message)
}

func (f *Fault) hold(ctx context.Context) error {
	if f.Hold == nil {
		return nil
	}
	done := ctx.Done()
	if f.IgnoreContext {
		done = nil
	}
	select {
	case <-f.Hold:
		return nil
	case <-done:
		return status.FromContextError(ctx.Err()).Err()
	}
}

// hook runs inside handlers.
type hook func(ctx context.Context, request proto.Message) error

// hooks holds the hooks. Its zero value is ready for use.
type hooks struct {
	mu   sync.Mutex
	all  map[int]hook
	last int
}

// On runs a hook in the handler of every call whose request has type T. The hook runs before scripted faults apply and
// before the call takes effect, and the driver holds no lock meanwhile. If the hook returns an error, the call returns
// that error, with its gRPC code if it has one. The returned function removes the hook.
//
// For example, this hook runs in every DriverCreateBucket call:
//
//	memdriver.On(driver, func(ctx context.Context, request *cosi.DriverCreateBucketRequest) error {
//		...
//	})
func On[T proto.Message](d *Driver, run func(ctx context.Context, request T) error) (remove func()) {
	d.hooks.mu.Lock()
	defer d.hooks.mu.Unlock()
	if d.hooks.all == nil {
		d.hooks.all = map[int]hook{}
	}
	d.hooks.last++
	number := d.hooks.last
	d.hooks.all[number] = func(ctx context.Context, request proto.Message) error {
		if typed, ok := request.(T); ok {
			return run(ctx, typed)
		}
		return nil
	}
	return func() {
		d.hooks.mu.Lock()
		defer d.hooks.mu.Unlock()
		delete(d.hooks.all, number)
	}
}

// run runs the hooks in the order in which they were added.
func (h *hooks) run(ctx context.Context, request proto.Message) error {
	h.mu.Lock()
	var ordered []hook
	for number := 1; number <= h.last; number++ {
		if one, there := h.all[number]; there {
			ordered = append(ordered, one)
		}
	}
	h.mu.Unlock()
	for _, one := range ordered {
		if err := one(ctx, request); err != nil {
			return err
		}
	}
	return nil
}
