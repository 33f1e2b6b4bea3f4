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
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/smithy-go"
	"github.com/google/uuid"

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
	wantNoError(t, err)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.URL()+"/clusters/dev/assume-role-for-pod-identity", bytes.NewReader(body))
	wantNoError(t, err)
	sum := sha256.Sum256(body)
	creds := aws.Credentials{AccessKeyID: c.AccessKeyID, SecretAccessKey: c.SecretAccessKey}
	wantNoError(t, v4.NewSigner().SignHTTP(t.Context(), creds, req, hex.EncodeToString(sum[:]), "eks-auth", "us-east-1", time.Now()))
	resp, err := f.http.Do(req)
	wantNoError(t, err)
	raw, err := io.ReadAll(resp.Body)
	wantNoError(t, err)
	wantNoError(t, resp.Body.Close())
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
	wantNoError(t, err)
	// The role's policy holds for the pod's own namespace alone, which the session's tags say.
	policy := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:ListBucket","Resource":"*","Condition":{"StringEquals":{"aws:PrincipalTag/kubernetes-namespace":"ns"}}}]}`
	if _, err := admin.PutRolePolicy(t.Context(), &iam.PutRolePolicyInput{RoleName: aws.String("r"), PolicyName: aws.String("p"), PolicyDocument: &policy}); err != nil {
		t.Fatal(err)
	}
	in := &eks.CreatePodIdentityAssociationInput{ClusterName: aws.String("dev"), Namespace: aws.String("ns"), ServiceAccount: aws.String("sa"), RoleArn: role.Role.Arn}
	if _, err := eks.NewFromConfig(f.config(f.Root())).CreatePodIdentityAssociation(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	// Ignoring an unimplemented field of an association would create a different one.
	for _, other := range []eks.CreatePodIdentityAssociationInput{{DisableSessionTags: aws.Bool(true)}, {TargetRoleArn: role.Role.Arn}, {Policy: &policy}} {
		other.ClusterName, other.Namespace, other.ServiceAccount, other.RoleArn = in.ClusterName, in.Namespace, aws.String("other"), in.RoleArn
		if _, err := eks.NewFromConfig(f.config(f.Root())).CreatePodIdentityAssociation(t.Context(), &other); code(t, err) != "NotImplemented" {
			t.Errorf("an association with more: %v", err)
		}
	}
	// The token of a request makes a repeated one the same.
	in.ServiceAccount, in.ClientRequestToken = aws.String("repeated"), aws.String("token")
	first, err := eks.NewFromConfig(f.config(f.Root())).CreatePodIdentityAssociation(t.Context(), in)
	wantNoError(t, err)
	again, err := eks.NewFromConfig(f.config(f.Root())).CreatePodIdentityAssociation(t.Context(), in)
	if err != nil || *again.Association.AssociationId != *first.Association.AssociationId {
		t.Errorf("the same request again: %v", err)
	}
	in.Tags = map[string]string{"a": "b"}
	if _, err := eks.NewFromConfig(f.config(f.Root())).CreatePodIdentityAssociation(t.Context(), in); code(t, err) != "ResourceInUseException" {
		t.Errorf("another request with its token: %v", err)
	}
	in.ServiceAccount, in.RoleArn = aws.String("roleless"), aws.String("arn:aws:iam::000000000000:role/nobody")
	if _, err := eks.NewFromConfig(f.config(f.Root())).CreatePodIdentityAssociation(t.Context(), in); code(t, err) != "InvalidParameterException" {
		t.Errorf("a role that does not exist: %v", err)
	}
	node, nobody := f.user(t, "node", allow("eks-auth:AssumeRoleForPodIdentity", "*")), f.user(t, "nobody", "")
	stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	wantNoError(t, err)
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

// TestTransitiveTagsOfPods assumes a second role from a pod. Its session inherits the tags of the pod's session ("Grant Pods
// access to AWS resources based on tags" in the Amazon EKS User Guide).
func TestTransitiveTagsOfPods(t *testing.T) {
	t.Parallel()
	const pods = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"pods.eks.amazonaws.com"},"Action":["sts:AssumeRole","sts:TagSession"]}]}`
	const tagged = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:ListBucket","Resource":"*","Condition":{"StringEquals":{` +
		`"aws:PrincipalTag/eks-cluster-name":"dev","aws:PrincipalTag/kubernetes-namespace":"ns","aws:PrincipalTag/kubernetes-service-account":"sa"}}}]}`
	i := newIssuer(t)
	f := start(t, s3fake.Options{Issuers: i.Client(), Clusters: map[string]string{"dev": i.URL}})
	f.bucket(t, "docs")
	w := &world{Server: f.Server, known: map[string]string{}}
	for _, op := range []operation{
		query("CreateRole", "RoleName=pod", "AssumeRolePolicyDocument="+pods), query("PutRolePolicy", "RoleName=pod", "PolicyName=p", "PolicyDocument="+allow("sts:*", "*")),
		query("CreateRole", "RoleName=second", "AssumeRolePolicyDocument="+tagsToo), query("PutRolePolicy", "RoleName=second", "PolicyName=p", "PolicyDocument="+tagged),
	} {
		if got := w.send(t, f.Root(), op); got.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", op.body, got.Code, got.Body)
		}
	}
	_, err := eks.NewFromConfig(f.config(f.Root())).CreatePodIdentityAssociation(t.Context(), &eks.CreatePodIdentityAssociationInput{
		ClusterName: aws.String("dev"), Namespace: aws.String("ns"), ServiceAccount: aws.String("sa"), RoleArn: aws.String("arn:aws:iam::000000000000:role/pod"),
	})
	wantNoError(t, err)
	token := i.token(t, "system:serviceaccount:ns:sa", "pods.eks.amazonaws.com", i.key, time.Now().Add(time.Hour))
	pod, code := f.assumeForPod(t, f.user(t, "node", allow("eks-auth:AssumeRoleForPodIdentity", "*")), token)
	if code != "" {
		t.Fatal(code)
	}
	first := aws.Credentials{AccessKeyID: pod.Credentials.AccessKeyID, SecretAccessKey: pod.Credentials.SecretAccessKey, SessionToken: pod.Credentials.SessionToken}
	second := w.assume(t, first, "RoleArn=arn:aws:iam::000000000000:role/second", "RoleSessionName=second")
	if got := w.as(t, second, operation{method: http.MethodGet, path: "/docs?list-type=2"}); got.Code != http.StatusOK {
		t.Errorf("the second session cannot list: %d %s", got.Code, got.Body)
	}
}

