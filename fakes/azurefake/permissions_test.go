// SPDX-License-Identifier: Apache-2.0

package azurefake_test

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"

	"github.com/cooper-cosi/cooper/fakes/azurefake"
)

// operation is one call with the permissions that a shared access signature needs for it. The letters are those of
// the tables "Permissions for a directory, container, or blob" (Create a service SAS) and "Account SAS permissions by
// operation" (Create an account SAS) of the reference; each of several letters is sufficient alone.
type operation struct {
	method, query string
	// blob is the name below the container: "" for the container itself, and "/" for the account.
	blob    string
	headers map[string]string
	body    string
	// service and account are the letters, "" when no such signature will do; resource is the type that an account
	// signature needs.
	service, account, resource string
	// status is that of success.
	status int
	// short is the error for a signature with all other letters, AuthorizationPermissionMismatch if empty.
	short string
}

const (
	comp   = "comp="
	ofType = "restype=container"
	base1  = "YmxvY2sx" // block1, the ID of a block that is staged
)

func blockList(ids ...string) string {
	return "<BlockList><Latest>" + strings.Join(ids, "</Latest><Latest>") + "</Latest></BlockList>"
}

// operations returns the rows from which the table is generated. Every container has a block blob "block", an append
// blob "append", a page blob "page" and an uncommitted block in "staged".
func operations() map[string]operation {
	block, appendBlob := map[string]string{"X-Ms-Blob-Type": "BlockBlob"}, map[string]string{"X-Ms-Blob-Type": "AppendBlob"}
	lease := map[string]string{"X-Ms-Lease-Action": "acquire", "X-Ms-Lease-Duration": "15"}
	broken := map[string]string{"X-Ms-Lease-Action": "break"}
	return map[string]operation{
		"Get Blob":                        {method: "GET", blob: "block", service: "r", account: "r", resource: "o", status: 200},
		"Get Blob Properties":             {method: "HEAD", blob: "block", service: "r", account: "r", resource: "o", status: 200},
		"Get Blob Metadata":               {method: "GET", blob: "block", query: comp + "metadata", service: "r", account: "r", resource: "o", status: 200},
		"Get Block List":                  {method: "GET", blob: "block", query: comp + "blocklist", service: "r", account: "r", resource: "o", status: 200},
		"Put Blob, new":                   {method: "PUT", blob: "new", headers: block, body: "text", service: "cw", account: "cw", resource: "o", status: 201},
		"Put Blob, overwrite":             {method: "PUT", blob: "block", headers: block, body: "text", service: "w", account: "w", resource: "o", status: 201, short: noOverwrite},
		"Put Blob, append, new":           {method: "PUT", blob: "new", headers: appendBlob, service: "cw", account: "cw", resource: "o", status: 201},
		"Append Block":                    {method: "PUT", blob: "append", query: comp + "appendblock", body: "text", service: "aw", account: "aw", resource: "o", status: 201},
		"Put Page":                        {method: "PUT", blob: "page", query: comp + "page", headers: map[string]string{"X-Ms-Page-Write": "clear", "X-Ms-Range": "bytes=0-511"}, service: "w", account: "w", resource: "o", status: 201},
		"Get Page Ranges":                 {method: "GET", blob: "page", query: comp + "pagelist", service: "r", account: "r", resource: "o", status: 200},
		"Put Block":                       {method: "PUT", blob: "staged", query: comp + "block&blockid=" + base1, body: "text", service: "cw", account: "cw", resource: "o", status: 201},
		"Put Block List":                  {method: "PUT", blob: "staged", query: comp + "blocklist", body: blockList(base1), service: "cw", account: "cw", resource: "o", status: 201},
		"Set Blob Metadata":               {method: "PUT", blob: "block", query: comp + "metadata", headers: map[string]string{"X-Ms-Meta-A": "1"}, service: "w", account: "w", resource: "o", status: 200},
		"Set Blob Properties":             {method: "PUT", blob: "block", query: comp + "properties", headers: map[string]string{"X-Ms-Blob-Content-Type": "text/plain"}, service: "w", account: "w", resource: "o", status: 200},
		"Set Blob Tier":                   {method: "PUT", blob: "block", query: comp + "tier", headers: map[string]string{"X-Ms-Access-Tier": "Cool"}, service: "w", account: "w", resource: "o", status: 200},
		"Snapshot Blob":                   {method: "PUT", blob: "block", query: comp + "snapshot", service: "cw", account: "cw", resource: "o", status: 201},
		"Lease Blob":                      {method: "PUT", blob: "block", query: comp + "lease", headers: lease, service: "w", account: "w", resource: "o", status: 201},
		"Abort Copy Blob, none":           {method: "PUT", blob: "block", query: comp + "copy&copyid=1f0d3a4b-0000-4000-8000-000000000001", headers: map[string]string{"X-Ms-Copy-Action": "abort"}, service: "w", account: "w", resource: "o", status: 409},
		"Get Blob Tags":                   {method: "GET", blob: "block", query: comp + "tags", service: "t", account: "t", resource: "o", status: 200},
		"Set Blob Tags":                   {method: "PUT", blob: "block", query: comp + "tags", body: "<Tags><TagSet><Tag><Key>a</Key><Value>1</Value></Tag></TagSet></Tags>", service: "t", account: "t", resource: "o", status: 204},
		"Delete Blob":                     {method: "DELETE", blob: "block", service: "d", account: "d", resource: "o", status: 202},
		"List Blobs":                      {method: "GET", query: ofType + "&" + comp + "list", service: "l", account: "l", resource: "c", status: 200},
		"Find Blobs by Tags in Container": {method: "GET", query: ofType + "&" + comp + "blobs&where=a%3D%271%27", service: "f", account: "f", resource: "c", status: 200},
		"Get Container Props":             {method: "GET", query: ofType, account: "r", resource: "c", status: 200},
		"Set Container Metadata":          {method: "PUT", query: ofType + "&" + comp + "metadata", headers: map[string]string{"X-Ms-Meta-A": "1"}, account: "w", resource: "c", status: 200},
		"Lease Container":                 {method: "PUT", query: ofType + "&" + comp + "lease", headers: lease, account: "w", resource: "c", status: 201},
		"Restore Container, no version":   {method: "PUT", query: ofType + "&" + comp + "undelete", account: "w", resource: "c", status: 400},
		"Delete Container":                {method: "DELETE", query: ofType, account: "d", resource: "c", status: 202},
		"Break a blob's lease, none":      {method: "PUT", blob: "block", query: comp + "lease", headers: broken, service: "wd", account: "wd", resource: "o", status: 409},
		"Break a container's lease, none": {method: "PUT", query: ofType + "&" + comp + "lease", headers: broken, account: "wd", resource: "c", status: 409},
		"Get Container ACL":               {method: "GET", query: ofType + "&" + comp + "acl", status: 200},
		"Set Container ACL":               {method: "PUT", query: ofType + "&" + comp + "acl", status: 200},
		"Get Blob, absent":                {method: "GET", blob: "absent", service: "r", account: "r", resource: "o", status: 404},
		"Delete Blob, absent":             {method: "DELETE", blob: "absent", service: "d", account: "d", resource: "o", status: 404},
		"Get Blob, a range":               {method: "GET", blob: "block", headers: map[string]string{"X-Ms-Range": "bytes=1-2"}, service: "r", account: "r", resource: "o", status: 206},
		"Get Blob, beyond":                {method: "GET", blob: "block", headers: map[string]string{"X-Ms-Range": "bytes=900-"}, service: "r", account: "r", resource: "o", status: 416},
		"Put Blob, only if new":           {method: "PUT", blob: "block", headers: map[string]string{"X-Ms-Blob-Type": "BlockBlob", "If-None-Match": "*"}, body: "text", service: "w", account: "w", resource: "o", status: 409, short: noOverwrite},
		"Get Blob, other ETag":            {method: "GET", blob: "block", headers: map[string]string{"If-Match": `"0x8D0"`}, service: "r", account: "r", resource: "o", status: 412},
		"Put Block, no block ID":          {method: "PUT", blob: "staged", query: comp + "block", body: "text", service: "cw", account: "cw", resource: "o", status: 400},
		"Append to a block blob":          {method: "PUT", blob: "block", query: comp + "appendblock", body: "text", service: "aw", account: "aw", resource: "o", status: 409},
		"Put Block List, unknown":         {method: "PUT", blob: "staged", query: comp + "blocklist", body: blockList("dW5rbm93"), service: "cw", account: "cw", resource: "o", status: 400},
	}
}

