package job

import (
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

const maxName = 256 // bytes, of a name that was not validated

// CheckTemplate returns why no Job can be created from a Trigger's template, or "": it uses a name or path of Postflight.
func CheckTemplate(t *v1alpha1.Trigger) string {
	pod := &t.Spec.JobTemplate.Spec.Template.Spec
	for c := range Containers(pod) {
		if IsOwn(c.Name) {
			return fmt.Sprintf("The jobTemplate of Trigger %q has a container named %s, which is the name of Postflight's own. Rename it and "+
				"notify again.", t.Name, c.Name)
		}
	}
	for _, v := range pod.Volumes {
		if slices.Contains(ownVolumes(t), v.Name) {
			return fmt.Sprintf("The jobTemplate of Trigger %q has a volume named %s, which is the name of Postflight's own. Rename it and notify "+
				"again.", t.Name, v.Name)
		}
	}
	if t.Spec.Results == nil {
		return ""
	}
	return resultsClash(t, pod)
}

// IsOwn reports whether a container is one of Postflight's.
func IsOwn(container string) bool {
	return container == FetchContainer || container == CollectContainer || container == ReadyContainer || container == PrepareContainer
}

func ownVolumes(t *v1alpha1.Trigger) (names []string) {
	names = append(names, toolsVolume)
	if t.Spec.Inputs != nil {
		names = append(names, inputsVolume)
	}
	if t.Spec.Results != nil {
		names = append(names, ResultsVolume, tokenVolume)
	}
	return names
}

// resultsClash reports a mount at the results directory. Deeper mounts are fine: their files are kept elsewhere.
func resultsClash(t *v1alpha1.Trigger, pod *corev1.PodSpec) string {
	directory := resultsDirectory(t)
	for c := range Containers(pod) {
		for _, m := range c.VolumeMounts {
			if path.Clean(m.MountPath) == directory {
				return fmt.Sprintf("The container %q in the jobTemplate of Trigger %q mounts the volume %q at %s, which is spec.results.directory. "+
					"Change one of the two paths and notify again.",
					plaintext.Line(c.Name, maxName), t.Name, plaintext.Line(m.Name, maxName), directory)
			}
		}
	}
	if t.Spec.Inputs != nil && nested(directory, inputsDirectory(t)) {
		return fmt.Sprintf("In Trigger %q, spec.results.directory %s and spec.inputs.directory %s are inside one another. Change one of them "+
			"and notify again.",
			t.Name, directory, inputsDirectory(t))
	}
	return ""
}

func nested(a, b string) bool {
	return strings.HasPrefix(a+"/", b+"/") || strings.HasPrefix(b+"/", a+"/")
}
