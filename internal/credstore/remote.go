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

// RemoteBlobs implements Blobs with a store that a sidecar serves. Without a sidecar every call fails immediately.
type RemoteBlobs struct {
	connection *grpc.ClientConn
	client     cosi.CredentialStoreClient
	endpoint   string
}

var _ Blobs = (*RemoteBlobs)(nil)

// NewRemoteBlobs returns the store served at an endpoint such as unix:///var/lib/cosi/credentials.sock. It connects at
// the first call.
func NewRemoteBlobs(endpoint string) (*RemoteBlobs, error) {
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
		return nil, fmt.Errorf("client of the credential store at %s: %w", endpoint, err)
	}
	return &RemoteBlobs{connection: connection, client: cosi.NewCredentialStoreClient(connection), endpoint: endpoint}, nil
}

// Close closes the connection.
func (b *RemoteBlobs) Close() error {
	if err := b.connection.Close(); err != nil {
		return fmt.Errorf("close the connection to the credential store: %w", err)
	}
	return nil
}

// ID implements Blobs.
func (b *RemoteBlobs) ID(ctx context.Context) (string, error) {
	response, err := call(ctx, b, b.client.GetStoreId, &cosi.GetStoreIdRequest{})
	if err != nil {
		return "", fmt.Errorf("ID of the credential store: %w", err)
	}
	if response.GetId() == "" {
		return "", fmt.Errorf("the credential store at %s returned no ID", b.endpoint)
	}
	return response.GetId(), nil
}

// Get implements Blobs.
func (b *RemoteBlobs) Get(ctx context.Context, name string) (Blob, error) {
	response, err := call(ctx, b, b.client.GetEntry, &cosi.GetEntryRequest{Name: name})
	if err != nil {
		return Blob{}, fmt.Errorf("read the stored credential of account %q: %w", name, err)
	}
	return Blob{Data: cosi.NewSecret(string(response.GetData())), Version: response.GetVersion(), Place: response.GetPlace()}, nil
}

// Put implements Blobs.
func (b *RemoteBlobs) Put(ctx context.Context, name string, data cosi.Secret, version string) (string, error) {
	response, err := call(ctx, b, b.client.PutEntry, &cosi.PutEntryRequest{Name: name, Data: []byte(data.Reveal()), Version: version})
	if err != nil {
		return "", fmt.Errorf("store the credential of account %q: %w", name, err)
	}
	if response.GetVersion() == "" {
		return "", fmt.Errorf("store the credential of account %q: the credential store at %s returned no version", name, b.endpoint)
	}
	return response.GetVersion(), nil
}

// Delete implements Blobs.
func (b *RemoteBlobs) Delete(ctx context.Context, name string) error {
	if _, err := call(ctx, b, b.client.DeleteEntry, &cosi.DeleteEntryRequest{Name: name}); err != nil {
		return fmt.Errorf("delete the stored credential of account %q: %w", name, err)
	}
	return nil
}

// call makes an RPC and converts its status code to an error of this package.
func call[Request, Response any](
	ctx context.Context, b *RemoteBlobs, rpc func(context.Context, Request, ...grpc.CallOption) (Response, error), request Request,
) (Response, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	response, err := rpc(ctx, request)
	var kind error
	switch status.Code(err) {
	case codes.OK:
		return response, nil
	case codes.NotFound:
		kind = ErrNotFound
	case codes.Aborted:
		kind = ErrConflict
	case codes.FailedPrecondition:
		kind = ErrStoreID
	case codes.DataLoss:
		kind = ErrCorrupt
	default:
		return response, fmt.Errorf("the sidecar's credential store at %s: %w", b.endpoint, err)
	}
	return response, fmt.Errorf("%w (%s)", kind, status.Convert(err).Message())
}
