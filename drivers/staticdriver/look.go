// SPDX-License-Identifier: Apache-2.0

package staticdriver

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	"golang.org/x/oauth2/jwt"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/backenderror"
)

const (
	googleEndpoint = "https://storage.googleapis.com"
	// lookTimeout limits the duration of one check.
	lookTimeout = 20 * time.Second
)

// statusError is a response with an unsuccessful status.
type statusError struct {
	status int
	// denied means that the store recognizes the credential but does not allow it to list.
	denied bool
}

// Error implements error.
func (s statusError) Error() string { return fmt.Sprintf("HTTP status %d", s.status) }

// denials matches the responses of stores to a credential that they recognize: S3 and Cloud Storage, Azure, Azure for
// a signature for objects only, and Google's JSON API. For an unknown credential or a wrong signature they return
// something else.
var denials = regexp.MustCompile(`AccessDenied|AuthorizationPermissionMismatch|AuthorizationResourceTypeMismatch|"forbidden"`)

var refused = backenderror.Meaning{
	Kind: driverkit.PermissionDenied, Text: "the store rejects the configured credential for this bucket; an administrator has to replace it",
}

var looks = backenderror.Table{
	Backend: "the store",
	Read: func(err error) backenderror.Failure {
		if status, ok := errors.AsType[statusError](err); ok {
			return backenderror.Failure{Called: true, Status: status.status}
		}
		if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refused.Response != nil {
			return backenderror.Failure{Called: true, Status: refused.Response.StatusCode}
		}
		_, called := errors.AsType[*url.Error](err)
		return backenderror.Failure{Called: called}
	},
	Statuses: map[int]backenderror.Meaning{
		http.StatusBadRequest: refused, http.StatusUnauthorized: refused, http.StatusForbidden: refused,
		http.StatusMovedPermanently: {Kind: driverkit.FailedPrecondition, Text: "its region or endpoint differs from the configuration"},
	},
}

// look lists one object of the bucket with the credential that users get, which is the most reliable check that both
// exist. A credential that may not list is not an error, because not all credentials can.
func (d *Driver) look(ctx context.Context, id string, config BucketConfig, g given) error {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	err := d.list(ctx, config, g)
	if status, ok := errors.AsType[statusError](err); ok && status.denied {
		return nil
	}
	return looks.Translate("bucket "+id, err)
}

// list lists one object.
func (d *Driver) list(ctx context.Context, config BucketConfig, g given) error {
	client := d.client(g.credential.CertificateAuthority)
	defer client.CloseIdleConnections()
	switch {
	case g.protocol == driverkit.S3:
		at, err := s3URL(*g.info.S3)
		if err != nil {
			return err
		}
		return signed(ctx, client, at, g.info.S3.Region, g.credential.S3.AccessKeyID, g.credential.S3.SecretKey.Reveal())
	case g.protocol == driverkit.Azure:
		return get(ctx, client, g.credential.Azure.Token.Reveal()+"&restype=container&comp=list&maxresults=1", nil)
	case g.credential.GCS.AccessID != "":
		return signed(ctx, client, orGoogle(config.Endpoint)+"/"+url.PathEscape(g.info.GCS.BucketName)+"?list-type=2&max-keys=1", "auto",
			g.credential.GCS.AccessID, g.credential.GCS.AccessSecret.Reveal())
	default:
		token, err := token(context.WithValue(ctx, oauth2.HTTPClient, client), config.Endpoint, *g.credential.GCS)
		if err != nil {
			return err
		}
		return get(ctx, client, orGoogle(config.Endpoint)+"/storage/v1/b/"+url.PathEscape(g.info.GCS.BucketName)+"/o?maxResults=1", token.SetAuthHeader)
	}
}

func orGoogle(endpoint string) string {
	if endpoint == "" {
		return googleEndpoint
	}
	return strings.TrimRight(endpoint, "/")
}

func s3URL(bucket driverkit.S3Bucket) (string, error) {
	at, err := url.Parse(bucket.Endpoint)
	if err != nil {
		return "", fmt.Errorf("parse the endpoint: %w", err)
	}
	if bucket.Style == driverkit.VirtualStyle {
		at.Host = bucket.Name + "." + at.Host
	} else {
		at.Path = "/" + bucket.Name
	}
	return strings.TrimRight(at.String(), "/") + "/?list-type=2&max-keys=1", nil
}

// client returns a client that trusts the authorities of the Secret, as workloads do.
func (d *Driver) client(authorities string) *http.Client {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true}
	if authorities != "" {
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM([]byte(authorities))
		transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}
	}
	return &http.Client{
		Transport: d.calls.Wrap("", transport),
		// A redirect would invalidate the signature and could send a token to another server.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// signed sends a GET with a version 4 signature, which Google also accepts for HMAC keys.
func signed(ctx context.Context, client *http.Client, at, region, id, secret string) error {
	nothing := sha256.Sum256(nil)
	hash := hex.EncodeToString(nothing[:])
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, http.NoBody)
	if err != nil {
		return fmt.Errorf("look up the bucket: %w", err)
	}
	request.Header.Set("X-Amz-Content-Sha256", hash)
	signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })
	if err := signer.SignHTTP(ctx, aws.Credentials{AccessKeyID: id, SecretAccessKey: secret}, request, hash, "s3", region, time.Now()); err != nil {
		return fmt.Errorf("look up the bucket: %w", err)
	}
	return do(client, request)
}

func get(ctx context.Context, client *http.Client, at string, authenticate func(*http.Request)) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, http.NoBody)
	if err != nil {
		return errors.New("look up the bucket: its URL is not valid") // the error would contain the token
	}
	if authenticate != nil {
		authenticate(request)
	}
	return do(client, request)
}

func do(client *http.Client, request *http.Request) error {
	response, err := client.Do(request)
	if err != nil {
		// The client's error contains the URL, and with it Azure's token.
		if failed, ok := errors.AsType[*url.Error](err); ok {
			failed.URL = request.URL.Scheme + "://" + request.URL.Host
		}
		return fmt.Errorf("look up the bucket: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<16))
	if err != nil {
		return fmt.Errorf("look up the bucket: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return statusError{response.StatusCode, response.StatusCode == http.StatusForbidden && denials.Match(body)}
	}
	return nil
}

// token returns an access token for a service account key.
func token(ctx context.Context, endpoint string, key driverkit.GCSCredential) (*oauth2.Token, error) {
	config := jwt.Config{
		Email: key.ClientEmail, PrivateKey: []byte(key.PrivateKey.Reveal()), PrivateKeyID: key.PrivateKeyID,
		Scopes: []string{"https://www.googleapis.com/auth/devstorage.read_only"}, TokenURL: google.JWTTokenURL,
	}
	if endpoint != "" {
		config.TokenURL = strings.TrimRight(endpoint, "/") + "/token"
	}
	made, err := config.TokenSource(ctx).Token()
	if err != nil {
		return nil, fmt.Errorf("look up the bucket: %w", err)
	}
	return made, nil
}

// callName returns the names of calls for metrics and spans.
func callName(request *http.Request) (api, operation string) {
	if strings.HasSuffix(request.URL.Path, "/token") {
		return "OAuth", "Token"
	}
	return "Store", "List"
}
