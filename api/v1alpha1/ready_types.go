package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Ready is what a run waits for: the version that was notified.
type Ready struct {
	// workloads makes a run wait, before it takes a slot, until the workloads that its Environment names of the notified
	// repository have rolled out the notified commit. Without such workloads there is nothing to wait for. Defaults to true.
	// +optional
	Workloads *bool `json:"workloads,omitempty"`

	// timeout is how long a run waits for the workloads, and then each of its pods for the answer of http; from 10s, in
	// which no rollout is complete, to 6h, within which somebody has noticed. Afterwards the run ends as Error. Defaults to
	// 10m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10s') && duration(self) <= duration('6h')",message="ready.timeout must be from 10s to 6h"
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// http is asked by an init container in each pod of the run, before its other containers, until it answers as it should.
	// +optional
	HTTP *ReadyHTTP `json:"http,omitempty"`
}

// ReadyHTTP is a request, and its right answer. It is a GET without credentials, which follows up to 5 redirects.
//
// +kubebuilder:validation:XValidation:rule="has(self.path) != has(self.url)",message="http has a path or a url"
// +kubebuilder:validation:XValidation:rule="!has(self.json) || !has(self.header)",message="http has json or header, not both"
type ReadyHTTP struct {
	// path is appended to the variable URL of the run, such as /version or /health?full=1.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^/[!-~]*$`
	Path string `json:"path,omitempty"`

	// url is asked instead: absolute http or https, at most 2,048 bytes.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHost() != ''",message="url must be an absolute http or https URL"
	URL string `json:"url,omitempty"`

	// status that the answer has. Defaults to 200.
	// +optional
	// +kubebuilder:validation:Minimum=200
	// +kubebuilder:validation:Maximum=599
	Status int32 `json:"status,omitempty"`

	// json is where the answer has the commit. At least 7 digits of it are enough, as Git shortens it.
	// +optional
	JSON *ReadyJSON `json:"json,omitempty"`

	// header of the answer that has the commit, such as X-Version. At least 7 digits of it are enough.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9_-]*$`
	Header string `json:"header,omitempty"`

	// successes is how many right answers in a row are needed, from 1 to 100: while old and new pods serve beside each other,
	// one answer says little. Defaults to 3.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Successes int32 `json:"successes,omitempty"`

	// interval between two requests, from 1s, which no server minds, to 1m. Defaults to 2s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('1m')",message="ready.http.interval must be from 1s to 1m"
	Interval *metav1.Duration `json:"interval,omitempty"`
}

// ReadyJSON is a value in a JSON document.
type ReadyJSON struct {
	// pointer to a string or a number, as in RFC 6901: /commit, or /build/commit, or /services/0/commit.
	// +required
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^(/([^~/]|~[01])*)+$`
	Pointer string `json:"pointer"`
}

// The defaults of ready, for a Trigger that leaves them out.
const (
	defaultReadyTimeout   = 10 * time.Minute
	defaultReadyStatus    = 200
	defaultReadySuccesses = 3
	defaultReadyInterval  = 2 * time.Second
)

// ForWorkloads reports whether a run waits for the workloads of its Environment. Ready may be nil.
func (r *Ready) ForWorkloads() bool {
	return r != nil && (r.Workloads == nil || *r.Workloads)
}

// Limit is how long each of the waits may take.
func (r *Ready) Limit() time.Duration { return positive(r.Timeout, defaultReadyTimeout) }

// ProbeLimit is how long the pods of a run may ask for the version; 0 without a request. Ready may be nil.
func (r *Ready) ProbeLimit() time.Duration {
	if r == nil || r.HTTP == nil {
		return 0
	}
	return r.Limit()
}

// WithDefaults returns the request with what it leaves out.
func (h ReadyHTTP) WithDefaults() ReadyHTTP {
	if h.Status == 0 {
		h.Status = defaultReadyStatus
	}
	if h.Successes == 0 {
		h.Successes = defaultReadySuccesses
	}
	h.Interval = &metav1.Duration{Duration: positive(h.Interval, defaultReadyInterval)}
	return h
}
