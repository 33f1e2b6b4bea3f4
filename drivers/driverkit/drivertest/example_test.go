// SPDX-License-Identifier: Apache-2.0

package drivertest_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
)

// A Crash counts the calls that a driver makes to its backend. In a CrashMatrix, it ends the driver at one of them.
func ExampleCrash_Wrap() {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "made") }))
	defer backend.Close()
	crash := &drivertest.Crash{}
	client := &http.Client{Transport: crash.Wrap(http.DefaultTransport)}
	for _, path := range []string{"/bucket", "/bucket/policy"} {
		response, err := client.Get(backend.URL + path)
		if err != nil {
			panic(err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
	}
	fmt.Println(crash.Calls(), crash.Dead())
	// Output:
	// [GET /bucket GET /bucket/policy] false
}
