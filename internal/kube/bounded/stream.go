package bounded

import (
	"context"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// stream is a watch that an informer follows.
type stream struct {
	source *source
	inner  watch.Interface
	ctx    context.Context
	cancel context.CancelFunc
	out    chan watch.Event
	do     chan func() (events []watch.Event) // what a review has found

	listed   bool   // all objects that there were at the start have come
	position uint64 // the version up to which everything has come; 0: unknown
}

func newStream(ctx context.Context, s *source, inner watch.Interface, options metav1.ListOptions) *stream {
	t := &stream{source: s, inner: inner, out: make(chan watch.Event), do: make(chan func() []watch.Event)}
	t.ctx, t.cancel = context.WithCancel(ctx)
	t.listed = options.SendInitialEvents == nil || !*options.SendInitialEvents
	if t.listed {
		t.position = version(options.ResourceVersion)
	}
	return t
}

// Stop implements watch.Interface.
func (t *stream) Stop() {
	t.cancel()
	t.inner.Stop()
}

// ResultChan implements watch.Interface.
func (t *stream) ResultChan() <-chan watch.Event { return t.out }

func (t *stream) run() {
	defer close(t.out)
	defer t.Stop()
	for {
		var events []watch.Event
		select {
		case <-t.ctx.Done():
			return
		case event, ok := <-t.inner.ResultChan():
			if !ok {
				return
			}
			events = t.admit(event)
		case found := <-t.reviewed():
			events = found()
		}
		for _, event := range events {
			select {
			case t.out <- event:
			case <-t.ctx.Done():
				return
			}
		}
	}
}

// reviewed is nil during the list, which a review could only disturb.
func (t *stream) reviewed() <-chan func() []watch.Event {
	if t.listed {
		return t.do
	}
	return nil
}

// admit returns what an informer is told of an event. It hears of what it does not get, too: controllers wait for the version of
// what they have written.
func (t *stream) admit(event watch.Event) []watch.Event {
	obj, ok := event.Object.(client.Object)
	if !ok || event.Type == watch.Error {
		return []watch.Event{event}
	}
	if event.Type == watch.Bookmark {
		t.bookmark(obj)
		return []watch.Event{event}
	}
	strip(obj)
	if t.listed {
		t.position = max(t.position, version(obj.GetResourceVersion()))
	}
	if event.Type == watch.Deleted {
		t.source.roster.forget(t.source, obj)
		return []watch.Event{event}
	}
	if t.source.roster.admit(t.source, obj) {
		return []watch.Event{event}
	}
	return []watch.Event{{Type: watch.Deleted, Object: stubOf(obj, client.ObjectKeyFromObject(obj), obj.GetUID(), obj.GetResourceVersion())}}
}

func (t *stream) bookmark(obj client.Object) {
	if obj.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true" && !t.listed {
		t.listed = true
		t.source.roster.complete(t.source)
	}
	if t.listed {
		t.position = max(t.position, version(obj.GetResourceVersion()))
	}
}

// restored returns the events of an object that is to be in the cache again, and was read apart from the stream.
func (t *stream) restored(obj client.Object, deletions uint64) []watch.Event {
	if version(obj.GetResourceVersion()) > t.position || !t.source.roster.restore(t.source, obj, deletions) {
		return nil // the stream will have it, or has had something newer
	}
	return t.marked([]watch.Event{{Type: watch.Modified, Object: obj}})
}

// marked adds a bookmark to events that did not come by the stream: the reflector continues where that is, not at the version of their
// objects.
func (t *stream) marked(events []watch.Event) []watch.Event {
	if len(events) == 0 || t.position == 0 {
		return events
	}
	mark := stubOf(t.source.kind, types.NamespacedName{}, "", strconv.FormatUint(t.position, 10))
	return append(events, watch.Event{Type: watch.Bookmark, Object: mark})
}

func version(text string) uint64 {
	v, _ := strconv.ParseUint(text, 10, 64)
	return v
}
