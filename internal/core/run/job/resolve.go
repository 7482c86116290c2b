package job

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/inputpath"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

const defaultInputsDirectory = "/run-inputs" // for a Trigger that was stored without one

// RequiredInputs are the files that a run needs, whether they exist or not.
type RequiredInputs struct {
	Directory string            // absolute path in every container
	Paths     []string          // of the files in the team's store, without repetition
	Rewritten map[string]string // variables that name a file -> its absolute path
}

// ResolveInputs lists the files that a run needs; an empty variable needs none. The problem says what cannot be a file of the team.
func ResolveInputs(s *v1alpha1.Suite, t *v1alpha1.Trigger, e *v1alpha1.Environment, team string) (required RequiredInputs, problem string) {
	required = RequiredInputs{Directory: inputsDirectory(t), Rewritten: map[string]string{}}
	spec := t.Spec.Inputs
	values := variables(s, t, e)
	for _, name := range spec.Variables {
		value := values[name]
		if value == "" {
			continue
		}
		file, err := inputpath.Resolve(team, value)
		if err != nil {
			return required, fmt.Sprintf(
				"The variable %s does not name an input file: %q %s. Give it the fileLocation or the playgroundFileLocation of an upload.", name,
				plaintext.Line(value, maxName), err)
		}
		required.add(file)
		required.Rewritten[name] = path.Join(required.Directory, file)
	}
	for _, file := range spec.Paths {
		if err := inputpath.CheckFile(file); err != nil {
			return required, fmt.Sprintf("The path %q in spec.inputs.paths of Trigger %q %s. Correct it and notify again.",
				plaintext.Line(file, maxName), t.Name, err)
		}
		required.add(file)
	}
	return required, required.clash()
}

func inputsDirectory(t *v1alpha1.Trigger) string {
	return cmp.Or(t.Spec.Inputs.Directory, defaultInputsDirectory)
}

func (r *RequiredInputs) add(file string) {
	if !slices.Contains(r.Paths, file) {
		r.Paths = append(r.Paths, file)
	}
}

// clash reports a file whose path is also a folder of another file: a store can have both, a pod cannot.
func (r *RequiredInputs) clash() string {
	for _, file := range r.Paths {
		for _, other := range r.Paths {
			if strings.HasPrefix(other, file+"/") {
				return fmt.Sprintf("The input files %q and %q cannot be in one directory: the first would have to be a folder. Upload one of them "+
					"to another path.", plaintext.Line(file, maxName), plaintext.Line(other, maxName))
			}
		}
	}
	return ""
}

const maxInputs = 64 // files that the schema lets a run have

// InputsOf reads the files of a run from its Job, but not what the status of a Suite cannot hold: somebody may have changed the Job.
func InputsOf(j *batchv1.Job) []v1alpha1.SuiteInput {
	fetch := fetcherOf(j)
	if fetch == nil {
		return nil
	}
	var inputs []v1alpha1.SuiteInput
	for _, entry := range fetch.Env {
		file, ok := fileOf(entry)
		known := slices.ContainsFunc(inputs, func(found v1alpha1.SuiteInput) bool { return found.Path == file.Path })
		if ok && !known && len(inputs) < maxInputs {
			inputs = append(inputs, v1alpha1.SuiteInput{Path: file.Path, ETag: file.ETag, Size: file.Size})
		}
	}
	return inputs
}

func fileOf(entry corev1.EnvVar) (file File, ok bool) {
	if !strings.HasPrefix(entry.Name, FetchFileVariable) {
		return file, false
	}
	err := json.Unmarshal([]byte(strings.ReplaceAll(entry.Value, "$$", "$")), &file)
	return file, err == nil && inputpath.CheckFile(file.Path) == nil && len(file.ETag) <= maxETag && file.Size >= 0
}

const maxETag = 256 // bytes, as in the schema

// fetcherOf returns the init container that downloads the inputs of a Job, or nil.
func fetcherOf(j *batchv1.Job) *corev1.Container {
	init := j.Spec.Template.Spec.InitContainers
	i := slices.IndexFunc(init, func(c corev1.Container) bool { return c.Name == FetchContainer })
	if i < 0 {
		return nil
	}
	return &init[i]
}
