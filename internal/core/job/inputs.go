package job

import (
	"encoding/json"
	"fmt"
	"maps"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

const (
	// FetchContainer is the init container that downloads the inputs of a run.
	FetchContainer = "postflight-fetch"

	// FetchDirectoryVariable names the directory into which the init container downloads.
	FetchDirectoryVariable = "FETCH_DIRECTORY"

	// FetchFileVariable starts the names of the variables that hold one File each, as JSON:
	// FETCH_FILE_0, FETCH_FILE_1 and so on. They are apart because Linux bounds a single variable at
	// 128 KiB, which the signed URLs of 64 files can exceed.
	FetchFileVariable = "FETCH_FILE_"

	// FetchCAVariable holds certificates in PEM that the store's TLS is checked against, beside those
	// of the image.
	FetchCAVariable = "FETCH_CA"

	// variableInputsDirectory has the path of the inputs, for the test.
	variableInputsDirectory = "RUN_INPUTS_DIR"

	inputsVolume = "postflight-inputs"

	// fetchUser owns the files where the template runs pods as root, which the init container need
	// not be: everybody may write into an emptyDir, and everybody may read what it puts there.
	fetchUser = 65532
)

// File is an input of a run, as the init container reads it.
type File struct {
	Path string `json:"path"`           // below the directory, with slashes
	URL  string `json:"url"`            // signed, to GET the file from
	ETag string `json:"etag,omitempty"` // of the file when the run started; a changed file is an error
	Size int64  `json:"size,omitempty"` // in bytes
}

// Inputs are the files of a run.
type Inputs struct {
	Directory string            // absolute path in every container
	Image     string            // Postflight's own image, with the command /collect
	CA        string            // PEM; empty where the store's certificate needs none of its own
	Files     []File            // in the order in which they are downloaded
	Rewritten map[string]string // variables that named a file -> its absolute path
}

// WithInputs is the Job with an init container before all others that downloads files into a volume
// which every container sees, read-only: what was checked after the download is what they all read.
// Without files the directory is empty.
//
// The signed URLs are in the environment of the init container, so anyone who can read the team's pods can read
// them: each gives access to one file of that team until it expires. A Secret would hide them better, but the
// manager would need the right to write Secrets in every namespace, which is worth more to an attacker than
// the files.
func WithInputs(j *batchv1.Job, in Inputs) *batchv1.Job {
	j = j.DeepCopy()
	pod := &j.Spec.Template.Spec
	rewritten := maps.Clone(in.Rewritten)
	if rewritten == nil {
		rewritten = map[string]string{}
	}
	rewritten[variableInputsDirectory] = in.Directory
	for c := range containers(pod) {
		c.Env = withVariables(c.Env, rewritten)
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{
			Name: inputsVolume, MountPath: in.Directory, ReadOnly: true,
		})
	}
	pod.Volumes = append(pod.Volumes, corev1.Volume{
		Name:         inputsVolume,
		VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}},
	})
	if len(in.Files) > 0 {
		pod.InitContainers = append([]corev1.Container{fetch(in, pod.SecurityContext)}, pod.InitContainers...)
	}
	return j
}

// fetch is the init container. Its log is Postflight's own and has no secrets, and its last line names the file
// that is missing, so it may become the termination message.
func fetch(in Inputs, pod *corev1.PodSecurityContext) corev1.Container {
	return corev1.Container{
		Name:                     FetchContainer,
		Image:                    in.Image,
		Command:                  []string{"/collect", "fetch"},
		Env:                      fetchEnv(in),
		VolumeMounts:             []corev1.VolumeMount{{Name: inputsVolume, MountPath: in.Directory}},
		Resources:                fetchResources(),
		SecurityContext:          ownSecurity(pod),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
}

func fetchEnv(in Inputs) []corev1.EnvVar {
	env := []corev1.EnvVar{{Name: FetchDirectoryVariable, Value: escape(in.Directory)}}
	if in.CA != "" {
		env = append(env, corev1.EnvVar{Name: FetchCAVariable, Value: escape(in.CA)})
	}
	for i, file := range in.Files {
		env = append(env, corev1.EnvVar{Name: fmt.Sprintf("%s%d", FetchFileVariable, i), Value: escape(encode(file))})
	}
	return env
}

// encode cannot fail: a File is strings and a number.
func encode(file File) string {
	b, _ := json.Marshal(file)
	return string(b)
}

// fetchResources are limits as well as requests, as a namespace with a quota demands both.
func fetchResources() corev1.ResourceRequirements {
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse("50m"),
			corev1.ResourceMemory: resource.MustParse("32Mi"),
		},
		Limits: corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse("1"),
			corev1.ResourceMemory: resource.MustParse("128Mi"),
		},
	}
}

// ownSecurity is that of Postflight's own containers. It meets the restricted Pod Security Standard. The user id is
// that of the image, or of the pod, unless that is root: platforms that hand out user ids refuse one that a pod
// picks itself.
func ownSecurity(pod *corev1.PodSecurityContext) *corev1.SecurityContext {
	security := &corev1.SecurityContext{
		RunAsNonRoot:             new(true),
		AllowPrivilegeEscalation: new(false),
		ReadOnlyRootFilesystem:   new(true),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		SeccompProfile:           &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	if pod != nil && pod.RunAsUser != nil && *pod.RunAsUser == 0 {
		security.RunAsUser = new(int64(fetchUser))
	}
	return security
}
