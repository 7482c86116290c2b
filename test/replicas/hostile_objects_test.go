package replicas

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/tests/history"
	"github.com/postflight-dev/postflight/internal/store/objectstore"
	"github.com/postflight-dev/postflight/test/tier"
)

// hostileLoad is how much of each there is.
type hostileLoad struct {
	deployments, environments, unknownKinds int // of which the Environments have costly expressions, or name kinds that do not exist
	days, readers                           int // of history, and those that ask for all of it
	triggers, largeDeployments, suites      int // large ones; so many Triggers in each of two namespaces
	stalled                                 int // events to each source
}

// newHostileLoad is all of it, or the parts that POSTFLIGHT_HOSTILE names, to find out which one does harm. The gate has fewer large
// objects, which cost the API server more time than the manager.
func newHostileLoad() (l hostileLoad) {
	parts := strings.Split(cmp.Or(os.Getenv("POSTFLIGHT_HOSTILE"), "expressions,kinds,history,objects,events"), ",")
	for _, part := range parts {
		switch part {
		case "expressions":
			l.deployments, l.environments = 20, 8
		case "kinds":
			l.unknownKinds = 20
		case "history":
			l.days, l.readers = 90, 2
		case "objects":
			l.triggers, l.largeDeployments, l.suites = 40, 60, 100
		case "events":
			l.stalled = 8
		}
	}
	if tier.Gate() {
		l.triggers, l.largeDeployments, l.suites = l.triggers/4, l.largeDeployments/4, l.suites/4
	}
	return l
}

// costlyExpression has 1,018 bytes, and takes long to compile.
var costlyExpression = strings.Repeat("object.kind=='x'?'a':", 48) + "'9c1d2e3f'"

// createObjects returns the workloads that are selected again and again.
func (a *attacker) createObjects(l hostileLoad) (selected []k8sclient.Object) {
	a.t.Helper()
	for i := range l.deployments {
		selected = append(selected, a.deployment(fmt.Sprint("selected-", i), 0))
	}
	objects := append([]k8sclient.Object{a.held()}, selected...)
	for i := range l.suites {
		objects = append(objects, a.waiting(fmt.Sprint("waiting-", i)))
	}
	for i := range l.largeDeployments {
		objects = append(objects, a.deployment(fmt.Sprint("large-", i), 200<<10))
	}
	for i := range l.triggers {
		name := fmt.Sprint("large-", i)
		objects = append(objects, a.large(name), a.teamless.large(name))
	}
	for i := range l.unknownKinds {
		objects = append(objects, a.unknown(i))
	}
	for i := range l.environments {
		objects = append(objects, a.selecting(fmt.Sprint("selecting-", i)))
	}
	inParallel(4, len(objects), func(i int) { a.put(objects[i]) })
	return selected
}

// put counts what the API server refuses: a schema may bound it.
func (a *attacker) put(o k8sclient.Object) {
	err := a.c.Create(a.t.Context(), o)
	switch {
	case apierrors.IsInvalid(err), apierrors.IsRequestEntityTooLargeError(err):
		a.refused.Add(1)
	case err != nil:
		a.t.Errorf("create %T %s: %v", o, o.GetName(), err)
	default:
		a.created.Add(1)
	}
}

// deployment has no pods, and annotations of so many bytes, twice.
func (a *attacker) deployment(name string, bytes int) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: a.meta(name)}
	d.Labels = map[string]string{"selected": fmt.Sprint(bytes == 0)}
	d.Spec.Replicas, d.Spec.Selector = new(int32(0)), &metav1.LabelSelector{MatchLabels: d.Labels}
	d.Spec.Template.Labels = d.Labels
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: "registry.example.com/web:" + goodCommit}}
	if bytes > 0 {
		large := map[string]string{"example.com/large": strings.Repeat("x", bytes)}
		d.Annotations, d.Spec.Template.Annotations = large, large
	}
	return d
}

