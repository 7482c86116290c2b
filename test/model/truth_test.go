package model

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// commit is a version of a repository. What tests say of it depends on nothing else.
type commit struct {
	repository, sha, branch string
	good                    bool
}

func (c *commit) String() string {
	verdict := "bad"
	if c.good {
		verdict = "good"
	}
	return fmt.Sprintf("%s@%s (%s, on %s)", c.repository, c.sha[:min(len(c.sha), 6)], verdict, c.branch)
}

// place is where things are deployed: the URL in an Environment, which is another one if it was deleted and made again.
type place struct {
	generation int
	url        string // empty: that of the Environment
}

// deployment is that a commit came to a place. Moments are numbers, which only grow.
type deployment struct {
	*commit
	place
	moment int
	at     time.Time
	told   int // when Postflight can know it; 0: it cannot
}

func (d *deployment) String() string { return fmt.Sprintf("#%d %s at %q", d.moment, d.commit, d.url) }

func (d *deployment) knownBy(moment int) bool { return d.told > 0 && d.told <= moment }

// truth is what was really deployed, in order.
type truth struct {
	now int
	log []*deployment
}

func (t *truth) tick() int {
	t.now++
	return t.now
}

func (t *truth) deploy(c *commit, p place, at time.Time) *deployment {
	d := &deployment{commit: c, place: p, moment: t.tick(), at: at}
	t.log = append(t.log, d)
	return d
}

// during returns the deployments of a repository that a place had at any moment of a span, in order.
func (t *truth) during(p place, repository string, from, to int) (all []*deployment) {
	for _, d := range t.log {
		switch {
		case d.place != p || d.repository != repository || d.moment > to:
		case d.moment <= from:
			all = []*deployment{d}
		default:
			all = append(all, d)
		}
	}
	return all
}

// tell is that a message of a deployment was sent. If one of a later deployment came before, it changes nothing: it starts no run, and
// nothing remembers it.
func (t *truth) tell(d *deployment) {
	moment := t.tick()
	later := func(o *deployment) bool {
		return o.place == d.place && o.repository == d.repository && o.moment > d.moment && o.told > 0
	}
	if d.told == 0 && !slices.ContainsFunc(t.log, later) {
		d.told = moment
	}
}

// last returns the last deployment of a repository at a place, or nil.
func (t *truth) last(p place, repository string) *deployment {
	if all := t.during(p, repository, t.now, t.now); len(all) > 0 {
		return all[0]
	}
	return nil
}

// tested is what the tests of a run saw.
type tested struct {
	run         string
	commit      *commit // the one that the run is of
	place       place
	sees        []string // the repositories that the tests of its Trigger see
	began, over int
}

// passes reports how tests end that end now: by what is there at the end, even if something else was there before.
func (t *truth) passes(x tested) bool {
	found := false
	for _, repository := range x.sees {
		if d := t.last(x.place, repository); d != nil {
			found = true
			if !d.good {
				return false
			}
		}
	}
	return found
}

// strangers returns what else the place had of the repository while the tests of a run ran, and whether it had anything.
func (t *truth) strangers(x tested) (others []*deployment, any bool) {
	all := t.during(x.place, x.commit.repository, x.began, x.over)
	others = slices.DeleteFunc(slices.Clone(all), func(d *deployment) bool { return d.commit == x.commit })
	return others, len(all) > 0
}

// problem says that a run does not show that its commit passes, or "".
//
// One thing is excused: the place had another commit, and Postflight could not know that before the tests ended. In an Environment
// without workloads, it knows only what it is told: see tell and forget.
func (t *truth) problem(x tested) string {
	others, found := t.strangers(x)
	if !found {
		return fmt.Sprintf("nothing of %s was deployed there", x.commit.repository)
	}
	others = slices.DeleteFunc(others, func(d *deployment) bool { return !d.knownBy(x.over) })
	if len(others) == 0 {
		return ""
	}
	var names []string
	for _, d := range others {
		names = append(names, fmt.Sprintf("%s, known at %d", d, d.told))
	}
	return fmt.Sprintf("its tests ran from %d to %d, and the place had %s", x.began, x.over, strings.Join(names, "; "))
}

// covers reports whether the tests of a run say anything of a deployment: they saw it, or what replaced it.
func (t *truth) covers(x tested, d *deployment) bool {
	if x.place.generation > d.generation {
		return true
	}
	if x.place != d.place || !slices.Contains(x.sees, d.repository) {
		return false
	}
	all := t.during(d.place, d.repository, x.began, x.over)
	return len(all) > 0 && !slices.ContainsFunc(all, func(o *deployment) bool { return o.moment < d.moment && o.commit != d.commit })
}
