// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/cooper-cosi/cooper/internal/testing/processtest"
	"github.com/cooper-cosi/cooper/internal/unixsocket"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity/store"
)

// memory is a store that conforms, apart from its defect.
type memory struct {
	cosi.UnimplementedCredentialStoreServer

	defect string

	mu      sync.Mutex
	asked   int
	writes  int
	entries map[string]kept
}

type kept struct{ data, version string }

func (m *memory) is(defect string) bool { return m.defect == defect }

// key returns the key of an entry.
func (m *memory) key(name string) string {
	switch {
	case m.is("takes upper case for lower case"):
		return strings.ToLower(name)
	case m.is("cleans paths"):
		return filepath.Clean(name)
	case m.is("truncates names"):
		return name[:min(len(name), 253)]
	default:
		return name
	}
}

func (m *memory) invalid(invalid error) error {
	if invalid == nil {
		return nil
	}
	return status.Error(codes.InvalidArgument, invalid.Error())
}

func (m *memory) checkName(name string) error {
	if m.is("takes an empty name") && name == "" || m.is("takes long names") && len(name) > cosi.MaxIDLength {
		return nil
	}
	return m.invalid(cosi.ValidateEntryName(name))
}

func (m *memory) GetStoreId(context.Context, *cosi.GetStoreIdRequest) (*cosi.GetStoreIdResponse, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked++
	id := make([]byte, 16)
	if m.is("has a new ID each time") {
		id[0] = byte(m.asked)
	}
	if m.is("has a short ID") {
		id = id[:8]
	}
	return &cosi.GetStoreIdResponse{Id: hex.EncodeToString(id)}, nil
}

func (m *memory) GetEntry(_ context.Context, request *cosi.GetEntryRequest) (*cosi.GetEntryResponse, error) {
	if err := m.checkName(request.GetName()); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	found, ok := m.entries[m.key(request.GetName())]
	if !ok && !m.is("returns an empty entry for one that is missing") {
		return nil, status.Error(codes.NotFound, "there is none")
	}
	if m.is("trims data") {
		found.data = strings.TrimSpace(found.data)
	}
	return &cosi.GetEntryResponse{Data: []byte(found.data), Version: found.version}, nil
}

func (m *memory) PutEntry(_ context.Context, request *cosi.PutEntryRequest) (*cosi.PutEntryResponse, error) {
	if err := m.checkName(request.GetName()); err != nil {
		return nil, err
	}
	size := len(request.GetData())
	if !(m.is("takes empty data") && size == 0) && !(m.is("takes long data") && size > cosi.MaxEntrySize) {
		if err := m.invalid(cosi.ValidateEntryData(request.GetData())); err != nil {
			return nil, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	key := m.key(request.GetName())
	before, there := m.entries[key]
	next := kept{data: string(request.GetData())}
	conflict := before.version != request.GetVersion()
	switch {
	case m.is("replaces without a version") && request.GetVersion() == "",
		m.is("makes an entry of any version") && !there,
		m.is("asks for any version") && there && request.GetVersion() != "":
		conflict = false
	case m.is("refuses a write that it has made"):
		if conflict {
			m.entries[key] = next
		}
	}
	if conflict {
		if m.is("says that an entry exists") {
			return nil, status.Error(codes.AlreadyExists, "it is there")
		}
		return nil, status.Error(codes.Aborted, "it has another version")
	}
	m.writes++
	next.version = fmt.Sprint(m.writes)
	if m.is("has versions of the data") {
		next.version = fmt.Sprintf("%x", next.data[:1])
	}
	m.entries[key] = next
	return &cosi.PutEntryResponse{Version: next.version}, nil
}

func (m *memory) DeleteEntry(_ context.Context, request *cosi.DeleteEntryRequest) (*cosi.DeleteEntryResponse, error) {
	if err := m.checkName(request.GetName()); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	key := m.key(request.GetName())
	if _, there := m.entries[key]; !there && m.is("deletes nothing that is missing") {
		return nil, status.Error(codes.NotFound, "there is none")
	}
	switch {
	case m.is("deletes nothing"):
	case m.is("deletes all"):
		clear(m.entries)
	default:
		delete(m.entries, key)
	}
	return &cosi.DeleteEntryResponse{}, nil
}

// run serves a store with a defect and returns the IDs of the failing cases.
func run(t *testing.T, defect string) []string {
	t.Helper()
	address := "unix://" + filepath.Join(processtest.ShortTempDir(t), "credentials.sock")
	listener, err := unixsocket.Listen(t.Context(), address, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	cosi.RegisterCredentialStoreServer(server, &memory{defect: defect, entries: map[string]kept{}})
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	results, err := store.Run(t.Context(), cosi.NewCredentialStoreClient(connection))
	if err != nil {
		t.Fatal(err)
	}
	var failed []string
	for _, result := range results {
		if len(result.Problems) > 0 {
			failed = append(failed, result.Case.ID)
			t.Logf("%s %s: %q", result.Case.ID, result.Case.Title, result.Problems)
		}
	}
	return failed
}

// TestRun checks that each defect fails its case, and that each case detects a defect.
func TestRun(t *testing.T) {
	t.Parallel()
	defects := map[string]string{
		"has a new ID each time": "CST-ID-001", "has a short ID": "CST-ID-001",
		"returns an empty entry for one that is missing": "CST-GET-001",
		"trims data":                      "CST-GET-002",
		"takes upper case for lower case": "CST-GET-003", "cleans paths": "CST-GET-003", "truncates names": "CST-GET-003",
		"replaces without a version": "CST-PUT-001 CST-PUT-005", "says that an entry exists": "CST-PUT-001", "refuses a write that it has made": "CST-PUT-001",
		"has versions of the data":        "CST-PUT-002",
		"asks for any version":            "CST-PUT-003",
		"makes an entry of any version":   "CST-PUT-004",
		"deletes nothing that is missing": "CST-DEL-001", "deletes nothing": "CST-DEL-001", "deletes all": "CST-DEL-001",
		"takes an empty name": "CST-REQ-001", "takes empty data": "CST-REQ-001",
		"takes long names": "CST-REQ-002", "takes long data": "CST-REQ-002",
	}
	for _, one := range store.Cases() {
		if !strings.Contains(strings.Join(slices.Collect(maps.Values(defects)), " "), one.ID) {
			t.Errorf("no defect is there for %s", one.ID)
		}
	}
	for defect, want := range defects {
		t.Run(defect, func(t *testing.T) {
			t.Parallel()
			failed := run(t, defect)
			for id := range strings.FieldsSeq(want) {
				if !slices.Contains(failed, id) {
					t.Errorf("%s does not fail, but %q", id, failed)
				}
			}
		})
	}
	t.Run("a store that conforms fails nowhere", func(t *testing.T) {
		t.Parallel()
		if failed := run(t, ""); len(failed) > 0 {
			t.Errorf("failed: %q", failed)
		}
	})
}
