// SPDX-License-Identifier: Apache-2.0

package credstore

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// codecFormat is increased if an older driver would misread the new format.
const codecFormat = 1

// envelope is the stored form of an entry. Body is kept as raw bytes so that the checksum covers exactly the bytes
// that were written.
type envelope struct {
	Format int             `json:"format"`
	SHA256 string          `json:"sha256"`
	Body   json.RawMessage `json:"body"`
}

type storedEntry struct {
	Account  string            `json:"account"`
	Rotation string            `json:"rotation,omitempty"`
	Current  storedCredential  `json:"current"`
	Previous *storedCredential `json:"previous,omitempty"`
	Notes    map[string]string `json:"notes,omitempty"`
}

type storedCredential struct {
	ID     string `json:"id"`
	Secret string `json:"secret"`
}

// Encode returns the stored form of an entry: JSON with a checksum, without the version.
func Encode(entry Entry) ([]byte, error) {
	if err := entry.validate(); err != nil {
		return nil, err
	}
	stored := storedEntry{Account: entry.Account, Rotation: entry.Rotation, Notes: entry.Notes, Current: reveal(entry.Current)}
	if entry.Previous != nil {
		previous := reveal(*entry.Previous)
		stored.Previous = &previous
	}
	body, err := json.Marshal(stored)
	if err != nil {
		return nil, fmt.Errorf("encode the credential of account %q: %w", entry.Account, err)
	}
	data, err := json.Marshal(envelope{Format: codecFormat, SHA256: checksum(body), Body: body})
	if err != nil {
		return nil, fmt.Errorf("encode the credential of account %q: %w", entry.Account, err)
	}
	return append(data, '\n'), nil
}

func reveal(c Credential) storedCredential { return storedCredential{c.ID, c.Secret.Reveal()} }

func (c storedCredential) hide() Credential { return Credential{c.ID, cosi.NewSecret(c.Secret)} }

// Decode parses the stored form of this account's entry. It does not set the version. Its errors wrap ErrCorrupt and
// never contain stored data.
func Decode(account string, data []byte) (Entry, error) {
	var outer envelope
	if err := json.Unmarshal(data, &outer); err != nil {
		return Entry{}, fmt.Errorf("%w: it is not complete JSON (%d bytes)", ErrCorrupt, len(data))
	}
	if outer.Format != codecFormat {
		return Entry{}, fmt.Errorf("%w: it has format %d, but this driver reads format %d", ErrCorrupt, outer.Format, codecFormat)
	}
	if checksum(outer.Body) != outer.SHA256 {
		return Entry{}, fmt.Errorf("%w: its checksum does not match", ErrCorrupt)
	}
	var stored storedEntry
	if err := json.Unmarshal(outer.Body, &stored); err != nil {
		return Entry{}, fmt.Errorf("%w: its fields have unexpected types", ErrCorrupt)
	}
	if stored.Account != account {
		return Entry{}, fmt.Errorf("%w: it belongs to account %q, not to %q", ErrCorrupt, stored.Account, account)
	}
	entry := Entry{Account: stored.Account, Rotation: stored.Rotation, Notes: stored.Notes, Current: stored.Current.hide()}
	if stored.Previous != nil {
		previous := stored.Previous.hide()
		entry.Previous = &previous
	}
	if entry.validate() != nil {
		return Entry{}, fmt.Errorf("%w: it has an empty ID or secret", ErrCorrupt)
	}
	return entry, nil
}

func checksum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
