// SPDX-License-Identifier: Apache-2.0

package s3fake

import (
	"cmp"
	"crypto/tls"
	"log/slog"
	"net/http"
	"time"

	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/notify"
)

// Options configure a Server. The zero value is a usable in-memory server.
type Options struct {
	// Address is the host:port on which Start listens. Default "127.0.0.1:0", a free port.
	Address string
	// Region is the region of requests that are not signed for another one, and of the buckets of Seed. Default
	// us-east-1. If it is a region of AWS, the server also has the other regions of the partition.
	Region string
	// AccountID is the 12-digit account number. Default 000000000000.
	AccountID string
	// Partition is the second part of ARNs. Default aws.
	Partition string
	// RootAccessKeyID and RootSecretAccessKey are the account's root credentials. Both are random if empty; read them
	// with Server.Root.
	RootAccessKeyID     string
	RootSecretAccessKey string
	// Dir is a directory for all state, which then survives the process. If it is empty, state is kept in memory and
	// bodies in a temporary directory (TMPDIR), which Close removes.
	Dir string
	// BodyThreshold is the size in bytes above which a body is stored in a separate file. Default 256 KiB. Smaller
	// bodies share one file. With Dir every body has a separate file.
	BodyThreshold int64
	// TLS serves HTTPS with this configuration; nil serves HTTP. See SelfSigned.
	TLS *tls.Config
	// Domains are host names under which buckets are addressed as subdomains, in addition to path-style URLs.
	Domains []string
	// OpenBuckets disables the public access block of new buckets. AWS has enabled it by default since April 2023.
	OpenBuckets bool
	// RefuseSignatureV2 rejects Signature Version 2, which AWS accepts in us-east-1.
	RefuseSignatureV2 bool
	// Quirks selects deviations of compatible stores from AWS. The zero value is AWS.
	Quirks Quirks
	// KMSKeys are the IDs or ARNs of the existing KMS keys; nil accepts any.
	KMSKeys []string
	// Issuers is the client that fetches the keys of web identity token issuers. Default http.DefaultClient.
	Issuers *http.Client
	// Clusters maps the existing EKS clusters to the issuers of their service account tokens.
	Clusters map[string]string
	// Past keeps earlier states (at least the last 1000 changes). A fault rule with the effect stale makes reads return
	// them.
	Past bool
	// Webhooks maps names of queues to URLs. The server sends the event notifications for such a queue to the URL with
	// POST; the queue does not have to exist.
	Webhooks map[string]string
	// OnEvent is called for each event of each bucket, also if its notifications are not configured. It is called after
	// the change and before the response, by the goroutine of the request. It may call the server.
	OnEvent func(Event)
	// Log receives the events that cannot be delivered. Default slog.Default().
	Log *slog.Logger
	// Now returns the current time. Default time.Now.
	Now func() time.Time

	webhooks *notify.Webhooks
}

// Quirks configures deviations from AWS that S3-compatible stores have.
type Quirks struct {
	// ForgetsTags discards the tags of new users and roles without an error. Ceph RGW does this for users.
	ForgetsTags bool
	// LocationOnly rejects the configuration of a new bucket if it has no LocationConstraint, and ignores the
	// bucket's tags in the configuration, like Ceph RGW.
	LocationOnly bool
	// NoBucketTags disables bucket tags, which Garage does not implement.
	NoBucketTags bool
}

// Credentials are an access key ID and its secret access key.
type Credentials struct {
	AccessKeyID     string
	SecretAccessKey string
}

// String implements fmt.Stringer without the secret.
func (c Credentials) String() string { return c.AccessKeyID + ":[redacted]" }

// GoString implements fmt.GoStringer without the secret.
func (c Credentials) GoString() string { return c.String() }

func (o Options) withDefaults() Options {
	o.Address = cmp.Or(o.Address, "127.0.0.1:0")
	o.Region = cmp.Or(o.Region, "us-east-1")
	o.AccountID = cmp.Or(o.AccountID, "000000000000")
	o.Partition = cmp.Or(o.Partition, "aws")
	o.BodyThreshold = cmp.Or(o.BodyThreshold, 256<<10)
	if o.Issuers == nil {
		o.Issuers = http.DefaultClient
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}
