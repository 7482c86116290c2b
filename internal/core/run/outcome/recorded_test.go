package outcome

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// TestRecorded reads Jobs and pods as Kubernetes 1.36 with containerd wrote them; the file names say what happened.
// So the other tables do not depend on our assumptions only. The pods are named p.
func TestRecorded(t *testing.T) {
	const gone = "Error: The pod was deleted before its end was seen: by hand, by a drain, or with its node." + rerunAdvice
	want := map[string]string{
		"deadline":               "TimedOut: The run took longer than its timeout of 4s and was stopped.",
		"deadline-image":         "TimedOut: The run took longer than its timeout of 8s and was stopped.",
		"deleted":                gone,
		"deleted-while-stopping": "Running: The run did not pass; its pods are stopping.",
		"evicted":                gone,
		"evicted-while-stopping": "Running: The run did not pass; its pods are stopping.",
		"failed":                 `Failed: Container "test" exited with code 3: GET /cart: 500`,
		"failed-logs":            `Failed: Container "test" exited with code 3: red; line 2`,
		"fetch-start":            `Error: The input files could not be downloaded: failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: exec: "postflight": executable file not found in $PATH: unknown`,
		"gated":                  "Starting: The pod cannot start: its scheduling gates are closed, and only their owner can open them.",
		"image-never":            `Starting: The pod cannot start: the image "nowhere:1" of container "test" is not on the node, and its imagePullPolicy is Never.`,
		"image-pull":             `Starting: The pod cannot start: the image "127.0.0.1:1/nowhere:1" of container "test" cannot be pulled: failed to do request: Head "http://127.0.0.1:1/v2/nowhere/manifests/1": dial tcp 127.0.0.1:1: connect: connection refused. Check its name and tag, and the imagePullSecrets.`,
		"indexed":                `Failed: Container "test" exited with code 7 (failed indexes: 1). Its log says more: postflight runs logs indexed -n demo -c test, or kubectl logs -n demo p -c test`,
		"init-failed":            `Failed: Init container "migrate" exited with code 4. Its log says more: postflight runs logs init-failed -n demo -c migrate, or kubectl logs -n demo p -c migrate`,
		"lagging":                `Running: A container has ended, and the run continues until container "proxy" ends too.`,
		"onfailure":              "Failed: Job has reached the specified backoff limit. " + podsGone,
		"onfailure-backoff":      `Running: The container "test" fails, and is restarted. It last exited with code 5: broken`,
		"oom":                    `Failed: The container "test" was killed because it needed more memory than its limit of 32Mi. Raise resources.limits.memory in the jobTemplate of the Trigger.`,
		"parallel":               `Failed: Container "test" exited with code 7 in the last of 2 pods that failed. Its log says more: postflight runs logs parallel -n demo -c test, or kubectl logs -n demo p -c test`,
		"passed":                 "Passed: The tests passed in 12s (exit code only): 12 checks passed",
		"pod-deadline":           "TimedOut: The pod took longer than the activeDeadlineSeconds of its own in the jobTemplate, and was stopped.",
		"policy":                 `Failed: Container "test" exited with code 42. Its log says more: postflight runs logs policy -n demo -c test, or kubectl logs -n demo p -c test`,
		"quota":                  "Starting: Waiting for the pod to be created. If that takes long, a quota or an admission policy refuses it: kubectl describe job -n demo failed",
		"retries":                `Failed: Container "test" exited with code 5 in the last of 2 pods that failed: retries-2ntgh`,
		"running":                "Running: The tests are running. Follow them: postflight runs logs running -n demo -f, or kubectl logs -n demo job/running -f",
		"secret-missing":         `Starting: The pod cannot start: container "test" cannot be configured: secret "shop" not found. Create what is missing, or correct the jobTemplate of the Trigger.`,
		"secret-volume-missing":  "Starting: The pod is being set up: volumes, network, images. If that takes long: kubectl describe pod -n demo p",
		"sidecar":                `Failed: Container "test" exited with code 3. Its log says more: postflight runs logs sidecar -n demo -c test, or kubectl logs -n demo p -c test`,
		"start-error":            `Error: The container "test" could not be started, so check its command and its image: failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: exec: "nope": executable file not found in $PATH: unknown`,
		"suspended":              "Queued: The Job is suspended, and starts when its owner, such as a queueing system, resumes it: kubectl describe job -n demo suspended",
		"unschedulable":          "Starting: The pod cannot start: no node can take it: 0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
	}
	hopeless := map[string]bool{"image-never": true, "secret-missing": true}
	files, err := filepath.Glob("testdata/recorded/*.json")
	if err != nil || len(files) != len(want) {
		t.Fatalf("want %d files, got %d, %v", len(want), len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			j, pods := recorded(t, file)
			state := Observe(j, pods)
			c := written(state)
			if got := !state.HopelessSince.IsZero(); got != hopeless[name] {
				t.Errorf("hopeless: %t, want %t", got, hopeless[name])
			}
			if got := c.Reason + ": " + c.Message; got != want[name] {
				t.Errorf("\nwant %s\ngot  %s", want[name], got)
			}
		})
	}
}

func recorded(t *testing.T, file string) (*batchv1.Job, []corev1.Pod) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Job  batchv1.Job
		Pods []corev1.Pod
	}
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	for i := range r.Pods {
		r.Pods[i].Name = "p"
	}
	return &r.Job, r.Pods
}
