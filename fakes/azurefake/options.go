// SPDX-License-Identifier: Apache-2.0

package azurefake

import (
	"crypto/tls"
	"net/http"
	"time"
)

// DefaultAccount is the account of a server whose options name none.
const DefaultAccount = "devstoreaccount1"

// Options describe a Server. The zero value is a usable server in memory.
type Options struct {
	// Address is where Start listens, host:port; "127.0.0.1:0" by default, a free port.
	Address string
	// Accounts are the names of the storage accounts; one named DefaultAccount by default.
	Accounts []Account
	// Subscription and ResourceGroup are in the resource IDs of accounts. Both have a default.
	Subscription, ResourceGroup string
	// Dir keeps all state in a directory that survives the process; "" keeps it in memory, and bodies in a temporary
	// directory (TMPDIR), which is gone after Close.
	Dir string
	// BodyThreshold is the size in bytes above which a body has a file of its own; 256 KiB by default. Smaller ones share
	// one file. With Dir every body is a file.
	BodyThreshold int64
	// TLS serves HTTPS with this configuration; nil serves HTTP. See SelfSigned.
	TLS *tls.Config
	// Domains are host names before which the name of an account stands, beside path-style; blob.localhost by default.
	Domains []string
	// Versioning keeps the earlier states of blobs, as an account with blob versioning does.
	Versioning bool
	// Deletion is how long a container is being deleted and its name cannot be used; 30 s by default, which is the
	// service's minimum. Negative for no time at all.
	Deletion time.Duration
	// Issuers fetches the keys of issuers of federated tokens; http.DefaultClient by default.
	Issuers *http.Client
	// Past keeps how everything was, which reads under a fault rule with the effect stale return.
	Past bool
	// Now is the clock; time.Now by default.
	Now func() time.Time
}

// Account is a storage account of a new server.
type Account struct {
	// Name is 3 to 24 lower-case letters and digits.
	Name string
	// Key is key1 in base64; invented when empty. key2 is always invented.
	Key string
	// SharedKeyOff refuses what account keys sign, as an account with allowSharedKeyAccess=false does.
	SharedKeyOff bool
	// KeepsContainers is for how many days the account says that it keeps deleted containers, 0 for not at all. The fake
	// has no call that restores one.
	KeepsContainers int
}

// String implements fmt.Stringer without the key.
func (a Account) String() string { return a.Name + ":[redacted]" }

// GoString implements fmt.GoStringer without the key.
func (a Account) GoString() string { return a.String() }

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
	if len(o.Accounts) == 0 {
		o.Accounts = []Account{{Name: DefaultAccount}}
	}
	if o.Subscription == "" {
		o.Subscription = "00000000-0000-0000-0000-000000000000"
	}
	if o.ResourceGroup == "" {
		o.ResourceGroup = "cooper"
	}
	if o.BodyThreshold == 0 {
		o.BodyThreshold = 256 << 10
	}
	if o.Domains == nil {
		o.Domains = []string{"blob.localhost"}
	}
	if o.Deletion == 0 {
		o.Deletion = 30 * time.Second
	}
	if o.Issuers == nil {
		o.Issuers = http.DefaultClient
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}
