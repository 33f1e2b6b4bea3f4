// SPDX-License-Identifier: Apache-2.0

package s3fake

import (
	"encoding/json"
	"fmt"

	"github.com/cooper-cosi/cooper/fakes/internal/journal"
)

// tableRoot is the table with the root credentials, so that a restarted server keeps its account.
const tableRoot = "root"

func rootOf(j journal.Journal) (Credentials, error) {
	raw, ok := j.Table(tableRoot)["credentials"]
	var c Credentials
	if !ok {
		return c, nil
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return c, fmt.Errorf("read the root credentials from the journal: %w", err)
	}
	return c, nil
}

func saveRoot(j journal.Journal, c Credentials) error {
	if err := journal.Save(j, tableRoot, "credentials", c); err != nil {
		return fmt.Errorf("save the root credentials: %w", err)
	}
	return nil
}
