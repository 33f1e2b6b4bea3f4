// SPDX-License-Identifier: Apache-2.0

// Package govulncheck_test runs run.sh on small modules with a test database.
package govulncheck_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
)

// database is a database in which all versions of strconv.Quote are vulnerable, as files by path.
var database = map[string]string{
	"index/db.json":      `{"modified":"2026-01-01T00:00:00Z"}`,
	"index/modules.json": `[{"path":"stdlib","vulns":[{"id":"GO-0000-0001","modified":"2026-01-01T00:00:00Z"}]}]`,
	"ID/GO-0000-0001.json": `{"schema_version":"1.3.1","id":"GO-0000-0001","modified":"2026-01-01T00:00:00Z","summary":"Quotes that leak",
		"database_specific":{"url":"https://example.test/GO-0000-0001"},
		"affected":[{"package":{"name":"stdlib","ecosystem":"Go"},"ranges":[{"type":"SEMVER","events":[{"introduced":"0"}]}],
		"ecosystem_specific":{"imports":[{"path":"strconv","symbols":["Quote"]}]}}]}`,
}

func TestRun(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "make verify runs govulncheck")
	db := "file://" + write(t, database)
	if out, code := run(t, db, "", "-version"); code != 0 { // this builds govulncheck
		t.Fatal(out)
	}
	for name, tc := range map[string]struct {
		does, db string
		// proxy is the proxy for requests to the database; empty means the machine's setting.
		proxy string
		want  int
		says  string
	}{
		"a vulnerable function that is called":      {does: `strconv.Quote("")`, db: db, want: 3, says: "GO-0000-0001"},
		"one that is only linked":                   {does: `strconv.Itoa(1)`, db: db, says: "affected by 0 vulnerabilities"},
		"the usual database is out of reach":        {does: `strconv.Quote("")`, proxy: "http://127.0.0.1:1", want: 77, says: "nothing was checked"},
		"an explicitly set database is unreachable": {does: `strconv.Quote("")`, db: "http://127.0.0.1:1", want: 1, says: "vulndb"},
		"an explicitly set database does not exist": {does: `strconv.Quote("")`, db: db + "/none", want: 1, says: "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			module := write(t, map[string]string{
				"go.mod":  "module example.test/small\n\ngo 1.26\n",
				"main.go": "package main\n\nimport \"strconv\"\n\nfunc main() { _ = " + tc.does + " }\n",
			})
			if out, code := run(t, tc.db, tc.proxy, "-C", module, "./..."); code != tc.want || !strings.Contains(out, tc.says) {
				t.Errorf("exit code %d, want %d and %q:\n%s", code, tc.want, tc.says, out)
			}
		})
	}
}

// run returns the output of run.sh with a database, and its exit code.
func run(t *testing.T, db, proxy string, args ...string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", append([]string{"run.sh"}, args...)...)
	cmd.Env = append(os.Environ(), "GOVULNDB="+db)
	if proxy != "" {
		cmd.Env = append(cmd.Env, "HTTPS_PROXY="+proxy)
	}
	out, _ := cmd.CombinedOutput()
	return string(out), cmd.ProcessState.ExitCode()
}

// write creates a directory with files.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
