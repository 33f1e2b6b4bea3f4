// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"google.golang.org/protobuf/encoding/protojson"

	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/proto/v1alpha1"
)

// Swept is the result of Sweep.
type Swept struct {
	// Removed and Failed list resources by kind and ID; Failed includes the reason.
	Removed, Failed []string
}

// Sweep reads the journal of a crashed run and removes the resources that may still exist, in reverse order. config
// must be the configuration of that run. Sweep uses its driver (Endpoint or Launcher) and its Fixture.
func Sweep(ctx context.Context, config Config, journalText io.Reader) (Swept, error) {
	notes, err := readJournal(journalText)
	if err != nil {
		return Swept{}, err
	}
	if len(notes) == 0 {
		return Swept{}, nil
	}
	s := &suite{config: config, limits: config.Limits.withDefaults(), run: "sweep", traffic: newTraffic(), book: &journal{}}
	if s.driver, err = newDriver(config, s.limits, s.intercept); err != nil {
		return Swept{}, err
	}
	defer func() { _ = s.driver.down() }()
	if err := s.begin(ctx); err != nil {
		return Swept{}, err
	}
	for _, n := range notes {
		s.recordObject(n.message, nil) // accounts are removed before their buckets
	}
	c := newC(ctx, s, Case{ID: "SWEEP"})
	var swept Swept
	for _, n := range slices.Backward(notes) {
		if err := c.remove(c.ctx, n); err != nil {
			swept.Failed = append(swept.Failed, fmt.Sprintf("%s %s: %v", n.Kind, n.ID, err))
			continue
		}
		swept.Removed = append(swept.Removed, n.Kind+" "+n.ID)
	}
	return swept, nil
}

// readJournal returns the resources that were requested and not crossed out.
func readJournal(journal io.Reader) ([]note, error) {
	text, err := io.ReadAll(journal)
	if err != nil {
		return nil, fmt.Errorf("read the journal: %w", err)
	}
	var notes []note
	number := 0
	for line := range bytes.Lines(text) {
		number++
		if !bytes.HasSuffix(line, []byte("\n")) {
			// The run was killed while writing this line, before it requested anything.
			break
		}
		if notes, err = addLine(notes, line); err != nil {
			return nil, fmt.Errorf("read line %d of the journal: %w", number, err)
		}
	}
	return notes, nil
}

func addLine(notes []note, line []byte) ([]note, error) {
	var n note
	if err := json.Unmarshal(line, &n); err != nil {
		return nil, err
	}
	at := slices.IndexFunc(notes, n.same)
	if n.Gone {
		return slices.DeleteFunc(notes, n.same), nil
	}
	if err := n.decode(); err != nil {
		return nil, err
	}
	if at >= 0 {
		// A hook has created the requested resource: the later line replaces the first.
		notes[at] = n
		return notes, nil
	}
	return append(notes, n), nil
}

func (n *note) decode() error {
	switch n.Kind {
	case noteBucket:
		n.message = &cosi.DriverCreateBucketRequest{}
	case noteAccount:
		n.message = &cosi.DriverGrantBucketAccessRequest{}
	case noteOldBucket:
		n.message = &v1alpha1.DriverCreateBucketRequest{}
	case noteOldAccount:
		n.message = &v1alpha1.DriverGrantBucketAccessRequest{}
	default:
		return nil
	}
	if err := protojson.Unmarshal(n.Request, n.message); err != nil {
		return fmt.Errorf("decode the request of %s %s: %w", n.Kind, n.ID, err)
	}
	return nil
}
