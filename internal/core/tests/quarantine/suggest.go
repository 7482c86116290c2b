package quarantine

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

const (
	// SuggestedDays is how long a suggested Quarantine lasts: long enough for a repair, and no longer.
	SuggestedDays = 14

	// MinCommits is on how many commits a test has to have failed and passed. Once may be an outage of what it needs, which hits many tests.
	MinCommits = 2

	// RegressionRuns are the failed runs in a row that make a regression. Of tests that fail in every third run, one in 27 fails so often in
	// a row.
	RegressionRuns = 3

	// MaxOwner bounds an owner, in characters, as the schema does.
	MaxOwner = 128

	maxRegressions = 20 // that are listed: if more tests fail at once, something else is broken

	maxNameChars = 512 // of a test, from the schema
)

// Candidate is a test in a place, with its figures and the owner of its file.
type Candidate struct {
	Name, File, Owner string
	Numbered          bool // its name ends with a number that Postflight added: another test there has the name without it
	httpapi.TestInPlace
}

// Terms are what is asked for.
type Terms struct {
	MinCommits int
	Days       int // that the figures cover
	Since      time.Time
	Until      time.Time
}

// CheckUntil returns what is wrong with the end of a Quarantine, or "".
func (t Terms) CheckUntil() string {
	switch {
	case !t.Until.After(t.Since):
		return "it has to be later than today"
	case t.Until.Sub(t.Since) > maxDays*24*time.Hour:
		return fmt.Sprintf("a Quarantine lasts at most %d days", maxDays)
	}
	return ""
}

// Suggestion is what is to be quarantined, and what is not.
type Suggestion struct {
	Quarantines []Suggested
	Regressions []string // sentences: these tests fail since a deployment
	Notes       []string // sentences: why other tests are left out
}

// Suggest chooses among tests. It returns the same for the same tests, in whatever order they are.
func Suggest(candidates []Candidate, t Terms) (s Suggestion) {
	var chosen []Candidate
	rare := 0
	for _, c := range slices.SortedFunc(slices.Values(candidates), compare) {
		switch verdict, text := t.assess(c); verdict {
		case suggested:
			chosen = append(chosen, c)
		case regression:
			s.Regressions = append(s.Regressions, text)
		case rarely:
			rare++
		default:
			s.Notes = append(s.Notes, text)
		}
	}
	if rare > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("Left out: %s that failed or %s repeated, but did not fail and pass on the same commit "+
			"on at least %s.",
			plaintext.Count(rare, "test"), wasOrWere(rare), plaintext.Count(t.MinCommits, "commit")))
	}
	if n := len(s.Regressions) - maxRegressions; n > 0 {
		s.Regressions = append(s.Regressions[:maxRegressions], fmt.Sprintf("and %s.", plaintext.Count(n, "other test")))
	}
	s.Quarantines = t.group(chosen)
	s.Notes = append(s.Notes, tooMany(s.Quarantines)...)
	return s
}

func wasOrWere(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

func compare(a, b Candidate) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Trigger, b.Trigger),
		strings.Compare(a.Environment, b.Environment), strings.Compare(a.Owner, b.Owner), strings.Compare(a.Name, b.Name))
}

type assessment int

const (
	suggested assessment = iota
	rarely               // it did not fail and pass on enough commits
	regression
	omitted
)

// assess returns what to do with a test, and why, unless it is suggested.
func (t Terms) assess(c Candidate) (assessment, string) {
	inARow := 0
	if c.Failing != nil {
		inARow = c.Failing.Runs
	}
	enough := c.FlakyCommits >= t.MinCommits
	switch {
	case c.Quarantine != nil && !c.Quarantine.Expired:
		return omitted, fmt.Sprintf("Left out: %s. Quarantine %s names it until %s.", c.who(), c.Quarantine.Name, c.Quarantine.Until)
	case inARow >= RegressionRuns:
		return regression, c.regression()
	case !enough:
		return rarely, ""
	case c.FailedCommits == 0:
		return omitted, fmt.Sprintf("Left out: %s. It passed each time when its runner repeated it, so it fails no run.", c.who())
	}
	if why := c.unnameable(); why != "" {
		return omitted, fmt.Sprintf("Left out: %s. %s", c.who(), why)
	}
	if !isLine(c.Owner, MaxOwner) {
		return omitted, fmt.Sprintf("Left out: %s. No owner is known of its file %s. Pass --owner, or add a rule to CODEOWNERS.",
			c.who(), quote(c.File))
	}
	return suggested, ""
}

func (c Candidate) who() string {
	return fmt.Sprintf("%s (%s on %s)", quote(c.Name), c.Trigger, c.Environment)
}

func (c Candidate) regression() string {
	first := c.Failing.First
	text := fmt.Sprintf("%s (%s on %s) failed in its last %s, since %s", quote(c.Name), quotedUnlessLabel(c.Trigger),
		quotedUnlessLabel(c.Environment), plaintext.Count(c.Failing.Runs, "run"), first.CreatedAt.UTC().Format(time.RFC3339))
	if first.SHA != "" {
		text += fmt.Sprintf(", first with commit %s", quotedUnlessLabel(first.SHA))
	}
	return text + "."
}

var label = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

func quotedUnlessLabel(text string) string {
	if label.MatchString(text) {
		return text
	}
	return quote(text)
}

// unnameable returns why no Quarantine can name exactly this test.
func (c Candidate) unnameable() string {
	switch {
	case strings.Contains(c.Name, "*"):
		return "Its name has a *, which stands for any text in a Quarantine. Give the test another name."
	case c.Numbered:
		return "Several tests have its name, and a Quarantine cannot tell them apart. Give them different names."
	case !isLine(c.Name, maxNameChars):
		return "Its name is too long for a Quarantine, or has invisible characters. Give the test another name."
	case len(validation.IsDNS1123Label(c.Trigger)) > 0 || len(validation.IsDNS1123Label(c.Environment)) > 0 ||
		len(validation.IsDNS1123Label(c.Namespace)) > 0:
		return "A Quarantine cannot name its Trigger, Environment or namespace."
	}
	return ""
}

// isLine reports whether the schema of a Quarantine takes a text: one line that is visible as it is.
func isLine(text string, most int) bool {
	return text != "" && utf8.ValidString(text) && utf8.RuneCountInString(text) <= most && text == strings.TrimSpace(text) &&
		!strings.ContainsFunc(text, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) })
}

// quote writes a text in a way that Go and YAML have in common. All that is not visible is escaped.
func quote(text string) string { return strconv.Quote(strings.ToValidUTF8(text, "\uFFFD")) }

// tooMany says where a run would not apply all that is suggested.
func tooMany(all []Suggested) (notes []string) {
	byPlace := map[httpapi.Place][]Rule{}
	var places []httpapi.Place
	for _, s := range all {
		if byPlace[s.place] == nil {
			places = append(places, s.place)
		}
		byPlace[s.place] = append(byPlace[s.place], Rule{Name: s.Name, Tests: s.Spec.Tests})
	}
	for _, p := range places {
		if n := within(byPlace[p]).Omitted; n > 0 {
			notes = append(notes, fmt.Sprintf("A run of %s on %s applies at most %d Quarantines, %d tests and %d KiB of names: it would "+
				"ignore %d of these. Repair some tests first.", p.Trigger, p.Environment, maxRules, maxEntries, maxBytes>>10, n))
		}
	}
	return notes
}
