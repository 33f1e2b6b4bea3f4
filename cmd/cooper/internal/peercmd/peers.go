// SPDX-License-Identifier: Apache-2.0

package peercmd

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
)

const noLog = "cooper writes no access log"

var azurite = grammar{
	options: map[string]option{
		"blobHost": {value: true}, "blobPort": {value: true}, "queueHost": {value: true}, "queuePort": {value: true}, "tableHost": {value: true}, "tablePort": {value: true},
		"location": {value: true}, "inMemoryPersistence": {},
		"blobKeepAliveTimeout":   {value: true, ignored: "connections are kept"},
		"queueKeepAliveTimeout":  {value: true, ignored: "connections are kept"},
		"tableKeepAliveTimeout":  {value: true, ignored: "connections are kept"},
		"silent":                 {ignored: noLog},
		"debug":                  {value: true, ignored: noLog},
		"loose":                  {ignored: "cooper rejects unsupported headers and parameters"},
		"skipApiVersionCheck":    {ignored: "cooper accepts the versions up to that of the newest SDK"},
		"disableProductStyleUrl": {ignored: "cooper takes the account from the host name only if the host ends with --domain"},
		"disableTelemetry":       {ignored: "cooper sends no telemetry"},
		"extentMemoryLimit":      {value: true, ignored: "large bodies are in temporary files"},
		"oauth":                  {value: true, ignored: "with TLS, cooper accepts the tokens that it issued, and evaluates their roles"},
		"cert":                   {value: true},
		"key":                    {value: true},
		"pwd":                    {value: true, refused: "convert the PFX file to PEM files for --cert and --key"},
	},
	short: map[string]string{"l": "location", "s": "silent", "L": "loose", "d": "debug"},
}

func translateAzurite(r Request, args []string, all bool) (Result, error) {
	p, err := azurite.parse(r, args)
	if err == nil {
		err = p.noArguments()
	}
	if err != nil {
		return Result{}, err
	}
	if p.values["location"] != "" && p.values["inMemoryPersistence"] != "" {
		return Result{}, errors.New("the options location and inMemoryPersistence are mutually exclusive")
	}
	at := func(service, port string) string {
		return net.JoinHostPort(p.or(service+"Host", "127.0.0.1"), p.or(service+"Port", port))
	}
	out := p.result("azure", "azurite", "listen", at("blob", "10000"), "data", p.values["location"],
		"tls-cert", p.values["cert"], "tls-key", p.values["key"])
	if all {
		out.Args = append(out.Args, "--queue-listen="+at("queue", "10001"), "--table-listen="+at("table", "10002"))
	} else {
		out.Args = append(out.Args, "--queue-listen=", "--table-listen=")
	}
	return out, nil
}

var minio = grammar{
	options: map[string]option{
		"address":         {value: true},
		"console-address": {value: true, ignored: "cooper has no console"},
		"quiet":           {ignored: noLog},
		"anonymous":       {ignored: noLog},
		"json":            {ignored: noLog},
		"certs-dir":       {value: true},
		"config-dir":      {value: true, ignored: "cooper has no configuration directory"},
	},
	short: map[string]string{"S": "certs-dir", "C": "config-dir"},
}

func translateMinIO(r Request, args []string) (Result, error) {
	p, err := minio.parse(r, args)
	if err != nil {
		return Result{}, err
	}
	if len(p.arguments) == 0 || p.arguments[0] != "server" {
		return Result{}, errors.New("cooper supports only the command `minio server DIRECTORY`")
	}
	directories := p.arguments[1:]
	if len(directories) != 1 || strings.Contains(directories[0], "://") || strings.Contains(directories[0], "{") {
		return Result{}, errors.New("cooper supports only one local directory: `minio server DIRECTORY`")
	}
	cert, key := filepath.Join(p.values["certs-dir"], "public.crt"), filepath.Join(p.values["certs-dir"], "private.key")
	if p.values["certs-dir"] == "" || !exists(cert) || !exists(key) { // MinIO serves HTTP then, too
		cert, key = "", ""
	}
	return p.result("s3", "minio", "listen", address(p.or("address", r.host()+":9000")), "data", directories[0], "tls-cert", cert, "tls-key", key), nil
}

var fakeGCS = grammar{
	options: map[string]option{
		"scheme": {value: true}, "host": {value: true}, "port": {value: true}, "data": {value: true}, "external-url": {value: true},
		"backend": {value: true}, "filesystem-root": {value: true},
		"public-host":             {value: true, ignored: "cooper accepts every host name"},
		"log-level":               {value: true, ignored: noLog},
		"location":                {value: true, ignored: "the location of a bucket is that of the request, or US"},
		"cors-headers":            {value: true, refused: "set the CORS configuration of each bucket"},
		"port-http":               {value: true, refused: "start one process for http and one for https"},
		"cert-location":           {value: true},
		"private-key-location":    {value: true},
		"event.pubsub-project-id": {value: true, refused: noEvents},
		"event.pubsub-topic":      {value: true, refused: noEvents},
		"event.bucket":            {value: true, refused: noEvents},
		"event.object-prefix":     {value: true, refused: noEvents},
		"event.list":              {value: true, refused: noEvents},
	},
	variables: "FAKE_GCS_",
}

const noEvents = "cooper sends no events"

// preloaded is the directory that the image of fake-gcs-server loads.
const preloaded = "/data"

func translateFakeGCS(r Request, args []string) (Result, error) {
	p, err := fakeGCS.parse(r, args)
	if err == nil {
		err = p.noArguments()
	}
	if err != nil {
		return Result{}, err
	}
	tls, cert, key := "", "", ""
	switch scheme := p.or("scheme", "https"); scheme {
	case "http":
	case "https":
		tls, cert, key = "true", p.values["cert-location"], p.values["private-key-location"]
	default:
		return Result{}, fmt.Errorf("cooper does not support the scheme %q: start one process for http and one for https", scheme)
	}
	dir := p.values["data"]
	if dir == "" && r.Container {
		dir = preloaded
	}
	if !isDir(dir) { // fake-gcs-server ignores it, too
		dir = ""
	}
	state := ""
	if p.values["filesystem-root"] != "" && p.or("backend", "filesystem") == "filesystem" {
		state = p.values["filesystem-root"]
	}
	listen := net.JoinHostPort(p.or("host", r.host()), p.or("port", "4443"))
	return p.result("gcs", "fake-gcs-server", "listen", listen, "tls", tls, "tls-cert", cert, "tls-key", key,
		"data", state, "seed-dir", dir, "url", p.values["external-url"]), nil
}

var localStack = grammar{
	options: map[string]option{
		"host": {ignored: "cooper always runs on the host"}, "docker": {ignored: "cooper always runs on the host"}, "no-banner": {ignored: noLog},
		"detached": {refused: "start cooper in the background with `&`"},
	},
	short: map[string]string{"d": "detached"},
}

func translateLocalStack(r Request, args []string) (Result, error) {
	p, err := localStack.parse(r, args)
	if err != nil {
		return Result{}, err
	}
	if len(p.arguments) != 1 || p.arguments[0] != "start" {
		return Result{}, errors.New("cooper supports only the command `localstack start`")
	}
	listen := r.host() + ":4566"
	if gateway, ok := r.Lookup("GATEWAY_LISTEN"); ok && gateway != "" {
		listen = address(strings.Split(gateway, ",")[0])
	}
	return p.result("s3", "localstack", "listen", listen), nil
}
