// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"maps"
	"net/url"
	"strings"
)

const (
	tagging   = `<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>`
	lifecycle = `<LifecycleConfiguration><Rule><ID>x</ID><Status>Enabled</Status><Filter><Prefix>p</Prefix></Filter><Expiration><Days>1</Days></Expiration></Rule></LifecycleConfiguration>`
	cors      = `<CORSConfiguration><CORSRule><AllowedMethod>GET</AllowedMethod><AllowedOrigin>*</AllowedOrigin></CORSRule></CORSConfiguration>`
	block     = `<PublicAccessBlockConfiguration><BlockPublicPolicy>true</BlockPublicPolicy></PublicAccessBlockConfiguration>`
	ownership = `<OwnershipControls><Rule><ObjectOwnership>BucketOwnerEnforced</ObjectOwnership></Rule></OwnershipControls>`
	sse       = `<ServerSideEncryptionConfiguration><Rule><ApplyServerSideEncryptionByDefault><SSEAlgorithm>AES256</SSEAlgorithm></ApplyServerSideEncryptionByDefault></Rule></ServerSideEncryptionConfiguration>`
	objLock   = `<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled></ObjectLockConfiguration>`
	retention = `<Retention><Mode>GOVERNANCE</Mode><RetainUntilDate>2099-01-01T00:00:00Z</RetainUntilDate></Retention>`
	hold      = `<LegalHold><Status>ON</Status></LegalHold>`
	bucketPol = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"arn:aws:iam::000000000000:root"},"Action":"s3:GetBucketAcl","Resource":"arn:aws:s3:::docs"}]}`
	parts     = `<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{etag}</ETag></Part></CompleteMultipartUpload>`
	kms       = "X-Amz-Server-Side-Encryption: aws:kms\nX-Amz-Server-Side-Encryption-Aws-Kms-Key-Id: k1"
	until     = "X-Amz-Object-Lock-Mode: GOVERNANCE\nX-Amz-Object-Lock-Retain-Until-Date: 2099-01-01T00:00:00Z"
	// known is the condition that the existing object is the second docs/k.
	known      = `If-Match: "a9f0e61a137d86aa9db53465e0801612"`
	bypass     = "X-Amz-Bypass-Governance-Retention: true"
	thumbprint = "ThumbprintList.member.1=6938fd4d98bab03faadb97b34396831e3780aea1"
	trust      = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"000000000000"},"Action":"sts:AssumeRole"}]}`
	anyPolicy  = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:GetObject","Resource":"*"}]}`
	provider   = "arn:aws:iam::000000000000:oidc-provider/issuer.example.com"
	managed    = "arn:aws:iam::000000000000:policy/managed"
)

// query is a request of the Query protocol: parameters are name=value pairs, not yet escaped.
func query(action string, params ...string) operation {
	var b strings.Builder
	b.WriteString("Action=" + action)
	for _, p := range params {
		name, value, _ := strings.Cut(p, "=")
		b.WriteString("&" + name + "=")
		if strings.HasPrefix(value, "{key}") {
			b.WriteString(value)
		} else {
			b.WriteString(url.QueryEscape(value))
		}
	}
	return operation{method: "POST", path: "/", body: b.String(), actions: "iam:" + action, status: 200}
}

// setup fills a world. The order makes {version}, {upload}, {etag} and {key} those of the last steps.
func setup() []operation {
	return []operation{
		{method: "PUT", path: "/docs", headers: "X-Amz-Bucket-Object-Lock-Enabled: true"},
		{method: "PUT", path: "/empty"},
		{method: "PUT", path: "/docs?tagging", body: tagging},
		{method: "PUT", path: "/docs?lifecycle", body: lifecycle},
		{method: "PUT", path: "/docs?cors", body: cors},
		{method: "PUT", path: "/docs?policy", body: bucketPol},
		{method: "PUT", path: "/docs/locked", body: "x"},
		{method: "PUT", path: "/docs/locked?retention", body: retention},
		{method: "PUT", path: "/docs/locked?legal-hold", body: hold},
		{method: "PUT", path: "/docs/governed", body: "x"},
		{method: "PUT", path: "/docs/governed?retention", body: retention},
		{method: "PUT", path: "/docs/sealed", headers: kms, body: "x"},
		{method: "POST", path: "/docs/sealed?uploads", headers: kms},
		{method: "PUT", path: "/docs/sealed?partNumber=1&uploadId={sealed}", body: "part"},
		{method: "POST", path: "/docs/summed?uploads", headers: kms + "\nX-Amz-Checksum-Algorithm: CRC32\nX-Amz-Checksum-Type: FULL_OBJECT"},
		{method: "PUT", path: "/docs/summed?partNumber=1&uploadId={summed}", body: "part"},
		{method: "PUT", path: "/docs/frozen", headers: "X-Amz-Storage-Class: GLACIER", body: "x"},
		{method: "PUT", path: "/docs/deep", headers: "X-Amz-Storage-Class: DEEP_ARCHIVE", body: "x"},
		{method: "PUT", path: "/docs/k", body: "first"},
		{method: "PUT", path: "/docs/k", body: "second"},
		{method: "POST", path: "/docs/k?uploads"},
		{method: "PUT", path: "/docs/k?partNumber=1&uploadId={upload}", body: "part"},
		query("CreateUser", "UserName=target"),
		query("CreateUser", "UserName=spare"),
		query("CreateUser", "UserName=full"),
		query("PutUserPolicy", "UserName=full", "PolicyName=inline", "PolicyDocument="+anyPolicy),
		query("PutUserPolicy", "UserName=target", "PolicyName=inline", "PolicyDocument="+anyPolicy),
		query("CreateRole", "RoleName=role", "AssumeRolePolicyDocument="+trust),
		query("CreateRole", "RoleName=spare", "AssumeRolePolicyDocument="+trust),
		query("PutRolePolicy", "RoleName=role", "PolicyName=inline", "PolicyDocument="+anyPolicy),
		query("CreatePolicy", "PolicyName=managed", "PolicyDocument="+anyPolicy),
		query("CreatePolicy", "PolicyName=spare", "PolicyDocument="+anyPolicy),
		query("CreatePolicyVersion", "PolicyArn="+managed, "PolicyDocument="+anyPolicy),
		query("AttachUserPolicy", "UserName=target", "PolicyArn="+managed),
		query("AttachRolePolicy", "RoleName=role", "PolicyArn="+managed),
		query("PutUserPermissionsBoundary", "UserName=target", "PermissionsBoundary="+managed),
		query("PutRolePermissionsBoundary", "RoleName=role", "PermissionsBoundary="+managed),
		query("CreateGroup", "GroupName=group"),
		query("CreateGroup", "GroupName=spare"),
		query("PutGroupPolicy", "GroupName=group", "PolicyName=inline", "PolicyDocument="+anyPolicy),
		query("AttachGroupPolicy", "GroupName=group", "PolicyArn="+managed),
		query("AddUserToGroup", "GroupName=group", "UserName=target"),
		query("CreateOpenIDConnectProvider", "Url=https://issuer.example.com", "ClientIDList.member.1=sts", thumbprint),
		query("CreateAccessKey", "UserName=target"),
	}
}

