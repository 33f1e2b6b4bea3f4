// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"testing"

	"github.com/cooper-cosi/cooper/drivers/staticdriver"
	"github.com/cooper-cosi/cooper/internal/testing/drivercmdtest"
	"github.com/cooper-cosi/cooper/internal/testing/processtest"
)

func TestMain(m *testing.M) {
	processtest.ProgramMain(main)
	os.Exit(m.Run())
}

// TestBadStarts covers invalid configurations. The tests of drivers/staticdriver cover the running process.
func TestBadStarts(t *testing.T) {
	t.Parallel()
	mistake := map[string]string{"STATIC_DRIVER_BUCKET_ID": "photos", "STATIC_DRIVER_DIRECTORY": "/nowhere", "STATIC_DRIVER_OBJECT_DATA": "ReadOnly"}
	drivercmdtest.BadStarts(t, map[string]drivercmdtest.BadStart{
		"no bucket":                 {Code: 1, Want: "buckets: at least one is required; the environment variable STATIC_DRIVER_BUCKET_ID sets one"},
		"a variable with a mistake": {Launch: drivercmdtest.Launch{Environment: mistake}, Code: 1, Want: "buckets.photos.credentials[0].directory: read the keys of the credential: open /nowhere"},
	})
}

func TestHelp(t *testing.T) {
	t.Parallel()
	texts := []string{"[COOPER_CREDENTIAL_STORE]"}
	for _, variable := range staticdriver.Format().Variables {
		texts = append(texts, variable.Name)
	}
	drivercmdtest.Help(t, texts...)
}
