package overview

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/view"
	"github.com/postflight-dev/postflight/internal/core/view/hub"
	"github.com/postflight-dev/postflight/internal/core/view/insights"
	"github.com/postflight-dev/postflight/internal/core/view/logtext"
	"github.com/postflight-dev/postflight/internal/server/pages/site"
	"github.com/postflight-dev/postflight/internal/usecase/history"
)

// insightsData, testsData and testData have Store if there is one to read. Unread says why it could not be read.
type insightsData struct {
	insights.Page
	Places []hub.Place
	Store  bool
	Unread string
}

type testsData struct {
	insights.Period
	Triggers, Environments []string // that one can choose
	Places                 []hub.Place

	Rows    []insights.TestRow
	Next    string // query of the next page; empty on the last
	Later   bool   // it is not the first page
	Problem string // a sentence: why days are missing
	Store   bool
	Unread  string
}

type testData struct {
	insights.TestPage
	Store  bool
	Unread string
}

// maxAfter bounds the cursor of a list, which has the name of a test in it.
const maxAfter = 2048

func historyQuery(p insights.Period) history.Query {
	return history.Query{Days: p.Days, Trigger: p.Trigger, Environment: p.Environment, Search: p.Text}
}

// readTests calls read unless the team reads from the store as often as it may, and returns why a page lacks what it reads, or "".
func (u *Pages) readTests(r *site.Request, read func() error) string {
	if !u.Archive.TryAcquire(r.Namespace()) {
		return "Too many people look at the history of tests right now. Reload the page in a few seconds."
	}
	defer u.Archive.Release(r.Namespace())
	if err := read(); err != nil {
		u.Log.Error(err, "the history of tests cannot be read", "team", r.Team.Name)
		return "The object store cannot be read at the moment, and it has the tests of all runs. Reload the page in a minute. " +
			"If that does not help, ask the operator of this service to look for the reason in the log of the manager."
	}
	return ""
}

// InsightsPage shows how runs and tests did in a period.
func (u *Pages) InsightsPage(r *site.Request) (*site.Page, error) {
	p := insights.ParsePeriod(r.URL.Query())
	p.Text = "" // insights are not about single tests
	figures := httpapi.Insights{Days: p.Days}
	environments, err := u.environments(r)
	if err != nil {
		return nil, err
	}
	d := &insightsData{Store: u.Tests != nil, Places: u.places(r, environments, "insights", p.Environment)}
	if d.Store {
		d.Unread = u.readTests(r, func() (err error) {
			figures, err = u.Tests.Insights(r.Context(), r.Team, historyQuery(p))
			return err
		})
	}
	d.Page = insights.PageOf(figures, p, u.Clock.Now())
	return &site.Page{Template: "insights", Title: "Insights", Section: "insights", Description: d.Lead.Text, Data: d}, nil
}

// TestsPage lists tests with how often they fail.
func (u *Pages) TestsPage(r *site.Request) (*site.Page, error) {
	query := r.URL.Query()
	d := &testsData{Period: insights.ParsePeriod(query), Store: u.Tests != nil, Later: query.Has("after")}
	q := historyQuery(d.Period)
	q.Limit, q.After = u.Limits.PageRuns, query.Get("after")
	q.After = strings.ToValidUTF8(q.After[:min(len(q.After), maxAfter)], "")
	if d.Store {
		var list httpapi.TestList
		d.Unread = u.readTests(r, func() (err error) {
			list, err = u.Tests.List(r.Context(), r.Team, q)
			return err
		})
		d.Rows, d.Problem = insights.TestRowsOf(list.Tests, d.Period, u.Clock.Now()), insights.Line(list.Problem)
		if list.Next != "" {
			d.Next = d.After(list.Next)
		}
	}
	choices := &runsData{Filter: view.Filter{Trigger: d.Trigger, Environment: d.Environment}}
	if err := u.addChoices(r, choices, "tests"); err != nil {
		return nil, err
	}
	d.Triggers, d.Environments, d.Places = choices.Triggers, choices.Environments, choices.Places
	return &site.Page{Template: "tests", Title: "Tests", Section: "tests", Data: d}, nil
}

// TestPage shows the history of a test.
func (u *Pages) TestPage(r *site.Request) (*site.Page, error) {
	query := r.URL.Query()
	p, name := insights.ParsePeriod(query), strings.ToValidUTF8(query.Get("name"), "\uFFFD")
	p.Text = ""
	if name == "" || len(name) > logtext.MaxTestName {
		return nil, site.NotFound()
	}
	q := historyQuery(p)
	q.Trigger, q.Environment = "", "" // the page names all places, and shows one
	d := &testData{Store: u.Tests != nil, TestPage: insights.TestOfUnknown(name, p, r.Namespace(), u.Clock.Now())}
	if d.Store {
		d.Unread = u.readTests(r, func() error {
			known, err := u.Tests.Test(r.Context(), r.Team, name, q)
			if err == nil {
				d.TestPage = insights.TestPageOf(known, p, r.Namespace(), u.Clock.Now())
			} else if errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
			return err
		})
	}
	icon := ""
	if d.Known {
		icon = d.State.Key
	}
	return &site.Page{Template: "test", Title: d.Title, Section: "tests", Description: d.Lead.Sentence(), Icon: icon, Data: d}, nil
}
