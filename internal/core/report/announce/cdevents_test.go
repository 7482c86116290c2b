package announce_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/report/announce"
)

// published returns the schema of CDEvents for each predicate of a testSuiteRun.
func published(t *testing.T) map[string]*jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	ids := map[string]string{}
	for _, pattern := range []string{"*.json", "links/*.json"} {
		files, err := filepath.Glob(filepath.Join("testdata", "cdevents", pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			id := schema.(map[string]any)["$id"].(string)
			if err := c.AddResource(id, schema); err != nil {
				t.Fatal(err)
			}
			ids[strings.TrimSuffix(strings.TrimPrefix(path.Base(id), "testsuiterun-"), "-event")] = id
		}
	}
	all := map[string]*jsonschema.Schema{}
	for _, predicate := range []string{"queued", "started", "finished"} {
		schema, err := c.Compile(ids[predicate])
		if err != nil {
			t.Fatal(err)
		}
		all[predicate] = schema
	}
	return all
}

func valid(t *testing.T, schema *jsonschema.Schema, data any) {
	t.Helper()
	text, _ := json.Marshal(data)
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(instance); err != nil {
		t.Errorf("%s\nis not as CDEvents has it: %v", text, err)
	}
}

func cdWebhook() announce.Receiver {
	w := aWebhook("a")
	w.Format = v1alpha1.FormatCDEvents
	return announce.Receivers(aTeam(w), nil)[0]
}

// aRealUID is a UUID, as the API server makes them; a chainId of CDEvents is one.
const aRealUID = "4c9e8a52-6f0e-4d36-9a51-3a4a1f6a0c5e"