// operations is the table's other half. A name may carry a variant after a space.
func operations() map[string]operation {
	m := map[string]operation{
		"ListBuckets":          {method: "GET", path: "/", actions: "s3:ListAllMyBuckets", status: 200},
		"CreateBucket":         {method: "PUT", path: "/fresh", actions: "s3:CreateBucket", status: 200},
		"CreateBucket private": {method: "PUT", path: "/fresh", headers: "X-Amz-Acl: private", actions: "s3:CreateBucket", status: 200},
		"CreateBucket locked":  {method: "PUT", path: "/fresh", headers: "X-Amz-Bucket-Object-Lock-Enabled: true", actions: "s3:CreateBucket s3:PutBucketObjectLockConfiguration s3:PutBucketVersioning", status: 200},
		"CreateBucket owned":   {method: "PUT", path: "/fresh", headers: "X-Amz-Object-Ownership: BucketOwnerEnforced", actions: "s3:CreateBucket s3:PutBucketOwnershipControls", status: 200},
		"CreateBucket tagged":  {method: "PUT", path: "/fresh", body: `<CreateBucketConfiguration><Tags><Tag><Key>a</Key><Value>b</Value></Tag></Tags></CreateBucketConfiguration>`, actions: "s3:CreateBucket s3:TagResource", status: 200},
		"HeadBucket":           {method: "HEAD", path: "/docs", actions: "s3:ListBucket", status: 200},
		"DeleteBucket":         {method: "DELETE", path: "/empty", actions: "s3:DeleteBucket", status: 204},
		"ListObjects":          {method: "GET", path: "/docs", actions: "s3:ListBucket", status: 200},
		"ListObjectsV2":        {method: "GET", path: "/docs?list-type=2", actions: "s3:ListBucket", status: 200},
		"ListObjectVersions":   {method: "GET", path: "/docs?versions", actions: "s3:ListBucketVersions", status: 200},
		"ListMultipartUploads": {method: "GET", path: "/docs?uploads", actions: "s3:ListBucketMultipartUploads", status: 200},
		"GetBucketLocation":    {method: "GET", path: "/docs?location", actions: "s3:GetBucketLocation", status: 200},

		"GetBucketPolicy":                 {method: "GET", path: "/docs?policy", actions: "s3:GetBucketPolicy", status: 200},
		"PutBucketPolicy":                 {method: "PUT", path: "/docs?policy", body: bucketPol, actions: "s3:PutBucketPolicy", status: 204},
		"DeleteBucketPolicy":              {method: "DELETE", path: "/docs?policy", actions: "s3:DeleteBucketPolicy", status: 204},
		"GetBucketPolicyStatus":           {method: "GET", path: "/docs?policyStatus", actions: "s3:GetBucketPolicyStatus", status: 200},
		"GetBucketTagging":                {method: "GET", path: "/docs?tagging", actions: "s3:GetBucketTagging", status: 200},
		"PutBucketTagging":                {method: "PUT", path: "/docs?tagging", body: tagging, actions: "s3:PutBucketTagging", status: 204},
		"DeleteBucketTagging":             {method: "DELETE", path: "/docs?tagging", actions: "s3:PutBucketTagging", status: 204},
		"GetBucketAbac":                   {method: "GET", path: "/docs?abac", actions: "s3:GetBucketAbac", status: 200},
		"PutBucketAbac":                   {method: "PUT", path: "/docs?abac", body: `<AbacStatus><Status>Enabled</Status></AbacStatus>`, actions: "s3:PutBucketAbac", status: 200},
		"GetBucketVersioning":             {method: "GET", path: "/docs?versioning", actions: "s3:GetBucketVersioning", status: 200},
		"PutBucketVersioning":             {method: "PUT", path: "/docs?versioning", body: `<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>`, actions: "s3:PutBucketVersioning", status: 200},
		"GetPublicAccessBlock":            {method: "GET", path: "/docs?publicAccessBlock", actions: "s3:GetBucketPublicAccessBlock", status: 200},
		"PutPublicAccessBlock":            {method: "PUT", path: "/docs?publicAccessBlock", body: block, actions: "s3:PutBucketPublicAccessBlock", status: 200},
		"DeletePublicAccessBlock":         {method: "DELETE", path: "/docs?publicAccessBlock", actions: "s3:PutBucketPublicAccessBlock", status: 204},
		"GetBucketOwnershipControls":      {method: "GET", path: "/docs?ownershipControls", actions: "s3:GetBucketOwnershipControls", status: 200},
		"PutBucketOwnershipControls":      {method: "PUT", path: "/docs?ownershipControls", body: ownership, actions: "s3:PutBucketOwnershipControls", status: 200},
		"DeleteBucketOwnershipControls":   {method: "DELETE", path: "/docs?ownershipControls", actions: "s3:PutBucketOwnershipControls", status: 204},
		"GetBucketEncryption":             {method: "GET", path: "/docs?encryption", actions: "s3:GetEncryptionConfiguration", status: 200},
		"PutBucketEncryption":             {method: "PUT", path: "/docs?encryption", body: sse, actions: "s3:PutEncryptionConfiguration", status: 200},
		"DeleteBucketEncryption":          {method: "DELETE", path: "/docs?encryption", actions: "s3:PutEncryptionConfiguration", status: 204},
		"GetBucketLifecycleConfiguration": {method: "GET", path: "/docs?lifecycle", actions: "s3:GetLifecycleConfiguration", status: 200},
		"PutBucketLifecycleConfiguration": {method: "PUT", path: "/docs?lifecycle", body: lifecycle, actions: "s3:PutLifecycleConfiguration", status: 200},
		"DeleteBucketLifecycle":           {method: "DELETE", path: "/docs?lifecycle", actions: "s3:PutLifecycleConfiguration", status: 204},
		"GetBucketCors":                   {method: "GET", path: "/docs?cors", actions: "s3:GetBucketCORS", status: 200},
		"PutBucketCors":                   {method: "PUT", path: "/docs?cors", body: cors, actions: "s3:PutBucketCORS", status: 200},
		"DeleteBucketCors":                {method: "DELETE", path: "/docs?cors", actions: "s3:PutBucketCORS", status: 204},
		"GetObjectLockConfiguration":      {method: "GET", path: "/docs?object-lock", actions: "s3:GetBucketObjectLockConfiguration", status: 200},
		"PutObjectLockConfiguration":      {method: "PUT", path: "/docs?object-lock", body: objLock, actions: "s3:PutBucketObjectLockConfiguration", status: 200},
		"GetBucketAcl":                    {method: "GET", path: "/docs?acl", actions: "s3:GetBucketAcl", status: 200},
		"PutBucketAcl":                    {method: "PUT", path: "/docs?acl", headers: "X-Amz-Acl: private", actions: "s3:PutBucketAcl", status: 400, code: "AccessControlListNotSupported"},
	}
	maps.Copy(m, unconfiguredOperations())
	maps.Copy(m, controlOperations())
	maps.Copy(m, objectOperations())
	maps.Copy(m, sealedOperations())
	maps.Copy(m, lockedOperations())
	maps.Copy(m, conditionalOperations())
	maps.Copy(m, exactOperations())
	maps.Copy(m, queryOperations())
	return m
}

