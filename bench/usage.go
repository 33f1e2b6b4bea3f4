// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A usage is what the processes of one component used: the CPU time of all, and the memory of the largest.
type usage struct {
	cpu time.Duration
	// peak is in bytes, and grown how much that is above what was in use in the beginning.
	peak, grown int64
}

// tick is the unit of CPU time in /proc.
const tick = 10 * time.Millisecond

// usage is what each process used since it began, and its peak memory since forgetPeaks. Where there is no /proc it is
// empty.
func (s *system) usage() map[process]usage {
	all := map[process]usage{}
	for _, p := range s.processes() {
		if of := (usage{cpu: cpuOf(p.pid), peak: peakOf(p.pid)}); of != (usage{}) {
			all[p] = of
		}
	}
	return all
}

// forgetPeaks makes the peaks begin at what is in use now.
func (s *system) forgetPeaks() {
	for _, p := range s.processes() {
		_ = os.WriteFile(proc(p.pid, "clear_refs"), []byte("5"), 0) // without it, the peaks are those since the process began
	}
}

// A process is one of a component.
type process struct {
	role string
	pid  int
}

// processes are the processes of a bench, with those of the control plane and the bench itself.
func (s *system) processes() []process {
	all := []process{{"bench", os.Getpid()}}
	for _, p := range s.programs {
		if p.running != nil {
			all = append(all, process{p.role, p.running.Process.Pid})
		}
	}
	entries, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	home := filepath.Dir(s.controlPlane.LogDir()) + string(filepath.Separator)
	for _, path := range entries {
		line, err := os.ReadFile(path)
		called, _, _ := bytes.Cut(line, []byte{0})
		pid, isNumber := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil && isNumber == nil && strings.HasPrefix(string(called), home) {
			all = append(all, process{filepath.Base(string(called)), pid})
		}
	}
	return all
}

func proc(pid int, file string) string { return fmt.Sprintf("/proc/%d/%s", pid, file) }

func cpuOf(pid int) time.Duration {
	text, err := os.ReadFile(proc(pid, "stat"))
	if err != nil {
		return 0
	}
	return parseStat(string(text))
}

// parseStat is the time in user and in system mode of a /proc/PID/stat, whose second field is a name in brackets that
// may hold anything.
func parseStat(text string) time.Duration {
	fields := strings.Fields(text[strings.LastIndex(text, ")")+1:])
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * tick
}

func peakOf(pid int) int64 {
	text, err := os.ReadFile(proc(pid, "status"))
	if err != nil {
		return 0
	}
	return parsePeak(string(text))
}

// parsePeak is the peak of the resident memory in a /proc/PID/status, in bytes.
func parsePeak(text string) int64 {
	_, after, _ := strings.Cut(text, "VmHWM:")
	number, _, _ := strings.Cut(strings.TrimSpace(after), " ")
	kilobytes, _ := strconv.ParseInt(number, 10, 64)
	return kilobytes * 1024
}

// A meter adds up what components use and ask for while it runs.
type meter struct {
	used  map[string]usage
	asked tally
	calls map[string]int // of the drivers, by RPC
}

// measured adds what components use and ask for, until they are quiet, to m.
func (s *system) measured(ctx context.Context, m *meter, do func() error) error {
	if _, err := s.settle(ctx); err != nil {
		return err
	}
	s.forgetPeaks()
	used := s.usage()
	calls, err := s.rpcs(ctx)
	if err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	asked, err := s.settle(ctx)
	if err != nil {
		return err
	}
	m.asked.add(asked)
	callsNow, err := s.rpcs(ctx)
	m.add(used, s.usage(), calls, callsNow)
	return err
}

func (m *meter) add(before, after map[process]usage, calls, callsNow map[string]int) {
	if m.used == nil {
		m.used, m.calls = map[string]usage{}, map[string]int{}
	}
	for p, now := range after {
		of := m.used[p.role]
		m.used[p.role] = usage{
			cpu:  of.cpu + now.cpu - before[p].cpu,
			peak: max(of.peak, now.peak), grown: max(of.grown, now.peak-before[p].peak),
		}
	}
	for rpc, n := range callsNow {
		m.calls[rpc] += n - calls[rpc]
	}
}
