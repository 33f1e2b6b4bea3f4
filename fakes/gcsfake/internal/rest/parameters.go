// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
)

// listed are the query parameters and, after a dot, the fields of the body that each operation takes. What is not listed
// is refused by name: to ignore it would be to do something else than what was asked for. Behind a name, "~" says that it
// does something else than at Google, "!" that the operation refuses it in the words of the feature, and "-" that it is the
// service's to say: it is taken and ignored, as Google does, so that clients can send back what they have read. @NAME is
// another line. A field stands for all below it unless fields below it are listed.
const listed = `
	@rest   alt~ fields prettyPrint~ quotaUser~
	@cloud  $alt~ alt~ fields prettyPrint~ quotaUser~
	@every  @rest userIp~ userProject
	@match  ifMetagenerationMatch ifMetagenerationNotMatch
	@gens   @match ifGenerationMatch ifGenerationNotMatch
	@source ifSourceGenerationMatch ifSourceGenerationNotMatch ifSourceMetagenerationMatch ifSourceMetagenerationNotMatch

	storage.buckets.insert              @every enableObjectRetention predefinedAcl! predefinedDefaultObjectAcl! project projection~ @Bucket .name
	storage.buckets.list                @every maxResults pageToken prefix project projection~ returnPartialSuccess~
	storage.buckets.get                 @every @match projection~
	storage.buckets.patch               @every @match predefinedAcl! predefinedDefaultObjectAcl! projection~ @Bucket
	storage.buckets.update              @every @match predefinedAcl! predefinedDefaultObjectAcl! projection~ @Bucket
	storage.buckets.delete              @every @match
	storage.buckets.lockRetentionPolicy @every ifMetagenerationMatch
	storage.buckets.getIamPolicy        @every optionsRequestedPolicyVersion
	storage.buckets.setIamPolicy        @every .kind- .resourceId- @Policy
	storage.buckets.testIamPermissions  @every permissions
	storage.buckets.getStorageLayout    @every prefix
	storage.managedFolders.list         @every pageSize~ pageToken~ prefix~

	storage.objects.insert  @every @gens contentEncoding kmsKeyName name predefinedAcl! projection~ uploadType upload_id @Object .crc32c .md5Hash .name
	storage.objects.list    @every delimiter endOffset filter! includeFoldersAsPrefixes~ includeTrailingDelimiter matchGlob maxResults pageToken prefix projection~ softDeleted startOffset
		versions
	storage.objects.get     @every @gens generation projection~ softDeleted
	storage.objects.patch   @every @gens generation overrideUnlockedRetention predefinedAcl! projection~ @Object
	storage.objects.update  @every @gens generation overrideUnlockedRetention predefinedAcl! projection~ @Object
	storage.objects.delete  @every @gens generation
	storage.objects.restore @every @gens copySourceAcl! generation projection~
	storage.objects.move    @every @gens @source projection~
	storage.objects.copy    @every @gens @source destinationKmsKeyName destinationPredefinedAcl! projection~ sourceGeneration @Object
	storage.objects.rewrite @every @gens @source destinationKmsKeyName destinationPredefinedAcl! maxBytesRewrittenPerCall projection~ rewriteToken sourceGeneration @Object
	storage.objects.compose @every destinationPredefinedAcl! ifGenerationMatch ifMetagenerationMatch kmsKeyName .deleteSourceObjects .destination.@Object .kind- .sourceObjects.generation
		.sourceObjects.name .sourceObjects.objectPreconditions.ifGenerationMatch

	storage.projects.serviceAccount.get @every
	storage.projects.hmacKeys.create    @every serviceAccountEmail
	storage.projects.hmacKeys.list      @every maxResults pageToken serviceAccountEmail showDeletedKeys
	storage.projects.hmacKeys.get       @every
	storage.projects.hmacKeys.update    @every .etag .state .accessId- .id- .kind- .projectId- .selfLink- .serviceAccountEmail- .timeCreated- .updated-
	storage.projects.hmacKeys.delete    @every

	cloudresourcemanager.projects.get                @cloud
	cloudresourcemanager.projects.getIamPolicy       @cloud .options.requestedPolicyVersion
	cloudresourcemanager.projects.setIamPolicy       @cloud .policy.@Policy
	cloudresourcemanager.projects.testIamPermissions @cloud .permissions

	iam.projects.serviceAccounts.create             @cloud .accountId .serviceAccount.@Account
	iam.projects.serviceAccounts.list               @cloud pageSize pageToken
	iam.projects.serviceAccounts.get                @cloud
	iam.projects.serviceAccounts.patch              @cloud .serviceAccount.@Account .updateMask
	iam.projects.serviceAccounts.delete             @cloud
	iam.projects.serviceAccounts.disable            @cloud
	iam.projects.serviceAccounts.enable             @cloud
	iam.projects.serviceAccounts.undelete           @cloud
	iam.projects.serviceAccounts.getIamPolicy       @cloud options.requestedPolicyVersion
	iam.projects.serviceAccounts.setIamPolicy       @cloud .policy.@Policy
	iam.projects.serviceAccounts.testIamPermissions @cloud .permissions
	iam.projects.serviceAccounts.keys.create        @cloud .keyAlgorithm .privateKeyType
	iam.projects.serviceAccounts.keys.upload        @cloud .publicKeyData
	iam.projects.serviceAccounts.keys.list          @cloud keyTypes
	iam.projects.serviceAccounts.keys.get           @cloud
	iam.projects.serviceAccounts.keys.delete        @cloud
	iam.projects.serviceAccounts.keys.disable       @cloud
	iam.projects.serviceAccounts.keys.enable        @cloud
	iam.projects.roles.create                       @cloud .roleId .role.@Role
	iam.projects.roles.list                         @cloud pageSize pageToken view
	iam.projects.roles.get                          @cloud
	iam.projects.roles.patch                        @cloud updateMask @Role
	iam.projects.roles.delete                       @cloud
	iam.roles.list                                  @cloud pageSize pageToken view
	iam.roles.get                                   @cloud

	iamcredentials.projects.serviceAccounts.generateAccessToken @cloud .lifetime .scope
	iamcredentials.projects.serviceAccounts.signBlob            @cloud .bytesToSign! .payload
	iamcredentials.projects.serviceAccounts.signJwt             @cloud .payload

	sts.token .audience .grantType .requestedTokenType .scope .subjectToken .subjectTokenType

	@Account .description .displayName .disabled- .email- .etag- .name- .oauth2ClientId- .projectId- .uniqueId-
	@Policy  .bindings .etag .version
	@Role    .description .includedPermissions .name- .stage .title

	@Bucket .acl! .defaultObjectAcl! .autoclass.enabled~ .autoclass.terminalStorageClass~ .autoclass.terminalStorageClassUpdateTime- .autoclass.toggleTime- .cors~ .customPlacementConfig~
		.defaultEventBasedHold .encryption.defaultKmsKeyName~ .etag- .generation- .hardDeleteTime- .iamConfiguration .id- .kind- .labels .lifecycle~ .location~ .locationType- .logging~
		.metageneration- .name-
		.objectRetention- .owner- .projectNumber- .retentionPolicy .rpo~ .satisfiesPZI- .satisfiesPZS- .selfLink- .softDeletePolicy.effectiveTime- .softDeletePolicy.retentionDurationSeconds
		.softDeleteTime-
		.storageClass~ .timeCreated- .updated- .versioning.enabled .website~
	@Object .acl! .bucket- .cacheControl .componentCount- .contentDisposition .contentEncoding .contentLanguage .contentType .contexts! .crc32c- .customTime .customerEncryption- .etag-
		.eventBasedHold .generation-
		.hardDeleteTime- .id- .kind- .kmsKeyName~ .md5Hash- .mediaLink- .metadata .metageneration- .name- .owner- .retention.mode .retention.retainUntilTime .retentionExpirationTime-
		.selfLink- .size- .softDeleteTime-
		.storageClass~ .temporaryHold .timeCreated- .timeDeleted- .timeFinalized- .timeStorageClassUpdated- .updated-
`

