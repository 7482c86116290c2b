package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"

	slsa "github.com/in-toto/attestation/go/predicates/provenance/v1"
	intoto "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

const provenanceType = "https://slsa.dev/provenance/v1"

// provenance names commit, tools and parameters, but no times and no machine, so that a repeated build gives the same.
func (r release) provenance(images images) ([]byte, error) {
	subjects, err := r.subjects(images)
	if err != nil {
		return nil, err
	}
	predicate, err := r.predicate()
	if err != nil {
		return nil, err
	}
	statement := &intoto.Statement{
		Type: intoto.StatementTypeUri, Subject: subjects, PredicateType: provenanceType, Predicate: &structpb.Struct{},
	}
	if err := protojson.Unmarshal(predicate, statement.Predicate); err != nil {
		return nil, err
	}
	text, err := canonicalJSON(statement)
	return text, errors.Join(err, statement.Validate())
}

func (r release) predicate() ([]byte, error) {
	external, err := structpb.NewStruct(map[string]any{"version": r.Version, "image": r.Image})
	if err != nil {
		return nil, err
	}
	internal, err := structpb.NewStruct(map[string]any{"go": runtime.Version(), "ldflags": r.linkerFlags()})
	if err != nil {
		return nil, err
	}
	predicate := &slsa.Provenance{
		BuildDefinition: &slsa.BuildDefinition{
			BuildType:          repository + "/blob/" + r.Version + "/docs/operations/release.md",
			ExternalParameters: external,
			InternalParameters: internal,
			ResolvedDependencies: []*intoto.ResourceDescriptor{{
				Uri:    "git+" + repository + "@refs/tags/" + r.Version,
				Digest: map[string]string{"gitCommit": r.Source.Commit},
			}},
		},
		RunDetails: &slsa.RunDetails{Builder: &slsa.Builder{Id: repository + "/tree/" + r.Version + "/hack/release"}},
	}
	text, err := canonicalJSON(predicate)
	return text, errors.Join(err, predicate.Validate())
}

// canonicalJSON undoes the spaces that protojson varies from program to program.
func canonicalJSON(message proto.Message) ([]byte, error) {
	text, err := protojson.Marshal(message)
	if err != nil {
		return nil, err
	}
	var compact, indented bytes.Buffer
	err = errors.Join(json.Compact(&compact, text), json.Indent(&indented, compact.Bytes(), "", "  "))
	return indented.Bytes(), err
}

func (r release) subjects(images images) ([]*intoto.ResourceDescriptor, error) {
	subjects := []*intoto.ResourceDescriptor{subject(r.Image, images.digest.Hex)}
	for _, one := range images.platforms {
		subjects = append(subjects, subject(r.Image, one.descriptor.Digest.Hex))
	}
	entries, err := os.ReadDir(r.Output)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if entry.IsDir() {
			continue
		}
		sum, err := sha256File(filepath.Join(r.Output, entry.Name()))
		if err != nil {
			return nil, err
		}
		subjects = append(subjects, subject(entry.Name(), sum))
	}
	return subjects, nil
}

func subject(name, sha256 string) *intoto.ResourceDescriptor {
	return &intoto.ResourceDescriptor{Name: name, Digest: map[string]string{"sha256": sha256}}
}
