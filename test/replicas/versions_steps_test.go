package replicas

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-cmp/cmp"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	k8sclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/doctor"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/test/poll"
)

// aRun is the Suite of the samples, as a version has it.
func aRun(version string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(of(version, "Suite"))
	o.SetNamespace("demo")
	o.SetName("by-hand")
	return o
}

// hasItsRules tries one of each: a rule, a default, and the status as a subresource.
func (w *way) hasItsRules() {
	w.t.Helper()
	for _, version := range []string{alpha, beta} {
		o := aRun(version)
		w.must(w.s.Client.Get(w.t.Context(), k8sclient.ObjectKeyFromObject(o), o))
		if attempt, _, _ := unstructured.NestedInt64(o.Object, "spec", "attempt"); attempt != 1 {
			w.t.Errorf("%s: attempt %d, want the default", version, attempt)
		}
		for patch, refused := range map[string]bool{`{"spec":{"environment":"other"}}`: true, `{"status":{"jobName":"other"}}`: false} {
			changed := o.DeepCopy()
			err := w.s.Client.Patch(w.t.Context(), changed, k8sclient.RawPatch(types.MergePatchType, []byte(patch)))
			if apierrors.IsInvalid(err) != refused || !refused && (err != nil || changed.GetGeneration() != o.GetGeneration()) {
				w.t.Errorf("%s: %s: %v; want it to be refused: %t, and no change", version, patch, err, refused)
			}
			if name, _, _ := unstructured.NestedString(changed.Object, "status", "jobName"); name == "other" {
				w.t.Errorf("%s: the object itself sets its status", version)
			}
		}
	}
}

const byTest = "Applied by the test."

// apply writes a condition as a field manager, and nothing else.
func (w *way) apply(version, manager, condition, reason string) error {
	w.t.Helper()
	o := aRun(version)
	w.must(unstructured.SetNestedSlice(o.Object, []any{map[string]any{"type": condition, "status": "True", "reason": reason,
		"message": byTest, "lastTransitionTime": "2026-01-01T00:00:00Z"}}, "status", "conditions"))
	return w.s.Client.Status().Apply(w.t.Context(), k8sclient.ApplyConfigurationFromUnstructured(o), k8sclient.FieldOwner(manager))
}

// applied are the conditions of the test.
func (w *way) applied() string {
	w.t.Helper()
	types := `jsonpath={.status.conditions[?(@.message=="` + byTest + `")].type}`
	return w.kubectl("get", "suite", "-n", "demo", "by-hand", "-o", types)
}

// isApplied: a field manager owns its fields whichever version it writes, and so do others.
func (w *way) isApplied() {
	w.t.Helper()
	w.must(w.apply(alpha, "one", "First", "A"))
	w.must(w.apply(beta, "one", "Second", "A"))
	w.must(w.apply(alpha, "one", "Third", "A"))
	if got := w.applied(); got != "Third" {
		w.t.Errorf("conditions %q, want only what was applied last", got)
	}
	if err := w.apply(beta, "two", "Third", "B"); !apierrors.IsConflict(err) {
		w.t.Errorf("%v, want a conflict with what was applied through the other version", err)
	}

	before := w.objects(alpha)
	samples := w.t.TempDir()
	files, err := filepath.Glob("../../config/samples/*.yaml")
	w.must(err)
	for _, file := range files {
		if name := filepath.Base(file); name != "kustomization.yaml" {
			content := strings.ReplaceAll(string(w.file(file)), "postflight.dev/v1alpha1", "postflight.dev/v1beta1")
			w.must(os.WriteFile(filepath.Join(samples, name), []byte(content), 0o600))
		}
	}
	w.kubectl("apply", "-f", samples)
	for name, o := range w.objects(beta) {
		if was := before[name]; was == nil || was.GetUID() != o.GetUID() || was.GetGeneration() != o.GetGeneration() {
			w.t.Errorf("kubectl apply with another apiVersion changed %s", name)
		}
	}
}

// The page has these parts of its commands.
const (
	withOldOwner = `{range .items[?(@.metadata.ownerReferences[*].apiVersion=="postflight.dev/v1alpha1")]}` +
		`{.kind} {.metadata.namespace}/{.metadata.name}{"\n"}{end}`
	toRewrite = `{}`
	onlyBeta  = `{"status":{"storedVersions":["v1beta1"]}}`
)

func (w *way) isDocumented() {
	w.t.Helper()
	page := string(w.file("../../docs/api-stability.md"))
	for _, part := range []string{
		"-o jsonpath='" + withOldOwner + "'",
		"patch -f - --type=merge -p '" + toRewrite + "'",
		"--subresource=status --type=merge -p '" + onlyBeta + "'",
	} {
		if !strings.Contains(page, part) {
			w.t.Errorf("docs/api-stability.md has another command than\n%s", part)
		}
	}
}

// owned are the objects with an owner of v1alpha1, by the command of the page.
func (w *way) owned() string {
	w.t.Helper()
	return w.kubectl("get", "jobs,suites,environments", "-A", "-o", "jsonpath="+withOldOwner)
}

