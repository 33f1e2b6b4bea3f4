// SPDX-License-Identifier: Apache-2.0

package docstest_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/cooper-cosi/cooper/internal/testing/docstest"
)

func TestParse(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		page string
		want []docstest.Block
		err  string
	}{
		"a block in sh is run": {
			page: "Do this:\n\n```sh\nmake up\n```\n",
			want: []docstest.Block{{Line: 3, Language: "sh", Text: "make up\n", Kind: docstest.Run}},
		},
		"a block in text is output": {
			page: "```text\nok\n```\n",
			want: []docstest.Block{{Line: 1, Language: "text", Text: "ok\n", Kind: docstest.Output}},
		},
		"a mark before the block, with or without an empty line": {
			page: "<!-- not run: needs a cloud -->\n\n```sh\naws s3 ls\n```\n<!-- run until: Ready -->\n```sh\nmake up\n```\n",
			want: []docstest.Block{
				{Line: 3, Language: "sh", Text: "aws s3 ls\n", Kind: docstest.NotRun, Argument: "needs a cloud"},
				{Line: 7, Language: "sh", Text: "make up\n", Kind: docstest.Until, Argument: "Ready"},
			},
		},
		"a block that needs a program": {
			page: "<!-- run with: docker -->\n```sh\ndocker ps\n```\n",
			want: []docstest.Block{{Line: 2, Language: "sh", Text: "docker ps\n", Kind: docstest.RunWith, Argument: "docker"}},
		},
		"a mark counts for one block only": {
			page: "<!-- not run: no -->\n```yaml\na: 1\n```\n```yaml\na: 1\n```\n",
			err:  "page.md:5: a block in \"yaml\" is neither run nor output",
		},
		"a shorter fence inside a block is text": {
			page: "````text\n```sh\n```\n````\n",
			want: []docstest.Block{{Line: 1, Language: "text", Text: "```sh\n```\n", Kind: docstest.Output}},
		},
		"an unmarked block is an error": {
			page: "# Title\n\n```\nmake up\n```\n",
			err:  "page.md:3: a block in \"\" is neither run nor output",
		},
		"bash is not sh: one word for one thing": {
			page: "```bash\nmake up\n```\n",
			err:  "page.md:1: a block in \"bash\"",
		},
		"a mark without a reason is an error": {
			page: "<!-- not run: -->\n```sh\nmake up\n```\n",
			err:  "page.md:2: the mark",
		},
		"a block without an end is an error": {
			page: "```sh\nmake up\n",
			err:  "page.md:1: the block is not closed",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := docstest.ParseBlocks("page.md", tc.page)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("want an error with %q, got %v", tc.err, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreFields(docstest.Block{}, "Page")); diff != "" {
				t.Errorf("blocks (-want +got):\n%s", diff)
			}
		})
	}
}

// TestScript runs the script with bash, because its effect is what counts.
func TestScript(t *testing.T) {
	t.Parallel()
	const server = "trap 'echo bye; exit 0' INT\necho listening\nwhile true; do sleep 0.1; done\n"
	tests := map[string]struct {
		page string
		want []string
		fail bool
	}{
		"blocks share one shell": {
			page: "```sh\nname=cooper\n```\n\n```sh\necho hello $name\n```\n",
			want: []string{"=== page.md:1", "hello cooper"},
		},
		"the first failing command ends the page": {
			page: "```sh\nfalse\n```\n\n```sh\necho not reached > \"$PAGE_DIR/x\"\n```\n",
			want: []string{"=== page.md:1"},
			fail: true,
		},
		"the output of eval's command is evaluated": {
			page: "```sh\neval \"$(echo 'name=\"two  words\"')\"\necho \"$name\"\n```\n",
			want: []string{"two  words"},
		},
		"a failing command inside eval ends the page": {
			page: "```sh\neval \"$(echo name=half; exit 3)\"\necho not reached\n```\n",
			want: []string{"the command whose output is evaluated failed with 3"},
			fail: true,
		},
		"a file block is there for the next command": {
			page: "<!-- file: it's.yaml -->\n```yaml\nkind: 'Bucket'\n```\n```sh\ncat \"$PAGE_DIR\"/*.yaml\n```\n",
			want: []string{"kind: 'Bucket'"},
		},
		"a background block is waited for and ends on Ctrl-C": {
			page: "<!-- run until: listening -->\n```sh\n" + server + "```\n```sh\necho used\n```\n",
			want: []string{"listening", "used"},
		},
		"of two background blocks the second ends first": {
			page: "<!-- run until: listening -->\n```sh\n" + server + "```\n<!-- run until: using -->\n```sh\n" +
				"trap 'kill -0 \"${background[0]}\" || exit 3; exit 0' INT\necho using\nwhile true; do sleep 0.1; done\n```\n",
			want: []string{"listening", "using"},
		},
		"a background block that ends too early fails the page": {
			page: "<!-- run until: listening -->\n```sh\necho no port\n```\n",
			want: []string{"no port", "the background block ended before it printed: listening"},
			fail: true,
		},
		"a background block that ends badly fails the page": {
			page: "<!-- run until: listening -->\n```sh\n" + strings.Replace(server, "exit 0", "exit 3", 1) + "```\n",
			want: []string{"ended with 3 on Ctrl-C"},
			fail: true,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			blocks, err := docstest.ParseBlocks("page.md", tc.page)
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), "bash", "-c", docstest.Script(blocks))
			cmd.Dir = t.TempDir()
			out, err := cmd.CombinedOutput()
			if (err != nil) != tc.fail {
				t.Errorf("failed: want %v, got %v", tc.fail, err)
			}
			for _, want := range tc.want {
				if !strings.Contains(string(out), want) {
					t.Errorf("the output lacks %q:\n%s", want, out)
				}
			}
			if strings.Contains(string(out), "not reached") {
				t.Errorf("the page went on after a failure:\n%s", out)
			}
		})
	}
}
