package announce_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/report/announce"
)

var options = report.Options{PublicURL: "https://ci.example.com"}

func composed(t *testing.T, r announce.Receiver, s *v1alpha1.Suite, e announce.Event) (announce.Message, map[string]any) {
	t.Helper()
	m := announce.Compose(r, announce.Target{URL: "https://x"}, "acme", s, e, options, noon)
	var body map[string]any
	if err := json.Unmarshal(m.Body, &body); err != nil {
		t.Fatal(err)
	}
	return m, body
}

func withResults(s *v1alpha1.Suite) {
	s.Status.Results = &v1alpha1.TestResults{
		Tests: 40, Passed: 33, Failed: 7, NewFailures: 1, ComparedWith: "smoke-0",
		Failures: []v1alpha1.TestFailure{{Name: "checkout", History: v1alpha1.FailureNew}, {Name: "b"}, {Name: "c"}, {Name: "d"}, {Name: "e"}, {Name: "f"}},
	}
}

// TestCloudEvents: an event says the same whenever it is sent, also when the run has gone on.
func TestCloudEvents(t *testing.T) {
	hook := announce.Receivers(aTeam(aWebhook("a")), nil)[0]
	s := aRun("Failed", withResults, func(s *v1alpha1.Suite) { s.Status.SupersededBy = "smoke-2" })
	run := map[string]any{
		"id": "smoke-1", "team": "acme", "namespace": "acme", "origin": "Manual", "trigger": "smoke", "environment": "staging",
		"branch": "main", "sha": "5ca1ab1e", "attempt": 1.0, "createdAt": "2026-11-20T12:00:00Z", "url": "https://ci.example.com/runs/acme/smoke-1",
	}
	with := func(more map[string]any) map[string]any {
		all := map[string]any{}
		for _, m := range []map[string]any{run, more} {
			for name, value := range m {
				all[name] = value
			}
		}
		return all
	}
	var failures []any
	for _, f := range s.Status.Results.Failures {
		one := map[string]any{"name": f.Name}
		if f.History != "" {
			one["history"] = string(f.History)
		}
		failures = append(failures, one)
	}
	data := []map[string]any{
		with(map[string]any{"state": "Queued"}),
		with(map[string]any{"state": "Running", "startedAt": "2026-11-20T12:01:00Z"}),
		with(map[string]any{
			"state": "Failed", "message": "The message of Failed.", "startedAt": "2026-11-20T12:01:00Z", "endedAt": "2026-11-20T12:02:00Z", "durationSeconds": 60.0,
			"supersededBy": "smoke-2", "results": map[string]any{
				"tests": 40.0, "passed": 33.0, "failed": 7.0, "skipped": 0.0, "flaky": 0.0, "durationSeconds": 0.0, "comparedWith": "smoke-0",
				"newFailures": 1.0, "knownFailures": 0.0, "fixed": 0.0, "failures": failures,
			},
		}),
	}
	for i, e := range announce.Events(s) {
		name := strings.ToLower(string(e.Name))
		m, body := composed(t, hook, s, e)
		want := map[string]any{
			"specversion": "1.0", "id": "u1-" + name, "source": "/postflight/acme", "type": "dev.postflight.run." + name, "subject": "smoke-1",
			"time": e.At.Format(time.RFC3339), "datacontenttype": "application/json", "data": data[i],
		}
		if diff := cmp.Diff(want, body); diff != "" {
			t.Errorf("%s (-want +got):\n%s", e.Name, diff)
		}
		if m.ID != "u1-"+name || m.ContentType != "application/cloudevents+json; charset=utf-8" || m.Chat {
			t.Errorf("%s: got %+v", e.Name, m)
		}
	}
	if again, _ := composed(t, hook, aRun("Queued"), announce.Events(s)[0]); len(announce.Events(aRun("Queued"))) != 1 ||
		strings.Replace(string(again.Body), `"message":"The message of Queued.",`, "", 1) != string(first(t, hook, s).Body) {
		t.Errorf("the event of a queued run is\n%s\nand later\n%s", again.Body, first(t, hook, s).Body)
	}
}

