// SPDX-License-Identifier: Apache-2.0

package role

import (
	"encoding/json"
	"fmt"
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

// trust returns who may assume the role: pods of the one service account and nobody else, not even
// pods that somebody binds to the role by an association of their own.
func (r *Roles) trust(of driverkit.ServiceAccountRef) (string, error) {
	document := trustDocument{Version: "2012-10-17"}
	if r.PodIdentity != nil {
		// These are the tags that EKS gives to the sessions of pods.
		document.add("Service", podPrincipal, []string{"sts:AssumeRole", "sts:TagSession"}, map[string]string{
			"aws:RequestTag/eks-cluster-name":           r.PodIdentity.Cluster,
			"aws:RequestTag/kubernetes-namespace":       of.Namespace,
			"aws:RequestTag/kubernetes-service-account": of.Name,
		})
	}
	if r.WebIdentity != nil {
		_, issuer, _ := strings.Cut(r.WebIdentity.Provider, ":oidc-provider/")
		document.add("Federated", r.WebIdentity.Provider, []string{"sts:AssumeRoleWithWebIdentity"}, map[string]string{
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

func (d *trustDocument) add(kind, principal string, actions []string, equals map[string]string) {
	d.Statement = append(d.Statement, trustStatement{
		Effect: "Allow", Principal: map[string]string{kind: principal}, Action: actions,
		Condition: map[string]map[string]string{"StringEquals": equals},
	})
}
