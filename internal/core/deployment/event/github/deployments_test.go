package github_test

import (
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/test/payload"
)

// TestDeployments: which deployments count, by what made them. The job of the event is that of a job that only reads secrets.
func TestDeployments(t *testing.T) {
	names := func(workflows, jobs, tasks []string) v1alpha1.DeploymentMakers {
		return v1alpha1.DeploymentMakers{Workflows: workflows, Jobs: jobs, Tasks: tasks}
	}
	only := func(m v1alpha1.DeploymentMakers) *v1alpha1.EventDeployments {
		return &v1alpha1.EventDeployments{DeploymentMakers: m}
	}
	except := func(m v1alpha1.DeploymentMakers) *v1alpha1.EventDeployments {
		return &v1alpha1.EventDeployments{Exclude: &m}
	}
	reads := values{"check_run.name": "read staging configuration", "workflow_run.name": "Deploy the shop"}
	api := values{"check_run": nil, "workflow_run": nil, "deployment.task": "deploy:migrations"}
	const job, workflow = `The job "read staging configuration" of the workflow "Deploy the shop", with the task "deploy"`, "Deploy the shop"
	for name, tc := range map[string]struct {
		reason      string
		changes     values
		deployments *v1alpha1.EventDeployments
		says        string // empty: it counts
	}{
		"not selected":         {"each deployment counts", reads, nil, ""},
		"another job is named": {"this one deploys nothing", reads, only(names(nil, []string{"deploy"}, nil)), job + ", is left out by spec.deployments.jobs"},
		"the job is excluded":  {"this one deploys nothing", reads, except(names(nil, []string{"read*"}, nil)), job + ", is left out by spec.deployments.exclude.jobs"},
		"the job is named":     {"names are compared exactly", reads, only(names(nil, []string{"a", "read staging configuration"}, nil)), ""},
		"in another case":      {"names are compared exactly", reads, only(names(nil, []string{"Read staging configuration"}, nil)), "left out"},
		"a part of its name":   {"only a star makes a beginning", reads, except(names(nil, []string{"read"}, nil)), ""},
		"of a matrix": {"a beginning has all jobs of it", values{"check_run.name": "deploy (eu, 2)"},
			only(names(nil, []string{"deploy (*"}, nil)), ""},
		"the workflow by name":       {"people know it", reads, only(names([]string{workflow}, nil, nil)), ""},
		"the workflow by file":       {"the name may change", reads, only(names([]string{"deploy.yml"}, nil, nil)), ""},
		"the workflow by path":       {"as GitHub writes it", reads, only(names([]string{".github/workflows/deploy.yml"}, nil, nil)), ""},
		"the file at a ref":          {"GitHub adds it at times", values{"workflow_run.path": ".github/workflows/deploy.yml@main"}, only(names([]string{"deploy.yml"}, nil, nil)), ""},
		"another workflow":           {"it is not listed", reads, only(names([]string{"release.yml"}, nil, nil)), "spec.deployments.workflows"},
		"an excluded workflow":       {"it is listed", reads, except(names([]string{"deploy.yml"}, nil, nil)), "spec.deployments.exclude.workflows"},
		"workflow and job":           {"both must be listed", reads, only(names([]string{"deploy.yml"}, []string{"deploy"}, nil)), "spec.deployments.jobs"},
		"no job":                     {"another service deployed, and only jobs are listed", api, only(names(nil, []string{"*"}, nil)), `A deployment of no job, with the task "deploy:migrations", is left out by spec.deployments.jobs`},
		"no job, nor excluded":       {"it has no name that a list could have", api, except(names([]string{"*"}, []string{"*"}, nil)), ""},
		"another task":               {"it is not listed", api, only(names(nil, nil, []string{"deploy"})), "spec.deployments.tasks"},
		"tasks that begin like this": {"a beginning has them", api, except(names(nil, nil, []string{"deploy:*"})), "spec.deployments.exclude.tasks"},
		"two spaces, and named so": {"the list has the name as it is written", values{"check_run.name": "Deploy  (eu) "},
			only(names(nil, []string{"Deploy  (eu) "}, nil)), ""},
		"two spaces, and named with one": {"names are compared exactly", values{"check_run.name": "Deploy  (eu)"},
			only(names(nil, []string{"Deploy (eu)"}, nil)), `The job "Deploy (eu)"`},
		"a workflow with an odd space": {"names are compared exactly", values{"workflow_run.name": "Deploy\u00a0the\tshop"},
			except(names([]string{"Deploy\u00a0the\tshop"}, nil, nil)), "spec.deployments.exclude.workflows"},
		"a long job": {"it is cut only where it is shown", values{"check_run.name": strings.Repeat("deploy, ", 200) + "eu"},
			except(names(nil, []string{strings.Repeat("deploy, ", 31) + "*"}, nil)), "spec.deployments.exclude.jobs"},
		"a long task that is another": {"it is cut only where it is shown", values{"deployment.task": strings.Repeat("x", 2000)},
			only(names(nil, nil, []string{strings.Repeat("x", 250) + "*"})), ""},
		"a broken name": {"the rest of it is compared", values{"check_run.name": "read\ufffd secrets"},
			except(names(nil, []string{"read*"}, nil)), "spec.deployments.exclude.jobs"},
		"a hostile name": {"it is shown to people", values{"check_run.name": "a\u202e\n::error::b"}, only(names(nil, []string{"deploy"}, nil)),
			`The job "a; ::error::b"`},
	} {
		t.Run(name, func(t *testing.T) {
			body := payload.With(t, "deployment_status.json", tc.changes)
			got := decode(t, "deployment_status", body, event.Options{Deployments: tc.deployments})
			if (got.Notification != nil) != (tc.says == "") || !strings.Contains(got.Ignored, tc.says) {
				t.Errorf("%s: %+v, want %q", tc.reason, got, tc.says)
			}
			if got.Ignored != "" && !strings.HasSuffix(got.Ignored, ".") {
				t.Errorf("%q is no sentence", got.Ignored)
			}
		})
	}
}