// TestEarlyEventsOfAnInconclusiveRun say what was known then.
func TestEarlyEventsOfAnInconclusiveRun(t *testing.T) {
	hook, s := announce.Receivers(aTeam(aWebhook("a")), nil)[0], aRun(v1alpha1.ReasonInconclusive)
	s.Status.UnderTest, s.Status.RepeatedBy = &v1alpha1.UnderTest{Changed: "The Deployment web was rolled out."}, "smoke-2"
	all := announce.Events(s)
	for i, e := range all {
		_, body := composed(t, hook, s, e)
		data, last := body["data"].(map[string]any), i == len(all)-1
		if (data["underTest"] != nil) != last || (data["repeatedBy"] != nil) != last {
			t.Errorf("%s: %v, %v", e.Name, data["underTest"], data["repeatedBy"])
		}
	}
}

func first(t *testing.T, r announce.Receiver, s *v1alpha1.Suite) announce.Message {
	m, _ := composed(t, r, s, announce.Events(s)[0])
	return m
}

func TestSourceNamesTheCluster(t *testing.T) {
	hook, s := announce.Receivers(aTeam(aWebhook("a")), nil)[0], aRun("Queued")
	m := announce.Compose(hook, announce.Target{}, "acme", s, announce.Events(s)[0], report.Options{ClusterName: "eu"}, noon)
	if !strings.Contains(string(m.Body), `"source":"/postflight/eu/acme"`) || strings.Contains(string(m.Body), `"url"`) {
		t.Errorf("got %s", m.Body)
	}
}

