// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"cmp"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path"
	"regexp"
	"strings"
)

const (
	bucketsPath = "/apis/objectstorage.k8s.io/v1alpha1/buckets"
	secretsPath = "/api/v1/namespaces/{namespace}/secrets" //nolint:gosec // a path

	// dataLink is the symbolic link in a mounted Secret to the directory with its current values. Kubernetes replaces the
	// link when the Secret changes, and then deletes the old directory.
	dataLink = "..data"
	// maxReads limits the attempts to read a Secret whose files disappear because Kubernetes updates the mount.
	maxReads = 3
)

// namePattern matches the names of Secrets and namespaces.
var namePattern = regexp.MustCompile(`^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$`)

// object is the JSON of a Kubernetes object.
type object map[string]any

// A failure is a response without an object. Its reason is one of Kubernetes' reasons.
type failure struct {
	code            int
	reason, message string
}

func notFound(resource, name string) *failure {
	return &failure{http.StatusNotFound, "NotFound", fmt.Sprintf("%s %q not found", resource, name)}
}

func internalError(err error) *failure {
	return &failure{http.StatusInternalServerError, "InternalError", err.Error()}
}

// handler returns the handler of all requests.
func (s *Server) handler(token string) http.Handler {
	mux := http.NewServeMux()
	for pattern, respond := range map[string]func(*http.Request) (object, *failure){
		"GET " + bucketsPath + "/{name}": s.bucket,
		"GET " + secretsPath + "/{name}": s.secret,
		"GET " + bucketsPath:             refuseList,
		"GET " + secretsPath:             refuseList,
		"GET /api/v1/secrets":            refuseList,
		"/":                              refuse,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+token)) != 1 {
				s.reply(w, r, nil, &failure{http.StatusUnauthorized, "Unauthorized", "the bearer token is missing or is not the content of the file " + tokenFile})
				return
			}
			found, failed := respond(r)
			s.reply(w, r, found, failed)
		})
	}
	return mux
}

// reply sends an object or the Status of a failure.
func (s *Server) reply(w http.ResponseWriter, r *http.Request, body object, failed *failure) {
	code := http.StatusOK
	if failed != nil {
		code = failed.code
		s.options.Logger.WarnContext(r.Context(), "A request of the driver to the Kubernetes API failed", "method", r.Method, "path", r.URL.Path, "code", code, "message", failed.message)
		body = object{
			"apiVersion": "v1", "kind": "Status", "metadata": object{},
			"status": "Failure", "code": code, "reason": failed.reason, "message": failed.message,
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) //nolint:errchkjson // the client may have closed the connection
}

func refuseList(r *http.Request) (object, *failure) {
	return nil, &failure{http.StatusForbidden, "Forbidden", path.Base(r.URL.Path) + " cannot be listed or watched: this API serves them only by name"}
}

func refuse(r *http.Request) (object, *failure) {
	if r.Method != http.MethodGet {
		return nil, &failure{http.StatusMethodNotAllowed, "MethodNotAllowed", r.Method + " is not allowed: this API is read-only"}
	}
	return nil, &failure{
		http.StatusNotFound, "NotFound", "there is no " + r.URL.Path + ": this API serves only Buckets of objectstorage.k8s.io/v1alpha1, and Secrets",
	}
}

// bucket returns a Bucket of objectstorage.k8s.io/v1alpha1 with all required fields. Requests to drivers do not contain
// the names of the class and the claim.
func (s *Server) bucket(r *http.Request) (object, *failure) {
	name := r.PathValue("name")
	b, found, err := s.options.Buckets(r.Context(), name)
	if err != nil {
		return nil, internalError(fmt.Errorf("read the entry of Bucket %s: %w", name, err))
	}
	if !found {
		return nil, notFound("buckets.objectstorage.k8s.io", name)
	}
	return object{
		"apiVersion": "objectstorage.k8s.io/v1alpha1", "kind": "Bucket", "metadata": object{"name": cmp.Or(b.Name, name)},
		"spec": object{
			"driverName": b.Driver, "bucketClassName": "", "bucketClaim": nil, "deletionPolicy": "Retain",
			"protocols": append([]string{}, b.Protocols...), "parameters": b.Parameters,
		},
		"status": object{"bucketReady": b.ID != "", "bucketID": b.ID},
	}, nil
}

func (s *Server) secret(r *http.Request) (object, *failure) {
	namespace, name := r.PathValue("namespace"), r.PathValue("name")
	data, err := s.readSecret(namespace, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, notFound("secrets", name)
	}
	if err != nil {
		return nil, internalError(fmt.Errorf("read the files of Secret %s/%s: %w", namespace, name, err))
	}
	return object{
		"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": object{"namespace": namespace, "name": name}, "data": data,
	}, nil
}

// readSecret returns the values of a Secret, all from one version of the Secret.
func (s *Server) readSecret(namespace, name string) (data map[string][]byte, err error) {
	if s.options.SecretsDir == "" || !namePattern.MatchString(namespace) || !namePattern.MatchString(name) {
		return nil, fs.ErrNotExist
	}
	for range maxReads {
		if data, err = readKeys(s.options.SecretsDir, path.Join(namespace, name)); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return data, err
}

// readKeys reads the files of a directory below dir. Symbolic links cannot lead out of dir.
func readKeys(dir, secret string) (map[string][]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	files, err := root.OpenRoot(secret)
	if err != nil {
		return nil, err
	}
	defer files.Close()
	if current, err := files.OpenRoot(dataLink); err == nil {
		defer current.Close()
		files = current
	}
	entries, err := fs.ReadDir(files.FS(), ".")
	if err != nil {
		return nil, err
	}
	data := map[string][]byte{}
	for _, entry := range entries {
		if entry.IsDir() || strings.HasPrefix(entry.Name(), "..") {
			continue
		}
		if data[entry.Name()], err = files.ReadFile(entry.Name()); err != nil {
			return nil, err
		}
	}
	return data, nil
}
