// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	utilversion "k8s.io/apimachinery/pkg/util/version"
)

// A source is a commit in a directory.
type source struct {
	directory, commit string
	// time is when it was committed.
	time time.Time
	// previous is the previous version that is not a release candidate; empty for the first one.
	previous string
}

// git runs git in the directory.
func (s source) git(ctx context.Context, args ...string) (string, error) {
	return output(ctx, s.directory, []string{"TZ=UTC", "LC_ALL=C"}, "git", args...)
}

// look checks whether the current commit can become the version.
func look(ctx context.Context, checkout, version string) (source, error) {
	parsed, err := utilversion.ParseSemantic(version)
	if err != nil || "v"+parsed.String() != version || parsed.BuildMetadata() != "" {
		return source{}, fmt.Errorf("VERSION=%q is not a version: set VERSION=v0.1.0, or VERSION=v0.1.0-rc.1, according to https://semver.org, with a v and without build metadata", version)
	}
	if parsed.Major() > 1 {
		return source{}, fmt.Errorf("%s is not a valid version of this Go module: from v2 on, the module path in go.mod and all imports end in the major version", version)
	}
	s := source{directory: checkout}
	for into, args := range map[*string][]string{&s.directory: {"rev-parse", "--show-toplevel"}, &s.commit: {"rev-parse", "HEAD"}} {
		out, err := source{directory: checkout}.git(ctx, args...)
		if err != nil {
			return source{}, fmt.Errorf("a release requires a git checkout of a commit: %w", err)
		}
		*into = out
	}
	if shallow, err := s.git(ctx, "rev-parse", "--is-shallow-repository"); err != nil || shallow != "false" {
		return source{}, errors.Join(err, fmt.Errorf("%s lacks the history, which the changelog and the API check need: run git fetch --unshallow --tags", s.directory))
	}
	dirty, err := s.git(ctx, "status", "--porcelain")
	if err != nil {
		return source{}, err
	}
	if dirty != "" {
		return source{}, fmt.Errorf("a release requires a clean checkout, but these files are not in %s: commit or delete them\n%s", s.commit, dirty)
	}
	return s, s.order(ctx, version)
}

// order finds the previous version among the tags in the history.
func (s *source) order(ctx context.Context, version string) error {
	seconds, err := s.git(ctx, "show", "--no-patch", "--format=%cI", s.commit)
	if err != nil {
		return err
	}
	if s.time, err = time.Parse(time.RFC3339, seconds); err != nil {
		return err
	}
	if tagged, err := s.git(ctx, "rev-parse", "--quiet", "--verify", "refs/tags/"+version+"^{commit}"); err == nil && tagged != s.commit {
		return fmt.Errorf("tag %s already exists at commit %s, but %s is checked out: check out the tag, or choose another version", version, tagged, s.commit)
	}
	tags, err := s.git(ctx, "tag", "--merged", s.commit)
	if err != nil {
		return err
	}
	wanted, previous := utilversion.MustParseSemantic(version), utilversion.MustParseSemantic("v0.0.0")
	for tag := range strings.FieldsSeq(tags) {
		parsed, err := utilversion.ParseSemantic(tag)
		switch {
		case tag == version || err != nil:
		case wanted.LessThan(parsed):
			return fmt.Errorf("tag %s in the history of commit %s is later than %s: choose a later version", tag, s.commit, version)
		case parsed.PreRelease() == "" && previous.LessThan(parsed):
			s.previous, previous = tag, parsed
		}
	}
	return nil
}

// clone creates a clone with the tag of the version, from which Go derives the version. It contains only the
// commit's files.
func (s source) clone(ctx context.Context, directory, version string) (source, error) {
	clone := s
	clone.directory = directory
	if _, err := s.git(ctx, "clone", "--quiet", "--shared", "--no-checkout", "--config", "core.autocrlf=false", s.directory, directory); err != nil {
		return source{}, err
	}
	for _, args := range [][]string{
		{"-c", "advice.detachedHead=false", "checkout", "--quiet", "--detach", s.commit},
		{"-c", "tag.gpgSign=false", "tag", "--force", version, s.commit},
	} {
		if _, err := clone.git(ctx, args...); err != nil {
			return source{}, err
		}
	}
	return clone, nil
}

// apiPage lists the API changes that affect importers of Cooper's packages.
const apiPage = "docs/reference/api-changes.md"

// checkAPI rejects a version number whose compatibility promise the API changes break.
func (r *release) checkAPI(context.Context) error {
	before := r.source.previous
	if before == "" {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(r.source.directory, apiPage))
	if err != nil {
		return err
	}
	if !strings.Contains(string(text), " since `"+before+"` ") {
		return fmt.Errorf("%s does not start at %s, the previous version: run hack/apidiff/run.sh -since %[2]s, and commit the page", apiPage, before)
	}
	if strings.Contains(string(text), "\n## Breaks\n") && promise(before) == promise(r.version) {
		return fmt.Errorf("%s has breaking changes for programs that import packages of %s: choose a version that does not start with %s", apiPage, before, promise(before))
	}
	return nil
}

// promise returns the prefix shared by all versions that are compatible with version.
func promise(version string) string {
	parsed := utilversion.MustParseSemantic(version)
	if parsed.Major() == 0 {
		return fmt.Sprintf("v0.%d.", parsed.Minor())
	}
	return fmt.Sprintf("v%d.", parsed.Major())
}

// markdown escapes the title of a commit for Markdown.
func markdown(title string) string {
	var page strings.Builder
	for _, r := range title {
		switch {
		case r < ' ' || r == 0x7f:
			continue // control characters, which no title needs
		case strings.ContainsRune("\\`*_<>[]#|", r):
			page.WriteByte('\\')
		}
		page.WriteRune(r)
	}
	return page.String()
}

// writeChangelog lists the commits since the previous version, grouped by the directory in their titles.
func (r *release) writeChangelog(ctx context.Context) error {
	since := r.source.commit
	if r.source.previous != "" {
		since = r.source.previous + ".." + since
	}
	log, err := r.source.git(ctx, "log", "--no-merges", "--format=%H %s", since)
	if err != nil {
		return err
	}
	places, commits := map[string][]string{}, 0
	for line := range strings.Lines(log) {
		commit, title, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			return errors.New("a commit has no title: " + commit)
		}
		place := "others"
		if before, _, found := strings.Cut(title, ": "); found && !strings.ContainsAny(before, ` "`) {
			place, _, _ = strings.Cut(before, "/")
		}
		places[place] = append(places[place], fmt.Sprintf("- %s ([%s](%s/commit/%s))\n", markdown(title), commit[:12], website, commit))
		commits++
	}
	page := &strings.Builder{}
	fmt.Fprintf(page, "# %s\n\n", r.version)
	if r.source.previous == "" {
		fmt.Fprintf(page, "The first release, of %d commits.\n", commits)
	} else {
		fmt.Fprintf(page, "%d commits since %s.\n", commits, r.source.previous)
	}
	for _, place := range slices.Sorted(maps.Keys(places)) {
		fmt.Fprintf(page, "\n## %s\n\n%s", markdown(place), strings.Join(places[place], ""))
	}
	return r.write("CHANGELOG", page.String())
}
