// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// Digest returns 32 hexadecimal digits that are equal for values with equal JSON. Use it for Info.Revision, for
// example. It returns an error if the value cannot be encoded as JSON.
func Digest(value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("compute a digest: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]), nil
}
