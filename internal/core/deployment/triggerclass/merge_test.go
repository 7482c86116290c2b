package triggerclass_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/triggerclass"
)

const class = `
timeout: 10m
startTimeout: 5m
retention: {ttlAfterFinished: 24h}
results: {require: Report, directory: /out}
variables: {LEVEL: info, REGION: eu}
allowVariables: [GREP, "E2E_*"]
jobTemplate:
  metadata: {labels: {cost-center: quality}}
  spec:
    backoffLimit: 2
    template:
      metadata: {annotations: {example.com/class: web}}
      spec:
        securityContext: {runAsNonRoot: true, runAsUser: 65532}
        imagePullSecrets: [{name: registry}]
        tolerations: [{key: tests, operator: Exists}]
        volumes: [{name: tmp, emptyDir: {}}]
        containers:
        - name: test
          image: registry.example.com/e2e:1
          args: [--retries, "1"]
          env: [{name: CI, value: "true"}, {name: WORKERS, value: "2"}]
          resources: {requests: {cpu: "1", memory: 1Gi}}
          volumeMounts: [{name: tmp, mountPath: /tmp}]
`

func TestMerge(t *testing.T) {
	for name, tc := range map[string]struct{ reason, trigger, want string }{
		"nothing": {"A Trigger may be only a class and where it runs.", `{}`, class},
		"scalars": {"The Trigger wins.", `{timeout: 1h, results: {require: Nothing}, retention: {ttlAfterFinished: 1h}}`,
			strings.NewReplacer("timeout: 10m", "timeout: 1h", "require: Report", "require: Nothing", "24h", "1h").Replace(class)},
		"results as they are": {"{} sets nothing.", `{results: {}}`, class},
		"variables": {"They are merged by name.", `{variables: {LEVEL: debug, TEAM: shop}}`,
			strings.Replace(class, "{LEVEL: info, REGION: eu}", "{LEVEL: debug, REGION: eu, TEAM: shop}", 1)},
		"no variables": {"An empty list accepts none.", `{allowVariables: []}`, strings.Replace(class, `[GREP, "E2E_*"]`, "[]", 1)},
		"an image": {"A container is merged by its name.",
			`{jobTemplate: {spec: {template: {spec: {containers: [{name: test, image: "shop:7"}]}}}}}`,
			strings.Replace(class, "registry.example.com/e2e:1", "shop:7", 1)},
		"arguments": {"A list without names is replaced.",
			`{jobTemplate: {spec: {template: {spec: {containers: [{name: test, args: [--grep, smoke]}]}}}}}`,
			strings.Replace(class, `[--retries, "1"]`, "[--grep, smoke]", 1)},
		"an environment": {"Variables of a container are merged by name; Kubernetes puts those of the Trigger first.",
			`{jobTemplate: {spec: {template: {spec: {containers: [{name: test, env: [{name: WORKERS, value: "8"}]}]}}}}}`,
			strings.Replace(class, `{name: WORKERS, value: "2"}`, `{name: WORKERS, value: "8"}`, 1)},
		"a sidecar": {"Containers with other names are added.",
			`{jobTemplate: {spec: {template: {spec: {containers: [{name: db, image: "postgres:18"}]}}}}}`,
			strings.Replace(class, "containers:\n", "containers:\n        - {name: db, image: 'postgres:18'}\n", 1)},
		"empty values": {"They count as not set.",
			`{jobTemplate: {spec: {template: {spec: {containers: [{name: test, args: [], env: [{name: CI, value: ""}]}]}}}}}`, class},
		"what only a Trigger has": {"It stays as it is.", `{environment: staging, match: {branches: [main]}, maxConcurrentSuites: 2, shards: 4}`,
			class + "\nenvironment: staging\nmatch: {branches: [main]}\nmaxConcurrentSuites: 2\nshards: 4\n"},
	} {
		t.Run(name, func(t *testing.T) {
			c, trigger, want := &v1alpha1.TriggerClass{}, &v1alpha1.Trigger{}, v1alpha1.TriggerSpec{}
			read(t, class, &c.Spec)
			read(t, tc.trigger, &trigger.Spec)
			read(t, tc.want, &want)
			before := []any{c.DeepCopy(), trigger.DeepCopy()}
			got, problem := triggerclass.Merge(c, trigger)
			if problem != "" {
				t.Fatal(problem)
			}
			if diff := cmp.Diff(want, got.Spec); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(before, []any{c, trigger}); diff != "" {
				t.Errorf("the arguments have changed:\n%s", diff)
			}
		})
	}
}

