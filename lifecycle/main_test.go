// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/cooper-cosi/cooper/testenv"
)

// cases is the number of cases that there must be a test for.
const cases = 69

// patience is how long a test waits for what must happen. It only delays
// failures, so it is generous; the mutation runner, which wants failures,
// shortens it.
func patience() time.Duration {
	if d, err := time.ParseDuration(os.Getenv("COOPER_LIFECYCLE_PATIENCE")); err == nil {
		return d
	}
	return 3 * time.Minute
}

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard()) // each process has a logger of its own
	flag.Parse()
	testenv.Main(m)
	if programs.dir != "" {
		_ = os.RemoveAll(programs.dir) // a temporary directory
	}
}

// TestEveryCaseHasATest fails when a case has no test that carries its number.
func TestEveryCaseHasATest(t *testing.T) {
	t.Parallel()
	tested := map[int]string{}
	for _, name := range testNames(t) {
		for _, number := range caseNumbers(name) {
			tested[number] = name
		}
	}
	for number := 1; number <= cases; number++ {
		if tested[number] == "" {
			t.Errorf("case %d has no test", number)
		}
	}
	if len(tested) > cases {
		t.Errorf("there are %d numbers, but only %d cases", len(tested), cases)
	}
}

// testNames are the names of the test functions of this package.
func testNames(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range parsed.Decls {
			if f, ok := declaration.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				names = append(names, f.Name.Name)
			}
		}
	}
	return names
}

// caseNumbers are the numbers in the name of a test: TestCase02_09_words has
// two.
func caseNumbers(name string) []int {
	rest, found := strings.CutPrefix(name, "TestCase")
	if !found {
		return nil
	}
	var numbers []int
	for _, digits := range regexp.MustCompile(`^(\d\d_)+`).FindAllString(rest, 1) {
		for part := range strings.SplitSeq(strings.TrimSuffix(digits, "_"), "_") {
			number, err := strconv.Atoi(part)
			if err == nil {
				numbers = append(numbers, number)
			}
		}
	}
	return numbers
}
