package pages_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/server/pages"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
)

var staleCommit = "/environments/shop/production/commits/" + commit("57a1e0ff")

// TestCommitPage: it leads to the runs that decide, to their new failures, and to what waits on a code host.
func TestCommitPage(t *testing.T) {
	b := newWorld(t, samples()).browser(t, readKey)
	for path, want := range map[string][]string{
		withdrawnCommit: {"Withdrawn", `href="/runs/shop/checkout-9a41c0#failure-0">checkout › pays with a saved card</a>`, "replaced by",
			`href="/triggers/shop/visual"`, "Passed, 1 quarantined", `href="https://github.com/acme/shop/actions/runs/815"`,
			`href="https://gitlab.example.com/acme/shop/-/environments"`, "no longer counts", "sha256:77c0ffee",
			"postflight gate --sha " + commit("5a7ed0c4") + " --environment staging --wait"},
		staleCommit: {"Stale", "at most 24h ago"},
		"/environments/shop/staging/commits/" + commit("0ddba11"): {"No result", "Nothing has tested this commit here."},
		"/environments/shop/staging/commits/v1%2F2":               {"v1/2 on staging"},
		"/environments/shop/staging":                              {`href="/environments/shop/staging/commits/` + commit("9c1d2e3f") + `"`},
		failedRun:                                                 {`href="/environments/shop/production/commits/` + commit("b776998c") + `"`},
	} {
		got := b.get(path)
		for _, text := range want {
			if !strings.Contains(got.body, text) {
				t.Errorf("%s: %d, without %q", path, got.code, text)
			}
		}
		if strings.Contains(got.body, "Run what is missing") {
			t.Errorf("%s has a button for a reader", path)
		}
	}
	for path, key := range map[string]string{
		"/environments/shop/none/commits/x":     readKey,
		"/environments/rival/staging/commits/x": readKey, withdrawnCommit: otherKey,
		"/environments/shop/staging/commits/" + strings.Repeat("a", 129):                    readKey,
		"/environments/shop/staging/commits/a?repository=" + strings.Repeat("a", 257):       readKey,
		"/environments/shop/staging/commits/a?service=" + strings.Repeat("a", 129):          readKey,
		"/environments/shop/staging/commits/" + url.PathEscape("../../../runs/shop") + "/x": readKey,
	} {
		if got := newWorld(t, samples()).browser(t, key).get(path); got.code != http.StatusNotFound {
			t.Errorf("%.80s: %d, want 404", path, got.code)
		}
	}
}

// TestCommitOfAGoneEnvironment: the page of a run leads to no page that is not there.
func TestCommitOfAGoneEnvironment(t *testing.T) {
	var left []client.Object
	for _, o := range samples() {
		if e, ok := o.(*v1alpha1.Environment); !ok || e.Name != "production" {
			left = append(left, o)
		}
	}
	if got := newWorld(t, left).browser(t, readKey).get(failedRun); got.code != http.StatusOK || strings.Contains(got.body, "/commits/") {
		t.Errorf("%d, or a link to the verdict", got.code)
	}
}

// TestStartMissing: only people who may act start what is missing, and only what still tests the commit.
func TestStartMissing(t *testing.T) {
	cases := map[string]struct {
		reason string
		key    string
		path   string
		header http.Header
		err    error
		want   int
		done   []string
	}{
		"stale":           {"It is recorded by whom.", actKey, staleCommit, nil, nil, http.StatusSeeOther, []string{"rerun smoke-5sta by laptop of Anna"}},
		"with a part":     {"The page that follows asks the same.", actKey, staleCommit + "?repository=acme%2Fdocs", nil, nil, http.StatusSeeOther, []string{"rerun smoke-5sta by laptop of Anna"}},
		"by a reader":     {"A key only reads.", readKey, staleCommit, nil, nil, http.StatusForbidden, nil},
		"by nobody":       {"They may sign in.", "", staleCommit, nil, nil, http.StatusSeeOther, nil},
		"by a rival":      {"They learn nothing.", otherKey, staleCommit, nil, nil, http.StatusNotFound, nil},
		"from a site":     {"A page of somebody else acts as the reader.", actKey, staleCommit, http.Header{"Sec-Fetch-Site": {"cross-site"}}, nil, http.StatusForbidden, nil},
		"withdrawn":       {"What failed is not repeated, and the commit is gone.", actKey, withdrawnCommit, nil, nil, http.StatusConflict, nil},
		"nothing missing": {"It failed.", actKey, "/environments/shop/production/commits/" + commit("b776998c"), nil, nil, http.StatusConflict, nil},
		"unknown commit":  {"It was not deployed.", actKey, "/environments/shop/staging/commits/x", nil, nil, http.StatusConflict, nil},
		"no Environment":  {"", actKey, "/environments/shop/none/commits/x", nil, nil, http.StatusNotFound, nil},
		"refused":         {"The reason is shown.", actKey, staleCommit, nil, &dispatch.Error{Kind: dispatch.Rejected, Message: "refused here"}, http.StatusConflict, []string{"rerun smoke-5sta by laptop of Anna"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := newWorld(t, samples())
			h.actions.err = tc.err
			path, query, _ := strings.Cut(tc.path, "?")
			got := h.browser(t, tc.key).do(http.MethodPost, path+"/start?"+query, "", tc.header)
			if got.code != tc.want {
				t.Errorf("%s: got %d, want %d", tc.reason, got.code, tc.want)
			}
			if diff := cmp.Diff(tc.done, h.actions.all()); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
			if len(tc.done) > 0 && tc.err == nil && got.header.Get("Location") != tc.path {
				t.Errorf("it leads to %s", got.header.Get("Location"))
			}
			if tc.err != nil && !strings.Contains(got.body, "refused here") {
				t.Error("the page does not say why")
			}
		})
	}
	body := newWorld(t, samples()).browser(t, actKey).get(staleCommit).body
	if !strings.Contains(body, "Run what is missing") || !strings.Contains(body, staleCommit+`/start"`) {
		t.Error("there is no button")
	}
}

