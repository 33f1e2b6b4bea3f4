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

// A usage is the resource usage of one component's processes: the total CPU time, and the memory of the
// largest process.
type usage struct {
	cpu time.Duration
	// peak is in bytes, and grown is its increase over the usage at the start.
	peak, grown int64
}

// tick is the unit of CPU time in /proc.
const tick = 10 * time.Millisecond

// usage returns the usage of each process since its start, with the peak memory since forgetPeaks. It is
// empty without /proc.
func (s *system) usage() map[process]usage {
	all := map[process]usage{}
	for _, p := range s.processes() {
		if of := (usage{cpu: cpuOf(p.pid), peak: peakOf(p.pid)}); of != (usage{}) {
			all[p] = of
		}
	}
	return all
}

// forgetPeaks resets the peaks to the current usage.
func (s *system) forgetPeaks() {
	for _, p := range s.processes() {
		_ = os.WriteFile(proc(p.pid, "clear_refs"), []byte("5"), 0) // otherwise the peaks are those since the start of the process
	}
}

// A process is a process of a component.
type process struct {
	role string
	pid  int
}

// processes returns the processes of a bench, including the control plane and the bench itself.
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

// parseStat returns the user and system time in /proc/PID/stat. The second field is a name in brackets that
// may contain any character.
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

// parsePeak returns the peak resident memory in /proc/PID/status, in bytes.
func parsePeak(text string) int64 {
	_, after, _ := strings.Cut(text, "VmHWM:")
	number, _, _ := strings.Cut(strings.TrimSpace(after), " ")
	kilobytes, _ := strconv.ParseInt(number, 10, 64)
	return kilobytes * 1024
}

// A meter accumulates requests and resource usage of components.
type meter struct {
	used  map[string]usage
	asked tally
	calls map[string]int // of the drivers, by RPC
}

// measured adds the requests and resource usage during do, and until the components are quiet, to m.
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
