package e2e

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/go-logr/logr"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
)

// portBase is where the cluster's ports are looked for, away from those of `make dev`.
const portBase = "9100"

// cluster is the development cluster that the tests share, with a node but without a manager: the
// tests start and kill managers themselves.
type cluster struct {
	client.Client
	config   *rest.Config
	http     *http.Client // with the rights of config
	dir      string
	env      map[string]string // for its users
	manager  map[string]string // for its managers
	recorder *recorder
}

// shared is what the tests have in common.
var shared struct {
	sync.Once
	cluster *cluster
	lock    *os.File
	stop    context.CancelFunc
	err     error

	start   sync.Once // of the manager
	manager *manager  // nil: it did not start
	cleanup []func()  // once all tests have ended
}

// useCluster starts the cluster at the first call, or takes over the one that runs.
func useCluster(t testing.TB) *cluster {
	t.Helper()
	skipWithoutPods(t)
	shared.Do(func() { shared.cluster, shared.err = startCluster() })
	if shared.err != nil {
		t.Fatalf("no cluster to test on: %v", shared.err)
	}
	return shared.cluster
}

func clusterDir() string {
	return cmp.Or(os.Getenv(envDir), filepath.Join(root(), ".test", "e2e"))
}

func startCluster() (*cluster, error) {
	ctrl.SetLogger(logr.Discard())
	c := &cluster{dir: clusterDir()}
	if err := lockCluster(c.dir); err != nil {
		return nil, err
	}
	if err := os.RemoveAll(c.dir + ".figures"); err != nil {
		return nil, err
	}
	if err := makeMissing("bin/dev", "bin/manager", "bin/collect"); err != nil {
		return nil, err
	}
	if err := c.up(); err != nil {
		return nil, err
	}
	return c, errors.Join(c.sweep(), c.awaitPolicies(), c.record())
}

// up starts the cluster, or brings it up to date, and connects to it.
func (c *cluster) up() error {
	fmt.Fprintf(os.Stderr, "e2e: starting the cluster of %s\n", c.dir)
	args := []string{"up", "--no-manager", "--dir", c.dir, "--port-base", portBase}
	if tier.Gate() {
		args = append(args, "--no-dns") // whose build takes longer than all of these tests
	}
	up := exec.Command(filepath.Join(root(), "bin", "dev"), args...)
	up.Dir = root()
	if out, err := up.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", up, err, out)
	}
	return c.connect()
}

// awaitPolicies waits until the API server knows the kinds that policies look for. It looks for new ones every half minute, and
// refuses all Jobs of runs until then, which a run with a timeout of seconds does not survive.
func (c *cluster) awaitPolicies() error {
	j := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "policies", Labels: map[string]string{v1alpha1.LabelSuite: "policies"}},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "test", Image: testImage}},
		}}},
	}
	byTrigger, byEnvironment := j.DeepCopy(), j.DeepCopy()
	byTrigger.Labels[v1alpha1.LabelAllowedBy], byEnvironment.Labels[v1alpha1.LabelAllowedBy] = "trigger", "environment"
	return poll.Wait(poll.Limit, "the policies work", func() string {
		for _, one := range []*batchv1.Job{j, byTrigger, byEnvironment} {
			err := c.Create(context.Background(), one.DeepCopy(), client.DryRunAll)
			if err == nil || !strings.Contains(err.Error(), "no params found") { // there is nothing that allows it: the policy works
				return fmt.Sprint(err)
			}
		}
		return ""
	})
}

func (c *cluster) down() error {
	down := exec.Command(filepath.Join(root(), "bin", "dev"), "down", "--dir", c.dir)
	down.Dir = root()
	if out, err := down.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// lockCluster keeps two runs of these tests from killing each other's managers.
func lockCluster(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(dir+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	shared.lock = file // kept open, and so locked, until the process ends
	for {
		if err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// makeMissing builds binaries for a `go test` that runs without `make test`.
func makeMissing(binaries ...string) error {
	for _, binary := range binaries {
		if _, err := os.Stat(filepath.Join(root(), binary)); err == nil {
			continue
		}
		target := "manager"
		if binary == "bin/dev" || binary == "bin/helm" {
			target = binary
		}
		build := exec.Command("make", "-C", root(), target)
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("make %s: %w\n%s", target, err, out)
		}
	}
	return nil
}

func (c *cluster) connect() (err error) {
	if c.env, err = readEnv(filepath.Join(c.dir, "env")); err != nil {
		return err
	}
	if c.manager, err = readEnv(filepath.Join(c.dir, "manager.env")); err != nil {
		return err
	}
	if c.config, err = clientcmd.BuildConfigFromFlags("", c.env["KUBECONFIG"]); err != nil {
		return err
	}
	c.config.QPS = -1
	if c.http, err = rest.HTTPClientFor(c.config); err != nil {
		return err
	}
	if err := c.useStore(); err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return err
	}
	c.Client, err = client.New(c.config, client.Options{Scheme: scheme})
	return err
}

// useStore gives the tests the credentials of the managers.
func (c *cluster) useStore() error {
	for name, value := range c.manager {
		if strings.HasPrefix(name, "AWS_") {
			if err := os.Setenv(name, value); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *cluster) record() error {
	informers, err := cache.New(c.config, cache.Options{Scheme: c.Scheme()})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	shared.stop = stop
	c.recorder, err = startRecorder(ctx, informers)
	return err
}

// sweep removes the teams of tests that were killed, whose runs would go on beside those of today.
func (c *cluster) sweep() error {
	teams := &v1alpha1.TeamList{}
	if err := c.List(context.Background(), teams); err != nil {
		return err
	}
	for i := range teams.Items {
		if name := teams.Items[i].Name; strings.HasPrefix(name, teamPrefix) {
			c.removeTeam(name)
		}
	}
	return nil
}

func stopCluster() error {
	if shared.cluster == nil {
		return nil
	}
	for _, f := range slices.Backward(shared.cleanup) {
		f()
	}
	if shared.stop != nil {
		shared.stop()
	}
	if os.Getenv(envKeep) == "1" {
		fmt.Fprintf(os.Stderr, "e2e: the cluster of %s is left running\n", shared.cluster.dir)
		return nil
	}
	return shared.cluster.down()
}

// readEnv reads a file of `export NAME='value'` lines, as the development cluster writes it.
func readEnv(path string) (map[string]string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	env := map[string]string{}
	for line := range strings.Lines(string(content)) {
		name, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
		if ok && !strings.HasPrefix(line, "#") {
			env[name] = strings.ReplaceAll(strings.Trim(value, "'"), `'\''`, "'")
		}
	}
	return env, nil
}

// kubectl runs kubectl as the administrator.
func (c *cluster) kubectl(args ...string) (string, error) {
	cmd := exec.Command(c.env["POSTFLIGHT_KUBECTL"], args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.env["KUBECONFIG"])
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out)), nil
}
