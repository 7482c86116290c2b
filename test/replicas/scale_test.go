package replicas

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/fakecluster"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
)

// scale is how much one leader has, and how much is done meanwhile.
type scale struct {
	teams, suites, pages int
	rate                 int // notifications a second, of one team after the other
	duration, interval   time.Duration
}

// TestScale asks what one leader bears: many Teams, many runs that have ended, open live pages, and a steady load. Each line SCALE is of an
// interval. Nothing may be refused or lost in the short form; `make scale` is to find out where that ends.
func TestScale(t *testing.T) {
	tier.All(t, "it is a load")
	x := newScale(t)
	s := apiserver.Alone(t)
	w := &scaleWorld{scale: x, t: t, s: s, f: &fakecluster.Cluster{Tests: soakTests, Pods: true}}
	w.fill()
	w.f.Start(t, s)
	systemNamespace(t, s)
	kubeconfig := kubeconfigOf(t, s.Manager(t))
	began := time.Now()
	w.r = startReplica(t, kubeconfig)
	w.r.AwaitReady()
	ready := time.Since(began)
	w.r.AwaitLog("Successfully acquired lease")
	w.all[len(w.all)-1].awaitKnown([]*replica{w.r})
	fmt.Printf("SCALE_START teams=%d suites=%d ready_seconds=%.1f rss_mib=%d etcd_objects=%d\n", x.teams, x.suites, ready.Seconds(), w.r.RSSMiB(), s.Objects(t))
	w.settle()
	w.watch()
	open := int(w.open.Load())
	refused, late := w.load()
	w.stopWatching()
	if os.Getenv("POSTFLIGHT_SCALE_TEAMS") != "" {
		return // it is to find out what is refused
	}
	if refused > 0 || open < x.pages {
		t.Errorf("%d notifications were refused, and %d of %d live pages were open", refused, open, x.pages)
	}
	poll.True(t, "all runs have a Job", func() bool {
		_, late = toJobs(w.f, late)
		return len(late) == 0
	})
}

// newScale is the short form unless variables set more.
func newScale(t *testing.T) scale {
	t.Helper()
	number := func(name string, short int) int {
		n, err := strconv.Atoi(cmp.Or(os.Getenv("POSTFLIGHT_SCALE_"+name), strconv.Itoa(short)))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	x := scale{teams: number("TEAMS", 20), suites: number("SUITES", 100), pages: number("PAGES", 10), rate: number("RATE", 10), interval: 5 * time.Second}
	var err error
	if x.duration, err = time.ParseDuration(cmp.Or(os.Getenv("POSTFLIGHT_SCALE_DURATION"), "5s")); err != nil {
		t.Fatal(err)
	}
	if x.duration > time.Minute {
		x.interval = 30 * time.Second
	}
	return x
}

type scaleWorld struct {
	scale
	t   *testing.T
	s   *apiserver.Server
	f   *fakecluster.Cluster
	r   *replica
	all []*team

	open, events atomic.Int64 // live pages, and what they got
	unwatch      context.CancelFunc
	watching     sync.WaitGroup
}

// fill makes Teams with a key, an Environment and a Trigger, and runs that have passed.
func (w *scaleWorld) fill() {
	w.t.Helper()
	w.all = make([]*team, w.teams)
	triggers := make([]*v1alpha1.Trigger, w.teams)
	inParallel(benchCrowd, w.teams, func(i int) {
		w.all[i] = teamForGood(w.t, w.s)
		triggers[i] = w.all[i].trigger("smoke")
		w.all[i].get(triggers[i])
	})
	inParallel(benchCrowd, w.suites, func(i int) {
		run := rawSuite(triggers[i%w.teams], fmt.Sprintf("%040x", i))
		ctx := context.Background()
		err := w.s.Client.Create(ctx, run)
		end, now := v1alpha1.Passed("The tests passed in 12s."), metav1.Now()
		end.LastTransitionTime = now
		run.Status.Conditions, run.Status.CompletionTime = []metav1.Condition{end}, &now
		run.Status.ObservedGeneration = run.Generation // otherwise the leader writes it, for all of them
		if err = errors.Join(err, w.s.Client.Status().Update(ctx, run)); err != nil {
			w.t.Error(err)
		}
	})
	if w.t.Failed() {
		w.t.FailNow()
	}
}

// settle waits until the leader has written what all objects lack: nothing had a status before it.
func (w *scaleWorld) settle() {
	w.t.Helper()
	const step = 5 * time.Second
	began, before := time.Now(), w.r.CPU()
	for last := before; ; {
		time.Sleep(step)
		now := w.r.CPU()
		if idle := now-last < step/10; idle || time.Since(began) > 20*time.Minute {
			fmt.Printf("SCALE_SETTLED seconds=%.0f manager_cpu_seconds=%.0f idle=%v rss_mib=%d\n",
				time.Since(began).Seconds(), (now - before).Seconds(), idle, w.r.RSSMiB())
			return
		}
		last = now
	}
}

// watch opens live pages, each of another team if there are so many.
func (w *scaleWorld) watch() {
	w.t.Helper()
	var ctx context.Context
	ctx, w.unwatch = context.WithCancel(context.Background())
	for i := range w.pages {
		w.watching.Go(func() { w.page(ctx, w.all[i%w.teams]) })
	}
	deadline := time.Now().Add(time.Minute)
	for int(w.open.Load()) < w.pages && time.Now().Before(deadline) {
		time.Sleep(100 * time.Millisecond)
	}
	fmt.Printf("SCALE_PAGES asked=%d open=%d rss_mib=%d\n", w.pages, w.open.Load(), w.r.RSSMiB())
}

func (w *scaleWorld) stopWatching() {
	w.unwatch()
	w.watching.Wait()
}

func (w *scaleWorld) page(ctx context.Context, tm *team) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		w.t.Error(err)
		return
	}
	browser := &http.Client{Jar: jar, Transport: client.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	signedIn, err := browser.PostForm(w.r.URL+"/sign-in", url.Values{"key": {tm.key}})
	if err != nil {
		return
	}
	signedIn.Body.Close()
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, w.r.URL+"/runs/"+tm.namespace, http.NoBody)
	if err != nil {
		w.t.Error(err)
		return
	}
	ask.Header.Set("Accept", "text/event-stream")
	resp, err := browser.Do(ask)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return
	}
	w.open.Add(1)
	defer w.open.Add(-1)
	for part := make([]byte, 32<<10); ; w.events.Add(1) {
		if _, err := resp.Body.Read(part); err != nil {
			if !errors.Is(err, io.EOF) && ctx.Err() == nil {
				w.t.Logf("a live page of %s ended: %v", tm.namespace, err)
			}
			return
		}
	}
}

