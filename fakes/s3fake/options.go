// SPDX-License-Identifier: Apache-2.0

package s3fake

import (
	"crypto/tls"
	"net/http"
	"time"
)

// Options describe a Server. The zero value is a usable server in memory.
type Options struct {
	// Address is where Start listens, host:port; "127.0.0.1:0" by default, a free port.
	Address string
	// Region is the only region served; us-east-1 by default.
	Region string
	// AccountID is the 12-digit account; 000000000000 by default.
	AccountID string
	// Partition is the second part of ARNs; aws by default.
	Partition string
	// RootAccessKeyID and RootSecretAccessKey are the account's root credentials. Both are invented when empty and
	// can be read with Server.Root.
	RootAccessKeyID     string
	RootSecretAccessKey string
	// Dir keeps all state in a directory that survives the process; "" keeps it in memory, and bodies in a temporary
	// directory (TMPDIR), which is gone after Close.
	Dir string
	// BodyThreshold is the size in bytes above which a body has a file of its own; 256 KiB by default. Smaller ones share
	// one file. With Dir every body is a file.
	BodyThreshold int64
	// TLS serves HTTPS with this configuration; nil serves HTTP. See SelfSigned.
	TLS *tls.Config
	// Domains are host names under which buckets are addressed as sub-domains, beside path-style.
	Domains []string
	// OpenBuckets leaves the public access block of new buckets off. AWS has turned it on since April 2023.
	OpenBuckets bool
	// Quirks are what compatible stores do and AWS does not. The zero value is AWS.
	Quirks Quirks
	// KMSKeys are the IDs or ARNs of the KMS keys that exist; nil accepts any.
	KMSKeys []string
	// Issuers fetches keys of web identity token issuers; http.DefaultClient by default.
	Issuers *http.Client
	// Clusters maps the EKS clusters that exist to the issuers of their service account tokens.
	Clusters map[string]string
	// Past keeps how everything was, which reads under a fault rule with the effect stale return.
	Past bool
	// Now is the clock; time.Now by default.
	Now func() time.Time
}

// Quirks are what compatible stores do and AWS does not.
type Quirks struct {
	// ForgetsTags takes the tags of new users and roles and forgets them, as Ceph RGW does with those of users.
	ForgetsTags bool
	// LocationOnly refuses the configuration of a new bucket without a LocationConstraint, and ignores the tags in it, as
	// Ceph RGW does.
	LocationOnly bool
	// NoBucketTags serves no tags of buckets, as Garage does not.
	NoBucketTags bool
}

// Credentials are an access key pair.
type Credentials struct {
	AccessKeyID     string
	SecretAccessKey string
}

// String implements fmt.Stringer without the secret.
func (c Credentials) String() string { return c.AccessKeyID + ":[redacted]" }

// GoString implements fmt.GoStringer without the secret.
func (c Credentials) GoString() string { return c.String() }

// past is the clock of what is kept, nil if nothing is.
func (o Options) past() func() time.Time {
	if !o.Past {
		return nil
	}
	return o.Now
}

func (o Options) withDefaults() Options {
	if o.Address == "" {
		o.Address = "127.0.0.1:0"
	}
	if o.Region == "" {
		o.Region = "us-east-1"
	}
	if o.AccountID == "" {
		o.AccountID = "000000000000"
	}
	if o.Partition == "" {
		o.Partition = "aws"
	}
	if o.BodyThreshold == 0 {
		o.BodyThreshold = 256 << 10
	}
	if o.Issuers == nil {
		o.Issuers = http.DefaultClient
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}
