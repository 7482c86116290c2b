package model

import (
	"strings"
	"testing"
)

// TestTruth: what is known by then decides, and only of the same repository and place.
func TestTruth(t *testing.T) {
	good, bad := &commit{repository: "acme/shop", sha: "good", good: true}, &commit{repository: "acme/shop", sha: "bad"}
	pay := &commit{repository: "acme/pay", sha: "pay", good: true}
	type event struct {
		*commit
		place
		told bool // at once
	}
	at, elsewhere := place{}, place{url: preview}
	for name, tc := range map[string]struct {
		before, meanwhile []event
		problem           string // of a run of the bad commit
	}{
		"it is there":                      {[]event{{bad, at, true}}, nil, ""},
		"something else is there":          {[]event{{bad, at, true}, {good, at, true}}, nil, "the place had #3 acme/shop@good"},
		"nobody has said so":               {[]event{{bad, at, true}, {good, at, false}}, nil, ""},
		"something else comes":             {[]event{{bad, at, true}}, []event{{good, at, true}}, "the place had #4 acme/shop@good"},
		"it comes unseen":                  {[]event{{bad, at, true}}, []event{{good, at, false}}, ""},
		"it comes back":                    {[]event{{bad, at, true}}, []event{{good, at, true}, {bad, at, true}}, "the place had #4 acme/shop@good"},
		"another repository comes":         {[]event{{bad, at, true}}, []event{{pay, at, true}}, ""},
		"something else comes elsewhere":   {[]event{{bad, at, true}}, []event{{good, elsewhere, true}}, ""},
		"it is elsewhere":                  {[]event{{bad, elsewhere, true}}, nil, "nothing of acme/shop was deployed there"},
		"it was deployed twice":            {[]event{{bad, at, true}, {bad, at, true}}, nil, ""},
		"only another repository is there": {[]event{{pay, at, true}}, nil, "nothing of acme/shop was deployed there"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &truth{}
			play := func(all []event) {
				for _, e := range all {
					if d := w.deploy(e.commit, e.place, noon); e.told {
						w.tell(d)
					}
				}
			}
			play(tc.before)
			x := tested{commit: bad, place: at, sees: repositories, began: w.tick()}
			play(tc.meanwhile)
			x.over = w.tick()
			if got := w.problem(x); (got == "") != (tc.problem == "") || !strings.Contains(got, tc.problem) {
				t.Errorf("%q, want %q", got, tc.problem)
			}
		})
	}
}

// TestToldTooLate: what is told after something newer is known was never known.
func TestToldTooLate(t *testing.T) {
	w, c := &truth{}, &commit{repository: "acme/shop", sha: "a"}
	older, newer := w.deploy(c, place{}, noon), w.deploy(c, place{}, noon)
	w.tell(newer)
	w.tell(older)
	if older.told != 0 || newer.told == 0 {
		t.Errorf("%d and %d", older.told, newer.told)
	}
}

// TestCovers: a run says something of a deployment if its tests saw it, or what replaced it.
func TestCovers(t *testing.T) {
	w := &truth{}
	a, b := &commit{repository: "acme/shop", sha: "a"}, &commit{repository: "acme/shop", sha: "b"}
	first := w.deploy(a, place{}, noon)
	run := func() tested { return tested{sees: repositories, began: w.tick(), over: w.tick()} }
	early := run()
	second := w.deploy(b, place{}, noon)
	late := run()
	for name, tc := range map[string]struct {
		x    tested
		d    *deployment
		want bool
	}{
		"it": {early, first, true}, "what replaced it": {late, first, true}, "the one before": {early, second, false},
		"elsewhere":         {tested{place: place{url: preview}, sees: repositories, began: late.began, over: late.over}, second, false},
		"unseen repository": {tested{sees: []string{"acme/pay"}, began: late.began, over: late.over}, second, false},
	} {
		if got := w.covers(tc.x, tc.d); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