// exactOperations are refused for their form, or not refused although one would think so (the operations' pages in the
// Amazon S3 API Reference).
func exactOperations() map[string]operation {
	const both = "X-Amz-Acl: bucket-owner-full-control\nX-Amz-Grant-Read: id=1"
	m := map[string]operation{
		"CreateBucket of one's own":         {method: "PUT", path: "/docs", actions: "s3:CreateBucket", status: 200},
		"CreateBucket in a reserved form":   {method: "PUT", path: "/plan-an", actions: "s3:CreateBucket", status: 400, code: "InvalidBucketName"},
		"CreateBucket with two ACLs":        {method: "PUT", path: "/fresh", headers: "X-Amz-Acl: private\nX-Amz-Grant-Read: id=1", actions: "s3:CreateBucket s3:PutBucketAcl", status: 400, code: "InvalidRequest"},
		"PutBucketAcl with two ACLs":        {method: "PUT", path: "/docs?acl", headers: both, actions: "s3:PutBucketAcl", status: 400, code: "InvalidRequest"},
		"PutBucketAcl with a body, too":     {method: "PUT", path: "/docs?acl", headers: "X-Amz-Acl: private", body: "<AccessControlPolicy/>", actions: "s3:PutBucketAcl", status: 400, code: "UnexpectedContent"},
		"PutBucketAcl of nothing":           {method: "PUT", path: "/docs?acl", actions: "s3:PutBucketAcl", status: 400, code: "MissingSecurityHeader"},
		"PutObjectAcl with two ACLs":        {method: "PUT", path: "/docs/k?acl", headers: both, actions: "s3:PutObjectAcl", status: 400, code: "InvalidRequest"},
		"PutObjectAcl with a body, too":     {method: "PUT", path: "/docs/k?acl", headers: "X-Amz-Acl: private", body: "<AccessControlPolicy/>", actions: "s3:PutObjectAcl", status: 400, code: "UnexpectedContent"},
		"PutObject with two ACLs":           {method: "PUT", path: "/docs/new", headers: both, body: "x", actions: "s3:PutObject s3:PutObjectAcl", status: 400, code: "InvalidRequest"},
		"PutObject with an unknown ACL":     {method: "PUT", path: "/docs/new", headers: "X-Amz-Acl: everybody", body: "x", actions: "s3:PutObject s3:PutObjectAcl", status: 400, code: "InvalidArgument"},
		"GetObject of an archived object":   {method: "GET", path: "/docs/frozen", actions: "s3:GetObject", status: 403, code: "InvalidObjectState"},
		"GetObject of a deep archive":       {method: "GET", path: "/docs/deep", actions: "s3:GetObject", status: 403, code: "InvalidObjectState"},
		"HeadObject of a deep archive":      {method: "HEAD", path: "/docs/deep", actions: "s3:GetObject", status: 200},
		"CopyObject of a deep archive":      {method: "PUT", path: "/docs/new", headers: "X-Amz-Copy-Source: docs/deep", actions: "s3:PutObject s3:GetObject", status: 403, code: "InvalidObjectState"},
		"UploadPartCopy of a deep archive":  {method: "PUT", path: "/docs/k?partNumber=2&uploadId={upload}", headers: "X-Amz-Copy-Source: docs/deep", actions: "s3:PutObject s3:GetObject", status: 403, code: "InvalidObjectState"},
		"HeadObject of an archived object":  {method: "HEAD", path: "/docs/frozen", actions: "s3:GetObject", status: 200},
		"CopyObject of an archived object":  {method: "PUT", path: "/docs/new", headers: "X-Amz-Copy-Source: docs/frozen", actions: "s3:PutObject s3:GetObject", status: 403, code: "InvalidObjectState"},
		"UploadPartCopy of an archived one": {method: "PUT", path: "/docs/k?partNumber=2&uploadId={upload}", headers: "X-Amz-Copy-Source: docs/frozen", actions: "s3:PutObject s3:GetObject", status: 403, code: "InvalidObjectState"},
		"GetObject not modified":            {method: "GET", path: "/docs/k", headers: strings.Replace(known, "If-Match", "If-None-Match", 1), actions: "s3:GetObject", status: 304},
		"HeadObject not modified":           {method: "HEAD", path: "/docs/k", headers: strings.Replace(known, "If-Match", "If-None-Match", 1), actions: "s3:GetObject", status: 304},
	}
	for name, op := range map[string]operation{
		"GetObject": {method: "GET", path: "/docs/k", actions: "s3:GetObjectVersion"}, "HeadObject": {method: "HEAD", path: "/docs/k", actions: "s3:GetObjectVersion"},
		"DeleteObject":        {method: "DELETE", path: "/docs/k", actions: "s3:DeleteObjectVersion"},
		"GetObjectTagging":    {method: "GET", path: "/docs/k?tagging", actions: "s3:GetObjectVersionTagging"},
		"PutObjectTagging":    {method: "PUT", path: "/docs/k?tagging", body: tagging, actions: "s3:PutObjectVersionTagging"},
		"DeleteObjectTagging": {method: "DELETE", path: "/docs/k?tagging", actions: "s3:DeleteObjectVersionTagging"},
		"PutObjectRetention":  {method: "PUT", path: "/docs/k?retention", body: retention, actions: "s3:PutObjectRetention"},
		"PutObjectLegalHold":  {method: "PUT", path: "/docs/k?legal-hold", body: hold, actions: "s3:PutObjectLegalHold"},
		"GetObjectAttributes": {method: "GET", path: "/docs/k?attributes", headers: "X-Amz-Object-Attributes: ETag", actions: "s3:GetObjectVersion s3:GetObjectVersionAttributes"},
	} {
		separator := "?"
		if strings.Contains(op.path, "?") {
			separator = "&"
		}
		op.path, op.status, op.code = op.path+separator+"versionId=", 400, "InvalidArgument"
		m[name+" of an empty version"] = op
	}
	return m
}

