// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// idBytes is the number of bytes that an ID encodes.
const idBytes = 16

func runID(c *c) {
	id := c.id()
	if bytes, err := hex.DecodeString(id); err != nil || len(bytes) != idBytes {
		c.failf("the ID is %q, want 32 hexadecimal digits", id)
	}
	c.made(c.name("a"), "1")
	if again := c.id(); again != id {
		c.failf("the first call of GetStoreId returned %q, and a later call %q", id, again)
	}
}

func runMissing(c *c) {
	_, err := c.get(c.name("missing"))
	c.refused("GetEntry of a missing entry", err, codes.NotFound)
}

func runRoundTrip(c *c) {
	for suffix, data := range map[string]string{
		"short": "\x00", "binary": "\xff\xfe\x00\r\n\"{}", "long": strings.Repeat("\x00x\xff\n", cosi.MaxEntrySize/4),
	} {
		name := c.name(suffix)
		c.holds(name, data, c.made(name, data), "after its creation,")
	}
}

func runSimilar(c *c) {
	long := strings.Repeat("a", cosi.MaxIDLength-len(c.prefix)-1)
	want := map[string]string{}
	for _, suffix := range []string{"a", "A", "a.", "a/", "a_", "./a", "../a", "a b", "ä", "a\u0308", "a\n", "%61", long + "1", long + "2"} {
		name := c.name(suffix)
		want[name] = c.made(name, "of "+name)
	}
	for name, version := range want {
		c.holds(name, "of "+name, version, fmt.Sprintf("next to entries with similar names, for name %q,", name[len(c.prefix):min(len(name), len(c.prefix)+8)]))
	}
}

func runMadeOnce(c *c) {
	name := c.name("a")
	version := c.made(name, "first")
	_, err := c.put(name, "second", "")
	c.refused("PutEntry of an existing entry without a version", err, codes.Aborted)
	c.holds(name, "first", version, "after the rejected write,")
}

func runVersions(c *c) {
	name := c.name("a")
	seen, version := map[string]bool{}, ""
	for _, data := range []string{"first", "second", "first"} {
		next, err := c.put(name, data, version)
		c.must("PutEntry with the current version", err)
		if seen[next] {
			c.failf("PutEntry returned version %q a second time", next)
		}
		seen[next], version = true, next
		c.holds(name, data, version, "after a write,")
	}
}

func runStale(c *c) {
	name := c.name("a")
	first := c.made(name, "first")
	second, err := c.put(name, "second", first)
	c.must("PutEntry with the current version", err)
	for _, version := range []string{first, "0", "no-such-version"} {
		_, err = c.put(name, "third", version)
		c.refused("PutEntry with another version", err, codes.Aborted)
		c.holds(name, "second", second, "after the rejected write,")
	}
}

func runDeletedVersion(c *c) {
	name := c.name("a")
	version := c.made(name, "first")
	c.must("DeleteEntry", c.remove(name))
	_, err := c.put(name, "second", version)
	c.refused("PutEntry with the version of a deleted entry", err, codes.Aborted)
	_, err = c.get(name)
	c.refused("GetEntry after the rejected write", err, codes.NotFound)
	c.made(name, "third")
	_, err = c.put(name, "fourth", version)
	c.refused("PutEntry with the version of an entry that was deleted and created again", err, codes.Aborted)
}

func runRace(c *c) {
	const writers = 16
	name := c.name("a")
	versions, failures := make([]string, writers), make([]error, writers)
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() { versions[i], failures[i] = c.put(name, strconv.Itoa(i), "") })
	}
	group.Wait()
	made := 0
	for i, err := range failures {
		switch status.Code(err) {
		case codes.OK:
			made++
			c.holds(name, strconv.Itoa(i), versions[i], "after concurrent writes,")
		case codes.Aborted:
		default:
			c.refused("PutEntry concurrently with other writers", err, codes.Aborted)
		}
	}
	if made != 1 {
		c.failf("%d of %d concurrent writers created the entry, want 1", made, writers)
	}
}

func runDelete(c *c) {
	name, other := c.name("a"), c.name("b")
	c.must("DeleteEntry of a missing entry", c.remove(name))
	kept := c.made(other, "kept")
	first := c.made(name, "first")
	_, err := c.put(name, "second", first)
	c.must("PutEntry with the current version", err)
	c.must("DeleteEntry", c.remove(name))
	_, err = c.get(name)
	c.refused("GetEntry after DeleteEntry", err, codes.NotFound)
	c.must("DeleteEntry of a deleted entry", c.remove(name))
	c.made(name, "again")
	c.holds(other, "kept", kept, "after the deletion of another entry,")
}

func runRequired(c *c) {
	_, err := c.get("")
	c.refused("GetEntry without a name", err, codes.InvalidArgument)
	_, err = c.put("", "data", "")
	c.refused("PutEntry without a name", err, codes.InvalidArgument)
	c.refused("DeleteEntry without a name", c.remove(""), codes.InvalidArgument)
	_, err = c.put(c.name("a"), "", "")
	c.refused("PutEntry without data", err, codes.InvalidArgument)
}

func runSizes(c *c) {
	long := c.name(strings.Repeat("a", cosi.MaxIDLength-len(c.prefix)+1))
	_, err := c.get(long)
	c.refused("GetEntry with a name of 2049 bytes", err, codes.InvalidArgument)
	_, err = c.put(long, "data", "")
	c.refused("PutEntry with a name of 2049 bytes", err, codes.InvalidArgument)
	c.refused("DeleteEntry with a name of 2049 bytes", c.remove(long), codes.InvalidArgument)
	_, err = c.put(c.name("a"), strings.Repeat("x", cosi.MaxEntrySize+1), "")
	c.refused("PutEntry of 512 KiB and one byte", err, codes.InvalidArgument)
}
