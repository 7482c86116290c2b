package replicas

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/doctor"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
)

const alpha, beta = "v1alpha1", "v1beta1"

var (
	// kinds by the resources that their CRDs name.
	kinds = map[string]string{"apikeys": "APIKey", "clusters": "Cluster", "environments": "Environment", "suites": "Suite", "teams": "Team",
		"triggerclasses": "TriggerClass", "triggers": "Trigger", "deploymentgates": "DeploymentGate", "deploymentreviews": "DeploymentReview",
		"eventsources": "EventSource", "quarantines": "Quarantine", "trustpolicies": "TrustPolicy"}

	// The states of a version in a CRD.
	served     = apiextensions.CustomResourceDefinitionVersion{Served: true}
	stored     = apiextensions.CustomResourceDefinitionVersion{Served: true, Storage: true}
	deprecated = apiextensions.CustomResourceDefinitionVersion{Served: true, Deprecated: true}
	unserved   = apiextensions.CustomResourceDefinitionVersion{Deprecated: true}
	gone       = apiextensions.CustomResourceDefinitionVersion{}
)

// way is that of docs/api-stability.md from v1alpha1 to a version of the same shape.
type way struct{ *team }

// TestWayToV1beta1: no object is lost or changed on the way, and the manager of v1alpha1 runs until that is no longer served.
func TestWayToV1beta1(t *testing.T) {
	tier.All(t, "it needs an API server and a garbage collector of its own")
	t.Parallel()
	s := apiserver.Own(t, apiserver.Options{})
	s.RunControllers(t, "garbage-collector-controller")
	w := &way{newTeam(t, s)}
	w.kubectl("apply", "-k", "../../config/policy")
	w.kubectl("apply", "-k", "../../config/samples")
	w.kubectl("apply", "-f", "../../config/samples/suite.yaml", "-f", "../../config/samples/monorepo.yaml")
	w.create(&v1alpha1.DeploymentReview{ObjectMeta: w.meta("asked"), Spec: v1alpha1.DeploymentReviewSpec{ // which has no sample
		Gate: "lost", Source: "github", HostingService: v1alpha1.GitHub, Repository: "acme/shop", Environment: "live", RunID: 7,
	}})
	manager := replicas(t, s, kubeconfigOf(t, s.Manager(t)), 1)
	w.starts(manager[0], "as-before")

	w.isDocumented()
	w.crds(stored, served)
	w.starts(manager[0], "both-served")
	w.isSame()
	w.hasItsRules()
	w.isApplied()
	w.collects(w.starts(manager[0], "garbage"))
	if found := w.doctor(); len(found) != 1 || found[0].Level != doctor.OK {
		t.Errorf("the doctor of today says %+v of CRDs that serve a version more", found)
	}

	w.crds(served, stored)
	w.crds(stored, served) // back by one release
	before := w.objects(beta)
	w.crds(served, stored)
	w.starts(manager[0], "stored-as-v1beta1")
	w.migrates(before)
	w.isSame()
	if _, err := s.Kubectl(t, "apply", "-f", w.write(stored, gone)); err == nil || !strings.Contains(err.Error(), "storedVersions") {
		t.Errorf("back by two releases: %v, want the API server to refuse CRDs without the version of what is stored", err)
	}

	w.crds(deprecated, stored)
	poll.True(t, "kubectl warns", func() bool {
		const warning = "Warning: postflight.dev/v1alpha1 Suite is deprecated; use postflight.dev/v1beta1 Suite"
		return strings.Contains(w.kubectl("get", "suites.v1alpha1.postflight.dev", "-A"), warning)
	})
	w.starts(manager[0], "deprecated")
	manager[0].Stop()
	w.endsV1alpha1()
}

// starts notifies the manager, whose policies are in force.
func (w *way) starts(r *replica, sha string) (run string) {
	w.t.Helper()
	run = w.awaitRun(r, sha, sha)
	w.awaitState(run, v1alpha1.ReasonStarting)
	return run
}

