package job

import (
	"fmt"
	"math"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// ownResources have limits and requests, because a namespace with a quota demands both.
func ownResources(cpu, memoryLimit string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse(cpu),
			corev1.ResourceMemory: resource.MustParse("32Mi"),
		},
		Limits: corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse("1"),
			corev1.ResourceMemory: resource.MustParse(memoryLimit),
		},
	}
}

// WithinLimits returns the Job with Postflight's own containers changed to what the LimitRanges of its namespace allow. With less processor
// time they are slower; with less memory they would be killed. The problem is a sentence: why one of them does not fit, or "".
func WithinLimits(j *batchv1.Job, ranges []corev1.LimitRange) (fit *batchv1.Job, problem string) {
	if len(ranges) == 0 {
		return j, ""
	}
	j = j.DeepCopy()
	pod := &j.Spec.Template.Spec
	for c := range Containers(pod) {
		if !IsOwn(c.Name) {
			continue
		}
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			a := allowance{name: name, request: c.Resources.Requests[name], limit: c.Resources.Limits[name]}
			if problem := a.fit(pod, ranges); problem != "" {
				return nil, fmt.Sprintf(
					"The pod cannot start: the container %s of Postflight needs %s. Raise that limit, or lower the limits in the jobTemplate of the "+
						"Trigger, and notify again.",
					c.Name, problem)
			}
			c.Resources.Requests[name], c.Resources.Limits[name] = a.request, a.limit
		}
	}
	return j, ""
}

// allowance is what a container requests of a resource, and its limit.
type allowance struct {
	name           corev1.ResourceName
	request, limit resource.Quantity
}

// fit applies what each LimitRange says: first minima and maxima, then ratios, which depend on them.
func (a *allowance) fit(pod *corev1.PodSpec, ranges []corev1.LimitRange) (problem string) {
	for _, r := range ranges {
		for _, item := range r.Spec.Limits {
			if item.Type == corev1.LimitTypeContainer {
				a.raise(item.Min[a.name])
			}
		}
	}
	for _, r := range ranges {
		for _, item := range r.Spec.Limits {
			most, limited := item.Max[a.name]
			switch {
			case limited && item.Type == corev1.LimitTypePod:
				if most = a.share(pod, ranges, most); most.Sign() <= 0 {
					continue // Kubernetes refuses the jobTemplate, and says so
				}
			case !limited || item.Type != corev1.LimitTypeContainer:
				continue
			}
			if !a.lower(most) {
				return fmt.Sprintf("%s of %s, and the LimitRange %q leaves %s for it", a.needs(), a.name, r.Name, most.String())
			}
		}
	}
	for _, r := range ranges {
		for _, item := range r.Spec.Limits {
			if ratio, limited := item.MaxLimitRequestRatio[a.name]; limited && ratio.Sign() > 0 {
				a.raise(a.scaled(float64(a.limit.MilliValue()) / ratio.AsApproximateFloat64()))
			}
		}
	}
	return ""
}

func (a *allowance) raise(least resource.Quantity) {
	if a.request.Cmp(least) < 0 {
		a.request = least
	}
	if a.limit.Cmp(least) < 0 {
		a.limit = least
	}
}

// lower reports whether the container can do with so much.
func (a *allowance) lower(most resource.Quantity) bool {
	if a.limit.Cmp(most) <= 0 {
		return true
	}
	if a.name == corev1.ResourceMemory || a.request.Cmp(most) > 0 {
		return false
	}
	a.limit = most
	return true
}

// needs is the least that the container can do with.
func (a *allowance) needs() string {
	if a.name == corev1.ResourceMemory {
		return a.limit.String()
	}
	return a.request.String()
}

// share is what a limit of the whole pod leaves: the jobTemplate comes first, and one of our own may run beside another.
func (a *allowance) share(pod *corev1.PodSpec, ranges []corev1.LimitRange, most resource.Quantity) resource.Quantity {
	rest := most.DeepCopy()
	for c := range Containers(pod) {
		if IsOwn(c.Name) || !runsBeside(pod, c) {
			continue
		}
		limit, limited := c.Resources.Limits[a.name]
		if !limited {
			limit = defaultLimit(ranges, a.name)
		}
		rest.Sub(limit)
	}
	if half := a.scaled(float64(most.MilliValue()) / 2); rest.Cmp(half) > 0 {
		return half
	}
	return rest
}

// runsBeside reports whether a container runs beside the tests.
func runsBeside(pod *corev1.PodSpec, c *corev1.Container) bool {
	return c.RestartPolicy != nil || slices.ContainsFunc(pod.Containers, func(other corev1.Container) bool { return other.Name == c.Name })
}

// scaled rounds thousandths of a unit up: to those of a processor, or to bytes.
func (a *allowance) scaled(thousandths float64) resource.Quantity {
	if a.name == corev1.ResourceMemory {
		return *resource.NewQuantity(int64(math.Ceil(thousandths/1000)), resource.BinarySI)
	}
	return *resource.NewMilliQuantity(int64(math.Ceil(thousandths)), resource.DecimalSI)
}

func defaultLimit(ranges []corev1.LimitRange, name corev1.ResourceName) (limit resource.Quantity) {
	for _, r := range ranges {
		for _, item := range r.Spec.Limits {
			if d, exists := item.Default[name]; exists && item.Type == corev1.LimitTypeContainer {
				return d
			}
		}
	}
	return limit
}
