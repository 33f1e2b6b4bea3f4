// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import (
	"testing"

	"github.com/cooper-cosi/cooper/drivers/internal/reference/referencetest"
)

func TestReferenceIsCurrent(t *testing.T) {
	t.Parallel()
	referencetest.Current(t, "s3-driver.md", "s3-driver.schema.json")
}