// Taken says how an operation takes a parameter or, when its name begins with a dot, a field of the body.
type Taken int

const (
	// Served does what it does at Google.
	Served Taken = iota + 1
	// Different does something else than at Google.
	Different
	// Refused is refused by the operation, in the words of the feature.
	Refused
	// OfTheService is ignored, here as at Google.
	OfTheService
	// holds is a field below which others are listed.
	holds
)

// Parameters returns what each operation that is served takes, by its name; it refuses all else.
func Parameters() map[string]map[string]Taken {
	marks := map[byte]Taken{'~': Different, '!': Refused, '-': OfTheService}
	lines := linesOf(listed)
	var add func(into map[string]Taken, prefix string, words []string)
	add = func(into map[string]Taken, prefix string, words []string) {
		for _, w := range words {
			if before, other, ok := strings.Cut(w, "@"); ok {
				add(into, prefix+strings.TrimSuffix(before, "."), lines["@"+other])
				continue
			}
			taken := Served
			if mark, ok := marks[w[len(w)-1]]; ok {
				w, taken = w[:len(w)-1], mark
			}
			w = prefix + w
			into[w] = taken
			for strings.HasPrefix(w, ".") && strings.LastIndexByte(w, '.') > 0 {
				w = w[:strings.LastIndexByte(w, '.')]
				into[w] = holds
			}
		}
	}
	out := map[string]map[string]Taken{}
	for name, words := range lines {
		if strings.HasPrefix(name, "@") || name == "" {
			continue
		}
		out[name] = map[string]Taken{}
		add(out[name], "", words)
	}
	return out
}

