// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"fmt"

	"google.golang.org/grpc/codes"
)

const (
	modelBuckets  = 10
	modelAccounts = 5
)

// model is the expected state after the calls of LIF-006: a few buckets, and accounts on them.
type model struct {
	c        *C
	buckets  []*bucket
	exists   []bool
	accounts [][]*access
}

// runModel makes random calls and compares every response with the model.
func runModel(c *C) {
	m := &model{c: c, exists: make([]bool, modelBuckets)}
	for range modelBuckets {
		b := c.generated()
		m.buckets = append(m.buckets, b)
		accounts := make([]*access, modelAccounts)
		for i := range accounts {
			accounts[i] = c.accessTo(b)
		}
		m.accounts = append(m.accounts, accounts)
	}
	for i := range c.suite.limits.Operations {
		if problem := m.step(); problem != "" {
			c.Fail("operation %d (seed %d): %s", i+1, c.suite.seed, problem)
		}
	}
}

// step makes one call and returns how its response differs from the model, or "".
func (m *model) step() string {
	c, at := m.c, m.c.random.IntN(modelBuckets)
	b := m.buckets[at]
	a := m.accounts[at][c.random.IntN(modelAccounts)]
	switch c.random.IntN(6) {
	case 0, 1:
		_, code := try(c.ctx, c, c.provisioner.DriverCreateBucket, b.create())
		m.exists[at] = true
		return differs("DriverCreateBucket", code, codes.OK)
	case 2:
		want := codes.NotFound
		if m.exists[at] {
			want = codes.OK
		}
		_, code := try(c.ctx, c, c.provisioner.DriverGetBucket, b.get())
		return differs("DriverGetBucket", code, want)
	case 3:
		if !m.exists[at] {
			return ""
		}
		response, code := try(c.ctx, c, c.provisioner.DriverGrantBucketAccess, a.request)
		if code == codes.OK {
			a.response = response
			c.worksIfProbed(a, b)
		}
		return differs("DriverGrantBucketAccess", code, codes.OK)
	case 4:
		return m.revoke(b, a)
	default:
		return m.delete(at)
	}
}

func (m *model) revoke(b *bucket, a *access) string {
	_, code := try(m.c.ctx, m.c, m.c.provisioner.DriverRevokeBucketAccess, a.revoke())
	if code == codes.OK && a.response != nil {
		m.c.uselessIfProbed(a, b, "the access was revoked")
		a.response = nil
	}
	return differs("DriverRevokeBucketAccess", code, codes.OK)
}

// delete first revokes all accesses, as COSI does.
func (m *model) delete(at int) string {
	for _, a := range m.accounts[at] {
		if problem := m.revoke(m.buckets[at], a); problem != "" {
			return problem
		}
	}
	_, code := try(m.c.ctx, m.c, m.c.provisioner.DriverDeleteBucket, m.buckets[at].delete())
	m.exists[at] = false
	return differs("DriverDeleteBucket", code, codes.OK)
}

func differs(rpc string, got, want codes.Code) string {
	if got == want {
		return ""
	}
	return fmt.Sprintf("%s returns %s, but the model expects %s", rpc, got, want)
}
