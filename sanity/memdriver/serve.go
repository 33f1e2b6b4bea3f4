// SPDX-License-Identifier: Apache-2.0

package memdriver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// Server serves a Driver. A Driver can have several Servers, either in succession on one endpoint, like a driver that
// restarts, or simultaneously on different endpoints.
type Server struct {
	server *grpc.Server
	served chan error
	stop   sync.Once
	err    error
}

// Start serves on an endpoint of the form unix:///path/to/driver.sock. When it returns, the socket accepts
// connections. An existing socket is replaced.
func (d *Driver) Start(endpoint string) (*Server, error) {
	path, found := strings.CutPrefix(endpoint, "unix://")
	if !found || !strings.HasPrefix(path, "/") || !strings.HasSuffix(path, ".sock") {
		return nil, fmt.Errorf("endpoint %q is not of the form unix:///path/to/driver.sock", endpoint)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("remove the old socket: %w", err)
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen for the driver: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("set the mode of the socket: %w", err), listener.Close())
	}
	started := &Server{served: make(chan error, 1), server: d.NewServer()}
	go func() { started.served <- started.server.Serve(listener) }()
	return started, nil
}

// NewServer returns a server with the driver's services that does not listen yet, for a caller that implements the
// process around it.
func (d *Driver) NewServer(options ...grpc.ServerOption) *grpc.Server {
	g := &guard{driver: d, busy: map[string]chan struct{}{}}
	server := grpc.NewServer(slices.Concat(d.options.ServerOptions, options, []grpc.ServerOption{grpc.ChainUnaryInterceptor(g.intercept, d.respond)})...)
	d.register(server)
	healthpb.RegisterHealthServer(server, health.NewServer())
	return server
}

// Stop ends the server immediately, as if its process were killed. Connections break, contexts of running calls end,
// and the socket is removed. The effects of the calls on the backend remain. Further calls of Stop return the result
// of the first call.
func (s *Server) Stop() error {
	s.stop.Do(func() {
		s.server.Stop()
		if err := <-s.served; !errors.Is(err, grpc.ErrServerStopped) {
			s.err = err
		}
	})
	return s.err
}

// Serve calls Start and, when ctx ends, Stop.
func (d *Driver) Serve(ctx context.Context, endpoint string) error {
	server, err := d.Start(endpoint)
	if err != nil {
		return err
	}
	<-ctx.Done()
	return server.Stop()
}

// guard wraps the calls of one server. Its locks belong to the server rather than the driver, because they end with
// the process that the server represents.
type guard struct {
	driver *Driver
	mu     sync.Mutex
	// busy contains the locked IDs; the channel is closed when a second call for the ID arrives.
	busy map[string]chan struct{}
}

// secondKey is the context key of the channel that closes when a second call for the same ID arrives.
type secondKey struct{}

// second returns the channel that closes when a second call for the same ID arrives.
func second(ctx context.Context) <-chan struct{} {
	arrived, _ := ctx.Value(secondKey{}).(chan struct{})
	return arrived
}

// intercept records a call, including rejected ones, and runs it with hooks and faults.
func (g *guard) intercept(
	ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler,
) (any, error) {
	message, ok := request.(proto.Message)
	rpc := rpcOf(info.FullMethod)
	if !ok || !strings.HasPrefix(string(rpc), "Driver") {
		return handle(ctx, request)
	}
	call, locked, err := g.start(rpc, message)
	var response proto.Message
	if err == nil {
		response, err = g.run(ctx, call, locked, message, handle)
	}
	if err != nil {
		answered := status.Convert(err)
		g.driver.record.finish(call, nil, answered.Code(), answered.Message())
		return nil, answered.Err()
	}
	g.driver.record.finish(call, response, codes.OK, "")
	return response, nil
}

// start records a call and locks its ID atomically, so that a test that sees the call as started finds its ID locked.
// It rejects a second call for one ID. It does not lock for a request that violates the rules of its fields, because
// the driver rejects that regardless of other calls.
func (g *guard) start(rpc RPC, request proto.Message) (call *Call, locked bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	call = g.driver.record.start(rpc, request)
	if !call.locks() || g.driver.options.Speaks == "" && cosi.ValidateRequest(request) != nil {
		return call, false, nil
	}
	first, busy := g.busy[call.ID]
	if !busy {
		g.busy[call.ID] = make(chan struct{})
		return call, true, nil
	}
	select {
	case <-first:
	default:
		close(first)
	}
	// Grants are fast here and would overlap by chance.
	if g.driver.has(BusyIsInternal) && (rpc == CreateBucket || rpc == DeleteBucket) {
		return call, false, status.Errorf(codes.Internal, "%s is busy", call.ID)
	}
	return call, false, status.Errorf(codes.Aborted, "another call for %s is still running", call.ID)
}

func (g *guard) run(ctx context.Context, call *Call, locked bool, request proto.Message, handle grpc.UnaryHandler) (proto.Message, error) {
	if locked {
		g.mu.Lock()
		ctx = context.WithValue(ctx, secondKey{}, g.busy[call.ID])
		g.mu.Unlock()
		defer g.unlock(call.ID)
	}
	if err := g.driver.hooks.run(ctx, proto.Clone(request)); err != nil {
		return nil, err
	}
	fault := g.driver.script.next(call.RPC, call.ID)
	if err := fault.before(ctx); err != nil {
		return nil, err
	}
	if fault != nil && fault.IgnoreContext {
		ctx = context.WithoutCancel(ctx)
	}
	reply, err := handle(ctx, request)
	if err != nil {
		return nil, err
	}
	response, ok := reply.(proto.Message)
	if !ok {
		return nil, status.Errorf(codes.Internal, "%T is not a message", reply)
	}
	return fault.after(ctx, response)
}

func (g *guard) unlock(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.busy, id)
}

// locks reports whether a call locks its ID. Phase 1 changes nothing, so it does not lock.
func (c *Call) locks() bool {
	return c.ID != "" && c.RPC != GetInfo && c.RPC != GenerateBucketID && c.RPC != GenerateAccessID
}
