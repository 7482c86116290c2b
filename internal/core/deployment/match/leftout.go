package match

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// LeftOut are the Triggers of a namespace that an Index lacks, because they take too much memory. Their conditions are not known, so each
// could match any notification.
type LeftOut struct {
	Names   []string // of the first ones
	Others  int      // how many there are beside those
	Unknown bool     // there are Triggers whose names are not known, too
}

// MaxLeftOut bounds the Names.
const MaxLeftOut = 5

// Shown are the names, with a text for those that have none here.
func (l LeftOut) Shown() []string {
	if l.Others > 0 || l.Unknown {
		return append(slices.Clone(l.Names), "others")
	}
	return l.Names
}

// Union has those of both. What was left out before matching, and is not any more, may have missed it.
func (l LeftOut) Union(other LeftOut) LeftOut {
	all := LeftOut{Names: slices.Clone(l.Names), Others: max(l.Others, other.Others), Unknown: l.Unknown || other.Unknown}
	for _, name := range other.Names {
		switch {
		case slices.Contains(all.Names, name):
		case len(all.Names) < MaxLeftOut:
			all.Names = append(all.Names, name)
		default:
			all.Others = max(all.Others, 1)
		}
	}
	return all
}

// Reason says of the Trigger i what to do.
func (l LeftOut) Reason(i int) string {
	reason := "The Trigger was left out, because it or all Triggers of the team take too much of the manager's memory, so it is not known " +
		"whether it matches, and nothing was started for it. If its condition Ready has the reason TooLarge, do what it says. " +
		"Then send the notification again."
	switch {
	case i < len(l.Names)-1:
		return reason
	case l.Unknown:
		return reason + " More Triggers were left out than this server can name."
	case l.Others > 0:
		return reason + fmt.Sprintf(" %d other Triggers were left out, too.", l.Others)
	}
	return reason
}

// Explanations say that the Triggers were not tried.
func (l LeftOut) Explanations() []Explanation {
	all := make([]Explanation, len(l.Names))
	for i, name := range l.Names {
		t := &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Name: name}}
		all[i] = Explanation{Trigger: t, Criteria: []CriterionResult{{Name: "limit", Message: "Not tried: the Trigger takes too much memory."}}}
	}
	return all
}
