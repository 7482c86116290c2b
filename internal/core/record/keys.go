package record

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/inputpath"
)

// root is the first segment below a team's id of everything in the archive.
const root = inputpath.Reserved

const (
	dayLayout  = "2006-01-02"
	timeLayout = "T150405Z"
)

// Run identifies a run in the archive.
type Run struct {
	Team    string
	ID      string
	Created time.Time // of the Suite, in whole seconds
}

// Of returns the identity of a Suite of the team.
func Of(team string, s *v1alpha1.Suite) Run {
	return Run{Team: team, ID: s.Name, Created: s.CreationTimestamp.UTC()}
}

// Compare orders runs by time, and within a second as a listing does, in which each ID has a slash behind it. It makes no such texts: each
// new run is compared with a dozen others.
func (r Run) Compare(other Run) int {
	if byTime := r.Created.Compare(other.Created); byTime != 0 {
		return byTime
	}
	n := min(len(r.ID), len(other.ID))
	next := func(id string) byte {
		if len(id) > n {
			return id[n]
		}
		return '/'
	}
	return cmp.Or(strings.Compare(r.ID[:n], other.ID[:n]), cmp.Compare(next(r.ID), next(other.ID)), cmp.Compare(len(r.ID), len(other.ID)))
}

// Directory starts the keys of all objects of the run except its index, without a slash at its end.
func (r Run) Directory() string {
	return DayPrefix(r.Team, r.Created) + r.Created.UTC().Format(timeLayout) + "-" + r.ID
}

