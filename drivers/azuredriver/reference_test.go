// SPDX-License-Identifier: Apache-2.0

package azuredriver_test

import (
	"testing"

	"github.com/cooper-cosi/cooper/drivers/internal/reference/referencetest"
)

func TestReferenceIsCurrent(t *testing.T) {
	t.Parallel()
	referencetest.Current(t, "azure-driver.md", "azure-driver.schema.json")
}
