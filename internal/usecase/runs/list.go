package runs

import (
	"cmp"
	"context"
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/record"
)

const (
	// maxArchiveVisits bounds the archived runs that a page looks at, with 5 requests to the store, or one per day.
	maxArchiveVisits = 5000
	// MaxArchiveReads bounds how many records a page reads, 8 at once.
	MaxArchiveReads = 200
)

// Query says which runs to list.
type Query struct {
	Matches func(*v1alpha1.Suite) bool
	Limit   int
	Before  *record.Run // Next of the previous page; nil for the first page
}

// Entry is a run in a list.
type Entry struct {
	Suite    *v1alpha1.Suite // for one that was deleted, what Archived says
	Archived *httpapi.Run    // nil while there is a Suite
}

// Shown is the run as the HTTP API shows it.
func (e Entry) Shown(team string) httpapi.Run {
	if e.Archived != nil {
		return *e.Archived
	}
	return record.RunOf(team, e.Suite)
}

// Page is a part of a list, newest first. It may be short and still have a next one.
type Page struct {
	Entries []Entry
	Next    *record.Run // the last run that was looked at; nil on the last page
	Problem error       // why runs whose Suites were deleted are missing
}

// List returns a page of a team's runs. If the archive cannot be read, it has only Suites.
func (r *Reader) List(ctx context.Context, team *v1alpha1.Team, q Query) Page {
	suites, more := r.suites.older(team.NamespaceName(), q.Before, q.Matches, q.Limit)
	var problem error
	if r.Archive != nil {
		page, err := newMerge(r, team, q, suites).page(ctx)
		if err == nil {
			return page
		}
		problem = archiveError(err)
	}
	page := Page{Problem: problem}
	for _, s := range suites {
		page.Entries = append(page.Entries, Entry{Suite: s})
	}
	if more {
		page.Next = new(Position(suites[len(suites)-1]))
	}
	return page
}

// Cursor is the position of a run. It grants nothing, because a list only has runs of its team.
func Cursor(r record.Run) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(r.Created.Unix(), 10) + "/" + r.ID))
}

// ParseCursor reverses Cursor.
func ParseCursor(cursor string) (r *record.Run, ok bool) {
	decoded, err := base64.RawURLEncoding.DecodeString(cursor)
	seconds, id, _ := strings.Cut(string(decoded), "/")
	created, secondsErr := strconv.ParseUint(seconds, 10, 40)
	if err != nil || secondsErr != nil || len(validation.IsDNS1123Subdomain(id)) > 0 {
		return nil, false
	}
	return &record.Run{ID: id, Created: time.Unix(int64(created), 0).UTC()}, true
}

// Filter has the values that a run must have; an empty one does not matter.
type Filter struct{ Trigger, Environment, Branch, SHA, State string }

// minSHA is how many characters of a commit are enough to find it.
const minSHA = 7

// Matches reports whether a run has the values.
func (f Filter) Matches(s *v1alpha1.Suite) bool {
	d := &s.Spec.Deployment
	return same(f.Trigger, s.Spec.Trigger.Name) && same(f.Environment, s.Spec.Environment) &&
		same(f.State, cmp.Or(s.State(), v1alpha1.ReasonQueued)) &&
		same(notification.BranchName(f.Branch), notification.BranchName(d.Branch)) &&
		(same(f.SHA, d.SHA) || len(f.SHA) >= minSHA && commit.HasSHAPrefix(d.SHA, f.SHA))
}

func same(filter, value string) bool { return filter == "" || filter == value }
