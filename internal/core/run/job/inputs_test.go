package job

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

var inputs = Inputs{
	Directory: "/run-inputs",
	Image:     "postflight:1",
	Files: []File{
		{Path: "builds/shop $(A) é.apk", URL: "https://store/b/acme/shop.apk?X-Amz-Signature=f&a=b", ETag: "e1", Size: 7},
		{Path: "data/users.csv", URL: "https://store/b/acme/users.csv"},
	},
	Rewritten: map[string]string{"RUN_INPUT_PATH": "/run-inputs/builds/shop $(A) é.apk"},
}

func TestWithInputs(t *testing.T) {
	trigger := newTrigger(func(t *v1alpha1.Trigger) {
		pod(t).InitContainers = []corev1.Container{
			{Name: "proxy", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)},
			{Name: "unpack"},
		}
		pod(t).Volumes = []corev1.Volume{{Name: "cache"}}
		pod(t).Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "cache", MountPath: "/cache"}}
		t.Spec.Variables = v1alpha1.Variables{"RUN_INPUTS_DIR": "no", "RUN_INPUT_PATH": "acme/builds/shop.apk"}
	})
	got := WithInputs(Build(newSuite(), trigger, newEnvironment()), inputs).Spec.Template.Spec

	var order []string
	for c := range Containers(&got) {
		order = append(order, c.Name)
	}
	if diff := cmp.Diff([]string{FetchContainer, "proxy", "unpack", "test"}, order); diff != "" {
		t.Fatalf("the files are there before anything else starts: -want, +got:\n%s", diff)
	}
	readOnly := corev1.VolumeMount{Name: inputsVolume, MountPath: "/run-inputs", ReadOnly: true}
	for _, c := range append(got.InitContainers[1:], got.Containers...) {
		if diff := cmp.Diff(readOnly, c.VolumeMounts[len(c.VolumeMounts)-1]); diff != "" {
			t.Errorf("mount of container %q: -want, +got:\n%s", c.Name, diff)
		}
		arrived := kubelet(c.Env)
		if arrived["RUN_INPUTS_DIR"] != "/run-inputs" || arrived["RUN_INPUT_PATH"] != inputs.Rewritten["RUN_INPUT_PATH"] {
			t.Errorf("container %q sees RUN_INPUTS_DIR=%q, RUN_INPUT_PATH=%q", c.Name, arrived["RUN_INPUTS_DIR"], arrived["RUN_INPUT_PATH"])
		}
		if len(arrived) != len(c.Env) {
			t.Errorf("container %q has a variable twice: %v", c.Name, c.Env)
		}
	}
	wantVolumes := []corev1.Volume{{Name: "cache"}, {Name: inputsVolume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	if diff := cmp.Diff(wantVolumes, got.Volumes); diff != "" {
		t.Errorf("volumes: -want, +got:\n%s", diff)
	}
}

func TestFetchContainer(t *testing.T) {
	got := WithInputs(Build(newSuite(), newTrigger(), newEnvironment()), inputs).Spec.Template.Spec.InitContainers[0]
	want := corev1.Container{
		Name: "postflight-fetch", Image: "postflight:1", Command: []string{"/collect", "fetch"},
		Env:          got.Env,
		VolumeMounts: []corev1.VolumeMount{{Name: inputsVolume, MountPath: "/run-inputs"}},
		Resources:    got.Resources,
		SecurityContext: &corev1.SecurityContext{
			RunAsNonRoot: new(true), AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
			Capabilities:   &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			SeccompProfile: &corev1.SeccompProfile{Type: "RuntimeDefault"},
		},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if got.Resources.Requests.Name(name, "").IsZero() || got.Resources.Limits.Name(name, "").IsZero() {
			t.Errorf("a quota on %s refuses the container: %+v", name, got.Resources)
		}
	}
}

// The init container reads exactly the content of Inputs, although Kubernetes expands $(NAME) in variables.
func TestFetchFiles(t *testing.T) {
	env := kubelet(fetchEnv(inputs))
	got := Inputs{Directory: env[FetchDirectoryVariable], Image: inputs.Image, Rewritten: inputs.Rewritten}
	for _, name := range []string{"FETCH_FILE_0", "FETCH_FILE_1"} {
		var file File
		if err := json.Unmarshal([]byte(env[name]), &file); err != nil {
			t.Fatalf("%s=%q: %v", name, env[name], err)
		}
		got.Files = append(got.Files, file)
	}
	if diff := cmp.Diff(inputs, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestWithoutFiles(t *testing.T) {
	j := WithInputs(Build(newSuite(), newTrigger(), newEnvironment()), Inputs{Directory: "/run-inputs"})
	pod := j.Spec.Template.Spec
	if len(pod.InitContainers) != 0 {
		t.Errorf("there is nothing to download, by %v", pod.InitContainers)
	}
	if got := values(pod.Containers[0])["RUN_INPUTS_DIR"]; got != "/run-inputs" || len(pod.Containers[0].VolumeMounts) != 1 {
		t.Errorf("the directory must exist even without files: RUN_INPUTS_DIR=%q, %v", got, pod.Containers[0].VolumeMounts)
	}
}

func TestFetchCA(t *testing.T) {
	for _, ca := range []string{"", "-----BEGIN CERTIFICATE-----"} {
		got, set := kubelet(fetchEnv(Inputs{CA: ca}))[FetchCAVariable]
		if got != ca || set != (ca != "") {
			t.Errorf("CA %q: want it as it is, and only where there is one, got %q", ca, got)
		}
	}
}

func TestFetchUser(t *testing.T) {
	cases := map[string]struct {
		reason string
		pod    *corev1.PodSecurityContext
		want   *int64
	}{
		"Silent":  {reason: "The image's own user, or one that the platform chooses."},
		"Another": {reason: "The user of the pod.", pod: &corev1.PodSecurityContext{RunAsUser: new(int64(1000))}},
		"Root":    {reason: "Root is refused to a container that must not be root.", pod: &corev1.PodSecurityContext{RunAsUser: new(int64(0))}, want: new(int64(65532))},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			trigger := newTrigger(func(t *v1alpha1.Trigger) { pod(t).SecurityContext = tc.pod })
			j := WithInputs(Build(newSuite(), trigger, newEnvironment()), inputs)
			if diff := cmp.Diff(tc.want, j.Spec.Template.Spec.InitContainers[0].SecurityContext.RunAsUser); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