// controlOperations are those of S3 Control.
func controlOperations() map[string]operation {
	const path, account, tags = "/v20180820/tags/arn%3Aaws%3As3%3A%3A%3Adocs", "X-Amz-Account-Id: 000000000000", "<TagResourceRequest><Tags><Tag><Key>a</Key><Value>b</Value></Tag></Tags></TagResourceRequest>"
	return map[string]operation{
		"s3control:ListTagsForResource": {method: "GET", path: path, headers: account, actions: "s3:ListTagsForResource", status: 200},
		"s3control:TagResource":         {method: "POST", path: path, headers: account, body: tags, actions: "s3:TagResource", status: 204},
		"s3control:UntagResource":       {method: "DELETE", path: path + "?tagKeys=a&tagKeys=b", headers: account, actions: "s3:UntagResource", status: 204},
		"s3control:ListTagsForResource of another account": {
			method: "GET", path: path, headers: "X-Amz-Account-Id: 000000000001", actions: "s3:ListTagsForResource", status: 403, code: "AccessDenied",
		},
	}
}

// unconfiguredOperations are the reads and deletions of settings that no bucket of the fake has.
func unconfiguredOperations() map[string]operation {
	m := map[string]operation{
		"GetBucketAccelerateConfiguration":   {method: "GET", path: "/docs?accelerate", actions: "s3:GetAccelerateConfiguration", status: 200},
		"GetBucketLogging":                   {method: "GET", path: "/docs?logging", actions: "s3:GetBucketLogging", status: 200},
		"GetBucketNotificationConfiguration": {method: "GET", path: "/docs?notification", actions: "s3:GetBucketNotification", status: 200},
		"PutBucketNotificationConfiguration": {method: "PUT", path: "/docs?notification", body: "<NotificationConfiguration/>", actions: "s3:PutBucketNotification", status: 200},
		"GetBucketRequestPayment":            {method: "GET", path: "/docs?requestPayment", actions: "s3:GetBucketRequestPayment", status: 200},
		"GetBucketReplication":               {method: "GET", path: "/docs?replication", actions: "s3:GetReplicationConfiguration", status: 404, code: "ReplicationConfigurationNotFoundError"},
		"GetBucketWebsite":                   {method: "GET", path: "/docs?website", actions: "s3:GetBucketWebsite", status: 404, code: "NoSuchWebsiteConfiguration"},
		"DeleteBucketReplication":            {method: "DELETE", path: "/docs?replication", actions: "s3:PutReplicationConfiguration", status: 204},
		"DeleteBucketWebsite":                {method: "DELETE", path: "/docs?website", actions: "s3:DeleteBucketWebsite", status: 204},

		// Amazon S3 returned these undocumented codes in us-east-1 in September 2026.
		"GetBucketMetadataConfiguration":      {method: "GET", path: "/docs?metadataConfiguration", actions: "s3:GetBucketMetadataTableConfiguration", status: 404, code: "MetadataConfigurationNotFound"},
		"GetBucketMetadataTableConfiguration": {method: "GET", path: "/docs?metadataTable", actions: "s3:GetBucketMetadataTableConfiguration", status: 405, code: "V1APIsNotAllowed"},
	}
	for sub, kind := range map[string]string{"analytics": "Analytics", "inventory": "Inventory", "metrics": "Metrics", "intelligent-tiering": "IntelligentTiering"} {
		action := "s3:Get" + kind + "Configuration"
		m["ListBucket"+kind+"Configurations"] = operation{method: "GET", path: "/docs?" + sub, actions: action, status: 200}
		m["GetBucket"+kind+"Configuration"] = operation{method: "GET", path: "/docs?" + sub + "&id=1", actions: action, status: 404, code: "NoSuchConfiguration"}
	}
	return m
}

