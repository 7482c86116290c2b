package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/tier"
)

// tooMuch uses 256 MiB, and succeeds if no limit stops it.
const tooMuch = `awk 'BEGIN {s = "x"; while (length(s) < 268435456) s = s s; print length(s)}'`

// TestEndings ends runs in every way that pods can end, at the same time, and reads the messages of the Suites: each
// says what happened, and no two are the same.
func TestEndings(t *testing.T) {
	t.Parallel()
	c := useCluster(t)
	tm := newTeam(t, c)
	endings := map[string]struct {
		settings []setting
		state    string
		says     []string
	}{
		"passes":   {[]setting{runs("echo fine")}, v1alpha1.ReasonPassed, []string{"The tests passed"}},
		"exits":    {[]setting{runs("exit 42")}, v1alpha1.ReasonFailed, []string{"exited with code 42"}},
		"explains": {[]setting{runs("echo 3 of 40 tests failed >/dev/termination-log; exit 3")}, v1alpha1.ReasonFailed, []string{"code 3", "3 of 40 tests failed"}},
		"memory":   {[]setting{runs(tooMuch), memory("24Mi")}, v1alpha1.ReasonFailed, []string{"needed more memory than its limit of 24Mi"}},
		"deadline": {[]setting{runs("sleep 600"), timeout(8 * time.Second)}, v1alpha1.ReasonTimedOut, []string{"took longer than its timeout of 8s"}},
		"command":  {[]setting{runs("no-such-program")}, v1alpha1.ReasonFailed, []string{"code 127", "not found"}},
	}
	if tier.Gate() {
		delete(endings, "memory") // containerd may tell of it too late
	}
	for name, e := range endings {
		tm.trigger(name, e.settings...)
	}
	m := tm.sharedManager()

	said := map[string]string{}
	for _, r := range tm.notify(m, notification{"branch": "main", "sha": sha()}) {
		e, s := endings[r.Trigger], tm.awaitEnd(r.Created)
		delete(endings, r.Trigger)
		if r.Trigger == "memory" {
			if s = tm.repeatUnclear(m, s); s.State() == v1alpha1.ReasonPassed {
				skipMemory(t)
				continue
			}
		}
		story(t, "%-9s %-9s %s", r.Trigger, s.State(), message(s))
		if s.State() != e.state {
			t.Errorf("%s ended %s, want %s: %s", r.Trigger, s.State(), e.state, message(s))
		}
		for _, want := range e.says {
			if !strings.Contains(message(s), want) {
				t.Errorf("%s says %q, want %q in it", r.Trigger, message(s), want)
			}
		}
		if other, taken := said[message(s)]; taken {
			t.Errorf("%s and %s say the same: %s", r.Trigger, other, message(s))
		}
		said[message(s)] = r.Trigger
		if s.Status.CompletionTime == nil || s.Status.StartTime == nil {
			t.Errorf("%s has startTime %v and completionTime %v", r.Trigger, s.Status.StartTime, s.Status.CompletionTime)
		}
	}
	if len(endings) > 0 {
		t.Errorf("these Triggers did not run: %v", slices.Sorted(maps.Keys(endings)))
	}
}

// repeatUnclear repeats a run whose end containerd reported before it heard that the kernel killed it for its memory.
func (tm *team) repeatUnclear(m *manager, s *v1alpha1.Suite) *v1alpha1.Suite {
	tm.t.Helper()
	for retry := 0; strings.Contains(message(s), "137 (SIGKILL)") && retry < 3; retry++ {
		again := tm.notify(m, notification{"branch": fmt.Sprintf("retry-%d", retry), "sha": sha()})
		i := slices.IndexFunc(again, func(r result) bool { return r.Trigger == s.Spec.Trigger.Name })
		s = tm.awaitEnd(again[i].Created)
	}
	return s
}

func skipMemory(t *testing.T) {
	t.Helper()
	if inCI() {
		t.Error("this machine's cgroups do not keep a container to its memory limit, and CI has to see an OOM kill")
		return
	}
	t.Run("memory", func(t *testing.T) {
		skipLoudly(t, "this machine's cgroups do not keep a container to its memory limit")
	})
}