// TestHostileCommit: nothing that a pipeline, a code host or a test wrote adds an element or an attribute to the page.
func TestHostileCommit(t *testing.T) {
	known := map[string]bool{}
	for i, text := range append([]string{"plain", "https://plain.example/a"}, hostile...) {
		text = strings.ReplaceAll(text, "EVIL", "http://evil.example")
		if len(text) > 128 { // the longest SHA of a Suite
			continue
		}
		s := hostileRun(i, text)
		s.Spec.Environment, s.Spec.Trigger.Name = "production", "smoke"
		s.Spec.Deployment.CommitMessage, s.Spec.Deployment.CommitAuthor, s.Spec.Deployment.Service = text, text, text
		s.Status.UnderTest = &v1alpha1.UnderTest{Workloads: []v1alpha1.TestedWorkload{{Kind: text, Name: text, Start: &v1alpha1.WorkloadVersion{
			UID: "x", SHA: text, Digests: []v1alpha1.ImageDigest{{Container: text, Digest: text}}}}}}
		earlier := s.DeepCopy()
		earlier.Name += "-earlier"
		earlier.Status.Conditions = []metav1.Condition{v1alpha1.Passed(text)}
		earlier.Status.CompletionTime = new(metav1.NewTime(s.Status.CompletionTime.Add(-time.Minute)))
		gone := s.DeepCopy()
		gone.Name, gone.Spec.Deployment.SHA = gone.Name+"-next", "next"+text
		gone.Spec.ReceivedAt = new(metav1.NewMicroTime(time.Now()))
		waits := review("waits", text, minute, 0, "", text)
		asked := review("asked", text, minute, 812, v1alpha1.ReviewRejected, text)
		for _, r := range []*v1alpha1.DeploymentReview{waits, asked} {
			r.Spec.Repository, r.Spec.Environment, r.Spec.RequestedBy, r.Spec.Branch = text, text, text, text
			r.Spec.Gate = "gone"
			r.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionDelivered, Status: metav1.ConditionFalse, Message: text}}
		}
		h := newWorld(t, append(samples(), s, earlier, gone, waits, asked))
		path := "/environments/shop/production/commits/" + url.PathEscape(text)
		got := h.browser(t, actKey).get(path)
		if got.code != http.StatusOK {
			t.Errorf("%q: %d", text, got.code)
			continue
		}
		for part := range markup(got.body) {
			if i < 2 {
				known[part] = true
			} else if !known[part] {
				t.Errorf("%q adds %s", text, part)
			}
		}
		for _, to := range addresses(got.body) {
			if u, err := url.Parse(to); err != nil || u.Scheme != "" && u.Scheme != "http" && u.Scheme != "https" || u.Host == "evil.example" && i > 1 && !strings.HasPrefix(text, "http") {
				t.Errorf("%q leads to %q, %v", text, to, err)
			}
		}
	}
}

// TestCommitBelowAPath: links stay below the path of the public URL.
func TestCommitBelowAPath(t *testing.T) {
	h := newWorld(t, samples(), func(c *pages.Config) { c.PublicURL = "http://localhost/ci" })
	body := h.browser(t, actKey).get("/ci" + staleCommit).body
	for _, to := range addresses(body) {
		if strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "/ci/") {
			t.Errorf("it leads to %s", to)
		}
	}
	if !strings.Contains(body, `action="/ci`+staleCommit+`/start"`) {
		t.Error("the button does not stay below the path")
	}
}
