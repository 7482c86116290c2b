package replicas

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
)

// TestUpgrade: a new manager runs on the first CRDs and the objects stored under them, and keeps running while the
// new CRDs are applied. Meanwhile no notification fails, and every run ends.
func TestUpgrade(t *testing.T) {
	tier.All(t, "it needs an API server of its own, and a load for seconds")
	t.Parallel()
	s := apiserver.Own(t, apiserver.Options{CRDs: olderCRDs(t)})
	tm := newTeam(t, s)
	trigger := tm.trigger("smoke")
	tm.get(trigger)
	stored := rawSuite(trigger, "stored")
	tm.create(stored)
	all := replicas(t, s, kubeconfigOf(t, s.Manager(t)), 2)
	tm.awaitState(stored.Name, v1alpha1.ReasonStarting)
	tm.awaitNotifiable(all)

	over := make(chan struct{})
	go func() {
		defer close(over)
		time.Sleep(time.Second)
		if _, err := s.Kubectl(t, "apply", "--server-side", "--force-conflicts", "-k", crds(t, "..")); err != nil {
			t.Error(err)
		}
		time.Sleep(around)
	}()
	c := tm.trickle(all, over)
	t.Logf("UPGRADE %s longest_hold=%s", c, c.percentile(1).Round(time.Millisecond))
	if sent := len(c.times); c.created != sent {
		t.Errorf("%s, want %d created; e.g. %s", c, sent, c.first)
	}
	a, err := notify(t.Context(), all[0].URL, tm.key, `{"branch":"main","sha":"newest"}`)
	if err != nil || len(a.Results) != 1 {
		t.Fatalf("%+v, %v, want a run", a, err)
	}
	newest := a.Results[0].Created
	for _, run := range tm.suites() {
		if run.Name == newest {
			continue
		}
		tm.awaitState(run.Name, v1alpha1.ReasonSuperseded)
		if tm.get(&run); run.Status.SupersededBy != newest && run.Status.CompletionTime == nil {
			t.Errorf("%s is superseded by %q, want %s", run.Name, run.Status.SupersededBy, newest)
		}
	}
	tm.awaitState(newest, v1alpha1.ReasonStarting)
}

// awaitNotifiable waits until every replica knows the team's key and its Trigger. What is created for that stays.
func (tm *team) awaitNotifiable(all []*replica) {
	tm.t.Helper()
	for _, r := range all {
		poll.True(tm.t, "the team is known", func() bool {
			a, err := notify(tm.t.Context(), r.URL, tm.key, `{"branch":"main","sha":"known"}`)
			return err == nil && a.Status == 200 && len(a.Results) == 1
		})
	}
}

func crds(t *testing.T, folder string) string {
	t.Helper()
	root, err := apiserver.Root()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, "config", "crd", "bases", folder)
}

// newFields are those that the specs did not have in the first CRDs.
var newFields = map[string][]string{
	"Suite":       {"supersede", "ttlAfterFinished"},
	"Trigger":     {"allowVariables", "supersede"},
	"Team":        {"maxSuites", "maxUnfinishedSuites"},
	"Environment": {"maxConcurrentSuites"},
}

// olderRules undoes how the rules of a Suite changed.
var olderRules = strings.NewReplacer(
	" && has(self.supersede) == has(oldSelf.supersede)", "",
	" && has(self.ttlAfterFinished) == has(oldSelf.ttlAfterFinished)", "",
)

// olderCRDs is a folder with the CRDs without the fields above, and with the former rule that supersededBy never
// changes.
func olderCRDs(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob(crds(t, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatal("there are no CRDs", err)
	}
	folder := t.TempDir()
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, filepath.Base(file)), older(t, content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func older(t *testing.T, content []byte) []byte {
	t.Helper()
	crd := &apiextensions.CustomResourceDefinition{}
	if err := yaml.Unmarshal(content, crd); err != nil {
		t.Fatal(err)
	}
	schema := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	spec := schema.Properties["spec"]
	for _, field := range newFields[crd.Spec.Names.Kind] {
		if _, ok := spec.Properties[field]; !ok {
			t.Fatalf("%s has no field %s", crd.Name, field)
		}
		delete(spec.Properties, field)
	}
	for i := range spec.XValidations {
		spec.XValidations[i].Rule = olderRules.Replace(spec.XValidations[i].Rule)
	}
	schema.Properties["spec"] = spec
	if by, ok := schema.Properties["status"].Properties["supersededBy"]; ok {
		by.XValidations = apiextensions.ValidationRules{{Rule: "self == oldSelf"}}
		schema.Properties["status"].Properties["supersededBy"] = by
	}
	changed, err := yaml.Marshal(crd)
	if err != nil {
		t.Fatal(err)
	}
	return changed
}
