package replay_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/record/replay"
)

const head = "apiVersion: postflight.dev/v1alpha1\nkind: Trigger\n"

func TestParse(t *testing.T) {
	good := head + "metadata: {name: smoke}\nspec: {environment: staging, match: {branches: [main]}}\n"
	many := ""
	for i := range replay.MaxTriggers + 1 {
		many += fmt.Sprintf("%smetadata: {name: t%d}\nspec: {environment: staging}\n---\n", head, i)
	}
	for reason, tc := range map[string]struct {
		content  string
		triggers []string
		ignored  []string
		says     string
	}{
		"one":                    {content: good, triggers: []string{"smoke"}},
		"JSON":                   {content: `{"apiVersion":"postflight.dev/v1alpha1","kind":"Trigger","metadata":{"name":"smoke"},"spec":{"environment":"staging"}}`, triggers: []string{"smoke"}},
		"as kubectl prints it":   {content: head + "metadata: {name: smoke, uid: a, resourceVersion: '1', managedFields: [{manager: x}]}\nspec: {environment: staging, jobTemplate: {spec: {template: {spec: {containers: [{name: test, image: x}]}}}}}\nstatus: {conditions: []}\n", triggers: []string{"smoke"}},
		"several, and others":    {content: "# a file\n---\n" + good + "---\nkind: Environment\napiVersion: postflight.dev/v1alpha1\nmetadata: {name: staging}\n---\n" + strings.Replace(good, "smoke", "visual", 1) + "---\n", triggers: []string{"smoke", "visual"}, ignored: []string{"Environment/staging"}},
		"another group":          {content: good + "---\napiVersion: example.com/v1\nkind: Trigger\nmetadata: {name: x}\n", triggers: []string{"smoke"}, ignored: []string{"Trigger/x"}},
		"nothing":                {content: "", says: "There is no Trigger in it. Send the manifest of one, with apiVersion"},
		"only others":            {content: "kind: Environment\nmetadata: {name: staging}\n", says: "There is no Trigger in it"},
		"another version":        {content: strings.Replace(good, "v1alpha1", "v9", 1), says: "Document 1: its apiVersion is postflight.dev/v9, and this server knows postflight.dev/v1alpha1."},
		"no YAML":                {content: "a: [", says: "Document 1: it is not valid YAML"},
		"a text":                 {content: "hello", says: "Document 1: it is not valid YAML"},
		"a list":                 {content: "- a", says: "Document 1: it is not valid YAML"},
		"an unknown field":       {content: good + "---\n" + strings.Replace(good, "branches", "branchs", 1), says: `Document 2: the Trigger "smoke" is not valid: strict decoding error: unknown field "spec.match.branchs".`},
		"a field twice":          {content: good + "spec: {environment: x}\n", says: "Document 1: "},
		"another type":           {content: strings.Replace(good, "[main]", "main", 1), says: `the Trigger "smoke" is not valid`},
		"no name":                {content: strings.Replace(good, "name: smoke", "", 1), says: `the name "" of the Trigger is not valid`},
		"a bad name":             {content: strings.Replace(good, "smoke", "../a", 1), says: `the name "../a" of the Trigger is not valid`},
		"no Environment":         {content: strings.Replace(good, "environment: staging, ", "", 1), says: `the Trigger "smoke" names no Environment; set spec.environment.`},
		"the same name twice":    {content: good + "---\n" + good, says: `Document 2: there is another Trigger "smoke" before it. Give each one name.`},
		"too many":               {content: many, says: "There are 21 Triggers in it, and at most 20 are replayed at once."},
		"too many documents":     {content: strings.Repeat("a: b\n---\n", 300), says: "Send at most 200"},
		"a bomb of aliases":      {content: bomb(), says: "Document 1: it is not valid YAML"},
		"deep":                   {content: strings.Repeat("[", 100_000), says: "Document 1: it is not valid YAML"},
		"terminal codes in text": {content: "\"\\e[31m\": [", says: "Document 1: it is not valid YAML"},
	} {
		t.Run(reason, func(t *testing.T) {
			triggers, ignored, err := replay.Parse([]byte(tc.content))
			if tc.says != "" {
				if err == nil || !strings.Contains(err.Error(), tc.says) || len(err.Error()) > 700 || strings.ContainsAny(err.Error(), "\n\x1b") {
					t.Errorf("got %v, want %s", err, tc.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, found := range triggers {
				names = append(names, found.Name)
			}
			if !cmp.Equal(names, tc.triggers) || !cmp.Equal(ignored, tc.ignored) {
				t.Errorf("got %q, ignored %q", names, ignored)
			}
		})
	}
}

// bomb is YAML of few bytes with many values.
func bomb() string {
	text := "a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
	for i := 1; i < 9; i++ {
		text += fmt.Sprintf("a%d: &a%d [%s*a%d]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d,", i-1), 8), i-1)
	}
	return text
}

func trigger(expression string, branches ...string) *v1alpha1.Trigger {
	return &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Name: "smoke"}, Spec: v1alpha1.TriggerSpec{
		Environment: "staging", Match: v1alpha1.TriggerMatch{Branches: branches, Expression: expression},
	}}
}