// TestChat: the text and the blocks of a message to Slack.
func TestChat(t *testing.T) {
	slack := announce.Receivers(nil, aTrigger())[0]
	for name, tc := range map[string]struct {
		run   *v1alpha1.Suite
		lines []string // of the text; each block repeats some of them
	}{
		"failed": {aRun("Failed", withResults), []string{
			"<https://ci.example.com/runs/acme/smoke-1|:red_circle: smoke failed in staging>",
			"Branch: `main`", "Commit: `5ca1ab1e`", "Run: `acme/smoke-1`", "`The message of Failed.`",
			"→ `Start with the new failures, and with what was deployed since the run smoke-0, which did not have them.`",
			"→ `To see whether it lasts, repeat the run: postflight runs rerun smoke-1 -n acme.`",
			"• New: `checkout`", "• `b`", "• `c`", "• `d`", "• `e`", "• and 2 more",
		}},
		"timed out": {aRun("TimedOut"), []string{
			"<https://ci.example.com/runs/acme/smoke-1|:red_circle: smoke timed out in staging>",
			"Branch: `main`", "Commit: `5ca1ab1e`", "Run: `acme/smoke-1`", "`The message of TimedOut.`",
			"→ `Look for what the tests waited for at the end of the log: postflight runs logs smoke-1 -n acme.`",
			"→ `If they only need more time, raise spec.timeout of the Trigger, or divide the tests among several pods.`",
		}},
		"could not run": {aRun("Error"), []string{
			"<https://ci.example.com/runs/acme/smoke-1|:red_circle: smoke could not run in staging>",
			"Branch: `main`", "Commit: `5ca1ab1e`", "Run: `acme/smoke-1`", "`The message of Error.`",
			"→ `Fix what the message names. The run says nothing about its commit: the tests did not run, or could not be judged.`",
			"→ `Then repeat the run: postflight runs rerun smoke-1 -n acme.`",
		}},
		"a service": {aRun("TimedOut", func(s *v1alpha1.Suite) { s.Spec.Deployment.Service = "cart" }), []string{
			"<https://ci.example.com/runs/acme/smoke-1|:red_circle: smoke cart timed out in staging>",
			"Branch: `main`", "Commit: `5ca1ab1e`", "Run: `acme/smoke-1`", "`The message of TimedOut.`",
			"→ `Look for what the tests waited for at the end of the log: postflight runs logs smoke-1 -n acme.`",
			"→ `If they only need more time, raise spec.timeout of the Trigger, or divide the tests among several pods.`",
		}},
		"recovered": {aRun("Passed"), []string{
			"<https://ci.example.com/runs/acme/smoke-1|:large_green_circle: smoke recovered in staging>",
			"Branch: `main`", "Commit: `5ca1ab1e`", "Run: `acme/smoke-1`", "`The message of Passed.`",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			_, body := composed(t, slack, tc.run, announce.Events(tc.run)[2])
			if diff := cmp.Diff(strings.Join(tc.lines, "\n"), body["text"]); diff != "" {
				t.Errorf("the text (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff("*"+tc.lines[0]+"*\n"+strings.Join(tc.lines[1:], "\n"), strings.Join(sections(t, body), "\n")); diff != "" {
				t.Errorf("the blocks (-want +got):\n%s", diff)
			}
			if body["unfurl_links"] != false || body["unfurl_media"] != false {
				t.Errorf("links are expanded: %v", body)
			}
		})
	}
}

// TestChatOfNewFailures lists the new failures that count, and only how many others there are.
func TestChatOfNewFailures(t *testing.T) {
	run := aRun("Failed", withResults, func(s *v1alpha1.Suite) {
		for i := range s.Status.Results.Failures {
			s.Status.Results.Failures[i].History = "Known"
		}
		s.Status.Results.Failures[0].History = "New"
		s.Status.Results.Failures[1] = v1alpha1.TestFailure{Name: "slow", History: "New", Quarantine: "q"}
	})
	all := []string{"• New: `checkout`", "• New: Quarantined: `slow`", "• `c`", "• `d`", "• `e`", "• and 2 more"}
	for name, tc := range map[string]struct {
		on   []v1alpha1.NotifyWhen
		want []string
	}{
		"all failures":  {nil, all},
		"both":          {[]v1alpha1.NotifyWhen{"Failure", "NewFailure"}, all},
		"new ones only": {[]v1alpha1.NotifyWhen{"NewFailure", "Recovery"}, []string{"• New: `checkout`", "• and 6 more"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, body := composed(t, announce.Receivers(nil, aTrigger(tc.on...))[0], run, announce.Events(run)[2])
			texts := sections(t, body)
			if diff := cmp.Diff(strings.Join(tc.want, "\n"), texts[len(texts)-1]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func sections(t *testing.T, body map[string]any) (texts []string) {
	t.Helper()
	for _, b := range body["blocks"].([]any) {
		text := b.(map[string]any)["text"].(map[string]any)
		if b.(map[string]any)["type"] != "section" || text["type"] != "mrkdwn" || text["verbatim"] != true {
			t.Errorf("a block is %v", b)
		}
		texts = append(texts, text["text"].(string))
	}
	return texts
}

// TestHostileChat: what notifications and tests say names nobody, links nowhere, and stays within the limits of Slack.
func TestHostileChat(t *testing.T) {
	slack := announce.Receivers(nil, aTrigger())[0]
	for _, evil := range []string{
		"<!channel> <@U123> <https://evil.example.com|click>", "@channel @here @everyone", "`*bold*` `_x_`", "a\nb\u2028c", "\x1b[31mred\u202e",
		strings.Repeat("&", 5000), strings.Repeat("@", 5000), strings.Repeat("<é>", 5000), "`", "\u200b",
	} {
		s := aRun("Failed", withResults, func(s *v1alpha1.Suite) {
			s.Spec.Environment = evil
			s.Spec.Deployment = v1alpha1.Deployment{Branch: evil, SHA: evil, URL: evil, CommitURL: "https://evil.example.com", Repository: evil}
			s.Status.Conditions[0].Message = evil
			for i := range s.Status.Results.Failures {
				s.Status.Results.Failures[i].Name = evil
			}
		})
		_, body := composed(t, slack, s, announce.Events(s)[2])
		for _, text := range append(sections(t, body), body["text"].(string)) {
			if strings.Count(text, "<") != strings.Count(text, "<https://ci.example.com/") || strings.Count(text, "`")%2 != 0 ||
				strings.Contains(text, "@c") || strings.Contains(text, "@@") || strings.ContainsAny(text, "\x1b\u202e\u2028") {
				t.Errorf("%.40q becomes %q", evil, text)
			}
		}
		for _, text := range sections(t, body) {
			if n := utf8.RuneCountInString(text); n > 3000 {
				t.Errorf("%.40q becomes a section of %d characters", evil, n)
			}
		}
	}
}
