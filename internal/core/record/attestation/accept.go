package attestation

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// Wanted says which verdicts are good enough. Empty fields accept any.
type Wanted struct {
	Algorithm, Digest string // of what is to be deployed
	Run               string
	Team              string   // others may have a Trigger and an Environment of the same names, and test what they like there
	Triggers          []string // each must have a verdict
	Environments      []string // each must have a verdict
	MaxAge            time.Duration
	Warnings          bool // WARNED is good enough
}

// Refused means that the verdicts are not good enough.
type Refused struct{ error }

func refused(format string, args ...any) error { return Refused{fmt.Errorf(format, args...)} }

// Accept returns the verdicts that count: of several of one Trigger and Environment, the last to end, so that an older green does not hide
// a newer red. The error is Refused.
func (w Wanted) Accept(all []Statement, now time.Time) ([]Statement, error) {
	for _, s := range all {
		if !s.About(w.Algorithm, w.Digest) {
			return nil, refused("the verdict of the run %s is about something else: %s %s is not among its subjects", s.Details().Run, w.Algorithm,
				w.Digest)
		}
	}
	counting := w.newest(all)
	if len(counting) == 0 {
		return nil, refused("there is no verdict%s", w.scope())
	}
	if err := w.missing(counting); err != nil {
		return nil, err
	}
	var errs []error
	for _, s := range counting {
		errs = append(errs, w.judge(s, now))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, Refused{err}
	}
	return counting, nil
}

// Concerns reports whether verdicts of a Trigger in an Environment count.
func (w Wanted) Concerns(trigger, environment string) bool {
	return (len(w.Triggers) == 0 || slices.Contains(w.Triggers, trigger)) &&
		(len(w.Environments) == 0 || slices.Contains(w.Environments, environment))
}

func (w Wanted) scope() string {
	text := ""
	if w.Team != "" {
		text += " of the team " + plaintext.Line(w.Team, maxName)
	}
	if len(w.Triggers) > 0 {
		text += " of the Trigger " + plaintext.Alternatives(w.Triggers)
	}
	if len(w.Environments) > 0 {
		text += " in the Environment " + plaintext.Alternatives(w.Environments)
	}
	return text
}

// place is what has one verdict at a time.
type place struct{ team, namespace, trigger, environment, service string }

func (w Wanted) newest(all []Statement) (counting []Statement) {
	byPlace := map[place]Statement{}
	for _, s := range all {
		d := s.Details()
		if !w.Concerns(d.Trigger, d.Environment) || w.Team != "" && w.Team != d.Team {
			continue
		}
		p := place{d.Team, d.Namespace, d.Trigger, d.Environment, d.Service}
		if other, found := byPlace[p]; !found || newer(s, other) {
			byPlace[p] = s
		}
	}
	for _, s := range byPlace {
		counting = append(counting, s)
	}
	slices.SortFunc(counting, func(a, b Statement) int { return strings.Compare(a.Details().Run, b.Details().Run) })
	return counting
}

// newer compares as package verdict does: the last to end counts, and of two in one second, the worse.
func newer(a, b Statement) bool {
	good := func(s Statement) int { return slices.Index([]string{Warned, Passed}, s.Predicate.Result) } // -1: it is not
	return cmp.Or(a.Details().EndedAt.Compare(b.Details().EndedAt), cmp.Compare(good(b), good(a))) > 0
}

func (w Wanted) missing(counting []Statement) error {
	lacks := func(name string, of func(*Details) string) bool {
		return !slices.ContainsFunc(counting, func(s Statement) bool { return of(s.Details()) == name })
	}
	for _, name := range w.Triggers {
		if lacks(name, func(d *Details) string { return d.Trigger }) {
			return refused("there is no verdict of the Trigger %s", name)
		}
	}
	for _, name := range w.Environments {
		if lacks(name, func(d *Details) string { return d.Environment }) {
			return refused("there is no verdict in the Environment %s", name)
		}
	}
	if w.Run != "" && lacks(w.Run, func(d *Details) string { return d.Run }) {
		return refused("the run %s does not count: there is no verdict of it, or a newer one of its Trigger and Environment", w.Run)
	}
	return nil
}

func (w Wanted) judge(s Statement, now time.Time) error {
	d := s.Details()
	name := fmt.Sprintf("the run %s of the Trigger %s in %s", d.Run, d.Trigger, d.Environment)
	switch age := now.Sub(d.EndedAt); {
	case s.Predicate.Result == Warned && !w.Warnings:
		return fmt.Errorf("%s passed with warnings: failures of tests did not count. --allow-warnings accepts that", name)
	case s.Predicate.Result != Passed && s.Predicate.Result != Warned:
		return fmt.Errorf("%s is the newest, and its result is %s (%s)", name, s.Predicate.Result, d.State)
	case w.MaxAge > 0 && age > w.MaxAge:
		return fmt.Errorf("%s ended %s, and the verdict may be %s old. Run the tests again", name, plaintext.Ago(d.EndedAt, now),
			plaintext.Duration(w.MaxAge))
	default:
		return nil
	}
}
