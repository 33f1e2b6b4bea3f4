// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cooper-cosi/cooper/drivers/adapter/internal/vendor"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// Contracts that the vendor's driver can implement.
const (
	// V1alpha1 is the specification v1alpha1, the upstream project's releases v0.1 and v0.2.
	V1alpha1 = vendor.V1alpha1
	// Upstream is the upstream project's v1alpha2 as of its commit ee00c26.
	Upstream = vendor.Upstream
)

// IDPrefix is the prefix of the IDs that the adapter generates. The first 8 characters of the ID of the credential store,
// a slash and the requested name follow. An ID without it is the driver's own ID in the form of cosi.EscapeID.
const IDPrefix = "cosi/"

const (
	firstPause = 100 * time.Millisecond
	maxPause   = 2 * time.Second
	// infoTimeout limits a call of DriverGetInfo while the adapter waits for the driver.
	infoTimeout = 10 * time.Second
)

// Options configure the connection to the vendor's driver.
type Options struct {
	// Address is the driver's socket, such as unix:///var/lib/vendor/cosi.sock.
	Address string
	// Contract is V1alpha1 or Upstream.
	Contract string
	// Logger logs why the adapter waits. Nil: slog.Default().
	Logger *slog.Logger

	// dial are more options for the connection, for tests.
	dial []grpc.DialOption
}

// Driver is the connection to a vendor's driver that has responded once. It reconnects automatically. While the driver
// is not connected, calls fail with Unavailable.
type Driver struct {
	conn *vendor.Connection
	name string
}

// Connect waits until the driver responds to DriverGetInfo. It logs each reason for waiting once. It fails only if the
// options are invalid or ctx ends.
func Connect(ctx context.Context, options Options) (*Driver, error) {
	conn, err := vendor.Open(options.Address, options.Contract, options.dial...)
	if err != nil {
		return nil, err
	}
	logger := options.Logger
	if logger == nil {
		logger = slog.Default()
	}
	pause, said := firstPause, ""
	for {
		info, err := firstInfo(ctx, conn)
		if err == nil {
			return &Driver{conn: conn, name: info.GetName()}, nil
		}
		if said != err.Error() {
			said = err.Error()
			logger.InfoContext(ctx, "waiting for the vendor's driver", "address", options.Address, "contract", options.Contract, "reason", said)
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("gave up waiting for the driver at %s: %w (last error: %w)", options.Address, ctx.Err(), err), conn.Close())
		case <-time.After(pause):
			pause = min(2*pause, maxPause)
		}
	}
}

// firstInfo calls DriverGetInfo and checks the response.
func firstInfo(ctx context.Context, conn *vendor.Connection) (*cosi.DriverGetInfoResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, infoTimeout)
	defer cancel()
	info, err := conn.Info(ctx)
	if status.Code(err) == codes.Unimplemented {
		return nil, fmt.Errorf("the driver implements another contract; check --driver-contract: %w", err)
	}
	if err != nil {
		return nil, err
	}
	if err := cosi.ValidateResponse(&cosi.DriverGetInfoRequest{}, info); err != nil {
		return nil, fmt.Errorf("the driver's response to DriverGetInfo is invalid: %w", err)
	}
	return info, nil
}

// Name returns the driver's name.
func (d *Driver) Name() string { return d.name }

// Close closes the connection.
func (d *Driver) Close() error { return d.conn.Close() }

// Adapter implements the contract with the vendor's driver. Serve it with driverkit.ServeRPCs, which validates requests
// and responses and allows one call at a time for each ID. Errors are *driverkit.Error; those of the vendor's driver
// keep their codes and messages.
type Adapter struct {
	cosi.UnimplementedIdentityServer
	cosi.UnimplementedProvisionerServer

	driver  *Driver
	store   credentials.Store
	running running
}

// New returns an adapter that keeps its entries in store.
func New(driver *Driver, store credentials.Store) *Adapter {
	return &Adapter{driver: driver, store: store}
}

// DriverGetInfo implements cosi.IdentityServer.
func (a *Adapter) DriverGetInfo(ctx context.Context, _ *cosi.DriverGetInfoRequest) (*cosi.DriverGetInfoResponse, error) {
	info, err := a.driver.conn.Info(ctx)
	if err != nil {
		return nil, failure(err)
	}
	if info.GetName() != a.driver.name {
		return nil, driverkit.FailedPrecondition("the vendor's driver has the name %q, but the adapter serves %q; restart the adapter", info.GetName(), a.driver.name)
	}
	return info, nil
}

// CheckBackend implements driverkit.BackendChecker: the backend of an adapter is the vendor's driver.
func (a *Adapter) CheckBackend(ctx context.Context) error {
	_, err := a.DriverGetInfo(ctx, nil)
	return err
}

// failure converts the error of a call to the vendor's driver, or of a check of the adapter.
func failure(err error) *driverkit.Error {
	if known, ok := errors.AsType[*driverkit.Error](err); ok {
		return known
	}
	said := status.Convert(err)
	return driverkit.FromStatus(status.New(said.Code(), cosi.RedactURLs(said.Message())))
}

// refused reports whether an error of a create or grant means that the driver has nothing with the name. If it had
// created something for the same request before, it would have to return OK.
func refused(err error) bool {
	code := status.Code(err)
	return code == codes.InvalidArgument || code == codes.OutOfRange
}

// broken returns the error for a response that violates the driver's contract. The problem must not contain secrets.
func broken(method string, problem error) *driverkit.Error {
	return driverkit.Internal("the vendor's driver returned an invalid response to %s: %v. An administrator must check the driver", method, problem)
}

// newID returns the adapter's ID for a name.
func (a *Adapter) newID(ctx context.Context, name string, validate func(string) error) (string, error) {
	prefix, err := a.prefix(ctx)
	if err != nil {
		return "", err
	}
	id := prefix + name
	if err := validate(id); err != nil {
		return "", driverkit.InvalidArgument("name %q cannot be part of an ID: %v", name, err)
	}
	return id, nil
}

// driverID returns the driver's own ID of a bucket or account that the adapter did not create.
func driverID(id string) (string, error) {
	decoded, err := cosi.UnescapeID(id)
	if err != nil {
		return "", driverkit.InvalidArgument("%v", err)
	}
	if len(decoded) > maxDriverID {
		return "", driverkit.InvalidArgument("the driver's ID has %d bytes, but the adapter supports %d", len(decoded), maxDriverID)
	}
	return decoded, nil
}

// prefix returns what precedes the name in the IDs that the adapter generates with its store.
func (a *Adapter) prefix(ctx context.Context) (string, error) {
	const length = 8
	store, err := a.store.ID(ctx)
	if err != nil {
		return "", credentials.StoreError("(any)", err)
	}
	return IDPrefix + store[:min(length, len(store))] + "/", nil
}

// nameOf returns the name in an ID that an adapter generated, and whether one did. A driver's own ID may begin with the
// prefix, but it does not have the ID of a store.
func nameOf(id string) (string, bool) {
	rest, ours := strings.CutPrefix(id, IDPrefix)
	_, name, whole := strings.Cut(rest, "/")
	return name, ours && whole
}

// checkStore returns an error if an ID without an entry was generated with another store, whose entries are lost.
func (a *Adapter) checkStore(ctx context.Context, id string) error {
	prefix, err := a.prefix(ctx)
	if err == nil && !strings.HasPrefix(id, prefix) {
		return driverkit.FailedPrecondition("credential store lost: %s was created with another credential store than that of the adapter, whose IDs begin with %s. "+
			"An administrator must restore the Secrets of the driver's namespace from a backup", id, prefix)
	}
	return err
}
