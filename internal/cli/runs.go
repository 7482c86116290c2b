package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/suite"
)

// Runs looks at runs and steers them, through the kubeconfig.
type Runs struct {
	Cluster *Cluster
	Console *Console
	Now     func() time.Time
}

// Filter says which runs to list.
type Filter struct {
	AllNamespaces bool
	Trigger       string
	Branch        string
	State         string
	Limit         int
}

func (f Filter) wants(s *v1alpha1.Suite) bool {
	return (f.Trigger == "" || s.Spec.Trigger.Name == f.Trigger) &&
		(f.Branch == "" || s.Spec.Deployment.Branch == f.Branch) &&
		(f.State == "" || s.State() == f.State)
}

// List prints runs, the newest first.
func (c *Runs) List(ctx context.Context, f Filter) error {
	var list v1alpha1.SuiteList
	var options []client.ListOption
	if !f.AllNamespaces {
		options = append(options, client.InNamespace(c.Cluster.Namespace))
	}
	if err := c.Cluster.List(ctx, &list, options...); err != nil {
		return c.Cluster.explainError(err, "runs")
	}
	runs := slices.DeleteFunc(list.Items, func(s v1alpha1.Suite) bool { return !f.wants(&s) })
	slices.SortFunc(runs, func(a, b v1alpha1.Suite) int { return suite.Compare(&b, &a) })
	if f.Limit > 0 && len(runs) > f.Limit {
		c.Console.Note("Showing the newest %d of %d runs; --limit 0 shows all.", f.Limit, len(runs))
		runs = runs[:f.Limit]
	}
	if c.Console.JSON {
		return c.Console.WriteJSON(runs)
	}
	if len(runs) == 0 {
		c.Console.Note("There are no such runs in the namespace %s.", c.Cluster.Namespace)
		return nil
	}
	return c.Console.Table(c.rows(runs, f.AllNamespaces))
}

func (c *Runs) rows(runs []v1alpha1.Suite, namespaces bool) [][]string {
	rows := [][]string{{"RUN", "STATE", "TRIGGER", "ENVIRONMENT", "BRANCH", "COMMIT", "AGE", "TOOK"}}
	for _, s := range runs {
		rows = append(rows, []string{s.Name, state(&s), s.Spec.Trigger.Name, s.Spec.Environment, cmp.Or(s.Spec.Deployment.Branch, "-"),
			cmp.Or(shortSHA(s.Spec.Deployment.SHA), "-"), age(s.Received().Time, c.Now()), c.took(&s)})
	}
	if namespaces {
		rows[0] = append([]string{"NAMESPACE"}, rows[0]...)
		for i := range runs {
			rows[i+1] = append([]string{runs[i].Namespace}, rows[i+1]...)
		}
	}
	return rows
}

func state(s *v1alpha1.Suite) string { return cmp.Or(s.State(), "New") }

func (c *Runs) took(s *v1alpha1.Suite) string {
	switch {
	case s.Status.StartTime == nil:
		return "-"
	case s.Status.CompletionTime == nil:
		return age(s.Status.StartTime.Time, c.Now()) + "..."
	default:
		return age(s.Status.StartTime.Time, s.Status.CompletionTime.Time)
	}
}

// get reads a run of the namespace.
func (c *Runs) get(ctx context.Context, name string) (*v1alpha1.Suite, error) {
	s := &v1alpha1.Suite{}
	err := c.Cluster.Get(ctx, client.ObjectKey{Namespace: c.Cluster.Namespace, Name: name}, s)
	return s, c.Cluster.explainError(err, fmt.Sprintf("run %q", name))
}

// Show prints all there is to know of a run.
func (c *Runs) Show(ctx context.Context, name string) error {
	s, err := c.get(ctx, name)
	if err != nil {
		return err
	}
	if c.Console.JSON {
		return c.Console.WriteJSON(s)
	}
	d := s.Spec.Deployment
	rows := [][]string{{"Run:", s.Name}, {"State:", state(s)}, {"Why:", message(s)}, {"Trigger:", s.Spec.Trigger.Name},
		{"Environment:", s.Spec.Environment}, {"Branch:", d.Branch}, {"Commit:", d.SHA}, {"Repository:", d.Repository},
		{"Type:", d.Type}, {"URL:", d.URL}, {"Attempt:", fmt.Sprint(max(s.Spec.Attempt, 1))}, {"Superseded by:", s.Status.SupersededBy},
		{"Received:", s.Received().UTC().Format(time.RFC3339)}, {"Took:", c.took(s)}}
	if d.PullRequestNumber > 0 {
		rows = append(rows, []string{"Pull request:", fmt.Sprint(d.PullRequestNumber)})
	}
	return c.Console.Table(slices.DeleteFunc(rows, func(row []string) bool { return row[1] == "" }))
}

