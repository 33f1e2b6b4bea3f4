// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/testenv/stores"
)

// callsOfTheBackend finds the calls of the IAM API in the source of the backend aws.
func callsOfTheBackend(t *testing.T) []string {
	t.Helper()
	call := regexp.MustCompile(`&iam\.([A-Z]\w+)Input\{`)
	found := map[string]bool{"TagUser": true} // the driver prints it as a command
	for _, pattern := range []string{"internal/account/iamuser/*.go", "internal/account/role/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", pattern, files, err)
		}
		for _, file := range files {
			source, err := os.ReadFile(file)
			mustSucceed(t, err)
			for _, match := range call.FindAllSubmatch(source, -1) {
				found[string(match[1])] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// lackedByThePage returns the calls that the page lists, and whether it states that versitygw lacks them.
func lackedByThePage(t *testing.T) map[string]bool {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "versitygw-iam.md"))
	mustSucceed(t, err)
	if version := stores.VersityGW().Version; !strings.Contains(string(page), version) {
		t.Errorf("the page does not name %s, which is tested", version)
	}
	name := regexp.MustCompile(`\b[A-Z][a-z]+(?:[A-Z][a-zA-Z]+)+\b`)
	listed := map[string]bool{}
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		// A call with a special case has a separate row.
		if len(cells) != 5 || strings.Contains(cells[1], " with ") {
			continue
		}
		for _, call := range name.FindAllString(cells[1], -1) {
			listed[call] = strings.TrimSpace(cells[2]) == "lacks"
		}
	}
	return listed
}

// lacks makes a call with values that may be invalid, and reports whether the store does not support the call.
func lacks(t *testing.T, client *iam.Client, call string) bool {
	t.Helper()
	method := reflect.ValueOf(client).MethodByName(call)
	if !method.IsValid() {
		t.Fatalf("the IAM API has no call %s", call)
	}
	values := map[string]string{
		"UserName": "cosi-nobody", "RoleName": "cosi-nobody", "PolicyName": "cosi-nobody", "GroupName": "cosi-nobody", "VersionId": "v1",
		"AccessKeyId": "AKIAAAAAAAAAAAAAAAAA", "PolicyArn": "arn:aws:iam::000000000000:policy/cosi-nobody",
		"PolicyDocument":           `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:GetObject","Resource":"arn:aws:s3:::b/*"}]}`,
		"AssumeRolePolicyDocument": podTrust,
	}
	input := reflect.New(method.Type().In(1).Elem())
	for name, value := range values {
		if field := input.Elem().FieldByName(name); field.IsValid() {
			field.Set(reflect.ValueOf(aws.String(value)))
		}
	}
	if field := input.Elem().FieldByName("Tags"); field.IsValid() {
		field.Set(reflect.ValueOf([]types.Tag{{Key: aws.String("a"), Value: aws.String("b")}}))
	}
	err, _ := reflect.TypeAssert[error](method.Call([]reflect.Value{reflect.ValueOf(t.Context()), input})[1])
	if err == nil {
		return false
	}
	var answer smithy.APIError
	if !errors.As(err, &answer) {
		t.Fatalf("%s: no response of the store: %v", call, err)
	}
	t.Logf("%s: %s", call, answer.ErrorCode())
	return answer.ErrorCode() == "InvalidAction"
}

// TestVersityIAMLacks compares the page about versitygw's own IAM with its responses.
func TestVersityIAMLacks(t *testing.T) {
	t.Parallel()
	on := versityIAM(t)
	client := iam.New(iam.Options{
		BaseEndpoint: aws.String(on.backend.IAM.Endpoint), Region: "us-east-1", RetryMaxAttempts: 1, Credentials: fixedCredentials(on.rootID, on.rootSecret),
	})
	measured := map[string]bool{}
	for _, call := range callsOfTheBackend(t) {
		measured[call] = lacks(t, client, call)
	}
	if diff := cmp.Diff(lackedByThePage(t), measured); diff != "" {
		t.Errorf("calls that versitygw lacks (-page +measured):\n%s", diff)
	}
	_, err := client.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: aws.String("pods"), AssumeRolePolicyDocument: aws.String(podTrust)})
	if code := apiCode(t, err); code != "MalformedPolicyDocument" && code != "InvalidInput" {
		t.Errorf("the response to the trust of EKS Pod Identity is %q, want a refusal", code)
	}
}

// TestVersityIAMRefusesParameters checks that the store rejects exactly the parameters on the page.
func TestVersityIAMRefusesParameters(t *testing.T) {
	t.Parallel()
	w := newWorld(t, versityIAM(t), worldOptions{})
	var refused []string
	for name, value := range map[string]string{
		"versioning": "true", "objectLock": "true", "tags": `{"a":"b"}`, "encryption": "SSE-S3", "lifecycle": oneRule, "cors": oneOrigin,
	} {
		_, err := w.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{BucketId: "bc-" + drivertest.NewAccount(), Parameters: map[string]string{name: value}})
		if status.Code(err) == codes.InvalidArgument {
			refused = append(refused, name)
		} else if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	slices.Sort(refused)
	if diff := cmp.Diff([]string{"encryption", "lifecycle"}, refused); diff != "" {
		t.Errorf("refused parameters (-page +measured):\n%s", diff)
	}
}
