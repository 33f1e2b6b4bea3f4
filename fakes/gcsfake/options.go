// SPDX-License-Identifier: Apache-2.0

package gcsfake

import (
	"cmp"
	"crypto/tls"
	"net/http"
	"strings"
	"time"
)

// DefaultProject is the ID of the project of a server without Options.Projects.
const DefaultProject = "cooper-fake"

// Options configure a Server. The zero value is a usable in-memory server.
type Options struct {
	// Address is the host:port on which Start listens. Default "127.0.0.1:0", a free port.
	Address string
	// Projects are the existing projects. The first project's administrator has all permissions in all projects. If
	// Projects is empty, there is DefaultProject, and other projects are created when this administrator first uses
	// them.
	Projects []Project
	// OneProject makes every project ID refer to the first project, and makes the ID optional, because other emulators
	// ignore it.
	OneProject bool
	// AnonymousIs is the email of a service account, or the ID of one of the first project. Requests without
	// credentials act as this account, and its policies apply to them. Google's clients send no credentials if
	// STORAGE_EMULATOR_HOST is set. Default: such requests have only the permissions of allUsers.
	AnonymousIs string
	// Pools are the existing workload identity pools.
	Pools []Pool
	// Dir is a directory for all state, which then survives the process. If it is empty, state is kept in memory and
	// bodies in a temporary directory (TMPDIR), which Close removes.
	Dir string
	// BodyThreshold is the size in bytes above which a body is stored in a separate file. Default 256 KiB. Smaller
	// bodies share one file. With Dir every body has a separate file.
	BodyThreshold int64
	// TLS serves HTTPS with this configuration; nil serves HTTP. See SelfSigned.
	TLS *tls.Config
	// Issuers is the client that fetches the keys of the pools' issuers. Default http.DefaultClient.
	Issuers *http.Client
	// Past keeps earlier states (at least the last 1000 changes). A fault rule with the effect stale makes reads return
	// them.
	Past bool
	// Now returns the current time. Default time.Now.
	Now func() time.Time

	// openProjects means that unknown projects are created on their first use.
	openProjects bool
}

// Project is a project.
type Project struct {
	// ID is the project ID, for example my-project.
	ID string
	// Number is the project number, 12 digits; random if empty.
	Number string
}

// Pool is a workload identity pool with one OpenID Connect provider.
type Pool struct {
	// Project is the ID of the pool's project. Default: the first project.
	Project string
	// ID is the pool's ID. A GKE pool has the form PROJECT.svc.id.goog; its subjects are ns/NAMESPACE/sa/NAME. The
	// subjects of any other pool are the sub claims of the tokens.
	ID string
	// Provider is the ID of the provider. Default kubernetes.
	Provider string
	// Issuer is the iss claim of accepted tokens. The keys are fetched from this URL.
	Issuer string
	// Audiences are the accepted aud claims. Default: the provider's full name, with or without https:, and for a GKE
	// pool also the pool's ID.
	Audiences []string
}

func (o Options) withDefaults() Options {
	o.Address = cmp.Or(o.Address, "127.0.0.1:0")
	if len(o.Projects) == 0 {
		o.Projects, o.openProjects = []Project{{ID: DefaultProject}}, !o.OneProject
	}
	if o.AnonymousIs != "" && !strings.Contains(o.AnonymousIs, "@") {
		o.AnonymousIs += "@" + o.Projects[0].ID + ".iam.gserviceaccount.com"
	}
	o.BodyThreshold = cmp.Or(o.BodyThreshold, 256<<10)
	if o.Issuers == nil {
		o.Issuers = http.DefaultClient
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}
