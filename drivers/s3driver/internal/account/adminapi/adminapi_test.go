// SPDX-License-Identifier: Apache-2.0

package adminapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account/adminapi"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/apierror"
	cosi "github.com/cooper-cosi/cooper/proto"
)

func TestClient(t *testing.T) {
	t.Parallel()
	var authorization string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		authorization = r.Header.Get("Authorization")
		if r.URL.Path == "/refuses" {
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"code":"AccessDenied","message":"no"}`))
		}
	}))
	t.Cleanup(server.Close)
	client := adminapi.Client{
		Name: "shelf", Endpoint: server.URL, Region: "us-east-1", HTTP: server.Client(), Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	}
	token := "first"
	bearer := client
	bearer.Credentials, bearer.Region = nil, ""
	bearer.Token = func(context.Context) (cosi.Secret, error) { return cosi.NewSecret(token), nil }
	for want, one := range map[string]*adminapi.Client{"AWS4-HMAC-SHA256 Credential=id/": &client, "Bearer first": &bearer} {
		if _, err := one.Call(t.Context(), adminapi.Request{Operation: "Get", Method: http.MethodGet, Path: "/"}); err != nil || !strings.HasPrefix(authorization, want) {
			t.Errorf("authorization is %q, want it to begin with %q (%v)", authorization, want, err)
		}
	}
	token = "second"
	_, err := bearer.Call(t.Context(), adminapi.Request{Operation: "Get", Method: http.MethodGet, Path: "/refuses"})
	if authorization != "Bearer second" || !apierror.Denied(err) || strings.Contains(err.Error(), token) {
		t.Errorf("authorization is %q, the error %v", authorization, err)
	}
}
