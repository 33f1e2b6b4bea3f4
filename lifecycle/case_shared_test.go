// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/testenv"
)

func TestAnImportKeepsTheBucketOfAnother(t *testing.T) {
	t.Parallel()
	covers(t, "bucket-id-shared")
	w := start(t, setup{})
	w.newClass("fast")
	claim, bucket := w.provisioned("photos", "fast")
	copied := w.imported("secret-project", bucket.Status.BucketID, "films")
	w.create(copied)
	w.ready(copied)
	w.delete(claim)
	message := w.condition(bucket, cosiapi.ConditionDeprovisionFailed, metav1.ConditionTrue, conditions.IDShared)
	if !strings.Contains(message, conditions.Names("Bucket", copied.Name)) {
		t.Errorf("the administrator does not learn what keeps the Bucket: %s", message)
	}
	if note := w.untilEvent(w.namespace, claim, reconciler.FailedDeleteBucket).Note; strings.Contains(note, "secret-project") || strings.Contains(note, "films") {
		t.Errorf("the message names the other Bucket's owner: %s", note)
	}
	w.settled()
	w.called(memdriver.DeleteBucket, 0)
	w.delete(copied)
	w.gone(copied, bucket)
	w.called(memdriver.DeleteBucket, 1)
}

// TestAnImportThatTheCacheLacksKeepsTheBucket imports the bucket immediately before its deletion, which the
// sidecar's cache does not show yet.
func TestAnImportThatTheCacheLacksKeepsTheBucket(t *testing.T) {
	t.Parallel()
	covers(t, "bucket-id-shared")
	w := start(t, setup{})
	w.newClass("fast")
	claim, bucket := w.provisioned("photos", "fast")
	w.driver.Script(memdriver.Fault{RPC: memdriver.DeleteBucket, Code: codes.FailedPrecondition})
	w.delete(claim)
	w.condition(bucket, cosiapi.ConditionDeprovisionFailed, metav1.ConditionTrue, conditions.Retrying)
	w.settled()
	release := w.lags.lag(theSidecar, "buckets")
	copied := w.imported("copy", bucket.Status.BucketID, "films")
	w.create(copied)
	w.driver.SetInfo(func(info *cosi.DriverGetInfoResponse) { info.Revision = "2" }) // so that the call is due again
	w.condition(bucket, cosiapi.ConditionDeprovisionFailed, metav1.ConditionTrue, conditions.IDShared)
	release()
	w.ready(copied)
	w.called(memdriver.DeleteBucket, 1)
	w.delete(copied)
	w.gone(copied, bucket)
}

// TestASharedBucketIsRetained verifies that a Bucket with policy Retain does not block the deletion of the
// other one.
func TestASharedBucketIsRetained(t *testing.T) {
	t.Parallel()
	covers(t, "bucket-id-shared")
	w := start(t, setup{})
	w.newClass("fast")
	claim, bucket := w.provisioned("photos", "fast")
	copied := w.imported("copy", bucket.Status.BucketID, "films")
	w.create(copied)
	w.ready(copied)
	w.delete(claim)
	w.condition(bucket, cosiapi.ConditionDeprovisionFailed, metav1.ConditionTrue, conditions.IDShared)
	change(w, bucket, func(b *cosiapi.Bucket) { b.Spec.DeletionPolicy = cosiapi.DeletionPolicyRetain })
	w.gone(bucket)
	w.called(memdriver.DeleteBucket, 0)
	w.ready(copied)
}

// TestABucketIDIsReturnedTwice covers a driver that returns one ID for two buckets, the second time to a
// sidecar whose cache does not show the first Bucket.
func TestABucketIDIsReturnedTwice(t *testing.T) {
	t.Parallel()
	covers(t, "bucket-id-returned-twice")
	w := start(t, setup{})
	w.newClass("fast")
	_, bucket := w.provisioned("photos", "fast")
	w.stop(theSidecar)
	w.runSidecar()
	w.driver.Script(memdriver.Fault{RPC: memdriver.GenerateBucketID, Answer: &cosi.DriverGenerateBucketIdResponse{BucketId: bucket.Status.BucketID}})
	second := w.newClaim("films", "fast")
	message := w.condition(second, cosiapi.ConditionProvisioned, metav1.ConditionFalse, conditions.DriverResponseInvalid)
	if strings.Contains(message, bucket.Status.BucketID) {
		t.Errorf("the user learns the bucket ID of another: %s", message)
	}
	if b := w.bucketOf(second); b.Status.BucketID != "" {
		t.Errorf("the ID of another was stored: %s", b.Status.BucketID)
	}
	w.delete(second)
	w.gone(second)
	w.called(memdriver.CreateBucket, 1)
	w.called(memdriver.DeleteBucket, 0)
}

