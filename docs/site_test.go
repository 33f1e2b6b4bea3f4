// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"html"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
)

// TestSite builds the site and verifies that every page exists, that every link leads to an existing page and
// heading, and that the search index contains the words.
func TestSite(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "the site takes half a minute")
	if out, err := exec.CommandContext(t.Context(), "npm", "--version").CombinedOutput(); err != nil {
		t.Skipf("npm does not respond: %v %s", err, out)
	}
	noteSources(t)
	dir := filepath.Join(t.TempDir(), "site")
	build := exec.CommandContext(t.Context(), "bash", "hack/site.sh", dir)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("hack/site.sh: %v\n%s", err, out)
	}
	site := siteOf(t, dir)
	for _, page := range pages(t, "docs/*.md", "docs/*/*.md") {
		name := strings.TrimSuffix(strings.TrimPrefix(page, "docs/"), ".md") + ".html"
		if name = strings.Replace(name, "README.html", "index.html", 1); site[name] == "" {
			t.Errorf("%s is not on the site", page)
		}
	}
	for name, text := range site {
		if name != "404.html" {
			checkLinks(t, site, name, text)
		}
	}
	index, err := filepath.Glob(filepath.Join(dir, "assets/chunks/@localSearchIndexroot*.js"))
	if err != nil || len(index) != 1 {
		t.Fatalf("the search has %d indexes (%v), want one", len(index), err)
	}
	text, err := os.ReadFile(index[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"howto/rotate-a-credential", "tutorial/vendor"} {
		if !strings.Contains(string(text), word) {
			t.Errorf("the search does not find %s", word)
		}
	}
}

// siteOf returns the pages of a site by path.
func siteOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	site := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".html") {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		site[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return site
}

var href = regexp.MustCompile(`<a [^>]*href="([^"]*)"`)

// checkLinks checks the internal links of a page.
func checkLinks(t *testing.T, site map[string]string, name, text string) {
	t.Helper()
	found := 0
	for _, match := range href.FindAllStringSubmatch(text, -1) {
		link, err := url.Parse(html.UnescapeString(match[1]))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if link.Host != "" {
			continue
		}
		found++
		target := name
		if link.Path != "" {
			target = strings.TrimPrefix(path.Join("/", path.Dir(name), link.Path), "/")
			if absolute, ok := strings.CutPrefix(link.Path, "/"); ok {
				target = absolute
			}
			if target == "" || strings.HasSuffix(link.Path, "/") {
				target = path.Join(target, "index.html")
			}
		}
		switch to, there := site[target]; {
		case !there:
			t.Errorf("%s: the link to %s leads nowhere", name, match[1])
		case link.Fragment != "" && !strings.Contains(to, ` id="`+html.EscapeString(link.Fragment)+`"`):
			t.Errorf("%s: the link to %s leads to no heading", name, match[1])
		}
	}
	if found == 0 {
		t.Errorf("%s has no links: this test does not see them", name)
	}
}
