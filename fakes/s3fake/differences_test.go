// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
)

// differencesPage is written by TestDifferences when COOPER_UPDATE is set.
const differencesPage = "../../docs/reference/s3fake-differences.md"

// tally is how one store does on the table.
type tally struct {
	same, rows, unserved int
	// differ groups operations by their difference.
	differ map[string][]string
	// absent are operations that the store does not serve.
	absent map[string]bool
}

// TestDifferences tries the behavioural table on MinIO and versitygw, as far as they serve it, in a soak. Their differences are
// theirs: the table's values are AWS's. With COOPER_UPDATE it writes them down.
func TestDifferences(t *testing.T) {
	t.Parallel()
	update := os.Getenv("COOPER_UPDATE") != ""
	if !fulltest.Soak() && !update {
		t.Skip("set COOPER_SOAK to try the table on MinIO and versitygw")
	}
	var page bytes.Buffer
	page.WriteString(differencesHead)
	found := peers(t)
	if len(found) < 2 {
		t.Skip("MinIO or versitygw is not there: go run ./hack/stores")
	}
	for _, p := range found {
		compareHalf(t, p, false).write(&page, p.name)
		if p.iam != "" {
			compareHalf(t, p, true).write(&page, p.name+", IAM and STS")
		}
	}
	if !update {
		return
	}
	wantNoError(t, os.WriteFile(differencesPage, page.Bytes(), 0o600))
}

const differencesHead = `# s3fake, MinIO and versitygw

Results of the behavioural table (` + "`fakes/s3fake/behaviour_data_test.go`" + `) on three servers. s3fake returns the expected value in
each row; this page lists the rows in which the other servers differ. The expected values come from the Amazon S3 API
Reference, "Required permissions for Amazon S3 API operations" and the policy evaluation logic of the IAM User Guide, so they
are the behavior of AWS. Check whether a difference matters for your use of that server. Credentials are users with an inline
policy in versitygw, and sessions of the root user with a session policy in MinIO, which has no IAM API and does not
support roles in AssumeRole; rows of IAM and STS are not run on it. Rows with inactive keys are not run. Written by

    COOPER_UPDATE=1 go test ./fakes/s3fake -run 'TestDifferences$'
`

func (c tally) write(page *bytes.Buffer, name string) {
	fmt.Fprintf(page, "\n## %s\n\n%d of %d rows have the expected result. Not supported (%d rows): %s.\n\n", name, c.same, c.rows, c.unserved, cmp.Or(strings.Join(slices.Sorted(maps.Keys(c.absent)), ", "), "nothing"))
	page.WriteString("| permissions | expected | actual | operations |\n|---|---|---|---|\n")
	for _, what := range slices.Sorted(maps.Keys(c.differ)) {
		slices.Sort(c.differ[what])
		fmt.Fprintf(page, "| %s | %s |\n", what, strings.Join(slices.Compact(c.differ[what]), ", "))
	}
}

func compareHalf(t *testing.T, p *peer, iam bool) tally {
	t.Helper()
	got := compare(t, p, iam)
	t.Logf("%s (IAM: %t): %d of %d rows have the expected result, %d not supported", p.name, iam, got.same, got.rows, got.unserved)
	if got.same*2 < got.rows {
		t.Errorf("%s agrees on %d of %d rows: that is no comparison", p.name, got.same, got.rows)
	}
	return got
}

// compare tries all rows of S3, or all of IAM, on a peer.
func compare(t *testing.T, p *peer, iam bool) tally {
	t.Helper()
	c := tally{differ: map[string][]string{}, absent: map[string]bool{}}
	table := slices.DeleteFunc(rows(t), func(r row) bool { return r.isQuery() != iam || r.key == "inactive" })
	slices.SortFunc(table, func(a, b row) int { return strings.Compare(a.op+a.who, b.op+b.who) })
	served := map[string]bool{}
	for name, op := range operations() {
		if op.isQuery() == iam {
			w := p.world(t, iam)
			served[name] = !w.lacks(op) && isServed(p.send(t, p.root, w.here(op)))
		}
	}
	var w *peerWorld
	for _, r := range table {
		if !served[r.op] {
			c.unserved++
			c.absent[r.op] = true
			continue
		}
		if w == nil {
			w = p.world(t, iam)
		}
		creds, ok := p.caller(t, w, r)
		if !ok {
			c.unserved++
			continue
		}
		c.rows++
		got := p.send(t, creds, w.here(r.operation))
		code := errorCode(got.Body.Bytes())
		head := r.method == http.MethodHead
		same := (got.Code == r.wantStatus || r.perKey) && (head || strings.EqualFold(code, r.wantCode))
		if !same || r.wantStatus != http.StatusForbidden || r.perKey {
			w = nil // only a refusal has left everything as it was
		}
		if same {
			c.same++
			continue
		}
		who, _, _ := strings.Cut(r.who, " (")
		what := fmt.Sprintf("%s | %s | %s", who, strings.TrimSpace(fmt.Sprintf("%d %s", r.wantStatus, r.wantCode)), strings.TrimSpace(fmt.Sprintf("%d %s", got.Code, code)))
		c.differ[what] = append(c.differ[what], r.op)
	}
	return c
}

// isServed uses the root user's call: an operation that is not implemented returns NotImplemented or is mistaken for
// another one.
func isServed(got *httptest.ResponseRecorder) bool {
	code := errorCode(got.Body.Bytes())
	if code == "InvalidAction" || code == "SignatureDoesNotMatch" { // of the root user: for a service that is not there
		return false
	}
	return got.Code != http.StatusNotImplemented && got.Code != http.StatusMethodNotAllowed && code != "NotImplemented" && code != "MethodNotAllowed"
}

// caller makes the credentials of a row; ok is false if the peer does not know an action of its policy.
func (p *peer) caller(t *testing.T, w *peerWorld, r row) (c aws.Credentials, ok bool) {
	t.Helper()
	policy := ""
	if r.policy != "" {
		policy = w.names.Replace(`{"Version":"2012-10-17","Statement":[` + r.policy + `]}`)
	}
	if r.key == "anonymous" {
		return c, true
	}
	c, err := p.credential(t, policy)
	if err != nil {
		return c, false
	}
	switch r.key {
	case "wrong secret":
		c.SecretAccessKey = "wrong"
	case "unknown":
		c = aws.Credentials{AccessKeyID: "AKIANOSUCHKEYATALLXX", SecretAccessKey: "secret"}
	}
	return c, true
}
