package runs

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	crclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	postflight "github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/access"
	"github.com/postflight-dev/postflight/test/clitest"
)

// onCluster are the options of a command about the runs of a cluster.
func onCluster(c access.Cluster) Options {
	return Options{Output: c.Output, Source: &ClusterRuns{Cluster: &c}, Now: func() time.Time { return clitest.Noon }}
}

func TestRunsCancel(t *testing.T) {
	for _, tc := range []struct {
		reviews bool
		want    string
	}{{true, "ada"}, {false, "admin@kubeconfig"}} {
		c, _, log := clitest.Console()
		r := clitest.Cluster(c, clitest.Suite("a"), clitest.Suite("b", clitest.Failed))
		if !tc.reviews {
			r.Client = interceptor.NewClient(r.Client.(crclient.WithWatch), interceptor.Funcs{
				Create: func(context.Context, crclient.WithWatch, crclient.Object, ...crclient.CreateOption) error {
					return errors.New("no such kind")
				},
			})
		}
		o, source := &CancelOptions{Options: onCluster(r)}, &ClusterRuns{Cluster: &r}
		if err := o.Run(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		s, _ := source.getSuite(t.Context(), "a")
		if !s.Spec.Cancel || s.Annotations[v1alpha1.AnnotationCanceledBy] != tc.want {
			t.Errorf("cancel %v by %q, want by %q", s.Spec.Cancel, s.Annotations[v1alpha1.AnnotationCanceledBy], tc.want)
		}
		clitest.Fails(t, "a run that has ended", o.Run(t.Context(), "b"), "has already ended: Failed")
		s.Status.Conditions = []metav1.Condition{v1alpha1.Canceled("By ada.")}
		if err := errors.Join(r.Client.Update(t.Context(), s), o.Run(t.Context(), "a")); err != nil ||
			!strings.Contains(log.String(), "was canceled before") {
			t.Errorf("a run that was canceled: %v\n%s", err, log)
		}
	}
}

// TestRunsWhy: the status of a run already says what happened, and what to do.
func TestRunsWhy(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		run    string
		want   []string
		not    string
	}{
		"failed":  {"the rest is named", "b", []string{"State:    Failed", "\nWhat to do:\n", "-n acme", "\nLeft out:\n", "set POSTFLIGHT_URL"}, "Log of"},
		"running": {"nothing is left out", "a", []string{"State:    Running", "postflight runs logs a -n acme -f"}, "Left out"},
	} {
		t.Run(name, func(t *testing.T) {
			c, out, _ := clitest.Console()
			o := &WhyOptions{onCluster(clitest.Cluster(c, clitest.Suite("a"), clitest.Suite("b", clitest.Failed)))}
			if err := o.Run(t.Context(), tc.run); err != nil {
				t.Fatal(err)
			}
			clitest.Contains(t, tc.reason, out.String(), tc.want...)
			if strings.Contains(out.String(), tc.not) {
				t.Errorf("%s: %s", tc.reason, out)
			}
			clitest.Fails(t, "there is no such run", o.Run(t.Context(), "none"), "none")
		})
	}
}

func TestRunsListAndShow(t *testing.T) {
	c, out, _ := clitest.Console()
	other := clitest.Suite("z")
	other.Namespace = "other"
	newer := clitest.Suite("b", clitest.Failed, func(s *v1alpha1.Suite) { s.CreationTimestamp = metav1.NewTime(clitest.Noon) })
	r := onCluster(clitest.Cluster(c, clitest.Suite("a"), newer, other))
	if err := (&ListOptions{Options: r}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[1], "b ") || !strings.HasPrefix(lines[2], "a ") ||
		!strings.Contains(lines[1], "5ca1ab1e0ddb ") {
		t.Errorf("want b and then a:\n%s", out)
	}
	out.Reset()
	r.Source.(*ClusterRuns).All = true
	list := &ListOptions{Options: r, AllNamespaces: true, RunFilter: postflight.RunFilter{State: "Running"}, Limit: 1}
	if err := list.Run(t.Context()); err != nil || strings.Count(out.String(), "Running") != 1 {
		t.Errorf("%v:\n%s", err, out)
	}
	r.Source.(*ClusterRuns).All = false
	out.Reset()
	if err := (&ShowOptions{Options: r}).Run(t.Context(), "b"); err != nil || !strings.Contains(out.String(), "Exit code 1.") {
		t.Errorf("%v:\n%s", err, out)
	}
}

// The age is that from the creation, as kubectl shows it, even if the notification was received earlier.
func TestRunsListAge(t *testing.T) {
	c, out, _ := clitest.Console()
	run := clitest.Suite("a", func(s *v1alpha1.Suite) {
		s.Spec.ReceivedAt = new(metav1.NewMicroTime(clitest.Noon.Add(-time.Hour)))
		s.CreationTimestamp = metav1.NewTime(clitest.Noon.Add(-3 * time.Minute))
	})
	if err := (&ListOptions{Options: onCluster(clitest.Cluster(c, run))}).Run(t.Context()); err != nil ||
		!strings.Contains(out.String(), " 3m ") {
		t.Errorf("%v:\n%s", err, out)
	}
}

