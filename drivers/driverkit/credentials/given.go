// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"
	"errors"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// noteRequest is the note with the hash of the request that made the account.
const noteRequest = "params"

// NoteGiven is for a credential that an administrator has given the driver, and that others have, too: nobody at the
// backend knows accounts, so the store keeps what each is for, without the credential. The request is a hash of that. An
// account that was noted with another one is AlreadyExists.
func NoteGiven(ctx context.Context, store Store, account, request string) error {
	entry, err := store.Get(ctx, account)
	switch {
	case err == nil && entry.Notes[noteRequest] != request:
		return driverkit.AlreadyExists("account %s exists with other buckets, access modes or parameters than these", account)
	case errors.Is(err, ErrNotFound):
		_, err = store.Put(ctx, Entry{Account: account, Notes: map[string]string{noteRequest: request}})
	}
	if err != nil {
		return StoreError(account, err)
	}
	return nil
}

// ForgetGiven forgets what an account is for. The credential goes on to work.
func ForgetGiven(ctx context.Context, store Store, account string) error {
	return forget(ctx, store, account)
}
