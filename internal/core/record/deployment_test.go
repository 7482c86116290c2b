package record_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
)

var tuesday = time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC)

func after(minutes int) time.Time { return tuesday.Add(time.Duration(minutes) * time.Minute) }

func line(repository, sha string, minute int) record.Deployment {
	return record.Deployment{Team: "acme", Namespace: "shop", Environment: "staging", Deployment: httpapi.Deployment{Repository: repository, SHA: sha, Since: after(minute)}}
}

func ofService(d record.Deployment, name string) record.Deployment {
	d.Service = name
	return d
}

// TestDeploymentKeys: a listing has the newest first, and begins with what was deployed at a time.
func TestDeploymentKeys(t *testing.T) {
	old, newer := line("acme/shop", "aaaa", 0), line("acme/shop", "bbbb", 1)
	s := old.Series()
	for want, d := range map[string]record.Deployment{"8204485599-2026-11-24T100000Z-61be55a8.json": old, "8204478399-2026-11-24T120000Z-deleted.json": old.Deletion(after(120))} {
		if got := d.Key(); got != "acme/postflight-runs/environments/staging/acme-shop-d21b2cdf12b7/"+want {
			t.Errorf("the key is %s, want %s", got, want)
		}
	}
	if other := line("acme/shop", "cccc", 0); other.Key() == old.Key() {
		t.Error("two commits of one second have one key")
	}
	for name, tc := range map[string]struct {
		at     time.Time
		listed []string // after the key that the listing starts from
	}{
		"before":  {after(0).Add(-time.Second), nil},
		"at once": {after(0), []string{old.Key()}},
		"between": {after(1).Add(-time.Second), []string{old.Key()}},
		"newest":  {after(1), []string{newer.Key(), old.Key()}},
		"later":   {after(9999), []string{newer.Key(), old.Key()}},
	} {
		t.Run(name, func(t *testing.T) {
			var listed []string
			for _, key := range slices.Sorted(slices.Values([]string{old.Key(), newer.Key()})) {
				if key > s.From(tc.at) {
					listed = append(listed, key)
				}
			}
			if diff := cmp.Diff(tc.listed, listed); diff != "" {
				t.Error(diff)
			}
		})
	}
	for _, d := range []record.Deployment{old, newer, line("", "", 5), line("Ä/"+strings.Repeat("x", 300), "v1.2.3-rc-1", 7), newer.Deletion(after(3))} {
		k, ok := record.ParseDeploymentKey("acme", d.Key())
		if !ok || k.Series != d.Series() || !k.At.Equal(d.Since) || k.Deleted != d.Deleted {
			t.Errorf("%s is read as %+v, %t", d.Key(), k, ok)
		}
		if got, ok := record.ParseSeries("acme", "staging", d.Series().Prefix()); !ok || got != d.Series() {
			t.Errorf("the series of %s is read as %+v, %t", d.Key(), got, ok)
		}
	}
	if line("acme/shop", "", 0).Series() == line("ACME/shop", "", 0).Series() || line("a/b", "", 0).Series() == line("a-b", "", 0).Series() {
		t.Error("two repositories have one series")
	}
	if cart, whole := ofService(line("acme/mono", "", 0), "cart").Series(), line("acme/mono", "", 0).Series(); cart == whole ||
		cart == ofService(line("acme/mono", "", 0), "mail").Series() || cart == line("acme/mono-cart", "", 0).Series() {
		t.Error("two services have one series")
	}
}

func TestParseDeploymentKeyRejects(t *testing.T) {
	good := line("acme/shop", "aaaa", 0).Key()
	for name, key := range map[string]string{
		"another team":    strings.Replace(good, "acme/", "acme-2/", 1),
		"a run":           "acme/postflight-runs/day=2026-11-24/T100000Z-a/run.json",
		"another time":    strings.Replace(good, "T100000Z", "T100001Z", 1),
		"no time":         strings.Replace(good, "2026-11-24T100000Z", "2026-11-24", 1),
		"another ending":  good + ".bak",
		"a folder more":   strings.Replace(good, "/staging/", "/staging/x/", 1),
		"a folder less":   strings.Replace(good, "/staging/", "/", 1),
		"only the prefix": record.AllDeploymentsPrefix("acme"),
		"empty":           "",
	} {
		if k, ok := record.ParseDeploymentKey("acme", key); ok {
			t.Errorf("%s: %s is read as %+v", name, key, k)
		}
	}
}

