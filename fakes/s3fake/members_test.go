// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	gocmp "github.com/google/go-cmp/cmp"
)

// sent are the headers and query parameters that the input of an operation becomes.
type sent struct{ headers, parameters []string }

var (
	bindings  = regexp.MustCompile(`(?s)\nfunc awsRestxml_serializeOpHttpBindings(\w+)Input\(.*?\n}\n`)
	header    = regexp.MustCompile(`(?:encoder\.(?:SetHeader|AddHeader)\(|locationName := |encoder\.Headers\()"([^"]+)"`)
	parameter = regexp.MustCompile(`encoder\.(?:SetQuery|AddQuery)\("([^"]+)"\)`)
)

// serializers is the SDK's code that writes requests to S3.
func serializers(t *testing.T) []byte {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/aws/aws-sdk-go-v2/service/s3").Output()
	wantNoError(t, err)
	raw, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "serializers.go"))
	wantNoError(t, err)
	return raw
}

// members returns what the SDK's serializers send, by operation.
func members(t *testing.T) map[string]sent {
	t.Helper()
	raw := serializers(t)
	names := func(pattern *regexp.Regexp, code []byte) []string {
		var out []string
		for _, m := range pattern.FindAllSubmatch(code, -1) {
			out = append(out, string(m[1]))
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	out := map[string]sent{}
	for _, m := range bindings.FindAllSubmatch(raw, -1) {
		out[string(m[1])] = sent{headers: names(header, m[0]), parameters: names(parameter, m[0])}
	}
	if len(out) < 100 {
		t.Fatalf("%d operations: are they still found?", len(out))
	}
	return out
}

// different are members that do something else than at AWS. Others either act or are refused.
var different = map[string]string{
	"X-Amz-Request-Payer":                         "no effect, since buckets cannot require it",
	"X-Amz-Optional-Object-Attributes":            "only `RestoreStatus`, which no object has",
	"X-Amz-Sdk-Checksum-Algorithm":                "the checksum itself is compared",
	"X-Amz-Website-Redirect-Location":             "kept and returned; no pages are served",
	"X-Amz-Storage-Class":                         "kept and returned; GLACIER and DEEP_ARCHIVE cannot be read, others cost nothing",
	"X-Amz-Server-Side-Encryption":                "`aws:kms` requires permissions for the key; nothing is encrypted; `aws:kms:dsse` is rejected",
	"X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id": "see X-Amz-Server-Side-Encryption",
	"X-Amz-Bucket-Namespace":                      "only `global`; others are rejected",
}

// refusedMember reports whether the fake refuses an operation because it has this member.
func (w *world) refusedMember(t *testing.T, op operation, name string, isHeader bool) bool {
	t.Helper()
	if isHeader {
		// What writes accept of these is one value, at AWS, too.
		op.headers += "\n" + name + ": " + cmp.Or(map[string]string{"X-Amz-Bucket-Namespace": "global", "If-None-Match": "*"}[name], "x")
	} else {
		op.path += map[bool]string{true: "&", false: "?"}[strings.Contains(op.path, "?")] + name + "=x"
	}
	op.headers = strings.TrimPrefix(op.headers, "\n")
	if op.method == http.MethodHead { // a refusal without words
		return w.send(t, w.Root(), op).Code == http.StatusNotImplemented
	}
	got := w.send(t, w.Root(), op)
	if errorCode(got.Body.Bytes()) != "NotImplemented" {
		return false
	}
	if body := got.Body.String(); !strings.Contains(strings.ToLower(body), strings.ToLower(name)) && !strings.Contains(body, "ACL") {
		t.Errorf("%s %s is refused without a word of %s: %s", op.method, op.path, name, got.Body)
	}
	return true
}

// TestTheMemberListIsComplete writes, with COOPER_UPDATE=1, or compares the page's text about every operation of the
// SDK's S3, IAM, STS and EKS, and every header and query parameter of S3. It sends each input to see whether it is
// rejected.
func TestTheMemberListIsComplete(t *testing.T) {
	t.Parallel()
	const page, heading = "../../docs/reference/s3fake.md", "\n## Every operation and member\n"
	was, err := os.ReadFile(page)
	wantNoError(t, err)
	before, _, ok := strings.Cut(string(was), heading)
	if !ok {
		t.Fatalf("%s has no heading %q", page, heading)
	}
	want := before + heading + memberList(t)
	if os.Getenv("COOPER_UPDATE") != "" {
		wantNoError(t, os.WriteFile(page, []byte(want), 0o600))
		was = []byte(want)
	}
	if diff := gocmp.Diff(want, string(was)); diff != "" {
		t.Errorf("COOPER_UPDATE=1 go test ./fakes/s3fake -run %s writes %s (-want +got):\n%s", t.Name(), page, diff)
	}
}

func memberList(t *testing.T) string {
	t.Helper()
	all, requests := members(t), operations()
	served := newWorld(t).Operations()
	var rows, unserved []string
	counts := map[string]int{}
	used := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !slices.Contains(served, name) {
			unserved = append(unserved, "`"+name+"`")
			continue
		}
		op, ok := requests[name]
		if !ok {
			t.Errorf("no row of the table is %s", name)
		}
		w, cells := newWorld(t), map[string][]string{}
		note := func(member string, isHeader bool) {
			kind := "served"
			switch {
			case w.refusedMember(t, op, member, isHeader):
				kind = "refused"
			case different[member] != "":
				kind, used[member] = "different", true
			}
			counts[kind]++
			cells[kind] = append(cells[kind], "`"+member+"`")
		}
		for _, member := range all[name].headers {
			note(member, true)
		}
		for _, member := range all[name].parameters {
			note(member, false)
		}
		rows = append(rows, fmt.Sprintf("| %#q | %s | %s | %s |", name, listed(cells["served"]), listed(cells["different"]), listed(cells["refused"])))
	}
	var out strings.Builder
	fmt.Fprintf(&out, `
From the serializers of the AWS SDK for Go by

    COOPER_UPDATE=1 go test ./fakes/s3fake -run TestTheMemberListIsComplete

which sends every header and query parameter. %d are supported, %d are different and %d return 501 NotImplemented with a message
that names them, as do unsupported elements of XML documents, and unknown parameters and x-amz- headers. %d operations of S3:

| operation | supported | different | rejected |
|---|---|---|---|
%s

Differences:

| member | |
|---|---|
`, counts["served"], counts["different"], counts["refused"], len(rows), strings.Join(rows, "\n"))
	for _, member := range slices.Sorted(maps.Keys(different)) {
		if !used[member] {
			t.Errorf("%s is on no operation", member)
		}
		fmt.Fprintf(&out, "| `%s` | %s |\n", member, different[member])
	}
	writeElements(t, &out)
	fmt.Fprintf(&out, "\n%d operations of S3 are not supported: %s.\n", len(unserved), strings.Join(unserved, ", "))
	for _, s := range []struct {
		name   string
		client reflect.Type
	}{{"iam", reflect.TypeFor[*iam.Client]()}, {"sts", reflect.TypeFor[*sts.Client]()}, {"eks", reflect.TypeFor[*eks.Client]()}} {
		writeService(&out, s.name, s.client, served)
	}
	writeParameters(t, &out)
	return out.String()
}

// conditionsOfHTTP are headers of conditions, which are those of any operation for HTTP and of some for S3.
var conditionsOfHTTP = []string{"If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range"}

// TestMembersOfOtherOperations sends every header of S3 and of conditions, and every parameter, that any operation of S3 has
// to each that does not have it. Each is refused, and none changes anything.
func TestMembersOfOtherOperations(t *testing.T) {
	t.Parallel()
	all, requests := members(t), operations()
	w := newWorld(t)
	before := w.Inventory()
	headers, parameters := map[string]bool{}, map[string]bool{}
	for name, m := range all {
		for _, h := range m.headers {
			headers[h] = strings.HasPrefix(h, "X-Amz-") || slices.Contains(conditionsOfHTTP, h)
		}
		for _, p := range m.parameters {
			// uploadId selects another operation, and for reads of objects unknown parameters are accepted, because clients
			// use them to bypass caches.
			parameters[p] = parameters[p] || p != "uploadId" && slices.Contains(w.Operations(), name)
		}
	}
	headers["If-Range"] = true // the SDK does not have it
	sent := 0
	for _, name := range w.Operations() {
		m, ofS3 := all[name]
		op, hasRow := requests[name]
		if !ofS3 || !hasRow {
			continue
		}
		try := func(member string, isHeader bool, has []string) {
			if slices.Contains(has, member) || isHeader && summed(m, member) || ownWords[name+" "+member] {
				return
			}
			sent++
			if !w.refusedMember(t, op, member, isHeader) {
				t.Errorf("%s takes %s", name, member)
			}
		}
		for h, ofAmazon := range headers {
			if ofAmazon {
				try(h, true, m.headers)
			}
		}
		for p, plain := range parameters {
			if plain {
				try(p, false, m.parameters)
			}
		}
		for _, p := range []string{"X-Amz-Acl", "x-amz-tagging"} { // headers of presigned requests, which these are not
			try(p, false, nil)
		}
	}
	t.Logf("%d headers and parameters of other operations are refused", sent)
	if sent < 5000 {
		t.Errorf("%d headers and parameters were sent: are they still found?", sent)
	}
	if diff := gocmp.Diff(before, w.Inventory()); diff != "" {
		t.Errorf("something that is refused changed something (-before +after):\n%s", diff)
	}
}

// summed reports whether a header is the checksum of a body that the operation has.
func summed(m sent, header string) bool {
	algorithm, ok := strings.CutPrefix(header, "X-Amz-Checksum-")
	return ok && !slices.Contains([]string{"Algorithm", "Mode", "Type"}, algorithm) && slices.Contains(m.headers, "X-Amz-Sdk-Checksum-Algorithm")
}

// ownWords are members of other operations that S3 refuses in its own words, that make it the other operation, or that are
// served although the SDK lacks them.
var ownWords = map[string]bool{
	"GetObject X-Amz-Server-Side-Encryption": true, "HeadObject X-Amz-Server-Side-Encryption": true,
	"GetObject If-Range": true, "HeadObject If-Range": true,
	// minio-go sends its conditions with both ends of an upload; they are judged at its completion.
	"CreateMultipartUpload If-Match": true, "CreateMultipartUpload If-None-Match": true,
	// The parameter selects the operation that reads one configuration.
	"ListBucketAnalyticsConfigurations id": true, "ListBucketIntelligentTieringConfigurations id": true, "ListBucketInventoryConfigurations id": true,
	"ListBucketMetricsConfigurations id": true,
	// S3 was recorded to accept and ignore it.
	"PutObject X-Amz-Checksum-Algorithm": true,
	"PutObject X-Amz-Copy-Source":        true, "PutObject partNumber": true, "CopyObject partNumber": true, "UploadPart X-Amz-Copy-Source": true,
}

// writeService lists the operations of a service that are served and refused.
func writeService(out *strings.Builder, service string, client reflect.Type, served []string) {
	var yes, no []string
	for m := range client.Methods() {
		switch {
		case m.Type.NumIn() != 4 || m.Type.NumOut() != 2:
		case slices.Contains(served, service+":"+m.Name):
			yes = append(yes, "`"+m.Name+"`")
		default:
			no = append(no, "`"+m.Name+"`")
		}
	}
	fmt.Fprintf(out, "\n%s: %d operations are supported: %s. %d are not: %s.\n", strings.ToUpper(service), len(yes), strings.Join(yes, ", "), len(no), strings.Join(no, ", "))
}

// writeParameters lists the parameters of IAM's, STS's and EKS's operations. Whether one is refused is seen by sending it.
func writeParameters(t *testing.T, out *strings.Builder) {
	t.Helper()
	w, requests := newWorld(t), operations()
	requests["sts:AssumeRoleWithWebIdentity"] = query("AssumeRoleWithWebIdentity")
	out.WriteString("\nParameters of IAM, STS and EKS. Others are rejected:\n\n| operation | supported | rejected |\n|---|---|---|\n")
	for _, s := range []struct {
		name   string
		client reflect.Type
	}{{"iam", reflect.TypeFor[*iam.Client]()}, {"sts", reflect.TypeFor[*sts.Client]()}} {
		for m := range s.client.Methods() {
			op, ok := requests[s.name+":"+m.Name]
			if m.Type.NumIn() != 4 || m.Type.NumOut() != 2 || !ok {
				continue
			}
			cells := map[bool][]string{}
			for _, p := range append(parametersOf(m.Type.In(2).Elem(), ""), "Colour") {
				one := op
				one.body += "&" + p + "=x"
				got := w.send(t, w.Root(), one)
				refused := errorCode(got.Body.Bytes()) == "NotImplemented"
				if refused && !strings.Contains(got.Body.String(), p) || p == "Colour" && !refused {
					t.Errorf("%s with %s: %s", m.Name, p, got.Body)
				}
				if p != "Colour" {
					cells[refused] = append(cells[refused], "`"+strings.ReplaceAll(p, ".1", "")+"`")
				}
			}
			fmt.Fprintf(out, "| `%s:%s` | %s | %s |\n", s.name, m.Name, listed(cells[false]), listed(cells[true]))
		}
	}
	w.writeEKS(t, out)
}

// writeEKS lists the parameters of EKS's operations in the same way.
func (w *world) writeEKS(t *testing.T, out *strings.Builder) {
	t.Helper()
	const associations = "/clusters/dev/pod-identity-associations"
	client := reflect.TypeFor[*eks.Client]()
	for _, op := range []struct{ name, method, path string }{
		{"CreatePodIdentityAssociation", http.MethodPost, associations},
		{"DeletePodIdentityAssociation", http.MethodDelete, associations + "/a-1"},
		{"DescribePodIdentityAssociation", http.MethodGet, associations + "/a-1"},
		{"ListPodIdentityAssociations", http.MethodGet, associations},
	} {
		m, ok := client.MethodByName(op.name)
		if !ok {
			t.Fatalf("the SDK has no %s", op.name)
		}
		cells := map[bool][]string{}
		for _, p := range append(parametersOf(m.Type.In(2).Elem(), ""), "Colour") {
			p = strings.ToLower(p[:1]) + p[1:]
			one := operation{service: "eks", method: op.method, path: op.path + "?" + p + "=x"}
			switch {
			case p == "clusterName", p == "associationId": // which are in the path
				one.path = op.path
			case op.method == http.MethodPost:
				one.path, one.body = op.path, fmt.Sprintf(`{%q:"x"}`, p)
			}
			got := w.send(t, w.Root(), one)
			refused := got.Header().Get("X-Amzn-Errortype") == "NotImplemented"
			if refused && !strings.Contains(got.Body.String(), p) || p == "colour" && !refused {
				t.Errorf("%s with %s: %d %s", op.name, p, got.Code, got.Body)
			}
			if p != "colour" {
				cells[refused] = append(cells[refused], "`"+p+"`")
			}
		}
		fmt.Fprintf(out, "| `eks:%s` | %s | %s |\n", op.name, listed(cells[false]), listed(cells[true]))
	}
}

var (
	payloads = regexp.MustCompile(`(?s)\nfunc \(m \*awsRestxml_serializeOp(\w+)\) HandleSerialize\(.*?\n}\n`)
	writers  = regexp.MustCompile(`(?s)\nfunc awsRestxml_serializeDocument(\w+)\(.*?\n}\n`)
	written  = regexp.MustCompile(`Local: "(\w+)"|awsRestxml_serializeDocument(\w+)\(|value\.(FlattenedElement)\(`)
)

// documents returns the elements of the documents that the SDK's serializers send, by operation: the path of each
// element, beginning with the root.
func documents(t *testing.T) map[string][][]string {
	t.Helper()
	raw, bodies := serializers(t), map[string]string{}
	for _, m := range writers.FindAllStringSubmatch(string(raw), -1) {
		_, bodies[m[1]], _ = strings.Cut(m[0], "{")
	}
	var walk func(code string, path []string) [][]string
	walk = func(code string, path []string) [][]string {
		var out [][]string
		at, flat := path, false
		for _, m := range written.FindAllStringSubmatch(code, -1) {
			switch {
			case m[3] != "":
				flat = true
			case m[1] != "":
				at, flat = append(slices.Clone(path), m[1]), false
				out = append(out, at)
			case flat: // the elements of the list have the name of the list
				list := regexp.MustCompile(`Local: "\w+"`).ReplaceAllString(bodies[m[2]], "")
				out = append(out, walk(list, at)...)
			default:
				out = append(out, walk(bodies[m[2]], at)...)
			}
		}
		return out
	}
	out := map[string][][]string{}
	for _, m := range payloads.FindAllStringSubmatch(string(raw), -1) {
		if elements := walk(m[0], nil); len(elements) > 1 {
			out[m[1]] = elements
		}
	}
	return out
}

// writeElements lists the elements of the documents of S3. Whether one is refused is seen by sending it.
func writeElements(t *testing.T, out *strings.Builder) {
	t.Helper()
	w, requests, all, counts := newWorld(t), operations(), documents(t), map[bool]int{}
	fmt.Fprintf(out, "\nElements of the documents of S3. Others are rejected. The only value of `MfaDelete` is `Disabled`:\n\n| operation | supported | rejected |\n|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		op, ok := requests[name]
		if !ok {
			continue
		}
		if strings.HasSuffix(name, "Acl") { // with a canned ACL, no document is accepted
			op.headers = ""
		}
		cells := map[bool][]string{}
		for _, path := range append(all[name][1:], []string{all[name][0][0], "Colour"}) {
			op.body = ""
			for _, element := range slices.Backward(path) {
				op.body = "<" + element + ">" + op.body + "</" + element + ">"
			}
			got := w.send(t, w.Root(), op)
			last := path[len(path)-1]
			refused := errorCode(got.Body.Bytes()) == "NotImplemented"
			if last == "Colour" {
				if !refused {
					t.Errorf("%s takes any element: %d %s", name, got.Code, got.Body)
				}
				continue
			}
			counts[refused]++
			cells[refused] = append(cells[refused], "`"+strings.Join(path[1:], ".")+"`")
		}
		fmt.Fprintf(out, "| `%s` | %s | %s |\n", name, listed(cells[false]), listed(cells[true]))
	}
	if counts[false] < 50 {
		t.Errorf("%d elements are served: are they still found?", counts[false])
	}
}

// parametersOf are the names that the fields of an input have in the Query protocol.
func parametersOf(input reflect.Type, prefix string) []string {
	var out []string
	for field := range input.Fields() {
		name := prefix + map[bool]string{true: "arn", false: field.Name}[input.Name() == "PolicyDescriptorType"]
		switch {
		case !field.IsExported():
		case field.Type.Kind() == reflect.Slice && field.Type.Elem().Kind() == reflect.Struct:
			out = append(out, parametersOf(field.Type.Elem(), name+".member.1.")...)
		case field.Type.Kind() == reflect.Slice:
			out = append(out, name+".member.1")
		default:
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func listed(names []string) string {
	if len(names) == 0 {
		return "–"
	}
	return strings.Join(names, " ")
}

// TestElementsThatAreNotServed sends documents with an element for a feature that the fake does not implement.
func TestElementsThatAreNotServed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.Inventory()
	for element, op := range map[string]operation{
		"Bucket":          {method: "PUT", path: "/fresh", body: `<CreateBucketConfiguration><Bucket><Type>Directory</Type></Bucket></CreateBucketConfiguration>`},
		"Aspect":          {method: "PUT", path: "/docs?versioning", body: `<VersioningConfiguration><Status>Enabled</Status><Aspect/></VersioningConfiguration>`},
		"Retain":          {method: "PUT", path: "/docs?lifecycle", body: `<LifecycleConfiguration><Rule><ID>x</ID><Status>Enabled</Status><Filter><Prefix>p</Prefix></Filter><Expiration><Days>1</Days><Retain>1</Retain></Expiration></Rule></LifecycleConfiguration>`},
		"Colour":          {method: "PUT", path: "/docs?tagging", body: `<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value><Colour>c</Colour></Tag></TagSet></Tagging>`},
		"BypassRetention": {method: "POST", path: "/docs?delete", body: `<Delete><Object><Key>k</Key><BypassRetention>true</BypassRetention></Object></Delete>`},
	} {
		got := w.send(t, w.Root(), op)
		if errorCode(got.Body.Bytes()) != "NotImplemented" || !strings.Contains(got.Body.String(), element) {
			t.Errorf("%s: %d %s", element, got.Code, got.Body)
		}
	}
	if diff := gocmp.Diff(before, w.Inventory()); diff != "" {
		t.Errorf("a refused document changed something (-before +after):\n%s", diff)
	}
}
