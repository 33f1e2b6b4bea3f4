// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// azureVersion is the version of the Blob service REST API that the prober uses.
const azureVersion = "2021-12-02"

// azureProber uses the Azure Blob REST API with the shared access signature of the grant.
type azureProber struct {
	transport *transport
	endpoint  string
}

// Try implements Prober.
func (p azureProber) Try(ctx context.Context, attempt Attempt) (Outcome, error) {
	container, signed, err := p.container(attempt)
	if err != nil {
		return Outcome{}, err
	}
	c, err := azureCall(container, signed, attempt)
	if err != nil {
		return Outcome{}, err
	}
	request, err := c.request(ctx)
	if err != nil {
		return Outcome{}, err
	}
	outcome, err := p.transport.send(request, attempt.Credentials.GetCertificateAuthority())
	return listed(attempt.Action, outcome, err)
}

// container returns the URL of the container and, separately, the signature. The token is the resource URI with the
// signature as its query string, or only the signature. In the latter case the container's name is the bucket ID
// without the backend's name, if any.
func (p azureProber) container(attempt Attempt) (url.URL, url.Values, error) {
	token := attempt.Credentials.GetAzure().GetAccessToken()
	if strings.HasPrefix(token, "http://") || strings.HasPrefix(token, "https://") {
		parsed, err := url.Parse(token)
		if err != nil {
			return url.URL{}, nil, errors.New("the access token looks like a URI but is not valid")
		}
		signed := parsed.Query()
		parsed.RawQuery = ""
		elsewhere, err := p.elsewhere(*parsed, attempt)
		return elsewhere, signed, err
	}
	signed, err := url.ParseQuery(strings.TrimPrefix(token, "?"))
	if err != nil {
		return url.URL{}, nil, errors.New("the access token is neither a URI nor a query")
	}
	account := attempt.Info.GetAzure().GetStorageAccount()
	endpoint := p.endpoint
	if endpoint == "" {
		endpoint = "https://" + account + ".blob.core.windows.net"
	}
	base, err := url.Parse(endpoint)
	if err != nil || base.Host == "" {
		return url.URL{}, nil, fmt.Errorf("endpoint %q is not a URL", endpoint)
	}
	return *base.JoinPath(containerName(attempt.BucketID)), signed, nil
}

func containerName(bucketID string) string { return bucketID[strings.LastIndexAny(bucketID, "./")+1:] }

// elsewhere returns the URL of the container to try: that of the token, or a container in the same account if the
// attempt is for a bucket that the token was not granted for.
func (azureProber) elsewhere(granted url.URL, attempt Attempt) (url.URL, error) {
	if len(attempt.Granted) == 0 || slices.Contains(attempt.Granted, attempt.BucketID) {
		return granted, nil
	}
	at := strings.LastIndex(granted.Path, "/") + 1
	if granted.Path[at:] != containerName(attempt.Granted[0]) {
		return url.URL{}, errors.New("cannot find the container of another bucket: bucket IDs do not end in container names")
	}
	granted.Path = granted.Path[:at] + containerName(attempt.BucketID)
	return granted, nil
}

func azureCall(container url.URL, signed url.Values, attempt Attempt) (call, error) {
	c := call{url: &container, header: http.Header{"X-Ms-Version": {azureVersion}}}
	blob := container.JoinPath(attempt.Key)
	switch attempt.Action {
	case PutObject:
		c.method, c.url, c.body = http.MethodPut, blob, attempt.Body
		c.header.Set("X-Ms-Blob-Type", "BlockBlob")
	case GetObject:
		c.method, c.url = http.MethodGet, blob
	case DeleteObject:
		c.method, c.url = http.MethodDelete, blob
	case SetObjectTags:
		c.method, c.url = http.MethodPut, blob
		c.header.Set("X-Ms-Meta-Cosi", "sanity")
		signed.Set("comp", "metadata")
	case GetObjectTags:
		c.method, c.url = http.MethodGet, blob
		signed.Set("comp", "metadata")
	case ListObjects:
		c.method = http.MethodGet
		signed.Set("comp", "list")
		signed.Set("restype", "container")
	case GetBucketTags:
		c.method = http.MethodGet
		signed.Set("restype", "container")
	case DeleteBucket:
		c.method = http.MethodDelete
		signed.Set("restype", "container")
	case SetBucketPolicy:
		c.method = http.MethodPut
		signed.Set("comp", "acl")
		signed.Set("restype", "container")
	default:
		return call{}, unknownAction(attempt.Action)
	}
	c.url.RawQuery = signed.Encode()
	return c, nil
}