// TestDeploymentsOf an Environment: each that has begun, and of workloads only those that have the commit.
func TestDeploymentsOf(t *testing.T) {
	at := func(minute int) *metav1.Time { return new(metav1.NewTime(after(minute).Local())) }
	workloads := []v1alpha1.DeployedWorkload{{Kind: "Deployment", Namespace: "shop", Name: "web", SHA: "bbbb", Ready: true, Digests: []v1alpha1.ImageDigest{{Container: "web", Digest: "sha256:1"}}}}
	shown := []httpapi.DeployedWorkload{{Kind: "Deployment", Namespace: "shop", Name: "web", SHA: "bbbb", Ready: true, Digests: []httpapi.ImageDigest{{Container: "web", Digest: "sha256:1"}}}}
	for name, tc := range map[string]struct {
		reason string
		is     v1alpha1.Deployed
		want   *httpapi.Deployment
	}{
		"ready":         {"its workloads have it", v1alpha1.Deployed{SHA: "bbbb", Since: at(3), Ready: new(true), Workloads: workloads}, &httpapi.Deployment{SHA: "bbbb", Since: after(3), Workloads: shown}},
		"rolling":       {"its workloads have the next one", v1alpha1.Deployed{SHA: "aaaa", Since: at(3), Ready: new(false), Message: "bbbb comes", Workloads: workloads}, &httpapi.Deployment{SHA: "aaaa", Since: after(3)}},
		"notified":      {"there are no workloads", v1alpha1.Deployed{SHA: "aaaa", Branch: "main", DeploymentType: "web", ReportedBy: "Notification", Since: at(3)}, &httpapi.Deployment{SHA: "aaaa", Branch: "main", DeploymentType: "web", ReportedBy: "Notification", Since: after(3)}},
		"several":       {"the line says why it has no commit", v1alpha1.Deployed{Since: at(3), Ready: new(false), Workloads: workloads}, &httpapi.Deployment{Since: after(3), Message: "The workloads had several commits."}},
		"never ready":   {"nothing is deployed", v1alpha1.Deployed{Ready: new(false), Workloads: workloads}, nil},
		"set back":      {"a deployment is later than the one before", v1alpha1.Deployed{SHA: "bbbb", Since: at(1), Previous: &v1alpha1.PreviousDeployment{SHA: "aaaa", Since: at(3)}}, &httpapi.Deployment{SHA: "bbbb", Since: after(3).Add(time.Second)}},
		"same second":   {"the same", v1alpha1.Deployed{SHA: "bbbb", Since: at(3), Previous: &v1alpha1.PreviousDeployment{SHA: "aaaa", Since: at(3)}}, &httpapi.Deployment{SHA: "bbbb", Since: after(3).Add(time.Second)}},
		"with a former": {"which has its own line", v1alpha1.Deployed{SHA: "bbbb", Since: at(3), Previous: &v1alpha1.PreviousDeployment{SHA: "aaaa", Since: at(1)}}, &httpapi.Deployment{SHA: "bbbb", Since: after(3)}},
	} {
		t.Run(name, func(t *testing.T) {
			e := &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "staging"}, Status: v1alpha1.EnvironmentStatus{Deployed: []v1alpha1.Deployed{tc.is}}}
			var got *httpapi.Deployment
			if all := record.DeploymentsOf("acme", e); len(all) > 0 {
				got = &all[0].Deployment
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
	e := &v1alpha1.Environment{Spec: v1alpha1.EnvironmentSpec{Variables: v1alpha1.Variables{"PASSWORD": "hunter2"}}}
	e.Status.Deployed = []v1alpha1.Deployed{{SHA: "a", Since: at(1)}}
	if text, err := json.Marshal(record.DeploymentsOf("acme", e)); err != nil || strings.Contains(string(text), "hunter2") {
		t.Errorf("%s, %v", text, err)
	}
}

// TestEnvironmentAt: for each repository, what began last until then, in the archive, in the status, or as what was before.
func TestEnvironmentAt(t *testing.T) {
	e := &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "staging"}}
	at := func(minute int) *metav1.Time { return new(metav1.NewTime(after(minute))) }
	e.Status.Deployed = []v1alpha1.Deployed{{Repository: "shop", SHA: "dddd", Since: at(40), Previous: &v1alpha1.PreviousDeployment{SHA: "cccc", Since: at(30)}}}
	e.Status.Unarchived = []v1alpha1.EarlierDeployment{{Repository: "shop", SHA: "bbbb", Since: *at(20)}, {Repository: "shop", Branch: "x", SHA: "cccc", Since: *at(30)}, {Repository: "pay", Since: *at(35), Unknown: true}}
	e.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Message: "There is no Deployment cart."}}
	archived := []record.Deployment{line("shop", "aaaa", 10), line("pay", "1111", 5), line("wiki", "w", 39)}
	for name, tc := range map[string]struct {
		minute int
		want   string
	}{
		"before anything":  {0, ""},
		"archived":         {12, "pay 1111, shop aaaa"},
		"not yet archived": {20, "pay 1111, shop bbbb"},
		"with all details": {31, "pay 1111, shop cccc x"},
		"unknown":          {36, "pay ?, shop cccc x"},
		"of the status":    {40, "pay ?, shop dddd, wiki w"},
		"a second before":  {39, "pay ?, shop cccc x, wiki w"},
		"now":              {9999, "pay ?, shop dddd, wiki w"},
	} {
		t.Run(name, func(t *testing.T) {
			s := record.EnvironmentAt("acme", e, archived, after(tc.minute))
			var got []string
			for _, d := range s.Deployed {
				if d.SHA == "" && d.Message != "" {
					d.SHA = "?"
				}
				got = append(got, strings.TrimSpace(fmt.Sprint(d.Repository, " ", d.SHA, " ", d.Branch)))
			}
			if strings.Join(got, ", ") != tc.want || s.Ready != nil || s.Message != "" || !s.At.Equal(after(tc.minute)) {
				t.Errorf("%q, want %q; %+v", got, tc.want, s)
			}
		})
	}
	e.Status.Unarchived = nil
	if s := record.EnvironmentAt("acme", e, nil, after(35)); len(s.Deployed) != 1 || s.Deployed[0].SHA != "cccc" {
		t.Errorf("without an archive, the previous one is known: %+v", s.Deployed)
	}
}

