// SPDX-License-Identifier: Apache-2.0

// Package eksapi serves the part of Amazon EKS that gives credentials to pods: Pod Identity associations (service
// eks) and AssumeRoleForPodIdentity (service eks-auth). Callers must verify the signature of a request before they
// call this package, which then evaluates the policies.
package eksapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cooper-cosi/cooper/fakes/internal/accept"
	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
	"github.com/cooper-cosi/cooper/fakes/internal/journal"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iam"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iamapi"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iampolicy"
)

// servicePrincipal is the principal that a role must trust for Pod Identity, and audience the audience of a pod's
// token.
const (
	servicePrincipal = "pods.eks.amazonaws.com"
	audience         = "pods.eks.amazonaws.com"
	tableAssociation = "eks.association"
)

// Options are the arguments of New.
type Options struct {
	Account *iam.Account
	Journal journal.Journal
	Region  string
	// Clusters maps the existing clusters to the issuers of their service account tokens.
	Clusters map[string]string
	Tokens   *iamapi.TokenVerifier
	Now      func() time.Time
}

// API handles EKS requests.
type API struct {
	Options
	mu           sync.Mutex
	associations map[string]*kept
	next         int
}

// Association binds a service account of a cluster to a role.
type Association struct {
	ClusterName    string            `json:"clusterName"`
	Namespace      string            `json:"namespace"`
	ServiceAccount string            `json:"serviceAccount"`
	RoleARN        string            `json:"roleArn,omitempty"`
	ARN            string            `json:"associationArn"`
	ID             string            `json:"associationId"`
	Tags           map[string]string `json:"tags,omitempty"`
	CreatedAt      float64           `json:"createdAt,omitempty"`
	ModifiedAt     float64           `json:"modifiedAt,omitempty"`
}

// kept is an association with the token of the request that created it. Responses do not contain the token.
type kept struct {
	Association

	Token string `json:"clientRequestToken,omitempty"`
}

// New returns the API with the associations in the journal.
func New(o Options) (*API, error) {
	a := &API{Options: o, associations: map[string]*kept{}}
	if err := journal.Load(o.Journal, tableAssociation, a.associations); err != nil {
		return nil, err
	}
	for id := range a.associations {
		if n, err := strconv.ParseInt(strings.TrimPrefix(id, "a-"), 36, 64); err == nil {
			a.next = max(a.next, int(n))
		}
	}
	return a, nil
}

// Request is one call.
type Request struct {
	Method    string
	Path      string
	Query     url.Values
	Body      []byte
	Principal iam.Principal
	Context   iampolicy.Context
}

// Operation returns the operation of a request, or "" if it is not implemented.
func Operation(method, path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if len(parts) < 3 || parts[0] != "clusters" {
		return ""
	}
	switch {
	case parts[2] == "assume-role-for-pod-identity" && method == http.MethodPost && len(parts) == 3:
		return "eks-auth:AssumeRoleForPodIdentity"
	case parts[2] != "pod-identity-associations" || len(parts) > 4:
		return ""
	}
	return map[string]string{
		"POST 3": "eks:CreatePodIdentityAssociation", "GET 3": "eks:ListPodIdentityAssociations", "GET 4": "eks:DescribePodIdentityAssociation",
		"DELETE 4": "eks:DeletePodIdentityAssociation",
	}[method+" "+strconv.Itoa(len(parts))]
}

// Operations returns the names of all implemented operations.
func Operations() []string {
	return []string{
		"eks-auth:AssumeRoleForPodIdentity", "eks:CreatePodIdentityAssociation", "eks:DeletePodIdentityAssociation",
		"eks:DescribePodIdentityAssociation", "eks:ListPodIdentityAssociations",
	}
}

