// SPDX-License-Identifier: Apache-2.0

package testenv_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
)

const vendorModule = `module example.com/vendor

go 1.26.0

require github.com/cooper-cosi/cooper v0.0.0

replace github.com/cooper-cosi/cooper => %s
`

const vendorTest = `package vendor

import (
	"testing"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

func TestBucketsAreServed(t *testing.T) {
	e := testenv.Start(t, testenv.Options{})
	if err := e.Client.List(t.Context(), &cosiapi.BucketList{}); err != nil {
		t.Fatal(err)
	}
}
`

// TestAModuleThatOnlyRequiresOursCanUseTestenv uses testenv from another module, as a driver vendor does. The
// published module must contain everything that testenv builds or installs.
func TestAModuleThatOnlyRequiresOursCanUseTestenv(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "another module starts the same components as the other tests of this package")
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":         fmt.Sprintf(vendorModule, root),
		"go.sum":         string(sums),
		"vendor_test.go": vendorTest,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-mod=mod", "-vet=off", "-count=1", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0", "GOFLAGS=-trimpath") // the usual build settings
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}