func TestRunsListChecks(t *testing.T) {
	cases := map[string]string{"": "", "timedout": "TimedOut", "bogus": "!"}
	for _, state := range v1alpha1.States() {
		cases[state] = state
	}
	for state, want := range cases {
		o := &ListOptions{RunFilter: postflight.RunFilter{State: state}}
		if err := o.Check(); (err != nil) != (want == "!") || err == nil && o.State != want {
			t.Errorf("%q: %q, %v, want %q", state, o.State, err, want)
		}
	}
	if err := (&ListOptions{RunFilter: postflight.RunFilter{SHA: "5ca1ab"}}).Check(); err == nil {
		t.Error("a commit of 6 characters was taken")
	}
}

func TestRunsShowVariablesAndInputs(t *testing.T) {
	c, out, _ := clitest.Console()
	run := clitest.Suite("a", func(s *v1alpha1.Suite) {
		s.Spec.Variables = v1alpha1.Variables{"REGION": "eu", "GITHUB_TOKEN": "hush", "apiKey": "hush"}
		s.Status.Inputs = []v1alpha1.SuiteInput{{Path: "builds/app.apk", Size: 1_500_000}}
	})
	if err := (&ShowOptions{Options: onCluster(clitest.Cluster(c, run))}).Run(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"REGION=eu", "GITHUB_TOKEN=***", "apiKey=***", "builds/app.apk (1.5 MB)"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	if strings.Contains(out.String(), "hush") {
		t.Errorf("a secret is shown:\n%s", out)
	}
}

// TestCommandsInTheNamespace: what the cluster's way advises works when it is pasted.
func TestCommandsInTheNamespace(t *testing.T) {
	c, out, log := clitest.Console()
	kept := clitest.Suite("a", clitest.Failed, func(s *v1alpha1.Suite) { s.Status.PodsKeptUntil = &metav1.Time{Time: clitest.Noon} })
	trigger := &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "smoke", UID: "new"}}
	o := onCluster(clitest.Cluster(c, kept, trigger))
	if err := errors.Join((&ShowOptions{Options: o}).Run(t.Context(), "a"), (&RerunOptions{Options: o}).Run(t.Context(), "a")); err != nil {
		t.Fatal(err)
	}
	clitest.Contains(t, "standard output", out.String(), "for: postflight debug a -n acme")
	if !regexp.MustCompile(`Follow it: postflight runs logs -f \S+ -n acme`).MatchString(log.String()) {
		t.Errorf("no namespace in %s", log)
	}
}

// TestRunsOfAHub: without runs, the list says which Environments are in other clusters, and that the kubeconfig does not lead there.
func TestRunsOfAHub(t *testing.T) {
	place := func(name, cluster string) *v1alpha1.Environment {
		return &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: name},
			Spec: v1alpha1.EnvironmentSpec{Cluster: cluster}}
	}
	const eu, us = "prod-eu is in the cluster eu: to ask there, set POSTFLIGHT_URL", "prod-us is in the cluster us"
	for environment, want := range map[string][2]bool{"": {true, true}, "prod-eu": {true, false}, "dev": {false, false}} {
		c, _, log := clitest.Console()
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "acme"}}
		o := onCluster(clitest.Cluster(c, namespace, place("dev", ""), place("prod-eu", "eu"), place("prod-us", "us")))
		if err := (&ListOptions{Options: o, RunFilter: postflight.RunFilter{Environment: environment}}).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := [2]bool{strings.Contains(log.String(), eu), strings.Contains(log.String(), us)}; got != want ||
			strings.Contains(log.String(), "dev is") {
			t.Errorf("of the Environment %q: %s", environment, log)
		}
	}
}

// TestFilesNeedTheServer: the kubeconfig does not lead to the store.
func TestFilesNeedTheServer(t *testing.T) {
	c, _, _ := clitest.Console()
	o := onCluster(clitest.Cluster(c, clitest.Suite("a", clitest.WithResults)))
	for name, err := range map[string]error{
		"list":     (&RunsArtifactsListOptions{Options: o}).Run(t.Context(), "a"),
		"download": (&DownloadOptions{Options: o}).Run(t.Context(), "a", nil),
	} {
		clitest.Fails(t, name, err, "set POSTFLIGHT_URL")
	}
}

// TestJSONIsTheSameBothWays compares what commands print through the server and through the kubeconfig.
func TestJSONIsTheSameBothWays(t *testing.T) {
	s := clitest.Suite("smoke-1", clitest.WithResults)
	team := &v1alpha1.Team{}
	team.Name, team.Spec.Namespace = "acme", "acme"
	api := &clitest.API{Runs: []httpapi.Run{clitest.Run("smoke-1", clitest.WithResults)}}
	api.Runs[0].URL = "" // a cluster does not know it
	api.Start(t)
	for name, run := range map[string]func(Options) error{
		"runs list": func(o Options) error { return (&ListOptions{Options: o}).Run(t.Context()) },
		"runs show": func(o Options) error { return (&ShowOptions{Options: o}).Run(t.Context(), "smoke-1") },
		"runs results": func(o Options) error {
			return (&ResultsOptions{Options: o}).Run(t.Context(), "smoke-1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			byServer, _, code := program.Invoke(t, append(strings.Fields(name),
				map[bool][]string{true: {"-o", "json"}, false: {"smoke-1", "-o", "json"}}[name == "runs list"]...)...)
			c, out, _ := clitest.Console()
			c.JSON = true
			if err := run(onCluster(clitest.Cluster(c, s.DeepCopy(), team))); err != nil || code != 0 {
				t.Fatalf("%v, exit code %d", err, code)
			}
			clitest.SameJSON(t, byServer, out.String())
		})
	}
}
