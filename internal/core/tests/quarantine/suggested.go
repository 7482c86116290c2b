package quarantine

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

const (
	maxTests   = 50 // of a Quarantine, from the schema
	maxTrigger = 40 // bytes of the name of a Trigger in the name of its Quarantine, which has 63 with the rest
)

// Suggested is a Quarantine that a person may apply, with the figures of each of its tests.
type Suggested struct {
	v1alpha1.Quarantine
	place   httpapi.Place
	figures []string
}

// group makes a Quarantine for each place and owner: so an owner reviews their own tests, and a failure is excused only where it was seen.
// The tests are sorted.
func (t Terms) group(tests []Candidate) (all []Suggested) {
	same := func(a, b Candidate) bool { return a.Place == b.Place && a.Owner == b.Owner }
	for len(tests) > 0 {
		n := 1
		for n < min(len(tests), maxTests) && same(tests[0], tests[n]) {
			n++
		}
		all = append(all, t.quarantine(tests[:n]))
		tests = tests[n:]
	}
	return all
}

func (t Terms) quarantine(tests []Candidate) Suggested {
	first := tests[0]
	s := Suggested{place: first.Place, Quarantine: v1alpha1.Quarantine{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Quarantine"},
		ObjectMeta: metav1.ObjectMeta{Namespace: first.Namespace},
		Spec: v1alpha1.QuarantineSpec{
			Triggers: []string{first.Trigger}, Environments: []string{first.Environment}, Owner: first.Owner, Reason: t.reason(tests),
			Since: t.Since.UTC().Format(time.DateOnly), Until: t.Until.UTC().Format(time.DateOnly),
		},
	}}
	for _, c := range tests {
		s.Spec.Tests = append(s.Spec.Tests, c.Name)
		s.figures = append(s.figures, c.figures())
	}
	s.Name = nameOf(s.Spec)
	return s
}

// nameOf returns a name that depends on the tests: a later suggestion with other tests must not replace this Quarantine.
func nameOf(spec v1alpha1.QuarantineSpec) string {
	sum := sha256.Sum256([]byte(strings.Join(slices.Concat(spec.Triggers, spec.Environments, []string{spec.Owner}, spec.Tests), "\x00")))
	trigger := strings.TrimRight(spec.Triggers[0][:min(len(spec.Triggers[0]), maxTrigger)], "-")
	return "flaky-" + trigger + "-" + hex.EncodeToString(sum[:4])
}

func (t Terms) reason(tests []Candidate) string {
	byFlaky := func(a, b Candidate) int { return a.FlakyCommits - b.FlakyCommits }
	least, most := slices.MinFunc(tests, byFlaky).FlakyCommits, slices.MaxFunc(tests, byFlaky).FlakyCommits
	commits := 0
	for _, c := range tests {
		commits = max(commits, c.Commits)
	}
	days := plaintext.Count(t.Days, "day")
	if len(tests) == 1 {
		return fmt.Sprintf("It failed and passed on the same commit, on %s in %s.", plaintext.Share(least, commits, "commit"), days)
	}
	on := plaintext.Count(least, "commit")
	if most > least {
		on = fmt.Sprintf("%d to %s", least, plaintext.Count(most, "commit"))
	}
	return fmt.Sprintf("Each failed and passed on the same commit, on %s of up to %d in %s.", on, commits, days)
}

// figures are a line for the review of a test.
func (c Candidate) figures() string {
	text := fmt.Sprintf("Failed and passed on %d of %s, failed in %s.",
		c.FlakyCommits, plaintext.Count(c.Commits, "commit"), plaintext.Share(c.Failed, c.Runs, "run"))
	if c.Flaky > 0 {
		text += fmt.Sprintf(" Passed when repeated in %d.", c.Flaky)
	}
	if c.File != "" {
		text += " File: " + quote(c.File)
	}
	if c.Quarantine != nil {
		text += fmt.Sprintf(" Quarantine %s named it until %s: delete that one.", c.Quarantine.Name, c.Quarantine.Until)
	}
	return text
}

// List is the suggestion as an object that kubectl applies.
func (s Suggestion) List() v1alpha1.QuarantineList {
	list := v1alpha1.QuarantineList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "List"}, Items: []v1alpha1.Quarantine{}}
	for _, q := range s.Quarantines {
		list.Items = append(list.Items, q.Quarantine)
	}
	return list
}

// YAML is the suggestion as a file: documents that kubectl applies, and comments. Each text that others wrote is in quotes.
func (s Suggestion) YAML() string {
	var b strings.Builder
	if len(s.Regressions) > 0 {
		b.WriteString("# Not quarantined, because they look like regressions. \"postflight since TEST\" compares the commits.\n")
		for _, text := range s.Regressions {
			fmt.Fprintf(&b, "# - %s\n", text)
		}
	}
	for i, q := range s.Quarantines {
		if i > 0 {
			b.WriteString("---\n")
		}
		q.write(&b)
	}
	return b.String()
}

// write has the order that docs/quarantine.md has.
func (s Suggested) write(b *strings.Builder) {
	fmt.Fprintf(b, `apiVersion: %s
kind: %s
metadata:
  name: %s
  namespace: %s
spec:
  triggers: [%s]
  environments: [%s]
  tests:
`, s.APIVersion, s.Kind, quote(s.Name), quote(s.Namespace), quote(s.Spec.Triggers[0]), quote(s.Spec.Environments[0]))
	for i, test := range s.Spec.Tests {
		fmt.Fprintf(b, "    # %s\n    - %s\n", s.figures[i], quote(test))
	}
	fmt.Fprintf(b, "  reason: %s\n  owner: %s\n  since: %s\n  until: %s\n", quote(s.Spec.Reason), quote(s.Spec.Owner), quote(s.Spec.Since),
		quote(s.Spec.Until))
}
