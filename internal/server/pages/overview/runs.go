package overview

import (
	"slices"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/view"
	"github.com/postflight-dev/postflight/internal/core/view/hub"
	"github.com/postflight-dev/postflight/internal/server/pages/site"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
)

type runsData struct {
	Filter       view.Filter
	Rows         []view.Row
	States       []view.State
	Environments []string
	Triggers     []string
	Look         int // runs that need a look
	LookQuery    string
	Next         string // query of the next page; empty on the last
	Later        bool   // it is not the first page
	Any          bool   // the team has runs, whatever the filter selects
	Steps        view.Steps
	Places       []hub.Place
	Archive      bool   // there is one
	ArchiveQuery string // of older runs, from the archive; empty where there are none to show
	Problem      string // a sentence: why runs are missing
}

// RunsPage lists the runs of a team.
func (u *Pages) RunsPage(r *site.Request) (*site.Page, error) {
	query := r.URL.Query()
	d := &runsData{Filter: view.ParseFilter(query), States: view.States(), Later: query.Has("after"), Archive: u.Runs.HasArchive()}
	before, _ := runs.ParseCursor(query.Get("after"))
	all := u.Runs.Newest(r.Namespace())
	d.Any, d.Look = len(all) > 0, u.Runs.Look(r.Namespace())
	lookFor := d.Filter.Only(view.LookState)
	if d.Filter.State == view.LookState {
		lookFor = d.Filter.Only("")
	}
	d.LookQuery = "?" + lookFor.Query().Encode()
	fromArchive := d.Filter.Archive && d.Archive
	if fromArchive {
		u.addArchived(r, d, before)
	} else {
		d.Rows, d.Next = u.selectRuns(d.Filter, all, before)
		d.ArchiveQuery = d.archiveQuery(all)
	}
	if err := u.addChoices(r, d, "runs"); err != nil {
		return nil, err
	}
	return &site.Page{Template: "runs", Title: "Runs", Section: "runs", Live: !fromArchive, Data: d}, nil
}

// archiveQuery continues after the last page of Suites in the archive.
func (d *runsData) archiveQuery(all []*v1alpha1.Suite) string {
	switch {
	case !d.Archive || d.Next != "" || d.Filter.State == view.LookState:
		return ""
	case len(d.Rows) == 0 || len(all) == 0:
		return "?" + d.Filter.WithArchive().Query().Encode()
	}
	last := d.Rows[len(d.Rows)-1]
	i := slices.IndexFunc(all, func(s *v1alpha1.Suite) bool { return s.Name == last.ID })
	return next(d.Filter.WithArchive(), runs.Position(all[i]))
}

func (u *Pages) selectRuns(f view.Filter, all []*v1alpha1.Suite, before *record.Run) (rows []view.Row, more string) {
	selected := f.Selector()
	typical := view.TypicalTimes(all, u.Clock.Now())
	var last *v1alpha1.Suite
	for _, s := range all {
		if !selected(s) || before != nil && runs.Position(s).Compare(*before) >= 0 {
			continue
		}
		if len(rows) == u.Limits.PageRuns {
			return rows, next(f, runs.Position(last))
		}
		rows, last = append(rows, view.RowOf(s, typical(s), u.Clock.Now())), s
	}
	return rows, ""
}

// addArchived asks the store, so such a page is not live.
func (u *Pages) addArchived(r *site.Request, d *runsData, before *record.Run) {
	if !u.Archive.TryAcquire(r.Namespace()) {
		d.Problem = "Too many people look at archived runs right now. Reload the page in a few seconds."
		return
	}
	defer u.Archive.Release(r.Namespace())
	found := u.Runs.List(r.Context(), r.Team, runs.Query{Matches: d.Filter.Selector(), Limit: u.Limits.PageRuns, Before: before})
	for _, e := range found.Entries {
		row := view.RowOf(e.Suite, 0, u.Clock.Now())
		row.Archived = e.Archived != nil
		d.Rows = append(d.Rows, row)
	}
	if found.Next != nil {
		d.Next = next(d.Filter, *found.Next)
	}
	if found.Problem != nil {
		u.Log.Error(found.Problem, "archived runs cannot be listed", "team", r.Team.Name)
		d.Problem = "Archived runs are missing, because the store cannot be read at the moment."
	}
	d.Any = d.Any || len(d.Rows) > 0
}

// addChoices leaves out Environments of other clusters, which have their own pages of the kind.
func (u *Pages) addChoices(r *site.Request, d *runsData, kind string) error {
	triggers, err := u.triggers(r)
	if err != nil {
		return err
	}
	environments, err := u.environments(r)
	if err != nil {
		return err
	}
	for _, t := range triggers {
		d.Triggers = append(d.Triggers, t.Name)
	}
	for _, e := range environments {
		if e.Spec.Cluster == "" {
			d.Environments = append(d.Environments, e.Name)
		}
	}
	d.Places = u.places(r, environments, kind, d.Filter.Environment)
	d.Triggers, d.Environments = choices(d.Triggers, d.Filter.Trigger), choices(d.Environments, d.Filter.Environment)
	d.Steps = view.StepsOf(len(environments) > 0, len(triggers) > 0, d.Any)
	return nil
}

// choices adds the chosen name, which may no longer exist.
func choices(names []string, chosen string) []string {
	if chosen != "" {
		names = append(names, chosen)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// next returns the query of the next page of a list.
func next(f view.Filter, last record.Run) string {
	q := f.Query()
	q.Set("after", runs.Cursor(last))
	return "?" + q.Encode()
}
