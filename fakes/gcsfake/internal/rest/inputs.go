// SPDX-License-Identifier: Apache-2.0

package rest

import "github.com/cooper-cosi/cooper/fakes/internal/accept"

// Inputs that several operations of the JSON API have.
var (
	cloudQuery      = accept.Names("fields").Different("$alt", "alt", "key", "prettyPrint", "quotaUser")
	everyQuery      = accept.Names("fields", "userProject").Different("alt", "key", "prettyPrint", "quotaUser", "userIp")
	matchQuery      = accept.Names("ifMetagenerationMatch", "ifMetagenerationNotMatch")
	generationQuery = matchQuery.With("ifGenerationMatch", "ifGenerationNotMatch")
	sourceQuery     = accept.Names("ifSourceGenerationMatch", "ifSourceGenerationNotMatch", "ifSourceMetagenerationMatch", "ifSourceMetagenerationNotMatch")
	accountMembers  = accept.Names("description", "displayName").Ignored("disabled", "email", "etag", "name", "oauth2ClientId", "projectId", "uniqueId")
	policyMembers   = accept.Names("bindings", "etag", "version")
	roleMembers     = accept.Names("description", "includedPermissions", "stage", "title").Ignored("name")

	bucketEntry = accept.Names().Ignored("bucket", "domain", "email", "entity", "entityId", "etag", "id", "kind", "projectTeam", "role", "selfLink")
	objectEntry = bucketEntry.Ignored("generation", "object")

	bucketMembers = accept.Names("billing.requesterPays", "defaultEventBasedHold", "iamConfiguration", "labels", "retentionPolicy", "softDeletePolicy.retentionDurationSeconds", "versioning.enabled").
			Different("autoclass.enabled", "autoclass.terminalStorageClass", "cors", "customPlacementConfig", "encryption.defaultKmsKeyName", "lifecycle", "location",
			"logging", "rpo", "storageClass", "website").
		With("acl", "defaultObjectAcl").
		Ignored("autoclass.terminalStorageClassUpdateTime", "autoclass.toggleTime", "etag", "generation", "hardDeleteTime", "id", "kind", "locationType",
			"metageneration", "name", "objectRetention", "owner", "projectNumber", "satisfiesPZI", "satisfiesPZS", "selfLink", "softDeletePolicy.effectiveTime",
			"softDeleteTime", "timeCreated", "updated")
	objectMembers = accept.Names("cacheControl", "contentDisposition", "contentEncoding", "contentLanguage", "contentType", "customTime", "eventBasedHold", "metadata",
		"retention.mode", "retention.retainUntilTime", "temporaryHold").
		Different("kmsKeyName", "storageClass").
		With("acl").
		Refused("contexts").
		Ignored("bucket", "componentCount", "crc32c", "customerEncryption", "etag", "generation", "hardDeleteTime", "id", "kind", "md5Hash", "mediaLink",
			"metageneration", "name", "owner", "retentionExpirationTime", "selfLink", "size", "softDeleteTime", "timeCreated", "timeDeleted", "timeFinalized",
			"timeStorageClassUpdated", "updated")
)

// Inputs of several operations of the JSON API.
var (
	ofEvery         = accept.Inputs{Query: everyQuery}
	ofGeneration    = accept.Inputs{Query: everyQuery.With("generation")}
	ofCloud         = accept.Inputs{Query: cloudQuery}
	testPermissions = accept.Inputs{Query: cloudQuery, Fields: accept.Names("permissions")}
	setPolicy       = accept.Inputs{Query: cloudQuery, Fields: policyMembers.Below("policy")}
	listRoles       = accept.Inputs{Query: cloudQuery.With("pageSize", "pageToken", "view")}
	changeBucket    = accept.Inputs{Query: everyQuery.And(matchQuery).With("predefinedAcl", "predefinedDefaultObjectAcl", "projection"), Fields: bucketMembers}
	changeObject    = accept.Inputs{
		Query:  everyQuery.And(generationQuery).With("generation", "overrideUnlockedRetention").With("projection", "predefinedAcl"),
		Fields: objectMembers,
	}
)

