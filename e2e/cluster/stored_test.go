// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/fakes/s3fake"
)

// stored returns what the store holds.
func (w *world) stored(t *testing.T) s3fake.Inventory {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	forward := exec.CommandContext(ctx, w.program, "-n", storeNamespace, "port-forward", "service/s3", ":9000")
	forward.Env = append(os.Environ(), "KUBECONFIG="+w.kubeconfig)
	said, err := forward.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := forward.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cancel()
		_ = forward.Wait() // it was killed
	}()
	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		t.Fatalf("kubectl port-forward says %q: %v", line, err)
	}
	address, _, _ := strings.Cut(strings.TrimPrefix(line, "Forwarding from "), " ")
	held, err := readInventory(ctx, "http://"+address+"/_cooper/inventory")
	if err != nil {
		t.Fatal(err)
	}
	return held
}

func readInventory(ctx context.Context, url string) (held s3fake.Inventory, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return held, err
	}
	request.SetBasicAuth(rootID, rootKey)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return held, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return held, fmt.Errorf("inventory of the store: %s", response.Status)
	}
	return held, json.NewDecoder(response.Body).Decode(&held)
}
