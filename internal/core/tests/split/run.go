package split

import (
	"cmp"
	"slices"
	"unicode/utf8"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// Run has the times of the tests of a run. The zero value is not usable; see NewRun.
type Run struct {
	name   string
	suites map[string]*suite
	all    int // files of suites
	bytes  int // of their names
}

// suite is a class, a package, or what else tests have in common.
type suite struct {
	files    map[string]int64 // milliseconds
	unplaced bool             // a test has no file
}

// NewRun returns a Run without tests.
func NewRun(name string) *Run { return &Run{name: name, suites: map[string]*suite{}} }

// Add adds a test.
func (r *Run) Add(suiteName, file string, ms int64) {
	if !usable(suiteName) || !usable(file) {
		return
	}
	s := r.suites[suiteName]
	if s == nil {
		s = &suite{files: map[string]int64{}}
	}
	if _, known := s.files[file]; !known {
		size := len(suiteName) + len(file)
		if r.all == maxFiles || r.bytes+size > maxBytes {
			return
		}
		r.all, r.bytes = r.all+1, r.bytes+size
	}
	r.suites[suiteName] = s
	s.files[file] = bounded(s.files[file] + bounded(ms))
	s.unplaced = s.unplaced || file == ""
}

func usable(name string) bool { return len(name) <= maxName && utf8.ValidString(name) }

// files are the times by file. The reports of some runners know no file, but a package or a class. They count instead, also for a test
// that failed: the file that is known of it is where it failed.
func (r *Run) files() map[string]int64 {
	all := map[string]int64{}
	for name, s := range r.suites {
		for file, ms := range s.files {
			if s.unplaced {
				file = name
			}
			if file != "" {
				all[file] = bounded(all[file] + ms)
			}
		}
	}
	return all
}

// maxCandidates bounds the runs whose tests are looked for. Each costs a request.
const maxCandidates = 3 * maxRuns

// Candidates are the runs of the same Trigger whose times may count for a run, the best ones first: those of its service and in its
// Environment, because others may be slower, and then those that ended last. An Environment of a pull request has none of its own.
func Candidates(s *v1alpha1.Suite, runs []*v1alpha1.Suite) []*v1alpha1.Suite {
	all := slices.DeleteFunc(slices.Clone(runs), func(r *v1alpha1.Suite) bool {
		return r.Spec.Trigger.Name != s.Spec.Trigger.Name || r.UID == s.UID || r.Status.Results == nil || r.Status.CompletionTime == nil ||
			!r.Finished() ||
			r.Spec.OnlyFailedOf != nil // it ran few files
	})
	slices.SortFunc(all, func(a, b *v1alpha1.Suite) int {
		return cmp.Or(
			elsewhere(a, s)-elsewhere(b, s), b.Status.CompletionTime.Compare(a.Status.CompletionTime.Time), cmp.Compare(a.UID, b.UID),
		)
	})
	return all[:min(len(all), maxCandidates)]
}

func elsewhere(r, s *v1alpha1.Suite) int {
	far := 0
	if r.Spec.Deployment.Service != s.Spec.Deployment.Service {
		far += 2
	}
	if r.Spec.Environment != s.Spec.Environment {
		far++
	}
	return far
}

// Enough reports whether no further run would count.
func Enough(runs []*Run) bool {
	n := 0
	for _, r := range runs {
		if len(r.suites) > 0 {
			n++
		}
	}
	return n >= maxRuns
}
