// SPDX-License-Identifier: Apache-2.0

package blobapi

import (
	"cmp"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/azerr"
	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/store"
)

var (
	errArchived    = azerr.New(http.StatusConflict, "BlobArchived", "This operation is not permitted on an archived blob.")
	errRehydrating = azerr.New(http.StatusConflict, "BlobBeingRehydrated", "This operation is not permitted because the blob is being rehydrated.")
)

// checkTier rejects tiers that standard accounts do not have.
func checkTier(tier string) error {
	switch {
	case slices.Contains([]string{"Hot", "Cool", "Cold", store.Archive}, tier):
		return nil
	case premium.MatchString(tier):
		return azerr.NotServed("tiers of page blobs in premium accounts: " + tier)
	}
	return azerr.InvalidHeaderValue
}

// premium matches the tiers of page blobs in premium accounts.
var premium = regexp.MustCompile(`^P([46]|[1-8]0|15)$`)

// online rejects calls that an archived blob does not permit: "the only valid operations are Get Blob Properties, Get
// Blob Metadata, Set Blob Tags, Get Blob Tags, Find Blobs by Tags, List Blobs, Set Blob Tier, Copy Blob, and Delete
// Blob" ("Access tiers for blob data").
func online(b *store.Blob) error {
	switch {
	case b == nil || b.Tier != store.Archive:
		return nil
	case b.Rehydration != nil:
		return errRehydrating
	}
	return errArchived
}

// archiveStatus returns the target of a rehydration in the form for clients.
func archiveStatus(r *store.Rehydration) string {
	return "rehydrate-pending-to-" + strings.ToLower(r.Tier)
}

// rehydration returns the rehydration that the request starts. It takes the longest time stated in "Blob rehydration
// from the archive tier".
func (c *Call) rehydration(tier string) *store.Rehydration {
	r := &store.Rehydration{Tier: tier, Priority: cmp.Or(c.r.Header.Get("X-Ms-Rehydrate-Priority"), "Standard"), Ends: c.api.Now().Add(15 * time.Hour)}
	if r.Priority == "High" {
		r.Ends = c.api.Now().Add(time.Hour)
	}
	return r
}

// moveTier is Set Blob Tier of a state, with the outcomes that the table of its page names.
func (c *Call) moveTier(b *store.Blob, tier string, current bool) error {
	pending, asked := b.Rehydration, c.rehydration(tier)
	switch {
	case pending != nil && pending.Tier != tier:
		return errRehydrating
	case pending != nil: // asked for again: sooner, or nothing changes
		if asked.Ends.Before(pending.Ends) {
			b.Rehydration = asked
		}
	case b.Tier == store.Archive && tier != store.Archive && !current:
		return errArchived // an earlier state can be rehydrated only as a copy
	case b.Tier == store.Archive && tier != store.Archive:
		b.Rehydration = asked
	default:
		b.Tier, b.TierChanged = tier, c.api.Now()
	}
	return nil
}
