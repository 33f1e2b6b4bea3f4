// SPDX-License-Identifier: Apache-2.0

// Package vendor calls drivers of older generations of the contract. It translates between their messages and those
// of proto/cosi.proto, and refuses requests that a generation cannot express. It stores nothing.
package vendor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// Names of the generations.
const (
	// V1alpha1 is the specification v1alpha1.
	V1alpha1 = "v1alpha1"
	// Upstream is the upstream project's v1alpha2 as of its commit ee00c26.
	Upstream = "upstream-v1alpha2"
)

// A Driver is a driver of an older generation. Such a driver returns an ID only after it has created the resource.
// Errors are gRPC statuses: those of the driver, or the reason why a request cannot be translated.
type Driver interface {
	// Info returns the driver's name and protocols.
	Info(ctx context.Context) (*cosi.DriverGetInfoResponse, error)
	// Create creates the bucket with this name, or returns the existing one.
	Create(ctx context.Context, name string, request *cosi.DriverCreateBucketRequest) (id string, info *cosi.ObjectProtocolAndBucketInfo, err error)
	// Get describes a bucket that exists.
	Get(ctx context.Context, id string, request *cosi.DriverGetBucketRequest) (*cosi.ObjectProtocolAndBucketInfo, error)
	// Delete deletes a bucket. A missing bucket is success.
	Delete(ctx context.Context, id string, parameters map[string]string) error
	// Grant creates an account, or returns the existing one, possibly with a new credential.
	Grant(ctx context.Context, grant Grant) (id string, granted *cosi.DriverGrantBucketAccessResponse, err error)
	// Revoke revokes an account.
	Revoke(ctx context.Context, id string, buckets []string, request *cosi.DriverRevokeBucketAccessRequest) error
}

// Limits are checks of requests that create something, before the driver is called. The errors are like those of a
// Driver.
type Limits interface {
	CheckBucket(request *cosi.DriverCreateBucketRequest) error
	CheckGrant(request *cosi.DriverGrantBucketAccessRequest) error
}

// Grant is a request for an account.
type Grant struct {
	// Name is the idempotency key.
	Name string
	// Request is the request of the contract.
	Request *cosi.DriverGrantBucketAccessRequest
	// Buckets are the buckets of the request, in its order.
	Buckets []Bucket
}

// Bucket is a bucket of a Grant.
type Bucket struct {
	// ID is the driver's ID.
	ID string
	// Info is the connection data of the bucket, or nil if it is unknown. A driver may omit it.
	Info *cosi.ObjectProtocolAndBucketInfo
}

// Connection is a connection to a driver. It reconnects whenever a call finds it broken; until then calls fail with
// Unavailable.
type Connection struct {
	Driver
	Limits

	conn *grpc.ClientConn
}

// longestPause is the maximum time between two attempts to connect.
const longestPause = 2 * time.Second

// Open returns a connection to the driver of a generation at an address such as unix:///var/lib/vendor/cosi.sock. It
// does not wait for the driver.
func Open(address, generation string, options ...grpc.DialOption) (*Connection, error) {
	socket, err := driverkit.SocketPath(address)
	if err != nil {
		return nil, err
	}
	pause := backoff.DefaultConfig
	pause.BaseDelay, pause.MaxDelay = longestPause/10, longestPause
	conn, err := grpc.NewClient("passthrough:///localhost", append(options,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: pause, MinConnectTimeout: longestPause}),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return dial(ctx, socket) }))...)
	if err != nil {
		return nil, fmt.Errorf("connect to the driver at %s: %w", socket, err)
	}
	switch generation {
	case V1alpha1:
		d := newV1alpha1(conn)
		return &Connection{Driver: d, Limits: d, conn: conn}, nil
	case Upstream:
		d := newUpstream(conn)
		return &Connection{Driver: d, Limits: d, conn: conn}, nil
	default:
		_ = conn.Close() // it has no connection yet
		return nil, fmt.Errorf("contract %q is not one of: %s, %s", generation, V1alpha1, Upstream)
	}
}

// abandonedAge is the age at which a socket file without a listener is abandoned. A program that starts has a file
// without a listener only for microseconds.
const abandonedAge = 5 * time.Second

// dial connects to the driver. It removes the socket file of a killed driver, because released drivers do not, and
// then cannot start: their restarted container finds the file again. Lstat and Remove are not atomic: a
// driver that replaces an abandoned file in the microseconds between them loses its new file and must be restarted,
// which is accepted.
func dial(ctx context.Context, socket string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return conn, err
	}
	info, statErr := os.Lstat(socket)
	if statErr == nil && info.Mode().Type() == os.ModeSocket && time.Since(info.ModTime()) > abandonedAge {
		err = errors.Join(err, os.Remove(socket))
	}
	return nil, err
}

// Close closes the connection.
func (c *Connection) Close() error {
	if err := c.conn.Close(); err != nil {
		return fmt.Errorf("close the connection to the driver: %w", err)
	}
	return nil
}

// refuse returns the error for a request that a generation of the contract cannot express. The message says what to
// do.
func refuse(format string, args ...any) error {
	return status.Errorf(codes.InvalidArgument, "not sent to the driver: "+format, args...)
}

// checkPlain refuses access requests that no generation can express.
func checkPlain(asked *cosi.DriverGrantBucketAccessRequest, generation string) error {
	switch {
	case asked.GetAuthenticationType().GetType() != cosi.AuthenticationType_KEY:
		return refuse("%s does not support ServiceAccounts; use a BucketAccessClass with authenticationType: Key", generation)
	case asked.GetRotation() != "":
		return refuse("%s cannot rotate a credential; remove the annotation cooper.dev/rotate, and replace the BucketAccess to get a new credential", generation)
	default:
		return nil
	}
}
