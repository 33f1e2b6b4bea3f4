// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"
	"errors"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// noteRequest is the note that holds the hash of the request that created the account.
const noteRequest = "params"

// NoteGiven records the request of an account that uses a shared credential, which an administrator configured. The
// backend has no record of such accounts, so the record is in the store, without the credential. The argument request
// is a hash of the request. If the account was recorded with another hash, NoteGiven returns AlreadyExists.
func NoteGiven(ctx context.Context, store Store, account, request string) error {
	entry, err := store.Get(ctx, account)
	switch {
	case err == nil && entry.Notes[noteRequest] != request:
		return driverkit.AlreadyExists("account %s exists with other buckets, access modes or parameters than requested", account)
	case errors.Is(err, ErrNotFound):
		_, err = store.Put(ctx, Entry{Account: account, Notes: map[string]string{noteRequest: request}})
	}
	if err != nil {
		return StoreError(account, err)
	}
	return nil
}

// ForgetGiven deletes the record of an account. The credential continues to work.
func ForgetGiven(ctx context.Context, store Store, account string) error {
	return forget(ctx, store, account)
}
