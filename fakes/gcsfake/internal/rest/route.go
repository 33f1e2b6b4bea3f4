// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/identity"
)

// route is one operation of the JSON-shaped APIs.
type route struct {
	method, pattern string
	operation       string
	level           identity.Level
	handler         handler
	// unserved marks an operation that the service has and the fake does not implement.
	unserved bool

	segments []string
}

// routes are all operations by the number of segments of their paths.
func routes() map[int][]route {
	out := map[int][]route{}
	for _, r := range allRoutes() {
		out[len(r.segments)] = append(out[len(r.segments)], r)
	}
	return out
}

func allRoutes() []route {
	all := slices.Concat(bucketRoutes, objectRoutes, projectRoutes, accountRoutes, keyRoutes, roleRoutes, tokenRoutes, aclRoutes(), unservedRoutes())
	for i := range all {
		all[i].segments = strings.Split(strings.TrimPrefix(all[i].pattern, "/"), "/")
	}
	return all
}

// Operations returns the names of all implemented operations.
func Operations() []string {
	var out []string
	for _, r := range allRoutes() {
		if !r.unserved && !slices.Contains(out, r.operation) {
			out = append(out, r.operation)
		}
	}
	return append(out, xmlOperations()...)
}

var bucketRoutes = []route{
	{method: "POST", pattern: "/storage/v1/b", operation: "storage.buckets.insert", level: identity.Write, handler: (*Call).insertBucket},
	{method: "GET", pattern: "/storage/v1/b", operation: "storage.buckets.list", level: identity.Read, handler: (*Call).listBuckets},
	{method: "GET", pattern: "/storage/v1/b/{bucket}", operation: "storage.buckets.get", level: identity.Read, handler: ofBucket("storage.buckets.get", (*Call).getBucket)},
	{method: "PATCH", pattern: "/storage/v1/b/{bucket}", operation: "storage.buckets.patch", level: identity.Control, handler: ofBucket("storage.buckets.update", (*Call).patchBucket)},
	{method: "PUT", pattern: "/storage/v1/b/{bucket}", operation: "storage.buckets.update", level: identity.Control, handler: ofBucket("storage.buckets.update", (*Call).updateBucket)},
	{method: "DELETE", pattern: "/storage/v1/b/{bucket}", operation: "storage.buckets.delete", level: identity.Write, handler: ofBucket("storage.buckets.delete", (*Call).deleteBucket)},
	{
		method: "POST", pattern: "/storage/v1/b/{bucket}/lockRetentionPolicy", operation: "storage.buckets.lockRetentionPolicy",
		level: identity.Control, handler: ofBucket("storage.buckets.update", (*Call).lockRetention),
	},
	{
		method: "GET", pattern: "/storage/v1/b/{bucket}/iam", operation: "storage.buckets.getIamPolicy",
		level: identity.Control, handler: ofBucket("storage.buckets.getIamPolicy", (*Call).getBucketPolicy),
	},
	{
		method: "PUT", pattern: "/storage/v1/b/{bucket}/iam", operation: "storage.buckets.setIamPolicy",
		level: identity.Control, handler: ofBucket("storage.buckets.setIamPolicy", (*Call).setBucketPolicy),
	},
	{
		method: "GET", pattern: "/storage/v1/b/{bucket}/storageLayout", operation: "storage.buckets.getStorageLayout",
		level: identity.Read, handler: ofBucket("storage.objects.list", (*Call).storageLayout),
	},
	{
		method: "GET", pattern: "/storage/v1/b/{bucket}/managedFolders", operation: "storage.managedFolders.list",
		level: identity.Read, handler: ofBucket("storage.managedFolders.list", (*Call).listManagedFolders),
	},
	{method: "GET", pattern: "/storage/v1/b/{bucket}/iam/testPermissions", operation: "storage.buckets.testIamPermissions", level: identity.Read, handler: of(bucketOf, (*Call).testBucketPermissions)},
}