// TestPodCannotStart waits for pods that cannot start, for the reasons people meet: each run is Starting and
// says why. It ends by its startTimeout, and within about a minute where nothing would change.
func TestPodCannotStart(t *testing.T) {
	tier.All(t, "it waits a minute for pods that cannot start")
	c := useCluster(t)
	tm := newTeam(t, c)
	// A registry that refuses connections: the node really tries, and nothing leaves the machine.
	const missing = "127.0.0.1:1/shop/tests:v9"
	const limit = 20 * time.Second
	tm.quota("goats", "example.com/goat", "1")
	causes := map[string]struct {
		cause    setting
		hopeless bool
		says     []string
	}{
		"image":   {image(missing, corev1.PullIfNotPresent), false, []string{"cannot be pulled", missing}},
		"volume":  {secretVolume("shop"), false, []string{`secret "shop" not found`}},
		"quota":   {limitsResource("example.com/goat", "2"), false, []string{"exceeded quota: goats"}},
		"room":    {cpu("1000"), false, []string{"no node can take it", "Insufficient cpu"}},
		"account": {serviceAccount("nobody"), true, []string{`serviceaccount "nobody" not found`}},
		"name":    {image("Not An Image", corev1.PullIfNotPresent), true, []string{"Not An Image", "cannot be pulled"}},
		"key":     {configMapKey("shop", "flags"), true, []string{`configmap "shop" not found`, "Create what is missing"}},
	}
	for name, tc := range causes {
		settings := []setting{tc.cause}
		if !tc.hopeless {
			settings = append(settings, startTimeout(limit))
		}
		tm.trigger(name, settings...)
	}
	m := runManager(t, c, options{})

	saysWhy := func(cause string, s *v1alpha1.Suite) bool {
		return !slices.ContainsFunc(causes[cause].says, func(part string) bool { return !strings.Contains(message(s), part) })
	}
	sent := time.Now()
	runs := tm.notify(m, notification{"branch": "main"})
	for _, r := range runs {
		s := tm.await(r.Created, "explaining why its pod cannot start", func(s *v1alpha1.Suite) bool {
			return s.State() == v1alpha1.ReasonStarting && saysWhy(r.Trigger, s)
		})
		story(t, "after %s %s says: %s", time.Since(sent).Round(100*time.Millisecond), r.Trigger, message(s))
	}
	for _, r := range runs {
		s := tm.awaitState(r.Created, v1alpha1.ReasonError)
		took := s.Status.CompletionTime.Sub(s.CreationTimestamp.Time)
		story(t, "%s ended after %s: %s", r.Trigger, took, message(s))
		hopeless := causes[r.Trigger].hopeless
		if !saysWhy(r.Trigger, s) || strings.Contains(message(s), "did not start within "+limit.String()) == hopeless {
			t.Errorf("message %q does not name %q, and the startTimeout if that ended the run", message(s), causes[r.Trigger].says)
		}
		if earliest := map[bool]time.Duration{false: limit, true: time.Minute}[hopeless] - time.Second; took < earliest {
			t.Errorf("%s ended after %s, want %s at least", r.Trigger, took, earliest)
		}
	}
}

// TestCancel stops a run with kubectl, as a person would.
func TestCancel(t *testing.T) {
	t.Parallel()
	c := useCluster(t)
	tm := newTeam(t, c)
	tm.trigger("slow", runs("sleep 600"))
	m := tm.sharedManager()

	id := tm.run(m, notification{"branch": "main"})
	tm.awaitPod(id)
	out, err := c.kubectl("patch", "suite", "-n", tm.name, id, "--type=merge", "-p", `{"spec":{"cancel":true}}`)
	if err != nil {
		t.Fatal(err)
	}
	story(t, "$ kubectl patch suite %s --type=merge -p '{\"spec\":{\"cancel\":true}}'\n%s", id, out)
	s := tm.awaitState(id, v1alpha1.ReasonCanceled)
	story(t, "%s", message(s))
	if pods := tm.pods(id); len(pods) != 1 || pods[0].Status.Phase != corev1.PodFailed {
		t.Errorf("the canceled run has pods %v, want one that has failed, for its log", pods)
	}
	if out, err := c.kubectl("patch", "suite", "-n", tm.name, id, "--type=merge", "-p", `{"spec":{"cancel":false}}`); err == nil {
		t.Logf("cancel was taken back, which changes nothing: %s", out)
		if s := tm.suite(id); s.State() != v1alpha1.ReasonCanceled {
			t.Errorf("the run is %s again", s.State())
		}
	}
}

// TestJobDeleted deletes the Job of a run: the run ends, and its message says why.
func TestJobDeleted(t *testing.T) {
	tier.All(t, "TestCancel stops a pod, and what a deleted Job means is decided in internal/core/run/lifecycle")
	t.Parallel()
	c := useCluster(t)
	tm := newTeam(t, c)
	tm.trigger("slow", runs("sleep 600"))
	m := tm.sharedManager()

	for _, cascade := range []string{"background", "foreground"} {
		id := tm.run(m, notification{"branch": cascade})
		tm.awaitPod(id)
		if out, err := c.kubectl("delete", "job", "-n", tm.name, id, "--cascade="+cascade); err != nil {
			t.Fatal(err)
		} else {
			story(t, "$ kubectl delete job %s --cascade=%s\n%s", id, cascade, out)
		}
		s := tm.awaitState(id, v1alpha1.ReasonError)
		story(t, "%s", message(s))
		if !strings.Contains(message(s), "deleted") {
			t.Errorf("message %q does not say that the Job was deleted", message(s))
		}
		if len(tm.history(id).jobs) != 1 {
			t.Errorf("the run had %d Jobs, want 1", len(tm.history(id).jobs))
		}
	}
}

// TestTeamsApart: two teams use one manager with the same names, and neither affects the other.
func TestTeamsApart(t *testing.T) {
	t.Parallel()
	c := useCluster(t)
	teams := []*team{newTeam(t, c), newTeam(t, c)}
	for i, tm := range teams {
		tm.trigger("smoke", runs([]string{"true", "exit 9"}[i]))
	}
	commit := sha()
	var ids []string
	for _, tm := range teams {
		ids = append(ids, tm.run(tm.sharedManager(), notification{"branch": "main", "sha": commit}))
	}
	for i, want := range []string{v1alpha1.ReasonPassed, v1alpha1.ReasonFailed} {
		teams[i].awaitState(ids[i], want)
		names := []string{}
		for _, s := range teams[i].suites() {
			names = append(names, s.Name)
		}
		if !slices.Equal(names, []string{ids[i]}) {
			t.Errorf("team %d has Suites %v, want only %s", i, names, ids[i])
		}
	}
}
