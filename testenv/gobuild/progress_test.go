// SPDX-License-Identifier: Apache-2.0

package gobuild

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestProgress(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		terminal bool
		want     string
	}{
		"on a terminal keeps one line current, below those that stay": {terminal: true, want: "" +
			clearLine + "one: 1 of 2" +
			clearLine + "one: 1 of 2; two: 3 of 4" +
			clearLine + "a fact\n" + clearLine + "one: 1 of 2; two: 3 of 4" +
			clearLine + "one: 2 of 2; two: 3 of 4" +
			clearLine + "one: ready\n" + clearLine + "two: 3 of 4" +
			clearLine + "two: failed\n" +
			clearLine + "quick: 1 of 1" + clearLine},
		"without a terminal prints little, and nothing for short tasks": {
			want: "a fact\none: 2 of 2\none: ready\ntwo: failed\n",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var said bytes.Buffer
			now := time.Unix(0, 0)
			p := &Progress{out: &said, terminal: tc.terminal, now: func() time.Time { return now }}
			one, two := p.start("one"), p.start("two")
			one.set("%d of 2", 1)
			two.set("%d of 4", 3)
			if n, err := p.Write([]byte("a fact\n")); n != 7 || err != nil {
				t.Errorf("Write: %d, %v", n, err)
			}
			now = now.Add(worthALine)
			one.set("%d of 2", 2)
			one.end("ready")
			two.end("failed")
			quick := p.start("quick")
			quick.set("%d of 1", 1)
			quick.end("ready")
			if diff := cmp.Diff(tc.want, said.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNewProgress(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	p := NewProgress(&said)
	if again := NewProgress(p); again != p {
		t.Error("a Progress that is passed on as a writer is another one")
	}
	silent := NewProgress(nil)
	silent.Say("nothing")
	task := silent.start("nothing")
	task.set("of")
	task.end("it")
	if said.Len() > 0 {
		t.Errorf("said %q", said.String())
	}
}

func TestTransfer(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		terminal bool
		size     int64
		err      error
		want     string
	}{
		"on a terminal redraws a bar for each megabyte": {terminal: true, size: 4_000_000, want: "" +
			clearLine + "archive: [#######-----------------------] 1 of 4 MB" +
			clearLine + "archive: [##############################] 4 of 4 MB" +
			clearLine + "archive: 4 MB\n"},
		"on a terminal draws none for an unknown size": {terminal: true, want: "" +
			clearLine + "archive: 1 MB" + clearLine + "archive: 4 MB" + clearLine + "archive: 4 MB\n"},
		"elsewhere writes a line now and then": {size: 4_000_000, want: "archive: 4 of 4 MB\narchive: 4 MB\n"},
		"prints that it failed":                {err: errors.New("any"), want: "archive: 4 MB\narchive: failed after 4 MB\n"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var said bytes.Buffer
			now := time.Unix(0, 0)
			p := &Progress{out: &said, terminal: tc.terminal, now: func() time.Time { return now }}
			transfer := p.StartTransfer("archive", tc.size)
			for _, size := range []int{1_000_000, 1, 2_999_999} {
				if n, err := transfer.Write(make([]byte, size)); n != size || err != nil {
					t.Errorf("Write: %d, %v", n, err)
				}
				now = now.Add(worthALine / 2)
			}
			transfer.End(tc.err)
			if diff := cmp.Diff(tc.want, said.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
