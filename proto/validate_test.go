// SPDX-License-Identifier: Apache-2.0

package cosi_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	cosi "github.com/cooper-cosi/cooper/proto"
)

func TestValidateBucketID(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ id, want string }{
		"every allowed character":    {"aZ09._/-", ""},
		"the longest ID":             {strings.Repeat("a", 2048), ""},
		"empty":                      {"", "bucket_id is required"},
		"one byte too long":          {strings.Repeat("a", 2049), "bucket_id has 2049 bytes, more than 2048"},
		"an ARN holds colons":        {"arn:aws:s3:::b", `bucket_id has the character ':' at position 3; allowed are A-Z, a-z, 0-9 and ._/-`},
		"a letter outside of ASCII":  {"bä", `bucket_id has the character 'ä' at position 1; allowed are A-Z, a-z, 0-9 and ._/-`},
		"a line break at the end":    {"b\n", `bucket_id has the character '\n' at position 1; allowed are A-Z, a-z, 0-9 and ._/-`},
		"a path is allowed as an ID": {"backend/bucket", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assertError(t, cosi.ValidateBucketID(test.id), test.want)
		})
	}
	assertError(t, cosi.ValidateAccountID(""), "account_id is required")
}

func TestValidateDriverName(t *testing.T) {
	t.Parallel()
	bad := func(name string) string {
		return `name "` + name + `" is not a lower-case domain name such as s3.example.com: ` +
			`use a-z, 0-9 and '-' between dots, with a letter or digit at both ends of each part`
	}
	tests := map[string]struct{ name, want string }{
		"a domain name":        {"s3.example.com", ""},
		"one label":            {"driver2", ""},
		"a leading digit":      {"3par.hpe.com", ""},
		"one letter":           {"a", ""},
		"63 bytes":             {strings.Repeat("a", 63), ""},
		"64 bytes":             {strings.Repeat("a", 64), "name has 64 bytes, more than 63"},
		"empty":                {"", "name is required"},
		"a capital letter":     {"S3.example.com", bad("S3.example.com")},
		"an empty label":       {"s3..com", bad("s3..com")},
		"a dot at the end":     {"s3.", bad("s3.")},
		"a dash at a label":    {"s3-.com", bad("s3-.com")},
		"an underscore":        {"s3_a", bad("s3_a")},
		"a slash, as in paths": {"a/b", bad("a/b")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assertError(t, cosi.ValidateDriverName(test.name), test.want)
		})
	}
}

func TestValidateParameters(t *testing.T) {
	t.Parallel()
	many := map[string]string{}
	for i := range 513 {
		many[strings.Repeat("k", i+1)] = ""
	}
	tests := map[string]struct {
		parameters map[string]string
		want       string
	}{
		"none":                          {nil, ""},
		"64 Ki characters of two bytes": {map[string]string{"k": strings.Repeat("é", 64<<10-1)}, ""},
		"64 Ki characters":              {map[string]string{"k": strings.Repeat("v", 64<<10-1)}, ""},
		"one more":                      {map[string]string{"k": strings.Repeat("v", 64<<10)}, "parameters has 65537 characters, more than 65536"},
		"too many":                      {many, "parameters has 513 entries, more than 512"},
		"an empty key":                  {map[string]string{"": "v"}, "parameters has an empty key"},
		"an empty value":                {map[string]string{"k": ""}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assertError(t, cosi.ValidateParameters(test.parameters), test.want)
		})
	}
}

func protocol(kind cosi.ObjectProtocol_Type) *cosi.ObjectProtocol {
	return &cosi.ObjectProtocol{Type: kind}
}

func mode(kind cosi.AccessMode_Mode) *cosi.AccessMode { return &cosi.AccessMode{Mode: kind} }

func grantRequest() *cosi.DriverGrantBucketAccessRequest {
	return &cosi.DriverGrantBucketAccessRequest{
		AccountId:          "ba-1",
		Protocol:           protocol(cosi.ObjectProtocol_S3),
		AuthenticationType: &cosi.AuthenticationType{Type: cosi.AuthenticationType_KEY},
		Buckets:            []*cosi.AccessedBucket{{BucketId: "bc-1", ObjectDataAccessMode: mode(cosi.AccessMode_READ_WRITE)}},
	}
}