// Inputs are the query parameters and body fields of each operation. Clients may send back fields that they have
// read. Therefore, fields that only the service sets are ignored, as Google does.
var Inputs = map[string]accept.Inputs{
	"storage.buckets.insert": {
		Query:  everyQuery.With("enableObjectRetention", "project").With("projection", "predefinedAcl", "predefinedDefaultObjectAcl"),
		Fields: bucketMembers.With("name"),
	},
	"storage.buckets.list":  {Query: everyQuery.With("maxResults", "pageToken", "prefix", "project").With("projection").Different("returnPartialSuccess")},
	"storage.buckets.get":   {Query: everyQuery.And(matchQuery).With("projection")},
	"storage.buckets.patch": changeBucket, "storage.buckets.update": changeBucket,
	"storage.buckets.delete":              {Query: everyQuery.And(matchQuery)},
	"storage.buckets.lockRetentionPolicy": {Query: everyQuery.With("ifMetagenerationMatch")},
	"storage.buckets.getIamPolicy":        {Query: everyQuery.With("optionsRequestedPolicyVersion")},
	"storage.buckets.setIamPolicy":        {Query: everyQuery, Fields: policyMembers.Ignored("kind", "resourceId")},
	"storage.buckets.testIamPermissions":  {Query: everyQuery.With("permissions")},
	"storage.buckets.getStorageLayout":    {Query: everyQuery.With("prefix")},
	"storage.managedFolders.list":         {Query: everyQuery.Different("pageSize", "pageToken", "prefix")},
	"storage.objects.insert": {
		Query:  everyQuery.And(generationQuery).With("contentEncoding", "kmsKeyName", "name", "uploadType", "upload_id", "predefinedAcl", "projection"),
		Fields: objectMembers.With("crc32c", "md5Hash", "name"),
	},
	"storage.objects.list": {
		Query: everyQuery.With("delimiter", "endOffset", "includeTrailingDelimiter", "matchGlob", "maxResults", "pageToken", "prefix", "softDeleted", "startOffset",
			"versions").
			With("projection").Different("includeFoldersAsPrefixes").Refused("filter").Ignored("force", "includeFiles", "private", "public"),
	},
	"storage.objects.get":   {Query: everyQuery.And(generationQuery).With("generation", "softDeleted").With("projection")},
	"storage.objects.patch": changeObject, "storage.objects.update": changeObject,
	"storage.objects.delete": {
		Query: everyQuery.And(generationQuery).With("generation").
			Ignored("autoPaginate", "delimiter", "endOffset", "force", "matchGlob", "maxResults", "prefix", "startOffset", "versions"),
	},
	"storage.objects.restore": {Query: everyQuery.And(generationQuery).With("generation", "copySourceAcl", "projection")},
	"storage.objects.move":    {Query: everyQuery.And(generationQuery, sourceQuery).With("projection")},
	"storage.objects.copy": {
		Query:  everyQuery.And(generationQuery, sourceQuery).With("destinationKmsKeyName", "sourceGeneration", "destinationPredefinedAcl", "projection"),
		Fields: objectMembers,
	},
	"storage.objects.rewrite": {
		Query: everyQuery.And(generationQuery, sourceQuery).With("destinationKmsKeyName", "maxBytesRewrittenPerCall", "rewriteToken", "sourceGeneration",
			"destinationPredefinedAcl", "projection"),
		Fields: objectMembers,
	},
	"storage.objects.compose": {
		Query: everyQuery.With("ifGenerationMatch", "ifMetagenerationMatch", "kmsKeyName", "destinationPredefinedAcl"),
		Fields: objectMembers.Below("destination").Ignored("kind").With("deleteSourceObjects", "sourceObjects.generation", "sourceObjects.name",
			"sourceObjects.objectPreconditions.ifGenerationMatch"),
	},

	"storage.bucketAccessControls.list": ofEvery, "storage.bucketAccessControls.get": ofEvery, "storage.bucketAccessControls.delete": ofEvery,
	"storage.bucketAccessControls.insert":        {Query: everyQuery, Fields: bucketEntry.With("entity", "role")},
	"storage.bucketAccessControls.patch":         {Query: everyQuery, Fields: bucketEntry.With("role")},
	"storage.bucketAccessControls.update":        {Query: everyQuery, Fields: bucketEntry.With("role")},
	"storage.defaultObjectAccessControls.list":   {Query: everyQuery.And(matchQuery)},
	"storage.defaultObjectAccessControls.get":    ofEvery,
	"storage.defaultObjectAccessControls.delete": ofEvery,
	"storage.defaultObjectAccessControls.insert": {Query: everyQuery, Fields: objectEntry.With("entity", "role")},
	"storage.defaultObjectAccessControls.patch":  {Query: everyQuery, Fields: objectEntry.With("role")},
	"storage.defaultObjectAccessControls.update": {Query: everyQuery, Fields: objectEntry.With("role")},
	"storage.objectAccessControls.list":          ofGeneration, "storage.objectAccessControls.get": ofGeneration, "storage.objectAccessControls.delete": ofGeneration,
	"storage.objectAccessControls.insert": {Query: ofGeneration.Query, Fields: objectEntry.With("entity", "role")},
	"storage.objectAccessControls.patch":  {Query: ofGeneration.Query, Fields: objectEntry.With("role")},
	"storage.objectAccessControls.update": {Query: ofGeneration.Query, Fields: objectEntry.With("role")},

	"storage.projects.serviceAccount.get": ofEvery, "storage.projects.hmacKeys.get": ofEvery, "storage.projects.hmacKeys.delete": ofEvery,
	"storage.projects.hmacKeys.create": {Query: everyQuery.With("serviceAccountEmail")},
	"storage.projects.hmacKeys.list":   {Query: everyQuery.With("maxResults", "pageToken", "serviceAccountEmail", "showDeletedKeys")},
	"storage.projects.hmacKeys.update": {
		Query:  everyQuery,
		Fields: accept.Names("etag", "state").Ignored("accessId", "id", "kind", "projectId", "selfLink", "serviceAccountEmail", "timeCreated", "updated"),
	},

	"cloudresourcemanager.projects.get": ofCloud, "cloudresourcemanager.projects.setIamPolicy": setPolicy, "cloudresourcemanager.projects.testIamPermissions": testPermissions,
	"cloudresourcemanager.projects.getIamPolicy": {Query: cloudQuery, Fields: accept.Names("options.requestedPolicyVersion")},

	"iam.projects.serviceAccounts.get": ofCloud, "iam.projects.serviceAccounts.delete": ofCloud, "iam.projects.serviceAccounts.disable": ofCloud,
	"iam.projects.serviceAccounts.enable": ofCloud, "iam.projects.serviceAccounts.undelete": ofCloud,
	"iam.projects.serviceAccounts.setIamPolicy": setPolicy, "iam.projects.serviceAccounts.testIamPermissions": testPermissions,
	"iam.projects.serviceAccounts.create":       {Query: cloudQuery, Fields: accountMembers.Below("serviceAccount").With("accountId")},
	"iam.projects.serviceAccounts.list":         {Query: cloudQuery.With("pageSize", "pageToken")},
	"iam.projects.serviceAccounts.patch":        {Query: cloudQuery, Fields: accountMembers.Below("serviceAccount").With("updateMask")},
	"iam.projects.serviceAccounts.getIamPolicy": {Query: cloudQuery.With("options.requestedPolicyVersion")},

	"iam.projects.serviceAccounts.keys.get": ofCloud, "iam.projects.serviceAccounts.keys.delete": ofCloud, "iam.projects.serviceAccounts.keys.disable": ofCloud,
	"iam.projects.serviceAccounts.keys.enable": ofCloud,
	"iam.projects.serviceAccounts.keys.create": {Query: cloudQuery, Fields: accept.Names("keyAlgorithm", "privateKeyType")},
	"iam.projects.serviceAccounts.keys.upload": {Query: cloudQuery, Fields: accept.Names("publicKeyData")},
	"iam.projects.serviceAccounts.keys.list":   {Query: cloudQuery.With("keyTypes")},

	"iam.projects.roles.get": ofCloud, "iam.projects.roles.delete": ofCloud, "iam.roles.get": ofCloud, "iam.projects.roles.list": listRoles, "iam.roles.list": listRoles,
	"iam.projects.roles.create": {Query: cloudQuery, Fields: roleMembers.Below("role").With("roleId")},
	"iam.projects.roles.patch":  {Query: cloudQuery.With("updateMask"), Fields: roleMembers},

	"iamcredentials.projects.serviceAccounts.generateAccessToken": {Query: cloudQuery, Fields: accept.Names("lifetime", "scope")},
	"iamcredentials.projects.serviceAccounts.signBlob":            {Query: cloudQuery, Fields: accept.Names("payload").Refused("bytesToSign")},
	"iamcredentials.projects.serviceAccounts.signJwt":             {Query: cloudQuery, Fields: accept.Names("payload")},
	"sts.token": {Fields: accept.Names("audience", "grantType", "requestedTokenType", "scope", "subjectToken", "subjectTokenType")},
}

