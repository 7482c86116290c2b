package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/poll"
)

// field is how a field of a spec is judged.
type field struct {
	value string // as JSON, valid, and not that of least
	pod   string // how it reaches a pod; empty: it does not
	not   string // why it reaches none

	immutable bool // no user may change it
	free      bool // who may not create Jobs may change it
}

// fields are all fields of the specs, by the kind and their path; TestEveryFieldIsClassified compares
// them with the API types.
var fields = map[string]map[string]field{
	"Trigger": {
		"environment":                           {value: `"other"`, pod: "chooses the variables and Secrets that the pod gets"},
		"triggerClassName":                      {value: `"other"`, pod: "chooses the template that the pod's is merged over"},
		"paused":                                {value: `true`, not: "but false starts the pods of a Trigger that its author stopped"},
		"schedule.cron":                         {value: `"0 3 * * *"`, not: "but starts pods"},
		"schedule.timeZone":                     {value: `"Europe/Berlin"`, not: "but decides when pods start"},
		"schedule.jitter":                       {value: `"10m"`, not: "but decides when pods start"},
		"schedule.only":                         {value: `true`, not: "but decides who starts pods"},
		"match.branches":                        {value: `["main"]`, not: "but decides who starts pods"},
		"match.deploymentTypes":                 {value: `["staging"]`, not: "but decides who starts pods"},
		"match.repositories":                    {value: `["acme/shop"]`, not: "but decides who starts pods"},
		"match.services":                        {value: `["cart"]`, not: "but decides who starts pods"},
		"match.pullRequest":                     {value: `"Never"`, not: "but decides who starts pods"},
		"match.expression":                      {value: `"notification.branch == 'main'"`, not: "but decides who starts pods"},
		"repository.hostingService":             {value: `"GitLab"`, not: "but decides where the manager sends a token"},
		"repository.name":                       {value: `"acme/shop"`, not: "but decides where the manager sends a token"},
		"repository.credentials.secretRef.name": {value: `"token"`, not: "but decides which token the manager reads"},
		"repository.deployments":                {value: `true`, not: "but the manager writes deployments with a token"},
		"repository.pullRequestComments":        {value: `true`, not: "but the manager writes comments with a token"},
		"notify.slack.secretRef.name":           {value: `"postflight-slack"`, not: "but decides where the manager sends messages"},
		"notify.slack.channel":                  {value: `"C0123ABCD"`, not: "but decides where the manager sends messages"},
		"notify.slack.when":                     {value: `["Failure"]`, not: "but decides when the manager sends messages"},
		"duplicates":                            {value: `"RerunUnsuccessful"`, not: "but starts pods again"},
		"duplicatesMaxAge":                      {value: `"24h"`, not: "but starts pods again"},
		"supersede":                             {value: `"Environment"`, not: "but stops other pods"},
		"maxConcurrentSuites":                   {value: `1`, not: "but decides how many pods run at once"},
		"inputs.variables":                      {value: `["APK"]`, pod: "the init container fetches the files, and the variable becomes a path"},
		"inputs.paths":                          {value: `["data/users.csv"]`, pod: "the init container fetches the files"},
		"inputs.directory":                      {value: `"/elsewhere"`, pod: "is mounted there"},
		"results.directory":                     {value: `"/elsewhere"`, pod: "is mounted there"},
		"results.sizeLimit":                     {value: `"1Gi"`, pod: "bounds a volume of the pod"},
		"results.require":                       {value: `"Nothing"`, not: "but decides what is green"},
		"results.minTests":                      {value: `7`, not: "but decides what is green"},
		"results.fewerTests":                    {value: `"Fail"`, not: "but decides what is green"},
		"results.fewerTestsPercent":             {value: `5`, not: "but decides what is green"},
		"results.attempts":                      {value: `"Last"`, pod: "is told to the container that reads the reports"},
		"shards":                                {value: `4`, pod: "each container gets the number of its pod, and a program"},
		"failFast":                              {value: `true`, not: "but stops pods"},
		"timeout":                               {value: `"2h"`, pod: "is the pod's deadline"},
		"startTimeout":                          {value: `"2h"`, pod: "decides how long a pod may wait"},
		"ready.workloads":                       {value: `false`, not: "but decides when pods start"},
		"ready.timeout":                         {value: `"2h"`, pod: "decides how long the init container may ask"},
		"ready.http.path":                       {value: `"/version"`, pod: "the init container asks there"},
		"ready.http.url":                        {value: `"https://example.com/version"`, pod: "the init container asks there"},
		"ready.http.status":                     {value: `204`, pod: "the init container compares with it"},
		"ready.http.json.pointer":               {value: `"/commit"`, pod: "the init container reads it"},
		"ready.http.header":                     {value: `"X-Version"`, pod: "the init container reads it"},
		"ready.http.successes":                  {value: `5`, pod: "the init container counts them"},
		"ready.http.interval":                   {value: `"5s"`, pod: "the init container pauses so long"},
		"retry.onError":                         {value: `3`, not: "but starts pods again"},
		"keepFailedPods":                        {value: `"1h"`, not: "but decides when pods are deleted"},
		"ephemeralEnvironmentTTL":               {value: `"1h"`, not: "but decides when an Environment and its runs are deleted"},
		"retention.ttlAfterFinished":            {value: `"1h"`, not: "but ends the memory of duplicates"},
		"variables":                             {value: `{"NODE_OPTIONS":"-r /evil.js"}`, pod: "are in the environment of every container"},
		"allowVariables":                        {value: `["E2E_*"]`, pod: "decides which variables of a notification do"},
		"jobTemplate":                           {value: podTemplate("other"), pod: "is the pod"},
	},
	"TriggerClass": {
		"results.directory":          {value: `"/elsewhere"`, pod: "is mounted there"},
		"results.sizeLimit":          {value: `"1Gi"`, pod: "bounds a volume of the pod"},
		"results.require":            {value: `"Nothing"`, not: "but decides what is green"},
		"results.minTests":           {value: `7`, not: "but decides what is green"},
		"results.fewerTests":         {value: `"Fail"`, not: "but decides what is green"},
		"results.fewerTestsPercent":  {value: `5`, not: "but decides what is green"},
		"results.attempts":           {value: `"Last"`, pod: "is told to the container that reads the reports"},
		"timeout":                    {value: `"2h"`, pod: "is the pod's deadline"},
		"startTimeout":               {value: `"2h"`, pod: "decides how long a pod may wait"},
		"retention.ttlAfterFinished": {value: `"1h"`, not: "but ends the memory of duplicates"},
		"variables":                  {value: `{"NODE_OPTIONS":"-r /evil.js"}`, pod: "are in the environment of every container"},
		"allowVariables":             {value: `["E2E_*"]`, pod: "decides which variables of a notification do"},
		"jobTemplate":                {value: podTemplate("other"), pod: "is the pod's, as far as its Trigger has none"},
	},
	"Environment": {
		"url":                 {value: `"https://evil.example.com"`, pod: "is the variable URL of every container"},
		"variables":           {value: `{"LD_PRELOAD":"/evil.so"}`, pod: "are in the environment of every container"},
		"variablesFrom":       {value: `[{"secretRef":{"name":"s"}}]`, pod: "hands Secrets to every container"},
		"maxConcurrentSuites": {value: `1`, not: "but decides how many pods run at once"},
		"hold.until":          {value: `"2036-01-01T00:00:00Z"`, not: "but decides when pods start"},
		"hold.reason":         {value: `"debugging 812"`, not: "but a hold decides when pods start"},
		"settle.quiet":        {value: `"1h"`, not: "but decides when pods start"},
		"settle.atMost":       {value: `"24h"`, not: "but decides when pods start"},
		"gate.triggers":       {value: `["smoke"]`, not: "but decides what is green"},
		"gate.maxAge":         {value: `"24h"`, not: "but decides what is green"},
		"gate.minAge":         {value: `"1h"`, not: "but decides what is green"},
		"publicBadge":         {value: `true`, not: "but decides who sees a badge"},
		"workloads":           {value: `[{"name":"web","notify":true}]`, not: "but a rollout of one starts pods"},
		"cluster":             {value: `"eu"`, not: "but moves the pods to another cluster"},
		"deploymentTypes":     {value: `["staging"]`, not: "but decides which deployments start pods in another cluster"},
		"ephemeral.deploymentURL": {value: `"https://pr-1.example.com"`, pod: "is the url of an Environment that the manager derives",
			immutable: true},
		"ephemeral.expiresAt": {value: `"2036-01-01T00:00:00Z"`, not: "but deletes the Environment of runs"},
	},
	"Suite": {
		"trigger.name":                 {value: `"other"`, pod: "chooses the pod's template", immutable: true},
		"trigger.uid":                  {value: `"u"`, pod: "chooses the pod's template", immutable: true},
		"environment":                  {value: `"other"`, pod: "chooses the variables and Secrets that the pod gets", immutable: true},
		"deployment.branch":            {value: `"main"`, pod: "is POSTFLIGHT_BRANCH", immutable: true},
		"deployment.sha":               {value: `"5ca1ab1e"`, pod: "is POSTFLIGHT_SHA", immutable: true},
		"deployment.type":              {value: `"staging"`, not: "but a Suite is a pod", immutable: true},
		"deployment.url":               {value: `"https://evil.example.com"`, pod: "is the variable URL", immutable: true},
		"deployment.hostingService":    {value: `"GitLab"`, not: "but a Suite is a pod", immutable: true},
		"deployment.commitURL":         {value: `"https://example.com/c"`, not: "but a Suite is a pod", immutable: true},
		"deployment.commitMessage":     {value: `"Fix"`, not: "but a Suite is a pod", immutable: true},
		"deployment.commitAuthor":      {value: `"Ann"`, not: "but a Suite is a pod", immutable: true},
		"deployment.repository":        {value: `"acme/shop"`, not: "but a Suite is a pod", immutable: true},
		"deployment.service":           {value: `"cart"`, pod: "is POSTFLIGHT_SERVICE", immutable: true},
		"deployment.pullRequestNumber": {value: `7`, not: "but a Suite is a pod", immutable: true},
		"deployment.pipelineID":        {value: `345`, not: "but a Suite is a pod", immutable: true},
		"variables":                    {value: `{"BASH_ENV":"/evil.sh"}`, pod: "are in the environment of every container", immutable: true},
		"siblings":                     {value: `["load"]`, not: "but a gate waits for their runs", immutable: true},
		"supersedeKey":                 {value: `"main"`, not: "but stops other pods", immutable: true},
		"supersede":                    {value: `"Environment"`, not: "but stops other pods", immutable: true},
		"ttlAfterFinished":             {value: `"1h"`, not: "but a Suite is a pod", immutable: true},
		"attempt":                      {value: `2`, not: "but a Suite is a pod", immutable: true},
		"deployedAt":                   {value: `"2026-11-20T18:00:00.000000Z"`, not: "but stops other pods", immutable: true},
		"origin":                       {value: `"Rerun"`, not: "but decides whether it stops other pods", immutable: true},
		"environmentUID":               {value: `"uid"`, not: "but the run may end as Error", immutable: true},
		"receivedAt":                   {value: `"2026-11-20T18:00:00.000000Z"`, not: "but stops other pods", immutable: true},
		"onlyFailedOf.name":            {value: `"smoke-1"`, pod: "chooses the failed tests whose names are in its variables", immutable: true},
		"onlyFailedOf.uid":             {value: `"4b1c"`, not: "but tells a run from a later one of its name", immutable: true},
		"cancel":                       {value: `true`, not: "ends the pod", free: true},
	},
}