func objectOperations() map[string]operation {
	return map[string]operation{
		"GetObject":                 {method: "GET", path: "/docs/k", actions: "s3:GetObject", status: 200},
		"GetObject version":         {method: "GET", path: "/docs/k?versionId={version}", actions: "s3:GetObjectVersion", status: 200},
		"GetObject range":           {method: "GET", path: "/docs/k", headers: "Range: bytes=0-2", actions: "s3:GetObject", status: 206},
		"HeadObject":                {method: "HEAD", path: "/docs/k", actions: "s3:GetObject", status: 200},
		"PutObject":                 {method: "PUT", path: "/docs/new", body: "x", actions: "s3:PutObject", status: 200},
		"PutObject tagged":          {method: "PUT", path: "/docs/new", headers: "X-Amz-Tagging: a=b", body: "x", actions: "s3:PutObject s3:PutObjectTagging", status: 200},
		"PutObject retained":        {method: "PUT", path: "/docs/new", headers: "X-Amz-Object-Lock-Mode: GOVERNANCE\nX-Amz-Object-Lock-Retain-Until-Date: 2099-01-01T00:00:00Z", body: "x", actions: "s3:PutObject s3:PutObjectRetention", status: 200},
		"PutObject held":            {method: "PUT", path: "/docs/new", headers: "X-Amz-Object-Lock-Legal-Hold: ON", body: "x", actions: "s3:PutObject s3:PutObjectLegalHold", status: 200},
		"PutObject under a KMS key": {method: "PUT", path: "/docs/new", headers: "X-Amz-Server-Side-Encryption: aws:kms\nX-Amz-Server-Side-Encryption-Aws-Kms-Key-Id: k1", body: "x", actions: "s3:PutObject kms:GenerateDataKey", status: 200},
		"CopyObject":                {method: "PUT", path: "/docs/new", headers: "X-Amz-Copy-Source: docs/k", actions: "s3:PutObject s3:GetObject", status: 200},
		"DeleteObject":              {method: "DELETE", path: "/docs/k", actions: "s3:DeleteObject", status: 204},
		"DeleteObject version":      {method: "DELETE", path: "/docs/k?versionId={version}", actions: "s3:DeleteObjectVersion", status: 204},
		"DeleteObjects":             {method: "POST", path: "/docs?delete", body: `<Delete><Object><Key>k</Key></Object></Delete>`, actions: "s3:DeleteObject", status: 200, perKey: true},
		"GetObjectAttributes":       {method: "GET", path: "/docs/k?attributes", headers: "X-Amz-Object-Attributes: ETag", actions: "s3:GetObject s3:GetObjectAttributes", status: 200},
		"CreateMultipartUpload":     {method: "POST", path: "/docs/new?uploads", actions: "s3:PutObject", status: 200},
		"UploadPart":                {method: "PUT", path: "/docs/k?partNumber=2&uploadId={upload}", body: "x", actions: "s3:PutObject", status: 200},
		"UploadPartCopy":            {method: "PUT", path: "/docs/k?partNumber=2&uploadId={upload}", headers: "X-Amz-Copy-Source: docs/k", actions: "s3:PutObject s3:GetObject", status: 200},
		"CompleteMultipartUpload":   {method: "POST", path: "/docs/k?uploadId={upload}", body: parts, actions: "s3:PutObject", status: 200},
		"AbortMultipartUpload":      {method: "DELETE", path: "/docs/k?uploadId={upload}", actions: "s3:AbortMultipartUpload", status: 204},
		"ListParts":                 {method: "GET", path: "/docs/k?uploadId={upload}", actions: "s3:ListMultipartUploadParts", status: 200},
		"GetObjectTagging":          {method: "GET", path: "/docs/k?tagging", actions: "s3:GetObjectTagging", status: 200},
		"GetObjectTagging version":  {method: "GET", path: "/docs/k?tagging&versionId={version}", actions: "s3:GetObjectVersionTagging", status: 200},
		"PutObjectTagging":          {method: "PUT", path: "/docs/k?tagging", body: tagging, actions: "s3:PutObjectTagging", status: 200},
		"PutObjectTagging version":  {method: "PUT", path: "/docs/k?tagging&versionId={version}", body: tagging, actions: "s3:PutObjectVersionTagging", status: 200},
		"DeleteObjectTagging":       {method: "DELETE", path: "/docs/k?tagging", actions: "s3:DeleteObjectTagging", status: 204},
		"GetObjectRetention":        {method: "GET", path: "/docs/locked?retention", actions: "s3:GetObjectRetention", status: 200},
		"PutObjectRetention":        {method: "PUT", path: "/docs/k?retention", body: retention, actions: "s3:PutObjectRetention", status: 200},
		"GetObjectLegalHold":        {method: "GET", path: "/docs/locked?legal-hold", actions: "s3:GetObjectLegalHold", status: 200},
		"PutObjectLegalHold":        {method: "PUT", path: "/docs/k?legal-hold", body: hold, actions: "s3:PutObjectLegalHold", status: 200},
		"GetObjectAcl":              {method: "GET", path: "/docs/k?acl", actions: "s3:GetObjectAcl", status: 200},
		"PutObjectAcl":              {method: "PUT", path: "/docs/k?acl", headers: "X-Amz-Acl: bucket-owner-full-control", actions: "s3:PutObjectAcl", status: 200},
	}
}