func changedRequest(change func(*cosi.DriverGrantBucketAccessRequest)) proto.Message {
	request := grantRequest()
	change(request)
	return request
}

// changeRequest returns a request that changes a bucket with the parameters tier and quota.
func changeRequest(parameters map[string]string, changed ...string) *cosi.DriverCreateBucketRequest {
	return &cosi.DriverCreateBucketRequest{
		BucketId: "b", Parameters: map[string]string{"tier": "hot", "quota": "1"},
		Update: &cosi.BucketUpdate{Changed: changed, Parameters: parameters},
	}
}

func TestValidateRequest(t *testing.T) {
	t.Parallel()
	type grant = cosi.DriverGrantBucketAccessRequest
	tests := map[string]struct {
		request proto.Message
		want    string
	}{
		"info needs nothing": {&cosi.DriverGetInfoRequest{}, ""},
		"generate bucket ID": {&cosi.DriverGenerateBucketIdRequest{Name: "bc-1"}, ""},
		"generate bucket ID without name": {
			&cosi.DriverGenerateBucketIdRequest{}, "name is required",
		},
		"generate bucket ID with a long name": {
			&cosi.DriverGenerateBucketIdRequest{Name: strings.Repeat("n", 254)}, "name has 254 bytes, more than 253",
		},
		"create without ID": {&cosi.DriverCreateBucketRequest{}, "bucket_id is required"},
		"create with an UNKNOWN protocol": {
			&cosi.DriverCreateBucketRequest{BucketId: "b", Protocols: []*cosi.ObjectProtocol{{}}}, "protocols[0] is required",
		},
		"create with a protocol of the future": {
			&cosi.DriverCreateBucketRequest{BucketId: "b", Protocols: []*cosi.ObjectProtocol{protocol(9)}},
			"protocols[0] has the unknown value 9",
		},
		"create with a protocol twice": {
			&cosi.DriverCreateBucketRequest{BucketId: "b", Protocols: []*cosi.ObjectProtocol{protocol(1), protocol(1)}},
			"protocols[1] repeats S3",
		},
		"create with a change": {changeRequest(map[string]string{"tier": "hot", "quota": "2"}, "quota"), ""},
		"create with a change that removes a parameter": {
			changeRequest(nil, "tier", "quota"), "",
		},
		"create with a change of nothing": {changeRequest(map[string]string{"tier": "hot", "quota": "1"}), "update.changed is required"},
		"create with a change of one key twice": {
			changeRequest(map[string]string{"tier": "hot"}, "quota", "quota"), `update.changed[1] repeats "quota"`,
		},
		"create with a change without a key": {changeRequest(map[string]string{"tier": "hot"}, ""), "update.changed[0] is required"},
		"create with an unnamed change": {
			changeRequest(map[string]string{"tier": "cold", "quota": "1"}, "quota"), `update.parameters differs from parameters in "tier", which is not in changed`,
		},
		"create with a change and a parameter without key": {
			changeRequest(map[string]string{"": ""}, "quota"), "update is not valid: parameters has an empty key",
		},
		"get without ID":    {&cosi.DriverGetBucketRequest{}, "bucket_id is required"},
		"delete without ID": {&cosi.DriverDeleteBucketRequest{}, "bucket_id is required"},
		"delete with a parameter without key": {
			&cosi.DriverDeleteBucketRequest{BucketId: "b", Parameters: map[string]string{"": ""}}, "parameters has an empty key",
		},
		"generate account ID without name": {
			&cosi.DriverGenerateBucketAccessIdRequest{}, "account_name is required",
		},
		"grant":                  {grantRequest(), ""},
		"grant without account":  {changedRequest(func(r *grant) { r.AccountId = "" }), "account_id is required"},
		"grant without protocol": {changedRequest(func(r *grant) { r.Protocol = nil }), "protocol is required"},
		"grant without authentication type": {
			changedRequest(func(r *grant) { r.AuthenticationType = nil }), "authentication_type is required",
		},
		"grant with an authentication type of the future": {
			changedRequest(func(r *grant) { r.AuthenticationType.Type = 9 }), "authentication_type has the unknown value 9",
		},
		"grant to a service account without its name": {
			changedRequest(func(r *grant) { r.AuthenticationType.Type = cosi.AuthenticationType_SERVICE_ACCOUNT }),
			"service_account_name is required with authentication type SERVICE_ACCOUNT",
		},
		"grant to a service account in a long namespace": {
			changedRequest(func(r *grant) { r.ServiceAccountNamespace = strings.Repeat("n", 64) }),
			"service_account_namespace has 64 bytes, more than 63",
		},
		"grant with a long rotation": {
			changedRequest(func(r *grant) { r.Rotation = strings.Repeat("r", 254) }), "rotation has 254 bytes, more than 253",
		},
		"grant without buckets": {changedRequest(func(r *grant) { r.Buckets = nil }), "buckets is required"},
		"grant of a bucket without ID": {
			changedRequest(func(r *grant) { r.Buckets[0].BucketId = "" }), "buckets[0].bucket_id is required",
		},
		"grant of a bucket twice": {
			changedRequest(func(r *grant) { r.Buckets = append(r.Buckets, r.Buckets[0]) }), `buckets[1].bucket_id repeats "bc-1"`,
		},
		"grant without any mode": {
			changedRequest(func(r *grant) { r.Buckets[0].ObjectDataAccessMode = nil }),
			"buckets[0] has no access mode: at least one of object_data_access_mode, " +
				"object_metadata_access_mode and bucket_metadata_access_mode is required",
		},
		"grant with a mode of the future": {
			changedRequest(func(r *grant) { r.Buckets[0].BucketMetadataAccessMode = mode(9) }),
			"buckets[0].bucket_metadata_access_mode has the unknown value 9",
		},
		"grant with a disallowed mode of the future": {
			changedRequest(func(r *grant) {
				r.DisallowedAccessModes = &cosi.DisallowedAccessModes{ObjectData: []cosi.AccessMode_Mode{cosi.AccessMode_READ_ONLY, 9}}
			}), "disallowed_access_modes.object_data[1] has the unknown value 9",
		},
		"grant that disallows ANY": {
			changedRequest(func(r *grant) {
				r.DisallowedAccessModes = &cosi.DisallowedAccessModes{BucketMetadata: []cosi.AccessMode_Mode{cosi.AccessMode_ANY}}
			}), "disallowed_access_modes.bucket_metadata[0] must not be ANY",
		},
		"phase 1 with a disallowed mode of the future": {
			&cosi.DriverGenerateBucketAccessIdRequest{
				AccountName: "ba-1", Protocol: protocol(1), AuthenticationType: &cosi.AuthenticationType{Type: 1},
				Buckets:               []*cosi.AccessedBucket{{BucketId: "bc-1", ObjectDataAccessMode: mode(2)}},
				DisallowedAccessModes: &cosi.DisallowedAccessModes{ObjectMetadata: []cosi.AccessMode_Mode{9}},
			}, "disallowed_access_modes.object_metadata[0] has the unknown value 9",
		},
		"revoke without buckets": {
			&cosi.DriverRevokeBucketAccessRequest{
				AccountId: "ba-1", Protocol: protocol(1), AuthenticationType: &cosi.AuthenticationType{Type: 1},
			}, "buckets is required",
		},
		"a response is no request": {
			&cosi.DriverGetInfoResponse{}, "*cosi.DriverGetInfoResponse is not a request of the COSI contract",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assertError(t, cosi.ValidateRequest(test.request), test.want)
		})
	}
}

