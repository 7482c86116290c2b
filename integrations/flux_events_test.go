package integrations

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/deployment/event/flux"
)

const fluxEventsFile = "flux/events.yaml"

type fluxProvider struct {
	APIVersion, Kind string
	Metadata         struct{ Name, Namespace string }
	Spec             struct {
		Type, Address string
		SecretRef     struct{ Name string }
	}
}

type fluxAlert struct {
	APIVersion, Kind string
	Metadata         struct{ Name, Namespace string }
	Spec             struct {
		ProviderRef   struct{ Name string }
		EventSeverity string
		EventSources  []struct{ Kind, Name string }
		InclusionList []string
		EventMetadata map[string]string
	}
}

// TestFluxEvents: the Alert lets through the events that are a deployment, with metadata that is read, and no others.
func TestFluxEvents(t *testing.T) {
	documents := bytes.Split(read(t, fluxEventsFile), []byte("\n---\n"))
	if len(documents) != 2 {
		t.Fatalf("%d documents, want a Provider and an Alert", len(documents))
	}
	var provider fluxProvider
	var alert fluxAlert
	if err := yaml.UnmarshalStrict(documents[0], &provider); err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(documents[1], &alert); err != nil {
		t.Fatal(err)
	}
	if provider.Spec.Type != "generic-hmac" || !strings.HasSuffix(provider.Spec.Address, "/api/events/TEAM_NAMESPACE/flux") ||
		alert.Spec.ProviderRef.Name != provider.Metadata.Name || alert.Metadata.Namespace != provider.Metadata.Namespace {
		t.Errorf("got the provider %+v and the alert %+v", provider, alert)
	}
	payloads, err := filepath.Glob("../internal/core/deployment/event/flux/testdata/*.json")
	if err != nil || len(payloads) != 2 {
		t.Fatalf("%d payloads: %v", len(payloads), err)
	}
	for _, path := range payloads {
		e := delivered(t, path, alert)
		if e.Notification == nil || e.Notification.Repository != alert.Spec.EventMetadata["repository"] {
			t.Errorf("%s becomes %+v", path, e)
		}
	}
}

// delivered is an event as the notification-controller sends it for an Alert.
func delivered(t *testing.T, path string, alert fluxAlert) event.Event {
	t.Helper()
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var payload map[string]any
	if err := json.Unmarshal(body, &payload); err != nil {
		t.Fatal(err)
	}
	kind := payload["involvedObject"].(map[string]any)["kind"].(string)
	if !slices.ContainsFunc(alert.Spec.EventSources, func(s struct{ Kind, Name string }) bool { return s.Kind == kind && s.Name == "*" }) ||
		payload["severity"] != alert.Spec.EventSeverity {
		t.Errorf("the Alert has no events of a %s", kind)
	}
	included := func(pattern string) bool { return regexp.MustCompile(pattern).MatchString(payload["message"].(string)) }
	if !slices.ContainsFunc(alert.Spec.InclusionList, included) {
		t.Errorf("the Alert leaves out %q", payload["message"])
	}
	for key, value := range alert.Spec.EventMetadata {
		payload["metadata"].(map[string]any)[key] = value
	}
	if body, err = json.Marshal(payload); err != nil {
		t.Fatal(err)
	}
	e, err := flux.Decode(http.Header{}, body, event.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return e
}
