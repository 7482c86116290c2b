package github_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/deployment/event/github"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/test/payload"
)

const (
	ofRule   = "deployment_protection_rule"
	runs     = "https://api.github.com/repos/acme/shop/actions/runs/"
	callback = "deployment_callback_url"
	delivery = "72d3162e-cc78-11e3-81ab-4c9367dc0958"
)

var asked = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func TestReview(t *testing.T) {
	full := func(change func(*event.Review)) event.Review {
		r := event.Review{
			Environment: "Production", SHA: sha, Ref: "main", RunID: 6510844, DeploymentID: 1459888, Installation: 957001, Trigger: "push",
			By: "GitHub: ann-lee", CreatedAt: asked,
		}
		change(&r)
		return r
	}
	same := func(*event.Review) {}
	const id, other = "github/deployment_protection_rule/6510844/1459888", "b"
	for name, tc := range map[string]struct {
		reason  string
		changes values
		want    event.Review
		id      string
	}{
		"as GitHub sends it":    {"every member has its place", nil, full(same), id},
		"of an older version":   {"the deployment alone has the commit", values{"sha": nil, "ref": nil}, full(same), id},
		"in another spelling":   {"commits are compared in lower case", values{"sha": strings.ToUpper(sha)}, full(same), id},
		"no commit":             {"nothing can be known of it", values{"sha": nil, "deployment.sha": nil}, full(func(r *event.Review) { r.SHA = "" }), id},
		"a short commit":        {"it may be of several", values{"sha": sha[:8], "deployment.sha": sha[:8]}, full(func(r *event.Review) { r.SHA = "" }), id},
		"two commits":           {"tests of one say nothing about the other", values{"sha": other + sha[1:]}, full(func(r *event.Review) { r.SHA = "" }), id},
		"a deployment's commit": {"no SHA proves it", values{"deployment.sha": "main"}, full(func(r *event.Review) { r.SHA = "" }), id},
		"a pull request":        {"its merge commit has a ref", values{"event": "pull_request", "ref": "refs/pull/7/merge"}, full(func(r *event.Review) { r.Trigger, r.Ref = "pull_request", "refs/pull/7/merge" }), id},
		"of another host":       {"nothing is sent there", values{callback: "http://169.254.169.254/repos/acme/shop/actions/runs/6510844/deployment_protection_rule"}, full(same), id},
		"of an own server":      {"its API is below a path", values{callback: "https://git.example.com:8443/api/v3/repos/acme/shop/actions/runs/6510844/deployment_protection_rule"}, full(same), id},
		"the name in capitals":  {"GitHub ignores the case of names", values{callback: "https://api.github.com/repos/Acme/SHOP/actions/runs/6510844/deployment_protection_rule"}, full(same), id},
		"the longest number":    {"it fits", values{callback: runs + "9223372036854775807/deployment_protection_rule"}, full(func(r *event.Review) { r.RunID = 9223372036854775807 }), "github/deployment_protection_rule/9223372036854775807/1459888"},
		"without a deployment": {"the delivery tells the requests of a run apart", values{"deployment": nil},
			full(func(r *event.Review) { r.DeploymentID, r.CreatedAt = 0, time.Time{} }), "github/deployment_protection_rule/6510844/" + delivery},
		"a negative deployment": {"there is none with this number", values{"deployment.id": -5},
			full(func(r *event.Review) { r.DeploymentID = 0 }), "github/deployment_protection_rule/6510844/" + delivery},
		"a hostile trigger": {"it is shown to people", values{"event": "\x1b[31mpush\n::error::" + strings.Repeat("x", 65536)},
			full(func(r *event.Review) {
				r.Trigger = "push; ::error::xxxxxxxxxxxxxx … xxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
			}), id},
		"a hostile name": {"it is shown to people", values{"sender.login": "ann\u202e\n" + strings.Repeat("x", 200)},
			full(func(r *event.Review) {
				r.By = "GitHub: ann; xxxxxxxxxxxxxxxxxxxxxxxx … xxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
			}), id},
	} {
		t.Run(name, func(t *testing.T) {
			got := decode(t, ofRule, payload.With(t, ofRule+".json", tc.changes), event.Options{
				Environments: map[string]string{"Production": "live"}, OwnApp: 15368, // the decision names what GitHub named
			})
			if got.Review == nil {
				t.Fatalf("%s: got %+v", tc.reason, got)
			}
			want := event.Event{Review: &tc.want, At: tc.want.CreatedAt, ID: tc.id, Repository: "acme/shop", Type: ofRule, Delivery: delivery}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestReviewIgnored(t *testing.T) {
	for action, says := range map[string]string{"completed": `"completed"`, "": `""`, "\x1b[2J\nrequested": `"requested"`} {
		got := decode(t, ofRule, payload.With(t, ofRule+".json", values{"action": action, callback: "x"}), event.Options{})
		if got.Review != nil || !strings.Contains(got.Ignored, says) || !strings.HasSuffix(got.Ignored, ".") {
			t.Errorf("%q: got %+v", action, got)
		}
	}
}

func TestReviewInvalid(t *testing.T) {
	const form = "is not that of a workflow run of the event's repository."
	url := func(u string) values { return values{callback: u} }
	for name, tc := range map[string]struct {
		reason  string
		changes values
		says    string
	}{
		"no environment":          {"there is nothing to decide about", values{"environment": nil}, "The event lacks environment."},
		"no callback":             {"the run is not known", url(""), "The event lacks deployment_callback_url."},
		"no installation":         {"the event is of no App", values{"installation": nil}, "The event lacks installation.id."},
		"an installation of 0":    {"there is none", values{"installation.id": 0}, "The event lacks installation.id."},
		"no repository":           {"it belongs to no team", values{"repository": nil}, "The event lacks repository.full_name."},
		"several are missing":     {"one attempt is enough", values{"environment": nil, "installation": nil}, "lacks environment, installation.id."},
		"another repository":      {"the decision would be about its run", url("https://api.github.com/repos/evil/shop/actions/runs/1/deployment_protection_rule"), form},
		"another name":            {"the decision would be about its run", url("https://api.github.com/repos/acme/shop2/actions/runs/1/deployment_protection_rule"), form},
		"letters alike":           {"the sign of the unit Kelvin is no k", values{"repository.full_name": "acme/\u212aube", callback: "https://api.github.com/repos/acme/kube/actions/runs/1/deployment_protection_rule"}, form},
		"run 0":                   {"there is none", url(runs + "0/deployment_protection_rule"), form},
		"a negative run":          {"there is none", url(runs + "-1/deployment_protection_rule"), form},
		"a run with a sign":       {"it is no number of GitHub", url(runs + "+1/deployment_protection_rule"), form},
		"a run with zeros":        {"readers disagree about it", url(runs + "01/deployment_protection_rule"), form},
		"a run beyond 64 bits":    {"it would become another one", url(runs + "9223372036854775808/deployment_protection_rule"), form},
		"a run of many digits":    {"it would become another one", url(runs + strings.Repeat("9", 65536) + "/deployment_protection_rule"), form},
		"a run in hexadecimal":    {"it is no number of GitHub", url(runs + "0x1/deployment_protection_rule"), form},
		"no run":                  {"it is not known", url("https://api.github.com/repos/acme/shop/deployments/1"), form},
		"a pending deployment":    {"it decides for people", url(runs + "1/pending_deployments"), form},
		"more path":               {"it is another operation", url(runs + "1/deployment_protection_rule/x"), form},
		"a query":                 {"it is another operation", url(runs + "1/deployment_protection_rule?x=1"), form},
		"a fragment":              {"it is another operation", url(runs + "1/deployment_protection_rule#x"), form},
		"dots":                    {"they lead to another run", url("https://api.github.com/repos/acme/shop/../evil/actions/runs/1/deployment_protection_rule"), form},
		"a path before":           {"it may be a proxy", url("https://evil.example.com/x/repos/acme/shop/actions/runs/1/deployment_protection_rule"), form},
		"a password":              {"no URL of GitHub has one", url("https://a:b@api.github.com/repos/acme/shop/actions/runs/1/deployment_protection_rule"), form},
		"a line end":              {"it would start a header", url(runs + "1/deployment_protection_rule\nX-Evil: 1"), form},
		"another scheme":          {"GitHub uses http", url("file:///repos/acme/shop/actions/runs/1/deployment_protection_rule"), form},
		"a repository like a URL": {"it would become part of a URL", values{"repository.full_name": "../shop", callback: "https://api.github.com/repos/../shop/actions/runs/1/deployment_protection_rule"}, "repository"},
		"a long ref":              {"no branch has 64 KiB", values{"ref": strings.Repeat("r", 65536)}, "branch is 65536 bytes long"},
		"a ref with a line end":   {"it would start a line of a log", values{"ref": "main\n::error::"}, "branch"},
		"a long environment":      {"GitHub's have at most 255 characters", values{"environment": strings.Repeat("x", 257)}, "deployment_type"},
		"an odd environment":      {"it would hide what is approved", values{"environment": "prod\u202e"}, "deployment_type"},
		"a commit that is none":   {"it is a number", values{"sha": 5}, "type"},
		"an installation of text": {"it is no number", values{"installation.id": "957001"}, "type"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := github.Decode(headers(ofRule), payload.With(t, ofRule+".json", tc.changes), event.Options{})
			invalid := &event.InvalidError{}
			if !errors.As(err, &invalid) || got.Review != nil || !strings.Contains(invalid.Reason, tc.says) {
				t.Errorf("%s: got %+v and %v, want an error that has %q", tc.reason, got, err, tc.says)
			}
			if err != nil && (len(err.Error()) > 512 || strings.Contains(err.Error(), "a:b")) {
				t.Errorf("the error repeats too much: %.600s", err)
			}
		})
	}
}

// TestReviewsApart: a delivery that is repeated is the same request, and another job or attempt is another one.
func TestReviewsApart(t *testing.T) {
	id := func(delivery string, changes values) string {
		h := headers(ofRule)
		h.Set("X-GitHub-Delivery", delivery)
		e, err := github.Decode(h, payload.With(t, ofRule+".json", changes), event.Options{})
		if err != nil || len(e.ID) > 200 {
			t.Fatalf("got %+v, %v", e, err)
		}
		return e.ID
	}
	seen := map[string]string{}
	for name, tc := range map[string]struct{ first, again string }{
		"a deployment":                      {id("a", nil), id("b", nil)},
		"another attempt":                   {id("a", values{"deployment.id": 1459889}), id("b", values{"deployment.id": 1459889})},
		"another run":                       {id("a", values{callback: runs + "7/deployment_protection_rule"}), id("b", values{callback: runs + "7/deployment_protection_rule"})},
		"without a deployment":              {id("c", values{"deployment": nil}), id("c", values{"deployment": nil})},
		"without a deployment, once more":   {id("d", values{"deployment": nil}), id("d", values{"deployment": nil})},
		"without one, of the longest name":  {id(strings.Repeat("e", 64), values{"deployment": nil}), id(strings.Repeat("e", 64), values{"deployment": nil})},
		"without one, in the longest words": {id(strings.Repeat("f", 64), values{"deployment": nil, callback: runs + "9223372036854775807/deployment_protection_rule"}), ""},
	} {
		if tc.again != "" && tc.first != tc.again {
			t.Errorf("%s: the ids are %q and %q", name, tc.first, tc.again)
		}
		if other, known := seen[tc.first]; known {
			t.Errorf("%s has the id of %s: %q", name, other, tc.first)
		}
		seen[tc.first] = name
	}
	_, err := github.Decode(http.Header{"X-Github-Event": {ofRule}}, payload.With(t, ofRule+".json", values{"deployment": nil}), event.Options{})
	if err == nil || !strings.Contains(err.Error(), "lacks the header X-GitHub-Delivery") {
		t.Errorf("without either, got %v", err)
	}
}

// TestReviewBounds: what is accepted fits into what stores it.
func TestReviewBounds(t *testing.T) {
	e := decode(t, ofRule, payload.With(t, ofRule+".json", values{
		"environment": strings.Repeat("e", notification.MaxTextBytes), "ref": strings.Repeat("r", notification.MaxBranchBytes),
	}), event.Options{})
	if r := e.Review; r == nil || len(r.Environment) != notification.MaxTextBytes || len(r.Ref) != notification.MaxBranchBytes {
		t.Errorf("got %s", fmt.Sprintf("%.300v", e))
	}
}
