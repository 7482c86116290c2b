package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/state"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// Outcome is what came of a run that a command was to change.
type Outcome struct {
	Suite   *v1alpha1.Suite
	Next    *v1alpha1.Suite // its next attempt; nil: none was asked for, or there is none
	Problem string          // a sentence: why nothing was changed; empty: it was
}

// Answer returns the reaction and the line that answer a command, after its plan was carried out.
func Answer(o Observation, plan Plan, outcomes []Outcome) (Reaction, report.Answer) {
	var says []string
	done := false
	for _, one := range outcomes {
		switch {
		case one.Problem != "":
			says = append(says, Name(one.Suite)+" is unchanged: "+strings.TrimRight(one.Problem, "."))
			continue
		case one.Next != nil:
			says = append(says, fmt.Sprintf("%s runs again, as attempt %d", Name(one.Suite), one.Next.Spec.Attempt))
		default:
			says = append(says, Name(one.Suite)+" is canceled")
		}
		done = true
	}
	says = append(says, plan.Says...)
	reaction := Confused
	switch {
	case done:
		reaction = Done
	case !plan.Refused && o.Command.Verb == Status:
		reaction = Seen
	}
	text := fmt.Sprintf("%s: %s.", plaintext.Line(o.Said.Author, maxUser), strings.Join(says, "; "))
	return reaction, report.NewAnswer(o.CommentID, o.Said.CreatedAt, text)
}

// Place returns the run that keeps the answer, so that the comment of Postflight shows it. It returns nil if no Trigger wants that comment,
// or if a run keeps the answer already.
func Place(o Observation, outcomes []Outcome) *v1alpha1.Suite {
	shown := map[string]bool{}
	for _, r := range o.Runs {
		shown[r.Suite.Spec.Trigger.Name] = r.Trigger != nil && r.Trigger.Spec.Repository != nil && r.Trigger.Spec.Repository.PullRequestComments
	}
	if slices.ContainsFunc(o.ofHead(), func(s *v1alpha1.Suite) bool { return report.AnswerOn(s).Comment == o.CommentID }) {
		return nil
	}
	var next []*v1alpha1.Suite
	for _, one := range outcomes {
		if one.Next != nil {
			next = append(next, one.Next)
		}
	}
	for _, runs := range [][]*v1alpha1.Suite{next, newestAttempts(o.ofHead())} {
		runs = slices.DeleteFunc(runs, func(s *v1alpha1.Suite) bool { return !shown[s.Spec.Trigger.Name] })
		if place := newestOf(runs); place != nil {
			return place
		}
	}
	return nil
}

// Name is how answers call a run.
func Name(s *v1alpha1.Suite) string {
	name := fmt.Sprintf("%s (%s)", s.Spec.Trigger.Name, s.Spec.Environment)
	if service := plaintext.Line(s.Spec.Deployment.Service, maxUser); service != "" {
		name += " " + service
	}
	return name
}

func stateOf(s *v1alpha1.Suite) string {
	if !s.Finished() {
		return "has not ended"
	}
	return "ended: " + state.Of(s.State()).OutcomeInText()
}
