// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/golang-jwt/jwt/v5"

	"github.com/cooper-cosi/cooper/fakes/s3fake"
)

// issuer is an OpenID Connect issuer over TLS.
type issuer struct {
	*httptest.Server
	key *ecdsa.PrivateKey
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	wantNoError(t, err)
	i := &issuer{key: key}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]string{"issuer": i.URL, "jwks_uri": i.URL + "/keys"}) // the client notices
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		raw, err := key.PublicKey.Bytes()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		b64 := base64.RawURLEncoding
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": []map[string]string{{"kid": "k", "kty": "EC", "crv": "P-256", "x": b64.EncodeToString(raw[1:33]), "y": b64.EncodeToString(raw[33:])}}}) // as above
	})
	i.Server = httptest.NewTLSServer(mux)
	t.Cleanup(i.Close)
	return i
}

func (i *issuer) token(t *testing.T, subject, audience string, key *ecdsa.PrivateKey, expires time.Time) string {
	t.Helper()
	return i.tokenFrom(t, time.Time{}, subject, audience, key, expires)
}

// tokenFrom is a token that is valid from a time on.
func (i *issuer) tokenFrom(t *testing.T, begins time.Time, subject, audience string, key *ecdsa.PrivateKey, expires time.Time) string {
	t.Helper()
	claims := jwt.MapClaims{"iss": i.URL, "sub": subject, "aud": []string{audience}, "exp": expires.Unix()}
	if !begins.IsZero() {
		claims["iat"], claims["nbf"] = begins.Unix(), begins.Unix()
	}
	token := jwt.NewWithClaims(jwt.SigningMethodES256, claims)
	token.Header["kid"] = "k"
	signed, err := token.SignedString(key)
	wantNoError(t, err)
	return signed
}

func TestWebIdentity(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	f := start(t, s3fake.Options{Issuers: i.Client()})
	f.bucket(t, "docs")
	admin := f.iam(f.Root())
	p, err := admin.CreateOpenIDConnectProvider(t.Context(), &iam.CreateOpenIDConnectProviderInput{Url: &i.URL, ClientIDList: []string{"sts.amazonaws.com"}})
	wantNoError(t, err)
	name := i.URL[len("https://"):]
	trust := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Federated":"` + *p.OpenIDConnectProviderArn + `"},"Action":"sts:AssumeRoleWithWebIdentity","Condition":{"StringEquals":{"` + name + `:sub":"system:serviceaccount:ns:sa"}}}]}`
	role, err := admin.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: aws.String("r"), AssumeRolePolicyDocument: &trust})
	wantNoError(t, err)
	if _, err := admin.PutRolePolicy(t.Context(), &iam.PutRolePolicyInput{RoleName: aws.String("r"), PolicyName: aws.String("p"), PolicyDocument: aws.String(allow("s3:ListBucket", "*"))}); err != nil {
		t.Fatal(err)
	}
	stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	wantNoError(t, err)
	client := sts.NewFromConfig(f.config(s3fake.Credentials{}), func(o *sts.Options) { o.Credentials = aws.AnonymousCredentials{} })
	const account, audience = "system:serviceaccount:ns:sa", "sts.amazonaws.com"
	tests := map[string]struct {
		subject, audience string
		key               *ecdsa.PrivateKey // nil for an invalid token
		begins, expires   time.Duration     // from when the subtest has its turn
		want              string
	}{
		"a token of the service account":     {account, audience, i.key, 0, time.Hour, ""},
		"a token of another service account": {"system:serviceaccount:ns:other", audience, i.key, 0, time.Hour, "AccessDenied"},
		"a token for another audience":       {account, "vault", i.key, 0, time.Hour, "InvalidIdentityToken"},
		"a token that nobody signed":         {account, audience, stranger, 0, time.Hour, "InvalidIdentityToken"},
		"an expired token":                   {account, audience, i.key, -2 * time.Hour, -time.Hour, "ExpiredTokenException"},
		"a token that expired a minute ago":  {account, audience, i.key, -time.Hour, -time.Minute, ""},
		"a token of a clock a minute ahead":  {account, audience, i.key, time.Minute, time.Hour, ""},
		"a token of a clock an hour ahead":   {account, audience, i.key, time.Hour, 2 * time.Hour, "InvalidIdentityToken"},
		"no token at all":                    {want: "InvalidIdentityToken"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			token, now := "nonsense", time.Now()
			if tc.key != nil {
				token = i.tokenFrom(t, now.Add(tc.begins), tc.subject, tc.audience, tc.key, now.Add(tc.expires))
			}
			out, err := client.AssumeRoleWithWebIdentity(t.Context(), &sts.AssumeRoleWithWebIdentityInput{RoleArn: role.Role.Arn, RoleSessionName: aws.String("pod"), WebIdentityToken: &token})
			if got := code(t, err); got != tc.want {
				t.Fatalf("got %q, want %q", got, tc.want)
			}
			if tc.want == "" {
				f.canOnlyList(t, *out.Credentials.AccessKeyId, *out.Credentials.SecretAccessKey, *out.Credentials.SessionToken)
			}
		})
	}
}

