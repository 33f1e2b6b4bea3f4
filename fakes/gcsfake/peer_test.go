// SPDX-License-Identifier: Apache-2.0

package gcsfake_test

import (
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/internal/freeport"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/testenv/stores"
)

// peerDifferences are the rows in which fake-gcs-server returns another status than Google documents.
var peerDifferences = map[string]int{
	"a composition of nothing":               200,
	"a composition of a missing object":      500,
	"a composition with a predefined ACL":    200,
	"a copy of another generation":           200,
	"a custom time in the year 0":            200,
	"a custom time in the year 10000":        200,
	"an invalid custom time":                 200,
	"a multipart upload with another CRC32C": 200,
	"a multipart upload without a boundary":  500,
	"a multipart upload without media":       200,
	"a predefined ACL with uniform access":   200,
	"a restoration of an existing object":    400,
	"a restoration of an unknown object":     400,
	"a retention with an event-based hold":   200,
	"an expired retention":                   200,
	"a retention without a mode":             200,
	"a retention without an end":             200,
	"a rewrite of half a MiB at a time":      200,
	"an invalid rewrite token":               200,
	"an object name of 1025 bytes":           200,
	"an object name with a line end":         200,
	"an object named dot":                    200,
	"an object of another generation":        200,
	"an object that has not changed":         200,
	"an upload with another CRC32C":          200,
	"an upload with another MD5":             200,
	"another storage class by a patch":       200,
	"retention where the bucket has none":    200,
	"storage.objects.delete":                 200,
	"storage.objects.delete generation":      200,
	"storage.objects.move":                   400,
	"storage.objects.move over":              400,
	"the deletion of another generation":     200,
}

// peerTable is the object part of the table: permissions and signatures are nothing to fake-gcs-server.
func peerTable() map[string]operation {
	table := objectOperations()
	for name, op := range table {
		if strings.Contains(op.path, "/b/bin/") { // soft-deleted objects have other names there
			delete(table, name)
		}
	}
	for name, tc := range refusals() {
		if strings.Contains(tc.op.path, "/b/hard/") || slices.Contains([]string{"filter", "contexts"}, tc.word) { // it is not made there; no difference from Google
			continue
		}
		if strings.Contains(tc.op.path, "/o/") || strings.HasPrefix(tc.op.path, up) {
			tc.op.status = tc.status
			table[name] = tc.op
		}
	}
	return table
}

// TestObjectsOnFakeGCSServer sends the object part of the table to fake-gcs-server, which must do the same but for
// the differences above, which docs/reference/gcsfake-differences.md lists.
func TestObjectsOnFakeGCSServer(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "the same table on gcsfake")
	program, err := stores.FakeGCSServer().Find()
	if err != nil {
		t.Skip(err)
	}
	address := startPeer(t, program)
	table := peerTable()
	same := 0
	for n, name := range slices.Sorted(maps.Keys(table)) {
		want := table[name].status
		got := peerResponse(t, address, fmt.Sprintf("row-%d", n), table[name])
		known, differs := peerDifferences[name]
		switch {
		case got == want && !differs:
			same++
		case got == want:
			t.Errorf("%s: it returns %d now as documented: no difference any more", name, got)
		case !differs || known != got:
			t.Errorf("%s: fake-gcs-server returns %d, documented is %d (%s)", name, got, want, table[name].doc)
		}
	}
	t.Logf("%d of %d rows are the same", same, len(table))
}

const differencesPage = "../../docs/reference/gcsfake-differences.md"