func s3Info() *cosi.ObjectProtocolAndBucketInfo {
	return &cosi.ObjectProtocolAndBucketInfo{S3: &cosi.S3BucketInfo{
		BucketId: "bucket", Endpoint: "https://s3.example.com", Region: "us-east-1",
		AddressingStyle: &cosi.S3AddressingStyle{Style: cosi.S3AddressingStyle_PATH},
	}}
}

func TestValidateBucketAndInfoResponses(t *testing.T) {
	t.Parallel()
	create := &cosi.DriverCreateBucketRequest{BucketId: "b", Protocols: []*cosi.ObjectProtocol{protocol(1)}}
	endpoint := func(url string) proto.Message {
		return &cosi.DriverGetBucketResponse{Protocols: &cosi.ObjectProtocolAndBucketInfo{S3: &cosi.S3BucketInfo{Endpoint: url}}}
	}
	tests := map[string]struct {
		request, response proto.Message
		want              string
	}{
		"created":                 {create, &cosi.DriverCreateBucketResponse{Protocols: s3Info()}, ""},
		"bucket info may be bare": {create, &cosi.DriverCreateBucketResponse{Protocols: &cosi.ObjectProtocolAndBucketInfo{S3: &cosi.S3BucketInfo{}}}, ""},
		"created for no protocol": {
			create, &cosi.DriverCreateBucketResponse{}, "protocols is required: the response has no protocol for the bucket",
		},
		"created for another protocol": {
			create, &cosi.DriverCreateBucketResponse{Protocols: &cosi.ObjectProtocolAndBucketInfo{Gcs: &cosi.GcsBucketInfo{}}},
			"protocols lacks the requested S3",
		},
		"an endpoint with a password": {
			&cosi.DriverGetBucketRequest{}, endpoint("https://user:pw@host"),
			"protocols.s3.endpoint contains a user name or password, which must not appear in the Bucket's status",
		},
		"an account with a password": {
			&cosi.DriverGetBucketRequest{}, &cosi.DriverGetBucketResponse{Protocols: &cosi.ObjectProtocolAndBucketInfo{
				Azure: &cosi.AzureBucketInfo{StorageAccount: "https://user:pw@host/account"},
			}}, "protocols.azure.storage_account contains a user name or password, which must not appear in the Bucket's status",
		},
		"an endpoint without scheme": {
			&cosi.DriverGetBucketRequest{}, endpoint("localhost:9000"), "protocols.s3.endpoint is not an http or https URL",
		},
		"an unknown addressing style": {
			&cosi.DriverGetBucketRequest{}, &cosi.DriverGetBucketResponse{Protocols: &cosi.ObjectProtocolAndBucketInfo{
				S3: &cosi.S3BucketInfo{AddressingStyle: &cosi.S3AddressingStyle{}},
			}}, "protocols.s3.addressing_style is neither PATH nor VIRTUAL",
		},
		"no ID": {&cosi.DriverGenerateBucketIdRequest{}, &cosi.DriverGenerateBucketIdResponse{}, "bucket_id is required"},
		"no account": {
			&cosi.DriverGenerateBucketAccessIdRequest{}, &cosi.DriverGenerateBucketAccessIdResponse{}, "account_id is required",
		},
		"deleted": {&cosi.DriverDeleteBucketRequest{}, &cosi.DriverDeleteBucketResponse{}, ""},
		"info": {
			&cosi.DriverGetInfoRequest{},
			&cosi.DriverGetInfoResponse{Name: "a.b", SupportedProtocols: []*cosi.ObjectProtocol{protocol(1)}}, "",
		},
		"info without protocols": {
			&cosi.DriverGetInfoRequest{}, &cosi.DriverGetInfoResponse{Name: "a.b"}, "supported_protocols is required",
		},
		"the response of another RPC": {
			&cosi.DriverDeleteBucketRequest{}, &cosi.DriverGrantBucketAccessResponse{},
			"*cosi.DriverGrantBucketAccessResponse is not a response to *cosi.DriverDeleteBucketRequest",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assertError(t, cosi.ValidateResponse(test.request, test.response), test.want)
		})
	}
}

