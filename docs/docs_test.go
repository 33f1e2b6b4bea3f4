// SPDX-License-Identifier: Apache-2.0

// Package docs_test tests the documentation: it runs the commands on the pages, and checks the links, the
// site, the decision records, and the names of tests and targets.
package docs_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/internal/freeport"
	"github.com/cooper-cosi/cooper/internal/testing/docstest"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/internal/testing/processtest"
	"github.com/cooper-cosi/cooper/testenv/controlplane/binaries"
)

// root is the root of the repository.
const root = ".."

// pages returns the paths of all matching files, relative to root.
func pages(t *testing.T, patterns ...string) []string {
	t.Helper()
	var found []string
	for _, pattern := range patterns {
		matches, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range matches {
			found = append(found, strings.TrimPrefix(filepath.ToSlash(match), root+"/"))
		}
	}
	if len(found) == 0 {
		t.Fatalf("no page matches %q", patterns)
	}
	return found
}

func read(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestREADME runs the commands in README.md.
//
//nolint:paralleltest // the pages share the checkout, so they run one after the other
func TestREADME(t *testing.T) {
	fulltest.Only(t, "TestCooperDoesWhatTheReadmePromises in cmd/cooper")
	runPage(t, "README.md")
}

// fullPages are the pages that the full tier runs in addition to README.md: the tutorials, the migration pages, and
// how-tos that start different components. The soak runs all pages.
var fullPages = []string{
	"docs/tutorial/README.md", "docs/tutorial/administrator.md", "docs/tutorial/vendor.md",
	"docs/howto/containers.md", "docs/howto/delete-a-bucket.md", "docs/howto/encrypt-credentials.md",
	"docs/howto/import-a-bucket.md", "docs/howto/install-with-helm.md", "docs/howto/objectbucketclaims.md",
	"docs/howto/move-from-azurite.md", "docs/howto/move-from-fake-gcs-server.md", "docs/howto/move-from-localstack.md",
	"docs/howto/move-from-minio.md", "docs/howto/move-from-moto.md", "docs/howto/move-from-s3mock.md",
	"docs/howto/restore-after-a-loss.md", "docs/howto/rotate-a-credential.md", "docs/howto/use-a-bucket.md",
}

// TestPages runs the commands of the other pages, three pages at a time, because a page spends about half of
// its time waiting. They share the checkout and its bin/, in which runPage makes go build replace programs
// atomically. Pages that start containers, or that replace cooper by a build with all clouds, run first, one
// at a time.
//
//nolint:paralleltest // README.md runs before
func TestPages(t *testing.T) {
	all := slices.DeleteFunc(pages(t, "docs/tutorial/*.md", "docs/howto/*.md"), func(page string) bool { return len(runnable(blocks(t, page))) == 0 })
	alone := regexp.MustCompile(`(?m)^docker |CLOUDS=all|go build .* "?\./cmd/(cooper$|\$program)`)
	lanes := make(chan struct{}, 3)
	for _, page := range fulltest.Pick(t, all, fulltest.Tiers{Full: fullPages}) {
		t.Run(page, func(t *testing.T) {
			if !slices.ContainsFunc(runnable(blocks(t, page)), func(b docstest.Block) bool { return alone.MatchString(b.Text) }) {
				t.Parallel()
				lanes <- struct{}{}
				defer func() { <-lanes }()
			}
			runPage(t, page)
		})
	}
}

// blocks returns the code blocks of a page.
func blocks(t *testing.T, page string) []docstest.Block {
	t.Helper()
	found, err := docstest.ParseBlocks(page, read(t, page))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// runnable returns the blocks that can be run, including those that need Docker.
func runnable(all []docstest.Block) []docstest.Block {
	return slices.DeleteFunc(slices.Clone(all), func(b docstest.Block) bool {
		return b.Kind != docstest.Run && b.Kind != docstest.Until && b.Kind != docstest.RunWith
	})
}

// runPage runs the commands of a page as a reader would.
func runPage(t *testing.T, page string) {
	t.Helper()
	noteSources(t)
	blocks := blocks(t, page)
	environment := withDocker(t, blocks)
	needs(t, blocks, "aws", "--version")
	needs(t, blocks, "node", "--version")
	needs(t, blocks, "python3", "-c", "import boto3")
	needs(t, blocks, "radosgw", "--version")
	needs(t, blocks, "rclone", "version")
	needs(t, blocks, "s3cmd", "--version")
	needs(t, blocks, "restic", "version")
	script := filepath.Join(t.TempDir(), "page.sh")
	if err := os.WriteFile(script, []byte(docstest.Script(blocks)), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "bash", script)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Dir = root
	// Use a separate system, because the developer may be running one, and ignore the developer's AWS
	// settings.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool { return strings.HasPrefix(variable, "AWS_") })
	cmd.Env = append(cmd.Env, "PAGE_DIR="+t.TempDir(), "COOPER_DATA="+filepath.Join(t.TempDir(), "data"), "KUBECACHEDIR="+t.TempDir(),
		"TMPDIR="+processtest.ShortTempDir(t), // a page may kill the processes that it starts
		"GOTMPDIR="+besideBin(t))
	cmd.Env = append(cmd.Env, environment...)
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Errorf("%s: %v", page, err)
	}
}

// besideBin returns a temporary directory on the file system of bin/. go build can rename a program from
// there while another page runs the old one.
func besideBin(t *testing.T) string {
	t.Helper()
	bin, err := filepath.Abs(filepath.Join(root, "bin"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(bin, "build")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// withDocker converts blocks that need Docker to ordinary ones, and returns an environment that isolates them
// from other Docker users. It skips the test if Docker does not respond, or fails it if containers are
// required.
func withDocker(t *testing.T, blocks []docstest.Block) []string {
	t.Helper()
	wanted := false
	for i := range blocks {
		if blocks[i].Kind == docstest.RunWith {
			wanted = true
			blocks[i].Kind = docstest.Run
		}
	}
	if !wanted {
		return nil
	}
	if out, err := exec.CommandContext(t.Context(), "docker", "compose", "ls").CombinedOutput(); err != nil {
		if os.Getenv("COOPER_REQUIRE_CONTAINERS") != "" {
			t.Fatalf("the page needs Docker with Compose: %v %s", err, out)
		}
		t.Skipf("the page needs Docker with Compose, which does not respond: %v %s", err, out)
	}
	docker := dockerThatMiscounts(t)
	environment := []string{
		"COMPOSE_PROJECT_NAME=cooper-docs-" + strings.ToLower(rand.Text()[:8]),
		"PATH=" + filepath.Dir(docker) + string(os.PathListSeparator) + os.Getenv("PATH"),
	}
	for _, variable := range []string{"COOPER_API_PORT", "COOPER_S3_PORT", "COOPER_AZURE_PORT", "COOPER_GCS_PORT"} {
		environment = append(environment, variable+"="+strconv.Itoa(freeport.ForTest(t).Number))
	}
	t.Cleanup(func() {
		for _, profile := range []string{"fakes", "real"} { // leftovers of a failed page
			down := exec.CommandContext(context.WithoutCancel(t.Context()), docker, "compose", "--profile", profile, "down", "--volumes")
			down.Dir, down.Env = root, append(os.Environ(), environment...)
			if out, err := down.CombinedOutput(); err != nil {
				t.Errorf("docker compose down: %v\n%s", err, out)
			}
		}
	})
	return environment
}

// miscounting runs Docker and ignores one error: before version 28, Docker may be unable to remove an unused
// network until it is restarted (see containers.Miscounted). The removal of a project succeeds if nothing
// else is left.
const miscounting = `#!/bin/sh
real=%s said=$(mktemp)
"$real" "$@" 2>"$said"
status=$?
cat "$said" >&2
if [ $status -ne 0 ] && grep -q 'has active endpoints *$' "$said" &&
  [ -z "$("$real" ps --all --quiet --filter "label=com.docker.compose.project=$COMPOSE_PROJECT_NAME")" ]; then
  status=0
fi
rm "$said"
exit $status
`

// dockerThatMiscounts returns the path of the script.
func dockerThatMiscounts(t *testing.T) string {
	t.Helper()
	found, err := exec.LookPath("docker")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "docker")
	if err := os.WriteFile(path, fmt.Appendf(nil, miscounting, found), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// needs skips the test if the blocks call a program that does not respond to the arguments. It fails the test
// if the program is a store and stores are required.
func needs(t *testing.T, blocks []docstest.Block, program string, args ...string) {
	t.Helper()
	call := regexp.MustCompile(`(?m)^(\(cd .* && )?(exec )?` + program + " ")
	called := slices.ContainsFunc(runnable(blocks), func(b docstest.Block) bool { return call.MatchString(b.Text) })
	if !called {
		return
	}
	if out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput(); err != nil {
		if program == "radosgw" && os.Getenv("COOPER_REQUIRE_STORES") != "" {
			t.Fatalf("the page calls %s, which does not respond: %v %s", program, err, out)
		}
		t.Skipf("the page calls %s, which does not respond: %v %s", program, err, out)
	}
}

// noteSources reads every directory of the module, so that the test cache depends on the sources of the
// commands.
func noteSources(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir(root, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && (entry.Name() == ".git" || entry.Name() == "bin") {
			return filepath.SkipDir
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestContributingNamesWhatThereIs verifies that the packages, tests and targets in the table of commands
// exist.
func TestContributingNamesWhatThereIs(t *testing.T) {
	t.Parallel()
	_, table, found := strings.Cut(read(t, "CONTRIBUTING.md"), "| command | effect |\n")
	if !found {
		t.Fatal("CONTRIBUTING.md has no table of commands")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	makefile := read(t, "Makefile")
	for _, command := range regexp.MustCompile("(?m)^\\| `([^`]+)`").FindAllStringSubmatch(table, -1) {
		words := strings.Fields(strings.ReplaceAll(command[1], "'", ""))
		switch {
		case words[0] == "make":
			if !strings.Contains(makefile, "\n"+words[1]+": ") {
				t.Errorf("%s: there is no such target", command[1])
			}
		case words[0] == "go" && slices.Contains(words, "-run"):
			function, _, _ := strings.Cut(words[slices.Index(words, "-run")+1], "/")
			directory := words[2] // of go test ./DIRECTORY -run ..., and of go -C DIRECTORY test -run ...
			if !regexp.MustCompile(`(?m)^func Test\w*` + strings.TrimPrefix(function, "Test")).MatchString(sources(t, directory)) {
				t.Errorf("%s: there is no such test", command[1])
			}
		case words[0] == "go":
			pages(t, words[2]+"/*_test.go")
		}
	}
}

// TestREADMEIsShort limits README.md to two screens of 50 lines.
func TestREADMEIsShort(t *testing.T) {
	t.Parallel()
	if lines := strings.Count(read(t, "README.md"), "\n"); lines > 100 {
		t.Errorf("README.md has %d lines; two screens are 100", lines)
	}
}

// TestAStoreIsShort limits the length of the page's program.
func TestAStoreIsShort(t *testing.T) {
	t.Parallel()
	lines := 0
	for _, block := range blocks(t, "docs/howto/add-a-store.md") {
		if block.Kind == docstest.File && strings.HasSuffix(block.Argument, ".go") && !strings.HasSuffix(block.Argument, "_test.go") {
			lines += strings.Count(block.Text, "\n")
		}
	}
	if lines == 0 || lines >= 200 {
		t.Errorf("the store has %d lines of Go, want some, and fewer than 200", lines)
	}
}

func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)#]*)(?:#([^)]*))?\)`)
	for _, page := range pages(t, "*.md", "docs/*.md", "docs/*/*.md", "tools/*.md", "bench/*.md", "deploy/*/*.md", "deploy/charts/*/*.md") {
		for _, match := range link.FindAllStringSubmatch(read(t, page), -1) {
			if strings.Contains(match[1], "://") {
				continue
			}
			target := page
			if match[1] != "" {
				target = filepath.Join(filepath.Dir(page), match[1])
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s: the link to %s leads nowhere", page, match[1])
				continue
			}
			if match[2] != "" && !slices.Contains(anchors(read(t, target)), match[2]) {
				t.Errorf("%s: %s has no heading #%s", page, target, match[2])
			}
		}
	}
}

// anchors returns the anchors of a page's headings: lower case, with hyphens for spaces and without other
// punctuation.
func anchors(page string) []string {
	var found []string
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(page, -1) {
		words := regexp.MustCompile(`[^\p{L}\p{N}_ -]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		found = append(found, strings.ReplaceAll(words, " ", "-"))
	}
	return found
}

// TestPagesNameTestsThatExist verifies that each test that a page names with its directory, such as
// "TestDeploy in testenv/system", exists. In the threat model, every test needs its directory.
func TestPagesNameTestsThatExist(t *testing.T) {
	t.Parallel()
	const name = `Test[A-Z]\w*`
	placed := regexp.MustCompile(`(` + name + `(?:(?:, | and )` + name + `)*) in ([\w/-]+)`)
	for _, page := range pages(t, "*.md", "docs/*.md", "docs/*/*.md") {
		text := read(t, page)
		for _, match := range placed.FindAllStringSubmatch(text, -1) {
			tests := sources(t, match[2])
			for _, test := range regexp.MustCompile(name).FindAllString(match[1], -1) {
				if !strings.Contains(tests, "\nfunc "+test+"(") {
					t.Errorf("%s: there is no test %s in %s", page, test, match[2])
				}
			}
		}
		alone := regexp.MustCompile(name).FindAllString(placed.ReplaceAllString(text, ""), -1)
		if strings.HasSuffix(page, "threat-model.md") && len(alone) > 0 {
			t.Errorf("%s: say where these tests are: %q", page, alone)
		}
	}
}

// TestCompatibility verifies that each line of the page names its test, and that the page's oldest and newest
// Kubernetes versions are those of the charts, the tests and the Go modules.
func TestCompatibility(t *testing.T) {
	t.Parallel()
	text := read(t, "docs/reference/compatibility.md")
	for line := range strings.Lines(text) {
		held := regexp.MustCompile(`Test\w+ in [\w/-]+ \|$`).MatchString(strings.TrimSpace(line))
		if strings.HasPrefix(line, "|") && !strings.HasPrefix(line, "|---") && !strings.HasSuffix(line, "| held by |\n") && !held {
			t.Errorf("no test holds %s", line)
		}
	}
	rows := regexp.MustCompile(`(?m)^\| (1\.\d+)( and older)? \|`).FindAllStringSubmatch(text, -1)
	module := regexp.MustCompile(`(?m)^\tk8s\.io/api v0\.(\d+)\.`).FindStringSubmatch(read(t, "go.mod"))
	oldest, _, _ := strings.Cut(strings.TrimPrefix(binaries.Oldest, "v1."), ".")
	minor, err := strconv.Atoi(oldest)
	if err != nil || module == nil {
		t.Fatalf("%v, %q", err, module)
	}
	var got []string
	for _, row := range rows {
		got = append(got, row[1])
	}
	if diff := cmp.Diff([]string{fmt.Sprintf("1.%d", minor-1), "1." + oldest, "1." + module[1]}, got); diff != "" {
		t.Errorf("minor versions of Kubernetes (-want +got):\n%s", diff)
	}
	for _, chart := range pages(t, "deploy/charts/*/Chart.yaml") {
		if want := `kubeVersion: ">=1.` + oldest + `.0-0"`; !strings.Contains(read(t, chart), want) {
			t.Errorf("%s has no %s", chart, want)
		}
	}
}

// sources returns the test sources of a directory, which may not exist.
func sources(t *testing.T, directory string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, directory, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		all.WriteString(read(t, strings.TrimPrefix(file, root+"/")))
	}
	return all.String()
}

// TestDecisionRecords checks the format of the records, that their numbers are consecutive, and that the
// index lists each.
func TestDecisionRecords(t *testing.T) {
	t.Parallel()
	sections := []string{"## Context", "## Decision", "## Consequences"}
	status := regexp.MustCompile(`\n\nStatus: (template|accepted|superseded by \d{4})\n`)
	var index strings.Builder
	for number, page := range pages(t, "docs/adr/0*.md") {
		text := read(t, page)
		first, _, _ := strings.Cut(text, "\n")
		prefix := fmt.Sprintf("# %04d: ", number)
		title, ok := strings.CutPrefix(first, prefix)
		if !ok || !strings.HasPrefix(filepath.Base(page), prefix[2:6]+"-") {
			t.Errorf("%s: want the number %s in its name and in its title, got %q", page, prefix[2:6], first)
		}
		state := status.FindStringSubmatch(text)
		if state == nil {
			t.Errorf("%s: no line \"Status: accepted\" (or \"superseded by NNNN\") under the title", page)
		}
		superseded := len(state) > 1 && strings.HasPrefix(state[1], "superseded")
		if superseded {
			title += " (" + state[1] + ")"
		}
		headings := regexp.MustCompile(`(?m)^## .*$`).FindAllString(text, -1)
		headings = slices.DeleteFunc(headings, func(heading string) bool { return heading == "## Options" }) // optional
		if !slices.Equal(headings, sections) && (!superseded || len(headings) > 0) {
			t.Errorf("%s: sections are %q, want %q", page, headings, sections)
		}
		fmt.Fprintf(&index, "| [%04d](%s) | %s |\n", number, filepath.Base(page), title)
	}
	_, table, _ := strings.Cut(read(t, "docs/adr/README.md"), "|---|---|\n")
	if diff := cmp.Diff(index.String(), table); diff != "" {
		t.Errorf("docs/adr/README.md, the index (-want +got):\n%s", diff)
	}
}

// TestGlossaryIsSorted verifies that the glossary is sorted.
func TestGlossaryIsSorted(t *testing.T) {
	t.Parallel()
	_, table, _ := strings.Cut(read(t, "docs/glossary.md"), "|---|---|\n")
	var words []string
	for line := range strings.Lines(table) {
		words = append(words, strings.ToLower(strings.TrimSpace(strings.Split(line, "|")[1])))
	}
	if !slices.IsSorted(words) {
		t.Errorf("the words are not in order: %q", words)
	}
}
