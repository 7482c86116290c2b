package job

import (
	"encoding/json"
	"fmt"
	"maps"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// What the pods of a run share with the init container.
const (
	FetchContainer         = "postflight-fetch" // the init container that downloads the inputs of a run
	FetchDirectoryVariable = "FETCH_DIRECTORY"  // into which the init container downloads

	// FetchFileVariable is a prefix: each variable has one File as JSON. Linux bounds one at 128 KiB; signed URLs of 64 files may be longer.
	FetchFileVariable       = "FETCH_FILE_"
	FetchCAVariable         = "FETCH_CA"       // PEM for the TLS of the store, in addition to the image's
	variableInputsDirectory = "RUN_INPUTS_DIR" // the path of the inputs, for the test

	inputsVolume = "postflight-inputs"

	// fetchUser replaces root if the template runs pods as root. All users may write into an emptyDir, and read the files.
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

// WithInputs returns the Job with an init container, before all others, that downloads files into a volume. Containers see it read-only,
// so they read what was checked after the download. Without files the directory is empty.
//
// Anyone who can read the team's pods can read the signed URLs, of that team's files, until they expire. A Secret would hide them better,
// but the right to write Secrets in every namespace is worth more to an attacker than the files.
func WithInputs(j *batchv1.Job, inputs Inputs) *batchv1.Job {
	j = j.DeepCopy()
	pod := &j.Spec.Template.Spec
	rewritten := maps.Clone(inputs.Rewritten)
	if rewritten == nil {
		rewritten = map[string]string{}
	}
	rewritten[variableInputsDirectory] = inputs.Directory
	for c := range Containers(pod) {
		c.Env = withVariables(c.Env, rewritten)
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: inputsVolume, MountPath: inputs.Directory, ReadOnly: true})
	}
	pod.Volumes = append(pod.Volumes, corev1.Volume{
		Name:         inputsVolume,
		VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}},
	})
	if len(inputs.Files) > 0 {
		pod.InitContainers = append([]corev1.Container{fetch(inputs, pod.SecurityContext)}, pod.InitContainers...)
	}
	return j
}

// fetch may use its log as the termination message: the log has no secrets, and its last line names the missing file.
func fetch(inputs Inputs, pod *corev1.PodSecurityContext) corev1.Container {
	return corev1.Container{
		Name:                     FetchContainer,
		Image:                    inputs.Image,
		Command:                  []string{"/collect", "fetch"},
		Env:                      fetchEnv(inputs),
		VolumeMounts:             []corev1.VolumeMount{{Name: inputsVolume, MountPath: inputs.Directory}},
		Resources:                ownResources("50m", "128Mi"),
		SecurityContext:          ownSecurity(pod),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
}

func fetchEnv(inputs Inputs) []corev1.EnvVar {
	env := []corev1.EnvVar{{Name: FetchDirectoryVariable, Value: escape(inputs.Directory)}}
	if inputs.CA != "" {
		env = append(env, corev1.EnvVar{Name: FetchCAVariable, Value: escape(inputs.CA)})
	}
	return append(env, fileEnv(inputs.Files)...)
}

func fileEnv(files []File) (env []corev1.EnvVar) {
	for i, file := range files {
		env = append(env, corev1.EnvVar{Name: fmt.Sprintf("%s%d", FetchFileVariable, i), Value: escape(encode(file))})
	}
	return env
}

// StrippedFetcher returns what InputsOf reads of a Job, without the signed URLs; nil if the Job has no inputs.
func StrippedFetcher(j *batchv1.Job) []corev1.Container {
	if fetcherOf(j) == nil {
		return nil
	}
	var files []File
	for _, file := range InputsOf(j) {
		files = append(files, File{Path: file.Path, ETag: file.ETag, Size: file.Size})
	}
	return []corev1.Container{{Name: FetchContainer, Env: fileEnv(files)}}
}

func encode(file File) string { // cannot fail: a File is strings and a number
	b, _ := json.Marshal(file)
	return string(b)
}

// ownSecurity meets the restricted Pod Security Standard. It sets no user except instead of root: platforms that assign ids refuse others.
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
