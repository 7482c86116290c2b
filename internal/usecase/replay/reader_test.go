package replay_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/record"
	core "github.com/postflight-dev/postflight/internal/core/record/replay"
	"github.com/postflight-dev/postflight/internal/store/archive"
	"github.com/postflight-dev/postflight/internal/usecase/replay"
	"github.com/postflight-dev/postflight/test/stores"
)

var now = time.Date(2026, 11, 26, 20, 30, 0, 0, time.UTC)

const week = 7 * 24 * time.Hour

func acme() *v1alpha1.Team {
	return &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: "acme", CreationTimestamp: metav1.NewTime(now.AddDate(0, -1, 0))}, Spec: v1alpha1.TeamSpec{Namespace: "shop"}}
}

func trigger(name, branch string) *v1alpha1.Trigger {
	t := &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: v1alpha1.TriggerSpec{Environment: "staging"}}
	t.Spec.Match.Branches = []string{branch}
	return t
}

// readOnly is a cluster that fails the test for each write.
func readOnly(t testing.TB, objects ...client.Object) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	objects = append(objects, &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "staging"}})
	refuse := func(what string) error { t.Errorf("a replay writes: %s", what); return errors.New(what) }
	return interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build(), interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return refuse("create")
		},
		Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error {
			return refuse("update")
		},
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return refuse("patch")
		},
		Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
			return refuse("delete")
		},
	})
}

type world struct {
	*archive.Archive
	stores.Server
}

func newWorld(t testing.TB) world {
	t.Helper()
	stores.Credentials(t)
	s := stores.Rclone(t)
	return world{&archive.Archive{Bucket: s.Bucket(t)}, s}
}

func (w world) save(t testing.TB, team string, lines ...record.Notification) {
	t.Helper()
	j := archive.NewJournal(w.Archive, clocktesting.NewFakeClock(now))
	for _, n := range lines {
		j.Record(team, n)
	}
	j.Save(log.IntoContext(t.Context(), logr.Discard()))
}

func line(ago time.Duration, branch string, matched ...string) record.Notification {
	n := record.NotificationOf(now.Add(-ago), &notification.Notification{Branch: branch, SHA: branch + "-sha"}, nil)
	n.Matched = matched
	return n
}

