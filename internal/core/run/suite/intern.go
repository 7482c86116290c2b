package suite

import (
	"strings"
	"unique"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// Intern shares the strings that many Suites have in common, and those that a Suite has twice. To share SHAs and the values of variables
// with other Suites costs more than it saves.
func Intern(s *v1alpha1.Suite) {
	spec, d := &s.Spec, &s.Spec.Deployment
	Share(&s.Namespace, &spec.Trigger.Name, &spec.Environment, &spec.SupersedeKey, &d.Branch, &d.Type, &d.Repository)
	if before, ok := strings.CutSuffix(d.CommitURL, d.SHA); ok {
		d.SHA = d.CommitURL[len(before):]
	}
	Share(&spec.Trigger.UID, &spec.EnvironmentUID)
	Share(&spec.Supersede)
	Share(&spec.Origin)
	Share(&d.HostingService)
	for i := range spec.Siblings {
		Share(&spec.Siblings[i])
	}
	shareKeys(s.Labels)
	shareKeys(s.Annotations)
	shareKeys(spec.Variables)
	for i := range s.Status.Conditions {
		c := &s.Status.Conditions[i]
		Share(&c.Type, &c.Reason)
		Share(&c.Status)
		if c.Reason == v1alpha1.ReasonNotConfigured {
			Share(&c.Message) // of every run that is not reported
		}
	}
	if s.Status.JobName == s.Name {
		s.Status.JobName = s.Name
	}
	if u := s.Status.UnderTest; u != nil {
		internUnderTest(u)
	}
	if r := s.Status.Results; r != nil {
		internFailures(r.Failures)
		for i := range r.FlakyTests {
			Share(&r.FlakyTests[i])
		}
	}
}

// internUnderTest shares what consecutive runs of an Environment have tested, which is mostly the same.
func internUnderTest(u *v1alpha1.UnderTest) {
	for i := range u.Workloads {
		w := &u.Workloads[i]
		Share(&w.Repository, &w.Kind, &w.Namespace, &w.Name)
		for _, v := range []*v1alpha1.WorkloadVersion{w.Start, w.End} {
			if v == nil {
				continue
			}
			Share(&v.UID)
			Share(&v.Revision, &v.SHA, &v.Message)
			for j := range v.Digests {
				Share(&v.Digests[j].Container, &v.Digests[j].Digest)
			}
		}
	}
}

func internFailures(failures []v1alpha1.TestFailure) {
	for i := range failures {
		f := &failures[i]
		Share(&f.Name, &f.File)
		Share(&f.History)
	}
}

func shared[S ~string](text S) S { return unique.Make(text).Value() }

// Share makes equal texts share their memory.
func Share[S ~string](texts ...*S) {
	for _, text := range texts {
		*text = shared(*text)
	}
}

// shareKeys relies on an assignment to a map element that also replaces its key, which it does for strings.
func shareKeys(m map[string]string) {
	for key, value := range m {
		m[shared(key)] = value
	}
}
