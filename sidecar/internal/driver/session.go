// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// errConnectionLost is the error for a second connection of a session.
var errConnectionLost = errors.New("the connection to the driver was lost")

// A session is one connection to the driver. gRPC would reconnect, possibly to another driver that serves the socket
// by then. A session never reconnects, so no RPC reaches a driver whose name was not checked.
type session struct {
	conn *grpc.ClientConn
	// calls are the running calls of the Provisioner service.
	calls sync.WaitGroup
}

// dial opens a connection and waits until it is ready or fails.
func dial(ctx context.Context, socket string, options ...grpc.DialOption) (*session, error) {
	var dialed atomic.Bool
	var cause atomic.Pointer[error]
	conn, err := grpc.NewClient("passthrough:///localhost", append(options,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithIdleTimeout(0),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			if dialed.Swap(true) {
				return nil, errConnectionLost
			}
			made, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
			if err != nil {
				cause.Store(&err)
			}
			return made, err
		}))...)
	if err != nil {
		return nil, fmt.Errorf("connect to the driver at %s: %w", socket, err)
	}
	conn.Connect()
	for state := conn.GetState(); state != connectivity.Ready; state = conn.GetState() {
		if state == connectivity.TransientFailure || !conn.WaitForStateChange(ctx, state) {
			err := errConnectionLost
			if dialled := cause.Load(); dialled != nil {
				err = *dialled
			} else if ctx.Err() != nil {
				err = ctx.Err()
			}
			return nil, errors.Join(fmt.Errorf("connect to the driver at %s: %w", socket, err), conn.Close())
		}
	}
	return &session{conn: conn}, nil
}

// info calls DriverGetInfo and checks the response.
func (s *session) info(ctx context.Context, deadline time.Duration) (*cosi.DriverGetInfoResponse, error) {
	return call(ctx, deadline, cosi.Identity_DriverGetInfo_FullMethodName, &cosi.DriverGetInfoRequest{},
		cosi.NewIdentityClient(s.conn).DriverGetInfo)
}

// lost returns a channel that is closed when the connection breaks or ctx ends.
func (s *session) lost(ctx context.Context) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.conn.WaitForStateChange(ctx, connectivity.Ready)
	}()
	return done
}

// ended returns when all calls have ended, which their deadlines ensure, or when ctx ends. No new calls may start.
func (s *session) ended(ctx context.Context) {
	none := make(chan struct{})
	go func() {
		defer close(none)
		s.calls.Wait()
	}()
	select {
	case <-none:
	case <-ctx.Done():
	}
}

func (s *session) close() error {
	if err := s.conn.Close(); err != nil {
		return fmt.Errorf("close the connection to the driver: %w", err)
	}
	return nil
}
