// SPDX-License-Identifier: Apache-2.0

// Package principal manages accounts without keys. Pods access buckets with the identity of their Kubernetes service
// account, which the IAM policies of the buckets name as a principal.
package principal

import (
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/account"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/policy"
)

// Notes of an access without keys.
const (
	noteParams    = "params"
	notePrincipal = "principal"
)

// Principals manages the bindings of Kubernetes service accounts in the buckets of one project.
type Principals struct {
	*account.Project
}

// claim returns the claim that distinguishes the bindings of this access on a bucket from those of others. Its
// condition does not restrict the binding, because a bucket's policy applies only to that bucket.
func (a *Principals) claim(request account.Request, bucket string) policy.Claim {
	owner := account.MarkPrefix + a.Owner() + ";"
	return policy.Claim{
		Title:       "cosi " + request.ID,
		Description: owner + request.Hash,
		Owner:       owner,
		Expression:  `resource.name.startsWith("projects/_/buckets/` + bucket + `")`,
	}
}