// linesOf are the lines of a list by their first words; a line with two tabs goes on with the one before it.
func linesOf(list string) map[string][]string {
	lines, name := map[string][]string{}, ""
	for line := range strings.Lines(list) {
		words := strings.Fields(line)
		if len(words) > 0 && !strings.HasPrefix(line, "\t\t") {
			name, words = words[0], words[1:]
		}
		lines[name] = append(lines[name], words...)
	}
	return lines
}

// formHeaders is the line of the fields of a form that have the names of headers.
const formHeaders = "form"

// XMLHeaders returns the headers of Google's and of S3's that each operation of the XML API takes, beside those of all.
func XMLHeaders() map[string][]string {
	lines := linesOf(listedXML)
	var all func(words []string) []string
	all = func(words []string) []string {
		var out []string
		for _, w := range words {
			if strings.HasPrefix(w, "@") {
				out = append(out, all(lines[w])...)
				continue
			}
			out = append(out, w)
		}
		return out
	}
	out := map[string][]string{}
	for name, words := range lines {
		if strings.HasPrefix(name, "xml.") || name == formHeaders {
			out[name] = all(words)
		}
	}
	return out
}

// checkParameters refuses query parameters and headers that the operation does not take, and asks for what it needs to let
// another project be billed.
func (c *Call) checkParameters() error {
	switch c.flavour {
	case inOAuth:
		return nil
	case inXML:
		if err := c.checkXMLParameters(); err != nil {
			return err
		}
	default:
		takes := c.api.parameters[c.Operation]
		for name, values := range c.query {
			if takes != nil && takes[name] == 0 && values[0] != "false" {
				return c.unserved("parameter", name)
			}
		}
		alt, _, _ := strings.Cut(cmp.Or(c.query.Get("alt"), c.query.Get("$alt")), ";") // of its settings there is one for enumerations
		if alt != "" && alt != "json" && (alt != "media" || c.Operation != "storage.objects.get") {
			return c.unserved("parameter", "alt="+alt)
		}
	}
	if err := c.checkHeaders(); err != nil {
		return err
	}
	return c.checkUserProject()
}

