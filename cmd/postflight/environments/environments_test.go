package environments

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/cmd/postflight/access"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/test/clitest"
)

var program = clitest.Program{New}

// stagingEnvironment has a repository that is not rolled out, and names that are hostile to terminals.
func stagingEnvironment() *v1alpha1.Environment {
	return &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "staging"},
		Spec: v1alpha1.EnvironmentSpec{URL: "https://staging.example.com"},
		Status: v1alpha1.EnvironmentStatus{
			Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Message: "There is no Deployment cart."}},
			Deployed: []v1alpha1.Deployed{
				{Repository: "acme/pay", SHA: "v4\x1b[2J", ReportedBy: v1alpha1.ReportedByNotification},
				{Repository: "acme/shop", SHA: "5ca1ab1e0ddba115ca1ab1e0ddba115ca1ab1e0d", Branch: "main", DeploymentType: "web",
					Since:      &metav1.Time{Time: clitest.Noon.Add(-42 * time.Minute)},
					ReportedBy: v1alpha1.ReportedByWorkload, Previous: &v1alpha1.PreviousDeployment{SHA: "4c2f"}, Ready: new(false),
					Message: "1 of 2 workloads has it.", Workloads: []v1alpha1.DeployedWorkload{
						{Kind: "Deployment", Namespace: "acme", Name: "shop", SHA: "5ca1ab1e0ddba115ca1ab1e0ddba115ca1ab1e0d", Ready: true},
						{Kind: "Deployment", Namespace: "acme", Name: "jobs", SHA: "77d01b5e00000000000000000000000000000007"}}},
				{Repository: "acme/wiki", Workloads: []v1alpha1.DeployedWorkload{{Kind: "Deployment", Namespace: "acme", Name: "wiki"}}},
			}}}
}

func TestEnvironmentsByServer(t *testing.T) {
	staging := record.EnvironmentOf("acme", stagingEnvironment(), clitest.Noon)
	staging.PageURL = "/environments/acme/staging"
	empty := httpapi.EnvironmentStatus{Name: "production", Team: "acme", Namespace: "acme", Deployed: []httpapi.Deployed{}}
	elsewhere := httpapi.EnvironmentStatus{Name: "prod-eu", Team: "acme", Namespace: "acme", Cluster: "eu", Deployed: []httpapi.Deployed{}}
	for name, tc := range map[string]struct {
		environments []httpapi.EnvironmentStatus
		args         string
		code         int
		out, log     []string
		sent         string
	}{
		"list": {environments: []httpapi.EnvironmentStatus{empty, staging}, args: "environments list", sent: "GET /api/v0/environments?limit=100",
			out: []string{"production    -", "staging       acme/shop    5ca1ab1e0ddb   main", "Workload       Incomplete", "several",
				"acme/pay     v4"}, log: []string{"staging: There is no Deployment cart."}},
		"list of none": {args: "env ls", log: []string{"There are no Environments of your team."}},
		"show": {environments: []httpapi.EnvironmentStatus{staging}, args: "environments show staging", sent: "GET /api/v0/environments/staging",
			out: []string{"Problem:       There is no Deployment cart.", "5ca1ab1e0ddba115ca1ab1e0ddba115ca1ab1e0d",
				"Incomplete: 1 of 2 workloads has it.", "/environments/acme/staging",
				"Deployment acme/shop: ready\n", "Deployment acme/jobs with 77d01b5e0000: not ready", "Before:        4c2f", "2026-11-2"}},
		"list of a hub": {environments: []httpapi.EnvironmentStatus{empty, elsewhere}, args: "environments list", out: []string{"prod-eu"},
			log: []string{"prod-eu is in the cluster eu: \"postflight environments show\" with its name asks there.\n"}},
		"show nothing": {environments: []httpapi.EnvironmentStatus{empty}, args: "environments show production",
			out: []string{"nothing is known: notify after each deployment"}},
		"show as YAML": {environments: []httpapi.EnvironmentStatus{staging}, args: "environments show staging -o yaml",
			out: []string{"reportedBy: Workload"}},
		"show another team's": {args: "environments show nope", code: 1,
			log: []string{"The team has no such Environment. [404 environment_not_found, eventId E1]"}},
		"both ways":           {args: "environments list --url http://x -n acme", code: 3, log: []string{"use one of them"}},
		"show without a name": {args: "environments show", code: 3, log: []string{"environments show NAME"}},
		"another word for all": {environments: []httpapi.EnvironmentStatus{empty}, args: "environment list -o json",
			out: []string{`"deployed": []`}},
	} {
		t.Run(name, func(t *testing.T) {
			api := &clitest.API{Environments: tc.environments}
			if api.Environments == nil {
				api.Environments = []httpapi.EnvironmentStatus{}
			}
			api.Start(t)
			out, _ := program.Expect(t, tc.code, tc.out, tc.log, strings.Fields(tc.args)...)
			if strings.Contains(out, "\x1b") {
				t.Errorf("standard output is not clean: %q", out)
			}
			if tc.sent != "" && !cmp.Equal(api.Requests, []string{tc.sent}) {
				t.Errorf("requests: %q", api.Requests)
			}
		})
	}
}

