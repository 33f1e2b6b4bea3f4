// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// bucket is the only bucket of a store.
const bucket = "bench"

// Object sizes in bytes, and the number of concurrent clients.
const (
	small, large = 4 << 10, 8 << 20
	many         = 32
)

// rates measures how often per second a store performs each operation.
func (s settings) rates(ctx context.Context, of store, p *process, c protocol, got figures) error {
	got.set(of.name, rowStart, float64(p.started)/float64(time.Millisecond))
	for _, size := range []int{small, large} {
		body := bytes.Repeat([]byte("0123456789abcdef"), size/16)
		put := func(n int64) error { return c.put(ctx, fmt.Sprintf("o/%d/%d", size, n%(2*many)), body) }
		get := func(int64) error { return c.get(ctx, fmt.Sprintf("o/%d/0", size)) }
		for _, clients := range []int{1, many} {
			for _, m := range []struct {
				name string
				do   func(int64) error
			}{{"put", put}, {"get", get}} {
				rate, err := rate(clients, s.duration, m.do)
				if err != nil {
					return fmt.Errorf("%s of %d bytes: %w", m.name, size, err)
				}
				got.set(of.name, rateRow(m.name, size, clients), rate)
			}
		}
	}
	return nil
}

// rate runs do in several clients for a period, at least once each, and returns the calls per second. The
// first call, with 0, is not counted.
func rate(clients int, during time.Duration, do func(int64) error) (float64, error) {
	if err := do(0); err != nil {
		return 0, err
	}
	var done atomic.Int64
	begin := time.Now()
	err := together(clients, func() (more bool, err error) {
		err = do(done.Add(1))
		return time.Since(begin) < during, err
	})
	return float64(done.Load()) / time.Since(begin).Seconds(), err
}

// together repeats do in several goroutines until it returns false or an error, which it returns.
func together(clients int, do func() (more bool, err error)) error {
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		first error
	)
	for range clients {
		wg.Go(func() {
			more, err := true, error(nil)
			for more && err == nil {
				more, err = do()
			}
			mu.Lock()
			defer mu.Unlock()
			if first == nil {
				first = err
			}
		})
	}
	wg.Wait()
	return first
}

// holdings fills a store and measures its memory and the duration of listings.
func (s settings) holdings(ctx context.Context, of store, p *process, c protocol, got figures) error {
	body := bytes.Repeat([]byte("0123456789abcdef"), small/16)
	begin := time.Now()
	kept, err := s.put(ctx, c, of, begin, body, 0, s.objects)
	if err != nil {
		return err
	}
	got.set(of.name, rowObjects, float64(kept))
	got.set(of.name, rowMemory, float64(p.memory())/1e6)
	listed, err := s.put(ctx, c, of, begin, []byte("x"), kept, s.keys)
	if err != nil {
		return err
	}
	got.set(of.name, rowKeys, float64(listed))
	// One client lists everything; several clients share a hundred prefixes.
	for clients, prefixes := range map[int][]string{1: {"k/"}, many: hundred()} {
		took, err := list(ctx, c, clients, prefixes, listed)
		if err != nil {
			return err
		}
		got.set(of.name, listRow(clients), float64(listed)/took.Seconds())
	}
	return nil
}

// put puts objects with numbers in a range, below a hundred prefixes, and returns the number of objects. For
// a third-party store it stops after a time limit.
func (s settings) put(ctx context.Context, c protocol, of store, begin time.Time, body []byte, from, to int) (int, error) {
	var next, done atomic.Int64
	next.Store(int64(from))
	done.Store(int64(from))
	err := together(many, func() (bool, error) {
		if of.peer && time.Since(begin) >= s.fill {
			return false, nil
		}
		n := next.Add(1)
		if n > int64(to) {
			return false, nil
		}
		if err := c.put(ctx, fmt.Sprintf("k/%02d/%08d", n%100, n), body); err != nil {
			return false, fmt.Errorf("fill the store: %w", err)
		}
		done.Add(1)
		return true, nil
	})
	return int(done.Load()), err
}

func hundred() []string {
	out := make([]string, 100)
	for i := range out {
		out[i] = fmt.Sprintf("k/%02d/", i)
	}
	return out
}

// list lists all prefixes in pages of up to 1000 keys and returns the time until every response is read. It
// does not decode the pages, which would take several times as long as the store needs.
func list(ctx context.Context, c protocol, clients int, prefixes []string, want int) (time.Duration, error) {
	var next, found atomic.Int64
	begin := time.Now()
	err := together(clients, func() (bool, error) {
		n := next.Add(1)
		if n > int64(len(prefixes)) {
			return false, nil
		}
		for marker, more := "", true; more; more = marker != "" {
			page, err := c.page(ctx, prefixes[n-1], marker)
			if err != nil {
				return false, fmt.Errorf("list the keys: %w", err)
			}
			entry, mark := c.marks()
			found.Add(int64(bytes.Count(page, []byte(entry))))
			marker = after(page, mark)
		}
		return true, nil
	})
	took := time.Since(begin)
	if err == nil && found.Load() != int64(want) {
		err = fmt.Errorf("listed %d keys, want %d", found.Load(), want)
	}
	return took, err
}

// after returns the marker after mark in a page, or "" for the last page.
func after(page []byte, mark string) string {
	_, rest, found := bytes.Cut(page, []byte(mark))
	end := bytes.IndexAny(rest, `<"`)
	if !found || end < 0 {
		return ""
	}
	return html.UnescapeString(string(rest[:end]))
}

// set records and prints a figure immediately, because each takes minutes.
func (f figures) set(store, row string, value float64) {
	f[row] = value
	fmt.Fprintf(os.Stderr, "%s: %s: %s\n", store, row, format(value))
}