func TestValidateGrantResponse(t *testing.T) {
	t.Parallel()
	type answer = cosi.DriverGrantBucketAccessResponse
	tests := map[string]struct {
		change func(*cosi.DriverGrantBucketAccessRequest, *answer)
		want   string
	}{
		"complete": {func(*cosi.DriverGrantBucketAccessRequest, *answer) {}, ""},
		"a bucket is missing": {
			func(_ *cosi.DriverGrantBucketAccessRequest, a *answer) { a.Buckets = nil }, `buckets lacks the requested "bc-1"`,
		},
		"a bucket is repeated": {
			func(_ *cosi.DriverGrantBucketAccessRequest, a *answer) { a.Buckets = append(a.Buckets, a.Buckets[0]) },
			"buckets[1].bucket_id was not requested or is repeated",
		},
		"another protocol too": {
			func(_ *cosi.DriverGrantBucketAccessRequest, a *answer) {
				a.Buckets[0].BucketInfo.Gcs = &cosi.GcsBucketInfo{}
			},
			"buckets[0].bucket_info must contain exactly the requested protocol S3, not [S3 GCS]",
		},
		"no region": {
			func(_ *cosi.DriverGrantBucketAccessRequest, a *answer) { a.Buckets[0].BucketInfo.S3.Region = "" },
			"buckets[0].bucket_info.s3.region is required",
		},
		"no addressing style": {
			func(_ *cosi.DriverGrantBucketAccessRequest, a *answer) {
				a.Buckets[0].BucketInfo.S3.AddressingStyle = nil
			},
			"buckets[0].bucket_info.s3.addressing_style is required",
		},
		"no secret key": {
			func(_ *cosi.DriverGrantBucketAccessRequest, a *answer) { a.Credentials.S3.AccessSecretKey = "" },
			"credentials.s3.access_secret_key is required",
		},
		"a secret key that is too long is not in the message": {
			func(_ *cosi.DriverGrantBucketAccessRequest, a *answer) {
				a.Credentials.S3.AccessSecretKey = strings.Repeat(canary, 2000)
			}, "credentials.s3.access_secret_key has 24000 bytes, more than 16384",
		},
		"a credential of another protocol": {
			func(_ *cosi.DriverGrantBucketAccessRequest, a *answer) {
				a.Credentials.Azure = &cosi.AzureCredentialInfo{}
			},
			"credentials contains protocol AZURE, but only S3 was requested",
		},
		"no credential is needed by a service account": {
			func(r *cosi.DriverGrantBucketAccessRequest, a *answer) {
				r.AuthenticationType.Type, a.Credentials = cosi.AuthenticationType_SERVICE_ACCOUNT, nil
			}, "",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request := grantRequest()
			response := &answer{
				Buckets:     []*cosi.DriverGrantBucketAccessResponse_BucketInfo{{BucketId: "bc-1", BucketInfo: s3Info()}},
				Credentials: &cosi.CredentialInfo{S3: &cosi.S3CredentialInfo{AccessKeyId: "AKIA", AccessSecretKey: "s"}},
			}
			test.change(request, response)
			assertError(t, cosi.ValidateResponse(request, response), test.want)
		})
	}
}

