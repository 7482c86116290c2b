package main

import (
	"bytes"
	"cmp"
	"debug/buildinfo"
	"maps"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/package-url/packageurl-go"
	"github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"
	"github.com/spdx/tools-golang/spdx/v2/common"
)

// unknown is what SPDX writes where a statement is missing.
const unknown = "NOASSERTION"

// sbom lists what is in an image: its programs, and the modules that Go recorded in them.
func (r release) sbom(p platformImage) ([]byte, error) {
	root := &spdx.Package{
		PackageName: r.Image, PackageSPDXIdentifier: "Image", PackageVersion: r.Version,
		PackageDownloadLocation: unknown, PrimaryPackagePurpose: "CONTAINER",
		PackageChecksums:          []common.Checksum{{Algorithm: common.SHA256, Value: p.descriptor.Digest.Hex}},
		PackageExternalReferences: reference(packageurl.TypeOCI, "", filepath.Base(r.Image), p.descriptor.Digest.String()),
	}
	document := r.document(p)
	document.Packages = append(document.Packages, root)
	document.relate("DOCUMENT", common.TypeRelationshipDescribe, root)
	modules := map[string]*spdx.Package{}
	for _, path := range p.binaries {
		if err := r.addProgram(document, root, modules, path); err != nil {
			return nil, err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(modules)) {
		document.Packages = append(document.Packages, modules[key])
	}
	var b bytes.Buffer
	err := json.Write(document.Document, &b, json.Indent("  "))
	return b.Bytes(), err
}

type sbomDocument struct{ *spdx.Document }

func (r release) document(p platformImage) sbomDocument {
	name := strings.TrimSuffix(r.sbomName(p.architecture), ".spdx.json")
	return sbomDocument{&spdx.Document{
		SPDXVersion: spdx.Version, DataLicense: spdx.DataLicense, SPDXIdentifier: "DOCUMENT", DocumentName: name,
		DocumentNamespace: repository + "/spdx/" + name + "/" + p.descriptor.Digest.Hex, // unique, as it has to be
		CreationInfo: &spdx.CreationInfo{
			Created:  r.Source.Date.Format(time.RFC3339),
			Creators: []common.Creator{{CreatorType: "Tool", Creator: "postflight-release"}},
		},
	}}
}

func (d sbomDocument) relate(from common.ElementID, relationship string, to *spdx.Package) {
	d.Relationships = append(d.Relationships, &spdx.Relationship{
		RefA: common.MakeDocElementID("", string(from)), RefB: common.MakeDocElementID("", string(to.PackageSPDXIdentifier)),
		Relationship: relationship,
	})
}

func (r release) addProgram(d sbomDocument, root *spdx.Package, modules map[string]*spdx.Package, path string) error {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return err
	}
	sum, err := sha256File(path)
	if err != nil {
		return err
	}
	name := filepath.Base(path)
	program := &spdx.Package{
		PackageName: name, PackageSPDXIdentifier: identifier("Program", name), PackageVersion: r.Version, PackageFileName: name,
		PackageDownloadLocation: unknown, PrimaryPackagePurpose: "APPLICATION", PackageLicenseDeclared: "Apache-2.0",
		PackageChecksums:          []common.Checksum{{Algorithm: common.SHA256, Value: sum}},
		PackageExternalReferences: golang(info.Main.Path, r.Version),
	}
	d.Packages = append(d.Packages, program)
	d.relate(root.PackageSPDXIdentifier, common.TypeRelationshipContains, program)
	for _, m := range append(info.Deps, &debug.Module{Path: "stdlib", Version: strings.TrimPrefix(info.GoVersion, "go")}) {
		m = cmp.Or(m.Replace, m)
		key := m.Path + "@" + m.Version
		if modules[key] == nil {
			modules[key] = modulePackage(m)
		}
		d.relate(program.PackageSPDXIdentifier, common.TypeRelationshipDependsOn, modules[key])
	}
	return nil
}

func modulePackage(m *debug.Module) *spdx.Package {
	return &spdx.Package{
		PackageName: m.Path, PackageSPDXIdentifier: identifier("Module", m.Path+"-"+m.Version), PackageVersion: m.Version,
		PackageDownloadLocation: unknown, PrimaryPackagePurpose: "LIBRARY", PackageComment: m.Sum,
		PackageExternalReferences: golang(m.Path, m.Version),
	}
}

var noIdentifier = regexp.MustCompile(`[^A-Za-z0-9.-]`)

func identifier(kind, name string) common.ElementID {
	return common.ElementID(kind + "-" + noIdentifier.ReplaceAllString(name, "-"))
}

// golang refers to a module as scanners of vulnerabilities know it.
func golang(path, version string) []*spdx.PackageExternalReference {
	i := strings.LastIndex(path, "/")
	return reference(packageurl.TypeGolang, path[:max(i, 0)], path[i+1:], version)
}

func reference(kind, namespace, name, version string) []*spdx.PackageExternalReference {
	return []*spdx.PackageExternalReference{{
		Category: common.CategoryPackageManager, RefType: "purl",
		Locator: packageurl.NewPackageURL(kind, namespace, name, version, nil, "").ToString(),
	}}
}
