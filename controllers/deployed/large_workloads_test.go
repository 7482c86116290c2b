package controllers_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// TestWorkloadsNamedLater: a watch that runs keeps no object that nobody names, and reads those again that somebody names later.
func TestWorkloadsNamedLater(t *testing.T) {
	t.Parallel()
	w, watches := newWatchedWorld(t)
	w.grant("ClusterRole", workloadsReader)
	web, api := aDeployment("web", commit(1)), aDeployment("api", commit(2))
	w.create(web, api)
	w.rollsOut(web)
	w.rollsOut(api)
	staging, nightly := anEnvironment("staging"), anEnvironment("nightly")
	w.names(staging, v1alpha1.Workload{Name: "web", Repository: "acme/shop"})
	w.has(staging, commit(1)+" true")
	w.create(nightly)
	w.names(nightly, v1alpha1.Workload{Name: "api", Repository: "acme/api"})
	w.has(nightly, commit(2)+" true")
	w.change(api, func(o client.Object) { isOf(o.(*appsv1.Deployment), commit(3)) })
	w.rollsOut(api)
	w.has(nightly, commit(3)+" true")
	watches.are(w, 1)

	w.change(web, func(o client.Object) { o.SetLabels(map[string]string{"app": "api"}) })
	w.names(nightly, v1alpha1.Workload{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "api"}}, Repository: "acme/api"})
	w.eventually("both have the label", func() string {
		w.must(w.Client.Get(context.Background(), w.key(nightly.Name), nightly))
		for _, d := range nightly.Status.Deployed {
			if len(d.Workloads) == 2 {
				return ""
			}
		}
		return fmt.Sprintf("%+v", nightly.Status.Deployed)
	})
	w.change(web, func(o client.Object) { o.SetLabels(map[string]string{"app": "web"}) })
	w.eventually("one has lost it", func() string {
		w.must(w.Client.Get(context.Background(), w.key(nightly.Name), nightly))
		for _, d := range nightly.Status.Deployed {
			if d.Repository == "acme/api" && len(d.Workloads) == 1 {
				return ""
			}
		}
		return fmt.Sprintf("%+v", nightly.Status.Deployed)
	})
}

// TestLargeWorkloads: those of a namespace that take too much memory are not kept, which their Environment says. It is read when there is
// room.
func TestLargeWorkloads(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.grant("ClusterRole", workloadsReader)
	var all []v1alpha1.Workload
	for i := range 20 {
		d := aDeployment(fmt.Sprintf("large-%02d", i), commit(1))
		w.create(d)
		w.rollsOut(d)
		w.must(w.Client.Get(context.Background(), client.ObjectKeyFromObject(d), d))
		d.Status.Conditions = append(d.Status.Conditions, appsv1.DeploymentCondition{Type: "Verbose", Status: "True", Message: strings.Repeat("x", 500<<10)})
		w.must(w.Client.Status().Update(context.Background(), d))
		all = append(all, v1alpha1.Workload{Name: d.Name, Repository: "acme/large"})
	}
	small := aDeployment("small", commit(2))
	w.create(small)
	w.rollsOut(small)
	staging, nightly := anEnvironment("staging"), anEnvironment("nightly")
	w.names(staging, all...)
	w.ready(staging, "False", workloadsUnknown, "KiB of the manager's memory, and the workloads that Environments of the namespace "+w.ns+" name may take 8192 together. Name fewer")
	w.create(nightly)
	w.names(nightly, v1alpha1.Workload{Name: "small", Repository: "acme/shop"})
	w.has(nightly, commit(2)+" true")
	w.names(staging, all[17:]...) // which had no room
	w.ready(staging, "True", workloadsRead, "")
	w.has(staging, commit(1)+" true")
}
