// SPDX-License-Identifier: Apache-2.0

package s3driver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/wholebody"
)

// credentialsAge is how long credentials from files are used before the files are read again.
const credentialsAge = 30 * time.Second

// newAWSConfig returns the SDK's configuration for one backend. The SDK's environment variables and profile files are
// used only if the backend has no credentials of its own.
func newAWSConfig(ctx context.Context, backend BackendConfig, authorities *driverkit.Authorities, wrap wrapTransport) (aws.Config, error) {
	client := newHTTPClient(authorities)
	result := aws.Config{Region: backend.Region, HTTPClient: client}
	if provider := backend.Credentials.provider(); provider != nil {
		result.Credentials = provider
	} else {
		var err error
		// The SDK supports AWS_CA_BUNDLE only with a buildable client.
		result, err = config.LoadDefaultConfig(ctx, config.WithRegion(backend.Region), config.WithHTTPClient(client))
		if err != nil {
			return aws.Config{}, fmt.Errorf("find credentials for the store: %w", err)
		}
	}
	if buildable, ok := result.HTTPClient.(*awshttp.BuildableClient); ok {
		result.HTTPClient = &http.Client{Transport: wrap(wholebody.Transport{Next: authorities.Transport(buildable.GetTransport())}), CheckRedirect: noRedirect}
	}
	return result, nil
}

// noRedirect leaves redirects to the SDK, which must sign the request again.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// newHTTPClient returns the client with which the SDK fetches credentials.
func newHTTPClient(authorities *driverkit.Authorities) *awshttp.BuildableClient {
	client := awshttp.NewBuildableClient()
	pem := authorities.PEM()
	if pem == "" {
		return client
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(pem))
	return client.WithTransportOptions(func(transport *http.Transport) {
		if transport.TLSClientConfig == nil {
			transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
		}
		transport.TLSClientConfig.RootCAs = roots
	})
}

// newS3Client returns a client that uses only the buckets of one account. Anyone who can create buckets can choose
// any free name and any mark, so names and marks do not prove ownership.
func newS3Client(base aws.Config, backend BackendConfig, owner *awsAccount) *s3.Client {
	return s3.NewFromConfig(base, func(options *s3.Options) {
		options.UsePathStyle = backend.Addressing == AddressingPath
		if owner != nil {
			options.APIOptions = append(options.APIOptions, owner.expect)
		}
		if backend.Endpoint == "" {
			return
		}
		options.BaseEndpoint = aws.String(backend.Endpoint)
		// Compatible stores may not support the checksums that the SDK adds by default.
		options.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		options.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	})
}

// awsAccount is the account that owns the buckets. It is nil if the store is not AWS.
type awsAccount struct {
	api *sts.Client

	mu     sync.Mutex
	number string
}

func newAWSAccount(base aws.Config, backend BackendConfig) *awsAccount {
	switch {
	case backend.AccountID != "":
		return &awsAccount{number: backend.AccountID}
	case backend.Endpoint == "":
		return &awsAccount{api: sts.NewFromConfig(base)}
	default:
		return nil
	}
}

// get returns the account number, or "" if there is none. It looks up the driver's identity once, which needs no
// permission.
func (a *awsAccount) get(ctx context.Context) (string, error) {
	if a == nil {
		return "", nil
	}
	a.mu.Lock()
	known := a.number
	a.mu.Unlock()
	if known != "" {
		return known, nil
	}
	out, err := a.api.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return "", err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.number = aws.ToString(out.Account)
	return a.number, nil
}

// expect adds the expected account to every call about a bucket. AWS rejects the call if another account owns the
// bucket ("Verifying bucket ownership with bucket owner condition"). A new bucket has no owner yet.
func (a *awsAccount) expect(stack *middleware.Stack) error {
	name := func(ctx context.Context, in middleware.BuildInput, next middleware.BuildHandler) (out middleware.BuildOutput, metadata middleware.Metadata, err error) {
		request, isHTTP := in.Request.(*smithyhttp.Request)
		if operation := middleware.GetOperationName(ctx); isHTTP && operation != "CreateBucket" && operation != "ListBuckets" {
			number, err := a.get(ctx)
			if err != nil {
				return out, metadata, err
			}
			request.Header.Set("X-Amz-Expected-Bucket-Owner", number)
		}
		return next.HandleBuild(ctx, in)
	}
	if err := stack.Build.Add(middleware.BuildMiddlewareFunc("ExpectedBucketOwner", name), middleware.After); err != nil {
		return fmt.Errorf("add the check of the bucket owner to requests: %w", err)
	}
	return nil
}

func newIAMClient(base aws.Config, backend BackendConfig) *iam.Client {
	return iam.NewFromConfig(base, func(options *iam.Options) {
		if backend.IAM.Endpoint != "" {
			options.BaseEndpoint = aws.String(backend.IAM.Endpoint)
			options.Region = backend.IAM.signingRegion()
		}
	})
}

// signingRegion is the region of the partition's only IAM service.
func (c IAMConfig) signingRegion() string {
	switch {
	case c.Region != "":
		return c.Region
	case c.Partition == "aws-cn":
		return "cn-north-1"
	case c.Partition == "aws-eusc":
		return "eusc-de-east-1"
	case c.Partition == "aws-us-gov":
		return "us-gov-west-1"
	default:
		return "us-east-1"
	}
}

func newEKSClient(base aws.Config, backend BackendConfig) *eks.Client {
	return eks.NewFromConfig(base, func(options *eks.Options) {
		if endpoint := backend.IAM.ServiceAccounts.EKSEndpoint; endpoint != "" {
			options.BaseEndpoint = aws.String(endpoint)
		}
	})
}

// provider returns nil if the configuration leaves the credentials to the SDK.
func (c CredentialsConfig) provider() aws.CredentialsProvider {
	switch {
	case c.AccessKeyIDFile != "":
		return fileCredentials{idFile: c.AccessKeyIDFile, secretFile: c.SecretAccessKeyFile, tokenFile: c.SessionTokenFile}
	case c.AccessKeyID != "":
		fixed := aws.Credentials{AccessKeyID: c.AccessKeyID, SecretAccessKey: c.SecretAccessKey.Reveal(), Source: "configuration"}
		return aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return fixed, nil })
	default:
		return nil
	}
}

// fileCredentials reads a key pair from two files, such as those of a mounted Secret, and optionally a session token
// from a third. The SDK calls it again when the credentials expire.
type fileCredentials struct {
	idFile, secretFile, tokenFile string
}

// Retrieve implements aws.CredentialsProvider.
func (f fileCredentials) Retrieve(context.Context) (aws.Credentials, error) {
	id, err := readLine(f.idFile)
	if err != nil {
		return aws.Credentials{}, err
	}
	secret, err := readLine(f.secretFile)
	if err != nil {
		return aws.Credentials{}, err
	}
	token := ""
	if f.tokenFile != "" {
		if token, err = readLine(f.tokenFile); err != nil {
			return aws.Credentials{}, err
		}
	}
	return aws.Credentials{
		AccessKeyID: id, SecretAccessKey: secret, SessionToken: token, Source: f.idFile, CanExpire: true, Expires: time.Now().Add(credentialsAge),
	}, nil
}

func readLine(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read the driver's credentials: %w", err)
	}
	line := strings.TrimSpace(string(data))
	if line == "" {
		return "", fmt.Errorf("read the driver's credentials: %s is empty", file)
	}
	return line, nil
}
