package announce

import (
	"strings"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/origin"
	"github.com/postflight-dev/postflight/internal/core/state"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// The version of CDEvents, and that of its testSuiteRun.
const (
	cdeventsVersion     = "0.5.1"
	testSuiteRunVersion = "0.3.0"
)

// cdevent is the data of a CloudEvent whose attributes repeat its context.
type cdevent struct {
	Context               cdContext `json:"context"`
	Subject               cdSubject `json:"subject"`
	CustomData            any       `json:"customData"`
	CustomDataContentType string    `json:"customDataContentType"`
}

type cdContext struct {
	SpecVersion string    `json:"specversion"`
	ID          string    `json:"id"`
	ChainID     string    `json:"chainId"`
	Source      string    `json:"source"`
	Type        string    `json:"type"`
	Timestamp   time.Time `json:"timestamp"`
	Links       []cdPath  `json:"links,omitempty"`
}

// cdPath links an event to the one before.
type cdPath struct {
	Type string `json:"linkType"`
	From struct {
		ID string `json:"contextId"`
	} `json:"from"`
}

type cdSubject struct {
	ID      string       `json:"id"`
	Source  string       `json:"source"`
	Content testSuiteRun `json:"content"`
}

type testSuiteRun struct {
	Environment cdReference    `json:"environment"`
	TestSuite   cdReference    `json:"testSuite"`
	Trigger     *cdTriggerKind `json:"trigger,omitempty"`
	Outcome     string         `json:"outcome,omitempty"`
	Reason      string         `json:"reason,omitempty"`
}

// cdReference names something; a testSuite has a name, and an environment a source.
type cdReference struct {
	ID     string `json:"id"`
	Name   string `json:"name,omitempty"`
	Source string `json:"source,omitempty"`
}

type cdTriggerKind struct {
	Type string `json:"type"`
}

// cdEvent is the same event as a CDEvent, with the former data as its custom data. The mode is structured for this format too: in binary
// mode, the signature would not cover the attributes, which are headers.
func cdEvent(sent structured, s *v1alpha1.Suite, e Event) structured {
	outcome := state.Of(string(e.Name)).CDEvent
	finished, predicate := outcome != "", strings.ToLower(string(e.Name))
	if finished {
		predicate = "finished"
	}
	sent.Type = "dev.cdevents.testsuiterun." + predicate + "." + testSuiteRunVersion
	run := testSuiteRun{
		Environment: cdReference{ID: s.Spec.Environment, Source: sent.Source},
		TestSuite:   cdReference{ID: s.Spec.Trigger.Name, Name: s.Spec.Trigger.Name}, Outcome: outcome,
	}
	if finished {
		run.Reason = plaintext.Line(s.Succeeded().Message, maxText)
	} else {
		run.Trigger = &cdTriggerKind{Type: origin.Of(s.Origin()).CDEvent}
	}
	sent.Data = cdevent{
		Context: cdContext{
			SpecVersion: cdeventsVersion, ID: sent.ID, ChainID: string(s.UID), Source: sent.Source, Type: sent.Type, Timestamp: sent.Time,
			Links: linksTo(s, e),
		},
		Subject:    cdSubject{ID: sent.Subject, Source: sent.Source, Content: run},
		CustomData: sent.Data, CustomDataContentType: sent.DataContentType,
	}
	return sent
}

// linksTo links an event to the one before in the life of the run. A receiver may not have got that one.
func linksTo(s *v1alpha1.Suite, e Event) []cdPath {
	path := cdPath{Type: "PATH"}
	for _, before := range Events(s) {
		if rank(before.Name) < rank(e.Name) {
			path.From.ID = before.ID(s.UID)
		}
	}
	if path.From.ID == "" {
		return nil
	}
	return []cdPath{path}
}
