// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/cooper-cosi/cooper/fakes/s3fake"
)

// assumed is the response of AssumeRoleForPodIdentity (Amazon EKS Auth API Reference).
type assumed struct {
	Credentials struct {
		AccessKeyID     string `json:"accessKeyId"`
		SecretAccessKey string `json:"secretAccessKey"`
		SessionToken    string `json:"sessionToken"`
	} `json:"credentials"`
	Subject struct {
		Namespace      string `json:"namespace"`
		ServiceAccount string `json:"serviceAccount"`
	} `json:"subject"`
}

// assumeForPod calls as the agent on a node does, and returns the response or its error code.
func (f fake) assumeForPod(t *testing.T, c s3fake.Credentials, token string) (assumed, string) {
	t.Helper()
	body, err := json.Marshal(map[string]string{"token": token})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.URL()+"/clusters/dev/assume-role-for-pod-identity", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(body)
	creds := aws.Credentials{AccessKeyID: c.AccessKeyID, SecretAccessKey: c.SecretAccessKey}
	if err := v4.NewSigner().SignHTTP(t.Context(), creds, req, hex.EncodeToString(sum[:]), "eks-auth", "us-east-1", time.Now()); err != nil {
		t.Fatal(err)
	}
	resp, err := f.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	var out assumed
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return out, resp.Header.Get("X-Amzn-Errortype")
}

func TestAssumeRoleForPodIdentity(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	f := start(t, s3fake.Options{Issuers: i.Client(), Clusters: map[string]string{"dev": i.URL}})
	f.bucket(t, "docs")
	admin := f.iam(f.Root())
	trust := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"pods.eks.amazonaws.com"},"Action":["sts:AssumeRole","sts:TagSession"]}]}`
	role, err := admin.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: aws.String("r"), AssumeRolePolicyDocument: &trust})
	if err != nil {
		t.Fatal(err)
	}
	// The role's policy holds for the pod's own namespace alone, which the session's tags say.
	policy := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:ListBucket","Resource":"*","Condition":{"StringEquals":{"aws:PrincipalTag/kubernetes-namespace":"ns"}}}]}`
	if _, err := admin.PutRolePolicy(t.Context(), &iam.PutRolePolicyInput{RoleName: aws.String("r"), PolicyName: aws.String("p"), PolicyDocument: &policy}); err != nil {
		t.Fatal(err)
	}
	in := &eks.CreatePodIdentityAssociationInput{ClusterName: aws.String("dev"), Namespace: aws.String("ns"), ServiceAccount: aws.String("sa"), RoleArn: role.Role.Arn}
	if _, err := eks.NewFromConfig(f.config(f.Root())).CreatePodIdentityAssociation(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	node, nobody := f.user(t, "node", allow("eks-auth:AssumeRoleForPodIdentity", "*")), f.user(t, "nobody", "")
	stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	const audience = "pods.eks.amazonaws.com"
	hour := time.Now().Add(time.Hour)
	tests := map[string]struct {
		caller s3fake.Credentials
		token  string
		want   string
	}{
		"the service account's own token":           {node, i.token(t, "system:serviceaccount:ns:sa", audience, i.key, hour), ""},
		"a service account without an association":  {node, i.token(t, "system:serviceaccount:ns:other", audience, i.key, hour), "ResourceNotFoundException"},
		"the same name in another namespace":        {node, i.token(t, "system:serviceaccount:other:sa", audience, i.key, hour), "ResourceNotFoundException"},
		"a token for another audience":              {node, i.token(t, "system:serviceaccount:ns:sa", "sts.amazonaws.com", i.key, hour), "InvalidTokenException"},
		"a token that the cluster did not sign":     {node, i.token(t, "system:serviceaccount:ns:sa", audience, stranger, hour), "InvalidTokenException"},
		"a token of something else than an account": {node, i.token(t, "system:node:n", audience, i.key, hour), "InvalidTokenException"},
		"a node that may not ask":                   {nobody, i.token(t, "system:serviceaccount:ns:sa", audience, i.key, hour), "AccessDeniedException"},
		"a node with a wrong secret":                {s3fake.Credentials{AccessKeyID: node.AccessKeyID, SecretAccessKey: "wrong"}, "any", "SignatureDoesNotMatch"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, code := f.assumeForPod(t, tc.caller, tc.token)
			if code != tc.want {
				t.Fatalf("got %q, want %q", code, tc.want)
			}
			if code != "" {
				return
			}
			if got.Subject.Namespace != "ns" || got.Subject.ServiceAccount != "sa" {
				t.Errorf("subject is %+v", got.Subject)
			}
			f.canOnlyList(t, got.Credentials.AccessKeyID, got.Credentials.SecretAccessKey, got.Credentials.SessionToken)
		})
	}
}
