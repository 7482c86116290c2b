package job

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"path"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// What the pods of a run share with the init container that puts files in place for the tests.
const (
	PrepareContainer         = "postflight-prepare"
	PrepareDirectoryVariable = "PREPARE_DIRECTORY" // into which the init container writes
	PrepareProgramVariable   = "PREPARE_PROGRAM"   // the name of the copy that it makes of its own program; unset: none
	PrepareFileVariable      = "PREPARE_FILE_"     // a prefix: each variable has one PackedFile as JSON

	// maxPacked bounds a file as it is in a Job, in bytes. The Job and each of its pods hold it: 64 pods are 2 MiB in etcd. Linux bounds
	// one variable at 128 KiB.
	maxPacked = 32 << 10

	// maxUnpacked bounds what the init container writes for one file, whatever a Job says.
	maxUnpacked = 16 << 20

	toolsVolume = "postflight-tools"

	// toolsDirectory is what the tests see. preparedDirectory is in the init container, whose image has a program at /postflight.
	toolsDirectory    = "/postflight/tools"
	preparedDirectory = "/tools"

	// toolsSize has room for the program, which has at most 15 MB, and the files.
	toolsSize = "64Mi"
)

// Prepared is what an init container puts into a directory that all containers of a template see read-only. It is in the Job, so that all
// pods of a run have the same, also one that replaces another, and none has to ask for it.
type Prepared struct {
	Image   string // Postflight's own image, with the command /collect
	Program string // the name of the copy of /collect, which acts on its name; empty: none
	Files   []PreparedFile
}

// PreparedFile is a small file for the tests.
type PreparedFile struct {
	Name     string // without a folder
	Variable string // of the tests, which has its path
	Content  []byte // packed, at most maxPacked: see Fits
}

// PackedFile is a file as the init container reads it.
type PackedFile struct {
	Name    string `json:"name"`
	Content string `json:"content"` // gzip in base64
}

// Fits reports whether a Job has room for a file.
func Fits(content []byte) bool { return len(pack(content)) <= maxPacked }

// pack cannot fail: a buffer takes everything.
func pack(content []byte) string {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	_, _ = w.Write(content)
	_ = w.Close()
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// Unpack returns the content of a file.
func (f PackedFile) Unpack() ([]byte, error) {
	packed, err := base64.StdEncoding.DecodeString(f.Content)
	if err != nil {
		return nil, err
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(r, maxUnpacked+1))
	if err == nil && len(content) > maxUnpacked {
		err = fmt.Errorf("it has more than %d bytes", maxUnpacked)
	}
	return content, err
}

// WithPrepared returns the Job with an init container, before all others, that puts files in place. Call it last: other containers of
// Postflight do not get them.
func WithPrepared(j *batchv1.Job, p Prepared) *batchv1.Job {
	j = j.DeepCopy()
	pod := &j.Spec.Template.Spec
	paths := map[string]string{}
	for _, f := range p.Files {
		paths[f.Variable] = path.Join(toolsDirectory, f.Name)
	}
	if p.Program != "" {
		paths[SplitVariable] = path.Join(toolsDirectory, p.Program)
	}
	for c := range Containers(pod) {
		if !IsOwn(c.Name) {
			c.Env = withVariables(c.Env, paths)
			c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: toolsVolume, MountPath: toolsDirectory, ReadOnly: true})
		}
	}
	pod.Volumes = append(pod.Volumes, corev1.Volume{
		Name:         toolsVolume,
		VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: new(resource.MustParse(toolsSize))}},
	})
	pod.InitContainers = append([]corev1.Container{prepare(p, pod.SecurityContext)}, pod.InitContainers...)
	return j
}

func prepare(p Prepared, pod *corev1.PodSecurityContext) corev1.Container {
	return corev1.Container{
		Name:                     PrepareContainer,
		Image:                    p.Image,
		Command:                  []string{"/collect", "prepare"},
		Env:                      prepareEnv(p),
		VolumeMounts:             []corev1.VolumeMount{{Name: toolsVolume, MountPath: preparedDirectory}},
		Resources:                ownResources("10m", "64Mi"),
		SecurityContext:          ownSecurity(pod),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
}

func prepareEnv(p Prepared) []corev1.EnvVar {
	env := []corev1.EnvVar{{Name: PrepareDirectoryVariable, Value: preparedDirectory}}
	if p.Program != "" {
		env = append(env, corev1.EnvVar{Name: PrepareProgramVariable, Value: escape(p.Program)})
	}
	for i, f := range p.Files {
		b, _ := json.Marshal(PackedFile{Name: f.Name, Content: pack(f.Content)}) // cannot fail: strings
		env = append(env, corev1.EnvVar{Name: fmt.Sprintf("%s%d", PrepareFileVariable, i), Value: escape(string(b))})
	}
	return env
}

// CheckPrepared returns why files cannot be put in place in the pods of a Trigger, or "".
func CheckPrepared(t *v1alpha1.Trigger, image string) string {
	switch {
	case image == "":
		return "The pods of the run would get files from an image that the manager does not know. " +
			"Ask the operator of Postflight to set --image, and notify again."
	case t.Spec.Results != nil && nested(resultsDirectory(t), toolsDirectory):
		return toolsClash(t, "spec.results.directory", resultsDirectory(t))
	case t.Spec.Inputs != nil && nested(inputsDirectory(t), toolsDirectory):
		return toolsClash(t, "spec.inputs.directory", inputsDirectory(t))
	default:
		return ""
	}
}

func toolsClash(t *v1alpha1.Trigger, field, directory string) string {
	return fmt.Sprintf("In Trigger %q, %s %s and %s, where Postflight puts files for the tests, are inside one another. Change %s and "+
		"notify again.",
		t.Name, field, directory, toolsDirectory, field)
}