// letters are all permissions that both kinds of signatures know.
const letters = "racwdxltf"

const (
	notAuthenticated = "AuthenticationFailed"
	notPermitted     = "AuthorizationPermissionMismatch"
	notThisWay       = "AuthorizationFailure"
	notThisType      = "AuthorizationResourceTypeMismatch"
	nobody           = "NoAuthenticationInformation"
	protocolMismatch = "AuthorizationProtocolMismatch"
	noOverwrite      = "UnauthorizedBlobOverwrite"
	addressMismatch  = "AuthorizationSourceIPMismatch"
)

// row is one line of the table: a call with a signature, and the response that is expected.
type row struct {
	name string
	call operation
	sign func(t *testing.T, s blobService, container string) string
	// code is the error, "" for the operation's own status.
	code string
}

// blobService is a Blob service that can be asked.
type blobService struct {
	// url is the path-style endpoint of the account.
	url  string
	cred *container.SharedKeyCredential
}

var containers atomic.Int64

// filled makes a container for one row.
func (s blobService) filled(t *testing.T) string {
	t.Helper()
	name := fmt.Sprintf("row-%d", containers.Add(1))
	c, err := container.NewClientWithSharedKeyCredential(s.url+"/"+name, s.cred, &container.ClientOptions{ClientOptions: noRetry()})
	wantNoError(t, err)
	_, err = c.Create(t.Context(), nil)
	if err == nil {
		_, err = c.NewBlockBlobClient("block").Upload(t.Context(), readSeekCloser("hello"), nil)
	}
	if err == nil {
		_, err = c.NewAppendBlobClient("append").Create(t.Context(), nil)
	}
	if err == nil {
		_, err = c.NewPageBlobClient("page").Create(t.Context(), 512, nil)
	}
	if err == nil {
		_, err = c.NewBlockBlobClient("staged").StageBlock(t.Context(), base1, readSeekCloser("hello"), &blockblob.StageBlockOptions{})
	}
	wantNoError(t, err)
	return name
}