// sealedOperations are about objects under a KMS key ("Protecting data using server-side encryption with AWS KMS",
// "Multipart upload API and permissions", and HeadObject and CompleteMultipartUpload in the API Reference).
func sealedOperations() map[string]operation {
	return map[string]operation{
		"GetObject under a KMS key":                                {method: "GET", path: "/docs/sealed", actions: "s3:GetObject kms:Decrypt", status: 200},
		"GetObject of a range under a KMS key":                     {method: "GET", path: "/docs/sealed", headers: "Range: bytes=0-0", actions: "s3:GetObject kms:Decrypt", status: 206},
		"HeadObject under a KMS key":                               {method: "HEAD", path: "/docs/sealed", actions: "s3:GetObject", status: 200},
		"HeadObject with the checksum under a KMS key":             {method: "HEAD", path: "/docs/sealed", headers: "X-Amz-Checksum-Mode: ENABLED", actions: "s3:GetObject kms:Decrypt", status: 200},
		"CopyObject from under a KMS key":                          {method: "PUT", path: "/docs/new", headers: "X-Amz-Copy-Source: docs/sealed", actions: "s3:PutObject s3:GetObject kms:Decrypt", status: 200},
		"CopyObject to under a KMS key":                            {method: "PUT", path: "/docs/new", headers: "X-Amz-Copy-Source: docs/k\n" + kms, actions: "s3:PutObject s3:GetObject kms:GenerateDataKey", status: 200},
		"CreateMultipartUpload under a KMS key":                    {method: "POST", path: "/docs/new?uploads", headers: kms, actions: "s3:PutObject kms:GenerateDataKey", status: 200},
		"UploadPart under a KMS key":                               {method: "PUT", path: "/docs/sealed?partNumber=2&uploadId={sealed}", body: "x", actions: "s3:PutObject kms:Decrypt", status: 200},
		"UploadPartCopy under a KMS key":                           {method: "PUT", path: "/docs/sealed?partNumber=2&uploadId={sealed}", headers: "X-Amz-Copy-Source: docs/k", actions: "s3:PutObject s3:GetObject kms:Decrypt", status: 200},
		"CompleteMultipartUpload under a KMS key":                  {method: "POST", path: "/docs/sealed?uploadId={sealed}", body: parts, actions: "s3:PutObject", status: 200},
		"CompleteMultipartUpload under a KMS key, with a checksum": {method: "POST", path: "/docs/summed?uploadId={summed}", body: parts, actions: "s3:PutObject kms:Decrypt", status: 200},
	}
}

// lockedOperations set a lock or pass one ("How S3 Object Lock works" in the Amazon S3 User Guide).
func lockedOperations() map[string]operation {
	shorter := strings.Replace(retention, "2099", "2098", 1)
	return map[string]operation{
		"CopyObject retained":              {method: "PUT", path: "/docs/new", headers: "X-Amz-Copy-Source: docs/k\n" + until, actions: "s3:PutObject s3:GetObject s3:PutObjectRetention", status: 200},
		"CopyObject held":                  {method: "PUT", path: "/docs/new", headers: "X-Amz-Copy-Source: docs/k\nX-Amz-Object-Lock-Legal-Hold: ON", actions: "s3:PutObject s3:GetObject s3:PutObjectLegalHold", status: 200},
		"CreateMultipartUpload retained":   {method: "POST", path: "/docs/new?uploads", headers: until, actions: "s3:PutObject s3:PutObjectRetention", status: 200},
		"CreateMultipartUpload held":       {method: "POST", path: "/docs/new?uploads", headers: "X-Amz-Object-Lock-Legal-Hold: ON", actions: "s3:PutObject s3:PutObjectLegalHold", status: 200},
		"CreateMultipartUpload tagged":     {method: "POST", path: "/docs/new?uploads", headers: "X-Amz-Tagging: a=b", actions: "s3:PutObject s3:PutObjectTagging", status: 200},
		"DeleteObject of a held version":   {method: "DELETE", path: "/docs/locked?versionId={locked}", headers: bypass, actions: "s3:DeleteObjectVersion s3:BypassGovernanceRetention", status: 403, code: "AccessDenied"},
		"DeleteObject of a kept version":   {method: "DELETE", path: "/docs/governed?versionId={governed}", actions: "s3:DeleteObjectVersion", status: 403, code: "AccessDenied"},
		"DeleteObject around governance":   {method: "DELETE", path: "/docs/governed?versionId={governed}", headers: bypass, actions: "s3:DeleteObjectVersion s3:BypassGovernanceRetention", status: 204},
		"PutObjectRetention shorter":       {method: "PUT", path: "/docs/governed?retention", body: shorter, actions: "s3:PutObjectRetention", status: 403, code: "AccessDenied"},
		"PutObjectRetention around it":     {method: "PUT", path: "/docs/governed?retention", headers: bypass, body: shorter, actions: "s3:PutObjectRetention s3:BypassGovernanceRetention", status: 200},
		"DeleteObject of a governed key":   {method: "DELETE", path: "/docs/governed", actions: "s3:DeleteObject", status: 204},
		"GetObjectRetention of no lock":    {method: "GET", path: "/docs/k?retention", actions: "s3:GetObjectRetention", status: 404, code: "NoSuchObjectLockConfiguration"},
		"GetObjectLegalHold of no hold":    {method: "GET", path: "/docs/k?legal-hold", actions: "s3:GetObjectLegalHold", status: 404, code: "NoSuchObjectLockConfiguration"},
		"PutObjectRetention in the past":   {method: "PUT", path: "/docs/k?retention", body: strings.Replace(retention, "2099", "1999", 1), actions: "s3:PutObjectRetention", status: 400, code: "InvalidArgument"},
		"PutObject retained, without lock": {method: "PUT", path: "/empty/new", headers: until, body: "x", actions: "s3:PutObject s3:PutObjectRetention", status: 400, code: "InvalidRequest"},
		"PutBucketVersioning off":          {method: "PUT", path: "/docs?versioning", body: `<VersioningConfiguration><Status>Suspended</Status></VersioningConfiguration>`, actions: "s3:PutBucketVersioning", status: 409, code: "InvalidBucketState"},
	}
}

