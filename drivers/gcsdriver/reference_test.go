// SPDX-License-Identifier: Apache-2.0

package gcsdriver_test

import (
	"testing"

	"github.com/cooper-cosi/cooper/drivers/internal/reference/referencetest"
)

func TestReferenceIsCurrent(t *testing.T) {
	t.Parallel()
	referencetest.Current(t, "gcs-driver.md", "gcs-driver.schema.json")
}