// ask makes the call and returns status and error code.
func (s blobService) ask(t *testing.T, o operation, name, signature string) (int, string) {
	t.Helper()
	path := s.url + "/" + name
	switch o.blob {
	case "":
	case "/":
		path = s.url
	default:
		path += "/" + o.blob
	}
	query := strings.Trim(o.query+"&"+signature, "&")
	req, err := http.NewRequestWithContext(t.Context(), o.method, path+"?"+query, bytes.NewReader([]byte(o.body)))
	wantNoError(t, err)
	req.Header.Set("X-Ms-Version", "2021-12-02")
	for name, value := range o.headers {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	wantNoError(t, err)
	_, _ = io.Copy(io.Discard, resp.Body) // only status and code are compared
	_ = resp.Body.Close()
	return resp.StatusCode, resp.Header.Get("X-Ms-Error-Code")
}

// ofService signs for the container, with the permissions in their canonical order.
func ofService(permissions string, change ...func(*sas.BlobSignatureValues)) func(*testing.T, blobService, string) string {
	return func(t *testing.T, s blobService, name string) string {
		t.Helper()
		v := sas.BlobSignatureValues{ContainerName: name, Permissions: permissions, ExpiryTime: time.Now().UTC().Add(time.Hour)}
		for _, c := range change {
			c(&v)
		}
		q, err := v.SignWithSharedKey(s.cred)
		wantNoError(t, err)
		return q.Encode()
	}
}

// ofAccount signs for the account.
func ofAccount(permissions, types string, change ...func(*sas.AccountSignatureValues)) func(*testing.T, blobService, string) string {
	return func(t *testing.T, s blobService, _ string) string {
		t.Helper()
		v := sas.AccountSignatureValues{Permissions: permissions, ResourceTypes: types, ExpiryTime: time.Now().UTC().Add(time.Hour)}
		for _, c := range change {
			c(&v)
		}
		q, err := v.SignWithSharedKey(s.cred)
		wantNoError(t, err)
		return q.Encode()
	}
}

// tampered changes the signature of what sign makes.
func tampered(sign func(*testing.T, blobService, string) string) func(*testing.T, blobService, string) string {
	return func(t *testing.T, s blobService, name string) string {
		t.Helper()
		q, err := url.ParseQuery(sign(t, s, name))
		wantNoError(t, err)
		sig := []byte(q.Get("sig"))
		sig[0] = map[bool]byte{true: 'B', false: 'A'}[sig[0] == 'A']
		q.Set("sig", string(sig))
		return q.Encode()
	}
}

// without returns all letters but some.
func without(some string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(some, r) {
			return -1
		}
		return r
	}, letters)
}

