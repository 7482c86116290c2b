package bounded

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// aTrigger is the older, the lower its number is.
func aTrigger(number, bytes int) *v1alpha1.Trigger {
	name := fmt.Sprintf("t-%02d", number)
	t := &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{
		Namespace: "acme", Name: name, UID: types.UID(name), ResourceVersion: fmt.Sprint(number + 1), Generation: 1,
		CreationTimestamp: metav1.NewTime(time.Unix(int64(1e9+number), 0)),
	}}
	t.Spec.JobTemplate.Spec.Template.Spec.Containers = []corev1.Container{{Env: []corev1.EnvVar{{Value: strings.Repeat("x", bytes)}}}}
	return t
}

// stored is an API server that answers in pages.
type stored struct {
	triggers []*v1alpha1.Trigger
	largest  int64    // page that was asked for; 0: unlimited
	asked    []string // for which namespace, by page; "" is for all
	fails    func(page int) bool
	fed      chan watch.Event
}

func (s *stored) ListWithContext(_ context.Context, options metav1.ListOptions) (runtime.Object, error) {
	s.largest = max(s.largest, options.Limit)
	which, _ := fields.ParseSelector(options.FieldSelector)
	namespace, _ := which.RequiresExactMatch("metadata.namespace")
	name, _ := which.RequiresExactMatch("metadata.name")
	s.asked = append(s.asked, namespace)
	if s.fails != nil && s.fails(len(s.asked)) {
		return nil, errors.New("no")
	}
	from := 0
	if options.Continue != "" {
		_, _ = fmt.Sscan(options.Continue, &from)
	}
	list := &v1alpha1.TriggerList{ListMeta: metav1.ListMeta{ResourceVersion: "1000"}}
	for i := from; i < len(s.triggers); i++ {
		if t := s.triggers[i]; namespace != "" && t.Namespace != namespace || name != "" && t.Name != name {
			continue
		}
		if int64(len(list.Items)) == options.Limit {
			list.Continue = fmt.Sprint(i)
			break
		}
		list.Items = append(list.Items, *s.triggers[i].DeepCopy())
	}
	return list, nil
}

func (s *stored) WatchWithContext(context.Context, metav1.ListOptions) (watch.Interface, error) {
	return watch.NewProxyWatcher(s.fed), nil
}

func sourceOf(s *stored) *source {
	return newSource(New(), origin{ListerWatcherWithContext: s}, &v1alpha1.Trigger{})
}

// TestListIsPaged: an API server that cannot stream is asked for few objects at once, and of these the oldest that fit are kept.
func TestListIsPaged(t *testing.T) {
	server := &stored{}
	for i := range 50 {
		server.triggers = append(server.triggers, aTrigger(i, 400<<10))
	}
	server.triggers[0] = aTrigger(0, 1<<20)
	s := sourceOf(server)
	list, err := s.ListWithContext(t.Context(), metav1.ListOptions{ResourceVersion: "0", Limit: 500})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	_ = meta.EachListItem(list, func(o runtime.Object) error { names = append(names, o.(*v1alpha1.Trigger).Name); return nil })
	if len(names) != 20 || slices.Contains(names, "t-00") || names[0] != "t-01" || server.largest != objectPageSize {
		t.Errorf("kept %v, with pages of %d", names, server.largest)
	}
	if held := s.book.accounts[""].held; held > triggerBytes {
		t.Errorf("%d bytes are kept, and %d are allowed", held, triggerBytes)
	}
	told := 0
	for round := s.roster.refused(nil); len(round) > 0; round = s.roster.refused(nil) {
		s.roster.reported(round[0])
		told++
	}
	if told != 30 {
		t.Errorf("%d are to be told, want 30", told)
	}
}

// TestStream: an informer hears of what it does not get as of a deletion, and forgets what has become too large.
func TestStream(t *testing.T) {
	server := &stored{fed: make(chan watch.Event)}
	w, err := sourceOf(server).WatchWithContext(t.Context(), metav1.ListOptions{ResourceVersion: "1"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for _, step := range []struct {
		reason string
		event  watch.EventType
		bytes  int
		want   watch.EventType
	}{
		{"it fits", watch.Added, 100, watch.Added},
		{"it has become too large", watch.Modified, 1 << 20, watch.Deleted},
		{"controllers wait for the version that they have written", watch.Modified, 1 << 20, watch.Deleted},
		{"it fits again", watch.Modified, 100, watch.Modified},
		{"it is gone", watch.Deleted, 100, watch.Deleted},
	} {
		server.fed <- watch.Event{Type: step.event, Object: aTrigger(1, step.bytes)}
		got := <-w.ResultChan()
		if size := Size(got.Object); got.Type != step.want || size > 16<<10 || got.Object.(*v1alpha1.Trigger).ResourceVersion != "2" {
			t.Errorf("%s: got %s of %d bytes, want %s", step.reason, got.Type, size, step.want)
		}
	}
}

// TestOldestAreCached: every replica caches the same objects, whatever the order in which it hears of them.
func TestOldestAreCached(t *testing.T) {
	for name, numbers := range map[string][]int{"oldest first": {0, 1, 2, 3}, "newest first": {3, 2, 1, 0}} {
		t.Run(name, func(t *testing.T) {
			a := newAccount("acme", 250)
			for _, n := range numbers {
				e := &entry{NamespacedName: types.NamespacedName{Name: fmt.Sprint(n)}, created: time.Unix(int64(n), 0), bytes: 100}
				a.put(e)
				a.hold(e)
				if a.held > a.bound {
					t.Errorf("%d bytes are held", a.held)
				}
			}
			for range 2 { // what makes room comes before what needs it
				excess, missing := a.review()
				for _, e := range excess {
					a.release(e)
				}
				for _, e := range missing {
					a.hold(e)
				}
			}
			for _, e := range a.entries {
				if old := e.Name == "0" || e.Name == "1"; e.held != old {
					t.Errorf("%s: held is %t", e.Name, e.held)
				}
			}
		})
	}
}

// TestSize: it is memory that counts, not text.
func TestSize(t *testing.T) {
	trigger := aTrigger(1, 0)
	before := Size(trigger)
	trigger.Spec.JobTemplate.Spec.Template.Spec.Containers = make([]corev1.Container, 1000)
	if grown := Size(trigger) - before; grown < 400_000 {
		t.Errorf("1,000 empty containers are counted as %d bytes", grown)
	}
	if got := Size(&v1alpha1.Trigger{}); got > 4<<10 {
		t.Errorf("an empty Trigger is counted as %d bytes", got)
	}
	t.Logf("an ordinary Trigger takes %d bytes", before)
}

func refusedAs(message string) []metav1.Condition {
	return []metav1.Condition{{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonTooLarge, Message: message, ObservedGeneration: 1,
	}}
}