func message(s *v1alpha1.Suite) string {
	if c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionSucceeded); c != nil {
		return c.Message
	}
	return "The manager has not seen the run yet. Does it run?"
}

// Cancel stops a run, and says who did.
func (c *Runs) Cancel(ctx context.Context, name string) error {
	s, err := c.get(ctx, name)
	if err != nil {
		return err
	}
	if s.Finished() {
		return fmt.Errorf("the run %s has ended already: %s", name, s.State())
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"annotations": map[string]string{v1alpha1.AnnotationCanceledBy: c.Cluster.who(ctx)}},
		"spec":     map[string]any{"cancel": true},
	})
	if err != nil {
		return err
	}
	if err := c.Cluster.Patch(ctx, s, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return c.Cluster.explainError(err, fmt.Sprintf("run %q", name))
	}
	if c.Console.JSON {
		return c.Console.WriteJSON(s)
	}
	c.Console.Note("The run %s is being canceled.", name)
	return nil
}

// maxAttempts bounds the search for a free attempt.
const maxAttempts = 100

// Rerun starts another attempt of a run.
func (c *Runs) Rerun(ctx context.Context, name string) error {
	s, err := c.get(ctx, name)
	if err == nil {
		err = c.checkLatest(ctx, s)
	}
	if err != nil {
		return err
	}
	trigger := &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Name: s.Spec.Trigger.Name}}
	if err := c.Cluster.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: trigger.Name}, trigger); err != nil {
		return c.Cluster.explainError(err, fmt.Sprintf("Trigger %q", trigger.Name))
	}
	request := "rerun." + rand.Text()
	for attempt := max(s.Spec.Attempt, 1) + 1; attempt < s.Spec.Attempt+maxAttempts; attempt++ {
		again := suite.Rerun(s, trigger.UID, attempt, request)
		err := c.Cluster.Create(ctx, again)
		if apierrors.IsAlreadyExists(err) {
			continue // somebody else's attempt
		}
		if err != nil {
			return c.Cluster.explainError(err, "a run")
		}
		return c.rerunning(again)
	}
	return fmt.Errorf("the run %s has %d attempts already", name, maxAttempts)
}

// checkLatest refuses to repeat a run after a newer deployment: the new attempt would supersede that, and its
// pipeline would be told the outcome of the older commit.
func (c *Runs) checkLatest(ctx context.Context, s *v1alpha1.Suite) error {
	stream := suite.StreamKey(s)
	if stream == "" {
		return nil
	}
	var list v1alpha1.SuiteList
	if err := c.Cluster.List(ctx, &list, client.InNamespace(s.Namespace)); err != nil {
		return c.Cluster.explainError(err, "runs")
	}
	for i := range list.Items {
		other := &list.Items[i]
		newer := suite.StreamKey(other) == stream && suite.Compare(other, s) > 0
		sameCommit := s.Spec.Deployment.SHA != "" && other.Spec.Deployment.SHA == s.Spec.Deployment.SHA
		if newer && !sameCommit {
			return fmt.Errorf("the run %s of a newer deployment came after %s, and another attempt would supersede it. "+
				"Rerun %s, or deploy this commit again and notify", other.Name, s.Name, other.Name)
		}
	}
	return nil
}

func (c *Runs) rerunning(s *v1alpha1.Suite) error {
	if c.Console.JSON {
		return c.Console.WriteJSON(s)
	}
	c.Console.Note("Attempt %d started. Follow it: postflight runs logs -f %s -n %s", s.Spec.Attempt, s.Name, s.Namespace)
	fmt.Fprintln(c.Console.Out, s.Name)
	return nil
}