// TestCompare: what becomes of a notification, by what is there now, or else by what matched then.
func TestCompare(t *testing.T) {
	at := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	api := record.Notification{At: at, Way: "api", Branch: "main", Withheld: []string{"OTHER_TOKEN", "TOKEN"}}
	rollout := record.Notification{At: at, Way: "workload", Branch: "main", Environment: "production"}
	then := api
	then.Matched = []string{"smoke"}
	cut := api
	cut.Matched, cut.MoreMatched = []string{"a"}, 3
	const token = "notification.variables.TOKEN == 'a'"
	elsewhere := trigger("", "main")
	elsewhere.Spec.Environment = "production"
	for reason, tc := range map[string]struct {
		changed, existing *v1alpha1.Trigger
		n                 record.Notification
		want              string
	}{
		"both match":                             {trigger("", "main"), trigger(""), api, ""},
		"neither matches":                        {trigger("", "x"), trigger("", "y"), api, ""},
		"only the changed one":                   {trigger("", "main"), trigger("", "x"), api, "starts"},
		"only the existing one":                  {trigger("", "x"), trigger("", "main"), api, "stops"},
		"the existing one is broken":             {trigger(""), trigger("]"), api, "starts"},
		"a new Trigger":                          {trigger(""), nil, api, "starts"},
		"a new one that matches nothing":         {trigger("", "x"), nil, api, ""},
		"one that was deleted and matched":       {trigger(""), nil, then, ""},
		"one that was deleted and matches less":  {trigger("", "x"), nil, then, "stops"},
		"nobody knows what matched then":         {trigger(""), nil, cut, "unknown"},
		"what matched then is not asked":         {trigger("", "x"), trigger("", "y"), then, ""},
		"a value that is not kept":               {trigger(token), trigger(""), api, "unknown"},
		"a value that is not kept before":        {trigger(""), trigger(token), api, "unknown"},
		"a value that does not matter":           {trigger(token, "x"), trigger("", "main"), api, "stops"},
		"a rollout of another Environment":       {trigger(""), nil, rollout, ""},
		"a rollout of the changed Environment":   {elsewhere, trigger(""), rollout, "starts"},
		"a notification of no Environment's own": {elsewhere, trigger(""), api, ""},
	} {
		t.Run(reason, func(t *testing.T) {
			c, err := replay.New(tc.changed, tc.existing)
			if err != nil {
				t.Fatal(err)
			}
			got := c.Add(&tc.n)
			if got == nil {
				got = &httpapi.ReplayChange{}
			}
			if got.Change != tc.want {
				t.Errorf("got %q, want %q", got.Change, tc.want)
			}
			want := map[string]int{"starts": c.Counts.Starts, "stops": c.Counts.Stops, "unknown": c.Counts.Unknown, "": 1}
			if want[tc.want] != 1 || c.Counts.Starts+c.Counts.Stops+c.Counts.Unknown > 1 {
				t.Errorf("counted %+v", c.Counts)
			}
			if (got.MatchedThen == nil) != (got.Change == "" || tc.n.MoreMatched > 0) || (len(got.Withheld) > 0) != (tc.want == "unknown" && tc.n.MoreMatched == 0) {
				t.Errorf("got %+v", got)
			}
		})
	}
	c, err := replay.New(trigger("notification.variables.shard == notification.branch"), trigger(""))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		c.Add(&record.Notification{At: at, Branch: "main"})
	}
	if c.Counts.Failed != 2 || c.Counts.Failure != "no such key: shard" || c.Counts.Stops != 2 {
		t.Errorf("an expression that fails: %+v", c.Counts)
	}
	if _, err := replay.New(trigger("notification.brnch == ''"), nil); err == nil || !strings.Contains(err.Error(), "undefined field 'brnch'") {
		t.Errorf("a Trigger that does not compile: %v", err)
	}
}
