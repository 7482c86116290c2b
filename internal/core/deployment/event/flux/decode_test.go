package flux_test

import (
	"errors"
	"maps"
	"net/http"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/deployment/event/flux"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/test/payload"
)

const (
	sha    = "5ca1ab1e0ddba115ca1ab1e0ddba115ca1ab1e0d"
	app    = "0ddba115ca1ab1e0ddba115ca1ab1e0d5ca1ab1e"
	digest = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"

	ofKustomization, ofHelmRelease = "kustomization.json", "helmrelease.json"
)

type values = payload.Values

// meta is all of the metadata.
func meta(pairs ...string) values {
	all := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		all[pairs[i]] = pairs[i+1]
	}
	return values{"metadata": all}
}

func decode(t *testing.T, body []byte, o event.Options) event.Event {
	t.Helper()
	e, err := flux.Decode(http.Header{}, body, o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestDeployment(t *testing.T) {
	of := func(deploymentType string) notification.Notification {
		return notification.Notification{SHA: sha, Branch: "main", DeploymentType: deploymentType, HostingService: v1alpha1.GitHub}
	}
	whole := notification.Notification{
		SHA: app, Branch: "release", DeploymentType: "preprod", DeploymentURL: "https://staging.example.com", HostingService: v1alpha1.GitLab,
		Repository: "acme/web/shop", CommitURL: "https://gitlab.example.com/acme/web/shop/-/commit/" + app,
	}
	all := meta(
		"revision", "main@sha1:"+sha, "sha", app, "branch", "release", "environment", "Pre-production", "deployment_url", whole.DeploymentURL,
		"repository", whole.Repository, "hosting_service", "gitlab", "commit_url", whole.CommitURL, "summary", "not read", "token", "not read",
	)
	none, revision := event.Options{}, "main@sha1:"+sha
	renamed := func(from, to string) event.Options { return event.Options{Environments: map[string]string{from: to}} }
	const group, events = "kustomize.toolkit.fluxcd.io/", "event.toolkit.fluxcd.io/"
	for name, tc := range map[string]struct {
		reason  string
		file    string
		changes values
		options event.Options
		want    notification.Notification
	}{
		"a Kustomization":       {"its name is the environment", ofKustomization, nil, none, of("staging")},
		"a renamed environment": {"the team says what it is called", ofKustomization, nil, renamed("staging", "preprod"), of("preprod")},
		"a named environment": {"by the Alert or an annotation", ofKustomization, meta("revision", revision, "environment", "eu"), none,
			of("eu")},
		"a named and renamed one": {"both", ofKustomization, meta("revision", revision, "environment", "eu"), renamed("eu", "live"), of("live")},
		"a named deployment type": {"it is not an environment", ofKustomization,
			meta("revision", revision, "deployment_type", "eu", "environment", "x"), renamed("eu", "live"), of("eu")},
		"before Flux 2.5": {"keys have the group of the kind", ofKustomization,
			meta(group+"revision", "main/"+sha, group+"checksum", "x"), none, of("staging")},
		"an annotation before 2.5": {"keys have the group of events", ofKustomization,
			meta(group+"revision", "main/"+sha, events+"environment", "eu"), none, of("eu")},
		"everything": {"the metadata wins over the revision", ofKustomization, all, renamed("Pre-production", "preprod"), whole},
		"an artifact with an origin": {"the origin has the commit", ofKustomization,
			meta("revision", "latest@sha256:"+digest, "originRevision", revision), none, of("staging")},
		"an artifact's commit": {"Flux's statuses take it", ofKustomization,
			meta("revision", "latest@sha256:"+digest, "commit", sha, "branch", "main"), none, of("staging")},
		"a HelmRelease": {"the version of the chart is all that is known", ofHelmRelease, nil, event.Options{},
			notification.Notification{SHA: "6.5.4", DeploymentType: "shop", HostingService: v1alpha1.GitHub}},
		"an installed HelmRelease": {"the first time", ofHelmRelease, values{"reason": "InstallSucceeded"}, event.Options{},
			notification.Notification{SHA: "6.5.4", DeploymentType: "shop", HostingService: v1alpha1.GitHub}},
		"a HelmRelease with a commit": {"an annotation names it", ofHelmRelease,
			meta("revision", "6.5.4", "commit", sha, "branch", "main", "environment", "staging"), none, of("staging")},
	} {
		t.Run(name, func(t *testing.T) {
			got := decode(t, payload.With(t, tc.file, tc.changes), tc.options)
			want := event.Event{Notification: &tc.want, At: noon, Repository: tc.want.Repository, Type: got.Type}
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(event.Event{}, "ID", "Key")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if got.ID == "" || len(got.ID) > 200 || got.Key == "" {
				t.Errorf("got the id %q and the key %q", got.ID, got.Key)
			}
		})
	}
}

// TestRevisions: both forms, of commits, artifacts and charts.
func TestRevisions(t *testing.T) {
	for revision, want := range map[string][2]string{ // branch and SHA
		"main@sha1:" + sha:            {"main", sha},
		"feature/a@b@sha1:" + sha:     {"feature/a@b", sha},
		"refs/heads/main@sha1:" + sha: {"refs/heads/main", sha},
		"v1.2.3@sha1:" + sha:          {"v1.2.3", sha},
		"sha1:" + sha:                 {"", sha},
		"main/" + sha:                 {"main", sha},
		"feature/login/" + sha:        {"feature/login", sha},
		"HEAD/" + sha:                 {"", sha},
		sha:                           {"", sha},
		strings.ToUpper(sha):          {"", sha},
		"latest@sha256:" + digest:     {"", "sha256:" + digest},
		"6.5.4@sha256:" + digest:      {"", "sha256:" + digest},
		"sha256:" + digest:            {"", "sha256:" + digest},
		"latest/" + digest:            {"", "sha256:" + digest},
		"6.5.4":                       {"", "6.5.4"},
		"6.5.4+0ddba115ca1a":          {"", "6.5.4+0ddba115ca1a"},
		"main@sha1:deadbeef":          {"", "sha1:deadbeef"},
		"main/deadbeef":               {"", "main/deadbeef"},
		"main@":                       {"", "main@"},
		"@sha1:" + sha:                {"", sha},
	} {
		e := decode(t, payload.With(t, ofKustomization, meta("revision", revision)), event.Options{})
		if got := [2]string{e.Notification.Branch, e.Notification.SHA}; got != want {
			t.Errorf("%s: got %q, want %q", revision, got, want)
		}
	}
}

// TestEqualEvents: Flux gives events no id, and sends a Kustomization's event again at each interval.
func TestEqualEvents(t *testing.T) {
	later := values{
		"timestamp": "2026-11-20T12:10:00Z", "message": "Reconciliation finished in 2s, next run in 10m0s", "reportingInstance": "other",
	}
	more := func(changes values) values {
		all := maps.Clone(later)
		maps.Copy(all, changes)
		return all
	}
	for name, tc := range map[string]struct {
		file            string
		changes         values
		sameKey, sameID bool
	}{
		"the next interval":               {ofKustomization, later, true, true},
		"another commit":                  {ofKustomization, more(meta("revision", "main@sha1:"+app, "commit_status", "update")), false, false},
		"another environment":             {ofKustomization, more(meta("revision", "main@sha1:"+sha, "environment", "eu")), false, false},
		"another Kustomization":           {ofKustomization, more(values{"involvedObject.name": "other"}), false, false},
		"in another namespace":            {ofKustomization, more(values{"involvedObject.namespace": "other"}), false, false},
		"created again":                   {ofKustomization, more(values{"involvedObject.uid": "other"}), false, false},
		"a chart upgraded a little later": {ofHelmRelease, later, false, false},
		"the same upgrade sent again":     {ofHelmRelease, values{"reportingInstance": "other"}, true, true},
		"installed, not upgraded":         {ofHelmRelease, values{"reason": "InstallSucceeded"}, false, false},
	} {
		first, second := decode(t, payload.Recorded(t, tc.file), event.Options{}), decode(t, payload.With(t, tc.file, tc.changes),
			event.Options{})
		if (first.Key == second.Key) != tc.sameKey || (first.ID == second.ID) != tc.sameID {
			t.Errorf("%s: the same key %t, the same id %t", name, first.Key == second.Key, first.ID == second.ID)
		}
	}
}

func TestIgnored(t *testing.T) {
	for name, tc := range map[string]struct {
		file    string
		changes values
		want    string
	}{
		"progressing": {ofKustomization, values{"reason": "Progressing", "message": "Deployment/shop configured"},
			"The event Progressing of a Kus"},
		"an error":            {ofKustomization, values{"reason": "HealthCheckFailed", "severity": "error"}, "The event HealthCheckFailed"},
		"of another severity": {ofKustomization, values{"severity": "trace"}, "The event ReconciliationSucceeded"},
		"without a severity":  {ofKustomization, values{"severity": nil}, "The event ReconciliationSucceeded"},
		"a source": {ofKustomization, values{
			"involvedObject.kind": "GitRepository", "involvedObject.apiVersion": "source.toolkit.fluxcd.io/v1",
		}, "of a GitRepository"},
		"of another group":       {ofKustomization, values{"involvedObject.apiVersion": "evil.example.com/v1"}, "of a Kustomization"},
		"of no group":            {ofKustomization, values{"involvedObject.apiVersion": nil}, "of a Kustomization"},
		"of no object":           {ofKustomization, values{"involvedObject": nil}, "of a  says nothing"},
		"tested":                 {ofHelmRelease, values{"reason": "TestSucceeded"}, "The event TestSucceeded"},
		"rolled back":            {ofHelmRelease, values{"reason": "RollbackSucceeded"}, "The event RollbackSucceeded"},
		"uninstalled":            {ofHelmRelease, values{"reason": "UninstallSucceeded"}, "The event UninstallSucceeded"},
		"of the other kind":      {ofHelmRelease, values{"reason": "ReconciliationSucceeded"}, "of a HelmRelease"},
		"without a revision":     {ofKustomization, meta("commit_status", "update"), "names no revision"},
		"without metadata":       {ofKustomization, values{"metadata": nil}, "names no revision"},
		"with an empty revision": {ofKustomization, meta("revision", ""), "names no revision"},
		"a hostile reason":       {ofKustomization, values{"reason": "\x1b[31m\u202e" + strings.Repeat("é", 500) + "\n"}, "The event "},
		"a hostile kind":         {ofKustomization, values{"involvedObject.kind": "\x1b[31m\n" + strings.Repeat("é", 500)}, "The event Rec"},
	} {
		t.Run(name, func(t *testing.T) {
			e := decode(t, payload.With(t, tc.file, tc.changes), event.Options{})
			if e.Notification != nil || !strings.Contains(e.Ignored, tc.want) {
				t.Errorf("got %+v", e)
			}
			isSentence(t, e.Ignored)
		})
	}
}

func TestInvalid(t *testing.T) {
	text := string(payload.Recorded(t, ofKustomization))
	edited := func(old, changed string) []byte {
		if !strings.Contains(text, old) {
			t.Fatalf("the payload has no %s", old)
		}
		return []byte(strings.Replace(text, old, changed, 1))
	}
	more := func(key, value string) []byte {
		return payload.With(t, ofKustomization, meta("revision", "main@sha1:"+sha, key, value))
	}
	nested := strings.Repeat("[", 20000) + strings.Repeat("]", 20000)
	for name, tc := range map[string]struct {
		body []byte
		want string
	}{
		"nothing":                   {nil, "not the JSON"},
		"no object":                 {[]byte(`"info"`), "not the JSON"},
		"a part":                    {[]byte(text[:200]), "not the JSON"},
		"more than one object":      {[]byte(text + "{}"), "not the JSON"},
		"a member given twice":      {edited(`"severity": "info"`, `"severity": "error", "severity": "info"`), "not the JSON"},
		"an unknown member twice":   {edited(`"severity": "info"`, `"severity": "info", "x": 1, "x": 2`), "not the JSON"},
		"metadata given twice":      {edited(`"commit_status": "update"`, `"revision": "x"`), "not the JSON"},
		"half an emoji in a branch": {more("branch", "fix-\uFFFD"), "UTF-8"},
		"metadata of another type":  {payload.With(t, ofKustomization, values{"metadata": map[string]any{"revision": 5}}), "not the JSON"},
		"a time in words":           {payload.With(t, ofKustomization, values{"timestamp": "today"}), "not the JSON"},
		"nested without end":        {edited(`"severity": "info"`, `"severity": "info", "x": `+nested), "not the JSON"},
		"no time":                   {payload.With(t, ofKustomization, values{"timestamp": nil}), "the timestamp"},
		"no name":                   {payload.With(t, ofKustomization, values{"involvedObject.name": nil}), "lacks the name"},
		"control bytes in a SHA":    {payload.With(t, ofKustomization, meta("revision", "main@sha1:"+sha+"\x1b")), "sha"},
		"a long revision":           {payload.With(t, ofKustomization, meta("revision", strings.Repeat("x", 1000))), "sha"},
		"control bytes in a branch": {more("branch", "main\nevil"), "branch"},
		"a long environment":        {more("environment", strings.Repeat("x", 300)), "deployment_type"},
		"a script as URL":           {more("deployment_url", "javascript:alert(1)"), "deployment_url"},
		"a URL with a password":     {more("deployment_url", "https://ann:secret@example.com"), "deployment_url"},
		"no repository":             {more("repository", "../../etc"), "repository"},
		"an unknown host":           {more("hosting_service", "sourcehut"), "hosting_service"},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := flux.Decode(http.Header{}, tc.body, event.Options{})
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

// TestBrokenText: a text that nothing reads refuses no event.
func TestBrokenText(t *testing.T) {
	text := string(payload.Recorded(t, ofKustomization))
	for _, broken := range []string{`\ud83d`, "f\xfcr", "\xf0\x9f"} {
		if e := decode(t, []byte(strings.Replace(text, "Reconciliation finished", "Finished "+broken, 1)), event.Options{}); e.Notification == nil {
			t.Errorf("%q: %+v", broken, e)
		}
	}
}
