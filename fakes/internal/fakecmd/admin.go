// SPDX-License-Identifier: Apache-2.0

package fakecmd

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cooper-cosi/cooper/fakes/fault"
)

// AdminPrefix is the path prefix of the admin endpoint. It cannot be a bucket of S3 or Cloud Storage, whose names do
// not begin with an underscore, or an Azure storage account, whose names contain only letters and digits.
const AdminPrefix = "/_cooper/"

// maxPlan bounds a fault plan sent to the admin endpoint.
const maxPlan = 1 << 20

// withAdmin serves the admin endpoint in addition to the fake. Everything except the health check is available only
// with --admin, and requires an administrator.
//
//	GET    /_cooper/health      200 once the fake serves
//	GET    /_cooper/inventory   the fake's contents, as JSON
//	GET    /_cooper/calls       all calls so far, as JSON; DELETE clears them
//	GET    /_cooper/faults      the current fault plan, with the counts of each rule; PUT replaces it (YAML or JSON), DELETE removes it
//	PUT    /_cooper/clock       sets how far the fake's clock is ahead of the machine's, such as -1m
//	GET    /_cooper/operations  the names that rules may use, as JSON
//	POST   /_cooper/reset       restores the initial state: the fake's contents, faults, clock and calls
func (f *Flags) withAdmin(fake Fake, guard Guard) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+AdminPrefix+"health", func(w http.ResponseWriter, _ *http.Request) { reply(w, map[string]string{"status": "ok"}) })
	mux.HandleFunc("GET "+AdminPrefix+"inventory", func(w http.ResponseWriter, _ *http.Request) { reply(w, guard.Inventory()) })
	mux.HandleFunc("GET "+AdminPrefix+"calls", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, append([]fault.Call{}, fake.Calls()...)) // an empty list, not null
	})
	mux.HandleFunc("DELETE "+AdminPrefix+"calls", func(w http.ResponseWriter, _ *http.Request) {
		fake.ForgetCalls()
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET "+AdminPrefix+"faults", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, map[string]any{"rules": guard.Faults.State()})
	})
	mux.HandleFunc("GET "+AdminPrefix+"operations", func(w http.ResponseWriter, _ *http.Request) { reply(w, guard.Operations) })
	mux.HandleFunc("PUT "+AdminPrefix+"clock", func(w http.ResponseWriter, r *http.Request) { putClock(&f.current, w, r) })
	mux.HandleFunc("POST "+AdminPrefix+"reset", func(w http.ResponseWriter, _ *http.Request) {
		if err := errors.Join(fake.Reset(), f.begin(guard.Faults)); err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("PUT "+AdminPrefix+"faults", func(w http.ResponseWriter, r *http.Request) { putFaults(guard.Faults, w, r) })
	mux.HandleFunc("DELETE "+AdminPrefix+"faults", func(w http.ResponseWriter, _ *http.Request) {
		guard.Faults.Clear()
		w.WriteHeader(http.StatusNoContent)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case f.serveHealth(w, r):
		case !strings.HasPrefix(r.URL.Path, AdminPrefix):
			fake.ServeHTTP(w, r)
		case r.URL.Path == AdminPrefix+"health":
			mux.ServeHTTP(w, r)
		case !f.Admin:
			http.Error(w, "the admin endpoint is disabled; start the fake with --admin", http.StatusNotFound)
		case !guard.IsAdmin(r):
			w.Header().Set("WWW-Authenticate", guard.Scheme+` realm="cooper"`)
			http.Error(w, "the admin endpoint requires "+guard.Wants, http.StatusUnauthorized)
		default:
			mux.ServeHTTP(w, r)
		}
	})
}

// HasBasicAuth reports whether a request has this user and password as HTTP basic authentication.
func HasBasicAuth(r *http.Request, user, password string) bool {
	gotUser, gotPassword, ok := r.BasicAuth()
	sameUser := subtle.ConstantTimeCompare([]byte(gotUser), []byte(user))
	samePassword := subtle.ConstantTimeCompare([]byte(gotPassword), []byte(password))
	return ok && sameUser&samePassword == 1
}

func putFaults(faults *fault.Injector, w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, maxPlan))
	if err != nil {
		http.Error(w, "read the fault plan: "+err.Error(), http.StatusBadRequest)
		return
	}
	plan, err := fault.ParsePlan(raw)
	if err == nil {
		err = faults.Set(plan)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// maxClock bounds the text of a duration.
const maxClock = 64

func putClock(clock *atomic.Int64, w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, maxClock))
	if err != nil {
		http.Error(w, "read the clock: "+err.Error(), http.StatusBadRequest)
		return
	}
	ahead, err := time.ParseDuration(string(raw))
	if err != nil {
		http.Error(w, "the clock must be a duration such as -1m: "+err.Error(), http.StatusBadRequest)
		return
	}
	clock.Store(int64(ahead))
	w.WriteHeader(http.StatusNoContent)
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	_ = e.Encode(v) // the client has disconnected
}