func TestValidateGrantResponseOfOtherProtocols(t *testing.T) {
	t.Parallel()
	azure := &cosi.ObjectProtocolAndBucketInfo{Azure: &cosi.AzureBucketInfo{StorageAccount: "account"}}
	gcs := &cosi.ObjectProtocolAndBucketInfo{Gcs: &cosi.GcsBucketInfo{ProjectId: "p", BucketName: "b"}}
	key := &cosi.GcsCredentialInfo{
		ServiceAccount: "sa", ClientEmail: "sa@p", ClientId: "1", PrivateKeyName: "id", PrivateKey: "pem",
	}
	tests := map[string]struct {
		protocol    cosi.ObjectProtocol_Type
		info        *cosi.ObjectProtocolAndBucketInfo
		credentials *cosi.CredentialInfo
		want        string
	}{
		"Azure without expiry": {
			cosi.ObjectProtocol_AZURE, azure, &cosi.CredentialInfo{Azure: &cosi.AzureCredentialInfo{AccessToken: "t"}}, "",
		},
		"Azure with a line break in the token": {
			cosi.ObjectProtocol_AZURE, azure, &cosi.CredentialInfo{Azure: &cosi.AzureCredentialInfo{AccessToken: "t\nexport A=b"}},
			"credentials.azure.access_token contains a control character",
		},
		"Azure with a readable date": {
			cosi.ObjectProtocol_AZURE, azure,
			&cosi.CredentialInfo{Azure: &cosi.AzureCredentialInfo{AccessToken: "t", ExpiryTimestamp: "tomorrow"}},
			"credentials.azure.expiry_timestamp is not a date and time such as 2030-01-31T12:00:00Z",
		},
		"Azure with a date without end": {
			cosi.ObjectProtocol_AZURE, azure,
			&cosi.CredentialInfo{Azure: &cosi.AzureCredentialInfo{
				AccessToken: "t", ExpiryTimestamp: "2030-01-31T12:00:00." + strings.Repeat("0", 1<<20) + "Z",
			}},
			"credentials.azure.expiry_timestamp has 1048597 bytes, more than 2048",
		},
		"Azure without token": {
			cosi.ObjectProtocol_AZURE, azure, &cosi.CredentialInfo{}, "credentials.azure.access_token is required",
		},
		"Azure without storage account": {
			cosi.ObjectProtocol_AZURE, &cosi.ObjectProtocolAndBucketInfo{Azure: &cosi.AzureBucketInfo{}}, nil,
			"buckets[0].bucket_info.azure.storage_account is required",
		},
		"GCS with an HMAC pair as the public contract has it": {
			cosi.ObjectProtocol_GCS, gcs, &cosi.CredentialInfo{Gcs: &cosi.GcsCredentialInfo{
				AccessId: "i", AccessSecret: "s", PrivateKeyName: "n", ServiceAccount: "sa",
			}}, "",
		},
		"GCS with a service account key": {cosi.ObjectProtocol_GCS, gcs, &cosi.CredentialInfo{Gcs: key}, ""},
		"GCS with half an HMAC pair": {
			cosi.ObjectProtocol_GCS, gcs, &cosi.CredentialInfo{Gcs: &cosi.GcsCredentialInfo{AccessId: "i"}},
			"credentials.gcs.access_secret is required",
		},
		"GCS with half a key": {
			cosi.ObjectProtocol_GCS, gcs, &cosi.CredentialInfo{Gcs: &cosi.GcsCredentialInfo{PrivateKey: "pem"}},
			"credentials.gcs.service_account is required",
		},
		"GCS without credential": {
			cosi.ObjectProtocol_GCS, gcs, nil, "credentials.gcs needs an HMAC pair (access_id, access_secret) or a service " +
				"account key (service_account, client_email, client_id, private_key_name, private_key)",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request := grantRequest()
			request.Protocol = protocol(test.protocol)
			assertError(t, cosi.ValidateResponse(request, &cosi.DriverGrantBucketAccessResponse{
				Buckets:     []*cosi.DriverGrantBucketAccessResponse_BucketInfo{{BucketId: "bc-1", BucketInfo: test.info}},
				Credentials: test.credentials,
			}), test.want)
		})
	}
}

func FuzzValidateBucketID(f *testing.F) {
	for _, seed := range []string{"", "bc-1", "a/b", "arn:aws", "ä", strings.Repeat("a", 2049)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, id string) {
		allowed := "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-"
		foreign := strings.ContainsFunc(id, func(r rune) bool { return !strings.ContainsRune(allowed, r) })
		want := id != "" && len(id) <= 2048 && !foreign
		if err := cosi.ValidateBucketID(id); (err == nil) != want {
			t.Errorf("ValidateBucketID(%q) = %v", id, err)
		}
	})
}

func assertError(t *testing.T, err error, want string) {
	t.Helper()
	got := ""
	if err != nil {
		got = err.Error()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
	var field *cosi.FieldError
	if want != "" && strings.HasPrefix(want, "bucket_id") && !errors.As(err, &field) {
		t.Errorf("%v is not a FieldError", err)
	}
}
