package environment

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/state"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
	"github.com/postflight-dev/postflight/internal/core/view"
)

// leadOf says what is wrong in an Environment, or else what is deployed there. Problem is why its workloads cannot be read, or "".
func leadOf(problem string, all []Deployed, now time.Time) view.Lead {
	if problem != "" {
		return view.Lead{Key: state.Of(v1alpha1.ReasonError).Key, Text: problem}
	}
	for _, d := range all {
		if !d.Ready {
			return view.Lead{Key: state.Of(v1alpha1.ReasonStarting).Key, Text: d.rolloutSentence()}
		}
	}
	for _, d := range all {
		for _, r := range d.Runs {
			if r.State.Bad {
				return view.Lead{Key: r.State.Key, Text: fmt.Sprintf("%s did not pass for %s. %s", r.Trigger, d.what(), r.Why)}
			}
		}
	}
	verdict := verdictOf(all)
	return view.Lead{Key: verdict.Key, Text: deployedSentence(all, now) + " " + verdict.Text}
}

// rolloutSentence names no commit: until all workloads have another one, the one before counts as deployed.
func (d Deployed) rolloutSentence() string {
	text := "The rollout is not complete. "
	if part := d.part(); part != "" {
		text = "The rollout of " + part + " is not complete. "
	}
	return strings.TrimSpace(text + d.Message)
}

func (d Deployed) part() string { return commit.PartOf(d.Repository, d.Service).String() }

// what names what is deployed.
func (d Deployed) what() string {
	switch part := d.part(); {
	case d.Commit == nil:
		return cmp.Or(part, "it")
	case part == "":
		return d.Commit.Text
	default:
		return d.Commit.Text + " of " + part
	}
}

// subject begins a sentence.
func (d Deployed) subject() string {
	if d.Commit == nil && d.part() == "" {
		return "Something"
	}
	return d.what()
}

func deployedSentence(all []Deployed, now time.Time) string {
	since := func(d Deployed) time.Time {
		if d.Since == nil {
			return time.Time{}
		}
		return d.Since.At
	}
	last := slices.MaxFunc(all, func(a, b Deployed) int { return since(a).Compare(since(b)) })
	parts := fmt.Sprintf("%d repositories", len(all))
	if slices.ContainsFunc(all, func(d Deployed) bool { return d.Service != "" }) {
		parts = fmt.Sprintf("%d services", len(all))
	}
	switch {
	case len(all) > 1 && last.Since != nil:
		return fmt.Sprintf("%s are deployed; %s changed last, %s.", parts, cmp.Or(last.part(), last.what()), plaintext.Ago(last.Since.At, now))
	case len(all) > 1:
		return parts + " are deployed."
	case last.Since != nil:
		return fmt.Sprintf("%s has been deployed for %s.", last.subject(), view.Span(now.Sub(last.Since.At)))
	default:
		return last.subject() + " is deployed."
	}
}

// verdictOf sums up the tests of what is deployed, none of which ended badly.
func verdictOf(all []Deployed) view.Lead {
	var untested, open, passed []string
	noResult := map[string][]string{} // by why
	for _, d := range all {
		if len(d.Runs) == 0 {
			untested = append(untested, d.what())
		}
		for _, r := range d.Runs {
			switch {
			case !r.State.Ended:
				open = append(open, r.Trigger)
			case r.State.Green:
				passed = append(passed, r.Trigger)
			default:
				why := state.Of(r.State.Reason).WhyNoVerdict
				noResult[why] = append(noResult[why], r.Trigger)
			}
		}
	}
	switch {
	case len(open) > 0:
		return view.Lead{Key: state.Of(v1alpha1.ReasonRunning).Key, Text: "No result yet of " + listed(open) + "."}
	case len(untested) > 0:
		return view.Lead{Key: view.NoRun.Key, Text: "Nothing has tested " + listed(untested) + "."}
	}
	kinds := slices.CompactFunc(state.All(), func(a, b state.Row) bool { return a.WhyNoVerdict == b.WhyNoVerdict })
	for _, end := range slices.Backward(kinds) { // that a run was stopped is said first
		if triggers := noResult[end.WhyNoVerdict]; end.NoVerdict && len(triggers) > 0 {
			return view.Lead{Key: end.Key, Text: "No result of " + listed(triggers) + ", because " + end.WhyNoVerdict + "."}
		}
	}
	return view.Lead{Key: state.Green().Key, Text: listed(passed) + " passed."}
}

// listed writes names once each: a, b and c.
func listed(names []string) string {
	slices.Sort(names)
	return plaintext.All(slices.Compact(names))
}
