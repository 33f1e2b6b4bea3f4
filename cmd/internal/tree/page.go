// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"embed"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity"
)

// PageOptions configure the page.
type PageOptions struct {
	// Client has the user's permissions.
	Client client.Reader
	// Namespace limits the page to one namespace; empty means all.
	Namespace string
	// System is the namespace of the sidecars' Leases.
	System string
	// Now returns the current time in the cluster; nil means this machine's clock.
	Now func(context.Context) time.Time
	// Spans are the spans of controller and sidecars. Spans is nil if these run in other processes. The
	// timeline then uses only the timestamps of the objects, in whole seconds.
	Spans *Spans
	// Probers list the objects in granted buckets, by protocol. Nil disables this.
	Probers map[cosi.ObjectProtocol_Type]sanity.Prober
}

// A Page is an HTTP handler that accepts only requests to a loopback address.
type Page struct {
	options PageOptions
	token   string
	mux     *http.ServeMux
	cluster cluster
}

//go:embed page.html style.css page.js
var files embed.FS

// cookieOf returns the name of the cookie with the token. With a cookie, copied URLs do not contain the
// token. The name includes the port because cookies do not distinguish ports.
func cookieOf(host string) string {
	_, port, _ := net.SplitHostPort(host) // no port means 80
	return "cooper-page-" + port
}

// NewPage returns a page with a new token.
func NewPage(o PageOptions) *Page {
	if o.Now == nil {
		o.Now = func(context.Context) time.Time { return time.Now() }
	}
	p := &Page{options: o, token: rand.Text(), mux: http.NewServeMux(), cluster: cluster{options: o}}
	p.mux.HandleFunc("GET /{$}", p.whole)
	p.mux.HandleFunc("GET /live", p.live)
	p.mux.HandleFunc("GET /style.css", p.file)
	p.mux.HandleFunc("GET /page.js", p.file)
	return p
}

// URL returns the URL of the page at an address, including the token.
func (p *Page) URL(address net.Addr) string {
	return (&url.URL{Scheme: "http", Host: address.String(), Path: "/", RawQuery: url.Values{"token": {p.token}}.Encode()}).String()
}

// Listen returns a listener at a loopback address, and an error for any other address.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("address %q of the page: %w: use one such as 127.0.0.1:8080", address, err)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("address %q of the page is not a loopback address: the page shows everything that you have permission to read, so use an address such as 127.0.0.1:8080", address)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on the address of the page: %w", err)
	}
	return listener, nil
}

// Serve serves the page until ctx ends, which is not an error.
func (p *Page) Serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{Handler: p, ReadHeaderTimeout: readTimeout, BaseContext: func(net.Listener) context.Context { return ctx }}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // closing disconnects all clients
	defer stop()
	if err := server.Serve(listener); ctx.Err() == nil {
		return fmt.Errorf("serve the page: %w", err)
	}
	return nil
}

const readTimeout = 10 * time.Second

// ServeHTTP serves requests with the token to a loopback address. Checking the Host header prevents DNS
// rebinding.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", "default-src 'none'; img-src data:; style-src 'self'; script-src 'self'; connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cache-Control", "no-store")
	if !here(r.Host) {
		http.Error(w, "This page is served only at 127.0.0.1 and [::1].", http.StatusMisdirectedRequest)
		return
	}
	if given := r.URL.Query().Get("token"); p.is(given) {
		//nolint:gosec // not Secure: the page is plain HTTP on loopback
		http.SetCookie(w, &http.Cookie{Name: cookieOf(r.Host), Value: given, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
		query := r.URL.Query()
		query.Del("token")
		http.Redirect(w, r, (&url.URL{Path: "/", RawQuery: query.Encode()}).String(), http.StatusSeeOther)
		return
	}
	known := slices.ContainsFunc(r.CookiesNamed(cookieOf(r.Host)), func(c *http.Cookie) bool { return p.is(c.Value) })
	if !known {
		http.Error(w, "Open the address that the command printed: it contains the token.", http.StatusUnauthorized)
		return
	}
	p.mux.ServeHTTP(w, r)
}

func (p *Page) is(token string) bool {
	return subtle.ConstantTimeCompare([]byte(token), []byte(p.token)) == 1
}

// here reports whether a Host header is a loopback address rather than a name.
func here(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]")
	}
	ip := net.ParseIP(name)
	return ip != nil && ip.IsLoopback()
}

func (p *Page) file(w http.ResponseWriter, r *http.Request) {
	http.ServeFileFS(w, r, files, strings.TrimPrefix(r.URL.Path, "/"))
}

// whole serves the complete page; the script updates it.
func (p *Page) whole(w http.ResponseWriter, r *http.Request) {
	view := p.view(r.Context(), selectionOf(r.URL.Query()))
	if err := templates().ExecuteTemplate(w, "page", view); err != nil {
		http.Error(w, "Cannot render the page: "+err.Error(), http.StatusInternalServerError)
	}
}

var templates = sync.OnceValue(func() *template.Template {
	functions := template.FuncMap{"plain": Plain}
	return template.Must(template.New("").Funcs(functions).ParseFS(files, "page.html"))
})
