// Package regression writes what 200 runs of an Environment leave in the archive, among them the deployment that broke a test. Every object
// comes from the code that a collector and a manager write it with, so that readers cannot tell it from a real one.
package regression

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
)

// The names of the story.
const (
	Trigger     = "storefront"
	Environment = "preview-shop" // has no name of the demo's, so that both can be in one cluster

	// Planted is the test that the bad deployment broke.
	Planted = "checkout › adds the shipping to the total"

	// Runs of the story, with superseded ones and a rerun.
	Runs = 200
)

// The places of the story, by number of the run. What happens from lastGood to the second superseded run hides the bad deployment.
const (
	lastGood        = 137 // of another service, and repeated after the bad deployment, where it fails, too
	bad             = 138
	rerun           = 139
	firstSuperseded = 140
	lastSuperseded  = 141
)

// services are deployed in turns, each from a repository of its own.
var services = []string{"web", "cart", "catalog"}

// Story is the archive of a Team.
type Story struct {
	Team, Namespace string
	Runs            []Run // the oldest first
	Deployments     []record.Deployment

	Bad    *v1alpha1.Suite // the run of the deployment that broke the planted test
	Before *v1alpha1.Suite // the last run before it in which that passed
	Last   *v1alpha1.Suite // the newest run, which fails
}

// Run is what a run leaves behind.
type Run struct {
	Suite *v1alpha1.Suite
	Pod   *Pod // nil: it did not start
}

// New tells a story of two weeks that ends at a time. The bad deployment and its rerun are on one day.
func New(team, namespace string, end time.Time) *Story {
	s := &Story{Team: team, Namespace: namespace}
	noon := end.UTC().AddDate(0, 0, -5).Truncate(24 * time.Hour).Add(12 * time.Hour)
	every := end.Sub(noon).Truncate(time.Minute) / (Runs - lastGood)
	for i := range Runs {
		at := noon.Add(time.Duration(i-lastGood) * every).Truncate(time.Second)
		s.add(i, at)
	}
	s.Before, s.Bad, s.Last = s.Runs[lastGood].Suite, s.Runs[bad].Suite, s.Runs[Runs-1].Suite
	return s
}

func (s *Story) add(i int, at time.Time) {
	suite := s.suite(i, at)
	switch i {
	case rerun:
		earlier := s.Runs[lastGood].Suite
		suite.Spec.Deployment, suite.Spec.Origin, suite.Spec.Attempt = earlier.Spec.Deployment, v1alpha1.OriginRerun, 2
		suite.Annotations = map[string]string{v1alpha1.AnnotationRerunBy: "dana@example.com"}
	default:
		s.deploy(suite.Spec.Deployment, at)
	}
	if i == firstSuperseded || i == lastSuperseded {
		suite.Status.SupersededBy = name(i + 1)
		end(suite, at.Add(time.Second), v1alpha1.Superseded("Superseded by "+name(i+1)+"."))
		s.Runs = append(s.Runs, Run{Suite: suite})
		return
	}
	s.Runs = append(s.Runs, Run{Suite: suite, Pod: s.execute(i, suite, at)})
}

func name(i int) string { return fmt.Sprintf("%s-%s", Trigger, digest(Trigger, i)[:10]) }

func (s *Story) suite(i int, at time.Time) *v1alpha1.Suite {
	service := services[i%len(services)]
	switch i {
	case bad:
		service = "cart"
	case lastGood, firstSuperseded, lastSuperseded, lastSuperseded + 1:
		service = "web"
	}
	sha := digest(service, i)[:40]
	return &v1alpha1.Suite{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name(i), CreationTimestamp: metav1.NewTime(at)},
		Spec: v1alpha1.SuiteSpec{
			Trigger: v1alpha1.TriggerReference{Name: Trigger}, Environment: Environment, Attempt: 1, Origin: v1alpha1.OriginNotification,
			ReceivedAt: new(metav1.NewMicroTime(at)),
			Deployment: v1alpha1.Deployment{
				Branch: "main", SHA: sha, Type: "preview", URL: "https://preview.shop.example.com", HostingService: v1alpha1.GitHub,
				Repository: "acme/" + service, CommitURL: "https://github.com/acme/" + service + "/commit/" + sha,
				CommitMessage: fmt.Sprintf("Change %d of %s", i, service), CommitAuthor: "dana",
			},
		},
	}
}

func digest(text string, i int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", text, i))
	return hex.EncodeToString(sum[:])
}

// deploy says that the Environment has a commit from a time on.
func (s *Story) deploy(d v1alpha1.Deployment, at time.Time) {
	s.Deployments = append(s.Deployments, record.Deployment{
		Team: s.Team, Namespace: s.Namespace, Environment: Environment,
		Deployment: httpapi.Deployment{
			Repository: d.Repository, SHA: d.SHA, Branch: d.Branch, DeploymentType: d.Type, Since: at, ReportedBy: "Notification",
		},
	})
}

// end writes the end of a run into its status.
func end(s *v1alpha1.Suite, at time.Time, c metav1.Condition) {
	c.LastTransitionTime = metav1.NewTime(at)
	s.Status.CompletionTime = new(metav1.NewTime(at))
	s.Status.Conditions = append(s.Status.Conditions, c)
}

// Environment has the last deployment of each repository.
func (s *Story) Environment() *v1alpha1.Environment {
	e := &v1alpha1.Environment{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: Environment},
		Spec:       v1alpha1.EnvironmentSpec{URL: "https://preview.shop.example.com"},
	}
	last := map[string]record.Deployment{}
	for _, d := range s.Deployments {
		last[d.Repository] = d
	}
	for _, service := range services {
		d := last["acme/"+service]
		e.Status.Deployed = append(e.Status.Deployed, v1alpha1.Deployed{
			Repository: d.Repository, SHA: d.SHA, Branch: d.Branch, DeploymentType: d.DeploymentType, Since: new(metav1.NewTime(d.Since)),
			ReportedBy: v1alpha1.ReportedByNotification,
		})
	}
	return e
}