// TestHistoryOf: the newest first, each until the next one, and only what was there after a time.
func TestHistoryOf(t *testing.T) {
	e := &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "staging"}}
	at := func(minute int) *metav1.Time { return new(metav1.NewTime(after(minute))) }
	e.Status.Deployed = []v1alpha1.Deployed{{Repository: "shop", SHA: "cccc", Since: at(40), Previous: &v1alpha1.PreviousDeployment{SHA: "bbbb", Since: at(30)}}}
	gone := line("pay", "1111", 5)
	gone.Until = new(after(15)) // with a former Environment of the name
	archived := []record.Deployment{line("shop", "bbbb", 30), line("shop", "aaaa", 10), line("pay", "2222", 35), gone}
	summary := func(h httpapi.DeploymentHistory) (all []string) {
		for _, d := range h.Deployments {
			until := "now"
			if d.Until != nil {
				until = fmt.Sprint(d.Until.Sub(tuesday).Minutes())
			}
			all = append(all, fmt.Sprintf("%s %s %v-%s", d.Repository, d.SHA, d.Since.Sub(tuesday).Minutes(), until))
		}
		return all
	}
	for name, tc := range map[string]struct {
		after, limit int
		want         []string
		more         bool
	}{
		"all":        {-1, 10, []string{"shop cccc 40-now", "pay 2222 35-now", "shop bbbb 30-40", "shop aaaa 10-30", "pay 1111 5-15"}, false},
		"the newest": {-1, 2, []string{"shop cccc 40-now", "pay 2222 35-now"}, true},
		"after":      {20, 10, []string{"shop cccc 40-now", "pay 2222 35-now", "shop bbbb 30-40", "shop aaaa 10-30"}, false},
		"just after": {30, 10, []string{"shop cccc 40-now", "pay 2222 35-now", "shop bbbb 30-40"}, false},
		"today":      {99, 10, []string{"shop cccc 40-now", "pay 2222 35-now"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := record.HistoryOf("acme", e, archived, after(tc.after), tc.limit)
			if diff := cmp.Diff(tc.want, summary(h)); diff != "" || h.More != tc.more {
				t.Errorf("%s, more: %t", diff, h.More)
			}
		})
	}
	if text, err := json.Marshal(record.HistoryOf("acme", &v1alpha1.Environment{}, nil, tuesday, 1)); err != nil || string(text) != `{"deployments":[],"more":false}` {
		t.Errorf("%s, %v", text, err)
	}
}

