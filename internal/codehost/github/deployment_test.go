package github_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/codehost/github"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/outbound"
	"github.com/postflight-dev/postflight/test/codehost"
)

func deployment(c report.Credentials, state string, newest bool) report.DeploymentRequest {
	r := request(c, "", "")
	r.Check, r.Purpose = report.Check{}, report.Deployments
	return report.DeploymentRequest{Request: r, Deployment: report.Deployment{
		Environment: "staging", URL: "https://staging.example.com", LogURL: "https://ci.example.com/runs/acme/smoke-1",
		State: state, Description: "smoke: " + state, Newest: newest,
	}}
}

// deploys repeats a request until the host shows it, and returns the number of calls.
func deploys(t *testing.T, h *github.Host, r report.DeploymentRequest) (id int64, calls int) {
	t.Helper()
	for more := true; more; calls++ {
		var err error
		if id, more, err = h.Deploy(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		r.ID = id
	}
	return id, calls
}

func TestDeployments(t *testing.T) {
	want := map[string]string{
		v1alpha1.ReasonPassed: "success", v1alpha1.ReasonFailed: "failure", v1alpha1.ReasonTimedOut: "failure",
		v1alpha1.ReasonCanceled: "error", v1alpha1.ReasonSuperseded: "inactive", v1alpha1.ReasonError: "error", "Unknown": "error",
	}
	for _, end := range ends {
		fake := codehost.GitHub(t)
		h := github.New(fake.URL, outbound.New())
		id, calls := deploys(t, h, deployment(token(fake), v1alpha1.ReasonRunning, true))
		if calls != 2 {
			t.Errorf("%s: %d calls create a deployment and its state", end, calls)
		}
		r := deployment(token(fake), end, true)
		r.ID = id
		deploys(t, h, r)
		deploys(t, h, r) // repeated after an answer that was lost
		if diff := cmp.Diff([][]string{{"in_progress", want[end]}}, fake.Deployments("staging", sha)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", end, diff)
		}
		if last := fake.DeploymentWrites()[2]; last.URL != r.Deployment.LogURL || last.Body["environment_url"] != r.Deployment.URL {
			t.Errorf("got %+v", last)
		}
	}
}

// TestDeploymentOfAnotherProgram: a deployment that a pipeline has created is used, and no second one is created.
func TestDeploymentOfAnotherProgram(t *testing.T) {
	for name, credentials := range map[string]func(*codehost.Host) report.Credentials{
		"app": func(*codehost.Host) report.Credentials { return app() }, "token": token,
	} {
		t.Run(name, func(t *testing.T) {
			fake := codehost.GitHub(t)
			known := fake.HasDeployment("acme/shop", "staging", sha, "success")
			fake.HasDeployment("acme/shop", "production", sha, "success")
			h := github.New(fake.URL, outbound.New())
			if id, calls := deploys(t, h, deployment(credentials(fake), v1alpha1.ReasonRunning, true)); id != known || calls != 1 {
				t.Errorf("got the deployment %d after %d calls, want %d", id, calls, known)
			}
			if diff := cmp.Diff([][]string{{"success", "in_progress"}}, fake.Deployments("staging", sha)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestOlderDeployment: a run of an earlier commit, or a stopped run, creates nothing, and ends no newer deployment.
func TestOlderDeployment(t *testing.T) {
	fake := codehost.GitHub(t)
	h := github.New(fake.URL, outbound.New())
	older, _ := deploys(t, h, deployment(token(fake), v1alpha1.ReasonRunning, true))
	newer := deployment(token(fake), v1alpha1.ReasonPassed, true)
	newer.SHA = "b" + sha[1:]
	deploys(t, h, newer)
	late := deployment(token(fake), v1alpha1.ReasonPassed, false)
	late.ID = older
	deploys(t, h, late)
	if diff := cmp.Diff([][]string{{"success"}}, fake.Deployments("staging", newer.SHA)); diff != "" {
		t.Errorf("the newer one (-want +got):\n%s", diff)
	}
	before := len(fake.Requests())
	for _, r := range []report.DeploymentRequest{
		deployment(token(fake), v1alpha1.ReasonPassed, false), deployment(token(fake), v1alpha1.ReasonCanceled, true), deployment(token(fake),
			v1alpha1.ReasonSuperseded, true),
	} {
		r.Deployment.Environment = "other"
		if id, _ := deploys(t, h, r); id != 0 || len(fake.Requests()) != before {
			t.Errorf("%s: got the deployment %d after %d requests", r.Deployment.State, id, len(fake.Requests())-before)
		}
	}
}

func TestDeploymentRefused(t *testing.T) {
	fake := codehost.GitHub(t)
	fake.Fail(&codehost.Fault{Status: 403, Body: `{"message":"Resource not accessible by integration"}`})
	for who, c := range map[string]report.Credentials{"App": app(), "token": token(fake)} {
		want := "GitHub does not allow these credentials to write deployments in acme/shop (403 Resource not accessible by integration); " +
			"the " + who + " needs the permission to read and write deployments there"
		_, _, err := github.New(fake.URL, outbound.New()).Deploy(t.Context(), deployment(c, v1alpha1.ReasonRunning, true))
		if got := problem(t, err); got.Kind != report.Rejected || got.Message != want {
			t.Errorf("got %q, want %q", got.Message, want)
		}
	}
}
