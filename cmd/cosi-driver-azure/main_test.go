// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/drivers/azuredriver"
	"github.com/cooper-cosi/cooper/fakes/azurefake"
	"github.com/cooper-cosi/cooper/fakes/faketest"
	"github.com/cooper-cosi/cooper/internal/testing/drivercmdtest"
	"github.com/cooper-cosi/cooper/internal/testing/processtest"
	cosi "github.com/cooper-cosi/cooper/proto"
)

func TestMain(m *testing.M) {
	processtest.ProgramMain(main)
	os.Exit(m.Run())
}

// write creates a file in a new directory and returns its path.
func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestProcessServesAndStops configures one process by environment variables and another by a file.
func TestProcessServesAndStops(t *testing.T) {
	t.Parallel()
	server := faketest.Start(t, azurefake.New, azurefake.Options{})
	key, _ := server.Keys(azurefake.DefaultAccount)
	keyFile := write(t, "key", key+"\n")
	config := write(t, "config.yaml", "accounts: {"+azurefake.DefaultAccount+": {endpoint: '"+server.URL()+"', credentials: {accountKeyFile: "+keyFile+"}}}")
	variables := map[string]string{"AZURE_DRIVER_ACCOUNT": azurefake.DefaultAccount, "AZURE_DRIVER_ACCOUNT_KEY": key, "AZURE_DRIVER_ENDPOINT": server.URL()}
	drivercmdtest.Life{
		Launches: []drivercmdtest.Launch{{Environment: variables}, {Arguments: []string{"--config=" + config}}},
		Protocol: cosi.ObjectProtocol_AZURE,
		Secrets: func(granted *cosi.CredentialInfo) []string {
			_, signature, _ := strings.Cut(granted.GetAzure().GetAccessToken(), "sig=")
			return []string{signature}
		},
		Own:    []string{key},
		Metric: `operation="CreateContainer",status="201"}`,
		Spans:  []string{"DriverGrantBucketAccess", "Blob.SetContainerACL"},
	}.Test(t)
}

func TestBadStarts(t *testing.T) {
	t.Parallel()
	account := map[string]string{"AZURE_DRIVER_ACCOUNT": "abc"}
	mistake := map[string]string{"AZURE_DRIVER_ACCOUNT": "abc", "AZURE_DRIVER_ENDPOINT": "localhost"}
	file := []string{"--config=" + write(t, "config.yaml", "accounts: {a-b: {}}")}
	drivercmdtest.BadStarts(t, map[string]drivercmdtest.BadStart{
		"no account":                {Code: 1, Want: "AZURE_DRIVER_ACCOUNT must name"},
		"no key":                    {Launch: drivercmdtest.Launch{Environment: account}, Code: 1, Want: "account key is required"},
		"a file with a mistake":     {Launch: drivercmdtest.Launch{Arguments: file}, Code: 1, Want: `"a-b"`},
		"a variable with a mistake": {Launch: drivercmdtest.Launch{Environment: mistake}, Code: 1, Want: "accounts.abc.endpoint"},
	})
}

func TestHelp(t *testing.T) {
	t.Parallel()
	var names []string
	for _, variable := range azuredriver.Format().Variables {
		names = append(names, variable.Name)
	}
	drivercmdtest.Help(t, names...)
}