// unserved refuses what the operation does not take.
func (c *Call) unserved(kind, name string) error {
	return gcserr.Unimplemented.Say("This fake does not serve the %s %s of %s.", kind, name, c.Operation)
}

// checkXMLParameters is checkParameters for the XML API. Readers of objects use parameters that mean nothing to get past
// caches, and Google's conformance tests a prefix: to them only what other ways to read an object have is refused.
func (c *Call) checkXMLParameters() error {
	if c.Operation == "unknown" {
		return nil
	}
	reads := c.Operation == "xml.GetObject" || c.Operation == "xml.HeadObject"
	elsewhere := func(name string) bool {
		return slices.Contains(s3Reads, name) || c.api.parameters["storage.objects.get"][name] != 0
	}
	for name := range c.r.URL.Query() {
		lower := strings.ToLower(name)
		if !strings.HasPrefix(lower, "x-goog-") && !strings.HasPrefix(lower, "x-amz-") && !slices.Contains(subresources, name) &&
			!slices.Contains(xmlParameters[""], name) && !slices.Contains(xmlParameters[c.Operation], name) && (!reads || elsewhere(name)) {
			return c.unserved("parameter", name)
		}
	}
	return nil
}

// checkFields refuses fields of a JSON body that the operation does not take.
func (c *Call) checkFields(raw []byte) error {
	takes := c.api.parameters[c.Operation]
	if takes == nil || isEmpty(raw) {
		return nil
	}
	var body map[string]any
	if err := parseJSON(raw, &body); err != nil {
		return err
	}
	return c.checkBelow(takes, "", body)
}

// checkBelow refuses fields below one that are not listed, where others are.
func (c *Call) checkBelow(takes map[string]Taken, path string, v any) error {
	switch v := v.(type) {
	case []any:
		for _, element := range v {
			if err := c.checkBelow(takes, path, element); err != nil {
				return err
			}
		}
	case map[string]any:
		for name, value := range v {
			field := path + "." + name
			switch {
			case takes[field] == holds:
				if err := c.checkBelow(takes, field, value); err != nil {
					return err
				}
			case takes[field] == 0 && !asksForNothing(value):
				return c.unserved("field", field[1:])
			}
		}
	}
	return nil
}

// asksForNothing reports whether a field has the value that it has when it is not sent.
func asksForNothing(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		for _, below := range v {
			if !asksForNothing(below) {
				return false
			}
		}
		return true
	}
	return false
}

// checkUserProject lets whoever may use a project name it as the one that is billed ("Requester Pays"). Nobody is billed.
func (c *Call) checkUserProject() error {
	project := cmp.Or(c.query.Get("userProject"), c.r.Header.Get("X-Goog-User-Project"))
	if project == "" {
		return nil
	}
	_, err := c.needProject("serviceusage.services.use", project)
	return err
}

// servedHeaders are the headers of Google's, and of S3's in the XML API, that are served or mean nothing to the operation.
// Those that end in "-" are beginnings.
var servedHeaders = map[flavour][]string{
	inJSON: strings.Fields(`
		x-goog-storage-go-features x-goog-api-client x-goog-request-params x-goog-request-reason x-goog-gcs-idempotency-token x-goog-custom-audit- x-goog-user-project
		x-goog-encryption-algorithm x-goog-encryption-key x-goog-encryption-key-sha256
		x-goog-copy-source-encryption-algorithm x-goog-copy-source-encryption-key x-goog-copy-source-encryption-key-sha256 x-goog-hash`),
	inRPC: strings.Fields(`x-goog-api-client x-goog-request-params x-goog-request-reason x-goog-user-project`),
	inXML: strings.Fields(`
		x-goog-storage-go-features x-goog-api-client x-goog-request-reason x-goog-gcs-idempotency-token x-goog-custom-audit- x-goog-user-project x-goog-project-id x-goog-date
		x-goog-content-sha256 x-amz-date x-amz-content-sha256 x-amz-decoded-content-length x-amz-user-agent x-amz-security-token x-amz-project-id`),
}

