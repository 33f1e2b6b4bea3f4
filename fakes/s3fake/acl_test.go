// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/fakes/faketest"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
)

const (
	owners = `<OwnershipControls><Rule><ObjectOwnership>%s</ObjectOwnership></Rule></OwnershipControls>`
	blocks = `<PublicAccessBlockConfiguration><%s>true</%s></PublicAccessBlockConfiguration>`
	// guestID is the canonical ID of the account 111122223333.
	guestID = "0000000000000000000000000000000000000000000000000000111122223333"
)

func owned(by string) string { return strings.ReplaceAll(owners, "%s", by) }

func blocking(setting string) operation {
	return operation{method: "PUT", path: "/open?publicAccessBlock", body: strings.ReplaceAll(blocks, "%s", setting)}
}

// accessList sets the ACL of a bucket or an object with a header.
func accessList(path, header string) operation {
	return operation{method: "PUT", path: path + "?acl", headers: header}
}

// TestAccessControlLists calls as four kinds of callers on a bucket that allows ACLs ("Access control list (ACL) overview"
// in the Amazon S3 User Guide).
func TestAccessControlLists(t *testing.T) {
	t.Parallel()
	const everyone, signed = "X-Amz-Acl: public-read", "X-Amz-Acl: authenticated-read"
	get := operation{method: "GET", path: "/open/k"}
	list := operation{method: "GET", path: "/open?list-type=2"}
	put := func(key string) operation { return operation{method: "PUT", path: "/open/" + key, body: "new"} }
	remove := func(key string) operation { return operation{method: "DELETE", path: "/open/" + key} }
	removeIf := func(key string) operation {
		return operation{method: "POST", path: "/open?delete", body: `<Delete><Object><Key>` + key + `</Key><ETag>"wrong"</ETag></Object></Delete>`}
	}
	upload := func(who string) operation { return operation{method: "POST", path: "/open/new?uploads", service: who} }
	part := operation{method: "PUT", path: "/open/new?partNumber=1&uploadId={upload}", body: "x"}
	ownPart := part
	ownPart.service = "guest"
	complete := operation{method: "POST", path: "/open/new?uploadId={upload}", body: parts}
	document := func(owner, grantee, permission string) operation {
		return operation{method: "PUT", path: "/open/k?acl", body: `<AccessControlPolicy><Owner><ID>` + owner + `</ID></Owner><AccessControlList><Grant><Grantee xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" ` + grantee + `</Grantee><Permission>` + permission + `</Permission></Grant></AccessControlList></AccessControlPolicy>`}
	}
	deny := operation{method: "PUT", path: "/open?policy", body: `{"Version":"2012-10-17","Statement":[{"Effect":"Deny","Principal":"*","Action":"s3:GetObject","Resource":"arn:aws:s3:::open/*"}]}`}
	policyFor := func(effect, action string) operation {
		return operation{method: "PUT", path: "/open?policy", body: `{"Version":"2012-10-17","Statement":[{"Effect":"` + effect + `","Principal":{"AWS":"444455556666"},"Action":"` + action + `","Resource":"arn:aws:s3:::open/*"}]}`}
	}
	theirs := operation{method: "GET", path: "/open/new"}
	foreign := []operation{accessList("/open", `X-Amz-Grant-Write: id=`+guestID), {method: "PUT", path: "/open/new", body: "x", service: "guest"}}
	const listing = `{"Effect":"Allow","Principal":"*","Action":"s3:ListBucket","Resource":"arn:aws:s3:::open"}`
	allowPublicly := operation{method: "PUT", path: "/open?policy", body: `{"Version":"2012-10-17","Statement":[` + listing + `]}`}
	denyPublicly := deny
	denyPublicly.body = strings.Replace(deny.body, "[", "["+listing+",", 1)
	tests := map[string]struct {
		// before are requests of root, or of the caller that service names.
		before []operation
		// who is "anonymous", "user" (without a policy), "guest" or "stranger" (of other accounts, allowed everything).
		who    string
		op     operation
		status int
		says   string
	}{
		"a private object": {nil, "anonymous", get, 403, "AccessDenied"},
		"an object that everyone reads, without a signature":      {[]operation{accessList("/open/k", everyone)}, "anonymous", get, 200, "text"},
		"an object that everyone reads, without a policy":         {[]operation{accessList("/open/k", everyone)}, "user", get, 200, "text"},
		"an object that everyone reads, with another account":     {[]operation{accessList("/open/k", everyone)}, "stranger", get, 200, "text"},
		"an object that everyone reads is not written":            {[]operation{accessList("/open/k", everyone)}, "anonymous", put("k"), 403, "AccessDenied"},
		"an object that was created for everyone":                 {[]operation{{method: "PUT", path: "/open/k", headers: everyone, body: "text"}}, "anonymous", get, 200, "text"},
		"a restricted policy still denies":                        {[]operation{accessList("/open/k", everyone), denyPublicly, blocking("RestrictPublicBuckets")}, "anonymous", get, 403, "AccessDenied"},
		"a restricted policy still denies other accounts":         {[]operation{accessList("/open/k", everyone), denyPublicly, blocking("RestrictPublicBuckets")}, "stranger", get, 403, "AccessDenied"},
		"a public ACL and a restricted policy":                    {[]operation{accessList("/open/k", everyone), allowPublicly, blocking("RestrictPublicBuckets")}, "anonymous", get, 200, "text"},
		"a deny in the policy wins":                               {[]operation{accessList("/open/k", everyone), deny}, "anonymous", get, 403, "AccessDenied"},
		"public ACLs that are ignored":                            {[]operation{accessList("/open/k", everyone), blocking("IgnorePublicAcls")}, "anonymous", get, 403, "AccessDenied"},
		"public ACLs that are ignored, for users":                 {[]operation{accessList("/open/k", signed), blocking("IgnorePublicAcls")}, "user", get, 403, "AccessDenied"},
		"public ACLs that were set before they were blocked":      {[]operation{accessList("/open/k", everyone), blocking("BlockPublicAcls")}, "anonymous", get, 200, "text"},
		"a blocked ACL of an object":                              {[]operation{blocking("BlockPublicAcls")}, "root", accessList("/open/k", everyone), 403, "prevented by the BlockPublicAcls setting"},
		"a blocked ACL of a bucket":                               {[]operation{blocking("BlockPublicAcls")}, "root", accessList("/open", signed), 403, "prevented by the BlockPublicAcls setting"},
		"a blocked ACL of a new object":                           {[]operation{blocking("BlockPublicAcls")}, "root", operation{method: "PUT", path: "/open/new", headers: everyone}, 403, "prevented by the BlockPublicAcls setting"},
		"a private ACL is never blocked":                          {[]operation{blocking("BlockPublicAcls")}, "root", accessList("/open/k", "X-Amz-Acl: private"), 200, ""},
		"an object for signed requests, without a signature":      {[]operation{accessList("/open/k", signed)}, "anonymous", get, 403, "AccessDenied"},
		"an object for signed requests, signed":                   {[]operation{accessList("/open/k", signed)}, "user", get, 200, "text"},
		"an object for an account":                                {[]operation{accessList("/open/k", `X-Amz-Grant-Read: id="`+guestID+`"`)}, "guest", get, 200, "text"},
		"an object for another account":                           {[]operation{accessList("/open/k", `X-Amz-Grant-Read: id="`+guestID+`"`)}, "stranger", get, 403, "AccessDenied"},
		"the ACL, for an account that reads it":                   {[]operation{accessList("/open/k", `X-Amz-Grant-Read-Acp: id=`+guestID)}, "guest", operation{method: "GET", path: "/open/k?acl"}, 200, "READ_ACP"},
		"the ACL, for an account that reads the object":           {[]operation{accessList("/open/k", `X-Amz-Grant-Read: id=`+guestID)}, "guest", operation{method: "GET", path: "/open/k?acl"}, 403, "AccessDenied"},
		"the ACL, for an account that writes it":                  {[]operation{accessList("/open/k", `X-Amz-Grant-Write-Acp: id=`+guestID)}, "guest", accessList("/open/k", everyone), 200, ""},
		"a bucket that everyone lists":                            {[]operation{accessList("/open", everyone)}, "anonymous", list, 200, "<Key>k</Key>"},
		"objects do not inherit the bucket's ACL":                 {[]operation{accessList("/open", everyone)}, "anonymous", get, 403, "AccessDenied"},
		"a bucket that everyone writes":                           {[]operation{accessList("/open", "X-Amz-Acl: public-read-write")}, "anonymous", put("new"), 200, ""},
		"an upload of an anonymous caller":                        {[]operation{accessList("/open", "X-Amz-Acl: public-read-write")}, "anonymous", operation{method: "POST", path: "/open/new?uploads"}, 403, "AccessDenied"},
		"a part of an own upload":                                 {[]operation{accessList("/open", "X-Amz-Acl: public-read-write"), upload("guest")}, "guest", part, 200, ""},
		"a part of the owner's upload":                            {[]operation{accessList("/open", "X-Amz-Acl: public-read-write"), upload("root")}, "anonymous", part, 403, "AccessDenied"},
		"a part of another account's upload":                      {[]operation{accessList("/open", "X-Amz-Acl: public-read-write"), upload("guest")}, "stranger", part, 403, "AccessDenied"},
		"a copied part of another account's upload":               {[]operation{accessList("/open", "X-Amz-Acl: public-read-write"), accessList("/open/k", everyone), upload("guest")}, "stranger", operation{method: "PUT", path: part.path, headers: "X-Amz-Copy-Source: open/k"}, 403, "AccessDenied"},
		"the completion of an own upload":                         {[]operation{accessList("/open", "X-Amz-Acl: public-read-write"), upload("guest"), ownPart}, "guest", complete, 200, "<ETag>"},
		"the completion of another account's upload":              {[]operation{accessList("/open", "X-Amz-Acl: public-read-write"), upload("guest"), ownPart}, "stranger", complete, 403, "AccessDenied"},
		"a part of an upload that does not exist":                 {[]operation{accessList("/open", "X-Amz-Acl: public-read-write")}, "stranger", part, 404, "NoSuchUpload"},
		"a KMS key without a signature":                           {[]operation{accessList("/open", "X-Amz-Acl: public-read-write")}, "anonymous", operation{method: "PUT", path: "/open/new", headers: "X-Amz-Server-Side-Encryption: aws:kms", body: "x"}, 403, "AccessDenied"},
		"objects of the owner are not replaced":                   {[]operation{accessList("/open", "X-Amz-Acl: public-read-write")}, "anonymous", put("k"), 403, "AccessDenied"},
		"objects of the owner are not deleted":                    {[]operation{accessList("/open", "X-Amz-Acl: public-read-write")}, "anonymous", remove("k"), 403, "AccessDenied"},
		"objects of anonymous callers are deleted by others":      {[]operation{accessList("/open", "X-Amz-Acl: public-read-write"), {method: "PUT", path: "/open/new", body: "x", service: "anonymous"}}, "anonymous", remove("new"), 204, ""},
		"anonymous objects, if public ACLs are ignored":           {[]operation{accessList("/open", "X-Amz-Acl: public-read-write"), {method: "PUT", path: "/open/new", body: "x", service: "anonymous"}, blocking("IgnorePublicAcls")}, "anonymous", operation{method: "GET", path: "/open/new"}, 403, "AccessDenied"},
		"an object that an anonymous caller wrote":                {[]operation{accessList("/open", "X-Amz-Acl: public-read-write"), {method: "PUT", path: "/open/new", body: "x", service: "anonymous"}}, "anonymous", operation{method: "GET", path: "/open/new"}, 200, "x"},
		"a grant to anonymous callers by their ID":                {nil, "root", accessList("/open/k", "X-Amz-Grant-Read: id=65a011a29cdf8ec533ec3d1ccaae921c"), 400, "Invalid id"},
		"the owner of an object that an account wrote":            {[]operation{accessList("/open", `X-Amz-Grant-Write: id=`+guestID), {method: "PUT", path: "/open/new", body: "x", service: "guest"}}, "root", operation{method: "GET", path: "/open/new?acl"}, 200, "<Owner><ID>" + guestID},
		"the bucket owner, if the account gives the object up":    {[]operation{{method: "PUT", path: "/open?ownershipControls", body: owned("BucketOwnerPreferred")}, accessList("/open", `X-Amz-Grant-Write: id=`+guestID), {method: "PUT", path: "/open/new", headers: "X-Amz-Acl: bucket-owner-full-control", body: "x", service: "guest"}}, "root", operation{method: "GET", path: "/open/new?acl"}, 200, "<Owner><ID>0000000000000000000000000000000000000000000000000000000000000000"},
		"the bucket's policy, for an object of an account":        {append(slices.Clone(foreign), policyFor("Allow", "s3:GetObject")), "stranger", theirs, 403, "AccessDenied"},
		"the ACL of such an object":                               {append(slices.Clone(foreign), operation{method: "PUT", path: "/open/new?acl", headers: everyone, service: "guest"}), "stranger", theirs, 200, "x"},
		"a deny in the bucket's policy, for such an object":       {append(slices.Clone(foreign), operation{method: "PUT", path: "/open/new?acl", headers: everyone, service: "guest"}, policyFor("Deny", "s3:GetObject")), "stranger", theirs, 403, "AccessDenied"},
		"the bucket's policy, for a copy of such an object":       {append(slices.Clone(foreign), policyFor("Allow", "s3:*Object")), "stranger", operation{method: "PUT", path: "/open/copy", headers: "X-Amz-Copy-Source: open/new"}, 403, "AccessDenied"},
		"the bucket's policy, for the deletion of such an object": {append(slices.Clone(foreign), policyFor("Allow", "s3:DeleteObject")), "stranger", remove("new"), 204, ""},
		"the bucket's policy, for the ETag of such an object":     {append(slices.Clone(foreign), policyFor("Allow", "s3:*Object")), "stranger", removeIf("new"), 200, "<Code>AccessDenied</Code>"},
		"the bucket's policy, for the ETag of the owner's object": {append(slices.Clone(foreign), policyFor("Allow", "s3:*Object")), "stranger", removeIf("k"), 200, "<Code>PreconditionFailed</Code>"},
		"such an object, once the owner is enforced":              {append(slices.Clone(foreign), policyFor("Allow", "s3:GetObject"), accessList("/open", "X-Amz-Acl: private"), operation{method: "PUT", path: "/open?ownershipControls", body: owned("BucketOwnerEnforced")}), "stranger", theirs, 200, "x"},
		"ACLs have no effect once the owner is enforced":          {[]operation{accessList("/open/k", everyone), {method: "PUT", path: "/open?ownershipControls", body: owned("BucketOwnerEnforced")}}, "anonymous", get, 403, "AccessDenied"},
		"a bucket with a public ACL cannot enforce the owner":     {[]operation{accessList("/open", everyone)}, "root", operation{method: "PUT", path: "/open?ownershipControls", body: owned("BucketOwnerEnforced")}, 400, "InvalidBucketAclWithObjectOwnership"},
		"copies are private":                                      {[]operation{accessList("/open/k", everyone), {method: "PUT", path: "/open/copy", headers: "X-Amz-Copy-Source: open/k"}}, "anonymous", operation{method: "GET", path: "/open/copy"}, 403, "AccessDenied"},
		"a new bucket with a public ACL":                          {nil, "root", operation{method: "PUT", path: "/new", headers: everyone + "\nX-Amz-Object-Ownership: ObjectWriter"}, 400, "InvalidBucketAclWithBlockPublicAccessError"},
		"a new bucket with an ACL and the default ownership":      {nil, "root", operation{method: "PUT", path: "/new", headers: everyone}, 400, "InvalidBucketAclWithObjectOwnership"},
		"a new bucket with a grant":                               {nil, "root", operation{method: "PUT", path: "/new", headers: "X-Amz-Grant-Read: id=" + guestID + "\nX-Amz-Object-Ownership: ObjectWriter"}, 200, ""},
		"an ACL that changes the owner":                           {nil, "root", document(guestID, `xsi:type="CanonicalUser"><ID>`+guestID+`</ID>`, "READ"), 403, "AccessDenied"},
		"a grant to an e-mail address":                            {nil, "root", accessList("/open/k", `X-Amz-Grant-Read: emailAddress="a@example.com"`), 405, "MethodNotAllowed"},
		"a grant to an e-mail address in a document":              {nil, "root", document(strings.Repeat("0", 64), `xsi:type="AmazonCustomerByEmail"><EmailAddress>a@example.com</EmailAddress>`, "READ"), 405, "MethodNotAllowed"},
		"two grantees in a header":                                {[]operation{accessList("/open/k", `X-Amz-Grant-Full-Control: id="`+guestID+`", uri="http://acs.amazonaws.com/groups/global/AllUsers"`)}, "anonymous", get, 200, "text"},
		"grants on a new object need the permission for its ACL":  {[]operation{{method: "PUT", path: "/open?policy", body: `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"arn:aws:iam::000000000000:user/user"},"Action":"s3:PutObject","Resource":"arn:aws:s3:::open/*"}]}`}}, "user", operation{method: "PUT", path: "/open/new", headers: "X-Amz-Grant-Read: id=" + guestID}, 403, "s3:PutObjectAcl"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{Server: faketest.Open(t, s3fake.New, s3fake.Options{}), known: map[string]string{}}
			callers := map[string]s3fake.Credentials{"root": w.Root(), "": w.Root(), "anonymous": {}}
			for who, account := range map[string]string{"user": "", "guest": "111122223333", "stranger": "444455556666"} {
				callers[who] = s3fake.Credentials{AccessKeyID: "AKIA" + strings.ToUpper(who), SecretAccessKey: "secret"}
				u := s3fake.ImportedUser{Name: who, Credentials: callers[who], Account: account}
				if account != "" {
					u.Policy = allow("*", "*")
				}
				wantNoError(t, w.ImportUser(u))
			}
			setup := []operation{
				{method: "PUT", path: "/open", headers: "X-Amz-Object-Ownership: ObjectWriter"},
				{method: "DELETE", path: "/open?publicAccessBlock"},
				{method: "PUT", path: "/open/k", body: "text"},
			}
			for _, step := range append(setup, tc.before...) {
				who := step.service
				step.service = ""
				got := w.send(t, callers[who], step)
				if got.Code >= http.StatusMultipleChoices {
					t.Fatalf("set up %s %s: %d %s", step.method, step.path, got.Code, got.Body)
				}
				w.learn(step, got)
			}
			got := w.send(t, callers[tc.who], tc.op)
			if got.Code != tc.status || !strings.Contains(got.Body.String(), tc.says) {
				t.Errorf("got %d, want %d with %q\n%s", got.Code, tc.status, tc.says, got.Body)
			}
		})
	}
}