// conditionalOperations depend on the existing object ("How to prevent object overwrites with conditional writes" and
// "How to perform conditional deletes" in the Amazon S3 User Guide).
func conditionalOperations() map[string]operation {
	return map[string]operation{
		"PutObject over a known object":               {method: "PUT", path: "/docs/k", headers: known, body: "x", actions: "s3:PutObject s3:GetObject", status: 200},
		"PutObject over another object":               {method: "PUT", path: "/docs/k", headers: "If-Match: other", body: "x", actions: "s3:PutObject s3:GetObject", status: 412, code: "PreconditionFailed"},
		"PutObject over nothing":                      {method: "PUT", path: "/docs/new", headers: known, body: "x", actions: "s3:PutObject s3:GetObject", status: 404, code: "NoSuchKey"},
		"PutObject where nothing is":                  {method: "PUT", path: "/docs/new", headers: "If-None-Match: *", body: "x", actions: "s3:PutObject", status: 200},
		"PutObject where something is":                {method: "PUT", path: "/docs/k", headers: "If-None-Match: *", body: "x", actions: "s3:PutObject", status: 412, code: "PreconditionFailed"},
		"CopyObject over a known object":              {method: "PUT", path: "/docs/k", headers: "X-Amz-Copy-Source: docs/governed\n" + known, actions: "s3:PutObject s3:GetObject", status: 200},
		"CompleteMultipartUpload over a known object": {method: "POST", path: "/docs/k?uploadId={upload}", headers: known, body: parts, actions: "s3:PutObject s3:GetObject", status: 200},
		"CompleteMultipartUpload where something is":  {method: "POST", path: "/docs/k?uploadId={upload}", headers: "If-None-Match: *", body: parts, actions: "s3:PutObject", status: 412, code: "PreconditionFailed"},
		"DeleteObject of a known object":              {method: "DELETE", path: "/docs/k", headers: known, actions: "s3:DeleteObject s3:GetObject", status: 204},
		"DeleteObject of another object":              {method: "DELETE", path: "/docs/k", headers: "If-Match: other", actions: "s3:DeleteObject s3:GetObject", status: 412, code: "PreconditionFailed"},
		"DeleteObject of whatever is there":           {method: "DELETE", path: "/docs/k", headers: "If-Match: *", actions: "s3:DeleteObject", status: 204},
		"DeleteObjects of a known object":             {method: "POST", path: "/docs?delete", body: `<Delete><Object><Key>k</Key><ETag>a9f0e61a137d86aa9db53465e0801612</ETag></Object></Delete>`, actions: "s3:DeleteObject s3:GetObject", status: 200, perKey: true},
		"GetObject as if it was written":              {method: "GET", path: "/docs/k", headers: "X-Amz-Server-Side-Encryption: AES256", actions: "s3:GetObject", status: 400, code: "InvalidArgument"},
	}
}