// TestDoNotFit: what cannot be merged, or is wrong together, leaves the Trigger as it is, and its author learns why.
func TestDoNotFit(t *testing.T) {
	for name, tc := range map[string]struct{ class, trigger, want string }{
		"a Secret without a name": {class, `{jobTemplate: {spec: {template: {spec: {imagePullSecrets: [{}], containers: []}}}}}`,
			`The Trigger "e2e" cannot be merged over the TriggerClass "web": `},
		"a directive": {class, `{jobTemplate: {metadata: {labels: {$patch: replace}}, spec: {template: {spec: {containers: []}}}}}`,
			`The Trigger "e2e" cannot be merged over the TriggerClass "web": the key "$patch" is no label or annotation.`},
		"another container": {class, `{jobTemplate: {spec: {template: {spec: {containers: [{name: tests, args: [x]}]}}}}}`,
			`The Trigger "e2e" and the TriggerClass "web" do not fit together: the container "tests" has no image;`},
		"no container": {`{timeout: 1h}`, `{}`,
			`The Trigger "e2e" and the TriggerClass "web" do not fit together: neither jobTemplate has a container.`},
		"shards of a queue": {strings.Replace(class, "backoffLimit: 2", "parallelism: 2", 1), `{shards: 4}`,
			`The Trigger "e2e" and the TriggerClass "web" do not fit together: with shards, the jobTemplate is that of one shard,`},
		"shards that restart": {strings.Replace(class, "volumes:", "restartPolicy: OnFailure\n        volumes:", 1), `{shards: 4}`,
			`The Trigger "e2e" and the TriggerClass "web" do not fit together: with shards, the restartPolicy of the jobTemplate must be Never.`},
		"shards that fail fast": {strings.Replace(class, "backoffLimit: 2", "backoffLimitPerIndex: 2", 1), `{shards: 4, failFast: true}`,
			`The Trigger "e2e" and the TriggerClass "web" do not fit together: with failFast, backoffLimitPerIndex has no effect.`},
		"minTests of no tests": {class, `{results: {minTests: 300}}`,
			`The Trigger "e2e" and the TriggerClass "web" do not fit together: results.minTests needs results.require: Tests.`},
	} {
		t.Run(name, func(t *testing.T) {
			c, trigger := &v1alpha1.TriggerClass{}, &v1alpha1.Trigger{}
			c.Name, trigger.Name = "web", "e2e"
			read(t, tc.class, &c.Spec)
			read(t, tc.trigger, &trigger.Spec)
			if got, problem := triggerclass.Merge(c, trigger); got != trigger || !strings.HasPrefix(problem, tc.want) {
				t.Errorf("%+v, %q", got, problem)
			}
		})
	}
}

func read(t *testing.T, text string, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
		t.Fatal(err)
	}
}

// TestFieldsOfAClass: a class has only fields that its Triggers have, too, with the same type.
func TestFieldsOfAClass(t *testing.T) {
	trigger := reflect.TypeFor[v1alpha1.TriggerSpec]()
	for _, f := range reflect.VisibleFields(reflect.TypeFor[v1alpha1.TriggerClassSpec]()) {
		if same, ok := trigger.FieldByName(f.Name); !ok || same.Type != f.Type || same.Tag.Get("json") != f.Tag.Get("json") {
			t.Errorf("%s of a TriggerClass is not that of a Trigger", f.Name)
		}
	}
	if !slices.ContainsFunc(reflect.VisibleFields(trigger), func(f reflect.StructField) bool { return f.Name == "TriggerClassName" }) {
		t.Error("a Trigger names no class")
	}
}

func BenchmarkMerge(b *testing.B) {
	c, trigger := &v1alpha1.TriggerClass{}, &v1alpha1.Trigger{}
	if err := yaml.Unmarshal([]byte(class), &c.Spec); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, problem := triggerclass.Merge(c, trigger); problem != "" {
			b.Fatal(problem)
		}
	}
}
