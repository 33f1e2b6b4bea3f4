// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/cooper-cosi/cooper/sanity"
)

// Environment variables that are set for hooks.
const (
	variableName = "SANITY_BUCKET_NAME"
	variableID   = "SANITY_BUCKET_ID"
	placeholder  = "{name}"
)

// Command is a program and its arguments. Exit code 0 is success.
type Command []string

// Hooks are commands that inspect or change the backend without the driver.
type Hooks struct {
	// Inventory prints the existing objects, one "<kind> <name>" per line. Kinds are bucket, account, key and policy.
	Inventory Command `json:"inventory,omitempty"`
	// MakeBucket creates a bucket with the name in SANITY_BUCKET_NAME.
	MakeBucket Command `json:"makeBucket,omitempty"`
	// RemoveBucket deletes the bucket that MakeBucket created, and succeeds if it does not exist.
	RemoveBucket Command `json:"removeBucket,omitempty"`
	// BucketID is the bucket ID of the bucket that MakeBucket creates. The suite replaces {name} with its name. Default:
	// {name}.
	BucketID string `json:"bucketID,omitempty"`
	// TakeName creates a bucket of another owner with the ID in SANITY_BUCKET_ID, and fails if a bucket already exists.
	TakeName Command `json:"takeName,omitempty"`
	// FreeName deletes the bucket that TakeName created, and succeeds if it does not exist.
	FreeName Command `json:"freeName,omitempty"`
	// Break starts a fault. The faults are down (the backend does not respond) and login-refused (the backend rejects
	// the driver's own credentials).
	Break map[sanity.Fault]Command `json:"break,omitempty"`
	// Mend ends a fault.
	Mend map[sanity.Fault]Command `json:"mend,omitempty"`
}

func (h Hooks) apply(config *sanity.Config) error {
	for _, hook := range []struct {
		name    string
		byFault map[sanity.Fault]Command
	}{{"break", h.Break}, {"mend", h.Mend}} {
		for fault := range hook.byFault {
			if fault != sanity.BackendDown && fault != sanity.LoginRefused {
				return fmt.Errorf("configuration: hooks.%s: %q is neither %s nor %s", hook.name, fault, sanity.BackendDown, sanity.LoginRefused)
			}
		}
	}
	if len(h.Inventory) > 0 {
		config.Inventory = h.inventory
	}
	if len(h.MakeBucket) > 0 && len(h.RemoveBucket) > 0 {
		config.Fixture = fixture{hooks: h}
	}
	if len(h.Break) > 0 {
		config.Backend = backend{hooks: h}
	}
	return nil
}

func (h Hooks) inventory(ctx context.Context) ([]sanity.Resource, error) {
	text, err := h.Inventory.run(ctx)
	if err != nil {
		return nil, err
	}
	var resources []sanity.Resource
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		kind, name, found := strings.Cut(line, " ")
		if line == "" {
			continue
		}
		if !found {
			return nil, fmt.Errorf("hook %v printed the line %q, which is not a kind and a name", h.Inventory, line)
		}
		resources = append(resources, sanity.Resource{Kind: kind, Name: strings.TrimSpace(name)})
	}
	return resources, nil
}

func (c Command) run(ctx context.Context, variables ...string) (string, error) {
	if len(c) == 0 {
		return "", fmt.Errorf("the hook is not configured")
	}
	command := exec.CommandContext(ctx, c[0], c[1:]...)
	command.Env = append(os.Environ(), variables...)
	var out, problem bytes.Buffer
	command.Stdout, command.Stderr = &out, &problem
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("run hook %s: %w: %s", c[0], err, strings.TrimSpace(problem.String()))
	}
	return out.String(), nil
}

// fixture implements the hooks for buckets.
type fixture struct{ hooks Hooks }

func (f fixture) BucketID(name string) string {
	if f.hooks.BucketID == "" {
		return name
	}
	return strings.ReplaceAll(f.hooks.BucketID, placeholder, name)
}

func (f fixture) MakeBucket(ctx context.Context, name string) error {
	_, err := f.hooks.MakeBucket.run(ctx, variableName+"="+name, variableID+"="+f.BucketID(name))
	return err
}

func (f fixture) RemoveBucket(ctx context.Context, name string) error {
	_, err := f.hooks.RemoveBucket.run(ctx, variableName+"="+name, variableID+"="+f.BucketID(name))
	return err
}

// CanTakeNames reports whether the hooks for buckets with another owner are configured.
func (f fixture) CanTakeNames() bool { return len(f.hooks.TakeName) > 0 && len(f.hooks.FreeName) > 0 }

func (f fixture) TakeName(ctx context.Context, bucketID string) error {
	_, err := f.hooks.TakeName.run(ctx, variableID+"="+bucketID)
	return err
}

func (f fixture) FreeName(ctx context.Context, bucketID string) error {
	_, err := f.hooks.FreeName.run(ctx, variableID+"="+bucketID)
	return err
}

// backend implements the hooks for faults.
type backend struct{ hooks Hooks }

func (b backend) Can(fault sanity.Fault) bool {
	return len(b.hooks.Break[fault]) > 0 && len(b.hooks.Mend[fault]) > 0
}

func (b backend) Break(ctx context.Context, fault sanity.Fault) error {
	_, err := b.hooks.Break[fault].run(ctx)
	return err
}

func (b backend) Mend(ctx context.Context, fault sanity.Fault) error {
	_, err := b.hooks.Mend[fault].run(ctx)
	return err
}
