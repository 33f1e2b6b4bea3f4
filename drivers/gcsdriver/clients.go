// SPDX-License-Identifier: Apache-2.0

package gcsdriver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	iam "google.golang.org/api/iam/v1"
	"google.golang.org/api/option"
	storage "google.golang.org/api/storage/v1"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/call"
)

// scope is the scope of all tokens; IAM determines the driver's permissions.
const scope = "https://www.googleapis.com/auth/cloud-platform"

// tokenTimeout limits the request for a token, which does not inherit the deadline of the call that needs the token.
const tokenTimeout = 15 * time.Second

// clients are the API clients of one project.
type clients struct {
	storage *storage.Service
	iam     *iam.Service
}

// newClients creates the clients. Each request gets a token and is retried, and is sent through the
// transport wrapped by wrap. Requests for tokens go the same way.
func newClients(ctx context.Context, settings BackendConfig, authorities *driverkit.Authorities, wrap wrapTransport) (clients, error) {
	transport := wrap(newTransport(authorities))
	ctx = context.WithValue(ctx, oauth2.HTTPClient, &http.Client{Transport: transport, Timeout: tokenTimeout})
	client := &http.Client{Transport: call.Retry{Next: transport}}
	if !settings.WithoutAccounts {
		client.Transport = &oauth2.Transport{Source: newTokens(ctx, settings.CredentialsFile), Base: client.Transport}
	}
	var made clients
	var err error
	if made.storage, err = storage.NewService(ctx, clientOptions(client, settings.Endpoint, "/storage/v1/")...); err != nil {
		return clients{}, fmt.Errorf("create the client for Cloud Storage: %w", err)
	}
	if made.iam, err = iam.NewService(ctx, clientOptions(client, settings.IAMEndpoint, "/")...); err != nil {
		return clients{}, fmt.Errorf("create the client for IAM: %w", err)
	}
	return made, nil
}

func clientOptions(client *http.Client, endpoint, path string) []option.ClientOption {
	options := []option.ClientOption{option.WithHTTPClient(client)}
	if endpoint != "" {
		options = append(options, option.WithEndpoint(strings.TrimRight(endpoint, "/")+path))
	}
	return options
}

func newTransport(authorities *driverkit.Authorities) http.RoundTripper {
	base, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	own := base.Clone()
	// Many concurrent calls go to one host.
	own.MaxIdleConnsPerHost = 64
	return authorities.Transport(own)
}

// newTokens returns the driver's own tokens, from a file or from application default credentials. The latter are
// looked up on the first call, so the driver can start without them.
func newTokens(ctx context.Context, file string) oauth2.TokenSource {
	if file != "" {
		return &fileTokens{ctx: ctx, file: file}
	}
	return &defaultTokens{ctx: ctx}
}

// fileTokens creates tokens with the credentials in a file, such as that of a mounted Secret. The file is read again
// when it changes.
type fileTokens struct {
	ctx  context.Context //nolint:containedctx // has the HTTP client, and is how oauth2 takes it
	file string

	mu     sync.Mutex
	read   []byte
	source oauth2.TokenSource
}

// Token implements oauth2.TokenSource.
func (f *fileTokens) Token() (*oauth2.Token, error) {
	data, err := os.ReadFile(f.file)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", call.ErrCredentials, err)
	}
	f.mu.Lock()
	if f.source == nil || !bytes.Equal(data, f.read) {
		source, err := parseCredentials(f.ctx, data)
		if err != nil {
			f.mu.Unlock()
			return nil, fmt.Errorf("%w: %s: %w", call.ErrCredentials, f.file, err)
		}
		f.read, f.source = data, source
	}
	source := f.source
	f.mu.Unlock()
	return tokenOf(source)
}

// parseCredentials parses a credentials file in Google's format. The file contains its own type. The client library
// expects the type from a caller that trusts the file, and the administrator trusts the file by configuring it.
func parseCredentials(ctx context.Context, data []byte) (oauth2.TokenSource, error) {
	var file struct {
		Type google.CredentialsType `json:"type"`
	}
	// The decoder's error could contain the key.
	if json.Unmarshal(data, &file) != nil || file.Type == "" {
		return nil, errors.New("the file is not a Google credentials file")
	}
	credentials, err := google.CredentialsFromJSONWithType(ctx, data, file.Type, scope)
	if err != nil {
		return nil, fmt.Errorf("parse the credentials of type %q: %w", file.Type, err)
	}
	return credentials.TokenSource, nil
}

// defaultTokens creates tokens from application default credentials.
type defaultTokens struct {
	ctx context.Context //nolint:containedctx // has the HTTP client, and is how oauth2 takes it

	mu     sync.Mutex
	source oauth2.TokenSource
}

// Token implements oauth2.TokenSource.
func (d *defaultTokens) Token() (*oauth2.Token, error) {
	d.mu.Lock()
	if d.source == nil {
		found, err := google.DefaultTokenSource(d.ctx, scope)
		if err != nil {
			d.mu.Unlock()
			return nil, fmt.Errorf("%w: %w", call.ErrCredentials, err)
		}
		d.source = found
	}
	source := d.source
	d.mu.Unlock()
	return tokenOf(source)
}

// tokenOf requests a token. Its error distinguishes credentials that cannot be used, such as a damaged key, from a
// token endpoint that rejects the request or does not respond.
func tokenOf(source oauth2.TokenSource) (*oauth2.Token, error) {
	token, err := source.Token()
	if err == nil {
		return token, nil
	}
	_, refused := errors.AsType[*oauth2.RetrieveError](err)
	_, unreachable := errors.AsType[*url.Error](err)
	// The JWT flow preserves only the text of such an error.
	if refused || unreachable || strings.HasPrefix(err.Error(), "oauth2: cannot fetch token: ") {
		return nil, fmt.Errorf("get a token: %w", err)
	}
	return nil, fmt.Errorf("%w: %w", call.ErrCredentials, err)
}
