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
	method, pattern, operation string
	level                      identity.Level
	handler                    handler
}

// action is a route whose pattern and operation continue those of a resource.
type action struct {
	method, pattern, operation string
	handler                    handler
}

// below returns the routes of a resource.
func below(pattern, operation string, level identity.Level, actions []action) []route {
	out := make([]route, len(actions))
	for i, a := range actions {
		out[i] = route{a.method, pattern + a.pattern, operation + a.operation, level, a.handler}
	}
	return out
}

// splitRoute is a route with the segments of its pattern.
type splitRoute struct {
	route

	segments []string
}

// routes are all operations by the number of segments of their paths.
func routes() map[int][]splitRoute {
	out := map[int][]splitRoute{}
	for _, r := range slices.Concat(servedRoutes(), unservedRoutes()) {
		segments := strings.Split(strings.TrimPrefix(r.pattern, "/"), "/")
		out[len(segments)] = append(out[len(segments)], splitRoute{r, segments})
	}
	return out
}

func servedRoutes() []route {
	return slices.Concat(bucketRoutes, objectRoutes, hmacRoutes, projectRoutes, accountRoutes, credentialRoutes, keyRoutes, predefinedRoleRoutes, roleRoutes,
		tokenRoutes, aclRoutes())
}

// Operations returns the names of all implemented operations.
func Operations() []string {
	var out []string
	for _, r := range servedRoutes() {
		if !slices.Contains(out, r.operation) {
			out = append(out, r.operation)
		}
	}
	for _, r := range xmlRoutes {
		out = append(out, r.operation)
	}
	return out
}

var bucketRoutes = []route{
	{"POST", "/storage/v1/b", "storage.buckets.insert", identity.Write, ofQuery("storage.buckets.create", (*Call).insertBucket)},
	{"GET", "/storage/v1/b", "storage.buckets.list", identity.Read, ofQuery("storage.buckets.list", (*Call).listBuckets)},
	{"GET", "/storage/v1/b/{bucket}", "storage.buckets.get", identity.Read, ofBucket("storage.buckets.get", (*Call).getBucket)},
	{"PATCH", "/storage/v1/b/{bucket}", "storage.buckets.patch", identity.Control, ofBucket("storage.buckets.update", (*Call).patchBucket)},
	{"PUT", "/storage/v1/b/{bucket}", "storage.buckets.update", identity.Control, ofBucket("storage.buckets.update", (*Call).updateBucket)},
	{"DELETE", "/storage/v1/b/{bucket}", "storage.buckets.delete", identity.Write, ofBucket("storage.buckets.delete", (*Call).deleteBucket)},
	{"POST", "/storage/v1/b/{bucket}/lockRetentionPolicy", "storage.buckets.lockRetentionPolicy", identity.Control, ofBucket("storage.buckets.update", (*Call).lockRetention)},
	{"GET", "/storage/v1/b/{bucket}/iam", "storage.buckets.getIamPolicy", identity.Control, ofBucket("storage.buckets.getIamPolicy", (*Call).getBucketPolicy)},
	{"PUT", "/storage/v1/b/{bucket}/iam", "storage.buckets.setIamPolicy", identity.Control, ofBucket("storage.buckets.setIamPolicy", (*Call).setBucketPolicy)},
	{"GET", "/storage/v1/b/{bucket}/storageLayout", "storage.buckets.getStorageLayout", identity.Read, ofBucket("storage.objects.list", (*Call).storageLayout)},
	{"GET", "/storage/v1/b/{bucket}/managedFolders", "storage.managedFolders.list", identity.Read, ofBucket("storage.managedFolders.list", (*Call).listManagedFolders)},
	{"GET", "/storage/v1/b/{bucket}/iam/testPermissions", "storage.buckets.testIamPermissions", identity.Read, of(bucketOf, (*Call).testBucketPermissions)},
}