var objectRoutes = []route{
	{method: "POST", pattern: "/upload/storage/v1/b/{bucket}/o", operation: "storage.objects.insert", level: identity.Write, handler: (*Call).insertObject},
	{method: "PUT", pattern: "/upload/storage/v1/b/{bucket}/o", operation: "storage.objects.insert", handler: (*Call).putUpload},
	{method: "DELETE", pattern: "/upload/storage/v1/b/{bucket}/o", operation: "storage.objects.insert", handler: (*Call).cancelUpload},
	{method: "POST", pattern: "/resumable/upload/storage/v1/b/{bucket}/o", operation: "storage.objects.insert", level: identity.Write, handler: (*Call).insertObject},
	{method: "PUT", pattern: "/resumable/upload/storage/v1/b/{bucket}/o", operation: "storage.objects.insert", handler: (*Call).putUpload},
	{method: "POST", pattern: "/storage/v1/b/{bucket}/o", operation: "storage.objects.insert", level: identity.Write, handler: (*Call).insertMetadata},
	{method: "GET", pattern: "/storage/v1/b/{bucket}/o", operation: "storage.objects.list", level: identity.Read, handler: ofBucket("storage.objects.list", (*Call).listObjects)},
	{method: "GET", pattern: "/storage/v1/b/{bucket}/o/{object}", operation: "storage.objects.get", level: identity.Read, handler: (*Call).getObject},
	{method: "GET", pattern: "/download/storage/v1/b/{bucket}/o/{object}", operation: "storage.objects.get", level: identity.Read, handler: (*Call).getObject},
	{method: "PATCH", pattern: "/storage/v1/b/{bucket}/o/{object}", operation: "storage.objects.patch", level: identity.Write, handler: (*Call).patchObject},
	{method: "PUT", pattern: "/storage/v1/b/{bucket}/o/{object}", operation: "storage.objects.update", level: identity.Write, handler: (*Call).updateObject},
	{method: "DELETE", pattern: "/storage/v1/b/{bucket}/o/{object}", operation: "storage.objects.delete", level: identity.Write, handler: (*Call).deleteObject},
	{method: "POST", pattern: "/storage/v1/b/{bucket}/o/{object}/restore", operation: "storage.objects.restore", level: identity.Write, handler: (*Call).restoreObject},
	{method: "POST", pattern: "/storage/v1/b/{bucket}/o/{sourceObject}/moveTo/o/{object}", operation: "storage.objects.move", level: identity.Write, handler: (*Call).moveObject},
	{method: "POST", pattern: "/storage/v1/b/{bucket}/o/{object}/compose", operation: "storage.objects.compose", level: identity.Write, handler: (*Call).composeObject},
	{method: "POST", pattern: "/storage/v1/b/{sourceBucket}/o/{sourceObject}/copyTo/b/{bucket}/o/{object}", operation: "storage.objects.copy", level: identity.Write, handler: (*Call).copyObject},
	{
		method: "POST", pattern: "/storage/v1/b/{sourceBucket}/o/{sourceObject}/rewriteTo/b/{bucket}/o/{object}", operation: "storage.objects.rewrite",
		level: identity.Write, handler: (*Call).rewriteObject,
	},
}