// environmentsOn are the options of a command about the Environments of a cluster.
func environmentsOn(c access.Cluster) Options {
	return Options{Output: c.Output, Source: &Cluster{Cluster: &c}, Scope: "in the namespace acme",
		Now: func() time.Time { return clitest.Noon }}
}

// TestEnvironmentsAreTheSameBothWays compares what commands print through the server and through the kubeconfig.
func TestEnvironmentsAreTheSameBothWays(t *testing.T) {
	team := &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: "acme"}, Spec: v1alpha1.TeamSpec{Namespace: "acme"}}
	(&clitest.API{Environments: []httpapi.EnvironmentStatus{record.EnvironmentOf("acme", stagingEnvironment(), clitest.Noon)}}).Start(t)
	for args, run := range map[string]func(Options) error{
		"list": func(o Options) error {
			return (&ListOptions{Options: o}).Run(t.Context())
		},
		"show staging": func(o Options) error {
			return (&ShowOptions{Options: o}).Run(t.Context(), "staging")
		},
	} {
		t.Run(args, func(t *testing.T) {
			byServer, _, code := program.Invoke(t, strings.Fields("environments "+args+" -o json")...)
			c, out, _ := clitest.Console()
			c.JSON = true
			if err := run(environmentsOn(clitest.Cluster(c, stagingEnvironment(), team))); err != nil || code != 0 {
				t.Fatalf("%v, exit code %d", err, code)
			}
			clitest.SameJSON(t, byServer, out.String())
		})
	}
}

// TestEnvironmentsThatWait: both commands say why runs wait.
func TestEnvironmentsThatWait(t *testing.T) {
	e := stagingEnvironment()
	e.Annotations = map[string]string{v1alpha1.AnnotationHeldBy: "ben"}
	e.Spec.Hold = &v1alpha1.EnvironmentHold{Until: metav1.NewTime(clitest.Noon.Add(time.Hour)), Reason: "debugging 812"}
	e.Spec.Settle = &v1alpha1.EnvironmentSettle{Quiet: metav1.Duration{Duration: 2 * time.Minute}}
	run := &v1alpha1.Suite{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "run"},
		Spec: v1alpha1.SuiteSpec{Environment: "staging", ReceivedAt: new(metav1.NewMicroTime(clitest.Noon.Add(-time.Minute)))}}
	const hold = "until 13:00 UTC: debugging 812, by ben"
	const settling = "the last deployment was at 11:59:00 UTC; " +
		"runs start at 12:01:00 UTC unless another follows, at 12:09:00 UTC at the latest"
	c, out, log := clitest.Console()
	o := environmentsOn(clitest.Cluster(c, e, run))
	if err := (&ListOptions{Options: o}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"staging is on hold " + hold + ".\n", "staging has to settle: " + settling + ".\n"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("list says\n%s, and not %q", log, want)
		}
	}
	if !regexp.MustCompile(`HOLD\n.* until 13:00 UTC\n`).MatchString(out.String()) {
		t.Errorf("the list has no hold:\n%s", out)
	}
	out.Reset()
	c.JSON = true
	if err := (&ListOptions{Options: o}).Run(t.Context()); err != nil || !strings.Contains(out.String(), `"reason": "debugging 812"`) {
		t.Errorf("%v: JSON has no hold:\n%s", err, out)
	}
	c.JSON = false
	if err := (&ShowOptions{Options: o}).Run(t.Context(), "staging"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"On hold:       " + hold + "\n", "Settling:      " + settling + "\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("show says\n%s, and not %q", out, want)
		}
	}
}