// Owns reports whether a key belongs to the run's record, logs, results or artifacts.
func (r Run) Owns(key string) bool {
	return key == r.RecordKey() || key == r.AttestationKey() || key == r.TestsKey() ||
		slices.ContainsFunc([]string{r.LogsPrefix(), r.ResultsPrefix(), r.PodTestsPrefix(), r.ArtifactsPrefix()},
			func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

// RecordKey is the key of the record.
func (r Run) RecordKey() string { return r.Directory() + "/run.json" }

// AttestationKey is the key of the signed verdict, a Sigstore bundle.
func (r Run) AttestationKey() string { return r.Directory() + "/attestation.sigstore.json" }

// LogsPrefix starts the keys of all logs.
func (r Run) LogsPrefix() string { return r.Directory() + "/logs/" }

// LogKey is the key of the log of one container. Previous is the log before Kubernetes restarted it.
func (r Run) LogKey(pod, container string, previous bool) string {
	suffix := logSuffix
	if previous {
		suffix = previousSuffix
	}
	return r.LogsPrefix() + pod + "/" + container + suffix
}

// The names of containers have no dots.
const (
	logSuffix      = ".log.gz"
	previousSuffix = ".previous" + logSuffix
)

// ParseLogKey reads a key of LogKey.
func (r Run) ParseLogKey(key string) (Log, bool) {
	pod, file, _ := strings.Cut(strings.TrimPrefix(key, r.LogsPrefix()), "/")
	container, previous := strings.CutSuffix(file, previousSuffix)
	if !previous {
		container = strings.TrimSuffix(file, logSuffix)
	}
	return Log{Pod: pod, Container: container, Previous: previous}, key == r.LogKey(pod, container, previous)
}

// ResultsPrefix starts the keys of the results of all pods.
func (r Run) ResultsPrefix() string { return r.Directory() + "/results/" }

// ResultsKey is the key of the results of one pod.
func (r Run) ResultsKey(pod string) string { return r.ResultsPrefix() + pod + ".json" }

// ParseResultsKey reads a key of ResultsKey.
func (r Run) ParseResultsKey(key string) (pod string, ok bool) {
	pod = strings.TrimSuffix(strings.TrimPrefix(key, r.ResultsPrefix()), ".json")
	return pod, key == r.ResultsKey(pod)
}

// TestsKey is the key of all tests of the run.
func (r Run) TestsKey() string { return r.Directory() + "/tests" + testsEnd }

// PodTestsPrefix starts the keys of the tests of all pods. The tests of the run are made from these.
func (r Run) PodTestsPrefix() string { return r.Directory() + "/tests/" }

// PodTestsKey is the key of the tests of one pod.
func (r Run) PodTestsKey(pod string) string { return r.PodTestsPrefix() + pod + testsEnd }

// ParsePodTestsKey reads a key of PodTestsKey.
func (r Run) ParsePodTestsKey(key string) (pod string, ok bool) {
	pod = strings.TrimSuffix(strings.TrimPrefix(key, r.PodTestsPrefix()), testsEnd)
	return pod, key == r.PodTestsKey(pod)
}

// testsEnd is of lines of JSON, compressed.
const testsEnd = ".jsonl.gz"

// ArtifactsPrefix starts the keys of all artifacts.
func (r Run) ArtifactsPrefix() string { return r.Directory() + "/artifacts/" }

// ArtifactKey is the key of a file that a pod wrote; its path has been checked.
func (r Run) ArtifactKey(pod, path string) string { return r.ArtifactsPrefix() + pod + "/" + path }

// ParseArtifactKey reads a key of ArtifactKey.
func (r Run) ParseArtifactKey(key string) (pod, path string, ok bool) {
	return strings.Cut(strings.TrimPrefix(key, r.ArtifactsPrefix()), "/")
}

// IndexKey is the key of an empty object that finds the run by its id.
func (r Run) IndexKey() string {
	return IndexPrefix(r.Team, r.ID) + r.Created.UTC().Format(dayLayout+timeLayout)
}

// IndexPrefix starts the keys of the index of all runs of an id.
func IndexPrefix(team, id string) string { return team + "/" + root + "/ids/" + id + "/" }

// DaysPrefix starts the keys of all days of a team.
func DaysPrefix(team string) string { return team + "/" + root + "/day=" }

// DayPrefix starts the keys of all runs of a day.
func DayPrefix(team string, day time.Time) string {
	return DaysPrefix(team) + day.UTC().Format(dayLayout) + "/"
}

// ParseDay reads a prefix of DayPrefix.
func ParseDay(team, prefix string) (time.Time, error) {
	return time.Parse(dayLayout+"/", strings.TrimPrefix(prefix, DaysPrefix(team)))
}

// ParseIndexKey reads a key of IndexKey.
func ParseIndexKey(team, id, key string) (Run, error) {
	created, err := time.Parse(dayLayout+timeLayout, strings.TrimPrefix(key, IndexPrefix(team, id)))
	return Run{Team: team, ID: id, Created: created}, err
}

// ParseDirectory reads the directory of a run, or a key in it.
func ParseDirectory(team, key string) (Run, error) {
	day, rest, _ := strings.Cut(strings.TrimPrefix(key, DaysPrefix(team)), "/")
	name, _, _ := strings.Cut(rest, "/")
	at, id, ok := strings.Cut(name, "-")
	created, err := time.Parse(dayLayout+timeLayout, day+at)
	if err != nil || !ok || id == "" || !strings.HasPrefix(key, DaysPrefix(team)) {
		return Run{}, fmt.Errorf("%q is no key of a run", key)
	}
	return Run{Team: team, ID: id, Created: created}, nil
}

// SummariesPrefix starts the keys of the summaries of all days of a team.
func SummariesPrefix(team string) string { return team + "/" + root + "/summaries/day=" }

// SummaryPrefix starts the keys of the summary of a day, such as 2026-11-21.
func SummaryPrefix(team, day string) string { return SummariesPrefix(team) + day + "/" }

// SummaryKey is the key of the summary of a day.
func SummaryKey(team, day string) string { return SummaryPrefix(team, day) + "summary.json.gz" }

// SummaryTestsPrefix starts the keys of the tests of a day.
func SummaryTestsPrefix(team, day string) string { return SummaryPrefix(team, day) + "tests/" }

// SummaryTestsKey is the key of the tests of a Trigger and an Environment on a day. Another content has another hash, so that a summary
// never names an object that has changed.
func SummaryTestsKey(team, day string, p httpapi.Place, hash string) string {
	return SummaryTestsPrefix(team, day) + p.Namespace + "/" + p.Trigger + "/" + p.Environment + "-" + hash + testsEnd
}

// ParseSummaryDay reads a prefix of SummaryPrefix.
func ParseSummaryDay(team, prefix string) (time.Time, error) {
	return time.Parse(dayLayout+"/", strings.TrimPrefix(prefix, SummariesPrefix(team)))
}
