package overview_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/server/api"
	"github.com/postflight-dev/postflight/test/apitest"
)

const environmentsPath = "/api/v0/environments"

func anEnvironment(name string, deployed ...v1alpha1.Deployed) *v1alpha1.Environment {
	return &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: apitest.Namespace},
		Spec:   v1alpha1.EnvironmentSpec{URL: "https://" + name + ".example.com", Variables: v1alpha1.Variables{"PASSWORD": "hunter2"}},
		Status: v1alpha1.EnvironmentStatus{Deployed: deployed}}
}

func TestGetEnvironment(t *testing.T) {
	since := time.Date(2026, 11, 20, 11, 0, 0, 0, time.UTC)
	whole := anEnvironment("whole", v1alpha1.Deployed{
		Repository: "acme/shop", SHA: apitest.SHA, Branch: "main", DeploymentType: "staging", Since: new(metav1.NewTime(since.Local())),
		ReportedBy: v1alpha1.ReportedByWorkload, Previous: &v1alpha1.PreviousDeployment{SHA: "b", Since: new(metav1.NewTime(since))},
		Ready: new(false), Message: "1 of 2 workloads has it.",
		Workloads: []v1alpha1.DeployedWorkload{{Kind: "Deployment", Namespace: apitest.Namespace, Name: "shop", UID: "u", Revision: "7",
			SHA: apitest.SHA, Ready: true,
			Message: "3 of 3", Digests: []v1alpha1.ImageDigest{{Container: "app", Digest: "sha256:9c1d"}}}},
	})
	whole.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse,
		Message: "There is no Deployment shop."}}
	preview := anEnvironment("preview")
	preview.Spec = v1alpha1.EnvironmentSpec{Ephemeral: &v1alpha1.EphemeralEnvironment{DeploymentURL: "https://pr-7.example.com",
		ExpiresAt: metav1.NewTime(since)}}
	theirs := anEnvironment("theirs")
	theirs.Namespace = "other"
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(whole, preview, theirs),
		Config: func(c *api.Config) { c.PublicURL = "https://ci.example.com/tools" }})
	for name, want := range map[string]httpapi.EnvironmentStatus{
		"whole": {Name: "whole", Team: apitest.Namespace, Namespace: apitest.Namespace, URL: "https://whole.example.com", Ready: new(false),
			Message: "There is no Deployment shop.",
			Deployed: []httpapi.Deployed{{Repository: "acme/shop", SHA: apitest.SHA, Branch: "main", DeploymentType: "staging", Since: &since,
				ReportedBy: "Workload", Previous: &httpapi.PreviousDeployment{SHA: "b", Since: &since},
				Ready: new(false), Message: "1 of 2 workloads has it.",
				Workloads: []httpapi.DeployedWorkload{{Kind: "Deployment", Namespace: apitest.Namespace, Name: "shop",
					Revision: "7", SHA: apitest.SHA, Ready: true, Message: "3 of 3",
					Digests: []httpapi.ImageDigest{{Container: "app", Digest: "sha256:9c1d"}}}}}},
			PageURL: "https://ci.example.com/tools/environments/acme/whole"},
		"preview": {Name: "preview", Team: apitest.Namespace, Namespace: apitest.Namespace, URL: "https://pr-7.example.com", Ephemeral: true,
			ExpiresAt: &since,
			Deployed:  []httpapi.Deployed{}, PageURL: "https://ci.example.com/tools/environments/acme/preview"},
	} {
		w := h.Exchange(apitest.Get(environmentsPath + "/" + name))
		if diff := cmp.Diff(want, apitest.Decode[httpapi.EnvironmentStatus](t, w)); w.Code != http.StatusOK || diff != "" {
			t.Errorf("%s: %d\n%s", name, w.Code, diff)
		}
		if strings.Contains(w.Body.String(), "hunter2") {
			t.Errorf("%s tells a variable", name)
		}
	}
	for _, path := range []string{"/theirs", "/nope", "/whole%2Fx", "/whole/x", "/..."} {
		if w := h.Exchange(apitest.Get(environmentsPath + path)); w.Code != http.StatusNotFound ||
			apitest.Decode[httpapi.Problem](t, w).FailureCode != "environment_not_found" {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	if log := h.Audit.String(); !strings.Contains(log, `"route":"/api/v0/environments/{name}"`) ||
		!strings.Contains(log, `"environment":"whole"`) {
		t.Errorf("the audit log is %s", log)
	}
}

// TestEnvironmentsThatWait: an Environment says why its runs wait. Runs of others do not matter.
func TestEnvironmentsThatWait(t *testing.T) {
	waits := func(name string, hold time.Duration) *v1alpha1.Environment {
		e := anEnvironment(name)
		e.Annotations = map[string]string{v1alpha1.AnnotationHeldBy: "ben"}
		e.Spec.Hold = &v1alpha1.EnvironmentHold{Until: metav1.NewTime(apitest.Noon.Add(hold)), Reason: "debugging 812"}
		e.Spec.Settle = &v1alpha1.EnvironmentSettle{Quiet: metav1.Duration{Duration: 2 * time.Minute}}
		return e
	}
	run := func(environment string, ago time.Duration) *v1alpha1.Suite {
		s := apitest.ARun(environment, 0)
		s.Namespace, s.Spec.Environment = apitest.Namespace, environment
		s.CreationTimestamp = metav1.NewTime(apitest.Noon.Add(-ago))
		s.Spec.ReceivedAt = new(metav1.NewMicroTime(apitest.Noon.Add(-ago)))
		return s
	}
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(waits("busy", time.Hour), waits("calm", 0), run("busy", time.Minute),
		run("calm", 2*time.Minute))})
	page := apitest.Decode[httpapi.EnvironmentList](t, h.Exchange(apitest.Get(environmentsPath)))
	want := map[string]httpapi.EnvironmentStatus{"calm": {}, "busy": {
		Hold: &httpapi.EnvironmentHold{Until: apitest.Noon.Add(time.Hour).Truncate(time.Second), Reason: "debugging 812", HeldBy: "ben"},
		Settling: &httpapi.EnvironmentSettling{LastDeployment: apitest.Noon.Add(-time.Minute), Until: apitest.Noon.Add(time.Minute),
			Latest: apitest.Noon.Add(9 * time.Minute)},
	}}
	for _, e := range page.Environments {
		if is, ok := want[e.Name]; ok {
			one := apitest.Decode[httpapi.EnvironmentStatus](t, h.Exchange(apitest.Get(environmentsPath+"/"+e.Name)))
			for _, e := range []httpapi.EnvironmentStatus{e, one} {
				if diff := cmp.Diff(is, httpapi.EnvironmentStatus{Hold: e.Hold, Settling: e.Settling}); diff != "" {
					t.Errorf("%s (-want +got):\n%s", e.Name, diff)
				}
			}
			delete(want, e.Name)
		}
	}
	if len(want) > 0 {
		t.Errorf("the list lacks %v", want)
	}
}

