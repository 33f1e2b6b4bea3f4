// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
)

// git runs git in a directory without the user's configuration.
func git(t *testing.T, directory string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = directory
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_AUTHOR_DATE=2026-01-02T03:04:05Z",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_COMMITTER_DATE=2026-01-02T03:04:05+02:00")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// wantNoError ends the test if there is an error.
func wantNoError(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// checkout returns a checkout with a history that has the tags v0.1.0 and v0.2.0-rc.1.
func checkout(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	git(t, dir, "init", "--quiet", "--initial-branch=main")
	git(t, dir, "commit", "--quiet", "--allow-empty", "-m", "api: begin")
	git(t, dir, "tag", "v0.1.0")
	git(t, dir, "commit", "--quiet", "--allow-empty", "-m", "drivers/s3driver: a <b> and \x1b[31m*")
	git(t, dir, "tag", "-a", "-m", "candidate", "v0.2.0-rc.1")
	git(t, dir, "commit", "--quiet", "--allow-empty", "-m", "Say hello: to all")
	return dir
}

// TestRefusals requests invalid releases, and verifies that nothing is left.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		version string
		prepare func(t *testing.T, dir string)
		want    string
	}{
		"an empty version":              {version: "", want: `VERSION="" is not a version: set VERSION=v0.1.0`},
		"a version without v":           {version: "0.3.0", want: "with a v"},
		"a version of two numbers":      {version: "v0.3", want: "is not a version"},
		"a version with build metadata": {version: "v0.3.0+dirty", want: "without build metadata"},
		"a version that leaves dist":    {version: "v0.3.0/../../x", want: "is not a version"},
		"a version that is a flag":      {version: "--upload-pack=x", want: "is not a version"},
		"a version of another module":   {version: "v2.0.0", want: "from v2 on, the module path"},
		"a tag of another commit":       {version: "v0.1.0", want: "tag v0.1.0 already exists at commit"},
		"a version before its last":     {version: "v0.1.1", want: "tag v0.2.0-rc.1 in the history of commit"},
		"a file that is not committed":  {version: "v0.3.0", prepare: write("new"), want: "?? new"},
		"no commit":                     {version: "v0.3.0", prepare: func(t *testing.T, dir string) { t.Helper(); remove(t, dir) }, want: "a git checkout"},
		"a failed release":              {version: "v0.3.0", want: "API changes: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, dist := checkout(t), filepath.Join(t.TempDir(), "dist")
			if tc.prepare != nil {
				tc.prepare(t, dir)
			}
			err := run(t.Context(), options{version: tc.version, checkout: dir, dist: dist})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if left, _ := os.ReadDir(dist); len(left) > 0 {
				t.Errorf("left is %v", left)
			}
		})
	}
}

func write(name string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		wantNoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
}

func remove(t *testing.T, dir string) {
	t.Helper()
	wantNoError(t, os.RemoveAll(filepath.Join(dir, ".git")))
}

// TestChangelog has a commit whose title contains markup.
func TestChangelog(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"v0.2.0-rc.2": "2 commits since v0.1.0.\n\n## drivers\n\n- drivers/s3driver: a \\<b\\> and \\[31m\\* (",
		"v0.2.0":      "2 commits since v0.1.0.\n\n## drivers\n\n- drivers/s3driver: a \\<b\\> and \\[31m\\* (",
	} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			found, err := look(t.Context(), checkout(t), version)
			wantNoError(t, err)
			r := &release{options: options{version: version}, source: found, files: t.TempDir()}
			wantNoError(t, r.writeChangelog(t.Context()))
			got, err := os.ReadFile(filepath.Join(r.files, "CHANGELOG"))
			wantNoError(t, err)
			if !strings.HasPrefix(string(got), "# "+version+"\n\n"+want) {
				t.Errorf("got\n%s\nwant it to begin with\n%s", got, want)
			}
		})
	}
}

