package session

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/postflight-dev/postflight/hack/dev/internal/layout"
)

type object = map[string]any

// inFolder is a session of this checkout with its state in a folder below parent.
func inFolder(t *testing.T, parent, folder string, plan layout.Plan) *Session {
	t.Helper()
	root, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	s := &Session{layout: layout.Layout{Root: root, Dir: filepath.Join(parent, folder)}, plan: plan, options: Options{Node: true}}
	if err := os.MkdirAll(s.pki(""), 0o755); err != nil {
		t.Fatal(err)
	}
	return s
}

// addHubBeside makes the folder of a hub as a start leaves it.
func addHubBeside(t *testing.T, s *Session, plan layout.Plan) {
	t.Helper()
	hub := inFolder(t, filepath.Dir(s.layout.Dir), ".dev", plan)
	if err := os.WriteFile(hub.pki("ca.crt"), []byte("-----CA-----\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := hub.layout.SavePlan(plan); err != nil {
		t.Fatal(err)
	}
}

// render returns the objects of an overlay by kind and name.
func render(t *testing.T, s *Session, o overlay) map[string]object {
	t.Helper()
	kubectl := s.layout.Bin("cluster", "kubectl")
	if _, err := os.Stat(kubectl); err != nil {
		t.Skip("`make assets` builds kubectl, which renders manifests")
	}
	dir := s.layout.Path("overlay")
	if err := s.writeOverlay(dir, o); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(kubectl, "kustomize", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	objects := map[string]object{}
	for document := range bytes.SplitSeq(out, []byte("\n---\n")) {
		var one object
		if err := yaml.Unmarshal(document, &one); err != nil {
			t.Fatal(err)
		}
		objects[one["kind"].(string)+" "+one["metadata"].(object)["name"].(string)] = one
	}
	return objects
}

// TestSamplesOfANamedCluster: its Environments have names that no Environment of its hub has, and everything that names them follows.
func TestSamplesOfANamedCluster(t *testing.T) {
	parent, plan := t.TempDir(), layout.Plan{PortBase: 8800, Subnet: 91}
	samples := func(folder string) map[string]object {
		s := inFolder(t, parent, folder, plan)
		o, err := s.samples()
		if err != nil {
			t.Fatal(err)
		}
		return render(t, s, o)
	}
	hub, two := samples(".dev"), samples(".dev-two")
	var names []string
	for key := range hub {
		if name, found := strings.CutPrefix(key, "Environment "); found {
			names = append(names, name)
			key += "-two"
		}
		if two[key] == nil {
			t.Errorf("the named cluster lacks %s", key)
		}
	}
	if !slices.Contains(names, "staging") {
		t.Errorf("the samples have the Environments %v; the documentation names staging", names)
	}
	references := 0
	for key, one := range two {
		for _, name := range environmentsIn(one["spec"]) {
			references++
			if slices.Contains(names, name) {
				t.Errorf("%s names %s, which is an Environment of the hub", key, name)
			}
		}
	}
	if references < 2*len(names) {
		t.Errorf("only %d references to Environments were found", references)
	}
	spec := two["TrustPolicy hub"]["spec"].(object)
	content, _ := json.Marshal(spec)
	want := `{"allow":{"act":true,"notify":{"environments":["staging-two"]},"read":true,"upload":true},"audiences":["http://127.0.0.1:8800"],` +
		`"claims":{"sub":["system:serviceaccount:postflight-system:postflight-manager"]},"issuer":"` + layout.HubIssuer + `"}`
	if string(content) != want || hub["TrustPolicy hub"] != nil {
		t.Errorf("the hub is trusted by\n%s, want\n%s\nand the hub has %v", content, want, hub["TrustPolicy hub"])
	}
}

// environmentsIn collects the names of Environments in a spec. Claims of tokens are names of others.
func environmentsIn(value any) (names []string) {
	switch value := value.(type) {
	case object:
		for key, inner := range value {
			switch key {
			case "claims":
			case "environment", "environments":
				names = append(names, textsOf(inner)...)
			default:
				names = append(names, environmentsIn(inner)...)
			}
		}
	case []any:
		for _, inner := range value {
			names = append(names, environmentsIn(inner)...)
		}
	}
	return names
}

// textsOf returns a string, or the strings of a list.
func textsOf(value any) (texts []string) {
	switch value := value.(type) {
	case string:
		texts = append(texts, value)
	case []any:
		for _, inner := range value {
			texts = append(texts, textsOf(inner)...)
		}
	}
	return texts
}

func TestIssuers(t *testing.T) {
	s := inFolder(t, t.TempDir(), ".dev-two", layout.Plan{PortBase: 8800, Subnet: 91})
	if got, err := s.issuers(hubOnLoopback); got != nil || err != nil {
		t.Errorf("without a hub: %s, %v", got, err)
	}
	addHubBeside(t, s, layout.Plan{PortBase: 8780, Subnet: 90})
	cases := map[string]struct {
		reason  string
		address func(layout.Plan) string
		keys    string
	}{
		"a process": {reason: "it is on this machine", address: hubOnLoopback, keys: "https://127.0.0.1:8784/openid/v1/jwks"},
		"a pod":     {reason: "loopback is its own", address: hubOnBridge, keys: "https://10.90.0.1:8784/openid/v1/jwks"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			content, err := s.issuers(tc.address)
			if err != nil {
				t.Fatal(err)
			}
			var got struct{ Issuers []object }
			if err := json.Unmarshal(content, &got); err != nil || len(got.Issuers) != 1 {
				t.Fatalf("%s: %v", content, err)
			}
			one := got.Issuers[0]
			if one["url"] != layout.HubIssuer || one["jwksURL"] != tc.keys || one["ca"] != "-----CA-----\n" ||
				!slices.Equal(one["audiences"].([]any), []any{"http://127.0.0.1:8800"}) {
				t.Errorf("%s: %s", tc.reason, content)
			}
		})
	}
}

// TestDeployedManagerTrustsTheHub: a manager in pods has the same list of issuers, and restarts when that changes.
func TestDeployedManagerTrustsTheHub(t *testing.T) {
	s := inFolder(t, t.TempDir(), ".dev-two", layout.Plan{PortBase: 8800, Subnet: 91})
	if err := WriteMode(s.layout, ModePod); err != nil {
		t.Fatal(err)
	}
	template := func() string {
		o, err := s.managerOverlay()
		if err != nil {
			t.Fatal(err)
		}
		objects := render(t, s, o)
		content, _ := json.Marshal(objects["Deployment "+managerName]["spec"].(object)["template"])
		if strings.Contains(string(content), issuersName) != (objects["ConfigMap "+issuersName] != nil) {
			t.Errorf("the pods and the objects differ in the ConfigMap %s", issuersName)
		}
		return string(content)
	}
	if alone := template(); strings.Contains(alone, "token-issuers") {
		t.Errorf("there is no hub: %s", alone)
	}
	addHubBeside(t, s, layout.Plan{PortBase: 8780, Subnet: 90})
	before := template()
	for _, part := range []string{`"--token-issuers=/etc/postflight-dev/issuers.yaml"`, `"mountPath":"/etc/postflight-dev"`} {
		if !strings.Contains(before, part) {
			t.Errorf("the pods lack %s: %s", part, before)
		}
	}
	addHubBeside(t, s, layout.Plan{PortBase: 8840, Subnet: 90})
	if template() == before {
		t.Error("the hub has moved, and the pods stay")
	}
}