// least is the smallest valid spec, to which a field is added.
var least = map[string]string{
	"Trigger":      `{"environment":"staging","jobTemplate":` + podTemplate("test") + `}`,
	"TriggerClass": `{}`,
	"Environment":  `{}`,
	"Suite":        `{"trigger":{"name":"smoke"},"environment":"staging"}`,
}

// companions are fields that the schema requires together with another one.
var companions = map[string]string{
	"Trigger schedule.timeZone":                     `{"schedule":{"cron":"0 4 * * *"}}`,
	"Trigger schedule.only":                         `{"schedule":{"cron":"0 4 * * *"}}`,
	"Trigger schedule.jitter":                       `{"schedule":{"cron":"0 4 * * *"}}`,
	"Trigger repository.hostingService":             `{"repository":{"name":"acme/shop"}}`,
	"Trigger repository.credentials.secretRef.name": `{"repository":{"name":"acme/shop"}}`,
	"Trigger repository.deployments":                `{"repository":{"name":"acme/shop"}}`,
	"Trigger repository.pullRequestComments":        `{"repository":{"name":"acme/shop"}}`,
	"Trigger notify.slack.channel":                  `{"notify":{"slack":{"secretRef":{"name":"postflight-slack"}}}}`,
	"Trigger notify.slack.when":                     `{"notify":{"slack":{"secretRef":{"name":"postflight-slack"}}}}`,
	"Trigger failFast":                              `{"shards":2}`,
	"Trigger inputs.directory":                      `{"inputs":{"paths":["data/users.csv"]}}`,
	"Trigger ready.http.status":                     `{"ready":{"http":{"path":"/"}}}`,
	"Trigger ready.http.json.pointer":               `{"ready":{"http":{"path":"/"}}}`,
	"Trigger ready.http.header":                     `{"ready":{"http":{"path":"/"}}}`,
	"Trigger ready.http.successes":                  `{"ready":{"http":{"path":"/"}}}`,
	"Trigger ready.http.interval":                   `{"ready":{"http":{"path":"/"}}}`,
	"Suite onlyFailedOf.name":                       `{"onlyFailedOf":{"name":"smoke-0","uid":"4b1c"}}`,
	"Suite onlyFailedOf.uid":                        `{"onlyFailedOf":{"name":"smoke-0","uid":"3a0b"}}`,
	"Environment hold.reason":                       `{"hold":{"until":"2036-01-01T00:00:00Z"}}`,
	"Environment settle.atMost":                     `{"settle":{"quiet":"2m"}}`,
	"Environment deploymentTypes":                   `{"cluster":"eu"}`,
	"Environment ephemeral.deploymentURL":           `{"ephemeral":{"expiresAt":"2035-01-01T00:00:00Z"}}`,
	"Environment ephemeral.expiresAt":               `{"ephemeral":{"deploymentURL":"https://pr-2.example.com"}}`,
}

