// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"net/http"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/identity"
)

// standIn makes the account of Options.Anonymous the caller of a request without credentials. The account's policies
// apply, as for a request with its token.
func (c *Call) standIn() error {
	if c.api.anonymous == "" {
		return nil
	}
	if slices.ContainsFunc(signatureParameters, c.query.Has) {
		return gcserr.Unauthorized.Say("The signature in the query is incomplete, or this API does not accept signatures.")
	}
	who, err := c.api.dir.AccountCaller(c.api.anonymous, "")
	if err != nil {
		return gcserr.Unauthorized.Say("The service account %s, as which requests without credentials act (--anonymous-is), does not exist or is disabled.", c.api.anonymous)
	}
	c.caller = who
	return nil
}

// signatureParameters are query parameters of signed URLs. A request with any of them is not a request without
// credentials.
var signatureParameters = []string{
	"X-Goog-Signature", "X-Goog-Credential", "X-Goog-Algorithm", "X-Amz-Signature", "X-Amz-Credential", "X-Amz-Algorithm",
	"Signature", "GoogleAccessId", "AWSAccessKeyId",
}

// emulatorHint explains to users of STORAGE_EMULATOR_HOST why a request is rejected.
const emulatorHint = " If STORAGE_EMULATOR_HOST is set, Google's clients send no credentials. " +
	"To let such requests act as a service account, start the fake with --anonymous-is EMAIL."

// noProject is the project that Google's client for Python sends to an emulator if none is configured.
const noProject = "<none>"

// knownProject returns a project by ID or number. If it does not exist, the caller may create it by using it.
func (c *Call) knownProject(name string) (identity.Project, error) {
	if name == noProject || c.api.oneProject {
		name = c.api.project
	}
	p, err := c.api.dir.Project(name)
	if err == nil || c.api.openProject == nil {
		return p, err
	}
	if err := c.api.openProject(c.caller.Name, name); err != nil {
		return p, err
	}
	return c.api.dir.Project(name)
}

// emulatorPath returns the path of the JSON API for a path that Google's client for Node sends if
// STORAGE_EMULATOR_HOST is an address without a path: it then omits /storage/v1. Names of buckets have at least three
// characters, and "projects" is reserved, so such a path cannot be of the XML API.
func emulatorPath(path string) string {
	if path == "/b" || strings.HasPrefix(path, "/b/") || strings.HasPrefix(path, "/projects/") {
		path = "/storage/v1" + path
	}
	if path == "/storage/v1/b/" { // Google accepts the slash, and tests of python-storage send it
		return "/storage/v1/b"
	}
	return path
}

// withEmulatorPath returns the request with the path of emulatorPath.
func withEmulatorPath(r *http.Request) *http.Request {
	path := emulatorPath(r.URL.Path)
	if path == r.URL.Path {
		return r
	}
	r = r.Clone(r.Context())
	if r.URL.RawPath != "" {
		r.URL.RawPath = emulatorPath(r.URL.RawPath)
	}
	r.URL.Path = path
	return r
}
