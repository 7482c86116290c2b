// Package clitest has what the tests of the commands of cmd/postflight share: a program of some commands, consoles, servers and clusters
// that commands talk to, and runs.
package clitest

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	postflight "github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/access"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/test/build"
)

// The shell may have the variables of the local cluster. A test binary that runs as the program keeps those that its test set.
func init() {
	if os.Getenv("POSTFLIGHT_TEST_AS_PROGRAM") != "" {
		return
	}
	for _, name := range []string{
		"URL", "API_KEY", "API_KEY_FILE", "TOKEN_FILE", "ID_TOKEN", "TEAM", "AUDIENCE", "BRANCH", "SHA", "DEPLOYMENT_TYPE", "DEPLOYMENT_URL",
	} {
		_ = os.Unsetenv("POSTFLIGHT_" + name)
	}
}

// Noon is the time of clusters.
var Noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// Kubeconfig is that of an API server that does not answer.
const Kubeconfig = `{"apiVersion": "v1", "kind": "Config", "current-context": "c",
"clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}], "contexts": [{"name": "c", "context": {"cluster": "c"}}]}`

// Program makes the commands of a program.
type Program []func() *cobra.Command

// Invoke runs a command line, and returns what it printed and its exit code.
func (p Program) Invoke(t *testing.T, args ...string) (out, log string, code int) {
	t.Helper()
	return p.Run(t.Context(), strings.NewReader(""), args...)
}

// Run is Invoke with a context and standard input.
func (p Program) Run(ctx context.Context, in io.Reader, args ...string) (out, log string, code int) {
	var stdout, stderr bytes.Buffer
	root := &cobra.Command{Use: "postflight"}
	for _, command := range p {
		root.AddCommand(command())
	}
	root.SetIn(in)
	root.SetOut(&stdout)
	root.SetErr(&stderr)
	code = cli.Execute(ctx, root, args)
	return stdout.String(), stderr.String(), code
}

// Expect runs a command line, and checks its exit code and that its standard output and its standard error have each of these texts.
func (p Program) Expect(t *testing.T, code int, out, log []string, args ...string) (gotOut, gotLog string) {
	t.Helper()
	gotOut, gotLog, got := p.Invoke(t, args...)
	if got != code {
		t.Errorf("exit code %d, want %d:\n%s%s", got, code, gotOut, gotLog)
	}
	Contains(t, "standard output", gotOut, out...)
	Contains(t, "standard error", gotLog, log...)
	return gotOut, gotLog
}

// Console returns a console, its standard output and its standard error.
func Console() (*cli.Console, *bytes.Buffer, *bytes.Buffer) {
	out, err := &bytes.Buffer{}, &bytes.Buffer{}
	return &cli.Console{Out: out, Err: err}, out, err
}

// Server is a server by its client.
func Server(console *cli.Console, c *postflight.Client) access.Server {
	return access.Server{Output: cli.Output{Console: console}, Client: c}
}

// Cluster knows the user as ada.
func Cluster(console *cli.Console, objects ...client.Object) access.Cluster {
	c := fake.NewClientBuilder().WithScheme(access.NewScheme()).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if review, ok := o.(*authenticationv1.SelfSubjectReview); ok {
				review.Status.UserInfo.Username = "ada"
				return nil
			}
			return c.Create(ctx, o, opts...)
		},
	}).Build()
	return access.Cluster{
		Output: cli.Output{Console: console}, Client: c, Namespace: "acme", Pods: kubefake.NewClientset(), User: "admin@kubeconfig",
		Clock: clocktesting.NewFakePassiveClock(Noon),
	}
}

// Suite is a run that continues.
func Suite(name string, change ...func(*v1alpha1.Suite)) *v1alpha1.Suite {
	received := metav1.NewMicroTime(Noon.Add(-time.Minute))
	return build.With(&v1alpha1.Suite{
		ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: name, CreationTimestamp: metav1.NewTime(Noon.Add(-time.Minute))},
		Spec: v1alpha1.SuiteSpec{Trigger: v1alpha1.TriggerReference{Name: "smoke", UID: "old"}, Environment: "staging", Attempt: 1,
			Deployment: v1alpha1.Deployment{Branch: "main", SHA: "5ca1ab1e0ddba115ca1ab1e0ddba115ca1ab1e0d"}, ReceivedAt: &received},
		Status: v1alpha1.SuiteStatus{Conditions: []metav1.Condition{v1alpha1.Running("The pod runs.")}},
	}, change...)
}

// Failed ends a run by its exit code.
func Failed(s *v1alpha1.Suite) {
	s.Status.Conditions = []metav1.Condition{v1alpha1.Failed("Exit code 1.")}
}

// WithResults makes it a run of 120 tests, with a failure that is hostile to terminals.
func WithResults(s *v1alpha1.Suite) {
	s.Status.Conditions = []metav1.Condition{v1alpha1.Failed("3 of 120 tests failed.")}
	s.Status.StartTime, s.Status.CompletionTime = &metav1.Time{Time: Noon.Add(-time.Minute)}, &metav1.Time{Time: Noon}
	s.Status.Results = &v1alpha1.TestResults{
		Tests: 120, Passed: 113, Failed: 3, Skipped: 4, ComparedWith: "smoke-0", NewFailures: 1, KnownFailures: 2, Fixed: 2,
		Failures: []v1alpha1.TestFailure{
			{Name: "checkout › pays\x1b]0;owned\x07\r\n::error::x", File: "tests/checkout.spec.ts", Line: 12, Message: "expected\x1b[2J 200",
				History: v1alpha1.FailureNew},
			{Name: "login", History: v1alpha1.FailureKnown},
		}}
	s.Status.Artifacts = &v1alpha1.Artifacts{Count: 3, Bytes: 4_200_000, Prefix: "acme/x/"}
}

// ExitCode is that of an error, -1 without one.
func ExitCode(err error) int {
	var exit *cli.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.Code
	default:
		return -1
	}
}

// Contains checks that a text, such as standard output, has each of the wanted ones.
func Contains(t *testing.T, name, text string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		if !strings.Contains(text, want) {
			t.Errorf("%s has no %q:\n%s", name, want, text)
		}
	}
}

// Fails checks that there is an error that has each of these texts.
func Fails(t *testing.T, reason string, err error, wanted ...string) {
	t.Helper()
	Contains(t, reason+": the error", fmt.Sprint(err), wanted...)
}

// SameJSON checks that both are the same, whatever the order of their fields.
func SameJSON(t *testing.T, byServer, byCluster string) {
	t.Helper()
	var a, b any
	if err := errors.Join(json.Unmarshal([]byte(byServer), &a), json.Unmarshal([]byte(byCluster), &b)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("through the server (-) and the kubeconfig (+):\n%s", diff)
	}
}

// JUnitCases reads a report as CI systems do. It returns a line per test: its suite, its name and its failure.
func JUnitCases(t *testing.T, file string) []string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Suites []struct {
			Name  string `xml:"name,attr"`
			Cases []struct {
				Name    string `xml:"name,attr"`
				Failure *struct {
					Message string `xml:"message,attr"`
				} `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(content, &report); err != nil {
		t.Fatalf("%v:\n%s", err, content)
	}
	var lines []string
	for _, suite := range report.Suites {
		for _, c := range suite.Cases {
			line := suite.Name + "/" + c.Name
			if c.Failure != nil {
				line += " failed: " + c.Failure.Message
			}
			lines = append(lines, line)
		}
	}
	return lines
}
