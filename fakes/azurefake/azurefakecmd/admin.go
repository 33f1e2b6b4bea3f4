// SPDX-License-Identifier: Apache-2.0

package azurefakecmd

import (
	"crypto/subtle"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/azurefake"
	"github.com/cooper-cosi/cooper/fakes/fault"
)

// adminPrefix cannot be an account: the names of accounts hold letters and digits only.
const adminPrefix = "/_cooper/"

// maxPlan bounds a fault plan sent to the admin endpoint.
const maxPlan = 1 << 20

// withAdmin serves the admin endpoint beside the fake. All but the health check wants the name and key1 of the
// first account as HTTP basic authentication.
//
//	GET    /_cooper/health      200 once the fake serves
//	GET    /_cooper/inventory   what the fake holds, as JSON
//	GET    /_cooper/calls       every call so far, as JSON; DELETE forgets them
//	GET    /_cooper/faults      the fault plan in force; PUT replaces it (YAML or JSON), DELETE removes it
func withAdmin(server *azurefake.Server, account string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+adminPrefix+"health", func(w http.ResponseWriter, _ *http.Request) { reply(w, map[string]string{"status": "ok"}) })
	mux.HandleFunc("GET "+adminPrefix+"inventory", func(w http.ResponseWriter, _ *http.Request) { reply(w, server.Inventory()) })
	mux.HandleFunc("GET "+adminPrefix+"calls", func(w http.ResponseWriter, _ *http.Request) { reply(w, server.Calls()) })
	mux.HandleFunc("DELETE "+adminPrefix+"calls", func(w http.ResponseWriter, _ *http.Request) {
		server.ForgetCalls()
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET "+adminPrefix+"faults", func(w http.ResponseWriter, _ *http.Request) { reply(w, server.Faults.Plan()) })
	mux.HandleFunc("PUT "+adminPrefix+"faults", func(w http.ResponseWriter, r *http.Request) { putFaults(server, w, r) })
	mux.HandleFunc("DELETE "+adminPrefix+"faults", func(w http.ResponseWriter, _ *http.Request) {
		server.Faults.Clear()
		w.WriteHeader(http.StatusNoContent)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !strings.HasPrefix(r.URL.Path, adminPrefix):
			server.ServeHTTP(w, r)
		case r.URL.Path != adminPrefix+"health" && !isOwner(server, account, r):
			w.Header().Set("WWW-Authenticate", `Basic realm="cooper"`)
			http.Error(w, "the admin endpoint wants the name and key1 of the first account as user and password", http.StatusUnauthorized)
		default:
			mux.ServeHTTP(w, r)
		}
	})
}

func isOwner(server *azurefake.Server, account string, r *http.Request) bool {
	user, password, ok := r.BasicAuth()
	key, _ := server.Keys(account)
	sameUser := subtle.ConstantTimeCompare([]byte(user), []byte(account))
	samePassword := subtle.ConstantTimeCompare([]byte(password), []byte(key))
	return ok && sameUser&samePassword == 1
}

func putFaults(server *azurefake.Server, w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, maxPlan))
	if err != nil {
		http.Error(w, "read the plan: "+err.Error(), http.StatusBadRequest)
		return
	}
	plan, err := fault.ParsePlan(raw)
	if err == nil {
		err = server.Faults.Set(plan)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	_ = e.Encode(v)
}
