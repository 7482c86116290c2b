package quarantine

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

const (
	maxRules   = 20       // bounds the Quarantines of a run, as the schema of the Suite does
	maxEntries = 200      // bounds their tests: each test of a run is compared with each pattern
	maxBytes   = 32 << 10 // bounds the names of their tests together: Linux allows 128 KiB for a variable
	maxName    = 63       // of a Quarantine, from its schema
)

// all is the entry of spec.triggers that names all Triggers of the namespace.
const all = "*"

// Applied are the Quarantines of a run, fixed when its Job is created: every pod and every later look uses the same.
type Applied struct {
	Rules   []Rule `json:"rules,omitempty"`   // valid ones first, then by name
	Omitted int    `json:"omitted,omitempty"` // Quarantines beyond the bounds: their tests count
}

// Rule is a Quarantine that a run applies, or that had expired when its Job was created.
type Rule struct {
	Name    string   `json:"name"`
	Until   string   `json:"until"` // day, in UTC
	Expired bool     `json:"expired,omitempty"`
	Tests   []string `json:"tests,omitempty"` // absent from the annotation of a Job
}

// For selects the Quarantines of a Trigger and an Environment. Those that begin later are left out.
func For(objects []v1alpha1.Quarantine, trigger, environment string, now time.Time) Applied {
	var rules []Rule
	for i := range objects {
		q := &objects[i]
		state := StateOf(q, now)
		if !concerns(q, trigger, environment) || q.DeletionTimestamp != nil || state != Valid && state != Expired {
			continue
		}
		rules = append(rules, Rule{Name: q.Name, Until: q.Spec.Until, Expired: state == Expired, Tests: q.Spec.Tests})
	}
	slices.SortFunc(rules, func(a, b Rule) int {
		if a.Expired != b.Expired {
			if a.Expired {
				return 1
			}
			return -1
		}
		return cmp.Compare(a.Name, b.Name)
	})
	return within(rules)
}

func within(rules []Rule) (a Applied) {
	entries, bytes := 0, 0
	for _, r := range rules {
		size := 0
		for _, test := range r.Tests {
			size += len(test)
		}
		if len(a.Rules) == maxRules || entries+len(r.Tests) > maxEntries || bytes+size > maxBytes {
			a.Omitted++
			continue
		}
		entries, bytes = entries+len(r.Tests), bytes+size
		a.Rules = append(a.Rules, r)
	}
	return a
}

// concerns reports whether a Quarantine is for the runs of a Trigger in an Environment.
func concerns(q *v1alpha1.Quarantine, trigger, environment string) bool {
	triggers, environments := q.Spec.Triggers, q.Spec.Environments
	return (slices.Equal(triggers, []string{all}) || slices.Contains(triggers, trigger)) &&
		(len(environments) == 0 || slices.Contains(environments, environment))
}

// Valid reports whether any of the Quarantines has not expired.
func (a Applied) Valid() bool {
	return slices.ContainsFunc(a.Rules, func(r Rule) bool { return !r.Expired })
}

// Text encodes them; "" for none.
func (a Applied) Text() string {
	if len(a.Rules) == 0 && a.Omitted == 0 {
		return ""
	}
	text, _ := json.Marshal(a) // strings and numbers cannot fail
	return string(text)
}

// WithoutTests is enough to judge what a collector has counted.
func (a Applied) WithoutTests() Applied {
	rules := slices.Clone(a.Rules)
	for i := range rules {
		rules[i].Tests = nil
	}
	return Applied{Rules: rules, Omitted: a.Omitted}
}

// Parse reads what Text wrote. It returns none if the text is not valid: then all failures count.
func Parse(text string) (a Applied) {
	if json.Unmarshal([]byte(text), &a) != nil || len(a.Rules) > maxRules || a.Omitted < 0 {
		return Applied{}
	}
	names := map[string]bool{}
	for _, r := range a.Rules {
		if r.Name == "" || len(r.Name) > maxName || names[r.Name] || len(r.Until) != len(time.DateOnly) {
			return Applied{}
		}
		names[r.Name] = true
	}
	return a
}
