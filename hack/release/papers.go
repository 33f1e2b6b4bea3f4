// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
)

// sumsFile is in the format of sha256sum. Signing it covers all files.
const sumsFile = "SHA256SUMS"

// sum returns the SHA-256 of a file in the release.
func (r *release) sum(name string) (string, error) { return sumIn(r.files, name) }

// sumIn returns the SHA-256 of a file in a directory.
func sumIn(directory, name string) (string, error) {
	file, err := os.Open(filepath.Join(directory, name))
	if err != nil {
		return "", err
	}
	defer file.Close()
	hash := sha256.New()
	_, err = io.Copy(hash, file)
	return hex.EncodeToString(hash.Sum(nil)), err
}

// sums returns the SHA-256 of all existing files.
func (r *release) sums() (map[string]string, error) {
	entries, err := os.ReadDir(r.files)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, entry := range entries {
		if all[entry.Name()], err = r.sum(entry.Name()); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (r *release) writeSums(context.Context) error {
	sums, err := r.sums()
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		fmt.Fprintf(&text, "%s  %s\n", sums[name], name)
	}
	return r.write(sumsFile, text.String())
}

// readSums reads the sums of a release by file name.
func readSums(directory string) (map[string]string, error) {
	file, err := os.Open(filepath.Join(directory, sumsFile))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	sums := map[string]string{}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		sum, name, _ := strings.Cut(lines.Text(), "  ")
		sums[name] = sum
	}
	return sums, lines.Err()
}

func (r *release) writeJSON(name string, document any) error {
	text, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return err
	}
	return r.write(name, string(text)+"\n")
}

// A bill is a document of SPDX 2.3.
type bill struct {
	Version       string         `json:"spdxVersion"`
	License       string         `json:"dataLicense"`
	ID            string         `json:"SPDXID"`
	Name          string         `json:"name"`
	Namespace     string         `json:"documentNamespace"`
	Creation      creation       `json:"creationInfo"`
	Packages      []component    `json:"packages"`
	Relationships []relationship `json:"relationships"`
}

type creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

// A component is what SPDX calls a package: a file of the release, or a module in it.
type component struct {
	ID         string      `json:"SPDXID"`
	Name       string      `json:"name"`
	Version    string      `json:"versionInfo"`
	File       string      `json:"packageFileName,omitempty"`
	Location   string      `json:"downloadLocation"`
	Analyzed   bool        `json:"filesAnalyzed"`
	Concluded  string      `json:"licenseConcluded"`
	Declared   string      `json:"licenseDeclared"`
	Copyright  string      `json:"copyrightText"`
	Checksums  []checksum  `json:"checksums,omitempty"`
	References []reference `json:"externalRefs,omitempty"`
}

type checksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type reference struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	From string `json:"spdxElementId"`
	Type string `json:"relationshipType"`
	To   string `json:"relatedSpdxElement"`
}

const (
	theBill     = "SPDXRef-DOCUMENT"
	noAssertion = "NOASSERTION"
)

func newBill(r *release) *bill {
	return &bill{
		Version: "SPDX-2.3", License: "CC0-1.0", ID: theBill, Name: "cooper-" + r.version,
		Namespace: website + "/releases/" + r.version + "/" + r.source.commit,
		Creation:  creation{Created: r.source.time.UTC().Format("2006-01-02T15:04:05Z"), Creators: []string{"Organization: Cooper", "Tool: hack/release-" + r.version}},
	}
}

func (b *bill) relate(from, how, to string) {
	b.Relationships = append(b.Relationships, relationship{from, how, to})
}

// writeBill writes the SBOM: the modules of each file, as recorded by Go in each program.
func (r *release) writeBill(context.Context) error {
	b, seen := newBill(r), map[string]bool{}
	for _, p := range r.programs {
		if err := b.add(r, p.file, p.file); err != nil {
			return err
		}
		modules := append([]*debug.Module{{Path: "stdlib", Version: strings.TrimPrefix(p.info.GoVersion, "go")}}, p.info.Deps...)
		for _, m := range modules {
			if m.Replace != nil {
				m = m.Replace
			}
			id := identifier("Module-" + m.Path + "-" + m.Version)
			if !seen[id] {
				b.Packages = append(b.Packages, module(id, m))
			}
			seen[id] = true
			b.relate(identifier(p.file), "DEPENDS_ON", id)
		}
	}
	for _, name := range r.images {
		file := r.imageFile(name)
		if err := b.add(r, file, name); err != nil {
			return err
		}
		for _, p := range r.programs {
			if p.name == name && strings.HasPrefix(p.platform, "linux/") {
				b.relate(identifier(file), "CONTAINS", identifier(p.file))
			}
		}
	}
	for _, archive := range slices.Sorted(maps.Keys(r.archives)) {
		if err := b.add(r, archive, plugin); err != nil {
			return err
		}
		b.relate(identifier(archive), "CONTAINS", identifier(r.archives[archive]))
	}
	return r.writeJSON("cooper-"+r.version+".spdx.json", b)
}

// add adds a file of the release.
func (b *bill) add(r *release, file, name string) error {
	sum, err := r.sum(file)
	b.Packages = append(b.Packages, component{
		ID: identifier(file), Name: name, Version: r.version, File: file, Location: "git+" + website + "@" + r.source.commit,
		Concluded: noAssertion, Declared: "Apache-2.0", Copyright: noAssertion, Checksums: []checksum{{"SHA256", sum}},
	})
	b.relate(theBill, "DESCRIBES", identifier(file))
	return err
}

func module(id string, m *debug.Module) component {
	return component{
		ID: id, Name: m.Path, Version: m.Version, Location: noAssertion, Concluded: noAssertion, Declared: noAssertion, Copyright: noAssertion,
		References: []reference{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + m.Path + "@" + url.QueryEscape(m.Version)}},
	}
}

// identifier converts a name to an SPDX identifier. Each invalid character becomes two hyphens and its number.
func identifier(name string) string {
	var id strings.Builder
	for _, c := range name {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '-' {
			id.WriteRune(c)
		} else {
			fmt.Fprintf(&id, "--%d", c)
		}
	}
	return "SPDXRef-" + id.String()
}

// writeProvenance writes how the files were built: an in-toto statement with the SLSA predicate. It contains
// neither a time nor a machine, so it is reproducible.
func (r *release) writeProvenance(context.Context) error {
	sums, err := r.sums()
	if err != nil {
		return err
	}
	type object = map[string]any
	var subjects []object
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		subjects = append(subjects, object{"name": name, "digest": object{"sha256": sums[name]}})
	}
	how := website + "/blob/" + r.version + "/docs/howto/release.md"
	return r.writeJSON("cooper-"+r.version+".provenance.json", object{
		"_type": "https://in-toto.io/Statement/v1", "subject": subjects, "predicateType": "https://slsa.dev/provenance/v1",
		"predicate": object{
			"buildDefinition": object{
				"buildType":          how,
				"externalParameters": object{"version": r.version, "platforms": r.platforms},
				"internalParameters": object{"go": r.programs[0].info.GoVersion},
				"resolvedDependencies": []object{
					{"uri": "git+" + website + "@refs/tags/" + r.version, "digest": object{"gitCommit": r.source.commit}},
				},
			},
			"runDetails": object{"builder": object{"id": how + "#who-makes-it"}},
		},
	})
}
