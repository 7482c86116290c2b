package hub

import (
	"fmt"
	"net/http"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/fakecluster"
	"github.com/postflight-dev/postflight/test/history"
	"github.com/postflight-dev/postflight/test/poll"
)

// printsLine is a kubelet, whose containers have written one line.
func printsLine(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "a line of a log") }

// begins acts in the cluster as the Job controller and a kubelet do when the pod of a run starts.
func (tm *team) begins(run, node string) {
	tm.t.Helper()
	j := &batchv1.Job{ObjectMeta: tm.meta(run)}
	poll.Until(tm.t, "the run has a Job", func() string {
		if err := tm.cluster.Client.Get(tm.t.Context(), client.ObjectKeyFromObject(j), j); err != nil {
			return err.Error()
		}
		return ""
	})
	p := fakecluster.NewPod(j, node)
	tm.cluster.create(tm.t, p)
	tm.updateStatus(p, func() { fakecluster.RunPod(p, time.Now()) })
	tm.updateStatus(j, func() { fakecluster.StartJob(j); fakecluster.ReadyJob(j) })
	tm.awaitState(run, v1alpha1.ReasonRunning)
}

// ends acts as they do when it ends.
func (tm *team) ends(run string, end history.Tests) {
	tm.t.Helper()
	j, p := &batchv1.Job{ObjectMeta: tm.meta(run)}, fakecluster.NewPod(&batchv1.Job{ObjectMeta: tm.meta(run)}, "")
	for _, o := range []client.Object{j, p} {
		if err := tm.cluster.Client.Get(tm.t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			tm.t.Fatal(err)
		}
	}
	state, exit, finish := v1alpha1.ReasonPassed, int32(0), fakecluster.CompleteJob
	if end != history.Passed {
		state, exit = v1alpha1.ReasonFailed, 1
		finish = func(j *batchv1.Job) { fakecluster.FailJob(j, batchv1.JobReasonBackoffLimitExceeded) }
	}
	tm.updateStatus(p, func() { fakecluster.EndPod(p, exit); fakecluster.Collect(p, end) })
	tm.updateStatus(j, func() { finish(j) })
	tm.awaitState(run, state)
}

func (tm *team) updateStatus(o client.Object, change func()) {
	tm.t.Helper()
	was := o.DeepCopyObject().(client.Object)
	change()
	if err := tm.cluster.Client.Status().Patch(tm.t.Context(), o, client.MergeFrom(was)); err != nil {
		tm.t.Fatal(err)
	}
}

func (tm *team) awaitState(run, state string) {
	tm.t.Helper()
	s := &v1alpha1.Suite{}
	poll.Until(tm.t, run+" is "+state, func() string {
		if err := tm.cluster.Client.Get(tm.t.Context(), client.ObjectKey{Namespace: tm.name, Name: run}, s); err != nil {
			return err.Error()
		}
		if s.State() != state {
			return fmt.Sprintf("%+v", s.Status)
		}
		return ""
	})
}
