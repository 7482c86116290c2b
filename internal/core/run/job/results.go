package job

import (
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/tests/quarantine"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
	"github.com/postflight-dev/postflight/internal/core/text/mask"
)

// What the pods of a run share with the sidecar, and the defaults of their results.
const (
	CollectContainer         = "postflight-collect"            // the sidecar that uploads what the tests wrote, once they have stopped
	CollectURLVariable       = "POSTFLIGHT_COLLECT_URL"        // of the manager's HTTP API
	CollectTokenVariable     = "POSTFLIGHT_COLLECT_TOKEN"      // the path of the token by which the manager recognizes the pod
	CollectBudgetVariable    = "POSTFLIGHT_COLLECT_BUDGET"     // how long the sidecar may take, as a Go duration
	CollectCAVariable        = "POSTFLIGHT_COLLECT_CA"         // PEM for the TLS of store and manager, in addition to the image's
	CollectQuarantine        = "POSTFLIGHT_COLLECT_QUARANTINE" // the Quarantines of the run, as JSON
	CollectRerunVariable     = "POSTFLIGHT_COLLECT_REPEATS"    // results.NameSet of the failed tests that the run repeats
	CollectAttempts          = "POSTFLIGHT_COLLECT_ATTEMPTS"   // results.attempts of the Trigger, unless it is All
	CollectMaskVariable      = "POSTFLIGHT_COLLECT_MASK"       // texts, each on a line, that are masked in what is read of reports
	ResultsDirectoryVariable = "POSTFLIGHT_RESULTS_DIR"        // into which the tests write, as each container sees it
	TokenAudience            = "postflight-collect"            // of the sidecar's token, which is good for nothing else

	ResultsVolume = "postflight-results" // has the directory into which the tests write

	tokenVolume = "postflight-token"

	// collectDirectory is in the sidecar, where the path for the tests may have files: /postflight is a program in its image.
	collectDirectory = "/results"

	tokenDirectory = "/var/run/secrets/postflight"
	tokenFile      = "token"
	tokenSeconds   = 3600 // the kubelet replaces the token in time

	// These are for a Trigger that was stored without them.
	defaultResultsDirectory = "/postflight/results"
	defaultResultsSize      = "4Gi"

	// collectGraceSeconds is for templates without a grace period: Kubernetes' 30 s leave little time to upload after tests that stop slowly.
	collectGraceSeconds = 60
	collectMargin       = 5 * time.Second // of the grace period, to report before the sidecar is killed
)

// Results is the directory into which the tests of a run write.
type Results struct {
	Directory  string // absolute path in every container
	SizeLimit  resource.Quantity
	Required   results.Requirement
	Secrets    mask.Values     // of secret variables of the run
	OnlyFailed results.NameSet // the failed tests of another run, which are all that this run runs; "": it runs all tests
	Attempts   v1alpha1.AttemptsPolicy
	Collector  *Collector // nil: nothing is kept

	Quarantines quarantine.Applied
}

// Collector is the sidecar that keeps the files of the directory.
type Collector struct {
	Image string // Postflight's own image, with the command /collect
	URL   string // of the manager's HTTP API, for pods
	CA    string // PEM; empty where the certificates of store and manager need none of their own
}

// ResultsOf are the results of a Trigger that wants them.
func ResultsOf(t *v1alpha1.Trigger, c *Collector) Results {
	r := Results{Directory: resultsDirectory(t), SizeLimit: resource.MustParse(defaultResultsSize), Collector: c}
	if limit := t.Spec.Results.SizeLimit; limit != nil {
		r.SizeLimit = *limit
	}
	r.Attempts = t.Spec.Results.Attempts
	r.Required = results.Requirement{Policy: t.Spec.Results.Require, MinTests: t.Spec.Results.MinTests, Fewer: results.FewerOf(t.Spec.Results)}
	return r
}

// RequirementOf returns what a Job requires of its results.
func RequirementOf(j *batchv1.Job) results.Requirement {
	least, err := strconv.ParseInt(j.Annotations[v1alpha1.AnnotationMinTests], 10, 32)
	if err != nil || j.Annotations[v1alpha1.AnnotationFailedPlan] != "" { // there is none, or it is that of all tests
		least = 0
	}
	return results.Requirement{
		Policy: v1alpha1.ResultsRequirement(j.Annotations[v1alpha1.AnnotationRequire]), MinTests: int32(least),
		Fewer: results.ParseFewer(j.Annotations[v1alpha1.AnnotationFewerTests]),
	}
}