// rows generates the table: for every operation each letter alone, all other letters, and the calls that no signature
// allows.
func rows() []row {
	var out []row
	all := operations()
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		o := all[name]
		add := func(what, code string, sign func(*testing.T, blobService, string) string) {
			out = append(out, row{name + ": " + what, o, sign, code})
		}
		for _, letter := range o.service {
			add("service SAS with "+string(letter)+" alone", "", ofService(string(letter)))
		}
		add("service SAS with everything else", cmp.Or(map[bool]string{true: notThisWay}[o.service == ""], o.short, notPermitted), ofService(without(o.service)))
		for _, letter := range o.account {
			add("account SAS with "+string(letter)+" alone", "", ofAccount(string(letter), "sco"))
		}
		if o.account == "" {
			add("account SAS", notThisWay, ofAccount(letters, "sco"))
		} else {
			add("account SAS with everything else", cmp.Or(o.short, notPermitted), ofAccount(without(o.account), "sco"))
			add("account SAS whose signature is wrong", notAuthenticated, tampered(ofAccount(letters, "sco")))
			add("account SAS for other resource types", notThisType, ofAccount(letters, strings.ReplaceAll("sco", o.resource, "")))
		}
		if o.service != "" {
			add("service SAS whose signature is wrong", notAuthenticated, tampered(ofService(letters)))
			add("service SAS that has expired", notAuthenticated, ofService(letters, func(v *sas.BlobSignatureValues) { v.ExpiryTime = time.Now().UTC().Add(-time.Minute) }))
		}
		add("nothing", nobody, func(*testing.T, blobService, string) string { return "" })
	}
	return append(append(out, limits(all["Get Blob"])...), accountWide()...)
}

// accountWide are the operations of the account, which no signature for a container allows.
func accountWide() []row {
	const service = "restype=service&"
	var out []row
	for _, one := range []struct {
		name   string
		call   operation
		letter string
	}{
		{"List Containers", operation{method: "GET", blob: "/", query: comp + "list", status: 200}, "l"},
		{"Get Blob Service Properties", operation{method: "GET", blob: "/", query: service + comp + "properties", status: 200}, "r"},
		{"Set Blob Service Properties", operation{method: "PUT", blob: "/", query: service + comp + "properties", body: "<StorageServiceProperties></StorageServiceProperties>", status: 202}, "w"},
		{"Get Blob Service Stats, of the primary", operation{method: "GET", blob: "/", query: service + comp + "stats", status: 400}, "r"},
	} {
		out = append(out,
			row{one.name + ": account SAS with " + one.letter + " alone", one.call, ofAccount(one.letter, "s"), ""},
			row{one.name + ": account SAS with everything else", one.call, ofAccount(without(one.letter), "sco"), notPermitted},
			row{one.name + ": account SAS for other resource types", one.call, ofAccount(letters, "co"), notThisType},
			row{one.name + ": service SAS", one.call, ofService(letters), notAuthenticated},
			row{one.name + ": nothing", one.call, func(*testing.T, blobService, string) string { return "" }, nobody},
		)
	}
	return out
}