// TestACLOfANewBucket creates a public bucket where nothing blocks it. Creating it again resets its ACL.
func TestACLOfANewBucket(t *testing.T) {
	t.Parallel()
	w := &world{Server: faketest.Open(t, s3fake.New, s3fake.Options{OpenBuckets: true}), known: map[string]string{}}
	create := operation{method: "PUT", path: "/open", headers: "X-Amz-Acl: public-read\nX-Amz-Object-Ownership: ObjectWriter"}
	owner := "FULL_CONTROL " + strings.Repeat("0", 64)
	public := []string{owner, "READ http://acs.amazonaws.com/groups/global/AllUsers"}
	for _, step := range []struct {
		op     operation
		status int
		// read is the status of an anonymous listing afterwards.
		read int
		acl  []string
	}{
		{create, 200, 200, public},
		{operation{method: "PUT", path: "/open"}, 200, 403, nil}, // the same bucket again
		{create, 200, 200, public},
		{operation{method: "PUT", path: "/open", headers: "X-Amz-Acl: public-read"}, 400, 200, public},
		{operation{method: "PUT", path: "/open"}, 200, 403, nil},
		{blocking("BlockPublicAcls"), 200, 403, nil},
		{create, 403, 403, nil},
	} {
		if got := w.send(t, w.Root(), step.op); got.Code != step.status {
			t.Errorf("%+v: %d %s", step.op, got.Code, got.Body)
		}
		if got := w.send(t, s3fake.Credentials{}, operation{method: "GET", path: "/open"}); got.Code != step.read {
			t.Errorf("after %+v: %d %s", step.op, got.Code, got.Body)
		}
		if b := w.Inventory().Buckets[0]; !slices.Equal(b.ACL, step.acl) || b.Region != "us-east-1" {
			t.Errorf("after %+v: the inventory has %+v", step.op, b)
		}
	}
}