func queryOperations() map[string]operation {
	list := []operation{
		query("CreateUser", "UserName=new"), query("GetUser", "UserName=target"), query("ListUsers"), query("UpdateUser", "UserName=target", "NewPath=/a/"), query("DeleteUser", "UserName=spare"),
		query("CreateAccessKey", "UserName=target"), query("ListAccessKeys", "UserName=target"), query("UpdateAccessKey", "UserName=target", "AccessKeyId={key}", "Status=Inactive"),
		query("DeleteAccessKey", "UserName=target", "AccessKeyId={key}"), query("GetAccessKeyLastUsed", "AccessKeyId={key}"),
		query("PutUserPolicy", "UserName=target", "PolicyName=p", "PolicyDocument="+anyPolicy), query("GetUserPolicy", "UserName=target", "PolicyName=inline"),
		query("DeleteUserPolicy", "UserName=target", "PolicyName=inline"), query("ListUserPolicies", "UserName=target"),
		query("AttachUserPolicy", "UserName=spare", "PolicyArn="+managed), query("DetachUserPolicy", "UserName=target", "PolicyArn="+managed), query("ListAttachedUserPolicies", "UserName=target"),
		query("PutUserPermissionsBoundary", "UserName=spare", "PermissionsBoundary="+managed), query("DeleteUserPermissionsBoundary", "UserName=target"),
		query("TagUser", "UserName=target", "Tags.member.1.Key=a", "Tags.member.1.Value=b"), query("UntagUser", "UserName=target", "TagKeys.member.1=a"), query("ListUserTags", "UserName=target"),
		query("ListMFADevices", "UserName=target"), query("ListSSHPublicKeys", "UserName=target"), query("ListSigningCertificates", "UserName=target"),
		query("ListServiceSpecificCredentials", "UserName=target"), query("ListVirtualMFADevices"), query("ListInstanceProfilesForRole", "RoleName=role"),
		query("CreateGroup", "GroupName=new"), query("GetGroup", "GroupName=group"), query("ListGroups"), query("ListGroupsForUser", "UserName=target"),
		query("UpdateGroup", "GroupName=group", "NewPath=/a/"), query("DeleteGroup", "GroupName=spare"), query("AddUserToGroup", "GroupName=spare", "UserName=target"),
		query("RemoveUserFromGroup", "GroupName=group", "UserName=target"),
		query("PutGroupPolicy", "GroupName=group", "PolicyName=p", "PolicyDocument="+anyPolicy), query("GetGroupPolicy", "GroupName=group", "PolicyName=inline"),
		query("DeleteGroupPolicy", "GroupName=group", "PolicyName=inline"), query("ListGroupPolicies", "GroupName=group"),
		query("AttachGroupPolicy", "GroupName=spare", "PolicyArn="+managed), query("DetachGroupPolicy", "GroupName=group", "PolicyArn="+managed), query("ListAttachedGroupPolicies", "GroupName=group"),
		query("CreateRole", "RoleName=new", "AssumeRolePolicyDocument="+trust), query("GetRole", "RoleName=role"), query("ListRoles"), query("UpdateRole", "RoleName=role", "Description=d"),
		query("DeleteRole", "RoleName=spare"), query("UpdateAssumeRolePolicy", "RoleName=role", "PolicyDocument="+trust),
		query("PutRolePolicy", "RoleName=role", "PolicyName=p", "PolicyDocument="+anyPolicy), query("GetRolePolicy", "RoleName=role", "PolicyName=inline"),
		query("DeleteRolePolicy", "RoleName=role", "PolicyName=inline"), query("ListRolePolicies", "RoleName=role"),
		query("AttachRolePolicy", "RoleName=spare", "PolicyArn="+managed), query("DetachRolePolicy", "RoleName=role", "PolicyArn="+managed), query("ListAttachedRolePolicies", "RoleName=role"),
		query("PutRolePermissionsBoundary", "RoleName=spare", "PermissionsBoundary="+managed), query("DeleteRolePermissionsBoundary", "RoleName=role"),
		query("TagRole", "RoleName=role", "Tags.member.1.Key=a", "Tags.member.1.Value=b"), query("UntagRole", "RoleName=role", "TagKeys.member.1=a"), query("ListRoleTags", "RoleName=role"),
		query("CreatePolicy", "PolicyName=new", "PolicyDocument="+anyPolicy), query("GetPolicy", "PolicyArn="+managed), query("ListPolicies"),
		query("DeletePolicy", "PolicyArn=arn:aws:iam::000000000000:policy/spare"), query("CreatePolicyVersion", "PolicyArn="+managed, "PolicyDocument="+anyPolicy),
		query("GetPolicyVersion", "PolicyArn="+managed, "VersionId=v1"), query("ListPolicyVersions", "PolicyArn="+managed), query("DeletePolicyVersion", "PolicyArn="+managed, "VersionId=v2"),
		query("SetDefaultPolicyVersion", "PolicyArn="+managed, "VersionId=v2"), query("ListEntitiesForPolicy", "PolicyArn="+managed),
		query("TagPolicy", "PolicyArn="+managed, "Tags.member.1.Key=a", "Tags.member.1.Value=b"), query("UntagPolicy", "PolicyArn="+managed, "TagKeys.member.1=a"), query("ListPolicyTags", "PolicyArn="+managed),
		query("CreateOpenIDConnectProvider", "Url=https://other.example.com", thumbprint), query("GetOpenIDConnectProvider", "OpenIDConnectProviderArn="+provider), query("ListOpenIDConnectProviders"),
		query("DeleteOpenIDConnectProvider", "OpenIDConnectProviderArn="+provider), query("AddClientIDToOpenIDConnectProvider", "OpenIDConnectProviderArn="+provider, "ClientID=x"),
		query("RemoveClientIDFromOpenIDConnectProvider", "OpenIDConnectProviderArn="+provider, "ClientID=sts"),
		query("UpdateOpenIDConnectProviderThumbprint", "OpenIDConnectProviderArn="+provider, thumbprint),
		query("TagOpenIDConnectProvider", "OpenIDConnectProviderArn="+provider, "Tags.member.1.Key=a", "Tags.member.1.Value=b"),
		query("UntagOpenIDConnectProvider", "OpenIDConnectProviderArn="+provider, "TagKeys.member.1=a"), query("ListOpenIDConnectProviderTags", "OpenIDConnectProviderArn="+provider),
	}
	m := map[string]operation{}
	for _, op := range list {
		m[op.actions] = op
	}
	for _, op := range []operation{query("GetLoginProfile", "UserName=target"), query("DeleteLoginProfile", "UserName=target")} {
		op.status, op.code = 404, "NoSuchEntity"
		m[op.actions] = op
	}
	linked := query("CreateServiceLinkedRole", "AWSServiceName=s3.amazonaws.com")
	linked.status, linked.code = 400, "InvalidInput"
	m[linked.actions] = linked
	const oneTag, itsValue = "Tags.member.1.Key=a", "Tags.member.1.Value=b"
	for tagging, op := range map[string]operation{
		"iam:TagUser": query("CreateUser", "UserName=new", oneTag, itsValue), "iam:TagRole": query("CreateRole", "RoleName=new", "AssumeRolePolicyDocument="+trust, oneTag, itsValue),
		"iam:TagPolicy":                query("CreatePolicy", "PolicyName=new", "PolicyDocument="+anyPolicy, oneTag, itsValue),
		"iam:TagOpenIDConnectProvider": query("CreateOpenIDConnectProvider", "Url=https://other.example.com", thumbprint, oneTag, itsValue),
	} {
		name := op.actions + " tagged"
		op.actions += " " + tagging
		m[name] = op
	}
	assume := query("AssumeRole", "RoleArn=arn:aws:iam::000000000000:role/role", "RoleSessionName=session")
	assume.actions = "sts:AssumeRole"
	m["sts:AssumeRole"] = assume
	for _, free := range []string{"GetCallerIdentity", "GetSessionToken"} {
		op := query(free)
		op.actions, op.open = "", true
		m["sts:"+free] = op
	}
	return m
}