// replayed joins all pages, and writes a change as "starts smoke main".
func replayed(t testing.TB, r *replay.Reader, q replay.Query) (all httpapi.Replay, changes []string, pages int) {
	t.Helper()
	for q.Before = now; ; {
		page, err := r.Replay(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		pages++
		if all.Triggers == nil {
			all.Triggers = page.Triggers
		} else {
			for i, c := range page.Triggers {
				all.Triggers[i].Matched += c.Matched
			}
		}
		all.Notifications += page.Notifications
		all.Problems = append(all.Problems, page.Problems...)
		for _, c := range page.Changes {
			changes = append(changes, fmt.Sprintf("%s %s %s", c.Change, c.Trigger, c.Branch))
		}
		if page.Next == "" {
			all.From = page.From
			return all, changes, pages
		}
		next, err := time.Parse(time.RFC3339Nano, page.Next)
		if err != nil || !next.Before(q.Before) {
			t.Fatalf("the next page ends at %s, %v, and this one at %s", page.Next, err, q.Before)
		}
		q.Before = next
	}
}

func TestReplay(t *testing.T) {
	w := newWorld(t)
	w.save(t, "acme",
		line(time.Minute, "main", "smoke"), line(2*time.Hour, "release/1"), line(3*24*time.Hour, "release/2"), line(week-time.Minute, "x"), line(week+time.Minute, "release/old"))
	w.save(t, "acme", line(time.Hour, "release/replica"))
	w.save(t, "other", line(time.Hour, "release/other"))
	r := replay.NewReader(readOnly(t, trigger("smoke", "main")), w.Archive, clocktesting.NewFakePassiveClock(now))
	all, changes, _ := replayed(t, r, replay.Query{
		Team: acme(), Since: now.Add(-week), Triggers: []*v1alpha1.Trigger{trigger("smoke", "release/**"), trigger("new", "x")},
	})
	want := []string{"stops smoke main", "starts smoke release/replica", "starts smoke release/1", "starts smoke release/2", "starts new x"}
	if diff := cmp.Diff(want, changes); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if all.Notifications != 5 || len(all.Problems) > 0 || !all.From.Equal(now.Add(-week)) {
		t.Errorf("%d notifications since %s, %q", all.Notifications, all.From, all.Problems)
	}
	counts := []httpapi.ReplayedTrigger{
		{Trigger: "smoke", Environment: "staging", ComparedWith: "trigger", Matched: 3, MatchedBefore: 1, Starts: 3, Stops: 1},
		{Trigger: "new", Environment: "staging", ComparedWith: "history", Matched: 1, Starts: 1},
	}
	if diff := cmp.Diff(counts, all.Triggers); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestReplayOfAFormerTeam: a later Team of the name does not read its lines.
func TestReplayOfAFormerTeam(t *testing.T) {
	w := newWorld(t)
	w.save(t, "acme", line(48*time.Hour, "former"), line(time.Hour, "mine"))
	team := acme()
	team.CreationTimestamp = metav1.NewTime(now.Add(-24 * time.Hour))
	r := replay.NewReader(readOnly(t), w.Archive, clocktesting.NewFakePassiveClock(now))
	_, changes, _ := replayed(t, r, replay.Query{Team: team, Since: now.Add(-week), Triggers: []*v1alpha1.Trigger{trigger("smoke", "**")}})
	if !cmp.Equal(changes, []string{"starts smoke mine"}) {
		t.Errorf("got %q", changes)
	}
}

// TestReplayInPages: each hour is in one page, whatever there is.
func TestReplayInPages(t *testing.T) {
	w := newWorld(t)
	var lines []record.Notification
	for i := range 40 {
		lines = append(lines, line(time.Duration(i)*time.Hour+time.Minute, fmt.Sprint(i)))
	}
	w.save(t, "acme", lines...)
	clock := &steppingClock{FakePassiveClock: clocktesting.NewFakePassiveClock(now)}
	r := replay.NewReader(readOnly(t), w.Archive, clock)
	all, changes, pages := replayed(t, r, replay.Query{Team: acme(), Since: now.AddDate(0, 0, -40), Triggers: []*v1alpha1.Trigger{trigger("smoke", "*")}})
	if all.Notifications != 40 || len(changes) != 40 || changes[0] != "starts smoke 0" || changes[39] != "starts smoke 39" || all.Triggers[0].Matched != 40 {
		t.Errorf("%d notifications, changes %q, %+v", all.Notifications, changes, all.Triggers)
	}
	if pages < 10 {
		t.Errorf("there are %d pages, want one for every few days", pages)
	}
}

// steppingClock moves by a second each time it is read, so that a page ends after a few hours of the archive.
type steppingClock struct{ *clocktesting.FakePassiveClock }

func (c *steppingClock) Since(t time.Time) time.Duration {
	c.SetTime(c.Now().Add(time.Second))
	return c.FakePassiveClock.Since(t)
}

func TestReplaySaysWhatIsWrong(t *testing.T) {
	w := newWorld(t)
	w.save(t, "acme", line(time.Hour, "main"))
	damaged := strings.NewReader("damaged")
	if err := w.Archive.Bucket.Put(t.Context(), record.NotificationsKey("acme", now.Add(-time.Hour), "z-0"), "application/gzip", damaged, damaged.Size()); err != nil {
		t.Fatal(err)
	}
	r := replay.NewReader(readOnly(t, &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "broken"}, Spec: v1alpha1.TriggerSpec{Match: v1alpha1.TriggerMatch{Expression: "]"}}}),
		w.Archive, clocktesting.NewFakePassiveClock(now))
	elsewhere := trigger("broken", "main")
	elsewhere.Namespace, elsewhere.Spec.Environment, elsewhere.Spec.TriggerClassName, elsewhere.Spec.Paused = "", "production", "e2e", true
	all, changes, _ := replayed(t, r, replay.Query{Team: acme(), Since: now.Add(-week), Triggers: []*v1alpha1.Trigger{elsewhere}})
	if len(changes) > 0 || all.Notifications != 1 || len(all.Problems) != 1 || !strings.Contains(all.Problems[0], "1 objects of the archive cannot be read") {
		t.Errorf("%d notifications, %q, %q", all.Notifications, changes, all.Problems)
	}
	warnings := strings.Join(all.Triggers[0].Warnings, " ")
	for _, want := range []string{`TriggerClass "e2e"`, `The Environment "production" does not exist now`, "paused"} {
		if !strings.Contains(warnings, want) {
			t.Errorf("no %s in: %s", want, warnings)
		}
	}
	for reason, tc := range map[string]struct {
		change func(*v1alpha1.Trigger)
		says   string
	}{
		"an expression that does not compile": {func(t *v1alpha1.Trigger) { t.Spec.Match.Expression = "notification.brnch == ''" }, `The Trigger "smoke" is not valid. The Trigger matches nothing, because spec.match.expression does not compile: undefined field 'brnch'`},
		"an expensive one": {func(t *v1alpha1.Trigger) {
			t.Spec.Match.Expression = "notification.variables.all(a, notification.variables.all(b, notification.variables[a].contains(notification.variables[b])))"
		}, "may cost too much"},
		"a bad glob":               {func(t *v1alpha1.Trigger) { t.Spec.Match.Branches = []string{"["} }, "spec.match.branches"},
		"another team's namespace": {func(t *v1alpha1.Trigger) { t.Namespace = "other" }, "is in the namespace other, and your team has shop"},
	} {
		t.Run(reason, func(t *testing.T) {
			bad := trigger("smoke", "main")
			tc.change(bad)
			_, err := r.Replay(t.Context(), replay.Query{Team: acme(), Triggers: []*v1alpha1.Trigger{bad}, Since: now.Add(-week), Before: now})
			if invalid, ok := errors.AsType[*core.InvalidError](err); !ok || !strings.Contains(invalid.Message, tc.says) {
				t.Errorf("got %v, want %s", err, tc.says)
			}
		})
	}
}

