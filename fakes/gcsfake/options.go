// SPDX-License-Identifier: Apache-2.0

package gcsfake

import (
	"crypto/tls"
	"net/http"
	"time"
)

// DefaultProject is the project of a server whose options name none.
const DefaultProject = "cooper-fake"

// Options describe a Server. The zero value is a usable server in memory.
type Options struct {
	// Address is where Start listens, host:port; "127.0.0.1:0" by default, a free port.
	Address string
	// Projects are the projects that exist; DefaultProject by default. The first one has the administrator.
	Projects []Project
	// Pools are the workload identity pools that exist.
	Pools []Pool
	// Dir keeps all state in a directory that survives the process; "" keeps it in memory, and bodies in a temporary
	// directory (TMPDIR), which is gone after Close.
	Dir string
	// BodyThreshold is the size in bytes above which a body has a file of its own; 256 KiB by default. Smaller ones share
	// one file. With Dir every body is a file.
	BodyThreshold int64
	// TLS serves HTTPS with this configuration; nil serves HTTP. See SelfSigned.
	TLS *tls.Config
	// Issuers fetches the keys of the pools' issuers; http.DefaultClient by default.
	Issuers *http.Client
	// Past keeps how everything was, which reads under a fault rule with the effect stale return.
	Past bool
	// Now is the clock; time.Now by default.
	Now func() time.Time
}

// Project is a project.
type Project struct {
	// ID is its name, for example my-project.
	ID string
	// Number is its number of 12 digits; invented when empty.
	Number string
}

// Pool is a workload identity pool with one OpenID Connect provider.
type Pool struct {
	// Project is the ID of its project; the first one by default.
	Project string
	// ID is the pool's. That of GKE is PROJECT.svc.id.goog: subjects of such a pool are ns/NAMESPACE/sa/NAME, those of
	// any other pool are the tokens' sub.
	ID string
	// Provider is the ID of the provider; kubernetes by default.
	Provider string
	// Issuer is the iss of the tokens that are accepted; their keys are fetched from there.
	Issuer string
	// Audiences are the accepted aud values; by default the provider's full name, with or without https:, and for a
	// pool of GKE the pool's ID.
	Audiences []string
}

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
	if len(o.Projects) == 0 {
		o.Projects = []Project{{ID: DefaultProject}}
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
