// SPDX-License-Identifier: Apache-2.0

package role

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// podPrincipal is the service that assumes roles for EKS Pod Identity.
const podPrincipal = "pods.eks.amazonaws.com"

type trustDocument struct {
	Version   string           `json:"Version"`
	Statement []trustStatement `json:"Statement"`
}

type trustStatement struct {
	Effect    string                       `json:"Effect"`
	Principal map[string]string            `json:"Principal"`
	Action    []string                     `json:"Action"`
	Condition map[string]map[string]string `json:"Condition"`
}

// trust returns the trust policy of the role. Only pods of this service account may assume the role, which excludes
// pods that another association binds to it.
func (r *Roles) trust(of driverkit.ServiceAccountRef) (string, error) {
	document := trustDocument{Version: "2012-10-17"}
	if r.PodIdentity != nil {
		// EKS gives these tags to the sessions of pods.
		document.add("Service", podPrincipal, []string{"sts:AssumeRole", "sts:TagSession"}, "StringLike", map[string]string{
			"aws:RequestTag/eks-cluster-arn":            "arn:" + r.Partition + ":eks:" + r.PodIdentity.Region + ":*:cluster/" + r.PodIdentity.Cluster,
			"aws:RequestTag/kubernetes-namespace":       of.Namespace,
			"aws:RequestTag/kubernetes-service-account": of.Name,
		})
	}
	if r.WebIdentity != nil {
		_, issuer, _ := strings.Cut(r.WebIdentity.Provider, ":oidc-provider/")
		document.add("Federated", r.WebIdentity.Provider, []string{"sts:AssumeRoleWithWebIdentity"}, "StringEquals", map[string]string{
			issuer + ":sub": "system:serviceaccount:" + of.Namespace + ":" + of.Name,
			issuer + ":aud": r.WebIdentity.Audience,
		})
	}
	text, err := json.Marshal(document)
	if err != nil {
		return "", fmt.Errorf("build the trust policy of service account %s/%s: %w", of.Namespace, of.Name, err)
	}
	return string(text), nil
}

func (d *trustDocument) add(kind, principal string, actions []string, operator string, keys map[string]string) {
	d.Statement = append(d.Statement, trustStatement{
		Effect: "Allow", Principal: map[string]string{kind: principal}, Action: actions,
		Condition: map[string]map[string]string{operator: keys},
	})
}

// sameCluster reports whether two trust policies have a statement in common. Only the trust policy reliably
// identifies the cluster, because names and marks depend on configuration. The configuration may add or remove one of
// the ways to authenticate, but a role that trusts none of them belongs to pods of another cluster.
func sameCluster(a, b string) bool {
	var one, other trustDocument
	if json.Unmarshal([]byte(a), &one) != nil || json.Unmarshal([]byte(b), &other) != nil {
		return false
	}
	return slices.ContainsFunc(one.Statement, func(found trustStatement) bool {
		return slices.ContainsFunc(other.Statement, func(own trustStatement) bool { return reflect.DeepEqual(found, own) })
	})
}