// limits are the fields of a signature that narrow it, tried on one operation.
func limits(get operation) []row {
	hour := time.Now().UTC().Add(time.Hour)
	return []row{
		{"times: begins later", get, ofService(letters, func(v *sas.BlobSignatureValues) { v.StartTime = hour.Add(-time.Minute) }), notAuthenticated},
		{"times: has begun", get, ofService(letters, func(v *sas.BlobSignatureValues) { v.StartTime = hour.Add(-2 * time.Hour) }), ""},
		{"times: account SAS that has expired", get, ofAccount(letters, "sco", func(v *sas.AccountSignatureValues) { v.ExpiryTime = hour.Add(-2 * time.Hour) }), notAuthenticated},
		{"protocol: HTTPS only, over HTTP", get, ofService(letters, func(v *sas.BlobSignatureValues) { v.Protocol = sas.ProtocolHTTPS }), protocolMismatch},
		{"protocol: both", get, ofService(letters, func(v *sas.BlobSignatureValues) { v.Protocol = sas.ProtocolHTTPSandHTTP }), ""},
		{"address: another one", get, ofService(letters, func(v *sas.BlobSignatureValues) { v.IPRange = sas.IPRange{Start: []byte{192, 0, 2, 1}} }), addressMismatch},
		{"address: ours", get, ofService(letters, func(v *sas.BlobSignatureValues) { v.IPRange = sas.IPRange{Start: []byte{127, 0, 0, 1}} }), ""},
		{"address: a range with ours", get, ofService(letters, func(v *sas.BlobSignatureValues) {
			v.IPRange = sas.IPRange{Start: []byte{127, 0, 0, 0}, End: []byte{127, 0, 0, 9}}
		}), ""},
		{"blob: the one that is signed", get, ofService("r", func(v *sas.BlobSignatureValues) { v.BlobName = "block" }), ""},
		{"blob: another one", get, ofService("r", func(v *sas.BlobSignatureValues) { v.BlobName = "staged" }), notAuthenticated},
		{"container: another one", get, ofService("r", func(v *sas.BlobSignatureValues) { v.ContainerName = "other" }), notAuthenticated},
		{"policy: one that is not there", get, ofService("r", func(v *sas.BlobSignatureValues) { v.Identifier = "absent" }), notAuthenticated},
	}
}

// TestPermissions runs the table on the fake.
func TestPermissions(t *testing.T) {
	t.Parallel()
	server := start(t, azurefake.Options{})
	key, _ := server.Keys(azurefake.DefaultAccount)
	cred, err := container.NewSharedKeyCredential(azurefake.DefaultAccount, key)
	wantNoError(t, err)
	s := blobService{server.AccountURL(azurefake.DefaultAccount), cred}
	table, refused := rows(), 0
	for _, r := range table {
		if r.code != "" {
			refused++
		}
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			name := s.filled(t)
			status, code := s.ask(t, r.call, name, r.sign(t, s, name))
			switch {
			case r.code == "" && status != r.call.status:
				t.Errorf("returned %d %s, want %d", status, code, r.call.status)
			case r.code != "" && code != r.code:
				t.Errorf("returned %d %q, want %q", status, code, r.code)
			}
		})
	}
	t.Logf("%d rows, %d of them refusals", len(table), refused)
	if len(table) < 300 || 2*refused < len(table) {
		t.Errorf("%d rows with %d refusals: want at least 300, half of them refusals", len(table), refused)
	}
}

// TestEachPermissionRemoved takes each letter away from a signature that has all of them: a call is refused exactly if
// the letter was the only one that allows it.
func TestEachPermissionRemoved(t *testing.T) {
	t.Parallel()
	server := start(t, azurefake.Options{})
	key, _ := server.Keys(azurefake.DefaultAccount)
	cred, err := container.NewSharedKeyCredential(azurefake.DefaultAccount, key)
	wantNoError(t, err)
	s, rows, refused := blobService{server.AccountURL(azurefake.DefaultAccount), cred}, 0, 0
	for name, o := range operations() {
		for kind, needed := range map[string]string{"service": o.service, "account": o.account} {
			if needed == "" {
				continue // no such signature will do
			}
			for _, letter := range letters {
				sign := ofService(without(string(letter)))
				if kind == "account" {
					sign = ofAccount(without(string(letter)), "sco")
				}
				at := s.filled(t)
				status, code := s.ask(t, o, at, sign(t, s, at))
				rows++
				if needed != string(letter) {
					if status != o.status {
						t.Errorf("%s without %c of a %s SAS: returned %d %s, want %d", name, letter, kind, status, code, o.status)
					}
					continue
				}
				refused++
				if want := cmp.Or(o.short, notPermitted); code != want {
					t.Errorf("%s without %c of a %s SAS: returned %d %q, want %q", name, letter, kind, status, code, want)
				}
			}
		}
	}
	t.Logf("%d rows, %d of them refusals", rows, refused)
}
