package history_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	core "github.com/postflight-dev/postflight/internal/core/tests/history"
	"github.com/postflight-dev/postflight/internal/usecase/history"
)

// shelf is an archive in memory: summaries by day, and the tests of places by their hash.
type shelf struct {
	days  map[string]core.Day
	tests map[string][]byte
	fails map[string]error // by day
}

func (s *shelf) OpenDay(_ context.Context, team, day string) (io.ReadCloser, int64, error) {
	if err := s.fails[day]; err != nil {
		return nil, 0, err
	}
	d, found := s.days[team+" "+day]
	if !found {
		return nil, 0, fs.ErrNotExist
	}
	content := d.Encode()
	return io.NopCloser(bytes.NewReader(content)), int64(len(content)), nil
}

func (s *shelf) TestOn(_ context.Context, _, _ string, p *core.PlaceDay, name string) (core.TestDay, bool, error) {
	content, found := s.tests[p.Object]
	from, to, ok := p.BlockOf(name)
	if !ok || !found {
		return core.TestDay{}, false, fs.ErrNotExist
	}
	return p.FindTest(bytes.NewReader(content[from:to]), name)
}

func (s *shelf) TestsOn(_ context.Context, _, _ string, p *core.PlaceDay, text string, each func(core.TestDay)) error {
	content, found := s.tests[p.Object]
	if !found {
		return fs.ErrNotExist
	}
	return p.ReadTests(bytes.NewReader(content), text, each)
}

// put adds a day of places, each with outcomes by test, and a run every hour.
func (s *shelf) put(team string, day time.Time, places map[string]map[string]string) {
	var runs []core.Run
	var summaries []core.PlaceDay
	for name, tests := range places {
		place := httpapi.Place{Namespace: "acme", Trigger: name, Environment: "staging"}
		count := 0
		for _, outcomes := range tests {
			count = len(outcomes)
		}
		var own []core.Run
		for i := range count {
			at := day.Add(time.Duration(i) * time.Hour)
			own = append(own, core.Run{ID: fmt.Sprintf("%s-%s-%d", name, at.Format("0102"), i), Place: place, CreatedAt: at.Format(time.RFC3339), State: "Passed", Listed: true, Tests: 1, SHA: at.Format("0102") + fmt.Sprint(i)})
		}
		b, _ := core.NewPlaceBuilder(place, own)
		for i := range count {
			b.Begin(own[i].ID)
			for test, outcomes := range tests {
				if state := map[byte]string{'p': "Passed", 'f': "Failed"}[outcomes[i]]; state != "" {
					b.Add(httpapi.Test{Name: test, State: state, Milliseconds: 100})
				}
			}
		}
		p, content := b.Finish()
		s.tests[p.Object] = content
		runs, summaries = append(runs, own...), append(summaries, p)
	}
	d := core.NewDay(team, day.Format(time.DateOnly), runs, summaries)
	s.days[team+" "+d.Day] = d
}

func newShelf() *shelf {
	return &shelf{days: map[string]core.Day{}, tests: map[string][]byte{}, fails: map[string]error{}}
}

func reader(s *shelf) (*history.Reader, *v1alpha1.Team) {
	t := &v1alpha1.Team{}
	t.Name = "acme"
	return history.NewReader(s, clocktesting.NewFakePassiveClock(now), time.Minute), t
}

