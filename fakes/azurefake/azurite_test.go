// SPDX-License-Identifier: Apache-2.0

package azurefake_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/fakes/azurefake/azuritetest"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
)

// startAzurite runs Azurite with Node, as a process.
func startAzurite(t testing.TB) blobService {
	t.Helper()
	endpoint := azuritetest.Start(t)
	cred, err := container.NewSharedKeyCredential(azuritetest.Account, azuritetest.Key)
	wantNoError(t, err)
	return blobService{endpoint + "/" + azuritetest.Account, cred}
}

// TestPermissionsOnAzurite runs the table on Azurite. Every deviation from the reference must be listed in
// testdata/azurite.txt.
//
//nolint:paralleltest // rows share one slow process
func TestPermissionsOnAzurite(t *testing.T) {
	fulltest.Only(t, "the same table on azurefake")
	s := startAzurite(t)
	var got []string
	for _, r := range rows() {
		name := s.filled(t)
		status, code := s.ask(t, r.call, name, r.sign(t, s, name))
		same := code == r.code
		if r.code == "" {
			same = status == r.call.status
		}
		if !same {
			got = append(got, fmt.Sprintf("%s: %d %s", r.name, status, code))
		}
	}
	compareListed(t, "azurite.txt", got)
	kinds := map[string]int{}
	for _, line := range got {
		_, response, _ := strings.Cut(line, ": ")
		_, response, _ = strings.Cut(response, ": ")
		kinds[response]++
	}
	t.Logf("%d of %d rows differ: %v", len(got), len(rows()), slices.Sorted(maps.Keys(kinds)))
}

// compareListed compares the differences that were found with those that a file of testdata lists. AZURITE_WRITE=1 writes it.
func compareListed(t *testing.T, name string, got []string) {
	t.Helper()
	slices.Sort(got)
	file := filepath.Join("testdata", name)
	if os.Getenv("AZURITE_WRITE") != "" {
		wantNoError(t, os.WriteFile(file, []byte(strings.Join(got, "\n")+"\n"), 0o600))
	}
	listed, err := os.ReadFile(file)
	wantNoError(t, err)
	if diff := cmp.Diff(strings.Split(strings.TrimSpace(string(listed)), "\n"), got); diff != "" {
		t.Errorf("Azurite differs otherwise than %s says (-listed +got):\n%s", file, diff)
	}
}

// TestBehaviourOnAzurite runs the table of behaviors on Azurite, too. Every deviation from the reference must be
// listed in testdata/azurite-behaviour.txt.
//
//nolint:paralleltest // rows share one slow process
func TestBehaviourOnAzurite(t *testing.T) {
	fulltest.Only(t, "the same table on azurefake")
	s := startAzurite(t)
	var got []string
	table := behaviours()
	for _, name := range slices.Sorted(maps.Keys(table)) { // the properties of the service are one for all rows
		if differences := table[name].try(t, s); len(differences) > 0 {
			got = append(got, name+": "+strings.Join(differences, ", "))
		}
	}
	compareListed(t, "azurite-behaviour.txt", got)
	t.Logf("%d of %d rows differ", len(got), len(table))
}
