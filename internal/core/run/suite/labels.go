package suite

import (
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

const shortSHA = 12 // how much of a commit people read

// labelsOf are the labels of each run of a Trigger, an Environment and a revision.
func labelsOf(trigger, environment, revision string) map[string]string {
	labels := map[string]string{v1alpha1.LabelTrigger: trigger, v1alpha1.LabelEnvironment: environment}
	if short, ok := ShortSHALabel(revision); ok {
		labels[v1alpha1.LabelShortSHA] = short
	}
	return labels
}

// ShortSHALabel is the label of the Suites of a revision, if it can have one.
func ShortSHALabel(revision string) (label string, ok bool) {
	short := strings.TrimRight(revision[:min(len(revision), shortSHA)], "-_.")
	return short, short != "" && len(validation.IsValidLabelValue(short)) == 0
}

// DropLabels drops the labels that the spec implies: most runs have no others, and a map takes a tenth of the memory of a run. So the cache
// cannot be asked by them; it has indexes.
func DropLabels(s *v1alpha1.Suite) {
	maps.DeleteFunc(s.Labels, func(name, value string) bool {
		switch name {
		case v1alpha1.LabelTrigger:
			return value == s.Spec.Trigger.Name
		case v1alpha1.LabelEnvironment:
			return value == s.Spec.Environment
		case v1alpha1.LabelShortSHA:
			short, _ := ShortSHALabel(s.Spec.Deployment.SHA)
			return value == short
		default:
			return false
		}
	})
}

// labelsOfRun are those of the next attempt: also what the cache has dropped, and not that the run was restored.
func labelsOfRun(s *v1alpha1.Suite) map[string]string {
	labels := labelsOf(s.Spec.Trigger.Name, s.Spec.Environment, s.Spec.Deployment.SHA)
	maps.Copy(labels, s.Labels)
	delete(labels, v1alpha1.LabelRestored)
	delete(labels, v1alpha1.LabelRestoredByVelero)
	return labels
}
