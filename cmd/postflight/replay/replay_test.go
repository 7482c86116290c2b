package replay

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/test/clitest"
	"github.com/postflight-dev/postflight/test/openapi"
)

var program = clitest.Program{New}

// aReplayer answers a replay of two pages. Branches are hostile to terminals and Markdown.
type aReplayer struct {
	sent     []string // the query and the body
	problem  string   // the failure code of an answer
	unchange bool     // nothing changes
}

func (a *aReplayer) start(t *testing.T) {
	t.Helper()
	clitest.Serve(t, openapi.Check(t, http.HandlerFunc(a.serve)).ServeHTTP)
	t.Setenv("POSTFLIGHT_API_KEY", "k")
	t.Setenv("POSTFLIGHT_ALLOW_HTTP", "1")
}

func (a *aReplayer) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	query := r.URL.Query()
	a.sent = append(a.sent, query.Get("cursor")+" "+r.Header.Get("Content-Type")+" "+string(body))
	if a.problem != "" {
		clitest.Fail(w, http.StatusBadRequest, a.problem, `The Trigger smoke is not valid. It does not compile.`)
		return
	}
	at := clitest.Noon.UTC().Truncate(time.Second)
	page := httpapi.Replay{
		From: at.Add(-time.Hour), To: at, Notifications: 5000, Next: "second", Ignored: []string{"Environment/staging"},
		Changes:  []httpapi.ReplayChange{},
		Triggers: []httpapi.ReplayedTrigger{{Trigger: "smoke", Environment: "staging", ComparedWith: "trigger", Matched: 7, MatchedBefore: 7}},
	}
	if query.Get("cursor") == "second" {
		page.From, page.To, page.Notifications, page.Next = at.Add(-2*time.Hour), at.Add(-time.Hour), 12, ""
		page.Problems = []string{"2026-11-20 has more notifications than are read."}
	}
	if !a.unchange {
		page.Triggers[0].Starts, page.Triggers[0].Stops = 2, 1
		page.Triggers[0].Warnings = []string{"The Environment does not exist."}
		page.Triggers[0].Failed, page.Triggers[0].Failure = 3, "no such key: shard"
		for _, branch := range []string{"release/1", "release/1"} {
			page.Changes = append(page.Changes, httpapi.ReplayChange{Trigger: "smoke", Change: "starts", At: at, Way: "api", Branch: branch,
				Repository: "acme/shop"})
		}
		page.Changes = append(page.Changes, httpapi.ReplayChange{Trigger: "smoke", Change: "stops", At: at, Way: "workload",
			Branch: "a|b`\x1b[2J<img src=x>@all"})
	}
	clitest.Reply(w, http.StatusOK, page)
}

const changedTrigger = "apiVersion: postflight.dev/v1alpha1\nkind: Trigger\nmetadata: {name: smoke}\nspec: {environment: staging}\n"

func TestReplayCommand(t *testing.T) {
	for name, tc := range map[string]struct {
		args     []string
		api      aReplayer
		code     int
		out, log []string
		asks     int
	}{
		"table": {asks: 2, out: []string{"smoke     staging       it now          14            14            4        2       0",
			"stops    smoke     2", "starts   smoke     4", "acme/shop    release/1"},
			log: []string{"Replayed 5000 notifications, back to", "Replayed 5012 notifications from",
				"Warning: smoke: The Environment does not exist.",
				"Warning: smoke: The expression has no value for 6 of 5012 notifications, which it therefore does not match. " +
					"For the latest: no such key: shard.",
				"Warning: 2026-11-20 has more", "no Triggers: Environment/staging"}},
		"JSON": {args: []string{"-o", "json"}, asks: 2, out: []string{`"notifications": 5012`, `"starts": 4`, `"change": "stops"`}},
		"Markdown": {args: []string{"-o", "markdown"}, asks: 2, out: []string{"### Postflight replay",
			"| `smoke` | `staging` | it now | 14 | 14 | 4 | 2 | 0 |", "| 🟢 would start a run | `smoke` | 4 |",
			"| 🔴 would no longer start one | `smoke` | 2 |", "`` a\\|b`<img src=x>@all ``", "- ⚠️ `smoke`: `The Environment does not exist.`",
			"no such key: shard.`"}},
		"few lines": {args: []string{"--limit", "1"}, asks: 2, out: []string{"stops    smoke"},
			log: []string{"4 notifications that would be treated differently are not listed. --limit 0 shows more."}},
		"exit code": {args: []string{"--exit-code"}, asks: 2, code: 1,
			log: []string{"Error: the changed Triggers match other notifications"}},
		"exit code, no change": {args: []string{"--exit-code"}, api: aReplayer{unchange: true}, asks: 2, log: []string{"Nothing changes."}},
		"Markdown, no change":  {args: []string{"-o", "markdown"}, api: aReplayer{unchange: true}, asks: 2, out: []string{"Nothing changes."}},
		"an invalid Trigger": {api: aReplayer{problem: "invalid_trigger"}, asks: 1, code: 3,
			log: []string{`The Trigger smoke is not valid. It does not compile. [400 invalid_trigger`}},
		"an old server":         {api: aReplayer{problem: "not_found"}, asks: 1, code: 3, log: []string{"its version is older"}},
		"another format":        {args: []string{"-o", "xml"}, code: 3, log: []string{`-o "xml": the formats are table, json, yaml, markdown`}},
		"a wrong time":          {args: []string{"--since", "yesterday"}, code: 3, log: []string{`--since: "yesterday" is no time`}},
		"a limit below nothing": {args: []string{"--limit", "-1"}, code: 3, log: []string{"--limit -1"}},
		"a file that is not":    {args: []string{"-f", "/nowhere.yaml"}, code: 3, log: []string{"no such file"}},
	} {
		t.Run(name, func(t *testing.T) {
			api := tc.api
			api.start(t)
			file := filepath.Join(t.TempDir(), "trigger.yaml")
			if err := os.WriteFile(file, []byte(changedTrigger), 0o600); err != nil {
				t.Fatal(err)
			}
			out, log := program.Expect(t, tc.code, tc.out, tc.log, append([]string{"replay", "-f", file}, tc.args...)...)
			if len(api.sent) != tc.asks || strings.Contains(out+log, "\x1b") {
				t.Errorf("%d requests, want %d, and a clean text\n%q%q", len(api.sent), tc.asks, out, log)
			}
			if len(api.sent) > 0 && api.sent[0] != " application/yaml "+changedTrigger {
				t.Errorf("sent %q", api.sent)
			}
		})
	}
}

func TestReplayNeedsAFile(t *testing.T) {
	program.Expect(t, cli.ExitTrouble, nil, []string{"name the file with the changed Trigger"}, "replay")
}

func TestReplayOfStandardInput(t *testing.T) {
	api := &aReplayer{}
	api.start(t)
	if _, _, code := program.Run(t.Context(), strings.NewReader(changedTrigger), "replay", "-f", "-"); code != 0 || len(api.sent) != 2 ||
		!strings.HasSuffix(api.sent[1], changedTrigger) {
		t.Errorf("exit code %d, sent %q", code, api.sent)
	}
}