func podTemplate(image string) string {
	return `{"spec":{"template":{"spec":{"containers":[{"name":"test","image":"` + image + `"}]}}}}`
}

var kinds = map[string]reflect.Type{
	"Trigger":      reflect.TypeFor[v1alpha1.TriggerSpec](),
	"TriggerClass": reflect.TypeFor[v1alpha1.TriggerClassSpec](),
	"Environment":  reflect.TypeFor[v1alpha1.EnvironmentSpec](),
	"Suite":        reflect.TypeFor[v1alpha1.SuiteSpec](),
}

// TestEveryFieldIsClassified: a new field needs a row that says whether it reaches a pod.
func TestEveryFieldIsClassified(t *testing.T) {
	for kind, spec := range kinds {
		var classified []string
		for name, f := range fields[kind] {
			if (f.pod == "") == (f.not == "") {
				t.Errorf("%s %s: say either how it reaches a pod or why it does not", kind, name)
			}
			classified = append(classified, name)
		}
		slices.Sort(classified)
		if diff := cmp.Diff(pathsOf(spec, ""), classified); diff != "" {
			t.Errorf("fields of the API type %s that are missing in the table (-), or that do not exist any more (+):\n%s", kind, diff)
		}
	}
}

// pathsOf are the fields of a type of this API; what other APIs define counts as one field.
func pathsOf(t reflect.Type, prefix string) (paths []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct && inner.PkgPath() == t.PkgPath() {
			paths = append(paths, pathsOf(inner, path.Join(prefix, name))...)
		} else {
			paths = append(paths, strings.ReplaceAll(path.Join(prefix, name), "/", "."))
		}
	}
	slices.Sort(paths)
	return paths
}