var projectRoutes = []route{
	{
		method: "GET", pattern: "/storage/v1/projects/{project}/serviceAccount", operation: "storage.projects.serviceAccount.get",
		level: identity.Read, handler: ofProject("resourcemanager.projects.get", (*Call).serviceAgent),
	},
	{
		method: "POST", pattern: "/storage/v1/projects/{project}/hmacKeys", operation: "storage.projects.hmacKeys.create",
		level: identity.Control, handler: ofProject("storage.hmacKeys.create", (*Call).createHMAC),
	},
	{
		method: "GET", pattern: "/storage/v1/projects/{project}/hmacKeys", operation: "storage.projects.hmacKeys.list",
		level: identity.Read, handler: ofProject("storage.hmacKeys.list", (*Call).listHMAC),
	},
	{
		method: "GET", pattern: "/storage/v1/projects/{project}/hmacKeys/{accessId}", operation: "storage.projects.hmacKeys.get",
		level: identity.Read, handler: ofHMAC("storage.hmacKeys.get", (*Call).getHMAC),
	},
	{
		method: "PUT", pattern: "/storage/v1/projects/{project}/hmacKeys/{accessId}", operation: "storage.projects.hmacKeys.update",
		level: identity.Control, handler: ofHMAC("storage.hmacKeys.update", (*Call).updateHMAC),
	},
	{
		method: "DELETE", pattern: "/storage/v1/projects/{project}/hmacKeys/{accessId}", operation: "storage.projects.hmacKeys.delete",
		level: identity.Control, handler: ofHMAC("storage.hmacKeys.delete", (*Call).deleteHMAC),
	},
	{method: "GET", pattern: "/v1/projects/{project}", operation: "cloudresourcemanager.projects.get", level: identity.Cloud, handler: ofProject("resourcemanager.projects.get", (*Call).getProject)},
	{
		method: "POST", pattern: "/v1/projects/{project}:getIamPolicy", operation: "cloudresourcemanager.projects.getIamPolicy",
		level: identity.Cloud, handler: ofProject("resourcemanager.projects.getIamPolicy", (*Call).getProjectPolicy),
	},
	{
		method: "POST", pattern: "/v1/projects/{project}:setIamPolicy", operation: "cloudresourcemanager.projects.setIamPolicy",
		level: identity.Cloud, handler: ofProject("resourcemanager.projects.setIamPolicy", (*Call).setProjectPolicy),
	},
	{
		method: "POST", pattern: "/v1/projects/{project}:testIamPermissions", operation: "cloudresourcemanager.projects.testIamPermissions",
		level: identity.Cloud, handler: of(projectOf, (*Call).testProjectPermissions),
	},
}

var accountRoutes = []route{
	{
		method: "POST", pattern: "/v1/projects/{project}/serviceAccounts", operation: "iam.projects.serviceAccounts.create",
		level: identity.Cloud, handler: ofProject("iam.serviceAccounts.create", (*Call).createAccount),
	},
	{
		method: "GET", pattern: "/v1/projects/{project}/serviceAccounts", operation: "iam.projects.serviceAccounts.list",
		level: identity.Cloud, handler: ofProject("iam.serviceAccounts.list", (*Call).listAccounts),
	},
	{
		method: "GET", pattern: "/v1/projects/{project}/serviceAccounts/{account}", operation: "iam.projects.serviceAccounts.get",
		level: identity.Cloud, handler: ofAccount("iam.serviceAccounts.get", (*Call).getAccount),
	},
	{
		method: "PATCH", pattern: "/v1/projects/{project}/serviceAccounts/{account}", operation: "iam.projects.serviceAccounts.patch",
		level: identity.Cloud, handler: ofAccount("iam.serviceAccounts.update", (*Call).patchAccount),
	},
	{
		method: "DELETE", pattern: "/v1/projects/{project}/serviceAccounts/{account}", operation: "iam.projects.serviceAccounts.delete",
		level: identity.Cloud, handler: ofAccount("iam.serviceAccounts.delete", (*Call).deleteAccount),
	},
	{
		method: "POST", pattern: "/v1/projects/{project}/serviceAccounts/{account}:disable", operation: "iam.projects.serviceAccounts.disable",
		level: identity.Cloud, handler: ofAccount("iam.serviceAccounts.disable", setDisabled(true)),
	},
	{
		method: "POST", pattern: "/v1/projects/{project}/serviceAccounts/{account}:enable", operation: "iam.projects.serviceAccounts.enable",
		level: identity.Cloud, handler: ofAccount("iam.serviceAccounts.enable", setDisabled(false)),
	},
	{
		method: "POST", pattern: "/v1/projects/{project}/serviceAccounts/{account}:getIamPolicy", operation: "iam.projects.serviceAccounts.getIamPolicy",
		level: identity.Cloud, handler: ofAccount("iam.serviceAccounts.getIamPolicy", (*Call).getAccountPolicy),
	},
	{
		method: "POST", pattern: "/v1/projects/{project}/serviceAccounts/{account}:setIamPolicy", operation: "iam.projects.serviceAccounts.setIamPolicy",
		level: identity.Cloud, handler: ofAccount("iam.serviceAccounts.setIamPolicy", (*Call).setAccountPolicy),
	},
	{
		method: "POST", pattern: "/v1/projects/{project}/serviceAccounts/{account}:generateAccessToken", operation: "iamcredentials.projects.serviceAccounts.generateAccessToken",
		level: identity.Cloud, handler: ofAccount("iam.serviceAccounts.getAccessToken", (*Call).generateAccessToken),
	},
	{
		method: "POST", pattern: "/v1/projects/{project}/serviceAccounts/{account}:testIamPermissions", operation: "iam.projects.serviceAccounts.testIamPermissions",
		level: identity.Cloud, handler: of(accountOf, (*Call).testAccountPermissions),
	},
	{
		method: "POST", pattern: "/v1/projects/{project}/serviceAccounts/{account}:undelete", operation: "iam.projects.serviceAccounts.undelete",
		level: identity.Cloud, handler: ofProject("iam.serviceAccounts.undelete", (*Call).undeleteAccount),
	},
	{
		method: "POST", pattern: "/v1/projects/{project}/serviceAccounts/{account}:signBlob", operation: "iamcredentials.projects.serviceAccounts.signBlob",
		level: identity.Cloud, handler: ofSigner("iam.serviceAccounts.signBlob", (*Call).signBlob),
	},
	{
		method: "POST", pattern: "/v1/projects/{project}/serviceAccounts/{account}:signJwt", operation: "iamcredentials.projects.serviceAccounts.signJwt",
		level: identity.Cloud, handler: ofSigner("iam.serviceAccounts.signJwt", (*Call).signJWT),
	},
}

