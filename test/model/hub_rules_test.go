package model

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
)

// The rules of a hub: another world has the same history, and is told directly of what this one is told through the hub. When a deployment
// overtakes the message of an earlier one, the earlier one may get a run that it would not need, but what is deployed is the same.
const (
	sameRuns     = "a deployment has the same runs of a Trigger in an Environment, whichever way it came, and however often"
	sameDeployed = "what is deployed is the same, whichever way it came"
	sameAnswers  = "a message is answered with the same run, whichever way it came"
	oneUnnamed   = "a notification that names no commit has one run, however often the hub hands it on"
	noneAtHub    = "the hub has no runs of Environments that are in a cluster"
)

func (w *world) compare(direct *world) {
	if n := len(w.hub.store.suites); n > 0 {
		w.violate(noneAtHub, "", "it has %d", n)
	}
	if has := len(w.hub.runs.suites); has != w.hub.asked {
		w.violate(oneUnnamed, "", "there are %d, and %d notifications", has, w.hub.asked)
	}
	if w.apart {
		return
	}
	for _, c := range []struct {
		rule string
		of   func(*world) []string
	}{{sameDeployed, (*world).deployed}, {sameAnswers, (*world).answers}, {sameRuns, (*world).runs}} {
		got, want := c.of(w), c.of(direct)
		switch same := slices.Equal(got, want); {
		case same:
		case w.happens["overtaken"] && c.rule != sameDeployed:
			w.apart = true
		default:
			w.violate(c.rule, "", "directly (-), and with a hub (+):\n%s", gocmp.Diff(want, got))
		}
	}
}

// deployed has only names if messages are overtaken: the overtaking one may be of the same commit, and says otherwise when it came.
func (w *world) deployed() (all []string) {
	for _, d := range w.environment().Status.Deployed {
		if w.happens["overtaken"] {
			d = v1alpha1.Deployed{Repository: strings.ToLower(d.Repository), Service: d.Service, SHA: d.SHA}
		}
		text, err := json.Marshal(d)
		if err != nil {
			w.failure = err
		}
		all = append(all, string(text))
	}
	slices.Sort(all)
	return all
}

// runs has all of them with their states and times, but not who sent what.
func (w *world) runs() (all []string) {
	for _, s := range w.store.all() {
		all = append(all, fmt.Sprintf("%s: %s, attempt %d, %s, received %s, last deployed %s, after %s, retried by %s", s.Name, origin(s),
			s.Spec.Attempt, s.State(), s.Spec.ReceivedAt, ledger.Last(s), s.Status.SupersededBy, s.Status.RepeatedBy))
	}
	return all
}

// answers has them in the order of the deployments that they are about, because one may overtake another.
func (w *world) answers() (all []string) {
	gates := slices.Clone(w.gates)
	slices.SortStableFunc(gates, func(a, b *asked) int { return cmp.Compare(a.about.moment, b.about.moment) })
	for _, g := range gates {
		all = append(all, fmt.Sprintf("%s: %s, differs: %v", g.about, g.root, g.differs))
	}
	return all
}
