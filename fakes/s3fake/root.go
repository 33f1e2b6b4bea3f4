// SPDX-License-Identifier: Apache-2.0

package s3fake

import "github.com/cooper-cosi/cooper/fakes/internal/journal"

// tableRoot is the table with the root credentials, so that a restarted server keeps its account.
const tableRoot = "root"

func rootOf(j journal.Journal) (Credentials, error) {
	stored := map[string]Credentials{}
	err := journal.Load(j, tableRoot, stored)
	return stored["credentials"], err
}

func saveRoot(j journal.Journal, c Credentials) error {
	return journal.Save(j, tableRoot, "credentials", c)
}