// load notifies, and prints what each interval came to. Late runs have no Job in the end.
func (w *scaleWorld) load() (refused int, late []sentNotification) {
	w.t.Helper()
	next := time.NewTicker(time.Second / time.Duration(w.rate))
	defer next.Stop()
	var all sync.WaitGroup
	part, manager := &scalePart{}, w.r.CPU()
	apiServer, etcd := w.s.CPU(w.t)
	began, n := time.Now(), 0
	for since := began; time.Since(began) < w.duration; {
		<-next.C
		tm, sha, to := w.all[n%w.teams], fmt.Sprintf("scale-%d", n), part
		n++
		all.Go(func() { to.notify(w.r.URL, tm, sha) })
		if time.Since(since) < w.interval && time.Since(began) < w.duration {
			continue
		}
		all.Wait()
		took := time.Since(since).Seconds()
		nowManager := w.r.CPU()
		nowServer, nowEtcd := w.s.CPU(w.t)
		refused += part.refused
		var times []float64
		times, late = toJobs(w.f, append(late, part.runs...))
		fmt.Printf("SCALE seconds=%.0f notified=%d refused=%d p50_ms=%.1f p99_ms=%.1f to_job_p50_ms=%.0f to_job_p99_ms=%.0f without_job=%d open_pages=%d page_updates=%d "+
			"rss_mib=%d goroutines=%d manager_cpus=%.2f api_server_cpus=%.2f etcd_cpus=%.2f\n",
			time.Since(began).Seconds(), len(part.answers), part.refused, quantile(part.answers, .5), quantile(part.answers, .99),
			quantile(times, .5), quantile(times, .99), len(late), w.open.Load(), w.events.Swap(0),
			w.r.RSSMiB(), w.r.metric("go_goroutines"), (nowManager-manager).Seconds()/took, (nowServer-apiServer).Seconds()/took, (nowEtcd-etcd).Seconds()/took)
		if part.problem != "" {
			fmt.Println("  such as:", part.problem)
		}
		part, since, manager, apiServer, etcd = &scalePart{}, time.Now(), nowManager, nowServer, nowEtcd
	}
	return refused, late
}

// scalePart is what the clients of an interval saw.
type scalePart struct {
	mu      sync.Mutex
	answers []float64 // milliseconds
	runs    []sentNotification
	refused int
	problem string // the last one
}

func (p *scalePart) notify(to string, tm *team, sha string) {
	at := time.Now()
	a, err := notify(context.Background(), to, tm.key, alone(sha))
	err = created(a, err)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers = append(p.answers, time.Since(at).Seconds()*1000)
	if err != nil {
		p.refused++
		p.problem = err.Error()
		return
	}
	p.runs = append(p.runs, sentNotification{tm.namespace, a.Results[0].Created, at, a.Took})
}