// Serve handles one request and returns the response, which the caller encodes as JSON.
func (a *API) Serve(r Request) (any, error) {
	op := Operation(r.Method, r.Path)
	if op == "" {
		return nil, awserr.Newf(http.StatusNotImplemented, "NotImplemented", "%s %s is not supported by this fake", r.Method, r.Path)
	}
	parts := strings.Split(strings.Trim(r.Path, "/"), "/")
	cluster, id := parts[1], ""
	if len(parts) == 4 {
		id = parts[3]
	}
	resource := a.arn("cluster/" + cluster)
	if id != "" {
		resource = a.arn("podidentityassociation/" + cluster + "/" + id)
	}
	if err := a.authorize(r, op, resource); err != nil {
		return nil, err
	}
	if err := r.checkParameters(op); err != nil {
		return nil, err
	}
	issuer, ok := a.Clusters[cluster]
	if !ok {
		return nil, awserr.Newf(http.StatusNotFound, "ResourceNotFoundException", "No cluster found for name: %s.", cluster)
	}
	switch op {
	case "eks:CreatePodIdentityAssociation":
		return a.create(r, cluster)
	case "eks:ListPodIdentityAssociations":
		return a.list(r, cluster)
	case "eks:DeletePodIdentityAssociation":
		return a.remove(cluster, id)
	case "eks:DescribePodIdentityAssociation":
		return a.describe(cluster, id)
	}
	return a.assume(r, cluster, issuer)
}

func (a *API) arn(rest string) string {
	return "arn:" + a.Account.Partition + ":eks:" + a.Region + ":" + a.Account.Options.ID + ":" + rest
}

func (a *API) authorize(r Request, action, resource string) error {
	if err := iamapi.Authorize(r.Principal, action, resource, r.Context); err != nil {
		return awserr.Newf(http.StatusForbidden, "AccessDeniedException", "%s", awserr.From(err).Message)
	}
	return nil
}

// read parses the body, and rejects unimplemented fields by name.
func (r Request) read(into any) error {
	dec := json.NewDecoder(bytes.NewReader(r.Body))
	dec.DisallowUnknownFields()
	err := dec.Decode(into)
	if err == nil {
		return nil
	}
	if _, field, unknown := strings.Cut(err.Error(), "unknown field "); unknown {
		return awserr.Newf(http.StatusNotImplemented, "NotImplemented", "The field %s is not supported by this fake.", field)
	}
	return awserr.Newf(http.StatusBadRequest, "InvalidParameterException", "The request body is not valid JSON.")
}

// listParameters are the parameters of ListPodIdentityAssociations; the other operations have none.
var listParameters = accept.Names("maxResults", "namespace", "nextToken", "serviceAccount")

func (r Request) checkParameters(op string) error {
	for name := range r.Query {
		if op != "eks:ListPodIdentityAssociations" || !listParameters.Has(name) {
			return awserr.Newf(http.StatusNotImplemented, "NotImplemented", "The parameter %s is not supported by this fake.", name)
		}
	}
	return nil
}

type envelope struct {
	Association Association `json:"association"`
}

