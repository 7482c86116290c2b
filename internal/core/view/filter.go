package view

import (
	"net/url"
	"slices"
	"strings"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
)

// MaxFilterText bounds a part of a filter, in bytes: no branch is longer.
const MaxFilterText = 1024

// LookState selects runs that ended badly and that no later run of the same Trigger, Environment and branch followed.
const LookState = "look"

// Filter selects runs. It is the query of a list's URL.
type Filter struct {
	State       string // a reason, LookState or empty
	Environment string
	Trigger     string
	Branch      string
	SHA         string // or its beginning
	Archive     bool   // also runs whose Suites were deleted
	Text        string // in the id, Trigger, Environment, branch, commit, pull request or message
}

// ParseFilter reads the query of a URL. It ignores what it does not know.
func ParseFilter(q url.Values) Filter {
	get := func(name string) string {
		value := strings.TrimSpace(q.Get(name))
		return strings.ToValidUTF8(value[:min(len(value), MaxFilterText)], "")
	}
	f := Filter{
		State: get("state"), Environment: get("environment"), Trigger: get("trigger"),
		Branch: get("branch"), SHA: get("sha"), Text: get("q"),
	}
	if f.State != LookState && !slices.Contains(v1alpha1.States(), f.State) {
		f.State = ""
	}
	f.Archive = get("archive") != "" && f.State != LookState // which is about what runs now
	return f
}

// Query returns the query of the filter, without parts that select everything.
func (f Filter) Query() url.Values {
	q := url.Values{}
	for name, value := range map[string]string{
		"state": f.State, "environment": f.Environment, "trigger": f.Trigger, "branch": f.Branch, "sha": f.SHA, "q": f.Text,
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if f.Archive {
		q.Set("archive", "1")
	}
	return q
}

// Empty reports whether the filter selects all runs.
func (f Filter) Empty() bool { return f == Filter{} }

// WithArchive returns the filter for runs of the archive, too.
func (f Filter) WithArchive() Filter {
	f.Archive = true
	return f
}

// Only returns the filter with another state.
func (f Filter) Only(state string) Filter {
	f.State, f.Archive = state, f.Archive && state != LookState
	return f
}

// Selector returns a function that reports whether a run is selected. Call it with runs from the newest to the oldest.
func (f Filter) Selector() func(*v1alpha1.Suite) bool {
	text := strings.ToLower(f.Text)
	latest := latestOnly()
	return func(s *v1alpha1.Suite) bool {
		isLatest := f.State != LookState || latest(s)
		return isLatest && f.hasState(s) &&
			(f.Environment == "" || f.Environment == s.Spec.Environment) &&
			(f.Trigger == "" || f.Trigger == s.Spec.Trigger.Name) &&
			(f.Branch == "" || f.Branch == s.Spec.Deployment.Branch) &&
			commit.HasSHAPrefix(s.Spec.Deployment.SHA, f.SHA) &&
			(text == "" || contains(s, text))
	}
}

func (f Filter) hasState(s *v1alpha1.Suite) bool {
	switch f.State {
	case "":
		return true
	case LookState:
		return StateOf(s).Bad
	default:
		return StateOf(s).Reason == f.State
	}
}

// latestOnly ignores runs without a result: they say nothing about the run before them.
func latestOnly() func(*v1alpha1.Suite) bool {
	type line struct{ trigger, environment, branch, service string }
	seen := map[line]bool{}
	return func(s *v1alpha1.Suite) bool {
		l := line{s.Spec.Trigger.Name, s.Spec.Environment, s.Spec.Deployment.Branch, s.Spec.Deployment.Service}
		if seen[l] || StateOf(s).NoVerdict {
			return false
		}
		seen[l] = true
		return true
	}
}

func contains(s *v1alpha1.Suite, lower string) bool {
	d := &s.Spec.Deployment
	for _, field := range []string{s.Name, s.Spec.Trigger.Name, s.Spec.Environment, d.Branch, d.SHA, d.Service, d.URL, s.Succeeded().Message} {
		if strings.Contains(strings.ToLower(field), lower) {
			return true
		}
	}
	pr := pullRequestOf(s)
	return pr != nil && pr.Text == lower
}

// CountLook returns how many of the runs, newest first, LookState selects.
func CountLook(runs []*v1alpha1.Suite) (n int) {
	selected := Filter{State: LookState}.Selector()
	for _, s := range runs {
		if selected(s) {
			n++
		}
	}
	return n
}
