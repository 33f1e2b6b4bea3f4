// SPDX-License-Identifier: Apache-2.0

package strictyaml

import "strings"

// Nearest returns the known name that is most similar to name, if name is likely a misspelling of it. Two names are
// similar if they differ only in case or in a few letters, or if one of them contains the other.
func Nearest(name string, known []string) (string, bool) {
	best, least := "", len(name)/4+2
	for _, candidate := range known {
		if far := distance(strings.ToLower(name), strings.ToLower(candidate)); far < least {
			best, least = candidate, far
		}
	}
	if best != "" {
		return best, true
	}
	for _, candidate := range known {
		long, short := strings.ToLower(name), strings.ToLower(candidate)
		if len(long) < len(short) {
			long, short = short, long
		}
		if len(short) >= 3 && strings.Contains(long, short) {
			return candidate, true
		}
	}
	return "", false
}

// distance returns the number of insertions, deletions, replacements and swaps of adjacent letters that turn a into b.
func distance(a, b string) int {
	above, row := []int(nil), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next := make([]int, len(b)+1)
		next[0] = i
		for j := 1; j <= len(b); j++ {
			next[j] = min(row[j]+1, next[j-1]+1, row[j-1]+different(a[i-1], b[j-1]))
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], above[j-2]+1)
			}
		}
		above, row = row, next
	}
	return row[len(b)]
}

func different(a, b byte) int {
	if a == b {
		return 0
	}
	return 1
}
