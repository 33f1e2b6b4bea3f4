// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cooper-cosi/cooper/internal/conditions"
)

// summarized checks the object that the API server returned for a write of conditions: Ready and Stalled must agree
// with the other conditions, because no other write follows. It restores the body of the response.
func (t *tape) summarized(what request, r *http.Request, response *http.Response) error {
	if what.What == "" || !strings.HasSuffix(what.What, "/status") || r.GetBody == nil || response.StatusCode >= http.StatusMultipleChoices {
		return nil
	}
	asked, err := r.GetBody()
	if err != nil {
		return err
	}
	patch, err := io.ReadAll(asked)
	if err != nil || !bytes.Contains(patch, []byte(`"/status/conditions`)) {
		return err
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	response.Body = io.NopCloser(bytes.NewReader(body))
	if err != nil {
		return err
	}
	var stored struct {
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	if err := json.Unmarshal(body, &stored); err != nil {
		return err
	}
	if list := stored.Status.Conditions; !conditions.Summarized(list) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.contradictions = append(t.contradictions, fmt.Sprintf("%s: Ready or Stalled does not agree with the other conditions: %+v", what, list))
	}
	return nil
}
