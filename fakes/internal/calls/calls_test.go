// SPDX-License-Identifier: Apache-2.0

package calls_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/fakes/fault"
	"github.com/cooper-cosi/cooper/fakes/internal/backing"
	"github.com/cooper-cosi/cooper/fakes/internal/calls"
)

// deed is an exchange that counts how often it was performed.
type deed struct{ performed *int }

func (deed) Describe() calls.Description {
	return calls.Description{Operation: "Do", Resource: "thing", Principal: "user"}
}

func (d deed) Serve(w http.ResponseWriter) string {
	*d.performed++
	_, _ = io.WriteString(w, "done") // the test reads it
	return ""
}

func (deed) Fail(w http.ResponseWriter, rule *fault.Rule) {
	http.Error(w, rule.Code, http.StatusTeapot)
}

// TestEachEffect makes one call under each effect and checks the response, whether the call was performed, and the
// record.
func TestEachEffect(t *testing.T) {
	t.Parallel()
	type outcome struct {
		// Status is 0 without a response.
		Status, Performed int
		Record            fault.Call
	}
	record := func(status int, code, rule string, performed bool) fault.Call {
		return fault.Call{Seq: 1, Operation: "Do", Resource: "thing", Principal: "user", RequestID: "id", Status: status, Code: code, Fault: rule, Performed: performed}
	}
	tests := map[string]struct {
		effect fault.Effect
		want   outcome
	}{
		"no rule":                  {"", outcome{200, 1, record(200, "", "", true)}},
		"a delay":                  {fault.Delay, outcome{200, 1, record(200, "", "rule", true)}},
		"a failure":                {fault.Fail, outcome{418, 0, record(418, "Broken", "rule", false)}},
		"a failure after the deed": {fault.FailAfter, outcome{418, 1, record(418, "Broken", "rule", true)}},
		"a drop":                   {fault.Drop, outcome{0, 0, record(0, "", "rule", false)}},
		"a drop after the deed":    {fault.DropAfter, outcome{0, 1, record(0, "", "rule", true)}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var faults fault.Injector
			var recorder fault.Recorder
			if tc.effect != "" {
				rule := fault.Rule{Name: "rule", Operation: "Do", Effect: tc.effect}
				if tc.effect == fault.Fail || tc.effect == fault.FailAfter {
					rule.Code = "Broken"
				}
				if tc.effect == fault.Delay {
					rule.Latency = fault.Duration(time.Nanosecond)
				}
				if err := faults.Add(rule); err != nil {
					t.Fatal(err)
				}
			}
			var got outcome
			desk := calls.Desk{Backing: &backing.Backing{}, Faults: &faults, Recorder: &recorder, Now: func() time.Time { return time.Time{} }}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				desk.Handle(w, r, "id", func() (calls.Exchange, []string) { return deed{&got.Performed}, nil })
			}))
			got.Status = status(t, server)
			server.Close() // waits for the handler
			got.Record = recorder.Calls()[0]
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// status is the status of the response to one call, 0 for a connection that was cut.
func status(t *testing.T, server *httptest.Server) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := server.Client().Do(request)
	if errors.Is(err, io.EOF) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode
}

// page is an exchange that writes a page in pieces.
type page struct {
	deed

	pieces []string
	length string
}

func (p page) Serve(w http.ResponseWriter) string {
	if p.length != "" {
		w.Header().Set("Content-Length", p.length)
	}
	for _, piece := range p.pieces {
		_, _ = io.WriteString(w, piece) // the test reads it
	}
	return ""
}

// client receives a response, and notes how many calls were recorded before it had each piece.
type client struct {
	*httptest.ResponseRecorder

	recorder *fault.Recorder
	recorded map[string]int
}

func (c client) Write(p []byte) (int, error) {
	n, err := c.ResponseRecorder.Write(p)
	c.recorded[c.Body.String()] = len(c.recorder.Calls())
	return n, err
}

// TestRecordedBeforeTheEnd checks that a client that has the whole response finds the call in the record.
func TestRecordedBeforeTheEnd(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		page     page
		recorded map[string]int
	}{
		"one piece":         {page{pieces: []string{"done"}, length: "4"}, map[string]int{"don": 0, "done": 1}},
		"several pieces":    {page{pieces: []string{"d", "on", "e"}, length: "4"}, map[string]int{"d": 0, "don": 0, "done": 1}},
		"an incomplete one": {page{pieces: []string{"do"}, length: "4"}, map[string]int{"do": 0}},
		// net/http then marks the end of the response when the handler returns.
		"an unknown length": {page{pieces: []string{"do", "ne"}}, map[string]int{"do": 0, "done": 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			recorder := &fault.Recorder{}
			c := client{httptest.NewRecorder(), recorder, map[string]int{}}
			desk := calls.Desk{Backing: &backing.Backing{}, Faults: &fault.Injector{}, Recorder: recorder, Now: time.Now}
			desk.Handle(c, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody), "id", func() (calls.Exchange, []string) { return tc.page, nil })
			if diff := cmp.Diff(tc.recorded, c.recorded); diff != "" {
				t.Errorf("calls before each piece (-want +got):\n%s", diff)
			}
			if made := recorder.Calls(); len(made) != 1 || made[0].Status != http.StatusOK {
				t.Errorf("recorded %+v", made)
			}
		})
	}
}
