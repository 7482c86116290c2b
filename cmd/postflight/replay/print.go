package replay

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

func (o *Options) print(all *client.Replay) error {
	if len(all.Triggers) == 0 {
		return errNoTriggers
	}
	if o.Markdown {
		_, err := o.Console.Out.Write([]byte(o.markdown(all)))
		return err
	}
	return o.Console.Result(all, func() error { return o.tables(all) })
}

func (o *Options) tables(all *client.Replay) error {
	o.Console.Note("%s", spanOf(all))
	for _, t := range all.Triggers {
		for _, text := range warnings(&t, all.Notifications) {
			o.Console.Note("Warning: %s: %s", t.Trigger, text)
		}
	}
	rows := [][]string{{"TRIGGER", "ENVIRONMENT", "COMPARED WITH", "MATCHES NOW", "WOULD MATCH", "STARTS", "STOPS", "UNKNOWN"}}
	for _, t := range all.Triggers {
		rows = append(rows, []string{
			t.Trigger, t.Environment, comparedWith[t.ComparedWith], fmt.Sprint(t.MatchedBefore), fmt.Sprint(t.Matched),
			fmt.Sprint(t.Starts), fmt.Sprint(t.Stops), fmt.Sprint(t.Unknown),
		})
	}
	if err := o.Console.Table(rows); err != nil {
		return err
	}
	shown, more := o.shown(all)
	if len(shown) == 0 {
		o.Console.Note("Nothing changes.")
		return nil
	}
	fmt.Fprintln(o.Console.Out)
	rows = [][]string{{"CHANGE", "TRIGGER", "NOTIFICATIONS", "LAST", "REPOSITORY", "BRANCH", "TYPE", "WAY"}}
	for _, g := range shown {
		rows = append(rows, []string{
			g.change, g.trigger, fmt.Sprint(g.notifications), cli.Age(g.last, o.Now()),
			cli.OrDash(g.part), cli.OrDash(g.branch), cli.OrDash(g.deploymentType), g.way,
		})
	}
	if err := o.Console.Table(rows); err != nil {
		return err
	}
	if more != "" {
		o.Console.Note("%s --limit 0 shows more.", more)
	}
	return nil
}

func warnings(t *client.ReplayedTrigger, notifications int) []string {
	if t.Failed == 0 {
		return t.Warnings
	}
	return append(slices.Clip(t.Warnings), fmt.Sprintf(
		"The expression has no value for %d of %s, which it therefore does not match. For the latest: %s.",
		t.Failed, plaintext.Count(notifications, "notification"), strings.TrimSuffix(t.Failure, ".")))
}

var comparedWith = map[string]string{httpapi.ReplayOfTrigger: "it now", httpapi.ReplayOfHistory: "what matched then"}

func spanOf(all *client.Replay) string {
	return fmt.Sprintf("Replayed %s from %s to %s.", plaintext.Count(all.Notifications, "notification"),
		all.From.UTC().Format(time.RFC3339), all.To.UTC().Format(time.RFC3339))
}

// shown returns the first groups, and a sentence about the rest, or "".
func (o *Options) shown(all *client.Replay) (shown []grouped, more string) {
	shown = groups(all.Changes)
	hidden := all.MoreChanges
	if o.Limit > 0 && len(shown) > o.Limit {
		for _, g := range shown[o.Limit:] {
			hidden += g.notifications
		}
		shown = shown[:o.Limit]
	}
	if hidden > 0 {
		more = fmt.Sprintf("%s that would be treated differently are not listed.", plaintext.Count(hidden, "notification"))
	}
	return shown, more
}

// markdown is for a pull request. Everything that others wrote is in code spans, where no HTML, links or names are interpreted.
func (o *Options) markdown(all *client.Replay) string {
	b := &strings.Builder{}
	fmt.Fprintf(b, "### Postflight replay\n\n%s\n\n", spanOf(all))
	b.WriteString("| Trigger | Environment | Compared with | Matches now | Would match | Starts | Stops | Unknown |\n" +
		"|---|---|---|--:|--:|--:|--:|--:|\n")
	for _, t := range all.Triggers {
		fmt.Fprintf(b, "| %s | %s | %s | %d | %d | %d | %d | %d |\n",
			cell(t.Trigger), cell(t.Environment), comparedWith[t.ComparedWith], t.MatchedBefore, t.Matched, t.Starts, t.Stops, t.Unknown)
	}
	b.WriteString("\n")
	for _, t := range all.Triggers {
		for _, text := range warnings(&t, all.Notifications) {
			fmt.Fprintf(b, "- ⚠️ %s: %s\n", cell(t.Trigger), plaintext.CodeSpan(text, maxText))
		}
	}
	for _, text := range all.Problems {
		fmt.Fprintf(b, "- ⚠️ %s\n", plaintext.CodeSpan(text, maxText))
	}
	shown, more := o.shown(all)
	if len(shown) == 0 {
		b.WriteString("Nothing changes.\n")
		return b.String()
	}
	b.WriteString("\n| Change | Trigger | Notifications | Last | Repository | Branch | Type | Way |\n|---|---|--:|---|---|---|---|---|\n")
	for _, g := range shown {
		fmt.Fprintf(b, "| %s | %s | %d | %s | %s | %s | %s | %s |\n", words[g.change], cell(g.trigger), g.notifications,
			g.last.UTC().Format("2006-01-02 15:04"), cell(g.part), cell(g.branch), cell(g.deploymentType), cell(g.way))
	}
	if more != "" {
		b.WriteString("\n" + more + "\n")
	}
	return b.String()
}

var words = map[string]string{
	httpapi.ReplayStarts:  "🟢 would start a run",
	httpapi.ReplayStops:   "🔴 would no longer start one",
	httpapi.ReplayUnknown: "❔ unknown: it depends on a variable that is not kept",
}

// The bounds of texts in Markdown, in bytes.
const (
	maxCell = 200
	maxText = 500
)

// cell escapes the character that ends a cell also within a code span.
func cell(text string) string {
	return strings.ReplaceAll(plaintext.CodeSpan(text, maxCell), "|", `\|`)
}