// canOnlyList checks temporary credentials that may list the bucket docs and nothing else.
func (f fake) canOnlyList(t *testing.T, id, secret, token string) {
	t.Helper()
	client := s3.NewFromConfig(f.config(s3fake.Credentials{}), func(o *s3.Options) {
		o.UsePathStyle = true
		o.Credentials = credentials.NewStaticCredentialsProvider(id, secret, token)
	})
	if _, err := client.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: aws.String("docs")}); err != nil {
		t.Errorf("the session cannot do what its role may: %v", err)
	}
	_, err := client.DeleteBucket(t.Context(), &s3.DeleteBucketInput{Bucket: aws.String("docs")})
	if got := code(t, err); got != "AccessDenied" {
		t.Errorf("the session can do what its role may not: %q", got)
	}
	without := f.s3(s3fake.Credentials{AccessKeyID: id, SecretAccessKey: secret})
	_, err = without.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: aws.String("docs")})
	if got := code(t, err); got != "InvalidToken" {
		t.Errorf("without the session token: got %q, want InvalidToken", got)
	}
}

func TestPodIdentity(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	f := start(t, s3fake.Options{Issuers: i.Client(), Clusters: map[string]string{"dev": i.URL}})
	f.bucket(t, "docs")
	admin := f.iam(f.Root())
	trust := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"pods.eks.amazonaws.com"},"Action":["sts:AssumeRole","sts:TagSession"]}]}`
	role, err := admin.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: aws.String("r"), AssumeRolePolicyDocument: &trust})
	wantNoError(t, err)
	if _, err := admin.PutRolePolicy(t.Context(), &iam.PutRolePolicyInput{RoleName: aws.String("r"), PolicyName: aws.String("p"), PolicyDocument: aws.String(allow("s3:ListBucket", "*"))}); err != nil {
		t.Fatal(err)
	}
	client := eks.NewFromConfig(f.config(f.Root()))
	in := &eks.CreatePodIdentityAssociationInput{ClusterName: aws.String("dev"), Namespace: aws.String("ns"), ServiceAccount: aws.String("sa"), RoleArn: role.Role.Arn}
	made, err := client.CreatePodIdentityAssociation(t.Context(), in)
	wantNoError(t, err)
	in.ClientRequestToken = nil // which the SDK has set
	_, err = client.CreatePodIdentityAssociation(t.Context(), in)
	if got := code(t, err); got != "ResourceInUseException" {
		t.Errorf("a second association: got %q, want ResourceInUseException", got)
	}
	list, err := client.ListPodIdentityAssociations(t.Context(), &eks.ListPodIdentityAssociationsInput{ClusterName: aws.String("dev"), Namespace: aws.String("ns")})
	if err != nil || len(list.Associations) != 1 {
		t.Errorf("list: %d associations, want 1: %v", len(list.Associations), err)
	}
	nobody := eks.NewFromConfig(f.config(f.user(t, "nobody", "")))
	_, err = nobody.DeletePodIdentityAssociation(t.Context(), &eks.DeletePodIdentityAssociationInput{ClusterName: aws.String("dev"), AssociationId: made.Association.AssociationId})
	if got := code(t, err); got != "AccessDeniedException" {
		t.Errorf("delete without permission: got %q, want AccessDeniedException", got)
	}
	if _, err := client.DeletePodIdentityAssociation(t.Context(), &eks.DeletePodIdentityAssociationInput{ClusterName: aws.String("dev"), AssociationId: made.Association.AssociationId}); err != nil {
		t.Error(err)
	}
	if left := f.Inventory().Associations; len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
