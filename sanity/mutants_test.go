// SPDX-License-Identifier: Apache-2.0

package sanity_test

import (
	"bufio"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/sanity"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
)

// tables are the tables of mutants, by contract.
var tables = map[sanity.Contract]string{sanity.V1Alpha2: "mutants.txt", sanity.V1Alpha1: "mutants_v1alpha1.txt"}

// mutant is one row of a table.
type mutant struct {
	defect  memdriver.Defect
	profile memdriver.Options
	fails   []string
}

func (m mutant) String() string { return m.profile.Name + "/" + string(m.defect) }

func readMutants(t *testing.T, contract sanity.Contract) []mutant {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", tables[contract]))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	var table []mutant
	for scanner := bufio.NewScanner(file); scanner.Scan(); {
		line := scanner.Text()
		switch {
		case strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "":
		case strings.HasPrefix(line, " "):
			last := &table[len(table)-1]
			last.fails = append(last.fails, strings.Fields(line)...)
		default:
			name, narrow := strings.CutPrefix(line, "narrow: ")
			row := mutant{defect: memdriver.Defect(name), profile: memdriver.Wide()}
			switch {
			case contract == sanity.V1Alpha1:
				row.profile = memdriver.Old()
			case narrow:
				row.profile = memdriver.Narrow()
			}
			table = append(table, row)
		}
	}
	return table
}

// defects reads the table of memdriver's defects, sorted.
func defects(t *testing.T) []memdriver.Defect {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("memdriver", "defects.go"), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var all []memdriver.Defect
	for node := range ast.Preorder(file) {
		constant, ok := node.(*ast.ValueSpec)
		if !ok {
			continue
		}
		literal, ok := constant.Values[0].(*ast.BasicLit)
		if !ok {
			t.Fatalf("the defect %s is not a sentence", constant.Names[0])
		}
		sentence, err := strconv.Unquote(literal.Value)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, memdriver.Defect(sentence))
	}
	slices.Sort(all)
	return all
}

func TestMutantTablesAreComplete(t *testing.T) {
	t.Parallel()
	var listed []memdriver.Defect
	for contract := range tables {
		caught := map[string]bool{}
		for _, row := range readMutants(t, contract) {
			listed = append(listed, row.defect)
			if len(row.fails) == 0 {
				t.Errorf("the defect %q fails no case", row.defect)
			}
			for _, id := range row.fails {
				caught[id] = true
			}
		}
		known := map[string]bool{}
		for _, c := range sanity.CasesOf(contract) {
			known[c.ID] = true
			if c.Level == sanity.Must && !caught[c.ID] {
				t.Errorf("no defect fails %s: %s", c.ID, c.Title)
			}
		}
		for id := range caught {
			if !known[id] {
				t.Errorf("the table %s contains %s, which is not a case", tables[contract], id)
			}
		}
	}
	slices.Sort(listed)
	// Many are in both tables, with the cases of each.
	if diff := cmp.Diff(defects(t), slices.Compact(listed)); diff != "" {
		t.Errorf("the defects of memdriver and of the tables differ (-memdriver +tables):\n%s", diff)
	}
}

// waitedFor are the defects that the suite detects by a timeout, which is short here.
var waitedFor = []memdriver.Defect{
	memdriver.ListensElsewhere, memdriver.AcceptsTCP, memdriver.AcceptsAnySuffix, memdriver.HangsWithoutEndpoint,
	memdriver.ShortensPath, memdriver.KeepsStaleSocket, memdriver.EndsWithClient,
}

// mutantTiers are the defects that the short and the full tier try: some of each part of the contract and each
// profile.
func mutantTiers() fulltest.Tiers {
	const wide, narrow, old = "wide.memory.example.com/", "narrow.memory.example.com/", "old.memory.example.com/"
	return fulltest.Tiers{Short: []string{
		wide + "appends random text to bucket IDs", wide + "returns OK to a deletion but deletes nothing",
		wide + "grants write access when ReadOnly was requested", wide + "returns OK to a revocation but revokes nothing",
		wide + "logs responses unredacted", narrow + "does not check the authentication type",
		old + "replaces the key in every repeated grant",
	}, Full: []string{
		wide + "listens on a path other than COSI_ENDPOINT", wide + "adopts a bucket of another owner",
		wide + "creates the account when it generates the ID", wide + "returns a protocol twice", wide + "writes policies without a lock",
		wide + "finds only accounts that this process granted", old + "creates another bucket when a creation is repeated",
	}}
}

// TestEveryDefectFailsExactlyItsCases tries every defect in the soak, and some in the other tiers.
func TestEveryDefectFailsExactlyItsCases(t *testing.T) {
	t.Parallel()
	for _, row := range fulltest.Pick(t, slices.Concat(readMutants(t, sanity.V1Alpha2), readMutants(t, sanity.V1Alpha1)), mutantTiers()) {
		t.Run(row.String(), func(t *testing.T) {
			t.Parallel()
			limits := small()
			if slices.Contains(waitedFor, row.defect) {
				limits.Start = 5 * time.Second // also for drivers that do start
			}
			report := run(t, row.profile, limits, row.defect)
			var failed []string
			for _, result := range report.Of(sanity.Failed) {
				failed = append(failed, result.Case.ID)
			}
			if diff := cmp.Diff(row.fails, failed); diff != "" {
				t.Errorf("the failed cases differ (-table +run):\n%s", diff)
				for _, result := range report.Of(sanity.Failed) {
					if !slices.Contains(row.fails, result.Case.ID) {
						t.Log(result.Explain())
					}
				}
			}
		})
	}
}
