// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"google.golang.org/grpc/codes"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
)

// This file contains the actions of users and administrators, and the faults, of the model.

// pickKey returns a random key whose value passes, or false if there is none.
func pickKey[V any](m *model, all map[string]V, passes func(V) bool) (string, bool) {
	keys := slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(k string) bool { return !passes(all[k]) })
	if len(keys) == 0 {
		return "", false
	}
	return keys[m.random.IntN(len(keys))], true
}

// pick returns a random element.
func pick[V any](m *model, all ...V) V { return all[m.random.IntN(len(all))] }

func (m *model) createClaim() bool {
	name := fmt.Sprintf("claim-%d", m.random.IntN(names))
	if m.claims[name] != nil {
		return false
	}
	class, policy := "fast", cosiapi.DeletionPolicyDelete
	if m.random.IntN(4) == 0 {
		class, policy = "kept", cosiapi.DeletionPolicyRetain
	}
	claim := m.claim(name, class)
	m.create(claim)
	m.claims[name] = &modelClaim{object: claim, bucket: cosiapi.BucketNameFor(claim.UID), policy: policy}
	return true
}

// importBucket imports and claims a bucket, in either order. The bucket may already be imported.
func (m *model) importBucket() bool {
	name := fmt.Sprintf("claim-%d", m.random.IntN(names))
	if m.claims[name] != nil {
		return false
	}
	number := m.next()
	if len(m.existing) == 0 || m.random.IntN(3) > 0 {
		id := fmt.Sprintf("existing-%d", number)
		m.must(m.driver.AddBucket(id))
		m.existing = append(m.existing, id)
	}
	bucket := m.imported(fmt.Sprintf("import-%d", number), pick(m, m.existing...), name)
	claim := m.importing(name, fmt.Sprintf("import-%d", number))
	if m.random.IntN(2) == 0 {
		m.create(claim, bucket)
	} else {
		m.create(bucket, claim)
	}
	m.claims[name] = &modelClaim{object: claim, bucket: bucket.Name, policy: cosiapi.DeletionPolicyRetain, imported: true}
	return true
}

func (m *model) deleteClaim() bool {
	name, ok := pickKey(m, m.claims, func(c *modelClaim) bool { return !c.deleted })
	if !ok {
		return false
	}
	m.delete(m.claims[name].object)
	m.claims[name].deleted = true
	return true
}

// forgetImport deletes an imported Bucket whose claim was deleted. The backend bucket is kept.
func (m *model) forgetImport() bool {
	if len(m.left) == 0 {
		return false
	}
	i := m.random.IntN(len(m.left))
	bucket := &cosiapi.Bucket{}
	bucket.Name = m.left[i]
	m.left = slices.Delete(m.left, i, i+1)
	m.delete(bucket)
	return true
}

// changePolicy changes the deletion policy of a claim's Bucket.
func (m *model) changePolicy() bool {
	name, ok := pickKey(m, m.claims, func(c *modelClaim) bool { return !c.deleted && !c.imported && c.provisioned })
	if !ok {
		return false
	}
	c := m.claims[name]
	c.policy = pick(m, cosiapi.DeletionPolicyDelete, cosiapi.DeletionPolicyRetain)
	bucket := &cosiapi.Bucket{}
	bucket.Name = c.bucket
	change(m.world, bucket, func(b *cosiapi.Bucket) { b.Spec.DeletionPolicy = c.policy })
	return true
}

// replaceClass replaces a class by another one of the same name.
func (m *model) replaceClass() bool {
	parameters := map[string]string{"generation": strconv.Itoa(m.random.IntN(1e6))}
	if m.random.IntN(2) == 0 {
		class := &cosiapi.BucketClass{}
		class.Name = m.global("fast")
		m.delete(class)
		m.newClass("fast", func(c *cosiapi.BucketClassSpec) { c.Parameters = parameters })
		return true
	}
	class := &cosiapi.BucketAccessClass{}
	class.Name = m.global("keys")
	m.delete(class)
	m.newAccessClass("keys", multiBucket, func(c *cosiapi.BucketAccessClassSpec) { c.Parameters = parameters })
	return true
}

func byServiceAccount(class *cosiapi.BucketAccessClassSpec) {
	class.AuthenticationType = cosiapi.AuthenticationTypeServiceAccount
}

// createAccess requests access to one or two claims, in any mode, by key or by service account.
func (m *model) createAccess() bool {
	name := fmt.Sprintf("access-%d", m.random.IntN(names))
	live := slices.DeleteFunc(slices.Sorted(maps.Keys(m.claims)), func(c string) bool { return m.claims[c].deleted })
	if m.accesses[name] != nil || len(live) == 0 {
		return false
	}
	m.random.Shuffle(len(live), func(i, j int) { live[i], live[j] = live[j], live[i] })
	live = live[:min(len(live), 1+m.random.IntN(2))]
	access := m.access(name, pick(m, "keys", "keys", "robots"), live...)
	access.Spec.ServiceAccountName = "robot-" + name
	for i := range live {
		access.Spec.BucketClaims[i].AccessModes = cosiapi.BucketAccessModes{
			ObjectData:     pick(m, cosiapi.BucketAccessModeReadWrite, cosiapi.BucketAccessModeReadOnly, cosiapi.BucketAccessModeWriteOnly),
			ObjectMetadata: pick(m, "", cosiapi.BucketAccessModeReadWrite, cosiapi.BucketAccessModeReadOnly),
			BucketMetadata: pick(m, "", "", cosiapi.BucketAccessModeReadOnly),
		}
	}
	m.create(access)
	m.accesses[name] = &modelAccess{object: access, claims: live}
	return true
}

