// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/fakes/s3fake"
)

// TestEveryOperationOfTheSDK calls every operation that the AWS SDK has for S3, IAM, STS and EKS. For unimplemented
// ones the fake must return NotImplemented and must not do anything else.
func TestEveryOperationOfTheSDK(t *testing.T) {
	t.Parallel()
	f := start(t, s3fake.Options{})
	for _, step := range []operation{{method: http.MethodPut, path: "/docs"}, {method: http.MethodPut, path: "/docs/k", body: "first"}} {
		if got := (&world{Server: f.Server}).send(t, f.Root(), step); got.Code != http.StatusOK {
			t.Fatalf("set up %s: %d %s", step.path, got.Code, got.Body)
		}
	}
	before := f.Inventory()
	for service, client := range map[string]any{
		"s3": f.s3(f.Root()), "iam": f.iam(f.Root()), "sts": sts.NewFromConfig(f.config(f.Root())), "eks": eks.NewFromConfig(f.config(f.Root())),
	} {
		f.isServedOrNotImplemented(t, service, reflect.ValueOf(client))
	}
	if diff := cmp.Diff(before, f.Inventory()); diff != "" {
		t.Errorf("an operation that is not served changed something (-before +after):\n%s", diff)
	}
	got := (&world{Server: f.Server}).send(t, f.Root(), operation{method: http.MethodGet, path: "/docs/k"})
	if got.Body.String() != "first" {
		t.Errorf("the object is now %q", got.Body)
	}
}

// isServedOrNotImplemented calls all methods of an SDK's client that are operations and not served.
func (f fake) isServedOrNotImplemented(t *testing.T, service string, client reflect.Value) {
	t.Helper()
	served := f.Operations()
	unserved := 0
	for i := range client.NumMethod() {
		name, method := client.Type().Method(i).Name, client.Method(i)
		if method.Type().NumIn() != 3 || method.Type().NumOut() != 2 || slices.Contains(elsewhereSent, name) ||
			slices.Contains(served, name) || slices.Contains(served, service+":"+name) {
			continue
		}
		unserved++
		if code := call(t, method); code != "NotImplemented" {
			t.Errorf("%s:%s is not served and returns %q, want NotImplemented", service, name, code)
		}
	}
	if unserved < 5 {
		t.Errorf("only %d operations of %s are not served: are they still found?", unserved, service)
	}
}

// TestWhatIsNotServed sends requests that no SDK sends: ignoring part of them would do something else than requested.
func TestWhatIsNotServed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const object, account = "/docs/k", "X-Amz-Account-Id: 000000000000"
	tests := map[string]operation{
		"directory buckets":                        {method: http.MethodGet, path: "/?x-id=ListDirectoryBuckets"},
		"the response of an Object Lambda":         {method: http.MethodPost, path: "/WriteGetObjectResponse", body: "x"},
		"S3 Control":                               {method: http.MethodGet, path: "/v20180820/configuration/publicAccessBlock"},
		"S3 Control, as the SDKs call it":          {method: http.MethodGet, path: "/v20180820/configuration/publicAccessBlock", headers: account},
		"tags of an access point":                  {method: http.MethodGet, path: "/v20180820/tags/arn%3Aaws%3As3%3Aus-east-1%3A000000000000%3Aaccesspoint/docs", headers: account},
		"a sub-resource of the future, of objects": {method: http.MethodPut, path: object + "?aspect", body: "x"},
		"a sub-resource of the future, of buckets": {method: http.MethodDelete, path: "/empty?aspect"},
		"a sub-resource of a bucket, read":         {method: http.MethodGet, path: "/docs?aspect"},
		"an append":                                {method: http.MethodPut, path: object, headers: "X-Amz-Write-Offset-Bytes: 6", body: "x"},
		"a deletion if the size is right":          {method: http.MethodDelete, path: object, headers: "X-Amz-If-Match-Size: 1"},
		"a deletion if the time is right":          {method: http.MethodDelete, path: object, headers: "X-Amz-If-Match-Last-Modified-Time: Mon, 02 Jan 2006 15:04:05 GMT"},
		"deletions if the size is right":           {method: http.MethodPost, path: "/docs?delete", body: `<Delete><Object><Key>k</Key><Size>1</Size></Object></Delete>`},
		"an abortion if the time is right":         {method: http.MethodDelete, path: object + "?uploadId={upload}", headers: "X-Amz-If-Match-Initiated-Time: Mon, 02 Jan 2006 15:04:05 GMT"},
		"encryption in two layers":                 {method: http.MethodPut, path: object, headers: "X-Amz-Server-Side-Encryption: aws:kms:dsse", body: "x"},
		"a context of encryption":                  {method: http.MethodPut, path: object, headers: "X-Amz-Server-Side-Encryption: aws:kms\nX-Amz-Server-Side-Encryption-Context: e30=", body: "x"},
		"a bucket in a namespace":                  {method: http.MethodPut, path: "/fresh", headers: "X-Amz-Bucket-Namespace: account-regional"},
		"deletion with a second factor":            {method: http.MethodPut, path: "/docs?versioning", body: `<VersioningConfiguration><Status>Enabled</Status><MfaDelete>Enabled</MfaDelete></VersioningConfiguration>`},
	}
	before := w.Inventory()
	for name, op := range tests {
		if got := w.send(t, w.Root(), op); errorCode(got.Body.Bytes()) != "NotImplemented" || got.Code != http.StatusNotImplemented {
			t.Errorf("%s: got %d %s, want NotImplemented", name, got.Code, got.Body)
		}
	}
	if diff := cmp.Diff(before, w.Inventory()); diff != "" {
		t.Errorf("something that is not served changed something (-before +after):\n%s", diff)
	}
	if got := w.send(t, w.Root(), operation{method: http.MethodGet, path: object + "?1690000000"}); got.Code != http.StatusOK {
		t.Errorf("a reader that wants to get past caches: %d %s", got.Code, got.Body)
	}
}

