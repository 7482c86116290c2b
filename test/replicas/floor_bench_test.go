package replicas

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	k8sclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
)

// BenchmarkFloor measures what NOTIFICATION_BURST and ANSWER would be if the manager did nothing but what its libraries need: a program with
// controller-runtime makes a Suite of a request, and a Job of a Suite. It does not authenticate, match, queue or write a status.
func BenchmarkFloor(b *testing.B) {
	w := burstWorldOfOne(b)
	for b.Loop() {
		raw, burst := w.inTurns(w.atFloor)
		fmt.Printf("FLOOR notifications=%d turns=%d seconds=%.2f raw_seconds=%.2f ratio=%.2f "+
			"cpu_ms_per_run=%.2f api_server_cpu_ms_per_run=%.2f raw_api_server_cpu_ms_per_run=%.2f\n",
			burstSize, burstTurns, burst.total.Seconds(), raw.total.Seconds(), raw.total.Seconds()/burst.total.Seconds(),
			perRun(burst.manager), perRun(burst.apiServer), perRun(raw.apiServer))
		w.answersAtFloor()
	}
}

// atFloor starts the program for the burst, as notified starts a manager.
func (w *burstWorld) atFloor(prefix string) spent {
	w.b.Helper()
	p := w.startFloor(floorConfig{Jobs: true})
	defer p.stop()
	defer w.clear(w.tm)
	return w.measure(p.cmd.Process.Pid, func() time.Duration {
		began := time.Now()
		inParallel(benchCrowd, burstSize, func(i int) {
			if err := p.notify(benchBodyOf(fmt.Sprintf("%s-%d", prefix, i))); err != nil {
				w.b.Error(err)
			}
		})
		return time.Since(began)
	})
}

// answersAtFloor makes no Jobs, as BenchmarkAnswer makes none.
func (w *burstWorld) answersAtFloor() {
	w.b.Helper()
	p := w.startFloor(floorConfig{})
	defer p.stop()
	defer w.clear(w.tm)
	trigger := w.tm.trigger("smoke")
	w.tm.get(trigger)
	var creates, answers sample
	for turn := range benchTurns {
		creates.measure(w.b, fmt.Sprintf("raw-answer-%d", turn), func(sha string) error { return w.c.Create(w.b.Context(), rawSuite(trigger, sha)) })
		answers.measure(w.b, fmt.Sprintf("floor-answer-%d", turn), func(sha string) error { return p.notify(benchBody(sha)) })
	}
	fmt.Printf("FLOOR_ANSWER per_second=%.0f raw_per_second=%.0f ratio=%.2f p99_ratio=%.2f\n", answers.rate(), creates.rate(),
		answers.rate()/creates.rate(), answers.percentile(.99)/creates.percentile(.99))
}

// floorVariable has a floorConfig for the process that is to be the program.
const floorVariable = "POSTFLIGHT_TEST_FLOOR"

type floorConfig struct {
	Kubeconfig  string
	Trigger     *v1alpha1.Trigger
	Environment *v1alpha1.Environment
	Jobs        bool // make them, too
}

type floorProcess struct {
	cmd *exec.Cmd
	url string
}

// startFloor starts this test binary once more.
func (w *burstWorld) startFloor(c floorConfig) *floorProcess {
	w.b.Helper()
	c.Kubeconfig, c.Trigger, c.Environment = w.kubeconfig, w.tm.trigger("smoke"), w.tm.environment()
	w.tm.get(c.Trigger)
	encoded, err := json.Marshal(c)
	if err != nil {
		w.b.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), floorVariable+"="+string(encoded)), os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.b.Fatal(err)
	}
	p := &floorProcess{cmd: cmd}
	if _, err := fmt.Fscanln(out, &p.url); err != nil {
		p.stop()
		w.b.Fatalf("the program did not say where it listens: %v", err)
	}
	return p
}

func (p *floorProcess) stop() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

func (p *floorProcess) notify(body string) error {
	resp, err := client.Post(p.url, "application/json", strings.NewReader(body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var answer struct{ Created string }
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || answer.Created == "" {
		return fmt.Errorf("no run was created: %s", resp.Status)
	}
	return nil
}

// runFloor is the program.
func runFloor(encoded string) error {
	var c floorConfig
	if err := json.Unmarshal([]byte(encoded), &c); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1
	scheme := clientgoscheme.Scheme
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		return err
	}
	ctx := context.Background()
	for _, kind := range []k8sclient.Object{&v1alpha1.Suite{}, &batchv1.Job{}} { // the manager watches both
		if _, err := mgr.GetCache().GetInformer(ctx, kind); err != nil {
			return err
		}
	}
	if c.Jobs {
		if err := c.makeJobs(mgr); err != nil {
			return err
		}
	}
	go c.listen(ctx, mgr)
	return mgr.Start(ctx)
}

func (c floorConfig) makeJobs(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).For(&v1alpha1.Suite{}).WithOptions(controller.Options{MaxConcurrentReconciles: benchCrowd}).
		Complete(reconcile.Func(func(ctx context.Context, r ctrl.Request) (ctrl.Result, error) {
			s := &v1alpha1.Suite{}
			if err := mgr.GetClient().Get(ctx, r.NamespacedName, s, k8sclient.UnsafeDisableDeepCopy); err != nil || s.DeletionTimestamp != nil {
				return ctrl.Result{}, k8sclient.IgnoreNotFound(err)
			}
			return ctrl.Result{}, k8sclient.IgnoreAlreadyExists(mgr.GetClient().Create(ctx, job.Build(s, c.Trigger, c.Environment)))
		}))
}

// listen prints where, once the caches are full.
func (c floorConfig) listen(ctx context.Context, mgr ctrl.Manager) {
	mgr.GetCache().WaitForCacheSync(ctx)
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("http://" + l.Addr().String())
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var n struct{ SHA string }
		err := json.NewDecoder(r.Body).Decode(&n)
		run := rawSuite(c.Trigger, n.SHA)
		if err == nil {
			err = mgr.GetClient().Create(r.Context(), run)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"created": run.Name})
	})}
	fmt.Fprintln(os.Stderr, server.Serve(l))
	os.Exit(1)
}
