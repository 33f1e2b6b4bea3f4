// SPDX-License-Identifier: Apache-2.0

package gcsfake

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"

	"sigs.k8s.io/yaml"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/identity"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/policy"
	"github.com/cooper-cosi/cooper/fakes/internal/seedobject"
)

// seed is the initial contents of a server. If no project is named, the first one is used.
type seed struct {
	Accounts []seedAccount `json:"accounts"`
	Buckets  []seedBucket  `json:"buckets"`
}

type seedAccount struct {
	ID      string `json:"id"`
	Project string `json:"project"`
	// Roles are roles on the project.
	Roles []string `json:"roles"`
}

type seedBucket struct {
	Name    string `json:"name"`
	Project string `json:"project"`
	// Resource contains additional fields of the JSON API's bucket resource.
	Resource map[string]any `json:"resource"`
	// Bindings replace the bindings of a new bucket.
	Bindings []policy.Binding    `json:"bindings"`
	Objects  []seedobject.Object `json:"objects"`
}

// Seed creates the service accounts, buckets and objects in a YAML or JSON document; see docs/howto/use-the-fakes.md for the
// format. Existing ones are not changed.
func (s *Server) Seed(raw []byte) error {
	var seed seed
	if err := yaml.UnmarshalStrict(raw, &seed); err != nil {
		return fmt.Errorf("read the seed: %w", err)
	}
	for _, a := range seed.Accounts {
		if err := s.state().seedAccount(a); err != nil {
			return fmt.Errorf("account %s of the seed: %w", a.ID, err)
		}
	}
	for _, b := range seed.Buckets {
		if err := s.state().seedBucket(b); err != nil {
			return fmt.Errorf("bucket %s of the seed: %w", b.Name, err)
		}
	}
	return nil
}

func (s *state) seedAccount(a seedAccount) error {
	project := s.options.projectOr(a.Project)
	for _, role := range a.Roles {
		if !s.directory.RoleExists(role) {
			return fmt.Errorf("role %s does not exist", role)
		}
	}
	made, err := s.administer(project, http.MethodPost, "/v1/projects/"+url.PathEscape(project)+"/serviceAccounts", map[string]any{"accountId": a.ID})
	if !made || len(a.Roles) == 0 {
		return err
	}
	return s.grant(project, "serviceAccount:"+a.ID+"@"+project+".iam.gserviceaccount.com", a.Roles...)
}

func (s *state) seedBucket(b seedBucket) error {
	project := s.options.projectOr(b.Project)
	resource := map[string]any{}
	maps.Copy(resource, b.Resource)
	resource["name"] = b.Name
	made, err := s.administer(project, http.MethodPost, "/storage/v1/b?project="+url.QueryEscape(project), resource)
	if err != nil {
		return err
	}
	for _, o := range b.Objects {
		if err := s.seedObject(project, b.Name, o); err != nil {
			return fmt.Errorf("object %s: %w", o.Name, err)
		}
	}
	if !made || len(b.Bindings) == 0 {
		return nil
	}
	_, err = s.administer(project, http.MethodPut, "/storage/v1/b/"+url.PathEscape(b.Name)+"/iam", map[string]any{"bindings": b.Bindings})
	return err
}

// seedObject uploads an object unless it exists.
func (s *state) seedObject(project, bucket string, o seedobject.Object) error {
	content, err := o.Body()
	if err != nil {
		return err
	}
	resource := map[string]any{"name": o.Name}
	if o.ContentType != "" {
		resource["contentType"] = o.ContentType
	}
	if len(o.Metadata) > 0 {
		resource["metadata"] = o.Metadata
	}
	raw, err := json.Marshal(resource)
	if err != nil {
		return fmt.Errorf("encode the object: %w", err)
	}
	var body bytes.Buffer
	parts := multipart.NewWriter(&body)
	for _, part := range []struct {
		kind string
		text []byte
	}{{"application/json", raw}, {cmp.Or(o.ContentType, "application/octet-stream"), content}} {
		w, err := parts.CreatePart(textproto.MIMEHeader{"Content-Type": {part.kind}})
		if err == nil {
			_, err = w.Write(part.text)
		}
		if err != nil {
			return fmt.Errorf("encode the object: %w", err)
		}
	}
	if err := parts.Close(); err != nil {
		return fmt.Errorf("encode the object: %w", err)
	}
	path := "/upload/storage/v1/b/" + url.PathEscape(bucket) + "/o?uploadType=multipart&ifGenerationMatch=0"
	_, err = s.administer(project, http.MethodPost, path, upload{"multipart/related; boundary=" + parts.Boundary(), body.Bytes()})
	return err
}

// upload is a body that administer sends as it is.
type upload struct {
	contentType string
	raw         []byte
}

// administer makes a call as the administrator of a project, which is not recorded. It reports whether the call
// changed anything; an existing resource is not an error.
func (s *state) administer(project, method, path string, body any) (bool, error) {
	if err := s.openProject(s.options.adminEmail(""), project); err != nil {
		return false, err
	}
	token, err := s.token(s.options.adminEmail(project), identity.Lifetime)
	if err != nil {
		return false, err
	}
	sent, isUpload := body.(upload)
	if !isUpload {
		raw, err := json.Marshal(body)
		if err != nil {
			return false, fmt.Errorf("encode the call: %w", err)
		}
		sent = upload{"application/json", raw}
	}
	r, err := http.NewRequest(method, "http://seed"+path, bytes.NewReader(sent.raw)) //nolint:noctx // the URL is not used: this server handles the request
	if err != nil {
		return false, fmt.Errorf("create the call: %w", err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", sent.contentType)
	e := s.api.Prepare(r).Serve(&batchResponse{header: http.Header{}})
	switch {
	case e == nil:
		return true, nil
	case e.Status == http.StatusConflict, e.Status == http.StatusPreconditionFailed:
		return false, nil
	}
	return false, e
}