// write returns a folder with the CRDs, in which v1beta1 is a copy of v1alpha1.
func (w *way) write(ofAlpha, ofBeta apiextensions.CustomResourceDefinitionVersion) (folder string) {
	w.t.Helper()
	folder = w.t.TempDir()
	for resource := range kinds {
		crd := &apiextensions.CustomResourceDefinition{}
		w.must(yaml.Unmarshal(w.file("../../config/crd/bases/postflight.dev_"+resource+".yaml"), crd))
		state := func(name string, of apiextensions.CustomResourceDefinitionVersion) apiextensions.CustomResourceDefinitionVersion {
			v := *crd.Spec.Versions[0].DeepCopy()
			v.Name, v.Served, v.Storage, v.Deprecated = name, of.Served, of.Storage, of.Deprecated
			return v
		}
		versions := []apiextensions.CustomResourceDefinitionVersion{state(alpha, ofAlpha), state(beta, ofBeta)}
		crd.Spec.Versions = slices.DeleteFunc(versions, func(v apiextensions.CustomResourceDefinitionVersion) bool {
			return !v.Served && !v.Deprecated
		})
		content, err := yaml.Marshal(crd)
		w.must(err)
		w.must(os.WriteFile(filepath.Join(folder, resource+".yaml"), content, 0o600))
	}
	return folder
}

// crds applies the CRDs as `kubectl apply` does, which needs room for both versions in an annotation.
func (w *way) crds(ofAlpha, ofBeta apiextensions.CustomResourceDefinitionVersion) {
	w.t.Helper()
	w.kubectl("apply", "-f", w.write(ofAlpha, ofBeta))
	poll.True(w.t, "v1beta1 is served", func() bool {
		_, err := w.s.Kubectl(w.t, "get", "suites.v1beta1.postflight.dev,teams.v1beta1.postflight.dev,triggers.v1beta1.postflight.dev", "-A")
		return err == nil
	})
}

func (w *way) kubectl(args ...string) string {
	w.t.Helper()
	out, err := w.s.Kubectl(w.t, args...)
	w.must(err)
	return out
}

func (w *way) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *way) file(name string) []byte {
	w.t.Helper()
	content, err := os.ReadFile(name)
	w.must(err)
	return content
}

func of(version, kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: v1alpha1.GroupVersion.Group, Version: version, Kind: kind}
}

// objects reads all through a version, by their kinds, namespaces and names.
func (w *way) objects(version string) map[string]*unstructured.Unstructured {
	w.t.Helper()
	all := map[string]*unstructured.Unstructured{}
	for _, kind := range kinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(of(version, kind+"List"))
		w.must(w.s.Client.List(w.t.Context(), list))
		if len(list.Items) == 0 {
			w.t.Fatalf("there is no %s", kind)
		}
		for _, o := range list.Items {
			if got := o.GetAPIVersion(); got != of(version, kind).GroupVersion().String() {
				w.t.Fatalf("%s %s has the apiVersion %s", kind, o.GetName(), got)
			}
			o.SetAPIVersion("")
			all[kind+" "+o.GetNamespace()+"/"+o.GetName()] = &o
		}
	}
	return all
}

// isSame waits until the manager writes nothing between two reads.
func (w *way) isSame() {
	w.t.Helper()
	poll.Until(w.t, "both versions have the same objects", func() string { return cmp.Diff(w.objects(alpha), w.objects(beta)) })
	table := func(resource, version string) (columns [][]string) {
		for line := range strings.Lines(w.kubectl("get", resource+"."+version+"."+v1alpha1.GroupVersion.Group, "-n", "demo")) {
			fields := strings.Fields(line)
			columns = append(columns, fields[:len(fields)-1]) // without the age
		}
		return columns
	}
	for resource := range kinds {
		poll.Until(w.t, "the same columns of "+resource, func() string { return cmp.Diff(table(resource, alpha), table(resource, beta)) })
	}
}
