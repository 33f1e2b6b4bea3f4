// SPDX-License-Identifier: Apache-2.0

package gcsfake_test

import "maps"

// The documents that the expected values come from.
const (
	docJSON   = "IAM permissions for JSON methods: https://cloud.google.com/storage/docs/access-control/iam-json"
	docXML    = "IAM permissions for XML methods: https://cloud.google.com/storage/docs/access-control/iam-xml"
	docHMAC   = "HMAC keys: https://cloud.google.com/storage/docs/json_api/v1/projects/hmacKeys"
	docIAM    = "IAM permissions reference and projects.serviceAccounts: https://cloud.google.com/iam/docs/reference/rest/v1/projects.serviceAccounts"
	docCRM    = "Resource Manager access control: https://cloud.google.com/resource-manager/docs/access-control-proj"
	docStatus = "HTTP status and error codes for JSON: https://cloud.google.com/storage/docs/json_api/v1/status-codes"
)

// operation is one call with the permissions that it needs. {x} in path and body is replaced by a value of the world.
type operation struct {
	method, path, headers, body string
	// permissions are those that the documentation asks for, on a bucket or its project.
	permissions []string
	// project means that the permissions are checked on the project: a bucket's policy cannot grant them.
	project bool
	status  int
	doc     string
}

const (
	b    = "/storage/v1/b/docs"
	o    = b + "/o/o"
	up   = "/upload/storage/v1/b/docs/o"
	hmac = "/storage/v1/projects/cooper-fake/hmacKeys"
	sas  = "/v1/projects/cooper-fake/serviceAccounts"
	sa   = sas + "/target@cooper-fake.iam.gserviceaccount.com"
)

// operations has at least one row for every served operation. A name may carry a variant after a space.
func operations() map[string]operation {
	out := map[string]operation{}
	for _, part := range []map[string]operation{bucketOperations(), objectOperations(), xmlOperations(), keyOperations(), identityOperations(), aclOperations()} {
		maps.Copy(out, part)
	}
	return out
}

func bucketOperations() map[string]operation {
	return map[string]operation{
		"storage.buckets.insert":                  {method: "POST", path: "/storage/v1/b?project=cooper-fake", body: `{"name":"fresh"}`, permissions: []string{"storage.buckets.create"}, project: true, status: 200, doc: docJSON},
		"storage.buckets.insert object-retention": {method: "POST", path: "/storage/v1/b?project=cooper-fake&enableObjectRetention=true", body: `{"name":"fresh"}`, permissions: []string{"storage.buckets.create", "storage.buckets.enableObjectRetention"}, project: true, status: 200, doc: docJSON},
		"storage.buckets.list":                    {method: "GET", path: "/storage/v1/b?project=cooper-fake", permissions: []string{"storage.buckets.list"}, project: true, status: 200, doc: docJSON},
		"storage.buckets.list full":               {method: "GET", path: "/storage/v1/b?project=cooper-fake&projection=full", permissions: []string{"storage.buckets.list"}, project: true, status: 200, doc: docJSON},
		"storage.buckets.get":                     {method: "GET", path: b, permissions: []string{"storage.buckets.get"}, status: 200, doc: docJSON},
		"storage.buckets.get full":                {method: "GET", path: b + "?projection=full", permissions: []string{"storage.buckets.get"}, status: 200, doc: docJSON},
		"storage.buckets.patch":                   {method: "PATCH", path: b, body: `{"labels":{"a":"b"}}`, permissions: []string{"storage.buckets.update"}, status: 200, doc: docJSON},
		"storage.buckets.patch prevention":        {method: "PATCH", path: b, body: `{"iamConfiguration":{"publicAccessPrevention":"enforced"}}`, permissions: []string{"storage.buckets.update", "storage.buckets.setIamPolicy"}, status: 200, doc: docJSON},
		"storage.buckets.update":                  {method: "PUT", path: b, body: `{"versioning":{"enabled":true}}`, permissions: []string{"storage.buckets.update"}, status: 200, doc: docJSON},
		"storage.buckets.delete":                  {method: "DELETE", path: "/storage/v1/b/empty", permissions: []string{"storage.buckets.delete"}, status: 204, doc: docJSON},
		"storage.buckets.lockRetentionPolicy":     {method: "POST", path: "/storage/v1/b/kept/lockRetentionPolicy?ifMetagenerationMatch=1", permissions: []string{"storage.buckets.update"}, status: 200, doc: docJSON},
		"storage.buckets.getIamPolicy":            {method: "GET", path: b + "/iam", permissions: []string{"storage.buckets.getIamPolicy"}, status: 200, doc: docJSON},
		"storage.managedFolders.list":             {method: "GET", path: b + "/managedFolders", permissions: []string{"storage.managedFolders.list"}, status: 200, doc: docJSON},
		"storage.buckets.getStorageLayout":        {method: "GET", path: b + "/storageLayout", permissions: []string{"storage.objects.list"}, status: 200, doc: docJSON},
		"storage.buckets.setIamPolicy":            {method: "PUT", path: b + "/iam", body: `{"bindings":[]}`, permissions: []string{"storage.buckets.setIamPolicy"}, status: 200, doc: docJSON},
	}
}

