package record

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
)

// Deployment is what the archive keeps of a deployment, as a line of JSON. It begins with the deployment, and ends with the next one of the
// repository and service, so that it needs no second write. Since is always later than in the deployment before, even if a
// clock was set back.
type Deployment struct {
	Team        string `json:"team"`
	Namespace   string `json:"namespace"`
	Environment string `json:"environment"`
	httpapi.Deployment
	Deleted bool `json:"deleted,omitempty"` // the Environment was deleted then

	brief bool // only the commit is known
}

// Series identifies the deployments of a repository, or of one service of it, in an Environment.
type Series struct {
	Team, Environment string
	segment           string // of the repository and the service
}

// SeriesOf returns the series of a part in one spelling: keys stay what they were before spellings were compared, and before there were
// services. Who reads an Environment reads all of its series.
func SeriesOf(team, environment string, p commit.Part) Series {
	name := p.Repository
	if p.Service != "" {
		name += "\x00" + p.Service
	}
	return Series{team, environment, seriesSegment(name)}
}

// maxSegment bounds how much of a name is in a key. Its hash tells names apart.
const maxSegment = 100

func seriesSegment(name string) string {
	readable := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '_' {
			return r
		}
		return '-'
	}, strings.ToLower(name))
	return readable[:min(len(readable), maxSegment)] + "-" + hash(name, 12)
}

func hash(text string, digits int) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:digits]
}

// AllDeploymentsPrefix starts the keys of all deployments of a team.
func AllDeploymentsPrefix(team string) string { return team + "/" + root + "/environments/" }

// DeploymentsPrefix starts the keys of all deployments of an Environment.
func DeploymentsPrefix(team, environment string) string {
	return AllDeploymentsPrefix(team) + environment + "/"
}

// Prefix starts the keys of the series.
func (s Series) Prefix() string { return DeploymentsPrefix(s.Team, s.Environment) + s.segment + "/" }

// From sorts before the keys of all deployments that began at a time or earlier, and after the keys of later ones: keys are in the
// order of time, the newest first, so that a listing begins with what was deployed at a time.
func (s Series) From(at time.Time) string { return s.Prefix() + countdown(at) }

// countdown has the same length for all times until 2286.
func countdown(at time.Time) string { return fmt.Sprintf("%010d", max(0, 9_999_999_999-at.Unix())) }

const (
	deploymentEnd = ".json"
	deletedEnd    = "deleted" + deploymentEnd
)

// Series of the deployment.
func (d Deployment) Series() Series { return SeriesOf(d.Team, d.Environment, partOf(d.Deployment)) }

func partOf(d httpapi.Deployment) commit.Part { return commit.PartOf(d.Repository, d.Service) }

// Key of the line. Another commit of the same second has another one.
func (d Deployment) Key() string {
	if d.Deleted {
		return d.Series().key(d.Since, deletedEnd)
	}
	return d.Series().key(d.Since, hash(d.SHA, 8)+deploymentEnd)
}

func (s Series) key(at time.Time, end string) string {
	return s.From(at) + "-" + at.UTC().Format(dayLayout+timeLayout) + "-" + end
}

// DeploymentKey is what a key says.
type DeploymentKey struct {
	Series
	Key     string
	At      time.Time
	Deleted bool
}

// ParseDeploymentKey reads a key of a deployment, or of the deletion of its Environment.
func ParseDeploymentKey(team, key string) (DeploymentKey, bool) {
	parts := strings.Split(strings.TrimPrefix(key, AllDeploymentsPrefix(team)), "/")
	if !strings.HasPrefix(key, AllDeploymentsPrefix(team)) || len(parts) != 3 {
		return DeploymentKey{}, false
	}
	k := DeploymentKey{Series: Series{team, parts[0], parts[1]}, Key: key}
	_, rest, _ := strings.Cut(parts[2], "-")
	written, end, _ := cutLast(rest, "-")
	at, err := time.Parse(dayLayout+timeLayout, written)
	k.At, k.Deleted = at, end == deletedEnd
	return k, err == nil && strings.HasSuffix(end, deploymentEnd) && key == k.key(at, end)
}

func cutLast(text, separator string) (before, after string, found bool) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(separator):], true
}

// ParseSeries reads the prefix of a series.
func ParseSeries(team, environment, prefix string) (Series, bool) {
	s := Series{team, environment, strings.TrimSuffix(strings.TrimPrefix(prefix, DeploymentsPrefix(team, environment)), "/")}
	return s, s.segment != "" && prefix == s.Prefix()
}