// TestConditionsOnWhatIsGiven restricts what a user may give to others: a user's existing boundary, and the service
// and cluster that a role is passed to ("Delegating responsibility to others using permissions boundaries" and
// "Granting a user permissions to pass a role to an AWS service" in the IAM User Guide).
func TestConditionsOnWhatIsGiven(t *testing.T) {
	t.Parallel()
	f := start(t, s3fake.Options{Clusters: map[string]string{"dev": "https://oidc.example.com"}})
	admin, document := f.iam(f.Root()), aws.String(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:*","Resource":"*"}]}`)
	bound, err := admin.CreatePolicy(t.Context(), &iam.CreatePolicyInput{PolicyName: aws.String("bound"), PolicyDocument: document})
	wantNoError(t, err)
	for user, boundary := range map[string]*string{"bounded": bound.Policy.Arn, "free": nil} {
		if _, err := admin.CreateUser(t.Context(), &iam.CreateUserInput{UserName: &user, PermissionsBoundary: boundary}); err != nil {
			t.Fatal(err)
		}
	}
	trust := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"pods.eks.amazonaws.com"},"Action":["sts:AssumeRole","sts:TagSession"]}]}`
	role, err := admin.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: aws.String("r"), AssumeRolePolicyDocument: &trust})
	wantNoError(t, err)
	under := func(actions, condition string) s3fake.Credentials {
		return f.user(t, uuid.NewString(), `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"eks:*","Resource":"*"},`+
			`{"Effect":"Allow","Action":"`+actions+`","Resource":"*","Condition":{`+condition+`}}]}`)
	}
	put := func(user string) func(caller s3fake.Credentials) error {
		return func(caller s3fake.Credentials) error {
			_, err := f.iam(caller).PutUserPolicy(t.Context(), &iam.PutUserPolicyInput{UserName: &user, PolicyName: aws.String("p"), PolicyDocument: document})
			return err
		}
	}
	bind := func(caller s3fake.Credentials) error {
		_, err := eks.NewFromConfig(f.config(caller)).CreatePodIdentityAssociation(t.Context(), &eks.CreatePodIdentityAssociationInput{
			ClusterName: aws.String("dev"), Namespace: aws.String("ns"), ServiceAccount: aws.String(uuid.NewString()), RoleArn: role.Role.Arn,
		})
		return err
	}
	bounded := `"StringEquals":{"iam:PermissionsBoundary":"` + *bound.Policy.Arn + `"}`
	tests := map[string]struct {
		caller s3fake.Credentials
		try    func(s3fake.Credentials) error
		want   string
	}{
		"a policy for a user with the boundary":   {under("iam:PutUserPolicy", bounded), put("bounded"), ""},
		"a policy for a user without it":          {under("iam:PutUserPolicy", bounded), put("free"), "AccessDenied"},
		"a role to pods":                          {under("iam:PassRole", `"StringEquals":{"iam:PassedToService":"pods.eks.amazonaws.com"}`), bind, ""},
		"a role to another service":               {under("iam:PassRole", `"StringEquals":{"iam:PassedToService":"lambda.amazonaws.com"}`), bind, "AccessDeniedException"},
		"a role to pods of the cluster":           {under("iam:PassRole", `"ArnLike":{"iam:AssociatedResourceArn":"arn:aws:eks:*:*:cluster/dev"}`), bind, ""},
		"a role to pods of another than that one": {under("iam:PassRole", `"ArnLike":{"iam:AssociatedResourceArn":"arn:aws:eks:*:*:cluster/x"}`), bind, "AccessDeniedException"},
	}
	for name, tc := range tests {
		var refused smithy.APIError
		if err := tc.try(tc.caller); tc.want == "" && err != nil || tc.want != "" && (!errors.As(err, &refused) || refused.ErrorCode() != tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}