var keyRoutes = []route{
	{
		method: "POST", pattern: "/v1/projects/{project}/serviceAccounts/{account}/keys", operation: "iam.projects.serviceAccounts.keys.create",
		level: identity.Cloud, handler: ofAccount("iam.serviceAccountKeys.create", (*Call).createKey),
	},
	{
		method: "GET", pattern: "/v1/projects/{project}/serviceAccounts/{account}/keys", operation: "iam.projects.serviceAccounts.keys.list",
		level: identity.Cloud, handler: ofAccount("iam.serviceAccountKeys.list", (*Call).listKeys),
	},
	{
		method: "GET", pattern: "/v1/projects/{project}/serviceAccounts/{account}/keys/{key}", operation: "iam.projects.serviceAccounts.keys.get",
		level: identity.Cloud, handler: ofAccount("iam.serviceAccountKeys.get", (*Call).getKey),
	},
	{
		method: "DELETE", pattern: "/v1/projects/{project}/serviceAccounts/{account}/keys/{key}", operation: "iam.projects.serviceAccounts.keys.delete",
		level: identity.Cloud, handler: ofAccount("iam.serviceAccountKeys.delete", (*Call).deleteKey),
	},
	{
		method: "POST", pattern: "/v1/projects/{project}/serviceAccounts/{account}/keys:upload", operation: "iam.projects.serviceAccounts.keys.upload",
		level: identity.Cloud, handler: ofAccount("iam.serviceAccountKeys.create", (*Call).uploadKey),
	},
	{
		method: "POST", pattern: "/v1/projects/{project}/serviceAccounts/{account}/keys/{key}:disable", operation: "iam.projects.serviceAccounts.keys.disable",
		level: identity.Cloud, handler: ofAccount("iam.serviceAccountKeys.disable", setKeyDisabled(true)),
	},
	{
		method: "POST", pattern: "/v1/projects/{project}/serviceAccounts/{account}/keys/{key}:enable", operation: "iam.projects.serviceAccounts.keys.enable",
		level: identity.Cloud, handler: ofAccount("iam.serviceAccountKeys.enable", setKeyDisabled(false)),
	},
}