// TestPolicyMatrix tries every field of every kind as two users who may both write the object; only one
// of them may create Jobs.
func TestPolicyMatrix(t *testing.T) {
	w := newPolicyWorld(t)
	for _, kind := range slices.Sorted(maps.Keys(fields)) {
		for _, name := range slices.Sorted(maps.Keys(fields[kind])) {
			t.Run(kind+"/"+name, func(t *testing.T) { w.try(t, kind, name, fields[kind][name]) })
		}
	}
}

// TestMarksOfSuites: who may change Suites, but not create Jobs, changes nothing that decides what runs.
func TestMarksOfSuites(t *testing.T) {
	w := newPolicyWorld(t)
	s := aSuite(w.ns, "marked")
	s.Annotations, s.Labels = map[string]string{"postflight.dev/request-id": "one"}, map[string]string{v1alpha1.LabelTrigger: "smoke",
		v1alpha1.LabelRestored: ""}
	if err := w.runner.Create(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		patch  string
		denied bool
	}{
		"another request":         {`{"metadata":{"annotations":{"postflight.dev/request-id":"two"}}}`, true},
		"no request":              {`{"metadata":{"annotations":{"postflight.dev/request-id":null}}}`, true},
		"no annotations":          {`{"metadata":{"annotations":null}}`, true},
		"an idempotency key":      {`{"metadata":{"annotations":{"postflight.dev/idempotency-key":"k"}}}`, true},
		"no longer restored":      {`{"metadata":{"labels":{"postflight.dev/restored":null}}}`, true},
		"restored by Velero":      {`{"metadata":{"labels":{"velero.io/restore-name":"r"}}}`, true},
		"another Trigger":         {`{"metadata":{"labels":{"postflight.dev/trigger":"other"}}}`, true},
		"canceled":                {`{"metadata":{"annotations":{"postflight.dev/canceled-by":"anna"}},"spec":{"cancel":true}}`, false},
		"an annotation of others": {`{"metadata":{"annotations":{"team.example.com/note":"x"},"labels":{"a":"b"}}}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			patch := client.RawPatch(types.MergePatchType, []byte(tc.patch))
			if err := w.writer.Patch(t.Context(), s.DeepCopy(), patch, client.DryRunAll); denied(err) != tc.denied || !tc.denied && err != nil {
				t.Errorf("without the right to create Jobs: %v", err)
			}
			if err := w.runner.Patch(t.Context(), s.DeepCopy(), patch, client.DryRunAll); err != nil {
				t.Errorf("with the right to create Jobs: %v", err)
			}
		})
	}
}

type policyWorld struct {
	*apiserver.Server
	ns             string
	writer, runner client.Client

	classWriter, classRunner client.Client // may write TriggerClasses; the writer may create Jobs in one namespace, the runner in all
}

// actors are two users with the right to write objects of the kind; only the second can create Jobs wherever it matters.
func (w *policyWorld) actors(kind string) (writer, runner client.Client) {
	if kind == "TriggerClass" {
		return w.classWriter, w.classRunner
	}
	return w.writer, w.runner
}

func newPolicyWorld(t *testing.T) *policyWorld {
	t.Helper()
	s := installed(t)
	w := &policyWorld{Server: s, ns: s.Namespace(t), writer: as(t, s, "writer"), runner: as(t, s, "runner")}
	w.classWriter, w.classRunner = as(t, s, "class-writer-"+w.ns), as(t, s, "class-runner-"+w.ns)
	grant(t, s, everywhere, "class-writer-"+w.ns, "postflight.dev", "triggerclasses")
	grant(t, s, everywhere, "class-runner-"+w.ns, "postflight.dev", "triggerclasses")
	grant(t, s, everywhere, "class-runner-"+w.ns, "batch", "jobs")
	grant(t, s, w.ns, "class-writer-"+w.ns, "batch", "jobs")
	grant(t, s, w.ns, "writer", "postflight.dev", "triggers", "environments", "suites")
	grant(t, s, w.ns, "runner", "postflight.dev", "triggers", "environments", "suites")
	grant(t, s, w.ns, "runner", "batch", "jobs")
	poll.Until(t, "the rights and the policies are in force", func() string {
		class := &v1alpha1.TriggerClass{ObjectMeta: metav1.ObjectMeta{Name: "tried"}}
		for kind, o := range map[string]client.Object{"Trigger": aTrigger(w.ns), "Environment": anEnvironment(w.ns, "tried"),
			"Suite": aSuite(w.ns, "tried"), "TriggerClass": class} {
			writer, runner := w.actors(kind)
			if err := writer.Create(t.Context(), o, client.DryRunAll); !denied(err) {
				return fmt.Sprintf("%s by the writer: %v", kind, err)
			}
			if err := runner.Create(t.Context(), o, client.DryRunAll); err != nil {
				return err.Error()
			}
		}
		return ""
	})
	return w
}

func denied(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "ask for the permission create on jobs.batch")
}

func (w *policyWorld) try(t *testing.T, kind, name string, f field) {
	writer, runner := w.actors(kind)
	with, base := w.object(t, kind, name, f.value), w.object(t, kind, name, "")
	if err := runner.Create(t.Context(), with.DeepCopy(), client.DryRunAll); err != nil {
		t.Fatalf("who may create Jobs cannot create it, so the test shows nothing: %v", err)
	}
	if err := writer.Create(t.Context(), with.DeepCopy(), client.DryRunAll); !denied(err) {
		t.Errorf("CREATE without the right to create Jobs: got %v, want it to be denied", err)
	}

	if err := runner.Create(t.Context(), base); err != nil {
		t.Fatalf("create the object to change: %v", err)
	}
	label := []byte(`{"metadata":{"labels":{"a":"b"},"finalizers":[]}}`)
	if err := writer.Patch(t.Context(), base, client.RawPatch(types.MergePatchType, label)); err != nil {
		t.Errorf("labels and finalizers grant nothing, and need no right to create Jobs: %v", err)
	}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":`+nested(name, f.value)+`}`))
	if err := runner.Patch(t.Context(), base.DeepCopy(), patch, client.DryRunAll); f.immutable != apierrors.IsInvalid(err) || !f.immutable &&
		err != nil {
		t.Fatalf("UPDATE with the right to create Jobs: got %v; the field is immutable: %t", err, f.immutable)
	}
	switch err := writer.Patch(t.Context(), base.DeepCopy(), patch, client.DryRunAll); {
	case f.free && err != nil:
		t.Errorf("UPDATE without the right to create Jobs: got %v, want it to be allowed, as it %s", err, f.not)
	case !f.free && !denied(err) && (!f.immutable || !apierrors.IsInvalid(err)):
		t.Errorf("UPDATE without the right to create Jobs: got %v, want it to be refused", err)
	}
	if err := writer.Delete(t.Context(), base); err != nil {
		t.Errorf("deleting grants nothing: %v", err)
	}
}

