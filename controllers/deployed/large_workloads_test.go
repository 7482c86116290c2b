package deployed_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/world"
)

// TestWorkloadsNamedLater: a watch that runs keeps no object that nobody names, and reads those again that somebody names later.
func TestWorkloadsNamedLater(t *testing.T) {
	t.Parallel()
	w, watches := newWatchedWorld(t)
	w.Grant("ClusterRole", world.WorkloadsReader)
	web, api := build.Deployment("web", build.Commit(1)), build.Deployment("api", build.Commit(2))
	w.Create(web, api)
	w.RollsOut(web)
	w.RollsOut(api)
	staging, nightly := build.Environment("staging"), build.Environment("nightly")
	w.NamesWorkloads(staging, v1alpha1.Workload{Name: "web", Repository: "acme/shop"})
	w.HasDeployed(staging, build.Commit(1)+" true")
	w.Create(nightly)
	w.NamesWorkloads(nightly, v1alpha1.Workload{Name: "api", Repository: "acme/api"})
	w.HasDeployed(nightly, build.Commit(2)+" true")
	w.Change(api, func(o client.Object) { build.SetCommit(o.(*appsv1.Deployment), build.Commit(3)) })
	w.RollsOut(api)
	w.HasDeployed(nightly, build.Commit(3)+" true")
	watches.are(w, 1)

	w.Change(web, func(o client.Object) { o.SetLabels(map[string]string{"app": "api"}) })
	w.NamesWorkloads(nightly, v1alpha1.Workload{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "api"}}, Repository: "acme/api"})
	w.Await("both have the label", nightly, func() bool {
		return slices.ContainsFunc(nightly.Status.Deployed, func(d v1alpha1.Deployed) bool { return len(d.Workloads) == 2 })
	})
	w.Change(web, func(o client.Object) { o.SetLabels(map[string]string{"app": "web"}) })
	w.Await("one has lost it", nightly, func() bool {
		return slices.ContainsFunc(nightly.Status.Deployed, func(d v1alpha1.Deployed) bool { return d.Repository == "acme/api" && len(d.Workloads) == 1 })
	})
}

// TestLargeWorkloads: those of a namespace that take too much memory are not kept, which their Environment says. It is read when there is
// room.
func TestLargeWorkloads(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Grant("ClusterRole", world.WorkloadsReader)
	var all []v1alpha1.Workload
	for i := range 20 {
		d := build.Deployment(fmt.Sprintf("large-%02d", i), build.Commit(1))
		w.Create(d)
		w.RollsOut(d)
		w.Read(d)
		d.Status.Conditions = append(d.Status.Conditions, appsv1.DeploymentCondition{Type: "Verbose", Status: "True", Message: strings.Repeat("x", 500<<10)})
		w.Must(w.Client.Status().Update(context.Background(), d))
		all = append(all, v1alpha1.Workload{Name: d.Name, Repository: "acme/large"})
	}
	small := build.Deployment("small", build.Commit(2))
	w.Create(small)
	w.RollsOut(small)
	staging, nightly := build.Environment("staging"), build.Environment("nightly")
	w.NamesWorkloads(staging, all...)
	w.Ready(staging, "False", world.WorkloadsUnknown, "KiB of the manager's memory, and the workloads that Environments of the namespace "+w.NS+" name may take 8192 together. Name fewer")
	w.Create(nightly)
	w.NamesWorkloads(nightly, v1alpha1.Workload{Name: "small", Repository: "acme/shop"})
	w.HasDeployed(nightly, build.Commit(2)+" true")
	w.NamesWorkloads(staging, all[17:]...) // which had no room
	w.Ready(staging, "True", world.WorkloadsRead, "")
	w.HasDeployed(staging, build.Commit(1)+" true")
}
