package model

import (
	"fmt"
	"slices"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// The rules.
const (
	passedThere = "a run that passed has a commit that was there from the start to the end of its tests"
	greenThere  = "a gate is green only for a commit whose tests passed while it was there"
)

// violation has a kind, so that one of each is printed.
type violation struct{ rule, kind, detail string }

// asked is a gate: a pipeline, or a person, waits for the run that a notification was answered with.
type asked struct {
	about   *deployment
	root    string
	created bool // for it; otherwise the run is older
	differs bool // the answer says that its run is of another deployment, so that nobody waits for it
	over    bool
}

func (w *world) violate(rule, kind, format string, args ...any) {
	v := violation{rule, kind, fmt.Sprintf(format, args...)}
	w.violations = append(w.violations, v)
	w.say("VIOLATION: %s", v.detail)
}

// check applies both rules, after each step.
func (w *world) check() error {
	if w.directly {
		return nil
	}
	for _, s := range w.store.all() {
		if s.State() == v1alpha1.ReasonPassed && !w.checked[s.UID] {
			w.checkRun(s)
		}
		w.checked[s.UID] = w.checked[s.UID] || s.Finished()
	}
	for _, g := range w.gates {
		if len(w.violations) > 0 { // one says enough
			break
		}
		if err := w.checkGate(g); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) checkRun(s *v1alpha1.Suite) {
	x := w.jobs[s.Name].tested
	w.count("passed: " + origin(s))
	others, found := w.strangers(x)
	switch problem := w.problem(x); {
	case problem != "":
		w.violate(passedThere, w.kindOf(x), "%s of %s passed: %s", s.Name, x.commit, problem)
	case len(others) > 0 && found:
		w.count("excused")
	}
}

// kindOf says why a run was started that shows nothing, and how Postflight was told that it shows nothing.
func (w *world) kindOf(x tested) string {
	kind := origin(w.store.suites[x.run])
	others, _ := w.strangers(x)
	others = slices.DeleteFunc(others, func(d *deployment) bool { return !d.knownBy(x.over) })
	if len(others) == 0 {
		return kind + ", and its repository is not there"
	}
	d := others[len(others)-1]
	how := ", another commit is known to have come while it ran"
	if d.told < x.began {
		how = ", another commit was known to have come before"
	}
	answers := slices.DeleteFunc(slices.Clone(w.gates), func(g *asked) bool { return g.about != d })
	switch {
	case len(answers) == 0:
		return kind + how + ", and has no run"
	case slices.ContainsFunc(answers, func(g *asked) bool { return g.created }):
		return kind + how + ", and has a run"
	default:
		return kind + how + ", and an older run answered it"
	}
}

// checkGate asks until the answer is final. A later deployment may answer for an earlier one that was superseded: the answer
// names its run, so that nobody takes it for the earlier one.
func (w *world) checkGate(g *asked) error {
	root := w.store.suites[g.root]
	if root == nil || g.over || g.differs {
		return nil
	}
	answer, err := w.gate(root)
	if err != nil {
		return err
	}
	g.over = answer.Final()
	if !answer.Greenlight {
		return nil
	}
	w.count("green")
	counting := w.jobs[answer.Counting()]
	if counting == nil {
		w.violate(greenThere, "no tests", "the gate of %s is green by %s, which has run no tests", g.about, answer.Counting())
		return nil
	}
	x := counting.tested
	switch problem := w.problem(x); {
	case problem != "":
		w.violate(greenThere, w.kindOf(x), "the gate of %s is green by %s of %s: %s", g.about, x.run, x.commit, problem)
	case x.place == g.about.place && x.commit == g.about.commit:
	case !w.covers(x, g.about):
		w.violate(greenThere, w.stranger(x, g.about), "the gate of %s is green by %s of %s, whose tests saw neither it nor what replaced it",
			g.about, x.run, x.commit)
	}
	return nil
}

// stranger is how the run that counts differs from the deployment that a gate is about.
func (w *world) stranger(x tested, d *deployment) string {
	switch {
	case x.commit == d.commit && x.place.generation != d.generation:
		return "the Environment was another one"
	case x.commit == d.commit:
		return "the URL was another one"
	case x.commit.sha == d.sha:
		return "the repository is another one, of the same version"
	case x.place != d.place:
		return "another commit counts, at another place"
	case x.commit.repository != d.repository:
		return "another repository counts"
	default:
		return "an earlier commit counts"
	}
}