// listedXML are the other headers of Google's and of S3's that the operations of the XML API take; @NAME is another line, a
// header that ends in "-" a beginning.
const listedXML = `
	@key        x-goog-encryption-algorithm x-goog-encryption-key x-goog-encryption-key-sha256
	@meta       x-goog-if-metageneration-match x-goog-if-metageneration-not-match
	@gens       @meta x-goog-if-generation-match x-goog-if-generation-not-match
	@sums       x-goog-hash x-amz-checksum- x-amz-sdk-checksum-algorithm x-amz-trailer
	@acl        x-goog-acl x-amz-acl
	@attributes x-goog-meta- x-amz-meta- x-goog-storage-class x-amz-storage-class x-goog-custom-time x-goog-encryption-kms-key-name
		x-amz-server-side-encryption-customer-algorithm x-amz-server-side-encryption-customer-key x-amz-server-side-encryption-customer-key-md5
	@source     x-goog-copy-source x-goog-copy-source-generation x-goog-copy-source-if-generation-match x-goog-copy-source-if-metageneration-match x-goog-copy-source-if-match
		x-goog-copy-source-if-none-match x-goog-copy-source-if-modified-since x-goog-copy-source-if-unmodified-since x-goog-copy-source-encryption-algorithm
		x-goog-copy-source-encryption-key x-goog-copy-source-encryption-key-sha256 x-goog-metadata-directive x-amz-metadata-directive x-amz-copy-source
		x-amz-copy-source-if-match x-amz-copy-source-if-none-match x-amz-copy-source-if-modified-since x-amz-copy-source-if-unmodified-since

	xml.GetService
	xml.PutBucket
	xml.GetBucket
	xml.HeadBucket
	xml.DeleteBucket            @meta
	xml.GetBucketLocation
	xml.GetBucketVersioning
	xml.PutBucketVersioning     @meta x-amz-checksum- x-amz-sdk-checksum-algorithm
	xml.GetBucketCORS
	xml.PutBucketCORS           @meta x-amz-checksum- x-amz-sdk-checksum-algorithm
	xml.GetBucketLifecycle
	xml.PutBucketLifecycle      @meta x-amz-checksum- x-amz-sdk-checksum-algorithm
	xml.GetBucketStorageClass
	xml.ListMultipartUploads
	xml.PostObject
	xml.DeleteObjects           x-amz-checksum- x-amz-sdk-checksum-algorithm
	xml.GetObject               @gens @key x-amz-checksum-mode
	xml.HeadObject              @gens @key x-amz-checksum-mode
	xml.PutObject               @gens @key @sums @acl @attributes
	xml.CopyObject              @gens @key @acl @attributes @source
	xml.DeleteObject            @gens
	xml.PostResumable           @gens @key @acl @attributes x-goog-resumable
	xml.PutResumable            x-goog-hash
	xml.DeleteResumable
	xml.InitiateMultipartUpload @key @acl @attributes x-amz-checksum-algorithm
	xml.UploadPart              @key @sums @source
	xml.CompleteMultipartUpload @gens
	xml.AbortMultipartUpload
	xml.ListParts

	form @gens @key @acl @attributes x-goog-hash x-goog-algorithm x-goog-credential x-goog-signature x-amz-algorithm x-amz-credential x-amz-signature
`

// conditional are the headers of HTTP that make a request conditional.
var conditional = []string{"If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range"}