var objectRoutes = []route{
	{"POST", "/upload/storage/v1/b/{bucket}/o", "storage.objects.insert", identity.Write, (*Call).insertObject},
	{"PUT", "/upload/storage/v1/b/{bucket}/o", "storage.objects.insert", 0, (*Call).putUpload},
	{"DELETE", "/upload/storage/v1/b/{bucket}/o", "storage.objects.insert", 0, (*Call).cancelUpload},
	{"POST", "/resumable/upload/storage/v1/b/{bucket}/o", "storage.objects.insert", identity.Write, (*Call).insertObject},
	{"PUT", "/resumable/upload/storage/v1/b/{bucket}/o", "storage.objects.insert", 0, (*Call).putUpload},
	{"POST", "/storage/v1/b/{bucket}/o", "storage.objects.insert", identity.Write, (*Call).insertMetadata},
	{"GET", "/storage/v1/b/{bucket}/o", "storage.objects.list", identity.Read, ofBucket("storage.objects.list", (*Call).listObjects)},
	{"GET", "/storage/v1/b/{bucket}/o/{object}", "storage.objects.get", identity.Read, (*Call).getObject},
	{"GET", "/download/storage/v1/b/{bucket}/o/{object}", "storage.objects.get", identity.Read, (*Call).getObject},
	{"PATCH", "/storage/v1/b/{bucket}/o/{object}", "storage.objects.patch", identity.Write, (*Call).patchObject},
	{"PUT", "/storage/v1/b/{bucket}/o/{object}", "storage.objects.update", identity.Write, (*Call).updateObject},
	{"DELETE", "/storage/v1/b/{bucket}/o/{object}", "storage.objects.delete", identity.Write, of(bucketOf, (*Call).deleteObject)},
	{"POST", "/storage/v1/b/{bucket}/o/{object}/restore", "storage.objects.restore", identity.Write, (*Call).restoreObject},
	{"POST", "/storage/v1/b/{bucket}/o/{sourceObject}/moveTo/o/{object}", "storage.objects.move", identity.Write, (*Call).moveObject},
	{"POST", "/storage/v1/b/{bucket}/o/{object}/compose", "storage.objects.compose", identity.Write, (*Call).composeObject},
	{"POST", "/storage/v1/b/{sourceBucket}/o/{sourceObject}/copyTo/b/{bucket}/o/{object}", "storage.objects.copy", identity.Write, (*Call).copyObject},
	{"POST", "/storage/v1/b/{sourceBucket}/o/{sourceObject}/rewriteTo/b/{bucket}/o/{object}", "storage.objects.rewrite", identity.Write, (*Call).rewriteObject},
}

var hmacRoutes = []route{
	{"GET", "/storage/v1/projects/{project}/serviceAccount", "storage.projects.serviceAccount.get", identity.Read, ofProject("resourcemanager.projects.get", (*Call).serviceAgent)},
	{"POST", "/storage/v1/projects/{project}/hmacKeys", "storage.projects.hmacKeys.create", identity.Control, ofProject("storage.hmacKeys.create", (*Call).createHMAC)},
	{"GET", "/storage/v1/projects/{project}/hmacKeys", "storage.projects.hmacKeys.list", identity.Read, ofProject("storage.hmacKeys.list", (*Call).listHMAC)},
	{"GET", "/storage/v1/projects/{project}/hmacKeys/{accessId}", "storage.projects.hmacKeys.get", identity.Read, ofHMAC("storage.hmacKeys.get", (*Call).getHMAC)},
	{"PUT", "/storage/v1/projects/{project}/hmacKeys/{accessId}", "storage.projects.hmacKeys.update", identity.Control, ofHMAC("storage.hmacKeys.update", (*Call).updateHMAC)},
	{"DELETE", "/storage/v1/projects/{project}/hmacKeys/{accessId}", "storage.projects.hmacKeys.delete", identity.Control, ofHMAC("storage.hmacKeys.delete", (*Call).deleteHMAC)},
}

var projectRoutes = below("/v1/projects/{project}", "cloudresourcemanager.projects.", identity.Cloud, []action{
	{"GET", "", "get", ofProject("resourcemanager.projects.get", (*Call).getProject)},
	{"POST", ":getIamPolicy", "getIamPolicy", ofProject("resourcemanager.projects.getIamPolicy", (*Call).getProjectPolicy)},
	{"POST", ":setIamPolicy", "setIamPolicy", ofProject("resourcemanager.projects.setIamPolicy", (*Call).setProjectPolicy)},
	{"POST", ":testIamPermissions", "testIamPermissions", of(projectOf, (*Call).testProjectPermissions)},
})