// TestReplayIsBounded: of a busy team a page lists some changes and counts all, and what takes too long ends.
func TestReplayIsBounded(t *testing.T) {
	w := newWorld(t)
	var lines []record.Notification
	for i := range 1500 {
		lines = append(lines, line(time.Minute, fmt.Sprint(i)))
	}
	w.save(t, "acme", lines...)
	q := replay.Query{Team: acme(), Since: now.Add(-week), Before: now, Triggers: []*v1alpha1.Trigger{trigger("smoke", "*")}}
	r := replay.NewReader(readOnly(t), w.Archive, clocktesting.NewFakePassiveClock(now))
	got, err := r.Replay(t.Context(), q)
	if err != nil || len(got.Changes) != 1000 || got.MoreChanges != 500 || got.Triggers[0].Starts != 1500 {
		t.Errorf("%d changes and %d more, %+v, %v", len(got.Changes), got.MoreChanges, got.Triggers, err)
	}
	slow := &steppingClock{FakePassiveClock: clocktesting.NewFakePassiveClock(now)}
	if _, err := replay.NewReader(readOnly(t), w.Archive, slow).Replay(t.Context(), q); !errors.Is(err, replay.ErrExpensive) {
		t.Errorf("a replay that takes too long: %v", err)
	}
	away := w.Options()
	away.Endpoint = "http://127.0.0.1:1"
	r = replay.NewReader(readOnly(t), &archive.Archive{Bucket: stores.Open(t, away)}, clocktesting.NewFakePassiveClock(now))
	if _, err := r.Replay(t.Context(), q); err == nil || !strings.Contains(err.Error(), "refuses connections") {
		t.Errorf("without the store: %v", err)
	}
}