// accessPolicy is the document of an ACL.
const accessPolicy = `<AccessControlPolicy><Owner><ID>0000000000000000000000000000000000000000000000000000000000000000</ID></Owner><AccessControlList><Grant><Grantee xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="Group"><URI>http://acs.amazonaws.com/groups/global/AllUsers</URI></Grantee><Permission>READ</Permission></Grant></AccessControlList></AccessControlPolicy>`

// FuzzGrants sends arbitrary grants in a header. A grant that is accepted is returned.
func FuzzGrants(f *testing.F) {
	w := fuzzWorld(f)
	f.Add(`id="` + guestID + `", uri="http://acs.amazonaws.com/groups/global/AllUsers"`)
	f.Add(`emailAddress="a@example.com",id=`)
	w.send(f, w.Root(), operation{method: "PUT", path: "/docs", headers: "X-Amz-Object-Ownership: ObjectWriter"})
	w.send(f, w.Root(), operation{method: "DELETE", path: "/docs?publicAccessBlock"})
	f.Fuzz(func(t *testing.T, grants string) {
		if strings.ContainsFunc(grants, func(r rune) bool { return r < ' ' || r > '~' }) || strings.TrimSpace(grants) != grants {
			t.Skip("not a header that a client could send")
		}
		got := w.send(t, w.Root(), accessList("/docs", "X-Amz-Grant-Read: "+grants))
		noServerError(t, got.Code, got.Body)
		if shown := w.send(t, w.Root(), operation{method: "GET", path: "/docs?acl"}); got.Code == http.StatusOK && !strings.Contains(shown.Body.String(), "<Permission>READ</Permission>") {
			t.Errorf("%q is not in %s", grants, shown.Body)
		}
	})
}
