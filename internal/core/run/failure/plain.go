package failure

import (
	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// plainSince returns a copy without characters that are not shown: notifications and tests chose its texts.
func plainSince(f httpapi.FailingSince) *httpapi.FailingSince {
	f.First = plainRun(f.First)
	if f.Before != nil {
		f.Before = new(plainRun(*f.Before))
	}
	f.CompareURL = plaintext.Line(f.CompareURL, maxURL)
	return &f
}

func plainRun(r httpapi.TestRun) httpapi.TestRun {
	r.Repository, r.SHA, r.Branch, r.Message = line(r.Repository), line(r.SHA), line(r.Branch), plaintext.Line(r.Message, maxMessage)
	return r
}

// plainUnderTest returns a copy without characters that are not shown: annotations of workloads and names of images have its texts.
func plainUnderTest(u *httpapi.UnderTest) *httpapi.UnderTest {
	if u == nil {
		return nil
	}
	shown := &httpapi.UnderTest{Changed: plaintext.Line(u.Changed, maxMessage)}
	for _, w := range u.Workloads {
		w.Repository, w.Service, w.Start, w.End = line(w.Repository), line(w.Service), plainVersion(w.Start), plainVersion(w.End)
		shown.Workloads = append(shown.Workloads, w)
	}
	return shown
}

func plainVersion(v *httpapi.WorkloadVersion) *httpapi.WorkloadVersion {
	if v == nil {
		return nil
	}
	shown := *v
	shown.SHA, shown.Revision, shown.Message = line(v.SHA), line(v.Revision), plaintext.Line(v.Message, maxMessage)
	shown.Digests = nil
	for container, digest := range v.Digests {
		if shown.Digests == nil {
			shown.Digests = map[string]string{}
		}
		shown.Digests[line(container)] = line(digest)
	}
	return &shown
}
