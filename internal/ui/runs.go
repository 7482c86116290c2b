package ui

import (
	"slices"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/ui/view"
)

// runsData is the list of runs.
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
	Archived     bool
}

func (u *UI) runsPage(r *request) (*page, error) {
	query := r.URL.Query()
	d := &runsData{Filter: view.ParseFilter(query), States: view.States(), Later: query.Get("after") != ""}
	if query.Get("from") == "archive" && u.Archive != nil {
		return u.archivedPage(r, d)
	}
	runs := u.runs.of(r.namespace())
	d.Any, d.Look = len(runs) > 0, view.CountLook(runs)
	lookFor := d.Filter.Only(view.LookState)
	if d.Filter.State == view.LookState {
		lookFor = d.Filter.Only("")
	}
	d.LookQuery = "?" + lookFor.Query().Encode()
	d.Rows, d.Next = u.selectRuns(d.Filter, runs, query.Get("after"))
	if d.Next == "" && u.Archive != nil {
		d.Next = "?from=archive"
	}
	if err := u.addChoices(r, d); err != nil {
		return nil, err
	}
	return &page{template: "runs", Title: "Runs", Section: "runs", Live: true, Data: d}, nil
}

// selectRuns is a page of the runs that the filter selects, from the one after the cursor, which is the id of a run.
func (u *UI) selectRuns(f view.Filter, runs []*v1alpha1.Suite, after string) (rows []view.Row, more string) {
	selected := f.Selector()
	typical := u.typicalTimes(runs)
	skipping := after != "" && slices.ContainsFunc(runs, func(s *v1alpha1.Suite) bool { return s.Name == after })
	for _, s := range runs {
		matches := selected(s)
		switch {
		case skipping:
			skipping = s.Name != after
		case !matches:
		case len(rows) == u.Limits.PageRuns:
			return rows, next(f, rows[len(rows)-1].ID)
		default:
			rows = append(rows, view.RowOf(s, typical(s), u.Clock.Now()))
		}
	}
	return rows, ""
}

// typicalTimes returns how long runs of a Trigger take, for runs that have not ended. Few have not.
func (u *UI) typicalTimes(runs []*v1alpha1.Suite) func(*v1alpha1.Suite) time.Duration {
	known := map[string]time.Duration{}
	return func(s *v1alpha1.Suite) time.Duration {
		if s.Finished() {
			return 0
		}
		name := s.Spec.Trigger.Name
		typical, ok := known[name]
		if !ok {
			typical = view.HistoryOf(runsOf(runs, name), u.Clock.Now()).Typical
			known[name] = typical
		}
		return typical
	}
}

// runsOf are the runs of one Trigger.
func runsOf(runs []*v1alpha1.Suite, trigger string) []*v1alpha1.Suite {
	var own []*v1alpha1.Suite
	for _, s := range runs {
		if s.Spec.Trigger.Name == trigger {
			own = append(own, s)
		}
	}
	return own
}

// addChoices fills in what one can choose from.
func (u *UI) addChoices(r *request, d *runsData) error {
	triggers, err := u.triggers(r.Context(), r.namespace())
	if err != nil {
		return err
	}
	environments, err := u.environments(r.Context(), r.namespace())
	if err != nil {
		return err
	}
	for _, t := range triggers {
		d.Triggers = append(d.Triggers, t.Name)
	}
	for _, e := range environments {
		d.Environments = append(d.Environments, e.Name)
	}
	d.Triggers, d.Environments = choices(d.Triggers, d.Filter.Trigger), choices(d.Environments, d.Filter.Environment)
	d.Steps = view.StepsOf(len(environments) > 0, len(triggers) > 0, d.Any)
	return nil
}

// choices are the names, with the chosen one, which may not exist any more.
func choices(names []string, chosen string) []string {
	if chosen != "" {
		names = append(names, chosen)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// archivedPage lists runs whose Suites were deleted. The store cannot filter them.
func (u *UI) archivedPage(r *request, d *runsData) (*page, error) {
	runs, more, err := u.Archive.Runs(r.Context(), r.team, r.URL.Query().Get("after"))
	if err != nil {
		return nil, unavailable(err)
	}
	d.Archived, d.Later, d.Any = true, true, true
	selected := d.Filter.Selector()
	for _, s := range runs {
		if selected(s) {
			d.Rows = append(d.Rows, view.RowOf(s, 0, u.Clock.Now()))
		}
	}
	if more != "" {
		d.Next = next(d.Filter, more) + "&from=archive"
	}
	return &page{template: "runs", Title: "Archived runs", Section: "runs", Data: d}, u.addChoices(r, d)
}