// Inputs that several operations of the XML API have.
var (
	encryptionHeaders     = accept.Names("x-goog-encryption-algorithm", "x-goog-encryption-key", "x-goog-encryption-key-sha256")
	metagenerationHeaders = accept.Names("x-goog-if-metageneration-match", "x-goog-if-metageneration-not-match")
	generationHeaders     = metagenerationHeaders.With("x-goog-if-generation-match", "x-goog-if-generation-not-match")
	checksumHeaders       = accept.Names("x-goog-hash").Prefix("x-amz-checksum-").With("x-amz-sdk-checksum-algorithm", "x-amz-trailer")
	aclHeaders            = accept.Names("x-goog-acl", "x-amz-acl")
	attributeHeaders      = accept.List{}.Prefix("x-goog-meta-", "x-amz-meta-").With("x-goog-storage-class", "x-amz-storage-class", "x-goog-custom-time",
		"x-goog-encryption-kms-key-name", "x-amz-server-side-encryption-customer-algorithm", "x-amz-server-side-encryption-customer-key",
		"x-amz-server-side-encryption-customer-key-md5")
	// uploadHeaders are those of a multipart upload. Google's client for Python repeats them with every part, the completion
	// and the cancellation. The fake uses only the customer-supplied key of a part, and ignores the other repetitions.
	uploadHeaders = encryptionHeaders.And(attributeHeaders)
	sourceHeaders = accept.Names("x-goog-copy-source", "x-goog-copy-source-generation", "x-goog-copy-source-if-generation-match", "x-goog-copy-source-if-metageneration-match",
		"x-goog-copy-source-if-match", "x-goog-copy-source-if-none-match", "x-goog-copy-source-if-modified-since", "x-goog-copy-source-if-unmodified-since",
		"x-goog-copy-source-encryption-algorithm", "x-goog-copy-source-encryption-key", "x-goog-copy-source-encryption-key-sha256", "x-goog-metadata-directive",
		"x-amz-metadata-directive", "x-amz-copy-source", "x-amz-copy-source-if-match", "x-amz-copy-source-if-none-match", "x-amz-copy-source-if-modified-since",
		"x-amz-copy-source-if-unmodified-since")
	documentHeaders = accept.List{}.Prefix("x-amz-checksum-").With("x-amz-sdk-checksum-algorithm")
	putSetting      = accept.Inputs{Headers: metagenerationHeaders.And(documentHeaders)}
	putACL          = accept.Inputs{Headers: aclHeaders.And(documentHeaders)}
	readObject      = accept.Inputs{
		Query:   accept.Names("generation", "response-cache-control", "response-content-disposition", "response-content-type"),
		Headers: generationHeaders.And(encryptionHeaders).With("x-amz-checksum-mode"),
	}
)

