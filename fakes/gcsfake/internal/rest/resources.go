// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"net/http"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/identity"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/store"
)

// handler serves an operation: it writes the response or returns an error.
type handler = func(*Call, http.ResponseWriter) error

// of serves an operation on the resource that the path names. f returns the response, for JSON or XML, or nil for 204.
func of[T any](find func(*Call) (T, error), f func(*Call, T) (any, error)) handler {
	return func(c *Call, w http.ResponseWriter) error {
		resource, err := find(c)
		if err != nil {
			return err
		}
		response, err := f(c, resource)
		if err != nil {
			return err
		}
		if response == nil {
			c.noContent(w)
			return nil
		}
		if c.flavour == inXML {
			return respondXML(w, response)
		}
		return respond(w, response)
	}
}

// ofNothing serves an operation that requires no permission.
func ofNothing(f func(*Call) (any, error)) handler {
	return of(func(*Call) (any, error) { return nil, nil }, func(c *Call, _ any) (any, error) { return f(c) })
}

// ofProject serves an operation on a project that requires a permission on it.
func ofProject(permission string, f func(*Call, identity.Project) (any, error)) handler {
	return of(func(c *Call) (identity.Project, error) { return c.needProject(permission, c.vars["project"]) }, f)
}

// ofQuery serves an operation on the project in the query that requires a permission on it.
func ofQuery(permission string, f func(*Call, identity.Project) (any, error)) handler {
	return of(func(c *Call) (identity.Project, error) {
		if c.query.Get("project") == "" && !c.api.oneProject {
			return identity.Project{}, gcserr.Required.Say("Required parameter: project")
		}
		return c.needProject(permission, c.query.Get("project"))
	}, f)
}

// ofAccount serves an operation on a service account that requires a permission on it.
func ofAccount(permission string, f func(*Call, identity.Account) (any, error)) handler {
	return of(func(c *Call) (identity.Account, error) { return c.account(permission) }, f)
}

// ofSigner serves an operation on a service account, which must be enabled.
func ofSigner(permission string, f func(*Call, identity.Account) (any, error)) handler {
	return ofAccount(permission, func(c *Call, a identity.Account) (any, error) {
		if a.Disabled {
			return nil, &gcserr.Error{Status: http.StatusNotFound, Reason: "notFound", Message: "Not found; Gaia id not found for email " + a.Email}
		}
		return f(c, a)
	})
}

// ofHMAC serves an operation on an HMAC key that requires a permission on its project.
func ofHMAC(permission string, f func(*Call, identity.HMACKey) (any, error)) handler {
	return ofProject(permission, func(c *Call, _ identity.Project) (any, error) {
		k, err := c.api.dir.HMAC(c.vars["project"], c.vars["accessId"])
		if err != nil {
			return nil, err
		}
		return f(c, k)
	})
}

// ofBucket serves an operation on a bucket that requires a permission on it.
func ofBucket(permission string, f func(*Call, *store.Bucket) (any, error)) handler {
	return of(func(c *Call) (*store.Bucket, error) { return c.bucket(permission) }, f)
}

// ofUpload serves an operation on a multipart upload that requires permissions on its object.
func ofUpload(f func(*Call, store.Upload) (any, error), permissions ...string) handler {
	return of(func(c *Call) (store.Upload, error) { return c.multipartUpload(permissions...) }, f)
}

// readableList finds the access control list of a call that reads it.
func readableList(c *Call) (*accessList, error) { return c.accessList("get") }

// bucketOf, projectOf and accountOf find resources for operations that require no permission on them.
func bucketOf(c *Call) (*store.Bucket, error) { return c.bucket() }

func projectOf(c *Call) (identity.Project, error) {
	if c.caller.Name == "" {
		return identity.Project{}, c.refused("resourcemanager.projects.get", "the Google Cloud project")
	}
	return c.knownProject(c.vars["project"])
}
func accountOf(c *Call) (identity.Account, error) { return c.account() }
