// SPDX-License-Identifier: Apache-2.0

package s3fakecmd

import (
	"crypto/subtle"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/fault"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
)

// adminPrefix cannot be a bucket: bucket names do not begin with an underscore.
const adminPrefix = "/_cooper/"

// maxPlan bounds a fault plan sent to the admin endpoint.
const maxPlan = 1 << 20

// withAdmin serves the admin endpoint beside the fake. All but the health check wants the root credentials as HTTP
// basic authentication.
//
//	GET    /_cooper/health      200 once the fake serves
//	GET    /_cooper/inventory   what the fake holds, as JSON
//	GET    /_cooper/calls       every call so far, as JSON; DELETE forgets them
//	GET    /_cooper/faults      the fault plan in force; PUT replaces it (YAML or JSON), DELETE removes it
func withAdmin(server *s3fake.Server) http.Handler {
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
		case r.URL.Path != adminPrefix+"health" && !isRoot(server.Root(), r):
			w.Header().Set("WWW-Authenticate", `Basic realm="cooper"`)
			http.Error(w, "the admin endpoint wants the root access key and secret as user and password", http.StatusUnauthorized)
		default:
			mux.ServeHTTP(w, r)
		}
	})
}

func isRoot(root s3fake.Credentials, r *http.Request) bool {
	user, password, ok := r.BasicAuth()
	sameUser := subtle.ConstantTimeCompare([]byte(user), []byte(root.AccessKeyID))
	samePassword := subtle.ConstantTimeCompare([]byte(password), []byte(root.SecretAccessKey))
	return ok && sameUser&samePassword == 1
}

func putFaults(server *s3fake.Server, w http.ResponseWriter, r *http.Request) {
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