func (m *model) deleteAccess() bool {
	name, ok := pickKey(m, m.accesses, func(a *modelAccess) bool { return !a.deleted })
	if !ok {
		return false
	}
	m.delete(m.accesses[name].object)
	m.accesses[name].deleted = true
	return true
}

// pickGranted returns a random access that was granted and has not been deleted.
func (m *model) pickGranted() (*cosiapi.BucketAccess, bool) {
	name, ok := pickKey(m, m.accesses, func(a *modelAccess) bool { return a.granted && !a.deleted })
	if !ok {
		return nil, false
	}
	return m.accesses[name].object, true
}

func (m *model) rotate() bool {
	access, ok := m.pickGranted()
	if ok {
		change(m.world, access, func(a *cosiapi.BucketAccess) {
			cosiapi.SetAnnotation(a, cosiapi.RotateAnnotation, strconv.Itoa(m.random.IntN(1e6)))
		})
	}
	return ok
}

// editSecret corrupts a Secret.
func (m *model) editSecret() bool {
	access, ok := m.pickGranted()
	if !ok {
		return false
	}
	spoiled := secret(access, m.random.IntN(len(access.Spec.BucketClaims)))
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"data":{"AWS_SECRET_ACCESS_KEY":null,"MINE":"eA=="}}`))
	if err := m.Client.Patch(m.t.Context(), spoiled, patch); err != nil && !apierrors.IsNotFound(err) {
		m.t.Fatal(err)
	}
	m.wake(access)
	return true
}

// deleteSecret deletes a Secret despite its finalizer.
func (m *model) deleteSecret() bool {
	access, ok := m.pickGranted()
	if !ok {
		return false
	}
	m.drop(m.t.Context(), secret(access, m.random.IntN(len(access.Spec.BucketClaims))))
	m.wake(access)
	return true
}

// wake triggers a reconcile in a sidecar that may not watch Secrets.
func (m *model) wake(access *cosiapi.BucketAccess) {
	if !m.setup.watchSecrets {
		m.touch(access)
	}
}

// anyRPC returns a random RPC that creates or removes something.
func (m *model) anyRPC() memdriver.RPC {
	return pick(m, memdriver.GenerateBucketID, memdriver.CreateBucket, memdriver.GetBucket, memdriver.DeleteBucket,
		memdriver.GenerateAccessID, memdriver.GrantAccess, memdriver.RevokeAccess)
}

func (m *model) failCall() bool {
	m.driver.Script(memdriver.Fault{
		RPC: m.anyRPC(), Code: pick(m, codes.Unavailable, codes.Internal, codes.Aborted, codes.ResourceExhausted, codes.PermissionDenied, codes.DeadlineExceeded),
		AfterEffect: m.random.IntN(2) == 0, Times: 1 + m.random.IntN(2),
	})
	return true
}

// refuseCall makes the driver refuse an RPC permanently, until it is reconfigured.
func (m *model) refuseCall() bool {
	m.driver.Script(memdriver.Fault{
		RPC: m.anyRPC(), Code: pick(m, codes.InvalidArgument, codes.AlreadyExists, codes.OutOfRange),
	})
	m.refused = true
	return true
}

func (m *model) failWrite() bool {
	m.tape.strike(&fault{
		Who: pick(m, theController, theSidecar), Skip: m.random.IntN(3), Status: pick(m, 0, 409, 429, 500, 504), After: m.random.IntN(2) == 0,
	})
	return true
}

// holdWatch delays a component's watch events for a kind of object.
func (m *model) holdWatch() bool {
	m.releases = append(m.releases, m.lags.lag(pick(m, theController, theSidecar), pick(m, "buckets", "bucketaccesses", "bucketclaims")))
	return true
}

// letWatchesGo ends the delays of holdWatch.
func (m *model) letWatchesGo() {
	for _, release := range m.releases {
		release()
	}
	m.releases = nil
}

func (m *model) restart() bool {
	who := pick(m, theController, theSidecar)
	m.letWatchesGo()
	p := m.process(who)
	m.begun(p) // so that the process is running when it is restarted
	if m.random.IntN(2) == 0 {
		p.die()
		p.awaitEnd()
	} else {
		m.stop(who)
	}
	if who == theController {
		m.runController()
	} else {
		m.runSidecar()
	}
	return true
}
