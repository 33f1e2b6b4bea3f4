// SPDX-License-Identifier: Apache-2.0

package credstore

import (
	"context"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/cooper-cosi/cooper/internal/unixsocket"
	cosi "github.com/cooper-cosi/cooper/proto"
)

const (
	// callTimeout limits calls without a deadline.
	callTimeout = 30 * time.Second
	// longestPause is the maximum time between two attempts to connect. The sidecar may start after its driver.
	longestPause = time.Second
)

// statusCodes are the errors of a store with the codes that the contract has for them.
var statusCodes = map[codes.Code]error{
	codes.NotFound:           ErrNotFound,
	codes.Aborted:            ErrConflict,
	codes.FailedPrecondition: ErrStoreID,
	codes.DataLoss:           ErrCorrupt,
}

// Remote implements Blobs with the store that a sidecar serves. If no sidecar is running, every call fails immediately.
type Remote struct {
	connection *grpc.ClientConn
	client     cosi.CredentialStoreClient
	endpoint   string
}

// Dial returns the store served at an endpoint such as unix:///var/lib/cosi/credentials.sock. It connects at the first
// call.
func Dial(endpoint string) (*Remote, error) {
	socket, err := unixsocket.Path(endpoint)
	if err != nil {
		return nil, err
	}
	pause := backoff.DefaultConfig
	pause.BaseDelay, pause.MaxDelay = longestPause/10, longestPause
	connection, err := grpc.NewClient("passthrough:///localhost",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: pause, MinConnectTimeout: callTimeout}),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		}))
	if err != nil {
		return nil, fmt.Errorf("create a client of the credential store at %s: %w", endpoint, err)
	}
	return &Remote{connection: connection, client: cosi.NewCredentialStoreClient(connection), endpoint: endpoint}, nil
}

// Close closes the connection.
func (r *Remote) Close() error {
	if err := r.connection.Close(); err != nil {
		return fmt.Errorf("close the connection to the credential store: %w", err)
	}
	return nil
}

// ID implements Blobs.
func (r *Remote) ID(ctx context.Context) (string, error) {
	response, err := call(ctx, r, r.client.GetStoreId, &cosi.GetStoreIdRequest{})
	if err == nil && response.GetId() == "" {
		err = fmt.Errorf("the credential store at %s returned no ID", r.endpoint)
	}
	if err != nil {
		return "", fmt.Errorf("read the ID of the credential store: %w", err)
	}
	return response.GetId(), nil
}

// Get implements Blobs.
func (r *Remote) Get(ctx context.Context, name string) (Blob, error) {
	response, err := call(ctx, r, r.client.GetEntry, &cosi.GetEntryRequest{Name: name})
	if err != nil {
		return Blob{}, fmt.Errorf("read the stored credential of account %q: %w", name, err)
	}
	return Blob{Data: cosi.NewSecret(string(response.GetData())), Version: response.GetVersion(), Place: response.GetPlace()}, nil
}

// Put implements Blobs.
func (r *Remote) Put(ctx context.Context, name string, data cosi.Secret, version string) (string, error) {
	response, err := call(ctx, r, r.client.PutEntry, &cosi.PutEntryRequest{Name: name, Data: []byte(data.Reveal()), Version: version})
	if err == nil && response.GetVersion() == "" {
		err = fmt.Errorf("the credential store at %s returned no version", r.endpoint)
	}
	if err != nil {
		return "", fmt.Errorf("store the credential of account %q: %w", name, err)
	}
	return response.GetVersion(), nil
}

// Delete implements Blobs.
func (r *Remote) Delete(ctx context.Context, name string) error {
	if _, err := call(ctx, r, r.client.DeleteEntry, &cosi.DeleteEntryRequest{Name: name}); err != nil {
		return fmt.Errorf("delete the stored credential of account %q: %w", name, err)
	}
	return nil
}

// call makes an RPC and converts its status code to an error of this package.
func call[Request, Response any](
	ctx context.Context, r *Remote, rpc func(context.Context, Request, ...grpc.CallOption) (Response, error), request Request,
) (Response, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	response, err := rpc(ctx, request)
	if err == nil {
		return response, nil
	}
	if sentinel, ok := statusCodes[status.Code(err)]; ok {
		return response, fmt.Errorf("%w (%s)", sentinel, status.Convert(err).Message())
	}
	return response, fmt.Errorf("call the sidecar's credential store at %s: %w", r.endpoint, err)
}