// XMLInputs are the query parameters, and the Google and S3 headers, of each operation of the XML API. It does not
// contain the inputs of all operations.
var XMLInputs = map[string]accept.Inputs{
	"xml.GetService": {}, "xml.PutBucket": {Headers: aclHeaders}, "xml.HeadBucket": {}, "xml.GetBucketLocation": {}, "xml.GetBucketVersioning": {}, "xml.GetBucketCORS": {},
	"xml.GetBucketLifecycle": {}, "xml.GetBucketStorageClass": {}, "xml.PostObject": {}, "xml.DeleteResumable": {}, "xml.AbortMultipartUpload": {Headers: uploadHeaders},
	"xml.PutBucketVersioning": putSetting, "xml.PutBucketCORS": putSetting, "xml.PutBucketLifecycle": putSetting,
	"xml.GetObject": readObject, "xml.HeadObject": readObject,
	"xml.GetBucketACL": {}, "xml.GetBucketDefaultObjectACL": {}, "xml.GetObjectACL": {Query: accept.Names("generation")},
	"xml.PutBucketACL": putACL, "xml.PutBucketDefaultObjectACL": putACL, "xml.PutObjectACL": {Query: accept.Names("generation"), Headers: putACL.Headers},

	"xml.GetBucket":               {Query: accept.Names("list-type", "prefix", "delimiter", "marker", "max-keys", "encoding-type", "continuation-token", "start-after", "fetch-owner")},
	"xml.DeleteBucket":            {Headers: metagenerationHeaders},
	"xml.ListMultipartUploads":    {Query: accept.Names("prefix", "delimiter", "encoding-type", "key-marker", "upload-id-marker", "max-uploads")},
	"xml.DeleteObjects":           {Headers: documentHeaders},
	"xml.PutObject":               {Headers: generationHeaders.And(encryptionHeaders, checksumHeaders, aclHeaders, attributeHeaders)},
	"xml.CopyObject":              {Headers: generationHeaders.And(encryptionHeaders, aclHeaders, attributeHeaders, sourceHeaders)},
	"xml.DeleteObject":            {Query: accept.Names("generation"), Headers: generationHeaders},
	"xml.PostResumable":           {Headers: generationHeaders.And(encryptionHeaders, aclHeaders, attributeHeaders).With("x-goog-resumable")},
	"xml.PutResumable":            {Headers: accept.Names("x-goog-hash")},
	"xml.InitiateMultipartUpload": {Headers: uploadHeaders.And(aclHeaders).With("x-amz-checksum-algorithm")},
	"xml.UploadPart":              {Query: accept.Names("partNumber"), Headers: uploadHeaders.And(checksumHeaders, sourceHeaders)},
	"xml.CompleteMultipartUpload": {Headers: generationHeaders.And(uploadHeaders)},
	"xml.ListParts":               {Query: accept.Names("part-number-marker", "max-parts")},
}

