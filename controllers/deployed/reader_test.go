package deployed

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/internal/core/deployment/workloads"
)

// pages answers lists as the API server does.
type pages struct {
	objects, asked int
}

func (p *pages) next(limit int64, token string) (from, to int, next string) {
	p.asked++
	from, _ = strconv.Atoi(token)
	if to = min(p.objects, from+int(limit)); to < p.objects {
		next = strconv.Itoa(to)
	}
	return from, to, next
}

func (p *pages) list(options metav1.ListOptions) *unstructured.UnstructuredList {
	from, to, next := p.next(options.Limit, options.Continue)
	page := &unstructured.UnstructuredList{}
	page.SetContinue(next)
	for i := from; i < to; i++ {
		page.Items = append(page.Items, *anObject(fmt.Sprintf("web-%05d", i), "web"))
	}
	return page
}

type dynamicPages struct {
	dynamic.ResourceInterface
	*pages
}

func (p dynamicPages) List(_ context.Context, options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	return p.list(options), nil
}

type podPages struct {
	client.Reader
	*pages
}

func (p podPages) List(_ context.Context, list client.ObjectList, all ...client.ListOption) error {
	options := (&client.ListOptions{}).ApplyOptions(all)
	from, to, next := p.next(options.Limit, options.Continue)
	pods := list.(*corev1.PodList)
	pods.Continue = next
	for range to - from {
		pods.Items = append(pods.Items, corev1.Pod{
			Spec:   corev1.PodSpec{Containers: make([]corev1.Container, 100)},
			Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "web", ImageID: "shop@sha256:1"}}},
		})
	}
	return nil
}

// TestReaderReadsFew: of thousands that a selector finds, no more pages are read than count.
func TestReaderReadsFew(t *testing.T) {
	for objects, want := range map[int]int{0: 1, 3: 1, 10: 1, 11: 2, 10_000: 3} {
		p := &pages{objects: objects}
		all, err := list(t.Context(), dynamicPages{pages: p}, metav1.ListOptions{Limit: firstPage}, byLabel("web"))
		if err != nil || len(all) != min(objects, 70) || p.asked != want {
			t.Errorf("%d objects: %d after %d pages: %v", objects, len(all), p.asked, err)
		}
	}
}

// TestPodsOf: a page of pods is in memory at a time, and of each pod its images.
func TestPodsOf(t *testing.T) {
	for pods, want := range map[int]struct {
		asked    int
		complete bool
	}{0: {1, true}, 3: {1, true}, 25: {2, true}, 100: {4, true}, 5000: {4, false}} {
		p := &pages{objects: pods}
		all, complete, err := podsOf(t.Context(), podPages{pages: p}, "shop", labels.Everything())
		if err != nil || len(all) != min(pods, podsRead) || p.asked != want.asked || complete != want.complete {
			t.Errorf("%d pods: %d after %d pages, %t: %v", pods, len(all), p.asked, complete, err)
		}
		if pods > 0 && (len(all[0].Spec.Containers) > 0 || len(workloads.Digests(all)) != 1) {
			t.Errorf("%+v", all[0])
		}
	}
}

// TestNextPage: only pages of objects that have an ordinary size become larger.
func TestNextPage(t *testing.T) {
	large := anObject("large", "web")
	large.SetAnnotations(map[string]string{"a": string(make([]byte, 1<<20))})
	for name, tc := range map[string]struct {
		page []unstructured.Unstructured
		want int64
	}{
		"ordinary":  {[]unstructured.Unstructured{*anObject("web", "web")}, 2 * firstPage},
		"one large": {[]unstructured.Unstructured{*anObject("web", "web"), *large}, firstPage},
	} {
		if got := nextPage(firstPage, &unstructured.UnstructuredList{Items: tc.page}); got != tc.want {
			t.Errorf("%s: %d", name, got)
		}
	}
	if got := nextPage(largestPage, &unstructured.UnstructuredList{}); got != largestPage {
		t.Errorf("the largest: %d", got)
	}
}
