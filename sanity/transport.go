// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

const maxResponse = 1 << 20

// transport sends the requests of the probers. It does not follow redirects. It trusts the certificate authority that
// the driver returned, and keeps one client for each authority.
type transport struct {
	authority []byte

	mu      sync.Mutex
	clients map[string]*http.Client
}

func (t *transport) client(authority string) (*http.Client, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if client := t.clients[authority]; client != nil {
		return client, nil
	}
	base, isTransport := http.DefaultTransport.(*http.Transport)
	if !isTransport {
		return nil, errors.New("http.DefaultTransport is not an *http.Transport")
	}
	own := base.Clone()
	if pem := append(append([]byte(authority), '\n'), t.authority...); len(bytes.TrimSpace(pem)) > 0 {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM(pem) {
			return nil, errors.New("the certificate authority file contains no PEM certificate")
		}
		own.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	client := &http.Client{
		Transport:     own,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	if t.clients == nil {
		t.clients = map[string]*http.Client{}
	}
	t.clients[authority] = client
	return client, nil
}

// call is one HTTP request of a prober.
type call struct {
	method string
	url    *url.URL
	header http.Header
	body   []byte
}

func (c call) request(ctx context.Context) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, c.method, c.url.String(), bytes.NewReader(c.body))
	if err != nil {
		// The URL may contain a signature, so the error of net/http must not be returned.
		return nil, fmt.Errorf("the address of the store in the driver's response is not valid: %s", c.url.Host)
	}
	if c.header != nil {
		request.Header = c.header.Clone()
	}
	if len(c.body) == 0 {
		request.Body, request.ContentLength = nil, 0
	}
	return request, nil
}

// send sends a request and classifies the response by its status.
func (t *transport) send(request *http.Request, authority string) (Outcome, error) {
	client, err := t.client(authority)
	if err != nil {
		return Outcome{}, err
	}
	response, err := client.Do(request)
	if err != nil {
		return Outcome{}, fmt.Errorf("the request to the store at %s failed: %w", request.URL.Host, withoutURL(err))
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxResponse))
	if err != nil {
		return Outcome{}, fmt.Errorf("read the response of the store at %s: %w", request.URL.Host, err)
	}
	outcome := Outcome{Body: body, Detail: response.Status}
	switch {
	case response.StatusCode/100 == 2:
		outcome.Verdict = Allowed
		return outcome, nil
	case response.StatusCode == http.StatusUnauthorized || response.StatusCode == http.StatusForbidden:
		outcome.Verdict = Refused
	case response.Header.Get("X-Ms-Error-Code") == "PublicAccessNotPermitted":
		// Azure returns this with 409 for a request without a signature if the account forbids public access.
		outcome.Verdict = Refused
	case response.StatusCode == http.StatusNotFound:
		outcome.Verdict = Missing
	default:
		return Outcome{}, fmt.Errorf("the store at %s returns %s: %s", request.URL.Host, response.Status, excerpt(body))
	}
	outcome.Detail += " " + excerpt(body)
	return outcome, nil
}

// withoutURL removes the URL from an error of net/http, because it may contain a signature.
func withoutURL(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}

func excerpt(body []byte) string {
	text := strings.Join(strings.Fields(string(body)), " ")
	if len(text) > 300 {
		text = text[:300] + " ..."
	}
	return text
}