func TestListEnvironments(t *testing.T) {
	many := v1alpha1.Deployed{Workloads: make([]v1alpha1.DeployedWorkload, 2001)}
	for i := range many.Workloads {
		many.Workloads[i] = v1alpha1.DeployedWorkload{Kind: "Deployment", Namespace: apitest.Namespace, Name: "shop"}
	}
	theirs := anEnvironment("bb")
	theirs.Namespace = "other"
	h := apitest.Start(t, apitest.Setup{Objects: []client.Object{apitest.Team(apitest.Namespace), apitest.APIKey(apitest.GoodKey),
		anEnvironment("c"), anEnvironment("a"), theirs, anEnvironment("b", many), anEnvironment("d")}})
	for query, want := range map[string]string{
		"": "a b / c d", "?limit=1": "a / b / c / d", "?limit=3": "a b / c d", "?limit=2": "a b / c d", "?cursor=b": "c d", "?cursor=z": "",
	} {
		var pages []string
		for next := query; ; {
			w := h.Exchange(apitest.Get(environmentsPath + next))
			if w.Code != http.StatusOK {
				t.Fatalf("%s: %d %s", next, w.Code, w.Body)
			}
			page := apitest.Decode[httpapi.EnvironmentList](t, w)
			var names []string
			for _, e := range page.Environments {
				names = append(names, e.Name)
			}
			pages = append(pages, strings.Join(names, " "))
			if page.Next == "" {
				break
			}
			next = "?cursor=" + page.Next
			if strings.Contains(query, "limit") {
				next += "&" + query[1:]
			}
		}
		if got := strings.Join(pages, " / "); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	for _, query := range []string{"?limit=0", "?limit=101", "?name=a", "?cursor="} {
		if w := h.Exchange(apitest.Get(environmentsPath + query)); w.Code != http.StatusBadRequest {
			t.Errorf("%s: %d", query, w.Code)
		}
	}
	h = apitest.Start(t, apitest.Setup{Objects: []client.Object{apitest.Team(apitest.Namespace), apitest.APIKey(apitest.GoodKey)}})
	if w := h.Exchange(apitest.Get(environmentsPath)); w.Body.String() != `{"environments":[]}`+"\n" {
		t.Errorf("no Environments: %s", w.Body)
	}
}

func TestEnvironmentsUnavailable(t *testing.T) {
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme()})
	away := errors.New("the cache is not ready")
	h.Topics.Overview.Cache = interceptor.NewClient(h.Cluster, interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return away
		},
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return away },
	})
	for _, path := range []string{"", "/staging"} {
		if w := h.Exchange(apitest.Get(environmentsPath + path)); w.Code != http.StatusServiceUnavailable ||
			apitest.Decode[httpapi.Problem](t, w).FailureCode != "unavailable" {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}
