package record

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/deployment/origin"
	"github.com/postflight-dev/postflight/internal/core/text/mask"
)

// Limits on what is kept of a notification. With the bounds of its other members, a line has at most some 100 KiB, and mostly 400 bytes.
const (
	maxKeptValue     = 256      // bytes of the value of a variable: expressions compare short texts
	maxKeptVariables = 4 << 10  // bytes of all names and values that are kept; more are named only
	maxKeptMatched   = 16 << 10 // bytes of the names of the Triggers that matched: few teams have so many
)

// Notification is what the archive keeps of a notification, matched or not, as a line of JSON: what Triggers match on, and which matched.
type Notification struct {
	At          time.Time `json:"at"`                    // when it was received, by the API server's clock
	Way         string    `json:"way"`                   // in which it came
	Environment string    `json:"environment,omitempty"` // whose Triggers alone were notified, of a workload

	Branch               string `json:"branch,omitempty"`
	SHA                  string `json:"sha,omitempty"`
	DeploymentType       string `json:"deploymentType,omitempty"`
	DeploymentURL        string `json:"deploymentURL,omitempty"`
	HostingService       string `json:"hostingService,omitempty"`
	CommitURL            string `json:"commitURL,omitempty"`
	CommitMessage        string `json:"commitMessage,omitempty"`
	CommitAuthor         string `json:"commitAuthor,omitempty"`
	Repository           string `json:"repository,omitempty"`
	Service              string `json:"service,omitempty"`
	PullRequestNumber    int64  `json:"pullRequestNumber,omitempty"`
	PipelineID           int64  `json:"pipelineID,omitempty"`
	Workflow             string `json:"workflow,omitempty"`
	Job                  string `json:"job,omitempty"`
	Task                 string `json:"task,omitempty"`
	DeduplicationKey     string `json:"deduplicationKey,omitempty"`
	EphemeralEnvironment bool   `json:"ephemeralEnvironment,omitempty"`

	Variables map[string]string `json:"variables,omitempty"` // that do not look secret and are short
	Withheld  []string          `json:"withheld,omitempty"`  // names of the others, sorted

	Matched     []string `json:"matched,omitempty"`     // names of the Triggers that matched, sorted
	MoreMatched int      `json:"moreMatched,omitempty"` // how many are left out after these
}

// NotificationOf returns the line of a notification. The Triggers that matched are sorted by name.
func NotificationOf(at time.Time, n *notification.Notification, matched []*v1alpha1.Trigger) Notification {
	kept := Notification{
		At: at.UTC().Truncate(time.Millisecond), Way: origin.WayAPI,
		Branch: n.Branch, SHA: n.SHA, DeploymentType: n.DeploymentType, DeploymentURL: n.DeploymentURL, HostingService: string(n.HostingService),
		CommitURL: n.CommitURL, CommitMessage: n.CommitMessage, CommitAuthor: n.CommitAuthor, Repository: n.Repository,
		Service: n.Service, PullRequestNumber: n.PullRequestNumber, PipelineID: n.PipelineID, DeduplicationKey: n.DeduplicationKey,
		Workflow: n.Workflow, Job: n.Job, Task: n.Task, EphemeralEnvironment: n.EphemeralEnvironment,
	}
	kept.keepVariables(n.Variables)
	size := 0
	for i, t := range matched {
		if size += len(t.Name); size > maxKeptMatched {
			kept.MoreMatched = len(matched) - i
			break
		}
		kept.Matched = append(kept.Matched, t.Name)
	}
	return kept
}

// keepVariables withholds what mask.Variables would change: a line lives longer than a Suite, and most notifications start none.
func (n *Notification) keepVariables(all map[string]string) {
	masked := mask.Variables(all)
	size := 0
	for _, name := range slices.Sorted(maps.Keys(all)) {
		value := all[name]
		if masked[name] != value || len(value) > maxKeptValue || size+len(name)+len(value) > maxKeptVariables {
			n.Withheld = append(n.Withheld, name)
			continue
		}
		if n.Variables == nil {
			n.Variables = map[string]string{}
		}
		size += len(name) + len(value)
		n.Variables[name] = value
	}
}

// Notification returns what was notified, without the variables that are withheld.
func (n *Notification) Notification() *notification.Notification {
	return &notification.Notification{
		Branch: n.Branch, SHA: n.SHA, DeploymentType: n.DeploymentType, DeploymentURL: n.DeploymentURL,
		HostingService: v1alpha1.HostingService(n.HostingService),
		CommitURL:      n.CommitURL, CommitMessage: n.CommitMessage, CommitAuthor: n.CommitAuthor, Repository: n.Repository,
		Service: n.Service, PullRequestNumber: n.PullRequestNumber, PipelineID: n.PipelineID, DeduplicationKey: n.DeduplicationKey,
		Workflow: n.Workflow, Job: n.Job, Task: n.Task, EphemeralEnvironment: n.EphemeralEnvironment,
		Variables: n.Variables,
	}
}

// MatchedBy returns whether a Trigger of this name matched, and whether that is known.
func (n *Notification) MatchedBy(trigger string) (matched, known bool) {
	if slices.Contains(n.Matched, trigger) {
		return true, true
	}
	after := n.MoreMatched > 0 && (len(n.Matched) == 0 || trigger > n.Matched[len(n.Matched)-1])
	return false, !after
}

// NotificationsObject has lines of an hour.
type NotificationsObject struct {
	Key  string
	Hour time.Time
}

// ErrDamaged means that an object with lines can be read in part, or not at all, however often it is tried.
var ErrDamaged = errors.New("lines of notifications are damaged")

// NotificationsPrefix starts the keys of all lines of notifications of a team.
func NotificationsPrefix(team string) string { return team + "/" + root + "/notifications/day=" }

// NotificationsDay starts the keys of the notifications of a day.
func NotificationsDay(team string, day time.Time) string {
	return NotificationsPrefix(team) + day.UTC().Format(dayLayout) + "/"
}

const (
	hourLayout       = "T15"
	notificationsEnd = ".jsonl.gz"
)

// NotificationsKey is the key of the lines of an hour that a process wrote. The part has no slash and differs between processes.
func NotificationsKey(team string, hour time.Time, part string) string {
	return NotificationsDay(team, hour) + hour.UTC().Format(hourLayout) + "-" + part + notificationsEnd
}

// ParseNotificationsKey returns the hour of a key of NotificationsKey.
func ParseNotificationsKey(team, key string) (hour time.Time, ok bool) {
	rest, ok := strings.CutPrefix(key, NotificationsPrefix(team))
	day, name, _ := strings.Cut(rest, "/")
	at, part, _ := strings.Cut(name, "-")
	hour, err := time.Parse(dayLayout+hourLayout, day+at)
	part, ends := strings.CutSuffix(part, notificationsEnd)
	return hour, ok && err == nil && ends && part != "" && key == NotificationsKey(team, hour, part)
}

// ParseNotificationsDay reads a prefix of NotificationsDay.
func ParseNotificationsDay(team, prefix string) (time.Time, error) {
	return time.Parse(dayLayout+"/", strings.TrimPrefix(prefix, NotificationsPrefix(team)))
}