// require annotates only what differs from the default, to keep the cache small. Annotations of a template do not count.
func require(j *batchv1.Job, r results.Requirement) {
	delete(j.Annotations, v1alpha1.AnnotationRequire)
	delete(j.Annotations, v1alpha1.AnnotationMinTests)
	delete(j.Annotations, v1alpha1.AnnotationFewerTests)
	if text := r.Fewer.String(); text != "" {
		metav1.SetMetaDataAnnotation(&j.ObjectMeta, v1alpha1.AnnotationFewerTests, text)
	}
	if r.Policy != "" && r.Policy != v1alpha1.RequireTests {
		metav1.SetMetaDataAnnotation(&j.ObjectMeta, v1alpha1.AnnotationRequire, string(r.Policy))
	}
	if r.MinTests > 0 {
		metav1.SetMetaDataAnnotation(&j.ObjectMeta, v1alpha1.AnnotationMinTests, strconv.Itoa(int(r.MinTests)))
	}
}

func resultsDirectory(t *v1alpha1.Trigger) string {
	if d := t.Spec.Results.Directory; d != "" {
		return d
	}
	return defaultResultsDirectory
}

// WithResults returns the Job with a directory that all containers but the fetching one share. If there is a Collector, a sidecar keeps its
// files. It starts first, because Kubernetes stops sidecars in reverse order, so it sees what others wrote. It alone has the token.
func WithResults(j *batchv1.Job, r Results) *batchv1.Job {
	j = j.DeepCopy()
	require(j, r.Required)
	annotateQuarantines(j, r.Quarantines)
	pod := &j.Spec.Template.Spec
	directory := map[string]string{ResultsDirectoryVariable: r.Directory}
	for c := range Containers(pod) {
		if c.Name != FetchContainer {
			c.Env = withVariables(c.Env, directory)
			c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: ResultsVolume, MountPath: r.Directory})
		}
	}
	pod.Volumes = append(pod.Volumes, corev1.Volume{
		Name:         ResultsVolume,
		VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &r.SizeLimit}},
	})
	if r.Collector == nil {
		return j
	}
	if pod.TerminationGracePeriodSeconds == nil {
		pod.TerminationGracePeriodSeconds = new(int64(collectGraceSeconds))
	}
	pod.Volumes = append(pod.Volumes, token())
	pod.InitContainers = append([]corev1.Container{collect(r, pod)}, pod.InitContainers...)
	return j
}

func token() corev1.Volume {
	return corev1.Volume{Name: tokenVolume, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{
			Audience: TokenAudience, ExpirationSeconds: new(int64(tokenSeconds)), Path: tokenFile,
		}}},
	}}}
}

func collect(r Results, pod *corev1.PodSpec) corev1.Container {
	return corev1.Container{
		Name:          CollectContainer,
		Image:         r.Collector.Image,
		Command:       []string{"/collect", "results"},
		Env:           collectEnv(r, *pod.TerminationGracePeriodSeconds),
		RestartPolicy: new(corev1.ContainerRestartPolicyAlways),
		VolumeMounts: []corev1.VolumeMount{
			{Name: ResultsVolume, MountPath: collectDirectory, ReadOnly: true},
			{Name: tokenVolume, MountPath: tokenDirectory, ReadOnly: true},
		},
		Resources:       ownResources("10m", "256Mi"),
		SecurityContext: ownSecurity(pod.SecurityContext),
	}
}

func collectEnv(r Results, graceSeconds int64) []corev1.EnvVar {
	variables := map[string]string{
		CollectURLVariable:       r.Collector.URL,
		CollectTokenVariable:     tokenDirectory + "/" + tokenFile,
		CollectBudgetVariable:    collectBudget(time.Duration(graceSeconds) * time.Second).String(),
		ResultsDirectoryVariable: collectDirectory,
	}
	if r.Collector.CA != "" {
		variables[CollectCAVariable] = r.Collector.CA
	}
	if text := r.Quarantines.Text(); text != "" {
		variables[CollectQuarantine] = text
	}
	if r.Attempts == v1alpha1.AttemptsLast {
		variables[CollectAttempts] = string(r.Attempts)
	}
	if r.OnlyFailed != "" {
		variables[CollectRerunVariable] = string(r.OnlyFailed)
	}
	if len(r.Secrets) > 0 {
		variables[CollectMaskVariable] = strings.Join(r.Secrets, "\n")
	}
	return withVariables(nil, variables)
}

// collectBudget is the grace period without a margin. The kubelet gives every container at least 2 s.
func collectBudget(grace time.Duration) time.Duration {
	return max(grace-collectMargin, grace/2, time.Second)
}

// KeepsResults reports whether a pod has a directory for results.
func KeepsResults(pod *corev1.PodSpec) bool {
	return slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == ResultsVolume })
}