// collects: the Job names its owner as v1alpha1, and the garbage collector sees the Suite as v1beta1.
func (w *way) collects(run string) {
	w.t.Helper()
	if !strings.Contains(w.owned(), "Job "+w.namespace+"/"+run) {
		w.t.Fatalf("the command of the page shows\n%s\nwant the Job %s", w.owned(), run)
	}
	w.kubectl("delete", "suites.v1beta1.postflight.dev", "-n", w.namespace, run)
	poll.True(w.t, "the Job is collected", func() bool { return !strings.Contains(w.owned(), run) })
}

func (w *way) doctor() []doctor.Finding {
	w.t.Helper()
	var list apiextensions.CustomResourceDefinitionList
	w.must(json.Unmarshal([]byte(w.kubectl("get", "crds", "-o", "json")), &list))
	return doctor.CRDs(list.Items)
}

// people is what no controller writes.
func people(o *unstructured.Unstructured) map[string]any {
	m := o.DeepCopy()
	for _, field := range []string{"resourceVersion", "managedFields"} {
		unstructured.RemoveNestedField(m.Object, "metadata", field)
	}
	delete(m.Object, "status")
	return m.Object
}

// migrates rewrites all objects that were stored as v1alpha1, by the commands of the page.
func (w *way) migrates(before map[string]*unstructured.Unstructured) {
	w.t.Helper()
	for resource := range kinds {
		name := resource + "." + v1alpha1.GroupVersion.Group
		list := filepath.Join(w.t.TempDir(), "list.json")
		w.must(os.WriteFile(list, []byte(w.kubectl("get", resource+".v1beta1."+v1alpha1.GroupVersion.Group, "-A", "-o", "json")), 0o600))
		w.kubectl("patch", "-f", list, "--type=merge", "-p", toRewrite)
		w.kubectl("patch", "crd", name, "--subresource=status", "--type=merge", "-p", onlyBeta)
	}
	after := w.objects(beta)
	for name, was := range before {
		is := after[name]
		if is == nil {
			w.t.Fatalf("%s is gone", name)
		}
		if is.GetResourceVersion() == was.GetResourceVersion() {
			w.t.Errorf("%s is not stored again", name)
		}
		if diff := cmp.Diff(people(was), people(is)); diff != "" {
			w.t.Errorf("%s: -before +after\n%s", name, diff)
		}
	}
}

// endsV1alpha1 needs no manager: that of its release does not know v1alpha1.
func (w *way) endsV1alpha1() {
	w.t.Helper()
	w.must(w.apply(alpha, "one", "Fourth", "A"))
	w.kubectl("delete", "suites.v1beta1.postflight.dev", "-n", w.namespace, "--all")
	w.kubectl("delete", "jobs", "-n", "demo", "--all")
	poll.Until(w.t, "no object has an owner of v1alpha1", w.owned)
	before := w.objects(beta)

	policies := filepath.Join(w.t.TempDir(), "policies.yaml")
	w.must(os.WriteFile(policies, bytes.ReplaceAll(w.file("../../config/policy/manager.yaml"), []byte(alpha), []byte(beta)), 0o600))
	w.kubectl("apply", "-f", policies)
	w.crds(unserved, stored)
	poll.True(w.t, "v1alpha1 is not served", func() bool {
		_, err := w.s.Kubectl(w.t, "get", "suites.v1alpha1.postflight.dev", "-A")
		return err != nil
	})
	after := w.objects(beta)
	for name, was := range before {
		if diff := cmp.Diff(was, after[name]); diff != "" {
			w.t.Errorf("%s: -before +after\n%s", name, diff)
		}
	}
	w.must(w.apply(beta, "one", "Fifth", "A"))
	if got := w.applied(); got != "Fifth" {
		w.t.Errorf("conditions %q, want only what was applied last", got)
	}
	w.createsJobs()

	w.crds(gone, stored)
	poll.Until(w.t, "managed fields of a version that the CRD lacks break server-side apply", func() string {
		err := w.apply(beta, "one", "Sixth", "A")
		if err != nil && strings.Contains(err.Error(), "invalid group/version: postflight.dev/v1alpha1") {
			return ""
		}
		return fmt.Sprint(err)
	})
}

// createsJobs tries what a manager of v1beta1 does, under its policies.
func (w *way) createsJobs() {
	w.t.Helper()
	run := rawSuite(w.trigger("smoke"), "beta")
	run.Namespace = w.namespace
	j := job.Build(run, w.trigger("smoke"), w.environment())
	j.OwnerReferences[0].APIVersion, j.OwnerReferences[0].UID = of(beta, "").GroupVersion().String(), "beta"
	manager, err := k8sclient.New(w.s.Manager(w.t), k8sclient.Options{Scheme: w.s.Scheme})
	w.must(err)
	poll.Until(w.t, "the policies admit the Job of a Suite", func() string {
		if err := manager.Create(w.t.Context(), j.DeepCopy(), k8sclient.DryRunAll); err != nil {
			return err.Error()
		}
		return ""
	})
}
