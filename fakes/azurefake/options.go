// SPDX-License-Identifier: Apache-2.0

package azurefake

import (
	"cmp"
	"crypto/tls"
	"net/http"
	"time"
)

// DefaultAccount is the name of the storage account of a server without Options.Accounts.
const DefaultAccount = "devstoreaccount1"

// Options configure a Server. The zero value is a usable in-memory server.
type Options struct {
	// Address is the host:port on which Start listens. Default "127.0.0.1:0", a free port.
	Address string
	// Accounts are the storage accounts. Default: one named DefaultAccount.
	Accounts []Account
	// Subscription and ResourceGroup are in the resource IDs of accounts. Both have a default.
	Subscription, ResourceGroup string
	// Dir is a directory for all state, which then survives the process. If it is empty, state is kept in memory and
	// bodies in a temporary directory (TMPDIR), which Close removes.
	Dir string
	// BodyThreshold is the size in bytes above which a body is stored in a separate file. Default 256 KiB. Smaller
	// bodies share one file. With Dir every body has a separate file.
	BodyThreshold int64
	// TLS serves HTTPS with this configuration; nil serves HTTP. See SelfSigned.
	TLS *tls.Config
	// Domains are host names that can be prefixed with an account name, in addition to path-style URLs. Default
	// blob.localhost.
	Domains []string
	// Versioning keeps earlier versions of blobs, like an account with blob versioning.
	Versioning bool
	// Deletion is the time that the deletion of a container takes. During this time its name cannot be used. Default
	// 30 s, the service's minimum. If it is negative, deletion takes no time.
	Deletion time.Duration
	// Issuers is the client that fetches the keys of the issuers of federated tokens. Default http.DefaultClient.
	Issuers *http.Client
	// Past keeps earlier states (at least the last 1000 changes). A fault rule with the effect stale makes reads return
	// them.
	Past bool
	// Now returns the current time. Default time.Now.
	Now func() time.Time
}

// Account is a storage account of a new server.
type Account struct {
	// Name is 3 to 24 lower-case letters and digits.
	Name string
	// Key and Key2 are key1 and key2 in base64; random if empty.
	Key, Key2 string
	// SharedKeyOff rejects all requests and signatures signed with an account key, like an account with
	// allowSharedKeyAccess=false.
	SharedKeyOff bool
	// KeepsContainers is the number of days, at most 365, for which deleted containers can be restored. If it is 0, the
	// setting in Options.Dir applies, or restoring is disabled.
	KeepsContainers int
}

// String implements fmt.Stringer without the key.
func (a Account) String() string { return a.Name + ":[redacted]" }

// GoString implements fmt.GoStringer without the key.
func (a Account) GoString() string { return a.String() }

func (o Options) withDefaults() Options {
	o.Address = cmp.Or(o.Address, "127.0.0.1:0")
	if len(o.Accounts) == 0 {
		o.Accounts = []Account{{Name: DefaultAccount}}
	}
	o.Subscription = cmp.Or(o.Subscription, "00000000-0000-0000-0000-000000000000")
	o.ResourceGroup = cmp.Or(o.ResourceGroup, "cooper")
	o.BodyThreshold = cmp.Or(o.BodyThreshold, 256<<10)
	if o.Domains == nil {
		o.Domains = []string{"blob.localhost"}
	}
	o.Deletion = cmp.Or(o.Deletion, 30*time.Second)
	if o.Issuers == nil {
		o.Issuers = http.DefaultClient
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}