// object is the least object of the kind, with the field where there is a value.
func (w *policyWorld) object(t *testing.T, kind, name, value string) *unstructured.Unstructured {
	t.Helper()
	spec := merged(t, least[kind], companions[kind+" "+name])
	if value != "" {
		spec = merged(t, spec, nested(name, value))
	}
	o := &unstructured.Unstructured{}
	text := fmt.Sprintf(`{"apiVersion":"postflight.dev/v1alpha1","kind":%q,"metadata":{"name":"tried"},"spec":%s}`, kind, spec)
	if err := json.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	if kind != "TriggerClass" {
		o.SetNamespace(w.ns)
	}
	if kind == "Environment" && strings.HasPrefix(name, "ephemeral.") && value == "" {
		// It cannot become ephemeral later, so the field starts with another value.
		other := map[string]string{"ephemeral.deploymentURL": `"https://pr-3.example.com"`, "ephemeral.expiresAt": `"2035-01-01T00:00:00Z"`}
		return w.object(t, kind, name, other[name])
	}
	return o
}

// nested is {"a":{"b":value}} for a.b.
func nested(name, value string) string {
	parts := strings.Split(name, ".")
	for _, part := range slices.Backward(parts) {
		value = fmt.Sprintf(`{%q:%s}`, part, value)
	}
	return value
}

func merged(t *testing.T, into, other string) string {
	t.Helper()
	if other == "" {
		return into
	}
	var a, b map[string]any
	if err := json.Unmarshal([]byte(into), &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(other), &b); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(merge(a, b))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func merge(a, b map[string]any) map[string]any {
	for name, value := range b {
		inner, isObject := value.(map[string]any)
		if old, ok := a[name].(map[string]any); ok && isObject {
			value = merge(old, inner)
		}
		a[name] = value
	}
	return a
}