// FormFields are the fields of a form for the XML API. Fields with the prefix x-ignore- have no effect.
var FormFields = generationHeaders.And(encryptionHeaders, aclHeaders, attributeHeaders).
	With("x-goog-hash", "x-goog-algorithm", "x-goog-credential", "x-goog-signature", "x-amz-algorithm", "x-amz-credential", "x-amz-signature",
		"acl", "bucket", "cache-control", "content-disposition", "content-encoding", "content-language", "content-md5", "content-type", "key", "policy",
		"success_action_redirect", "success_action_status").
	Prefix("x-ignore-")

// xmlQuery are the query parameters of all operations of the XML API.
var xmlQuery = accept.Names("x-id", "userProject", "GoogleAccessId", "AWSAccessKeyId", "Expires", "Signature")

// servedHeaders are the Google headers, and for the XML API also the S3 headers, that all operations accept or that
// have no effect.
var servedHeaders = map[flavour]accept.List{
	inJSON: accept.Names("x-goog-storage-go-features", "x-goog-api-client", "x-goog-request-params", "x-goog-request-reason", "x-goog-gcs-idempotency-token", "x-goog-user-project",
		"x-goog-encryption-algorithm", "x-goog-encryption-key", "x-goog-encryption-key-sha256",
		"x-goog-copy-source-encryption-algorithm", "x-goog-copy-source-encryption-key", "x-goog-copy-source-encryption-key-sha256", "x-goog-hash").
		Prefix("x-goog-custom-audit-"),
	inRPC: accept.Names("x-goog-api-client", "x-goog-request-params", "x-goog-request-reason", "x-goog-user-project"),
	inXML: accept.Names("x-goog-storage-go-features", "x-goog-api-client", "x-goog-request-reason", "x-goog-gcs-idempotency-token", "x-goog-user-project", "x-goog-project-id",
		"x-goog-date", "x-goog-content-sha256", "x-amz-date", "x-amz-content-sha256", "x-amz-decoded-content-length", "x-amz-user-agent", "x-amz-security-token", "x-amz-project-id").
		Prefix("x-goog-custom-audit-"),
}