func objectOperations() map[string]operation {
	create, remove, get, list, update := "storage.objects.create", "storage.objects.delete", "storage.objects.get", "storage.objects.list", "storage.objects.update"
	return map[string]operation{
		"storage.objects.insert":              {method: "POST", path: up + "?uploadType=media&name=fresh", body: "x", permissions: []string{create}, status: 200, doc: docJSON},
		"storage.objects.insert over":         {method: "POST", path: up + "?uploadType=media&name=o", body: "x", permissions: []string{create, remove}, status: 200, doc: docJSON},
		"storage.objects.insert multipart":    {method: "POST", path: up + "?uploadType=multipart", headers: "Content-Type: multipart/related; boundary=z", body: "--z\r\nContent-Type: application/json\r\n\r\n{\"name\":\"fresh\"}\r\n--z\r\nContent-Type: text/plain\r\n\r\nx\r\n--z--\r\n", permissions: []string{create}, status: 200, doc: docJSON},
		"storage.objects.insert apostrophes":  {method: "POST", path: up + "?uploadType=multipart", headers: "Content-Type: multipart/related; boundary='==z=='", body: "--==z==\r\nContent-Type: application/json\r\n\r\n{\"name\":\"fresh\"}\r\n--==z==\r\nContent-Type: text/plain\r\n\r\nx\r\n--==z==--\r\n", permissions: []string{create}, status: 200, doc: docJSON},
		"storage.objects.insert resumable":    {method: "POST", path: up + "?uploadType=resumable&name=fresh", permissions: []string{create}, status: 200, doc: docJSON},
		"storage.objects.insert session over": {method: "POST", path: up + "?uploadType=resumable&name=o", permissions: []string{create, remove}, status: 200, doc: docJSON},
		"storage.objects.get":                 {method: "GET", path: o, permissions: []string{get}, status: 200, doc: docJSON},
		"storage.objects.get media":           {method: "GET", path: o + "?alt=media", permissions: []string{get}, status: 200, doc: docJSON},
		"storage.objects.get download":        {method: "GET", path: "/download" + o + "?alt=media", permissions: []string{get}, status: 200, doc: docJSON},
		"storage.objects.get range":           {method: "GET", path: o + "?alt=media", headers: "Range: bytes=0-0", permissions: []string{get}, status: 206, doc: docJSON},
		"storage.objects.get full":            {method: "GET", path: o + "?projection=full", permissions: []string{get}, status: 200, doc: docJSON},
		"storage.objects.list":                {method: "GET", path: b + "/o", permissions: []string{list}, status: 200, doc: docJSON},
		"storage.objects.list versions":       {method: "GET", path: b + "/o?versions=true&delimiter=/", permissions: []string{list}, status: 200, doc: docJSON},
		"storage.objects.list partial":        {method: "GET", path: b + "/o?fields=items(name),nextPageToken", permissions: []string{list}, status: 200, doc: docJSON},
		"storage.objects.list soft-deleted":   {method: "GET", path: "/storage/v1/b/bin/o?softDeleted=true", permissions: []string{list}, status: 200, doc: docJSON},
		"storage.objects.get soft-deleted":    {method: "GET", path: "/storage/v1/b/bin/o/gone?softDeleted=true&generation={soft}", permissions: []string{get}, status: 200, doc: docJSON},
		"storage.objects.restore":             {method: "POST", path: "/storage/v1/b/bin/o/gone/restore?generation={soft}", permissions: []string{"storage.objects.restore", create}, status: 200, doc: docJSON},
		"storage.objects.restore over":        {method: "POST", path: "/storage/v1/b/bin/o/again/restore?generation={over}", permissions: []string{"storage.objects.restore", create, remove}, status: 200, doc: docJSON},
		"storage.objects.move":                {method: "POST", path: o + "/moveTo/o/fresh", permissions: []string{"storage.objects.move", create}, status: 200, doc: docJSON},
		"storage.objects.move over":           {method: "POST", path: o + "/moveTo/o/dir%2Fa", permissions: []string{"storage.objects.move", create, remove}, status: 200, doc: docJSON},
		"storage.objects.list full":           {method: "GET", path: b + "/o?projection=full", permissions: []string{list}, status: 200, doc: docJSON},
		"storage.objects.patch":               {method: "PATCH", path: o, body: `{"metadata":{"a":"b"}}`, permissions: []string{update}, status: 200, doc: docJSON},
		"storage.objects.patch overridden":    {method: "POST", path: o, headers: "X-Http-Method-Override: PATCH", body: `{"metadata":{"a":"b"}}`, permissions: []string{update}, status: 200, doc: docJSON},
		"storage.objects.get both conditions": {method: "GET", path: o + "?alt=media", headers: "If-None-Match: x\nIf-Modified-Since: Fri, 01 Jan 2100 00:00:00 GMT", permissions: []string{get}, status: 200, doc: "RFC 9110, 13.1.3"},
		"storage.objects.update":              {method: "PUT", path: o, body: `{"contentType":"text/html"}`, permissions: []string{update}, status: 200, doc: docJSON},
		"storage.objects.patch retention":     {method: "PATCH", path: "/storage/v1/b/locked/o/o", body: `{"retention":{"mode":"Unlocked","retainUntilTime":"2099-01-01T00:00:00Z"}}`, permissions: []string{update, "storage.objects.setRetention"}, status: 200, doc: docJSON},
		"storage.objects.delete":              {method: "DELETE", path: o, permissions: []string{remove}, status: 204, doc: docJSON},
		"storage.objects.delete generation":   {method: "DELETE", path: o + "?generation={generation}", permissions: []string{remove}, status: 204, doc: docJSON},
		"storage.objects.compose":             {method: "POST", path: b + "/o/fresh/compose", body: `{"sourceObjects":[{"name":"o"},{"name":"dir/a"}]}`, permissions: []string{create, get}, status: 200, doc: docJSON},
		"storage.objects.compose over":        {method: "POST", path: o + "/compose", body: `{"sourceObjects":[{"name":"dir/a"}]}`, permissions: []string{create, get, remove}, status: 200, doc: docJSON},
		"storage.objects.compose deleting":    {method: "POST", path: b + "/o/fresh/compose", body: `{"sourceObjects":[{"name":"dir/a"}],"deleteSourceObjects":true}`, permissions: []string{create, get, remove}, status: 200, doc: docJSON},
		"storage.objects.copy":                {method: "POST", path: o + "/copyTo/b/empty/o/fresh", permissions: []string{create, get}, status: 200, doc: docJSON},
		"storage.objects.copy over":           {method: "POST", path: o + "/copyTo/b/docs/o/dir%2Fa", permissions: []string{create, get, remove}, status: 200, doc: docJSON},
		"storage.objects.rewrite":             {method: "POST", path: o + "/rewriteTo/b/docs/o/fresh", permissions: []string{create, get}, status: 200, doc: docJSON},
		"storage.objects.rewrite over":        {method: "POST", path: o + "/rewriteTo/b/docs/o/dir%2Fa", permissions: []string{create, get, remove}, status: 200, doc: docJSON},
	}
}