// TestVersionsAndChangesOfTheAPI checks versions against pages of API changes.
func TestVersionsAndChangesOfTheAPI(t *testing.T) {
	t.Parallel()
	const breaks, adds = "Changes since `v0.1.0` for\n\n## Breaks\n\n- x\n", "Changes since `v0.1.0` for\n\n## New\n\n- x\n"
	for name, tc := range map[string]struct{ page, before, version, want string }{
		"the first version":                      {breaks, "", "v0.1.0", ""},
		"a patch that breaks nothing":            {adds, "v0.1.0", "v0.1.1", ""},
		"a patch that breaks":                    {breaks, "v0.1.0", "v0.1.1", "does not start with v0.1."},
		"a minor version that breaks":            {breaks, "v0.1.0", "v0.2.0", ""},
		"a minor version that breaks, after v1":  {strings.ReplaceAll(breaks, "v0.1.0", "v1.2.0"), "v1.2.0", "v1.3.0", "does not start with v1."},
		"a major version that breaks":            {strings.ReplaceAll(breaks, "v0.1.0", "v1.2.0"), "v1.2.0", "v2.0.0", ""},
		"a page that begins at another version":  {adds, "v0.1.1", "v0.1.2", "hack/apidiff/run.sh -since v0.1.1"},
		"a page that begins at a longer version": {strings.ReplaceAll(adds, "v0.1.0", "v0.1.0-rc.1"), "v0.1.0", "v0.1.1", "-since v0.1.0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &release{options: options{version: tc.version}, source: source{directory: t.TempDir(), previous: tc.before}}
			page := filepath.Join(r.source.directory, apiPage)
			wantNoError(t, errors.Join(os.MkdirAll(filepath.Dir(page), 0o700), os.WriteFile(page, []byte(tc.page), 0o600)))
			if err := r.checkAPI(t.Context()); tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// version is higher than any tag of the repository.
const version = "v1.1000.0"

// thisTree commits the current sources on no branch, and checks them out.
func thisTree(t *testing.T) string {
	t.Helper()
	const root = "../.."
	dir := t.TempDir()
	work, err := filepath.Abs(root)
	wantNoError(t, err)
	// Not a clone: the checkout may belong to another user, and may be shallow.
	git(t, dir, "init", "--quiet", "--initial-branch=main")
	git(t, work, "--git-dir", filepath.Join(dir, ".git"), "--work-tree", work, "add", "--all")
	git(t, dir, "commit", "--quiet", "--allow-empty", "-m", "all: as it is")
	git(t, dir, "reset", "--quiet", "--hard")
	return dir
}

// TestRelease builds a release twice, in two places, and checks its contents.
func TestRelease(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "separate tests cover rejected releases, the changelog, and archives of images")
	o := options{version: version, checkout: thisTree(t), dist: t.TempDir(), platforms: []string{"linux/" + runtime.GOARCH}, only: []string{"cosi-driver-static"}}
	if fulltest.Soak() {
		o.platforms, o.only = platforms(), nil
	}
	mustRun(t, o)
	again := o
	again.checkout, again.dist = filepath.Join(t.TempDir(), "elsewhere"), t.TempDir()
	git(t, ".", "clone", "--quiet", o.checkout, again.checkout)
	git(t, again.checkout, "tag", version)
	again.checkout = filepath.Join(again.checkout, "docs", "howto")
	mustRun(t, again)
	made := filepath.Join(o.dist, version)
	if out, err := exec.CommandContext(t.Context(), "diff", "--recursive", "--brief", made, filepath.Join(again.dist, version)).CombinedOutput(); err != nil {
		t.Errorf("the same sources give another release: %v\n%s", err, out)
	}
	if err := publish(filepath.Join(again.dist, version), made); err != nil {
		t.Errorf("over the same release: %v", err)
	}
	papers(t, made)
	programs(t, made, o.platforms)
	images(t, made)
	text, err := os.ReadFile(filepath.Join(made, "install.yaml"))
	wantNoError(t, err)
	if !strings.Contains(string(text), "image: cooper/cosi-controller:"+version+"\n") || strings.Contains(string(text), ":dev") {
		t.Error("install.yaml installs another version")
	}
	wantNoError(t, os.WriteFile(filepath.Join(made, sumsFile), nil, 0o600))
	if err := publish(filepath.Join(again.dist, version), made); err == nil || !strings.Contains(err.Error(), "differs in CHANGELOG, ") {
		t.Errorf("over another release: %v", err)
	}
}

func mustRun(t *testing.T, o options) {
	t.Helper()
	wantNoError(t, run(t.Context(), o))
	if left, err := filepath.Glob(filepath.Join(o.dist, ".*")); err != nil || len(left) > 0 {
		t.Errorf("left is %v (%v)", left, err)
	}
}

// papers verifies the release as a user does, and checks that the sums and the provenance cover all files,
// and the SBOM all programs.
func papers(t *testing.T, made string) {
	t.Helper()
	verify := exec.CommandContext(t.Context(), "sha256sum", "--check", "--strict", "--quiet", sumsFile)
	verify.Dir = made
	if out, err := verify.CombinedOutput(); err != nil {
		t.Errorf("sha256sum: %v\n%s", err, out)
	}
	sums, err := readSums(made)
	wantNoError(t, err)
	var statement struct {
		Subject []struct {
			Name   string            `json:"name"`
			Digest map[string]string `json:"digest"`
		} `json:"subject"`
	}
	var found bill
	for name, into := range map[string]any{"provenance": &statement, "spdx": &found} {
		text, err := os.ReadFile(filepath.Join(made, "cooper-"+version+"."+name+".json"))
		wantNoError(t, err)
		wantNoError(t, json.Unmarshal(text, into))
	}
	judge := exec.CommandContext(t.Context(), "go", "-C", "../../judges", "test", "./documents", "-run=^TestBill$", "-count=1")
	judge.Env = append(os.Environ(), "COOPER_BILL="+filepath.Join(made, "cooper-"+version+".spdx.json"))
	if out, err := judge.CombinedOutput(); err != nil {
		t.Errorf("the bill: %v\n%s", err, out)
	}
	attested := map[string]string{sumsFile: "", "cooper-" + version + ".provenance.json": ""}
	for _, s := range statement.Subject {
		attested[s.Name] = s.Digest["sha256"]
	}
	entries, err := os.ReadDir(made)
	wantNoError(t, err)
	for _, entry := range entries {
		name := entry.Name()
		if want, ok := attested[name]; !ok || want != "" && want != sums[name] {
			t.Errorf("the provenance has %q of %s", want, name)
		}
		if program := strings.Contains(name, "-"+version+"-") || strings.HasSuffix(name, ".oci.tar") || strings.HasSuffix(name, ".tar.gz"); program &&
			!slices.ContainsFunc(found.Packages, func(c component) bool { return c.File == name && c.Checksums[0].Value == sums[name] }) {
			t.Errorf("%s is not in the bill", name)
		}
	}
}

// programs checks the version of each program that can run on this machine, and that the SBOM lists its
// modules.
func programs(t *testing.T, made string, platforms []string) {
	t.Helper()
	bill, err := os.ReadFile(filepath.Join(made, "cooper-"+version+".spdx.json"))
	wantNoError(t, err)
	native := "linux-" + runtime.GOARCH
	found, err := filepath.Glob(filepath.Join(made, "*-"+version+"-*"))
	if err != nil || len(found)%len(platforms) > 0 || len(found) == 0 {
		t.Fatalf("there are %v (%v) for %v", found, err, platforms)
	}
	for _, file := range found {
		info, err := buildinfo.ReadFile(file)
		wantNoError(t, err)
		for _, m := range info.Deps {
			if !strings.Contains(string(bill), fmt.Sprintf(`"name": %q`, m.Path)) {
				t.Errorf("%s of %s is not in the bill", m.Path, file)
			}
		}
		name, rest, _ := strings.Cut(filepath.Base(file), "-"+version+"-")
		if rest != native {
			continue
		}
		out, err := exec.CommandContext(t.Context(), file, "--version").CombinedOutput()
		if diff := cmp.Diff(name+" "+version+"\n", string(out)); diff != "" || err != nil {
			t.Errorf("%s --version: %v (-want +got)\n%s", name, err, diff)
		}
	}
}

// images checks that the program in each image is that of the release, for each architecture.
func images(t *testing.T, made string) {
	t.Helper()
	archives, err := filepath.Glob(filepath.Join(made, "*-"+version+".oci.tar"))
	if err != nil || len(archives) == 0 {
		t.Fatalf("there are no images (%v)", err)
	}
	for _, archive := range archives {
		name := strings.TrimSuffix(filepath.Base(archive), "-"+version+".oci.tar")
		released, err := filepath.Glob(filepath.Join(made, name+"-"+version+"-linux-*"))
		wantNoError(t, err)
		var want, got []string
		for _, file := range released {
			content, err := os.ReadFile(file)
			wantNoError(t, err)
			want = append(want, fmt.Sprintf("%x", sha256.Sum256(content)))
		}
		for _, blob := range files(t, archive, func(in string) bool { return strings.HasPrefix(in, "blobs/") }) {
			if bytes.HasPrefix(blob, []byte("{")) {
				continue // describes the layers, which are checked separately
			}
			for _, content := range filesIn(t, bytes.NewReader(blob), func(in string) bool { return path.Base(in) == name }) {
				got = append(got, fmt.Sprintf("%x", sha256.Sum256(content)))
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
			t.Errorf("%s in its images differs from the release (-want +got):\n%s", name, diff)
		}
	}
}

// files returns the contents of the wanted files in an archive.
func files(t *testing.T, archive string, wanted func(string) bool) map[string][]byte {
	t.Helper()
	file, err := os.Open(archive)
	wantNoError(t, err)
	defer file.Close()
	return filesIn(t, file, wanted)
}

func filesIn(t *testing.T, archive io.Reader, wanted func(string) bool) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	for r := tar.NewReader(archive); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		wantNoError(t, err)
		if header.Typeflag != tar.TypeReg || !wanted(header.Name) {
			continue
		}
		if found[header.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPlugin packs small files in place of programs.
func TestPlugin(t *testing.T) {
	t.Parallel()
	r := &release{options: options{version: version, platforms: platforms()}, source: source{directory: "../.."}, files: t.TempDir()}
	for _, platform := range r.platforms {
		p := program{name: plugin, platform: platform, file: plugin + "-" + version + "-" + strings.ReplaceAll(platform, "/", "-")}
		r.programs = append(r.programs, p, program{name: "cooper", platform: platform})
		wantNoError(t, r.write(p.file, platform))
	}
	wantNoError(t, r.packPlugin(t.Context()))
	text, err := os.ReadFile(filepath.Join(r.files, "krew-cosi.yaml"))
	wantNoError(t, err)
	var manifest struct {
		Spec struct {
			Version   string
			Platforms []struct {
				Selector         struct{ MatchLabels map[string]string }
				URI, SHA256, Bin string
			}
		}
	}
	wantNoError(t, yaml.Unmarshal(text, &manifest))
	if manifest.Spec.Version != version || len(manifest.Spec.Platforms) != len(r.platforms) {
		t.Errorf("it is of another version, or of other platforms:\n%s", text)
	}
	for _, p := range manifest.Spec.Platforms {
		base, archive := path.Split(p.URI)
		if base != website+"/releases/download/"+version+"/" {
			t.Errorf("uri: %s", p.URI)
		}
		if sum, err := r.sum(archive); err != nil || sum != p.SHA256 {
			t.Errorf("the SHA-256 of %s: want %s (%v), got %s", archive, sum, err, p.SHA256)
		}
		packed, err := os.Open(filepath.Join(r.files, archive))
		wantNoError(t, err)
		unzipped, err := gzip.NewReader(packed)
		wantNoError(t, err)
		got := filesIn(t, unzipped, func(string) bool { return true })
		wantNoError(t, packed.Close())
		want := p.Selector.MatchLabels["os"] + "/" + p.Selector.MatchLabels["arch"]
		if string(got[p.Bin]) != want || len(got["LICENSE"]) == 0 || len(got) != 2 {
			t.Errorf("%s has %d files, and the program %q in place of %q", archive, len(got), got[p.Bin], want)
		}
	}
	r.platforms, r.programs, r.files = r.platforms[:1], r.programs[:1], t.TempDir()
	if err := errors.Join(r.write(r.programs[0].file, ""), r.packPlugin(t.Context())); err == nil || !strings.Contains(err.Error(), "contains a platform") {
		t.Errorf("without a platform of the manifest: %v", err)
	}
}
