package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/cmd/postflight/access"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/cmd/postflight/keys"
	"github.com/postflight-dev/postflight/cmd/postflight/runs"
	"github.com/postflight-dev/postflight/test/clitest"
)

// onCluster are the options of a command about the runs of a cluster.
func onCluster(c access.Cluster) runs.Options {
	return runs.Options{Output: c.Output, Source: &runs.ClusterRuns{Cluster: &c}, Now: func() time.Time { return clitest.Noon }}
}

// hostile moves cursors, sets titles, starts lines that CI systems obey, and turns text around.
const hostile = "a\x1b]0;owned\x07\x1b[2J\r\n::set-output name=x::y\u009b31m\u202e\u200b\u2028z"

func harmless(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r != ' ' && !unicode.IsPrint(r) }) && !strings.HasPrefix(text, "::")
}

// Untrusted text must not control the terminal.
func TestEveryTextIsClean(t *testing.T) {
	key := &v1alpha1.APIKey{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "ci"}, Spec: v1alpha1.APIKeySpec{Description: hostile}}
	run := clitest.Suite("a", clitest.Failed, func(s *v1alpha1.Suite) {
		s.Spec.Deployment = v1alpha1.Deployment{Branch: hostile, SHA: hostile, Type: hostile, URL: hostile, Repository: hostile}
		s.Annotations = map[string]string{v1alpha1.AnnotationCanceledBy: hostile}
		s.Status.Conditions = []metav1.Condition{v1alpha1.Canceled(hostile)}
	})
	prints := map[string]func(c *cli.Console) error{
		"keys list": func(c *cli.Console) error {
			return (&keys.ListOptions{Cluster: clitest.Cluster(c, key)}).Run(t.Context())
		},
		"runs list": func(c *cli.Console) error {
			return (&runs.ListOptions{Options: onCluster(clitest.Cluster(c, run))}).Run(t.Context())
		},
		"runs show": func(c *cli.Console) error {
			return (&runs.ShowOptions{Options: onCluster(clitest.Cluster(c, run))}).Run(t.Context(), "a")
		},
		"an error": func(c *cli.Console) error {
			err := (&runs.LogsOptions{Options: onCluster(clitest.Cluster(c, run))}).Run(t.Context(), "a")
			clitest.Fails(t, "the message of the run", err, "\x1b")
			c.Note("%s", cli.ErrorText(cli.ExitTroubleError(err)))
			return nil
		},
		"a note": func(c *cli.Console) error {
			c.Note("%v and %s", errors.New(hostile), hostile)
			return nil
		},
	}
	for name, print := range prints {
		t.Run(name, func(t *testing.T) {
			c, out, log := clitest.Console()
			if err := print(c); err != nil {
				t.Fatal(err)
			}
			text := out.String() + log.String()
			if !strings.Contains(text, "set-output") {
				t.Errorf("the text is not there:\n%q", text)
			}
			for line := range strings.Lines(text) {
				if !harmless(strings.TrimSuffix(line, "\n")) {
					t.Errorf("not clean: %q", line)
				}
			}
		})
	}
}

func TestErrorText(t *testing.T) {
	usage := errors.New("unknown command \"x\x1b[2J\"\n\nDid you mean this?\n\twait")
	if got, want := cli.ErrorText(usage), "unknown command \"x\"\n\nDid you mean this?\n\twait"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := cli.ErrorText(cli.ExitTroubleError(errors.New("a\nb"))), "a; b"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// JSON keeps the text exactly, but escapes what a terminal would obey.
func TestJSONIsExact(t *testing.T) {
	c, out, _ := clitest.Console()
	if err := c.WriteJSON(map[string]string{"branch": hostile + "<ü😀>"}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if strings.ContainsFunc(strings.TrimSuffix(line, "\n"), func(r rune) bool {
			return unicode.IsControl(r) ||
				unicode.Is(unicode.Bidi_Control, r)
		}) {
			t.Errorf("not clean: %q", line)
		}
	}
	var got map[string]string
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || got["branch"] != hostile+"<ü😀>" {
		t.Errorf("%q, %v, want what was given", got, err)
	}
}

// A terminal gets the colours of a log, and a file everything.
func TestLogsOnATerminal(t *testing.T) {
	const log = "\x1b[31mred\x1b[0m\x1b]0;owned\x07\x1b[2J\n"
	for terminal, want := range map[bool]string{true: "\x1b[31mred\x1b[0m\n\x1b[0m", false: log} {
		c, out, _ := clitest.Console()
		c.Terminal = terminal
		failed := errors.New("broke off")
		err := c.Untrusted(func(to io.Writer) error {
			_, err := io.WriteString(to, log)
			return errors.Join(err, failed)
		})
		if out.String() != want || !errors.Is(err, failed) {
			t.Errorf("terminal %t: %q, %v, want %q", terminal, out, err, want)
		}
	}
}

func TestInterrupted(t *testing.T) {
	quit := errors.New("interrupt signal received")
	canceled, cancel := context.WithCancelCause(t.Context())
	cancel(quit)
	late, done := context.WithTimeout(t.Context(), 0)
	defer done()
	request := fmt.Errorf("the server cannot be reached: %w", context.Canceled)
	cases := map[string]struct {
		reason string
		ctx    context.Context
		err    error
		want   string
		code   int
	}{
		"no error":  {ctx: canceled, want: "<nil>"},
		"a request": {ctx: canceled, err: request, want: "interrupted.", code: -1},
		"with the cause": {reason: "net/http returns the cause instead of the error of the context", ctx: canceled,
			err: fmt.Errorf("x: %w", quit), want: "interrupted.", code: -1},
		"with a code": {ctx: canceled, err: cli.ExitTroubleError(request), want: "interrupted.", code: cli.ExitTrouble},
		"another error": {reason: "it had come before", ctx: canceled, err: cli.Exitf(cli.ExitFailed, "failed"), want: "failed",
			code: cli.ExitFailed},
		"no time left":         {ctx: late, err: context.DeadlineExceeded, want: "context deadline exceeded", code: -1},
		"an interrupt of none": {reason: "something else ended the request", ctx: t.Context(), err: request, want: request.Error(), code: -1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := cli.Interrupted(tc.ctx, tc.err, "."); fmt.Sprint(got) != tc.want || clitest.ExitCode(got) != tc.code {
				t.Errorf("%s: %v with code %d, want %q with %d", tc.reason, got, clitest.ExitCode(got), tc.want, tc.code)
			}
		})
	}
}