// elsewhereSent are operations that the SDK sends to other hosts only; TestWhatIsNotServed has them.
var elsewhereSent = []string{"ListDirectoryBuckets", "WriteGetObjectResponse"}

// call calls an operation with the smallest input that the SDK accepts, and returns the service's error code.
func call(t *testing.T, method reflect.Value) string {
	t.Helper()
	input := reflect.New(method.Type().In(1).Elem())
	for range 20 {
		out := method.Call([]reflect.Value{reflect.ValueOf(t.Context()), input})
		err, _ := reflect.TypeAssert[error](out[1])
		var missing smithy.InvalidParamsError
		if !errors.As(err, &missing) {
			return code(t, err)
		}
		for _, m := range missing.Errs() {
			var field smithy.InvalidParamError
			if !errors.As(m, &field) {
				t.Fatalf("the SDK complains of %v", m)
			}
			fill(t, input.Elem(), strings.Split(field.Field(), ".")[1:])
		}
	}
	t.Fatalf("%s: no input satisfies the SDK", method.Type().In(1))
	return ""
}

// fill gives the field at path some value.
func fill(t *testing.T, v reflect.Value, path []string) {
	t.Helper()
	name, _, _ := strings.Cut(path[0], "[")
	field := v.FieldByName(name)
	some(field, name)
	for field.Kind() == reflect.Pointer || field.Kind() == reflect.Slice {
		if field.Kind() == reflect.Slice {
			field = field.Index(0)
		} else {
			field = field.Elem()
		}
	}
	if len(path) > 1 {
		fill(t, field, path[1:])
	}
}

// some makes a field be there, if it is not.
func some(field reflect.Value, name string) {
	if !field.IsZero() && field.Kind() != reflect.Struct {
		return
	}
	switch field.Kind() {
	case reflect.Pointer:
		field.Set(reflect.New(field.Type().Elem()))
		some(field.Elem(), name)
	case reflect.Slice:
		field.Set(reflect.MakeSlice(field.Type(), 1, 1))
	case reflect.Map:
		field.Set(reflect.MakeMap(field.Type()))
	case reflect.Interface:
		value := reflect.ValueOf(strings.NewReader("x"))
		if !value.CanConvert(field.Type()) {
			value = reflect.ValueOf(&types.ObjectEncryptionMemberSSEKMS{Value: types.SSEKMSEncryption{KMSKeyArn: aws.String("arn:aws:kms:us-east-1:000000000000:key/k")}})
		}
		field.Set(value)
	case reflect.String:
		field.SetString(map[string]string{"Bucket": "docs", "Key": "k", "CopySource": "docs/k", "RenameSource": "/docs/other"}[name])
		if field.String() == "" {
			field.SetString("x")
		}
	}
}
