// SPDX-License-Identifier: Apache-2.0

package memdriver

import (
	"context"
	"slices"

	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity"
)

// Prober attempts actions on the store with granted credentials, for every protocol.
type Prober struct{ Store *Store }

// Try implements sanity.Prober.
func (p Prober) Try(_ context.Context, attempt sanity.Attempt) (sanity.Outcome, error) {
	var outcome sanity.Outcome
	err := p.Store.admin(func(state *state) error {
		outcome = state.try(attempt)
		return nil
	})
	return outcome, err
}

// secretOf returns the secret of a credential of any protocol.
func secretOf(credentials *cosi.CredentialInfo) string {
	switch {
	case credentials.GetS3() != nil:
		return credentials.GetS3().GetAccessSecretKey()
	case credentials.GetAzure() != nil:
		return credentials.GetAzure().GetAccessToken()
	default:
		return credentials.GetGcs().GetAccessSecret()
	}
}

func (s *state) try(attempt sanity.Attempt) sanity.Outcome {
	bucket, exists := s.Buckets[attempt.BucketID]
	account, known := s.account(secretOf(attempt.Credentials))
	if found := s.Accounts[account]; found != nil {
		found.Used = true
	}
	public := exists && attempt.Credentials == nil && bucket.Public
	switch {
	case !known && !public:
		return sanity.Outcome{Verdict: sanity.Refused, Detail: "no such key"}
	case !exists:
		return sanity.Outcome{Verdict: sanity.Missing, Detail: "no such bucket"}
	case !public && !bucket.Policy[account].allow(attempt.Action):
		return sanity.Outcome{Verdict: sanity.Refused, Detail: "the policy of the bucket does not allow the action"}
	}
	return s.do(bucket, attempt)
}

func (m modes) allow(action sanity.Action) bool {
	allowed := map[sanity.Action]bool{
		sanity.PutObject: m.Write, sanity.DeleteObject: m.Write, sanity.GetObject: m.Read, sanity.ListObjects: m.Read,
		sanity.SetObjectTags: m.MetadataWrite, sanity.GetObjectTags: m.MetadataRead, sanity.GetBucketTags: m.BucketRead,
		sanity.SetBucketPolicy: m.BucketWrite, sanity.DeleteBucket: m.BucketWrite,
	}
	return allowed[action]
}

func (s *state) do(bucket *bucketState, attempt sanity.Attempt) sanity.Outcome {
	outcome := sanity.Outcome{Verdict: sanity.Allowed}
	body, exists := bucket.Objects[attempt.Key]
	switch attempt.Action {
	case sanity.PutObject:
		bucket.Objects[attempt.Key] = slices.Clone(attempt.Body)
	case sanity.GetObject, sanity.GetObjectTags:
		outcome.Body = slices.Clone(body)
		if !exists {
			outcome.Verdict = sanity.Missing
		}
	case sanity.DeleteObject:
		delete(bucket.Objects, attempt.Key)
	case sanity.ListObjects:
		for key := range bucket.Objects {
			outcome.Keys = append(outcome.Keys, key)
		}
		slices.Sort(outcome.Keys)
	case sanity.SetObjectTags, sanity.GetBucketTags, sanity.SetBucketPolicy:
	case sanity.DeleteBucket:
		delete(s.Buckets, attempt.BucketID)
	}
	return outcome
}