// TestRepositoryInAnotherSpelling is the same one, in series that keep their keys.
func TestRepositoryInAnotherSpelling(t *testing.T) {
	e := &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "staging"}}
	e.Status.Deployed = []v1alpha1.Deployed{{Repository: "Acme/Shop", SHA: "cccc", Branch: "main", Since: new(metav1.NewTime(after(40)))}}
	archived := []record.Deployment{line("acme/shop", "cccc", 40), line("ACME/shop", "bbbb", 20), line("acme/shop", "aaaa", 10)}
	for minute, want := range map[int]string{15: "acme/shop aaaa", 25: "ACME/shop bbbb", 45: "acme/shop cccc main"} {
		var got []string
		for _, d := range record.EnvironmentAt("acme", e, archived, after(minute)).Deployed {
			got = append(got, strings.TrimSpace(d.Repository+" "+d.SHA+" "+d.Branch))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("after %d minutes: %q, want %s", minute, got, want)
		}
	}
	var got []string
	for _, d := range record.HistoryOf("acme", e, archived, after(-1), 10).Deployments {
		until := "now"
		if d.Until != nil {
			until = fmt.Sprint(d.Until.Sub(tuesday).Minutes())
		}
		got = append(got, fmt.Sprintf("%s %s %s until %s", d.Repository, d.SHA, d.Branch, until))
	}
	if diff := cmp.Diff([]string{"acme/shop cccc main until now", "ACME/shop bbbb  until 40", "acme/shop aaaa  until 20"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestServicesInHistory: the deployment of a service ends with its next one, and not with that of another one.
func TestServicesInHistory(t *testing.T) {
	lines := []record.Deployment{
		ofService(line("acme/mono", "a", 0), "cart"), ofService(line("acme/mono", "b", 5), "mail"), ofService(line("acme/mono", "c", 9), "cart"),
	}
	var got []string
	for _, d := range record.HistoryOf("acme", &v1alpha1.Environment{}, lines, time.Time{}, 9).Deployments {
		until := "now"
		if d.Until != nil {
			until = d.Until.Sub(tuesday).String()
		}
		got = append(got, d.Service+" "+d.SHA+" until "+until)
	}
	if diff := cmp.Diff([]string{"cart c until now", "mail b until now", "cart a until 9m0s"}, got); diff != "" {
		t.Error(diff)
	}
	got = nil
	for _, d := range record.DeployedAt(lines, after(7)) {
		got = append(got, d.Service+" "+d.SHA)
	}
	if diff := cmp.Diff([]string{"cart a", "mail b"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestParseMoment(t *testing.T) {
	now := after(120)
	for text, want := range map[string]time.Time{
		"2026-11-24T10:00:00Z": tuesday, "2026-11-24T10:00Z": tuesday, "2026-11-24T11:00+01:00": tuesday, "2026-11-24T10:00": tuesday,
		"2026-11-24 10:00": tuesday, "2026-11-24 10:00:00": tuesday, "2026-11-24": tuesday.Add(-10 * time.Hour), "2h": tuesday, "120m": tuesday,
		"1d": now.Add(-24 * time.Hour), "0s": now, "2026-11-24T12:00:30Z": now.Add(30 * time.Second),
	} {
		if got, err := record.ParseMoment(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%s is %s, %v; want %s", text, got, err, want)
		}
	}
	for text, says := range map[string]string{
		"": "no time", "yesterday": "no time", "-3h": "no time", "10:00": "no time", "2026-13-01": "no time", "24.11.2026": "no time", "99999999d": "no time",
		"2026-11-24T12:02Z": "in the future", "2027-01-01": "in the future", "\x1b[2J": "no time",
	} {
		if got, err := record.ParseMoment(text, now); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\x1b[") {
			t.Errorf("%q is %s, %v", text, got, err)
		}
	}
}

// TestStoredLineIsEqual: what was read back from the store is what was written, so that nobody writes it again.
func TestStoredLineIsEqual(t *testing.T) {
	at := new(metav1.NewTime(after(3).In(time.FixedZone("", 3600))))
	e := &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "staging"}}
	e.Status.Unarchived = []v1alpha1.EarlierDeployment{{Repository: "shop", Since: *at, Unknown: true}, {Repository: "shop", Since: *at}}
	e.Status.Deployed = []v1alpha1.Deployed{{Repository: "shop", SHA: "aaaa", Branch: "main", Since: at, Ready: new(true), ReportedBy: "Workload", Workloads: []v1alpha1.DeployedWorkload{
		{Kind: "Deployment", Namespace: "shop", Name: "web", Ready: true, Digests: []v1alpha1.ImageDigest{{Container: "web", Digest: "sha256:1"}}}, {Kind: "Deployment", Name: "api", Digests: []v1alpha1.ImageDigest{}},
	}}}
	lines := append(record.DeploymentsOf("acme", e), line("pay", "1111", 1).Deletion(after(5)))
	for _, d := range lines {
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		var stored record.Deployment
		if err := json.Unmarshal(text, &stored); err != nil || !stored.Merge(d).Equal(stored) || stored.Key() != d.Key() {
			t.Errorf("%s is read as %+v, %v", text, stored, err)
		}
	}
	if len(lines) != 4 {
		t.Errorf("%d lines", len(lines))
	}
}
