package results

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// Fewer is what happens if far fewer tests ran than before. The zero value is the default.
type Fewer struct {
	Policy  v1alpha1.FewerTestsPolicy
	Percent int32
}

// FewerOf returns what a Trigger says.
func FewerOf(r *v1alpha1.Results) Fewer {
	return Fewer{Policy: r.FewerTests, Percent: r.FewerTestsPercent}
}

// String is what ParseFewer reads, or "" for the default.
func (f Fewer) String() string {
	if f == (Fewer{}) {
		return ""
	}
	return fmt.Sprintf("%s/%d", f.Policy, f.Percent)
}

// ParseFewer returns the default for a text that is not valid.
func ParseFewer(text string) Fewer {
	policy, share, _ := strings.Cut(text, "/")
	percent, err := strconv.ParseInt(share, 10, 32)
	if err != nil || percent < 0 || percent > 100 {
		return Fewer{}
	}
	return Fewer{Policy: v1alpha1.FewerTestsPolicy(policy), Percent: int32(percent)}
}

// Far reports whether so few tests ran, compared with before, that some may not have been selected.
func (f Fewer) Far(ran, before int32) bool {
	percent := int64(cmp.Or(f.Percent, v1alpha1.DefaultFewerTestsPercent))
	return int64(before-ran)*100 >= int64(before)*percent && ran < before
}

// Ran is how many tests of a run were not skipped.
func Ran(r *v1alpha1.TestResults) int32 { return r.Tests - r.Skipped }

// NoStore is what Missing would say without a store.
const NoStore = "no store has their names"

// Missing says which tests that passed in an earlier run are not shown to have run in a later one, by the documents of their pods. It is a
// clause, or "" if none is missing. passed is how many tests passed in the earlier run: a document of it may be missing.
func Missing(before []Document, passed int32, now []Document) string {
	found := int32(0)
	for _, d := range before {
		increase(&found, d.Passed)
	}
	if found < passed || len(now) == 0 {
		return "the store does not have the names of all of them"
	}
	if len(before) == 1 && len(now) == 1 && before[0].NamesDigest != "" && before[0].NamesDigest == now[0].NamesDigest {
		return ""
	}
	passedBefore, known := passedIn(before)
	ran, knownNow := passedIn(now)
	for _, d := range now {
		for _, f := range d.Failures {
			ran = ran.union(SetOf([]string{f.Name}))
		}
	}
	missing := passedBefore.Without(ran).Len()
	switch {
	case !known || !knownNow:
		return fmt.Sprintf("its pods have more than %d tests, so their names are not compared", maxSet)
	case missing > 0:
		return tests(int32(missing)) + " that passed there did not run here"
	default:
		return ""
	}
}

// passedIn reports also whether the names of all tests that passed are known.
func passedIn(documents []Document) (all NameSet, known bool) {
	known = true
	for _, d := range documents {
		known = known && d.PassedTests.Len() == int(d.Passed)
		all = all.union(d.PassedTests)
	}
	return all, known
}