var roleRoutes = []route{
	{method: "GET", pattern: "/v1/roles", operation: "iam.roles.list", level: identity.Cloud, handler: ofNothing((*Call).listPredefinedRoles)},
	{method: "GET", pattern: "/v1/roles/{role}", operation: "iam.roles.get", level: identity.Cloud, handler: ofNothing((*Call).getPredefinedRole)},
	{method: "POST", pattern: "/v1/projects/{project}/roles", operation: "iam.projects.roles.create", level: identity.Cloud, handler: ofProject("iam.roles.create", (*Call).createRole)},
	{method: "GET", pattern: "/v1/projects/{project}/roles", operation: "iam.projects.roles.list", level: identity.Cloud, handler: ofProject("iam.roles.list", (*Call).listRoles)},
	{method: "GET", pattern: "/v1/projects/{project}/roles/{role}", operation: "iam.projects.roles.get", level: identity.Cloud, handler: ofProject("iam.roles.get", (*Call).getRole)},
	{method: "PATCH", pattern: "/v1/projects/{project}/roles/{role}", operation: "iam.projects.roles.patch", level: identity.Cloud, handler: ofProject("iam.roles.update", (*Call).patchRole)},
	{method: "DELETE", pattern: "/v1/projects/{project}/roles/{role}", operation: "iam.projects.roles.delete", level: identity.Cloud, handler: ofProject("iam.roles.delete", (*Call).deleteRole)},
}

var tokenRoutes = []route{
	{method: "POST", pattern: "/token", operation: "oauth2.token", handler: (*Call).token},
	{method: "POST", pattern: "/v1/token", operation: "sts.token", handler: (*Call).exchangeToken},
}

// route determines the operation. Everything below none of the JSON API's prefixes belongs to the XML API.
func (c *Call) route() {
	path := c.r.URL.EscapedPath()
	c.flavour = flavourOf(path)
	if c.flavour == inXML {
		c.routeXML()
		return
	}
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i := range segments {
		if s, err := url.PathUnescape(segments[i]); err == nil {
			segments[i] = s
		}
	}
	known := false
	candidates := c.api.routes[len(segments)]
	for i := range candidates {
		r := &candidates[i]
		vars, ok := match(r.segments, segments)
		if !ok {
			continue
		}
		known = true
		if r.method == c.r.Method {
			c.Operation, c.level, c.handler, c.vars = r.operation, r.level, r.handler, vars
			return
		}
	}
	c.Operation, c.level = "unknown", identity.Read
	c.handler = func(*Call, http.ResponseWriter) error {
		switch {
		case c.flavour == inRPC: // the document has more than is listed
			return gcserr.Unimplemented.Say("This fake does not support %s %s.", c.r.Method, c.r.URL.Path)
		case known:
			return gcserr.Method
		}
		return gcserr.NotFound
	}
}

func flavourOf(path string) flavour {
	switch {
	case path == "/token", path == "/v1/token":
		return inOAuth
	case strings.HasPrefix(path, "/v1/"):
		return inRPC
	}
	for _, prefix := range []string{"/storage/v1/", "/upload/storage/v1/", "/resumable/upload/storage/v1/", "/download/storage/v1/"} {
		if strings.HasPrefix(path, prefix) {
			return inJSON
		}
	}
	return inXML
}

// match compares a path with a pattern of as many segments. A verb after a colon belongs to the last segment.
func match(pattern, segments []string) (map[string]string, bool) {
	for i, p := range pattern {
		if !strings.HasPrefix(p, "{") && p != segments[i] {
			return nil, false
		}
	}
	vars := map[string]string{}
	for i, p := range pattern {
		if !strings.HasPrefix(p, "{") {
			continue
		}
		name, verb, hasVerb := strings.Cut(strings.TrimPrefix(p, "{"), "}")
		value := segments[i]
		if hasVerb && verb != "" {
			var ok bool
			if value, ok = strings.CutSuffix(value, verb); !ok {
				return nil, false
			}
		}
		if value == "" {
			return nil, false
		}
		vars[name] = value
	}
	return vars, true
}