func TestEnvironmentsByCluster(t *testing.T) {
	c, out, log := clitest.Console()
	elsewhere := &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "prod-eu"},
		Spec: v1alpha1.EnvironmentSpec{Cluster: "eu"}}
	o := environmentsOn(clitest.Cluster(c, stagingEnvironment(), elsewhere))
	if err := (&ListOptions{Options: o}).Run(t.Context()); err != nil || !strings.Contains(out.String(), "42m") {
		t.Errorf("%v: %s", err, out)
	}
	clitest.Contains(t, "standard error", log.String(), "prod-eu is in the cluster eu: to ask there, set POSTFLIGHT_URL")
	clitest.Fails(t, "an unknown name", (&ShowOptions{Options: o}).Run(t.Context(), "nope"),
		`there is no Environment "nope" in the namespace acme`)
	clitest.Fails(t, "an unknown namespace", (&ListOptions{Options: environmentsOn(clitest.Cluster(c))}).Run(t.Context()),
		"the namespace acme does not exist")
}

// TestEnvironmentsThen: what was deployed, through the server and through the kubeconfig.
func TestEnvironmentsThen(t *testing.T) {
	then := httpapi.EnvironmentStatus{Name: "staging", Team: "acme", Namespace: "acme", At: new(clitest.Noon.Add(-time.Hour)),
		Deployed: []httpapi.Deployed{{Repository: "acme/shop", SHA: "4c2f", Since: new(clitest.Noon.Add(-2 * time.Hour)),
			ReportedBy: "Workload"}, {Repository: "acme/pay", Message: "The workloads had several commits."}}}
	nothing := httpapi.EnvironmentStatus{Name: "staging", Team: "acme", Namespace: "acme", At: new(clitest.Noon.Add(-time.Hour)),
		Deployed: []httpapi.Deployed{}}
	for name, tc := range map[string]struct {
		e        httpapi.EnvironmentStatus
		args     []string
		code     int
		out, log string
		sent     string
	}{
		"at a time": {then, []string{"show", "staging", "--at", "2025-11-24 10:00"}, 0, "Commit:        4c2f", "",
			"GET /api/v0/environments/staging?at=2025-11-24T10%3A00%3A00Z"},
		"several": {then, []string{"show", "staging", "--at", "2025-11-24T11:00+01:00"}, 0,
			"not known: The workloads had several commits.", "", "GET /api/v0/environments/staging?at=2025-11-24T10%3A00%3A00Z"},
		"nothing": {nothing, []string{"show", "staging", "--at", "2025-11-24"}, 0, "nothing is known of that time", "",
			"GET /api/v0/environments/staging?at=2025-11-24T00%3A00%3A00Z"},
		"no time":       {then, []string{"show", "staging", "--at", "tuesday"}, 3, "", "--at: \"tuesday\" is no time", ""},
		"in the future": {then, []string{"show", "staging", "--at", "2099-01-01"}, 3, "", "in the future", ""},
		"history": {then, []string{"history", "staging", "--since", "2025-11-24", "--limit", "2"}, 0, "2026-11-20T10:00:00Z   now ",
			"There are older ones", "GET /api/v0/environments/staging/deployments?limit=2&since=2025-11-24T00%3A00%3A00Z"},
		"too many":       {then, []string{"history", "staging", "--limit", "1000"}, 3, "", "from 1 to 200", ""},
		"without a name": {then, []string{"history"}, 3, "", "history NAME", ""},
	} {
		t.Run(name, func(t *testing.T) {
			api := &clitest.API{Environments: []httpapi.EnvironmentStatus{tc.e}}
			api.Start(t)
			program.Expect(t, tc.code, []string{tc.out}, []string{tc.log}, append([]string{"environments"}, tc.args...)...)
			if tc.sent != "" && !cmp.Equal(api.Requests, []string{tc.sent}) {
				t.Errorf("requests: %q", api.Requests)
			}
		})
	}
	for at, want := range map[string]string{"10m": "5ca1ab1e0ddba115ca1ab1e0ddba115ca1ab1e0d", "3h": "the cluster does not know"} {
		console, out, _ := clitest.Console()
		err := (&ShowOptions{Options: environmentsOn(clitest.Cluster(console, stagingEnvironment())), At: at}).Run(t.Context(), "staging")
		if err != nil {
			out.WriteString(err.Error())
		}
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s: %s", at, out)
		}
	}
	console, out, log := clitest.Console()
	if err := (&HistoryOptions{Options: environmentsOn(clitest.Cluster(console, stagingEnvironment())), Limit: 5}).Run(t.Context(),
		"staging"); err != nil || !strings.Contains(out.String(), "5ca1ab1e0ddb") || !strings.Contains(log.String(), "POSTFLIGHT_URL") {
		t.Errorf("%v\n%s\n%s", err, out, log)
	}
}
