package gitlab_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/deployment/event/gitlab"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/test/payload"
)

const (
	sha          = "5ca1ab1e0ddba115ca1ab1e0ddba115ca1ab1e0d"
	ofDeployment = "deployment.json"
)

type values = payload.Values

func headers() http.Header {
	return http.Header{
		"X-Gitlab-Event": {"Deployment Hook"}, "X-Gitlab-Instance": {"https://gitlab.example.com"},
		"X-Gitlab-Event-Uuid": {"1671f880-67c6-45cb-9dfa-f4707face4ba"},
		"Idempotency-Key":     {eventID}, "Webhook-Id": {eventID}, "Webhook-Timestamp": {"1795176000"},
	}
}

func TestDeployment(t *testing.T) {
	full := func(change func(*notification.Notification)) *notification.Notification {
		n := &notification.Notification{
			SHA: sha, Branch: "main", DeploymentType: "staging", DeploymentURL: "https://staging.example.com", HostingService: v1alpha1.GitLab,
			Repository: "acme/web/shop", CommitURL: "https://gitlab.example.com/acme/web/shop/-/commit/" + sha, CommitMessage: "Add a basket",
		}
		change(n)
		return n
	}
	same := func(*notification.Notification) {}
	const old, below = "https://gitlab.example.com/acme/web/shop/commit/" + sha, "https://example.com/git/acme/web/shop"
	for name, tc := range map[string]struct {
		reason  string
		changes values
		options event.Options
		want    *notification.Notification
		id      string
		post    *event.Post
	}{
		"of a job": {"every member has its place", nil, event.Options{}, full(same), "gitlab/deployment/15", nil},
		"a renamed environment": {"the team says what its environments are called here", nil,
			event.Options{Environments: map[string]string{"staging": "preprod", "other": "x"}},
			full(func(n *notification.Notification) { n.DeploymentType = "preprod" }), "gitlab/deployment/15", nil},
		"a review app": {"its name has a slash", values{"environment": "review/login", "ref": "feature/login"}, event.Options{},
			full(func(n *notification.Notification) { n.DeploymentType, n.Branch = "review/login", "feature/login" }), "gitlab/deployment/15", nil},
		"of an older version": {"it has no ref, no URL and no title", values{
			"ref": nil, "environment_external_url": nil, "commit_title": nil,
		}, event.Options{},
			full(func(n *notification.Notification) { n.Branch, n.DeploymentURL, n.CommitMessage = "", "", "" }), "gitlab/deployment/15", nil},
		"without a dash in the URL": {"GitLab before 12", values{"commit_url": old}, event.Options{},
			full(func(n *notification.Notification) { n.CommitURL = old }), "gitlab/deployment/15", nil},
		"made by the API": {"Postflight makes such ones too", values{"deployable_id": nil, "deployable_url": nil}, event.Options{},
			full(same), "gitlab/deployment/15", &event.Post{Environment: "staging", Deployment: 15}},
		"a URL in another spelling": {"GitLab ignores the case of paths", values{
			"project.web_url": "https://gitlab.example.com/Acme/Web/shop", "commit_url": "https://gitlab.example.com/Acme/Web/shop/-/commit/" + sha,
		}, event.Options{}, full(func(n *notification.Notification) {
			n.CommitURL = "https://gitlab.example.com/Acme/Web/shop/-/commit/" + sha
		}), "gitlab/deployment/15", nil},
		"nobody deployed it": {"the user was deleted", values{"user": nil, "user_url": nil}, event.Options{}, full(same), "gitlab/deployment/15",
			nil},
		"below a path": {"an instance may have a relative URL", values{
			"project.web_url": below, "commit_url": below + "/-/commit/" + sha,
		}, event.Options{}, full(func(n *notification.Notification) {
			n.CommitURL = "https://example.com/git/acme/web/shop/-/commit/" + sha
		}), "gitlab/deployment/15", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := gitlab.Decode(headers(), payload.With(t, ofDeployment, tc.changes), tc.options)
			if err != nil {
				t.Fatal(err)
			}
			want := event.Event{
				Notification: tc.want, At: noon, ID: tc.id, Type: "deployment", Delivery: eventID, Repository: "acme/web/shop", Post: tc.post,
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestIDs: an event is the same whenever it is delivered.
func TestIDs(t *testing.T) {
	decode := func(h http.Header, changes values) event.Event {
		t.Helper()
		e, err := gitlab.Decode(h, payload.With(t, ofDeployment, changes), event.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	old := values{"deployment_id": nil}
	first, again := decode(headers(), old), decode(http.Header{}, old)
	other := decode(headers(), values{"deployment_id": nil, "deployable_id": 797})
	if first.ID == "" || first.ID != again.ID || first.ID == other.ID || first.Key == "" || first.Key != again.Key || first.Key == other.Key {
		t.Errorf("without a deployment_id, got the ids %q, %q and %q, and the keys %q and %q", first.ID, again.ID, other.ID, first.Key, again.Key)
	}
	hostile := decode(headers(), values{"status": "failed", "project.path_with_namespace": "acme/\x1b[31m" + strings.Repeat("x", 9000)})
	if len(hostile.Repository) > notification.MaxTextBytes || strings.Contains(hostile.Repository, "\x1b") {
		t.Errorf("got a repository of %d bytes: %.20q", len(hostile.Repository), hostile.Repository)
	}
	if e := decode(also(also(headers(), "Webhook-Id"), "Idempotency-Key"), nil); e.Delivery != "1671f880-67c6-45cb-9dfa-f4707face4ba" {
		t.Errorf("an old version has the delivery %q", e.Delivery)
	}
	if e := decode(also(headers(), "Webhook-Id", "a\nb"), nil); e.Delivery != eventID {
		t.Errorf("got the delivery %q", e.Delivery)
	}
	for changed, want := range map[string]time.Time{
		"2026-11-20 12:00:00 UTC": noon, "2026-11-20T12:00:00Z": noon, "2026-11-20T13:00:00.000+01:00": noon, "": {}, "yesterday": {},
	} {
		if e := decode(headers(), values{"status_changed_at": changed}); !e.At.Equal(want) {
			t.Errorf("%q is %v", changed, e.At)
		}
	}
}

func TestIgnored(t *testing.T) {
	for name, tc := range map[string]struct {
		changes values
		want    string
	}{
		"running":                {values{"status": "running"}, `is "running"; only success`},
		"failed":                 {values{"status": "failed"}, `is "failed"; only success`},
		"of a later version":     {values{"status": "Success"}, `is "Success"; only success`},
		"without a status":       {values{"status": nil}, `is ""; only success`},
		"a push":                 {values{"object_kind": "push", "project": "a text", "status": 5, "user": nil}, "events of the type push."},
		"a member of a group":    {values{"object_kind": nil, "event_name": "user_add_to_group"}, "events of the type user_add_to_group."},
		"of no kind":             {values{"object_kind": nil}, "events of the type Deployment Hook."},
		"the commit is gone":     {values{"commit_url": nil, "commit_title": nil}, "does not find the commit"},
		"a hostile kind":         {values{"object_kind": "\x1b[31m" + strings.Repeat("é", 500) + "\n"}, "events of the type "},
		"a hostile status":       {values{"status": "\x1b]8;;\u202e" + strings.Repeat("é", 500) + "\n"}, "only success"},
		"kinds are of one case":  {values{"object_kind": "Deployment"}, "events of the type Deployment."},
		"a system hook's values": {values{"object_kind": "deployment ", "event_name": "deployment"}, "events of the type "},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := gitlab.Decode(headers(), payload.With(t, ofDeployment, tc.changes), event.Options{})
			if err != nil || e.Notification != nil || !strings.Contains(e.Ignored, tc.want) {
				t.Errorf("got %+v, %v", e, err)
			}
			isSentence(t, e.Ignored)
		})
	}
}

func TestInvalid(t *testing.T) {
	text := string(payload.Recorded(t, ofDeployment))
	edited := func(old, changed string) []byte {
		if !strings.Contains(text, old) {
			t.Fatalf("the payload has no %s", old)
		}
		return []byte(strings.Replace(text, old, changed, 1))
	}
	url := func(u string) []byte { return payload.With(t, ofDeployment, values{"commit_url": u}) }
	const project = "https://gitlab.example.com/acme/web/shop"
	nested := strings.Repeat("[", 20000) + strings.Repeat("]", 20000)
	for name, tc := range map[string]struct {
		body []byte
		want string
	}{
		"nothing":                     {nil, "not the JSON"},
		"no object":                   {[]byte(`["deployment"]`), "not the JSON"},
		"a part":                      {[]byte(text[:200]), "not the JSON"},
		"more than one object":        {[]byte(text + "{}"), "not the JSON"},
		"a member given twice":        {edited(`"status": "success"`, `"status": "failed", "status": "success"`), "not the JSON"},
		"an unknown member twice":     {edited(`"status": "success"`, `"status": "success", "x": 1, "x": 2`), "not the JSON"},
		"half an emoji in a branch":   {payload.With(t, ofDeployment, values{"ref": "fix-\uFFFD"}), "UTF-8"},
		"no UTF-8 in an environment":  {edited(`"environment": "`, `"environment": "`+"\xff"), "UTF-8"},
		"a wrong type":                {payload.With(t, ofDeployment, values{"environment": 5}), "not the JSON"},
		"an id of text":               {payload.With(t, ofDeployment, values{"deployment_id": "15"}), "not the JSON"},
		"an id beyond 64 bits":        {edited(`"deployment_id": 15`, `"deployment_id": 99999999999999999999`), "not the JSON"},
		"nested without end":          {edited(`"status": "success"`, `"status": "success", "x": `+nested), "not the JSON"},
		"another commit":              {payload.With(t, ofDeployment, values{"short_sha": "deadbeef"}), "begins with short_sha"},
		"no first digits":             {payload.With(t, ofDeployment, values{"short_sha": nil}), "begins with short_sha"},
		"too few digits":              {payload.With(t, ofDeployment, values{"short_sha": "5"}), "begins with short_sha"},
		"a short commit":              {url(project + "/-/commit/5ca1ab1e"), "begins with short_sha"},
		"a longer URL":                {url(project + "/-/commit/" + sha + "/x"), "begins with short_sha"},
		"a URL with a query":          {url(project + "/-/commit/" + sha + "?x=" + sha), "begins with short_sha"},
		"a commit of another host":    {url("https://evil.example.com/acme/web/shop/-/commit/" + sha), "begins with short_sha"},
		"a commit of another project": {url("https://gitlab.example.com/evil/shop/-/commit/" + sha), "begins with short_sha"},
		"a branch":                    {url(project + "/-/tree/" + sha), "begins with short_sha"},
		"no scheme":                   {url("javascript:alert(1)//" + sha), "begins with short_sha"},
		"another project's name": {payload.With(t, ofDeployment, values{"project.path_with_namespace": "evil/shop"}),
			"begins with short_sha"},
		"the project's last part": {payload.With(t, ofDeployment, values{"project.path_with_namespace": "web/shop2"}),
			"begins with short_sha"},
		"no project":                {payload.With(t, ofDeployment, values{"project.path_with_namespace": nil}), "begins with short_sha"},
		"no environment":            {payload.With(t, ofDeployment, values{"environment": nil}), "lacks the environment"},
		"a long environment":        {payload.With(t, ofDeployment, values{"environment": strings.Repeat("x", 300)}), "deployment_type"},
		"a branch of control bytes": {payload.With(t, ofDeployment, values{"ref": "main\nevil"}), "branch"},
		"a long branch":             {payload.With(t, ofDeployment, values{"ref": strings.Repeat("x", 2000)}), "branch"},
		"a script as URL": {payload.With(t, ofDeployment, values{"environment_external_url": "javascript:alert(1)"}),
			"deployment_url"},
		"a URL with a password": {payload.With(t, ofDeployment, values{"environment_external_url": "https://ann:secret@example.com"}),
			"deployment_url"},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := gitlab.Decode(headers(), tc.body, event.Options{})
			var invalid *event.InvalidError
			if !errors.As(err, &invalid) || !strings.Contains(err.Error(), tc.want) || e.Notification != nil {
				t.Fatalf("got %+v, %v", e, err)
			}
			isSentence(t, err.Error())
		})
	}
}

func isSentence(t *testing.T, text string) {
	t.Helper()
	unprintable := func(r rune) bool { return !unicode.IsPrint(r) }
	if !utf8.ValidString(text) || len(text) > 512 || strings.ContainsFunc(text, unprintable) || !strings.HasSuffix(text, ".") {
		t.Errorf("%q is no sentence", text)
	}
}

// FuzzDecode: what is accepted is a deployment of a commit of the project, and nothing else comes back with it.
func FuzzDecode(f *testing.F) {
	f.Add(payload.Recorded(f, ofDeployment))
	f.Add(payload.With(f, ofDeployment, values{"status": "blocked"}))
	f.Add([]byte(`{"object_kind":"push"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		e, err := gitlab.Decode(headers(), body, event.Options{})
		if err != nil {
			isSentence(t, err.Error())
			return
		}
		nothing := e.Notification == nil && e.Review == nil
		if nothing != (e.Ignored != "") || e.Notification != nil && e.Review != nil || e.Rerun != nil || len(e.ID) > 200 || len(e.Type) > 80 {
			t.Fatalf("got %+v", e)
		}
		if r := e.Review; r != nil && (r.SHA != "" && !commit.IsSHA(r.SHA) || r.Environment == "" || r.DeploymentID < 1 || len(r.Ref) > 1024) {
			t.Fatalf("accepted %+v", r)
		}
		if n := e.Notification; n != nil && (!commit.IsSHA(n.SHA) || !strings.HasSuffix(strings.ToLower(n.CommitURL), n.SHA) ||
			n.Repository == "" || n.DeploymentType == "" || n.HostingService != v1alpha1.GitLab || (e.ID == "") == (e.Key == "")) {
			t.Fatalf("accepted %+v", n)
		}
	})
}

// TestBrokenText: a text that only people read, or that nothing reads, refuses no event.
func TestBrokenText(t *testing.T) {
	text := string(payload.Recorded(t, ofDeployment))
	for _, broken := range []string{`\ud83d`, "f\xfcr", "\xf0\x9f"} {
		body := strings.Replace(text, "Add a basket", "Add "+broken, 1)
		body = strings.Replace(body, "{", `{"x": {"name": "Ann `+broken+`"},`, 1)
		e, err := gitlab.Decode(headers(), []byte(body), event.Options{})
		if err != nil || e.Notification == nil || !strings.Contains(e.Notification.CommitMessage, "\uFFFD") {
			t.Errorf("%q: %v, %+v", broken, err, e.Notification)
		}
	}
}
