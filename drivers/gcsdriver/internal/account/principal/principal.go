// SPDX-License-Identifier: Apache-2.0

// Package principal manages accounts without keys: a Kubernetes service account uses buckets as the principal that
// Google knows it by.
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

// claim is what tells the bindings of this access on a bucket from those of others. The condition
// says nothing that the binding would not: a bucket's policy is about that bucket alone.
func (a *Principals) claim(request account.Request, bucket string) policy.Claim {
	owner := account.MarkPrefix + a.Owner() + ";"
	return policy.Claim{
		Title:       "cosi " + request.ID,
		Description: owner + request.Hash,
		Owner:       owner,
		Expression:  `resource.name.startsWith("projects/_/buckets/` + bucket + `")`,
	}
}