func xmlOperations() map[string]operation {
	create, remove, get := "storage.objects.create", "storage.objects.delete", "storage.objects.get"
	multi := "storage.multipartUploads."
	return map[string]operation{
		"xml.GetService":                   {method: "GET", path: "/", permissions: []string{"storage.buckets.list"}, project: true, status: 200, doc: docXML},
		"xml.PutBucket":                    {method: "PUT", path: "/fresh", permissions: []string{"storage.buckets.create"}, project: true, status: 200, doc: docXML},
		"xml.GetBucket":                    {method: "GET", path: "/docs", permissions: []string{"storage.objects.list"}, status: 200, doc: docXML},
		"xml.GetBucket second":             {method: "GET", path: "/docs?list-type=2&prefix=d&delimiter=/", permissions: []string{"storage.objects.list"}, status: 200, doc: docXML},
		"xml.HeadBucket":                   {method: "HEAD", path: "/docs", permissions: []string{"storage.buckets.get"}, status: 200, doc: docXML},
		"xml.DeleteBucket":                 {method: "DELETE", path: "/empty", permissions: []string{"storage.buckets.delete"}, status: 204, doc: docXML},
		"xml.GetBucketLocation":            {method: "GET", path: "/docs?location", permissions: []string{"storage.buckets.get"}, status: 200, doc: docXML},
		"xml.GetBucketStorageClass":        {method: "GET", path: "/docs?storageClass", permissions: []string{"storage.buckets.get"}, status: 200, doc: docXML},
		"xml.GetBucketVersioning":          {method: "GET", path: "/docs?versioning", permissions: []string{"storage.buckets.get"}, status: 200, doc: docXML},
		"xml.PutBucketVersioning":          {method: "PUT", path: "/docs?versioning", body: `<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>`, permissions: []string{"storage.buckets.update"}, status: 200, doc: docXML},
		"xml.GetBucketCORS":                {method: "GET", path: "/docs?cors", permissions: []string{"storage.buckets.get"}, status: 200, doc: docXML},
		"xml.PutBucketCORS":                {method: "PUT", path: "/docs?cors", body: `<CorsConfig/>`, permissions: []string{"storage.buckets.update"}, status: 200, doc: docXML},
		"xml.GetBucketLifecycle":           {method: "GET", path: "/docs?lifecycle", permissions: []string{"storage.buckets.get"}, status: 200, doc: docXML},
		"xml.PutBucketLifecycle":           {method: "PUT", path: "/docs?lifecycle", body: `<LifecycleConfiguration/>`, permissions: []string{"storage.buckets.update"}, status: 200, doc: docXML},
		"xml.ListMultipartUploads":         {method: "GET", path: "/docs?uploads", permissions: []string{multi + "list"}, status: 200, doc: docXML},
		"xml.ListMultipartUploads encoded": {method: "GET", path: "/docs?encoding-type=url&uploads", permissions: []string{multi + "list"}, status: 200, doc: docXML},
		"xml.GetObject both conditions":    {method: "GET", path: "/docs/o", headers: "If-None-Match: x\nIf-Modified-Since: Fri, 01 Jan 2100 00:00:00 GMT", permissions: []string{get}, status: 200, doc: "RFC 9110, 13.1.3"},
		"xml.GetObject":                    {method: "GET", path: "/docs/o", permissions: []string{get}, status: 200, doc: docXML},
		"xml.HeadObject":                   {method: "HEAD", path: "/docs/o", permissions: []string{get}, status: 200, doc: docXML},
		"xml.PutObject":                    {method: "PUT", path: "/docs/fresh", body: "x", permissions: []string{create}, status: 200, doc: docXML},
		"xml.PutObject over":               {method: "PUT", path: "/docs/o", body: "x", permissions: []string{create, remove}, status: 200, doc: docXML},
		"xml.PutObject copy":               {method: "PUT", path: "/docs/fresh", headers: "X-Goog-Copy-Source: /docs/o", permissions: []string{create, get}, status: 200, doc: docXML},
		"xml.DeleteObject":                 {method: "DELETE", path: "/docs/o", permissions: []string{remove}, status: 204, doc: docXML},
		"xml.PostResumable":                {method: "POST", path: "/docs/fresh", headers: "X-Goog-Resumable: start", permissions: []string{create}, status: 201, doc: docXML},
		"xml.PostResumable over":           {method: "POST", path: "/docs/o", headers: "X-Goog-Resumable: start", permissions: []string{create, remove}, status: 201, doc: docXML},
		"xml.InitiateMultipartUpload":      {method: "POST", path: "/docs/fresh?uploads", permissions: []string{create, multi + "create"}, status: 200, doc: docXML},
		"xml.UploadPart":                   {method: "PUT", path: "/docs/m?partNumber=2&uploadId={upload}", body: "x", permissions: []string{create, multi + "create"}, status: 200, doc: docXML},
		"xml.CompleteMultipartUpload":      {method: "POST", path: "/docs/m?uploadId={upload}", body: `<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{part}</ETag></Part></CompleteMultipartUpload>`, permissions: []string{create, multi + "create"}, status: 200, doc: docXML},
		"xml.AbortMultipartUpload":         {method: "DELETE", path: "/docs/m?uploadId={upload}", permissions: []string{multi + "abort"}, status: 204, doc: docXML},
		"xml.ListParts":                    {method: "GET", path: "/docs/m?uploadId={upload}", permissions: []string{multi + "listParts"}, status: 200, doc: docXML},
	}
}

