// SPDX-License-Identifier: Apache-2.0

package blob

import "sync"

// Memory is a Small store in a map.
type Memory struct {
	mu     sync.RWMutex
	bodies map[ID][]byte
}

// NewMemory returns an empty store.
func NewMemory() *Memory { return &Memory{bodies: map[ID][]byte{}} }

// Put implements Small.
func (m *Memory) Put(id ID, body []byte) error {
	own := append([]byte(nil), body...)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bodies[id] = own
	return nil
}

// Get implements Small.
func (m *Memory) Get(id ID, offset, length int64) ([]byte, bool, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	body, ok := m.bodies[id]
	if !ok {
		return nil, false, nil
	}
	return body[offset : offset+length], true, nil
}

// Delete implements Small.
func (m *Memory) Delete(id ID) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.bodies, id)
	return nil
}
