package hub

import (
	"slices"
	"strings"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/state"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
	"github.com/postflight-dev/postflight/internal/core/view"
)

// Bounds of an Overview. Ten Triggers on four Environments take some 25 KiB of JSON.
const (
	// MaxBytes bounds the answer that a hub reads: a team that fills all other bounds with usual text has half of it.
	MaxBytes = 1 << 20
	// maxNewest, maxTiles and maxEnvironments are several screens each.
	maxNewest, maxTiles, maxEnvironments = 30, 80, 40
	maxRuns, maxRunsOfEnvironment        = 200, 40 // all tiles, and as many runs again for Environments
	maxDeployed                          = 3       // as many as pages show in a list
	maxTrail                             = 12      // results of a tile
	maxCount                             = 1e6     // of things that a page counts
	// In bytes. A page shows three lines of a sentence, and the rest of a longer text is on the page of the cluster.
	maxSentence, maxText, maxName, maxURL = 400, 120, 63, 1024
)

// Bounded returns an Overview within the bounds, without unsafe text. Both sides use it, because a hub does not trust its clusters.
func Bounded(o httpapi.Overview) httpapi.Overview {
	left := map[string]int{}
	out := httpapi.Overview{
		Team: name(o.Team), Namespace: name(o.Namespace), At: o.At, PageURL: address(o.PageURL), NeedsLook: sentence(o.NeedsLook),
		NotWorking: count(o.NotWorking), Failing: count(o.Failing), Queued: count(o.Queued), QueuedSince: o.QueuedSince,
		LastDeployment: o.LastDeployment, Newest: first(o.Newest, maxNewest, "Trigger", left, name),
		Board: first(o.Board, maxTiles, "tile", left, tile), Environments: first(o.Environments, maxEnvironments, "Environment", left, place),
		Runs: []httpapi.Run{}, Omitted: sentence(o.Omitted),
	}
	listed := map[string]bool{}
	for _, id := range names(out) {
		listed[id] = true
	}
	o.Runs = slices.DeleteFunc(slices.Clone(o.Runs), func(r httpapi.Run) bool { return !listed[name(r.ID)] })
	out.Runs = first(o.Runs, maxRuns, "run", left, lean)
	if text := omitted(left); text != "" {
		out.Omitted = text
	}
	return out
}

func name(s string) string     { return line(s, maxName) }
func text(s string) string     { return line(s, maxText) }
func sentence(s string) string { return line(s, maxSentence) }
func count(n int) int          { return min(max(n, 0), maxCount) }

// line cuts what is far too long first, because plaintext.Line takes time for each byte.
func line(s string, limit int) string { return plaintext.Line(s[:min(len(s), 8*limit)], limit) }

func address(url string) string {
	if len(url) > maxURL {
		return ""
	}
	return url
}

// first returns up to limit elements, and counts the others.
func first[T any](all []T, limit int, noun string, left map[string]int, bounded func(T) T) []T {
	left[noun] = max(0, len(all)-limit)
	out := make([]T, 0, min(len(all), limit))
	for _, one := range all[:min(len(all), limit)] {
		out = append(out, bounded(one))
	}
	return out
}

// omitted is a sentence about what is left out of lists, or "".
func omitted(left map[string]int) string {
	var parts []string
	for _, noun := range []string{"tile", "Environment", "Trigger", "run"} {
		if n := left[noun]; n > 0 {
			parts = append(parts, plaintext.Count(n, noun))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "Left out, because the team has so many: " + strings.Join(parts, ", ") + "."
}

func tile(t httpapi.BoardTile) httpapi.BoardTile {
	return httpapi.BoardTile{
		Trigger: name(t.Trigger), Environment: name(t.Environment), Service: text(t.Service), Run: name(t.Run), NotWorking: t.NotWorking,
		Message: sentence(t.Message), Streak: text(t.Streak), URL: address(t.URL),
		Trail: slices.DeleteFunc(slices.Clone(t.Trail[:min(len(t.Trail), maxTrail)]), func(key string) bool { return !isKey(key) }),
	}
}

// isKey reports whether pages have a style for the key of a state.
func isKey(key string) bool {
	return key == view.Quarantined || slices.ContainsFunc(state.All(), func(r state.Row) bool { return r.Key == key })
}

func place(e httpapi.OverviewEnvironment) httpapi.OverviewEnvironment {
	s := e.Environment
	out := httpapi.OverviewEnvironment{
		Environment: httpapi.EnvironmentStatus{
			Name: name(s.Name), Team: name(s.Team), Namespace: name(s.Namespace), URL: address(s.URL), Ephemeral: s.Ephemeral,
			ExpiresAt: s.ExpiresAt, Ready: s.Ready, Message: sentence(s.Message), Deployed: []httpapi.Deployed{}, PageURL: address(s.PageURL),
			Settling: s.Settling,
		},
		DeployedOmitted: count(e.DeployedOmitted + max(0, len(s.Deployed)-maxDeployed)), LastDeployment: name(e.LastDeployment),
		Runs: first(e.Runs, maxRunsOfEnvironment, "run", map[string]int{}, name),
	}
	if h := s.Hold; h != nil {
		out.Environment.Hold = &httpapi.EnvironmentHold{Until: h.Until, Reason: sentence(h.Reason), HeldBy: text(h.HeldBy)}
	}
	for _, d := range s.Deployed[:min(len(s.Deployed), maxDeployed)] {
		out.Environment.Deployed = append(out.Environment.Deployed, httpapi.Deployed{
			Repository: text(d.Repository), Service: text(d.Service), SHA: text(d.SHA), Branch: text(d.Branch), Since: d.Since, Ready: d.Ready,
			Message: sentence(d.Message),
		})
	}
	return out
}

// lean keeps what lists show of a run.
func lean(r httpapi.Run) httpapi.Run {
	out := httpapi.Run{
		ID: name(r.ID), Team: name(r.Team), Namespace: name(r.Namespace), Trigger: name(r.Trigger), Environment: name(r.Environment),
		State: name(r.State), Message: sentence(r.Message), Branch: text(r.Branch), SHA: text(r.SHA), CommitMessage: text(r.CommitMessage),
		CommitAuthor: text(r.CommitAuthor), Service: text(r.Service), Attempt: r.Attempt, Origin: text(r.Origin), CreatedAt: r.CreatedAt,
		ReceivedAt: r.ReceivedAt, StartedAt: r.StartedAt, EndedAt: r.EndedAt, URL: address(r.URL),
	}
	// Other counts would draw a bar that is wider than its place.
	if t := r.Results; t != nil && t.Tests >= 0 && t.Passed >= 0 && t.Failed >= 0 && int64(t.Passed)+int64(t.Failed) <= int64(t.Tests) {
		out.Results = &httpapi.TestResults{Tests: t.Tests, Passed: t.Passed, Failed: t.Failed, Skipped: t.Skipped, Quarantined: t.Quarantined}
	}
	return out
}