// TestCDEvents: the events of a run are those of CDEvents, in a CloudEvent that repeats their context, with the run as custom data.
func TestCDEvents(t *testing.T) {
	schemas := published(t)
	s := aRun("Failed", withResults, func(s *v1alpha1.Suite) { s.UID = aRealUID })
	plain := announce.Receivers(aTeam(aWebhook("a")), nil)[0]
	path := func(event string) []any {
		return []any{map[string]any{"linkType": "PATH", "from": map[string]any{"contextId": aRealUID + "-" + event}}}
	}
	environment := map[string]any{"id": "staging", "source": "/postflight/acme"}
	suite, trigger := map[string]any{"id": "smoke", "name": "smoke"}, map[string]any{"type": "event"}
	for i, tc := range []struct {
		event, predicate string
		links            []any
		content          map[string]any
	}{
		{"queued", "queued", nil, map[string]any{"environment": environment, "testSuite": suite, "trigger": trigger}},
		{"started", "started", path("queued"), map[string]any{"environment": environment, "testSuite": suite, "trigger": trigger}},
		{"failed", "finished", path("started"), map[string]any{
			"environment": environment, "testSuite": suite, "outcome": "failure", "reason": "The message of Failed.",
		}},
	} {
		t.Run(tc.event, func(t *testing.T) {
			e := announce.Events(s)[i]
			m, got := composed(t, cdWebhook(), s, e)
			_, run := composed(t, plain, s, e)
			valid(t, schemas[tc.predicate], got["data"])
			id, kind := aRealUID+"-"+tc.event, "dev.cdevents.testsuiterun."+tc.predicate+".0.3.0"
			context := map[string]any{
				"specversion": "0.5.1", "id": id, "chainId": aRealUID, "source": "/postflight/acme", "type": kind, "timestamp": run["time"],
			}
			if tc.links != nil {
				context["links"] = tc.links
			}
			want := map[string]any{
				"specversion": "1.0", "id": id, "source": "/postflight/acme", "type": kind, "subject": "smoke-1", "time": run["time"],
				"datacontenttype": "application/json", "data": map[string]any{
					"context": context, "subject": map[string]any{"id": "smoke-1", "source": "/postflight/acme", "content": tc.content},
					"customData": run["data"], "customDataContentType": "application/json",
				},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if m.ContentType != "application/cloudevents+json; charset=utf-8" || m.ID != id {
				t.Errorf("got %s %s", m.ContentType, m.ID)
			}
		})
	}
}

// TestCDEventsOutcomes: each end is one of the four outcomes, and what people read is one line.
func TestCDEventsOutcomes(t *testing.T) {
	schemas := published(t)
	want := map[string]string{
		v1alpha1.ReasonPassed: "success", v1alpha1.ReasonFailed: "failure", v1alpha1.ReasonTimedOut: "failure",
		v1alpha1.ReasonInconclusive: "error", v1alpha1.ReasonError: "error",
		v1alpha1.ReasonCanceled: "cancel", v1alpha1.ReasonSuperseded: "cancel",
	}
	reasons := map[string]string{"plain": "It ended.", "hostile": "\x1b[31m\u202e<!channel>\n\"}" + strings.Repeat("é", 5000), "none": ""}
	for end, outcome := range want {
		for name, evil := range reasons {
			s := aRun(end, func(s *v1alpha1.Suite) {
				s.UID, s.Status.StartTime, s.Spec.Deployment.Branch = aRealUID, nil, evil
				s.Status.Conditions[0].Message = evil
			})
			all := announce.Events(s)
			_, body := composed(t, cdWebhook(), s, all[len(all)-1])
			valid(t, schemas["finished"], body["data"])
			data := body["data"].(map[string]any)
			content := data["subject"].(map[string]any)["content"].(map[string]any)
			reason, _ := content["reason"].(string)
			if content["outcome"] != outcome || len(reason) > 512 || strings.ContainsAny(reason, "\x1b\u202e\n") ||
				(reason == "") != (evil == "") {
				t.Errorf("%s, %s: got %v", end, name, content)
			}
			links, _ := json.Marshal(data["context"].(map[string]any)["links"])
			if !strings.Contains(string(links), aRealUID+"-queued") {
				t.Errorf("%s: the end of a run that never started links to %s", end, links)
			}
		}
	}
}

func TestCDEventsOfASchedule(t *testing.T) {
	s := aRun("Queued", func(s *v1alpha1.Suite) {
		s.UID, s.Annotations = aRealUID, map[string]string{v1alpha1.AnnotationScheduledFor: "2026-11-20T12:00:00Z"}
	})
	_, body := composed(t, cdWebhook(), s, announce.Events(s)[0])
	valid(t, published(t)["queued"], body["data"])
	content := body["data"].(map[string]any)["subject"].(map[string]any)["content"].(map[string]any)
	if diff := cmp.Diff(map[string]any{"type": "schedule"}, content["trigger"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPublishedSchemasRefuse: the validator of these tests finds what is wrong.
func TestPublishedSchemasRefuse(t *testing.T) {
	schemas := published(t)
	s := aRun("Failed", func(s *v1alpha1.Suite) { s.UID = aRealUID })
	for name, change := range map[string]func(data, context, content map[string]any){
		"another outcome":    func(_, _, content map[string]any) { content["outcome"] = "fail" },
		"no environment":     func(_, _, content map[string]any) { delete(content, "environment") },
		"an unknown field":   func(data, _, _ map[string]any) { data["run"] = "smoke-1" },
		"another type":       func(_, context, _ map[string]any) { context["type"] = "dev.cdevents.testsuiterun.finished.0.2.0" },
		"a time of no zone":  func(_, context, _ map[string]any) { context["timestamp"] = "2026-11-20 12:02:00" },
		"a link to nothing":  func(_, context, _ map[string]any) { context["links"] = []any{map[string]any{"linkType": "PATH"}} },
		"a source of spaces": func(_, _, content map[string]any) { content["environment"].(map[string]any)["source"] = "a b%zz" },
	} {
		_, body := composed(t, cdWebhook(), s, announce.Events(s)[2])
		data := body["data"].(map[string]any)
		change(data, data["context"].(map[string]any), data["subject"].(map[string]any)["content"].(map[string]any))
		if err := schemas["finished"].Validate(any(data)); err == nil {
			t.Errorf("%s is valid", name)
		}
	}
}

// TestDocumentedCDEvent: the example in docs/webhooks.md is as CDEvents has it.
func TestDocumentedCDEvent(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "webhooks.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(page), "## CDEvents\n")
	_, after, _ = strings.Cut(after, "```json\n")
	text, _, found := strings.Cut(after, "```")
	var data any
	if err := json.Unmarshal([]byte(text), &data); err != nil || !found {
		t.Fatalf("the example is not JSON: %v\n%s", err, text)
	}
	valid(t, published(t)["finished"], data)
}