func (a *API) create(r Request, cluster string) (any, error) {
	var in struct {
		Namespace      string            `json:"namespace"`
		ServiceAccount string            `json:"serviceAccount"`
		RoleARN        string            `json:"roleArn"`
		Tags           map[string]string `json:"tags"`
		// Token makes a repeated call the same one.
		Token string `json:"clientRequestToken"`
	}
	if err := r.read(&in); err != nil {
		return nil, err
	}
	if in.Namespace == "" || in.ServiceAccount == "" || in.RoleARN == "" {
		return nil, awserr.Newf(http.StatusBadRequest, "InvalidParameterException", "namespace, serviceAccount and roleArn are required.")
	}
	role, ok := a.Account.RoleByARN(in.RoleARN)
	if !ok {
		return nil, awserr.Newf(http.StatusBadRequest, "InvalidParameterException", "Role provided in the request does not exist.")
	}
	passed := r
	passed.Context = maps.Clone(r.Context)
	passed.Context.Set("iam:PassedToService", servicePrincipal)
	passed.Context.Set("iam:AssociatedResourceArn", a.arn("cluster/"+cluster))
	if err := a.authorize(passed, "iam:PassRole", in.RoleARN); err != nil {
		return nil, err
	}
	if !trusts(role, in.RoleARN, r.Context, a.sessionTags(cluster, in.Namespace, in.ServiceAccount)) {
		return nil, awserr.Newf(http.StatusBadRequest, "InvalidParameterException", "Trust policy of the role provided is invalid. Follow the official documentation to resolve the issue.")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if other := a.bound(cluster, in.Namespace, in.ServiceAccount); other != nil {
		if in.Token != "" && in.Token == other.Token && in.RoleARN == other.RoleARN && maps.Equal(in.Tags, other.Tags) {
			return envelope{other.Association}, nil
		}
		return nil, awserr.Newf(http.StatusConflict, "ResourceInUseException", "Association already exists: %s", other.ID)
	}
	a.next++
	now := float64(a.Now().Unix())
	one := &kept{Token: in.Token, Association: Association{
		ClusterName: cluster, Namespace: in.Namespace, ServiceAccount: in.ServiceAccount, RoleARN: in.RoleARN, Tags: in.Tags,
		ID: fmt.Sprintf("a-%017s", strconv.FormatInt(int64(a.next), 36)), CreatedAt: now, ModifiedAt: now,
	}}
	one.ARN = a.arn("podidentityassociation/" + cluster + "/" + one.ID)
	if err := journal.Save(a.Journal, tableAssociation, one.ID, one); err != nil {
		return nil, fmt.Errorf("save an association: %w", err)
	}
	a.associations[one.ID] = one
	return envelope{one.Association}, nil
}

// sessionTags returns the tags that Pod Identity gives to a pod's session.
func (a *API) sessionTags(cluster, namespace, account string) []iam.Tag {
	return []iam.Tag{
		{Key: "eks-cluster-arn", Value: a.arn("cluster/" + cluster)},
		{Key: "eks-cluster-name", Value: cluster},
		{Key: "kubernetes-namespace", Value: namespace},
		{Key: "kubernetes-service-account", Value: account},
	}
}

// trusts reports whether the role's trust policy allows Pod Identity to assume the role and to tag the session. The
// tags are condition keys for the policy.
func trusts(role iam.Role, arn string, base iampolicy.Context, tags []iam.Tag) bool {
	trust, err := iampolicy.ParseTrust(role.Trust)
	if err != nil {
		return false
	}
	ctx := maps.Clone(base)
	for _, tag := range tags {
		ctx.Set("aws:RequestTag/"+tag.Key, tag.Value)
	}
	for _, action := range []string{"sts:AssumeRole", "sts:TagSession"} {
		if trust.Evaluate(iampolicy.Request{Action: action, Resource: arn, Context: ctx, Principal: iampolicy.Caller{Service: servicePrincipal}}) != iampolicy.Allow {
			return false
		}
	}
	return true
}

func (a *API) list(r Request, cluster string) (any, error) {
	limit := 100
	if v := r.Query.Get("maxResults"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 || n > 100 {
			return nil, awserr.Newf(http.StatusBadRequest, "InvalidParameterException", "maxResults must be between 1 and 100.")
		}
		limit = n
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	out := struct {
		Associations []Association `json:"associations"`
		NextToken    string        `json:"nextToken,omitempty"`
	}{Associations: []Association{}}
	for _, id := range slices.Sorted(maps.Keys(a.associations)) {
		one := a.associations[id].Association
		namespace, account := r.Query.Get("namespace"), r.Query.Get("serviceAccount")
		if one.ClusterName != cluster || id <= r.Query.Get("nextToken") || (namespace != "" && namespace != one.Namespace) || (account != "" && account != one.ServiceAccount) {
			continue
		}
		if len(out.Associations) == limit {
			out.NextToken = out.Associations[limit-1].ID
			break
		}
		one.RoleARN, one.Tags, one.CreatedAt, one.ModifiedAt = "", nil, 0, 0
		out.Associations = append(out.Associations, one)
	}
	return out, nil
}

func (a *API) find(cluster, id string) (*kept, error) {
	one := a.associations[id]
	if one == nil || one.ClusterName != cluster {
		return nil, awserr.Newf(http.StatusNotFound, "ResourceNotFoundException", "The specified association does not exist: %s", id)
	}
	return one, nil
}

func (a *API) describe(cluster, id string) (any, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	one, err := a.find(cluster, id)
	if err != nil {
		return nil, err
	}
	return envelope{one.Association}, nil
}

func (a *API) remove(cluster, id string) (any, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	one, err := a.find(cluster, id)
	if err != nil {
		return nil, err
	}
	if err := a.Journal.Append(journal.Delete(tableAssociation, id)); err != nil {
		return nil, fmt.Errorf("remove an association: %w", err)
	}
	delete(a.associations, id)
	return envelope{one.Association}, nil
}

// Inventory lists the associations as "cluster/namespace/serviceAccount".
func (a *API) Inventory() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []string
	for _, one := range a.associations {
		out = append(out, one.ClusterName+"/"+one.Namespace+"/"+one.ServiceAccount)
	}
	slices.Sort(out)
	return out
}

// assume gives a pod the credentials of the role that its service account is bound to.
func (a *API) assume(r Request, cluster, issuer string) (any, error) {
	var in struct {
		Token string `json:"token"`
	}
	if err := r.read(&in); err != nil {
		return nil, err
	}
	if in.Token == "" {
		return nil, awserr.Newf(http.StatusBadRequest, "InvalidParameterException", "The request has no token.")
	}
	subject, err := a.Tokens.Subject(in.Token, issuer, audience)
	if err != nil {
		return nil, awserr.Newf(http.StatusBadRequest, "InvalidTokenException", "%s", awserr.From(err).Message)
	}
	parts := strings.Split(subject, ":")
	if len(parts) != 4 || parts[0] != "system" || parts[1] != "serviceaccount" {
		return nil, awserr.Newf(http.StatusBadRequest, "InvalidTokenException", "The token does not belong to a service account.")
	}
	a.mu.Lock()
	one := a.bound(cluster, parts[2], parts[3])
	a.mu.Unlock()
	if one == nil {
		return nil, awserr.Newf(http.StatusNotFound, "ResourceNotFoundException", "There is no association for service account %s in namespace %s.", parts[3], parts[2])
	}
	role, ok := a.Account.RoleByARN(one.RoleARN)
	tags := a.sessionTags(cluster, parts[2], parts[3])
	if !ok || !trusts(role, one.RoleARN, r.Context, tags) {
		return nil, awserr.Newf(http.StatusForbidden, "AccessDeniedException", "Role %s cannot be assumed by EKS Pod Identity.", one.RoleARN)
	}
	session := iam.NewSession{Role: role, Name: "eks-" + cluster + "-" + one.ID, Duration: 6 * time.Hour, Tags: tags}
	for _, tag := range tags { // "All of the session tags that are added by EKS Pod Identity are transitive" (Amazon EKS User Guide)
		session.Transitive = append(session.Transitive, tag.Key)
	}
	s, err := a.Account.CreateSession(session)
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"subject": map[string]string{"namespace": parts[2], "serviceAccount": parts[3]}, "audience": audience,
		"podIdentityAssociation": map[string]string{"associationArn": one.ARN, "associationId": one.ID},
		"assumedRoleUser": map[string]string{
			"arn":          "arn:" + a.Account.Partition + ":sts::" + a.Account.Options.ID + ":assumed-role/" + role.Name + "/" + s.Name,
			"assumeRoleId": role.ID + ":" + s.Name,
		},
		"credentials": map[string]any{"accessKeyId": s.KeyID, "secretAccessKey": string(s.Secret), "sessionToken": string(s.Token), "expiration": s.Expires.Unix()},
	}, nil
}

// bound returns the association of a service account, or nil. The caller holds the lock. Associations never change.
func (a *API) bound(cluster, namespace, account string) *kept {
	for _, one := range a.associations {
		if one.ClusterName == cluster && one.Namespace == namespace && one.ServiceAccount == account {
			return one
		}
	}
	return nil
}