func TestReader(t *testing.T) {
	today := now.Truncate(24 * time.Hour)
	s := newShelf()
	s.put("acme", today, map[string]map[string]string{"smoke": {"cart > keeps": "pf", "cart > pays": "pp"}, "e2e": {"cart > keeps": "pp"}})
	s.put("acme", today.AddDate(0, 0, -1), map[string]map[string]string{"smoke": {"cart > keeps": "pp", "cart > pays": "fp", "cart > gone": "ff"}})
	s.put("acme", today.AddDate(0, 0, -40), map[string]map[string]string{"smoke": {"cart > keeps": "f", "cart > ancient": "f"}})
	s.put("rivals", today, map[string]map[string]string{"smoke": {"secret": "ff"}})
	r, team := reader(s)

	h, err := r.Test(t.Context(), team, "cart > keeps", history.Query{})
	if err != nil || len(h.Places) != 2 || h.Places[0].Trigger != "smoke" || h.Places[0].Runs != 4 || h.Places[0].Failing.First.SHA != "11241" || h.Places[0].Failing.Before.SHA != "11240" || h.Places[1].Failing != nil {
		t.Errorf("%v %+v", err, h)
	}
	if h, err := r.Test(t.Context(), team, "cart > keeps", history.Query{Days: 90, Trigger: "smoke"}); err != nil || len(h.Places) != 1 || h.Places[0].Runs != 5 || h.Days != 90 {
		t.Errorf("of 90 days: %v %+v", err, h)
	}
	if h, err := r.Test(t.Context(), team, "cart > gone", history.Query{}); err != nil || h.Places[0].Failed != 2 || h.Places[0].Runs != 4 {
		t.Errorf("a test that was removed: %v %+v", err, h)
	}
	for _, name := range []string{"secret", "cart", "cart > ancient"} {
		if _, err := r.Test(t.Context(), team, name, history.Query{}); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	names := func(q history.Query) string {
		list, err := r.List(t.Context(), team, q)
		all := []string{}
		for _, test := range list.Tests {
			all = append(all, fmt.Sprintf("%s %s %d/%d %s", test.Trigger, strings.TrimPrefix(test.Name, "cart > "), test.Failed, test.Runs, test.Outcomes))
		}
		return fmt.Sprint(strings.Join(all, ", "), " ", list.Next, err)
	}
	for q, want := range map[history.Query]string{
		{Limit: 10}:                 "smoke gone 2/4 ff, smoke keeps 1/4 pppf, smoke pays 1/4 fppp <nil>",
		{Limit: 2}:                  "smoke gone 2/4 ff, smoke keeps 1/4 pppf Mg<nil>",
		{Limit: 2, After: "Mg"}:     "smoke pays 1/4 fppp <nil>",
		{Limit: 9, After: "OTk"}:    " <nil>",
		{Limit: 9, Search: "KEEPS"}: "smoke keeps 1/4 pppf, e2e keeps 0/2 pp <nil>",
		{Limit: 9, Search: "%"}:     " <nil>",
		{Limit: 9, Trigger: "e2e"}:  " <nil>",
	} {
		if got := names(q); got != want {
			t.Errorf("%+v: %q, want %q", q, got, want)
		}
	}
	i, err := r.Insights(t.Context(), team, history.Query{Days: 7})
	if err != nil || i.Period.Runs != 6 || len(i.Daily) != 7 || len(i.LeastReliable) != 3 || i.LeastReliable[1].Outcomes != "pppf" || i.LeastReliable[1].FailsSince == nil || i.Problem != "" || i.Before != nil {
		t.Errorf("%v %+v", err, i)
	}
}

// TestPartialRuns: a day on which only failed tests were repeated hides no other test, and is no base of reliability.
func TestPartialRuns(t *testing.T) {
	today := now.Truncate(24 * time.Hour)
	s := newShelf()
	s.put("acme", today.AddDate(0, 0, -1), map[string]map[string]string{"smoke": {"a": "pf", "b": "pp"}, "e2e": {"b": "p"}})
	s.put("acme", today, map[string]map[string]string{"smoke": {"a": "p"}})
	d := s.days["acme "+today.Format(time.DateOnly)]
	d.Runs[0].Partial = true
	r, team := reader(s)
	if h, err := r.Test(t.Context(), team, "b", history.Query{}); err != nil || len(h.Places) != 2 {
		t.Errorf("%v %+v", err, h)
	}
	if list, err := r.List(t.Context(), team, history.Query{Search: "b", Limit: 9}); err != nil || len(list.Tests) != 2 {
		t.Errorf("%v %+v", err, list)
	}
	if list, err := r.List(t.Context(), team, history.Query{Limit: 9}); err != nil || len(list.Tests) != 1 || list.Tests[0].Runs != 2 || list.Tests[0].Outcomes != "pf" {
		t.Errorf("%v %+v", err, list)
	}
}

// TestFailsForLong: a list does not say since when a test fails if it did not look that far back.
func TestFailsForLong(t *testing.T) {
	today := now.Truncate(24 * time.Hour)
	s := newShelf()
	s.put("acme", today.AddDate(0, 0, -9), map[string]map[string]string{"smoke": {"a": "p"}})
	for day := range 9 {
		s.put("acme", today.AddDate(0, 0, -day), map[string]map[string]string{"smoke": {"a": strings.Repeat("f", 20)}})
	}
	r, team := reader(s)
	list, err := r.List(t.Context(), team, history.Query{Limit: 9})
	if err != nil || list.Tests[0].FailsSince != nil || list.Tests[0].Outcomes != strings.Repeat("f", 24) {
		t.Errorf("%v %+v", err, list)
	}
	if h, err := r.Test(t.Context(), team, "a", history.Query{}); err != nil || !h.Places[0].Failing.First.CreatedAt.Equal(today.AddDate(0, 0, -8)) || h.Places[0].Failing.Runs != 180 {
		t.Errorf("%v %+v", err, h.Places[0].Failing)
	}
}

// TestReaderOfDamage: what cannot be read is said, and hides nothing else. A store that is unavailable is no empty history.
func TestReaderOfDamage(t *testing.T) {
	today := now.Truncate(24 * time.Hour)
	s := newShelf()
	s.put("acme", today, map[string]map[string]string{"smoke": {"a": "pf"}})
	s.put("acme", today.AddDate(0, 0, -1), map[string]map[string]string{"smoke": {"a": "pp"}})
	r, team := reader(s)
	s.fails[today.AddDate(0, 0, -2).Format(time.DateOnly)] = fmt.Errorf("%w: it is cut", core.ErrUnreadable)
	h, err := r.Test(t.Context(), team, "a", history.Query{})
	if err != nil || h.Places[0].Runs != 4 || h.Problem != "The summary of one day cannot be read. Its runs are missing here." {
		t.Errorf("%v %+v", err, h)
	}
	for object := range s.tests { // as while a day is summarized again
		delete(s.tests, object)
		break
	}
	if h, err := r.Test(t.Context(), team, "a", history.Query{}); err != nil || len(h.Places[0].Last) != 2 {
		t.Errorf("%v %+v", err, h)
	}
	s.fails[today.Format(time.DateOnly)] = errors.New("it refuses connections")
	for name, ask := range map[string]func() error{
		"test":     func() error { _, err := r.Test(t.Context(), team, "a", history.Query{}); return err },
		"list":     func() error { _, err := r.List(t.Context(), team, history.Query{Limit: 1}); return err },
		"insights": func() error { _, err := r.Insights(t.Context(), team, history.Query{}); return err },
	} {
		if err, ok := errors.AsType[*history.ArchiveError](ask()); !ok || err.Error() != "it refuses connections" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFormerTeam: a later team of the same name does not see what is older than itself.
func TestFormerTeam(t *testing.T) {
	today := now.Truncate(24 * time.Hour)
	s := newShelf()
	s.put("acme", today, map[string]map[string]string{"smoke": {"a": "fp"}})
	s.put("acme", today.AddDate(0, 0, -1), map[string]map[string]string{"smoke": {"a": "ff", "old": "ff"}})
	r, team := reader(s)
	team.CreationTimestamp = metav1.NewTime(today.Add(30 * time.Minute))
	h, err := r.Test(t.Context(), team, "a", history.Query{})
	if err != nil || h.Places[0].Runs != 1 || h.Places[0].Failed != 0 || len(h.Places[0].Failures) != 0 {
		t.Errorf("%v %+v", err, h)
	}
	if _, err := r.Test(t.Context(), team, "old", history.Query{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if list, err := r.List(t.Context(), team, history.Query{Limit: 9}); err != nil || len(list.Tests) != 0 {
		t.Errorf("%v %+v", err, list)
	}
	if i, err := r.Insights(t.Context(), team, history.Query{}); err != nil || i.Period.Runs != 1 || len(i.Slowest) > 1 || len(i.LeastReliable) != 0 {
		t.Errorf("%v %+v", err, i)
	}
}

// TestDayThatIsTooLarge: an answer leaves it out, and says so. The others are there.
func TestDayThatIsTooLarge(t *testing.T) {
	today := now.Truncate(24 * time.Hour)
	s := newShelf()
	s.put("acme", today, map[string]map[string]string{"smoke": {"a": "pf"}})
	s.put("acme", today.AddDate(0, 0, -1), map[string]map[string]string{"smoke": {"a": "pp"}})
	d := s.days["acme "+today.AddDate(0, 0, -1).Format(time.DateOnly)]
	for i := range 40_000 {
		d.Runs = append(d.Runs, core.Run{ID: fmt.Sprintf("smoke-%d", i), Place: d.Runs[0].Place, CreatedAt: d.Runs[0].CreatedAt, State: "Passed"})
	}
	s.days["acme "+d.Day] = d
	r, team := reader(s)
	const want = "One day has more runs than an answer can read. They are missing here, and are still in the archive."
	if i, err := r.Insights(t.Context(), team, history.Query{}); err != nil || i.Period.Runs != 2 || i.Problem != want {
		t.Errorf("%v, %d runs: %s", err, i.Period.Runs, i.Problem)
	}
	if h, err := r.Test(t.Context(), team, "a", history.Query{}); err != nil || h.Places[0].Runs != 2 || h.Problem != want {
		t.Errorf("%v %+v", err, h)
	}
	if list, err := r.List(t.Context(), team, history.Query{Limit: 9, Search: "a"}); err != nil || len(list.Tests) != 1 || list.Tests[0].Runs != 2 || list.Problem != want {
		t.Errorf("%v %+v", err, list)
	}
}

// TestBudgetComesBack: whatever became of the days, the whole budget is free afterwards.
func TestBudgetComesBack(t *testing.T) {
	today := now.Truncate(24 * time.Hour)
	s := newShelf()
	for day := range 20 {
		s.put("acme", today.AddDate(0, 0, -day), map[string]map[string]string{"smoke": {"a": "pf"}})
	}
	s.fails[today.AddDate(0, 0, -3).Format(time.DateOnly)] = fmt.Errorf("%w: it is cut", core.ErrUnreadable)
	r, team := reader(s)
	s.fails[today.AddDate(0, 0, -7).Format(time.DateOnly)] = errors.New("it refuses connections")
	for range 200 { // with 256 KiB each, what the failed ones held would be the whole budget after 80
		if _, err := r.Insights(t.Context(), team, history.Query{}); err == nil {
			t.Fatal("the store failed, and there is an answer")
		}
	}
	delete(s.fails, today.AddDate(0, 0, -7).Format(time.DateOnly))
	if h, err := r.Test(t.Context(), team, "a", history.Query{}); err != nil || h.Places[0].Runs != 38 {
		t.Errorf("%v %+v", err, h)
	}
}
