package record

import (
	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
)

func underTest(u *v1alpha1.UnderTest) *httpapi.UnderTest {
	if u == nil {
		return nil
	}
	all := &httpapi.UnderTest{Changed: u.Changed}
	for _, w := range u.Workloads {
		all.Workloads = append(all.Workloads, httpapi.TestedWorkload{
			Repository: w.Repository, Service: w.Service, Kind: w.Kind, Namespace: w.Namespace, Name: w.Name,
			Start: versionOf(w.Start), End: versionOf(w.End),
		})
	}
	return all
}

func versionOf(v *v1alpha1.WorkloadVersion) *httpapi.WorkloadVersion {
	if v == nil {
		return nil
	}
	version := &httpapi.WorkloadVersion{SHA: v.SHA, Revision: v.Revision, RolledOut: v.RolledOut, Message: v.Message}
	for _, d := range v.Digests {
		if version.Digests == nil {
			version.Digests = map[string]string{}
		}
		version.Digests[d.Container] = d.Digest
	}
	return version
}