// TestDifferencesAreWrittenDown compares the page with the table; COOPER_UPDATE=1 writes it.
func TestDifferencesAreWrittenDown(t *testing.T) {
	t.Parallel()
	var page strings.Builder
	table := peerTable()
	fmt.Fprintf(&page, `# gcsfake and fake-gcs-server

Results of the object part of gcsfake's behavioural table with fake-gcs-server %s, a popular fake of Cloud Storage: %d of %d
rows have the documented result. This page lists the others; gcsfake returns the documented result in all rows. The rest of the
table requires credentials and permissions, which fake-gcs-server does not check. TestObjectsOnFakeGCSServer sends the rows;
go run ./hack/stores builds fake-gcs-server. Written by

    COOPER_UPDATE=1 go test ./fakes/gcsfake -run TestDifferencesAreWrittenDown

| row | documented | fake-gcs-server |
|---|---|---|
`, stores.FakeGCSServer().Version, len(table)-len(peerDifferences), len(table))
	for _, name := range slices.Sorted(maps.Keys(peerDifferences)) {
		op, ok := table[name]
		if !ok {
			t.Errorf("there is no row %q", name)
		}
		fmt.Fprintf(&page, "| %s | %d | %d |\n", name, op.status, peerDifferences[name])
	}
	if os.Getenv("COOPER_UPDATE") != "" {
		wantNoError(t, os.WriteFile(differencesPage, []byte(page.String()), 0o600))
	}
	got, err := os.ReadFile(differencesPage)
	wantNoError(t, err)
	if diff := cmp.Diff(page.String(), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", differencesPage, diff)
	}
}

func startPeer(t *testing.T, program string) string {
	t.Helper()
	address := freeport.ForTest(t).Address()
	_, port, _ := strings.Cut(address, ":")
	cmd := exec.CommandContext(t.Context(), program, "-scheme", "http", "-host", "127.0.0.1", "-port", port, "-backend", "memory", "-log-level", "error", "-external-url", "http://"+address)
	cmd.Stderr = t.Output() // it reports there why it exits
	wantNoError(t, cmd.Start())
	ended := make(chan error)
	go func() {
		ended <- cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have exited already
		for range ended {      // killed: always an error
		}
	})
	for tick := time.NewTicker(10 * time.Millisecond); ; {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err == nil {
			tick.Stop()
			wantNoError(t, conn.Close())
			return address
		}
		select {
		case <-tick.C:
		case err := <-ended:
			t.Fatal("fake-gcs-server ended: ", err)
		case <-t.Context().Done():
			t.Fatal("fake-gcs-server did not start")
		}
	}
}

// peerResponse sends a row with separate buckets, whose names replace those of the table.
func peerResponse(t *testing.T, address, own string, op operation) int {
	t.Helper()
	rename := strings.NewReplacer("/b/docs", "/b/"+own, "/b/empty", "/b/"+own+"-empty", "/b/locked", "/b/"+own, `"bucket":"docs"`, `"bucket":"`+own+`"`)
	known := map[string]string{}
	send := func(op operation) (int, string) {
		path, body := rename.Replace(op.path), rename.Replace(op.body)
		for name, v := range known {
			path = strings.ReplaceAll(path, name, v)
		}
		req, err := http.NewRequestWithContext(t.Context(), op.method, "http://"+address+path, strings.NewReader(body))
		wantNoError(t, err)
		for line := range strings.SplitSeq(op.headers, "\n") {
			if name, value, ok := strings.Cut(line, ": "); ok {
				req.Header.Set(name, value)
			}
		}
		resp, err := http.DefaultTransport.RoundTrip(req)
		wantNoError(t, err)
		raw, err := io.ReadAll(resp.Body)
		wantNoError(t, err)
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
		return resp.StatusCode, string(raw)
	}
	for _, bucket := range []string{own, own + "-empty"} {
		send(operation{method: "POST", path: "/storage/v1/b?project=p", body: `{"name":"` + bucket + `"}`})
	}
	for _, name := range []string{"dir/a", "o"} {
		_, doc := send(operation{method: "POST", path: up + "?uploadType=media&name=" + name, body: "second"})
		_, rest, _ := strings.Cut(doc, `"generation":"`)
		known["{generation}"], _, _ = strings.Cut(rest, `"`)
	}
	status, _ := send(op)
	return status
}