// selecting is an Environment each of whose workloads selects all small Deployments, and reads three values by expressions.
func (a *attacker) selecting(name string) *v1alpha1.Environment {
	e := &v1alpha1.Environment{ObjectMeta: a.meta(name)}
	value := &v1alpha1.WorkloadValue{Expression: costlyExpression}
	for i := range 20 {
		e.Spec.Workloads = append(e.Spec.Workloads, v1alpha1.Workload{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"selected": "true"}}, Repository: fmt.Sprint("attacker/", i),
			SHA: value, Branch: value, DeploymentType: value,
		})
	}
	return e
}

// unknown is an Environment of kinds that the cluster does not have.
func (a *attacker) unknown(n int) *v1alpha1.Environment {
	e := &v1alpha1.Environment{ObjectMeta: a.meta(fmt.Sprint("unknown-", n))}
	for i := range 20 {
		e.Spec.Workloads = append(e.Spec.Workloads, v1alpha1.Workload{
			APIVersion: fmt.Sprintf("g%d-%d.example.com/v1", n, i), Kind: "Thing", Name: "thing", Repository: "attacker/things",
		})
	}
	return e
}

// large is a Trigger of 1.4 MiB.
func (tm *team) large(name string) *v1alpha1.Trigger {
	t := tm.trigger(name)
	t.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Args = []string{strings.Repeat("x", 14<<20/10)}
	return t
}

// held is an Environment whose runs do not start.
func (a *attacker) held() *v1alpha1.Environment {
	e := &v1alpha1.Environment{ObjectMeta: a.meta("held")}
	e.Spec.Hold = &v1alpha1.EnvironmentHold{Until: metav1.NewTime(time.Now().Add(time.Hour))}
	return e
}

// waiting is a run that was made by hand, with variables of 64 KiB.
func (a *attacker) waiting(name string) *v1alpha1.Suite {
	large := strings.Repeat("x", 32<<10)
	return &v1alpha1.Suite{ObjectMeta: a.meta(name), Spec: v1alpha1.SuiteSpec{
		Trigger: v1alpha1.TriggerReference{Name: "smoke"}, Environment: "held", Supersede: v1alpha1.SupersedeNone,
		Variables: v1alpha1.Variables{"A": large, "B": large},
	}}
}

// clearObjects deletes what managers of later tests would have to read.
func (tm *team) clearObjects() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for _, o := range []k8sclient.Object{&v1alpha1.Trigger{}, &v1alpha1.Environment{}, &v1alpha1.Suite{}, &appsv1.Deployment{}} {
		if err := tm.s.Client.DeleteAllOf(ctx, o, k8sclient.InNamespace(tm.namespace)); err != nil {
			tm.t.Errorf("delete each %T of %s: %v", o, tm.namespace, err)
		}
	}
}

const (
	longRuns = 1430 // of a day
	longText = 1000 // bytes of each branch, and of each URL of a commit
)

// keepHistory stores the summaries of so many days that end today.
func (a *attacker) keepHistory(b *objectstore.Bucket, days int) {
	a.t.Helper()
	today := time.Now().UTC().Truncate(24 * time.Hour)
	for d := range days {
		day := today.AddDate(0, 0, -d)
		name := day.Format(history.DayLayout)
		runs := make([]history.Run, longRuns)
		for i := range runs {
			runs[i] = a.longRun(fmt.Sprintf("smoke-%02d%08d", d, i), day.Add(time.Duration(i)*time.Second))
		}
		summary := history.NewDay(a.namespace, name, runs, nil)
		key, content := record.SummaryKey(a.namespace, name), summary.Encode()
		if err := b.Put(a.t.Context(), key, "application/gzip", bytes.NewReader(content), int64(len(content))); err != nil {
			a.t.Fatal(err)
		}
	}
}

func (a *attacker) longRun(id string, created time.Time) history.Run {
	text := id + strings.Repeat("x", longText-len(id))
	return history.Run{
		ID: id, Place: httpapi.Place{Namespace: a.namespace, Trigger: "smoke", Environment: "staging"},
		CreatedAt: created.Format(time.RFC3339), State: v1alpha1.ReasonSuperseded, SHA: goodCommit, Repository: "acme/shop", Branch: text, CommitURL: "https://example.com/" + text,
	}
}