// checkHeaders refuses headers of Google's and of S3's that are not served, and conditions that the operation does not have.
func (c *Call) checkHeaders() error {
	if c.Operation == "unknown" { // refused as a whole, to whoever may not have it for that reason
		return nil
	}
	for name := range c.r.Header {
		name = strings.ToLower(name)
		takes := func(s string) bool { return s == name || strings.HasSuffix(s, "-") && strings.HasPrefix(name, s) }
		if (strings.HasPrefix(name, "x-goog-") || strings.HasPrefix(name, "x-amz-") || name == "x-http-method-override") &&
			!slices.ContainsFunc(servedHeaders[c.flavour], takes) && !slices.ContainsFunc(c.xmlHeaders(), takes) {
			return c.unserved("header", name)
		}
	}
	for _, name := range conditional {
		if name == "If-Modified-Since" && c.r.Header.Get("If-None-Match") != "" {
			continue // it "MUST" be ignored then (RFC 9110, 13.1.3); If-None-Match is judged or refused
		}
		if c.r.Header.Get(name) != "" && !slices.Contains(c.conditions(), name) {
			return c.unserved("header", name)
		}
	}
	return nil
}

// xmlHeaders are the headers of Google's and of S3's that an operation of the XML API takes beside those of all. A copy is
// none of its own, but takes others.
func (c *Call) xmlHeaders() []string {
	name := c.Operation
	if bucket, _ := c.copySource(); name == "xml.PutObject" && bucket != "" {
		name = "xml.CopyObject"
	}
	return c.api.xmlHeaders[name]
}

// FormFields are the fields of a form that are no headers of Google's or of S3's, and the beginning of those that mean nothing.
var FormFields = strings.Fields(`acl bucket cache-control content-disposition content-encoding content-language content-md5 content-type key policy
	success_action_redirect success_action_status x-ignore-`)

// checkForm refuses the fields of a form that it does not take.
func (c *Call) checkForm(fields map[string]string) error {
	for name := range fields {
		takes := func(s string) bool { return s == name || strings.HasSuffix(s, "-") && strings.HasPrefix(name, s) }
		if !slices.ContainsFunc(FormFields, takes) && !slices.ContainsFunc(servedHeaders[inXML], takes) && !slices.ContainsFunc(c.api.xmlHeaders[formHeaders], takes) {
			return c.unserved("field", name)
		}
	}
	return nil
}

// conditions are the conditional headers that the operation judges.
func (c *Call) conditions() []string {
	switch c.Operation {
	case "xml.GetObject", "xml.HeadObject":
		return conditional[:4]
	case "storage.buckets.get", "storage.objects.get":
		return conditional[:2]
	}
	return nil
}

// etagConditions judges If-Match and If-None-Match of the JSON API.
func (c *Call) etagConditions(etag string) error {
	if v := listOf(c.r.Header, "If-Match"); v != "" && !hasTag(v, etag) {
		return gcserr.Precondition
	}
	if v := listOf(c.r.Header, "If-None-Match"); v != "" && hasTag(v, etag) {
		return gcserr.NotModified
	}
	return nil
}

// xmlParameters are those of the XML API's operations beside what selects and signs them.
var xmlParameters = map[string][]string{
	"":                         strings.Fields("x-id userProject GoogleAccessId AWSAccessKeyId Expires Signature"),
	"xml.GetObject":            read,
	"xml.HeadObject":           read,
	"xml.DeleteObject":         {"generation"},
	"xml.GetBucket":            strings.Fields("list-type prefix delimiter marker max-keys encoding-type continuation-token start-after fetch-owner"),
	"xml.ListMultipartUploads": strings.Fields("prefix delimiter encoding-type key-marker upload-id-marker max-uploads"),
	"xml.ListParts":            strings.Fields("part-number-marker max-parts"),
	"xml.UploadPart":           {"partNumber"},
}

var (
	read = strings.Fields("generation response-cache-control response-content-disposition response-content-type")
	// s3Reads are those of S3's GetObject and HeadObject that the XML API has not.
	s3Reads = strings.Fields("partNumber response-content-encoding response-content-language response-expires torrent versionId")
)
