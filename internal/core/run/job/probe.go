package job

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// What the pods of a run share with the init container that waits for the right version.
const (
	ReadyContainer   = "postflight-ready"
	ReadyURLVariable = variableURL // which is asked
	ReadySHAVariable = variableSHA // that the answer has to name; empty: any

	// The flags of its command.
	ReadyPathFlag      = "path" // appended to the URL
	ReadyStatusFlag    = "status"
	ReadyJSONFlag      = "json"
	ReadyHeaderFlag    = "header"
	ReadySuccessesFlag = "successes"
	ReadyIntervalFlag  = "interval"
	ReadyTimeoutFlag   = "timeout"

	// ExitNotReady is its exit code if the right version did not answer in time.
	ExitNotReady = 3

	maxFailureRules = 20 // of a podFailurePolicy, by Kubernetes
)

// ProbeURL appends a path, which may have a query, to a base. It drops a user, so that none gets into a message.
func ProbeURL(base, path string) (*url.URL, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is no absolute http or https URL", plaintext.Line(base, maxName))
	}
	u.User, u.Fragment = nil, ""
	if path == "" {
		return u, nil
	}
	ref, err := url.Parse(path)
	if err != nil {
		return nil, fmt.Errorf("%q cannot be the path of a URL", plaintext.Line(path, maxName))
	}
	joined := u.JoinPath(ref.EscapedPath())
	joined.RawQuery = ref.RawQuery
	return joined, nil
}

// CheckProbe returns why the pods of a run cannot ask for their version, or "".
func CheckProbe(s *v1alpha1.Suite, t *v1alpha1.Trigger, e *v1alpha1.Environment, image string) string {
	base := probeBase(s, t, e)
	_, err := ProbeURL(base, t.Spec.Ready.HTTP.Path)
	switch {
	case image == "":
		return "The run would ask for its version first, and the manager does not know the image for that. " +
			"Ask the operator of Postflight to set --image, and notify again."
	case t.Spec.JobTemplate.Spec.Template.Spec.RestartPolicy == corev1.RestartPolicyOnFailure:
		return fmt.Sprintf("The spec.ready.http of Trigger %q needs a jobTemplate whose restartPolicy is Never: otherwise, Kubernetes "+
			"restarts what has given up. "+
			"Correct that and notify again.", t.Name)
	case base == "":
		return fmt.Sprintf("The spec.ready.http of Trigger %q has only a path, and the run has no URL. "+
			"Set the url of Environment %q, name a deployment_url, or set spec.ready.http.url, and notify again.", t.Name, e.Name)
	case err != nil:
		return fmt.Sprintf("The spec.ready.http of Trigger %q cannot be asked: %s. Correct it and notify again.", t.Name, err)
	default:
		return ""
	}
}

func probeBase(s *v1alpha1.Suite, t *v1alpha1.Trigger, e *v1alpha1.Environment) string {
	return cmp.Or(t.Spec.Ready.HTTP.URL, variables(s, t, e)[variableURL])
}

// WithProbe returns the Job with an init container that waits until the right version answers: after those that fetch inputs and keep
// results, and before all of the template. It gets no variable but the URL and the commit, and no volume.
func WithProbe(j *batchv1.Job, s *v1alpha1.Suite, t *v1alpha1.Trigger, e *v1alpha1.Environment, image string) *batchv1.Job {
	j = j.DeepCopy()
	pod := &j.Spec.Template.Spec
	first := slices.IndexFunc(pod.InitContainers, func(c corev1.Container) bool {
		return c.Name != CollectContainer &&
			c.Name != FetchContainer
	})
	if first < 0 {
		first = len(pod.InitContainers)
	}
	pod.InitContainers = slices.Insert(pod.InitContainers, first, corev1.Container{
		Name:    ReadyContainer,
		Image:   image,
		Command: []string{"/collect", "ready"},
		Args:    probeArgs(t.Spec.Ready),
		Env: withVariables(nil, map[string]string{
			ReadyURLVariable: probeBase(s, t, e), ReadySHAVariable: s.Spec.Deployment.SHA,
		}),
		Resources:       ownResources("10m", "64Mi"),
		SecurityContext: ownSecurity(pod.SecurityContext),
	})
	failAtOnce(&j.Spec)
	return j
}

func probeArgs(r *v1alpha1.Ready) (args []string) {
	h := r.HTTP.WithDefaults()
	add := func(flag, value string) {
		if value != "" {
			args = append(args, "--"+flag+"="+escape(value))
		}
	}
	add(ReadyPathFlag, h.Path)
	add(ReadyStatusFlag, strconv.Itoa(int(h.Status)))
	if h.JSON != nil {
		add(ReadyJSONFlag, h.JSON.Pointer)
	}
	add(ReadyHeaderFlag, h.Header)
	add(ReadySuccessesFlag, strconv.Itoa(int(h.Successes)))
	add(ReadyIntervalFlag, h.Interval.Duration.String())
	add(ReadyTimeoutFlag, r.Limit().String())
	return args
}

// failAtOnce lets the Job fail if the right version does not come: pods that its backoffLimit allows would wait for it as long again. Some
// templates have no room for the rule, or exclude it; their pods wait.
func failAtOnce(spec *batchv1.JobSpec) {
	severalPods := spec.BackoffLimitPerIndex != nil || spec.BackoffLimit == nil || *spec.BackoffLimit > 0
	excluded := spec.PodReplacementPolicy != nil && *spec.PodReplacementPolicy != batchv1.Failed
	if !severalPods || excluded || spec.Template.Spec.RestartPolicy != corev1.RestartPolicyNever {
		return
	}
	if spec.PodFailurePolicy == nil {
		spec.PodFailurePolicy = &batchv1.PodFailurePolicy{}
	}
	rules := &spec.PodFailurePolicy.Rules
	if len(*rules) == maxFailureRules {
		return
	}
	*rules = slices.Insert(*rules, 0, batchv1.PodFailurePolicyRule{
		Action: batchv1.PodFailurePolicyActionFailJob,
		OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
			ContainerName: new(ReadyContainer), Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{ExitNotReady},
		},
	})
}