// Why a deployment has no commit.
const (
	severalCommits = "The workloads had several commits."
	tooManyUnsaved = "Several commits were deployed in this time. They are not known, because the store was unavailable for too long."
)

// DeploymentsOf returns what the status of an Environment says about deployments: the present ones, and those that the archive may lack.
func DeploymentsOf(team string, e *v1alpha1.Environment) (all []Deployment) {
	line := func(d httpapi.Deployment) Deployment {
		if d.SHA == "" {
			d.Message = cmp.Or(d.Message, severalCommits)
		}
		return Deployment{Team: team, Namespace: e.Namespace, Environment: e.Name, Deployment: d}
	}
	for i := range e.Status.Unarchived {
		all = append(all, line(earlierOf(&e.Status.Unarchived[i])))
	}
	for i := range e.Status.Deployed {
		d := &e.Status.Deployed[i]
		since, found := ledger.Begun(*d)
		if !found {
			continue
		}
		shown := deployedOf(d)
		current := httpapi.Deployment{
			Repository: d.Repository, Service: d.Service, SHA: d.SHA, Branch: d.Branch, DeploymentType: d.DeploymentType, Since: since,
			ReportedBy: string(d.ReportedBy),
		}
		if d.Ready != nil && *d.Ready { // otherwise the workloads already have something of what comes next
			current.Workloads = shown.Workloads
		}
		all = append(all, line(current))
	}
	return all
}

// previousOf returns what the status says about what was deployed before. Only its commit is known.
func previousOf(team string, e *v1alpha1.Environment) (all []Deployment) {
	for _, d := range e.Status.Deployed {
		if p := d.Previous; p != nil && p.Since != nil && p.SHA != "" {
			previous := httpapi.Deployment{Repository: d.Repository, Service: d.Service, SHA: p.SHA, Since: p.Since.UTC().Truncate(time.Second)}
			all = append(all, Deployment{Team: team, Namespace: e.Namespace, Environment: e.Name, Deployment: previous, brief: true})
		}
	}
	return all
}

func earlierOf(d *v1alpha1.EarlierDeployment) httpapi.Deployment {
	earlier := httpapi.Deployment{
		Repository: d.Repository, Service: d.Service, SHA: d.SHA, Branch: d.Branch, DeploymentType: d.DeploymentType,
		Since: d.Since.UTC().Truncate(time.Second), ReportedBy: string(d.ReportedBy),
	}
	if d.Unknown {
		earlier.SHA, earlier.Message = "", tooManyUnsaved
	}
	return earlier
}

// Merge returns what two lines about a deployment say together: what was known once stays known.
func (d Deployment) Merge(newer Deployment) Deployment {
	d.Branch, d.DeploymentType = cmp.Or(newer.Branch, d.Branch), cmp.Or(newer.DeploymentType, d.DeploymentType)
	d.ReportedBy, d.Message = cmp.Or(newer.ReportedBy, d.ReportedBy), cmp.Or(newer.Message, d.Message)
	if len(newer.Workloads) > 0 {
		d.Workloads = newer.Workloads
	}
	return d
}

// Equal reports whether two lines say the same.
func (d Deployment) Equal(other Deployment) bool {
	return d.Since.Equal(other.Since) && reflect.DeepEqual(d.withoutTime(), other.withoutTime())
}

func (d Deployment) withoutTime() Deployment {
	d.Since = time.Time{}
	return d
}

// DeployedAt returns the line of each repository and service that was deployed at a time, by their names. Of two about one deployment, the
// second is newer.
func DeployedAt(lines []Deployment, at time.Time) (all []Deployment) {
	newest := map[commit.Part]Deployment{}
	for _, d := range lines {
		key := partOf(d.Deployment).Key()
		other, known := newest[key]
		switch {
		case d.Since.After(at) || known && d.Since.Before(other.Since):
		case !known || d.Since.After(other.Since) || other.brief:
			newest[key] = d
		case !d.brief && d.SHA == other.SHA:
			newest[key] = other.Merge(d)
		}
	}
	for _, d := range newest {
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b Deployment) int {
		return cmp.Or(strings.Compare(a.Repository, b.Repository), strings.Compare(a.Service, b.Service))
	})
	return all
}

// Deletion is the line that says that the Environment of a deployment was deleted.
func (d Deployment) Deletion(at time.Time) Deployment {
	d.Deployment, d.Deleted = httpapi.Deployment{Repository: d.Repository, Service: d.Service, Since: at.UTC().Truncate(time.Second)}, true
	return d
}