func identityOperations() map[string]operation {
	keys, account, roles := "storage.hmacKeys.", "iam.serviceAccounts.", "iam.roles."
	policy := `{"policy":{"bindings":[{"role":"roles/iam.workloadIdentityUser","members":["allAuthenticatedUsers"]}]}}`
	out := map[string]operation{
		"storage.projects.hmacKeys.create": {method: "POST", path: hmac + "?serviceAccountEmail=target@cooper-fake.iam.gserviceaccount.com", permissions: []string{keys + "create"}, status: 200, doc: docHMAC},
		"storage.projects.hmacKeys.list":   {method: "GET", path: hmac, permissions: []string{keys + "list"}, status: 200, doc: docHMAC},
		"storage.projects.hmacKeys.get":    {method: "GET", path: hmac + "/{hmac}", permissions: []string{keys + "get"}, status: 200, doc: docHMAC},
		"storage.projects.hmacKeys.update": {method: "PUT", path: hmac + "/{hmac}", body: `{"state":"INACTIVE"}`, permissions: []string{keys + "update"}, status: 200, doc: docHMAC},
		"storage.projects.hmacKeys.delete": {method: "DELETE", path: hmac + "/{inactive}", permissions: []string{keys + "delete"}, status: 204, doc: docHMAC},

		"storage.projects.serviceAccount.get":        {method: "GET", path: "/storage/v1/projects/cooper-fake/serviceAccount", permissions: []string{"resourcemanager.projects.get"}, status: 200, doc: docJSON},
		"cloudresourcemanager.projects.get":          {method: "GET", path: "/v1/projects/cooper-fake", permissions: []string{"resourcemanager.projects.get"}, status: 200, doc: docCRM},
		"cloudresourcemanager.projects.getIamPolicy": {method: "POST", path: "/v1/projects/cooper-fake:getIamPolicy", permissions: []string{"resourcemanager.projects.getIamPolicy"}, status: 200, doc: docCRM},
		"cloudresourcemanager.projects.setIamPolicy": {method: "POST", path: "/v1/projects/cooper-fake:setIamPolicy", body: `{"policy":{"bindings":[]}}`, permissions: []string{"resourcemanager.projects.setIamPolicy"}, status: 200, doc: docCRM},

		"iam.projects.serviceAccounts.create":           {method: "POST", path: sas, body: `{"accountId":"fresh-account"}`, permissions: []string{account + "create"}, status: 200, doc: docIAM},
		"iam.projects.serviceAccounts.list":             {method: "GET", path: sas, permissions: []string{account + "list"}, status: 200, doc: docIAM},
		"iam.projects.serviceAccounts.get":              {method: "GET", path: sa, permissions: []string{account + "get"}, status: 200, doc: docIAM},
		"iam.projects.serviceAccounts.get enumerations": {method: "GET", path: sa + "?$alt=json%3Benum-encoding=int", permissions: []string{account + "get"}, status: 200, doc: docIAM},
		"iam.projects.serviceAccounts.patch":            {method: "PATCH", path: sa, body: `{"serviceAccount":{"description":"d"},"updateMask":"description"}`, permissions: []string{account + "update"}, status: 200, doc: docIAM},
		"iam.projects.serviceAccounts.delete":           {method: "DELETE", path: sa, permissions: []string{account + "delete"}, status: 200, doc: docIAM},
		"iam.projects.serviceAccounts.disable":          {method: "POST", path: sa + ":disable", permissions: []string{account + "disable"}, status: 200, doc: docIAM},
		"iam.projects.serviceAccounts.enable":           {method: "POST", path: sa + ":enable", permissions: []string{account + "enable"}, status: 200, doc: docIAM},
		"iam.projects.serviceAccounts.getIamPolicy":     {method: "POST", path: sa + ":getIamPolicy", permissions: []string{account + "getIamPolicy"}, status: 200, doc: docIAM},
		"iam.projects.serviceAccounts.setIamPolicy":     {method: "POST", path: sa + ":setIamPolicy", body: policy, permissions: []string{account + "setIamPolicy"}, status: 200, doc: docIAM},

		"iam.projects.serviceAccounts.undelete": {method: "POST", path: sas + "/{deleted}:undelete", permissions: []string{account + "undelete"}, status: 200, doc: docIAM},

		"iamcredentials.projects.serviceAccounts.signBlob": {method: "POST", path: "/v1/projects/-/serviceAccounts/target@cooper-fake.iam.gserviceaccount.com:signBlob", body: `{"payload":"aGVsbG8="}`, permissions: []string{account + "signBlob"}, status: 200, doc: docIAM},
		"iamcredentials.projects.serviceAccounts.signJwt":  {method: "POST", path: "/v1/projects/-/serviceAccounts/target@cooper-fake.iam.gserviceaccount.com:signJwt", body: `{"payload":"{}"}`, permissions: []string{account + "signJwt"}, status: 200, doc: docIAM},

		"iamcredentials.projects.serviceAccounts.generateAccessToken": {method: "POST", path: "/v1/projects/-/serviceAccounts/target@cooper-fake.iam.gserviceaccount.com:generateAccessToken", body: `{"scope":["https://www.googleapis.com/auth/cloud-platform"]}`, permissions: []string{account + "getAccessToken"}, status: 200, doc: docIAM},

		"iam.projects.serviceAccounts.keys.upload":  {method: "POST", path: sa + "/keys:upload", body: `{"publicKeyData":"` + uploadedCertificate() + `"}`, permissions: []string{"iam.serviceAccountKeys.create"}, status: 200, doc: docIAM},
		"iam.projects.serviceAccounts.keys.disable": {method: "POST", path: sa + "/keys/{key}:disable", permissions: []string{"iam.serviceAccountKeys.disable"}, status: 200, doc: docIAM},
		"iam.projects.serviceAccounts.keys.enable":  {method: "POST", path: sa + "/keys/{key}:enable", permissions: []string{"iam.serviceAccountKeys.enable"}, status: 200, doc: docIAM},
		"iam.projects.serviceAccounts.keys.get":     {method: "GET", path: sa + "/keys/{key}", permissions: []string{"iam.serviceAccountKeys.get"}, status: 200, doc: docIAM},
		"iam.projects.serviceAccounts.keys.delete":  {method: "DELETE", path: sa + "/keys/{key}", permissions: []string{"iam.serviceAccountKeys.delete"}, status: 200, doc: docIAM},

		"iam.projects.serviceAccounts.keys.list": {method: "GET", path: sa + "/keys", permissions: []string{"iam.serviceAccountKeys.list"}, status: 200, doc: docIAM},

		"iam.projects.roles.create": {method: "POST", path: "/v1/projects/cooper-fake/roles", body: `{"roleId":"freshRole","role":{"includedPermissions":["storage.objects.get"]}}`, permissions: []string{roles + "create"}, status: 200, doc: docIAM},
		"iam.projects.roles.list":   {method: "GET", path: "/v1/projects/cooper-fake/roles", permissions: []string{roles + "list"}, status: 200, doc: docIAM},
		"iam.projects.roles.get":    {method: "GET", path: "/v1/projects/cooper-fake/roles/spare", permissions: []string{roles + "get"}, status: 200, doc: docIAM},
		"iam.projects.roles.patch":  {method: "PATCH", path: "/v1/projects/cooper-fake/roles/spare", body: `{"title":"t"}`, permissions: []string{roles + "update"}, status: 200, doc: docIAM},
		"iam.projects.roles.delete": {method: "DELETE", path: "/v1/projects/cooper-fake/roles/spare", permissions: []string{roles + "delete"}, status: 200, doc: docIAM},
	}
	for name, op := range out {
		op.project = true
		out[name] = op
	}
	return out
}
