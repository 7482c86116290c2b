package insights

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
	"github.com/postflight-dev/postflight/internal/core/view"
	"github.com/postflight-dev/postflight/internal/core/view/logtext"
)

const day = 24 * time.Hour

// periods are the days that pages about tests can cover. The second is the default.
var periods = []int{7, 30, 90}

// Period selects what pages about tests cover. It is the query of their URL.
type Period struct {
	Days        int
	Trigger     string
	Environment string
	Text        string // in the names of tests
}

// ParsePeriod reads the query of a URL. It ignores what it does not know.
func ParsePeriod(q url.Values) Period {
	f := view.ParseFilter(q)
	p := Period{Days: periods[1], Trigger: f.Trigger, Environment: f.Environment, Text: f.Text}
	if days, err := strconv.Atoi(q.Get("days")); err == nil && slices.Contains(periods, days) {
		p.Days = days
	}
	return p
}

func (p Period) values() url.Values {
	q := view.Filter{Trigger: p.Trigger, Environment: p.Environment, Text: p.Text}.Query()
	if p.Days != periods[1] {
		q.Set("days", strconv.Itoa(p.Days))
	}
	return q
}

// Query returns the query of the URL, with its question mark.
func (p Period) Query() string { return query(p.values()) }

// All returns the query without the filter, but for as many days.
func (p Period) All() string { return Period{Days: p.Days}.Query() }

// After returns the query of the next page of a list.
func (p Period) After(cursor string) string {
	q := p.values()
	q.Set("after", cursor)
	return query(q)
}

// Filtered reports whether the period has some of a team's runs or tests only.
func (p Period) Filtered() bool { return p.Trigger != "" || p.Environment != "" || p.Text != "" }

// API returns the query of the HTTP API for the same.
func (p Period) API() string {
	q := p.values()
	q.Set("days", strconv.Itoa(p.Days))
	return q.Encode()
}

// Longer returns a longer period; nil if there is none.
func (p Period) Longer() *Period {
	if p.Days == periods[len(periods)-1] {
		return nil
	}
	p.Days = periods[len(periods)-1]
	return &p
}

// Choice is a link to another period.
type Choice struct {
	Label, Query string
	Current      bool
}

// Choices are the periods. Extra are further parts of the query.
func (p Period) Choices(extra ...string) (all []Choice) {
	for _, days := range periods {
		other := p
		other.Days = days
		q := other.values()
		for i := 0; i+1 < len(extra); i += 2 {
			q.Set(extra[i], extra[i+1])
		}
		all = append(all, Choice{fmt.Sprintf("%d days", days), query(q), days == p.Days})
	}
	return all
}

// TestQuery returns the query of the page of a test, as it did in a place.
func (p Period) TestQuery(name string, place httpapi.Place) string {
	q := Period{Days: p.Days, Trigger: place.Trigger, Environment: place.Environment}.values()
	q.Set("name", name)
	return query(q)
}

// runsQuery returns the query of the list of runs that ended in a state.
func (p Period) runsQuery(state string) string {
	return query(view.Filter{State: state, Trigger: p.Trigger, Environment: p.Environment, Archive: true}.Query())
}

func query(q url.Values) string {
	if len(q) == 0 {
		return "?"
	}
	return "?" + q.Encode()
}

// testName makes the name of a test safe to show, because records may be written by strangers.
func testName(name string) string { return plaintext.Line(name, logtext.MaxTestName) }

// Line makes a sentence of the store safe to show.
func Line(text string) string { return plaintext.Line(text, view.MaxFilterText) }

func placeName(p httpapi.Place) string { return p.Trigger + " on " + p.Environment }

// milliseconds formats how long a test takes: 40ms, 2.1s, 1m 38s.
func milliseconds(ms int64) string {
	switch ms = max(0, ms); {
	case ms < 1000:
		return fmt.Sprintf("%dms", ms)
	case ms < 10_000:
		return fmt.Sprintf("%.1fs", float64(ms)/1000)
	default:
		return view.Duration(time.Duration(min(ms, maxMilliseconds)) * time.Millisecond)
	}
}

// maxMilliseconds is a year: more is a mistake, and would overflow a duration.
const maxMilliseconds = 365 * 24 * 3600 * 1000

func seconds(s float64) string {
	return milliseconds(int64(min(max(s, 0), maxMilliseconds/1000) * 1000))
}

// since names a moment as people do: 10:14 today, Tuesday 10:14, 3 November, 10:14. All are in UTC.
func since(at, now time.Time) string {
	at = at.UTC()
	days := view.Midnight(now).Sub(view.Midnight(at)) / day
	switch {
	case days == 0:
		return at.Format("15:04 UTC") + " today"
	case days == 1:
		return "yesterday " + at.Format("15:04 UTC")
	case days > 1 && days < 7:
		return at.Format("Monday 15:04 UTC")
	case at.Year() == now.UTC().Year():
		return at.Format("2 January, 15:04 UTC")
	default:
		return at.Format("2 January 2006")
	}
}

// sinceDay is since in a word.
func sinceDay(at, now time.Time) string {
	at = at.UTC()
	days := view.Midnight(now).Sub(view.Midnight(at)) / day
	switch {
	case days == 0:
		return "today"
	case days == 1:
		return "yesterday"
	case days > 1 && days < 7:
		return at.Format("Monday")
	default:
		return at.Format("2 Jan")
	}
}

// times writes how often something happened.
func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	default:
		return fmt.Sprintf("%d times", n)
	}
}