// TestABucketIDIsReturnedTwiceAtOnce covers a driver that returns one ID for two buckets at the same time,
// before the cache shows it on one of them.
func TestABucketIDIsReturnedTwiceAtOnce(t *testing.T) {
	t.Parallel()
	covers(t, "bucket-id-returned-twice")
	w := start(t, setup{})
	w.newClass("fast")
	hold := make(chan struct{})
	w.driver.Script(memdriver.Fault{
		RPC: memdriver.GenerateBucketID, Times: memdriver.Always, Hold: hold, Answer: &cosi.DriverGenerateBucketIdResponse{BucketId: "twin"},
	})
	claims := []*cosiapi.BucketClaim{w.newClaim("photos", "fast"), w.newClaim("films", "fast")}
	w.awaitCalls(memdriver.Started(2), memdriver.GenerateBucketID)
	release := w.lags.lag(theSidecar, "buckets") // it does not see its own write
	defer release()
	close(hold)
	stored := 0
	for _, claim := range claims {
		until(w, w.bucketOf(claim), "the response is judged", func(b *cosiapi.Bucket) error {
			if b.Status.BucketID == "" && testenv.Condition(b, cosiapi.ConditionProvisioned).Reason != string(conditions.DriverResponseInvalid) {
				return errNot
			}
			return nil
		})
		if w.bucketOf(claim).Status.BucketID != "" {
			stored++
		}
	}
	if stored != 1 {
		t.Errorf("one ID was given to %d Buckets", stored)
	}
}

func TestAnAccountIDIsReturnedTwice(t *testing.T) {
	t.Parallel()
	covers(t, "account-id-returned-twice")
	w := pair(t, setup{})
	first := w.granted("first", "keys", "photos")
	w.driver.Script(memdriver.Fault{RPC: memdriver.GenerateAccessID, Answer: &cosi.DriverGenerateBucketAccessIdResponse{AccountId: first.Status.AccountID}})
	second := w.access("second", "keys", "photos")
	w.create(second)
	message := w.condition(second, cosiapi.ConditionProvisioned, metav1.ConditionFalse, conditions.DriverResponseInvalid)
	if strings.Contains(message, first.Status.AccountID) || strings.Contains(message, `"first"`) {
		t.Errorf("the message names the account's other owner: %s", message)
	}
	if second.Status.AccountID != "" {
		t.Errorf("the ID of another was stored: %s", second.Status.AccountID)
	}
	w.delete(second)
	w.gone(second)
	w.called(memdriver.GrantAccess, 1)
	w.called(memdriver.RevokeAccess, 0)
}

// TestASharedAccountIsRevokedWithTheLastAccess covers two accesses with the same account, for example because
// a backup of an older version, which allowed this, was restored.
func TestASharedAccountIsRevokedWithTheLastAccess(t *testing.T) {
	t.Parallel()
	covers(t, "account-id-shared")
	w := pair(t, setup{})
	first := w.granted("first", "keys", "photos")
	w.stop(theSidecar)
	second := w.access("second", "keys", "photos")
	w.create(second)
	until(w, second, "the controller hands it over", func(a *cosiapi.BucketAccess) error {
		if a.Status.DriverName == "" {
			return errNot
		}
		return nil
	})
	w.eventually("the account ID is stored", func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(second), second); err != nil {
			return err
		}
		second.Status.AccountID = first.Status.AccountID
		return w.Client.Status().Update(ctx, second)
	})
	w.runSidecar()
	w.ready(second)
	w.delete(first)
	message := w.condition(first, cosiapi.ConditionDeprovisionFailed, metav1.ConditionTrue, conditions.IDShared)
	if strings.Contains(message, `"second"`) {
		t.Errorf("the message names the account's other owner: %s", message)
	}
	w.settled()
	w.called(memdriver.RevokeAccess, 0)
	if w.exists(secret(first, 0)) {
		t.Error("the Secret of the deleted access is still there")
	}
	w.delete(second)
	w.gone(first, second)
	if has := w.driver.Inventory(); len(has.Accounts) != 0 {
		t.Errorf("the account is left: %+v", has.Accounts)
	}
}
