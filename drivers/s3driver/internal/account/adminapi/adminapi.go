// SPDX-License-Identifier: Apache-2.0

// Package adminapi calls the administration APIs that some stores provide in addition to S3. The requests use HTTP
// and are either signed like S3 requests or carry a bearer token.
package adminapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// maxAnswer limits the size of responses.
const maxAnswer = 4 << 20

// Client sends requests to one endpoint. All fields are required except those that the authentication method does not
// need.
type Client struct {
	// Name of the API, for errors.
	Name string
	// Endpoint is the URL without a path.
	Endpoint string
	// Token, if set, returns the API's bearer token. It is called for each request. If Token is nil, the client signs
	// the requests.
	Token func(ctx context.Context) (cosi.Secret, error)
	// Region for the signature.
	Region string
	// Credentials for the signature: the driver's own.
	Credentials aws.CredentialsProvider
	// HTTP sends the requests.
	HTTP aws.HTTPClient
}

// Request is one call.
type Request struct {
	// Operation is the call's name in errors.
	Operation string
	Method    string
	// Path begins with '/'.
	Path  string
	Query url.Values
	Body  []byte
}

// Call sends the request and returns the response body. For any status other than 2xx it returns an error of the same
// type as the SDK's, with the API's own code.
func (c *Client) Call(ctx context.Context, request Request) ([]byte, error) {
	// The SDK stores the names of its own calls in the same place.
	named := middleware.WithOperationName(middleware.WithServiceID(ctx, c.Name), request.Operation)
	body, err := c.send(named, request)
	if err != nil {
		return nil, &smithy.OperationError{ServiceID: c.Name, OperationName: request.Operation, Err: err}
	}
	return body, nil
}

func (c *Client) send(ctx context.Context, request Request) ([]byte, error) {
	target := strings.TrimRight(c.Endpoint, "/") + request.Path
	if len(request.Query) > 0 {
		target += "?" + request.Query.Encode()
	}
	sent, err := http.NewRequestWithContext(ctx, request.Method, target, bytes.NewReader(request.Body))
	if err != nil {
		return nil, fmt.Errorf("create the request: %w", err)
	}
	if err := c.authenticate(ctx, sent, request.Body); err != nil {
		return nil, err
	}
	answer, err := c.HTTP.Do(sent)
	if err != nil {
		return nil, fmt.Errorf("send the request: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("read the response: %w", err)
	}
	if answer.StatusCode/100 != 2 {
		return nil, &awshttp.ResponseError{
			RequestID: answer.Header.Get("X-Amz-Request-Id"),
			ResponseError: &smithyhttp.ResponseError{
				Response: &smithyhttp.Response{Response: answer}, Err: parseError(body),
			},
		}
	}
	return body, nil
}

// authenticate adds the token to a request, or signs it.
func (c *Client) authenticate(ctx context.Context, sent *http.Request, body []byte) error {
	if c.Token != nil {
		token, err := c.Token(ctx)
		if err != nil {
			return fmt.Errorf("find the driver's token: %w", err)
		}
		sent.Header.Set("Authorization", "Bearer "+token.Reveal())
		return nil
	}
	credentials, err := c.Credentials.Retrieve(ctx)
	if err != nil {
		return fmt.Errorf("find the driver's credentials: %w", err)
	}
	sum := sha256.Sum256(body)
	hash := hex.EncodeToString(sum[:])
	sent.Header.Set("X-Amz-Content-Sha256", hash)
	if err := v4.NewSigner().SignHTTP(ctx, credentials, sent, hash, "s3", c.Region, time.Now()); err != nil {
		return fmt.Errorf("sign the request: %w", err)
	}
	return nil
}

// parseError reads the code and message of an error response, which is JSON or XML.
func parseError(body []byte) error {
	var parsed struct {
		Code    string `json:"Code"    xml:"Code"`
		Message string `json:"Message" xml:"Message"`
	}
	if json.Unmarshal(body, &parsed) != nil && xml.Unmarshal(body, &parsed) != nil {
		return fmt.Errorf("the response is neither JSON nor XML (%d bytes)", len(body))
	}
	return &smithy.GenericAPIError{Code: parsed.Code, Message: parsed.Message}
}