var accountRoutes = below("/v1/projects/{project}/serviceAccounts", "iam.projects.serviceAccounts.", identity.Cloud, []action{
	{"POST", "", "create", ofProject("iam.serviceAccounts.create", (*Call).createAccount)},
	{"GET", "", "list", ofProject("iam.serviceAccounts.list", (*Call).listAccounts)},
	{"GET", "/{account}", "get", ofAccount("iam.serviceAccounts.get", (*Call).getAccount)},
	{"PATCH", "/{account}", "patch", ofAccount("iam.serviceAccounts.update", (*Call).patchAccount)},
	{"DELETE", "/{account}", "delete", ofAccount("iam.serviceAccounts.delete", (*Call).deleteAccount)},
	{"POST", "/{account}:disable", "disable", ofAccount("iam.serviceAccounts.disable", setDisabled(true))},
	{"POST", "/{account}:enable", "enable", ofAccount("iam.serviceAccounts.enable", setDisabled(false))},
	{"POST", "/{account}:getIamPolicy", "getIamPolicy", ofAccount("iam.serviceAccounts.getIamPolicy", (*Call).getAccountPolicy)},
	{"POST", "/{account}:setIamPolicy", "setIamPolicy", ofAccount("iam.serviceAccounts.setIamPolicy", (*Call).setAccountPolicy)},
	{"POST", "/{account}:testIamPermissions", "testIamPermissions", of(accountOf, (*Call).testAccountPermissions)},
	{"POST", "/{account}:undelete", "undelete", ofProject("iam.serviceAccounts.undelete", (*Call).undeleteAccount)},
})

var credentialRoutes = below("/v1/projects/{project}/serviceAccounts/{account}", "iamcredentials.projects.serviceAccounts.", identity.Cloud, []action{
	{"POST", ":generateAccessToken", "generateAccessToken", ofAccount("iam.serviceAccounts.getAccessToken", (*Call).generateAccessToken)},
	{"POST", ":signBlob", "signBlob", ofSigner("iam.serviceAccounts.signBlob", (*Call).signBlob)},
	{"POST", ":signJwt", "signJwt", ofSigner("iam.serviceAccounts.signJwt", (*Call).signJWT)},
})

var keyRoutes = below("/v1/projects/{project}/serviceAccounts/{account}/keys", "iam.projects.serviceAccounts.keys.", identity.Cloud, []action{
	{"POST", "", "create", ofAccount("iam.serviceAccountKeys.create", (*Call).createKey)},
	{"GET", "", "list", ofAccount("iam.serviceAccountKeys.list", (*Call).listKeys)},
	{"GET", "/{key}", "get", ofAccount("iam.serviceAccountKeys.get", (*Call).getKey)},
	{"DELETE", "/{key}", "delete", ofAccount("iam.serviceAccountKeys.delete", (*Call).deleteKey)},
	{"POST", ":upload", "upload", ofAccount("iam.serviceAccountKeys.create", (*Call).uploadKey)},
	{"POST", "/{key}:disable", "disable", ofAccount("iam.serviceAccountKeys.disable", setKeyDisabled(true))},
	{"POST", "/{key}:enable", "enable", ofAccount("iam.serviceAccountKeys.enable", setKeyDisabled(false))},
})

var predefinedRoleRoutes = below("/v1/roles", "iam.roles.", identity.Cloud, []action{
	{"GET", "", "list", ofNothing((*Call).listPredefinedRoles)},
	{"GET", "/{role}", "get", ofNothing((*Call).getPredefinedRole)},
})

var roleRoutes = below("/v1/projects/{project}/roles", "iam.projects.roles.", identity.Cloud, []action{
	{"POST", "", "create", ofProject("iam.roles.create", (*Call).createRole)},
	{"GET", "", "list", ofProject("iam.roles.list", (*Call).listRoles)},
	{"GET", "/{role}", "get", ofProject("iam.roles.get", (*Call).getRole)},
	{"PATCH", "/{role}", "patch", ofProject("iam.roles.update", (*Call).patchRole)},
	{"DELETE", "/{role}", "delete", ofProject("iam.roles.delete", (*Call).deleteRole)},
})

var tokenRoutes = []route{
	{"POST", "/token", "oauth2.token", 0, (*Call).token},
	{"POST", "/v1/token", "sts.token", 0, (*Call).exchangeToken},
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
