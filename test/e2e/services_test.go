package e2e

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
)

// asAPod looks at the cluster's network as any pod sees it. Each line that fails ends it.
const asAPod = `set -e
grep -q "^nameserver 10\." /etc/resolv.conf
test "$(wget -qO- http://web/hostname)" = web
test "$(wget -qO- http://web.$NAMESPACE.svc.cluster.local/hostname)" = web
nslookup kubernetes.default.svc.cluster.local
nc -w 5 kubernetes.default.svc 443 </dev/null
if wget -qO- -T 5 http://nothing-here.example; then exit 1; fi
echo all seen`

// TestServices: pods and this machine reach a Service, pods by its name too. Other clusters of this machine have their
// own, at the same time.
func TestServices(t *testing.T) {
	tier.All(t, "the cluster of the gate has no DNS, which takes long to build")
	t.Parallel()
	c := useCluster(t)
	tm := newTeam(t, c)
	tm.create(tm.pod("web", "mkdir /tmp/www && hostname >/tmp/www/hostname && exec httpd -f -p 8080 -h /tmp/www"))
	service := &corev1.Service{ObjectMeta: tm.meta("web"), Spec: corev1.ServiceSpec{
		Selector: map[string]string{"app": "web"},
		Ports:    []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}},
	}}
	tm.create(service)
	tm.awaitPage("http://"+service.Spec.ClusterIP+"/hostname", "web")

	tm.create(tm.pod("client", asAPod))
	pod := &corev1.Pod{}
	poll.True(t, "the pod has ended", func() bool {
		err := tm.Get(t.Context(), client.ObjectKey{Namespace: tm.name, Name: "client"}, pod)
		return err == nil && (pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed)
	})
	if pod.Status.Phase == corev1.PodFailed {
		log, _ := tm.kubectl("logs", "-n", tm.name, "client")
		t.Errorf("the pod failed:\n%s", log)
	}
}

// pod is one that runs a script once.
func (tm *team) pod(name, script string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: tm.meta(name), Spec: corev1.PodSpec{
		RestartPolicy:                 corev1.RestartPolicyNever,
		TerminationGracePeriodSeconds: new(int64(0)),
		Containers: []corev1.Container{{
			Name:            "shell",
			Image:           testImage,
			ImagePullPolicy: corev1.PullNever,
			Command:         []string{"/bin/sh", "-c", script},
			Env: []corev1.EnvVar{{Name: "NAMESPACE", ValueFrom: &corev1.EnvVarSource{
				FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"}}}},
		}},
	}}
	pod.Labels = map[string]string{"app": name}
	return pod
}

// awaitPage waits until a page has this text.
func (tm *team) awaitPage(url, want string) {
	tm.t.Helper()
	browser := &http.Client{Transport: &http.Transport{}, Timeout: 5 * time.Second}
	poll.Until(tm.t, url+" shows "+want, func() string {
		resp, err := browser.Get(url)
		if err != nil {
			return err.Error()
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if strings.TrimSpace(string(body)) != want {
			return fmt.Sprintf("%s: %q, %v", resp.Status, body, err)
		}
		return ""
	})
}
