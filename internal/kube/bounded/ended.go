package bounded

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/postflight-dev/postflight/internal/core/run/outcome"
)

// endedJobs is an informer that keeps Jobs encoded once they have ended, which takes a quarter of the memory: a Job is mostly room for a
// template. They are seldom read. All that leaves the informer are Jobs of their own, which nothing shares.
type endedJobs struct{ toolscache.SharedIndexInformer }

// endedJob is what the store of the informer has.
type endedJob struct {
	namespace, name, version string
	encoded                  []byte // without these
}

// encode returns everything else as it is, also what has been encoded before: the informer passes the objects of a list twice.
func encode(o any) any {
	j, ok := o.(*batchv1.Job)
	if !ok || outcome.CompletionTime(j) == nil {
		return o
	}
	unnamed := *j
	unnamed.Namespace, unnamed.Name, unnamed.ResourceVersion = "", "", ""
	encoded, err := unnamed.Marshal()
	if err != nil {
		return o
	}
	return &endedJob{j.Namespace, j.Name, j.ResourceVersion, encoded}
}

func decode(o any) any {
	switch o := o.(type) {
	case *endedJob:
		j := &batchv1.Job{}
		utilruntime.Must(j.Unmarshal(o.encoded)) // encode has made it
		j.Namespace, j.Name, j.ResourceVersion = o.namespace, o.name, o.version
		return j
	case toolscache.DeletedFinalStateUnknown:
		o.Obj = decode(o.Obj)
		return o
	default:
		return o
	}
}

func decodeAll(objects []any, err error) ([]any, error) {
	for i := range objects {
		objects[i] = decode(objects[i])
	}
	return objects, err
}

// GetObjectMeta returns what the informer and its store need.
func (e *endedJob) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: e.namespace, Name: e.name, ResourceVersion: e.version}
}

// SetTransform implements SharedIndexInformer. A cache without a transform of Jobs passes nil.
func (i endedJobs) SetTransform(strip toolscache.TransformFunc) error {
	if strip == nil {
		strip = func(o any) (any, error) { return o, nil }
	}
	return i.SharedIndexInformer.SetTransform(func(o any) (any, error) {
		stripped, err := strip(o)
		return encode(stripped), err
	})
}

// AddIndexers implements SharedIndexInformer.
func (i endedJobs) AddIndexers(indexers toolscache.Indexers) error {
	return i.SharedIndexInformer.AddIndexers(decoding(indexers))
}

func decoding(indexers toolscache.Indexers) toolscache.Indexers {
	all := toolscache.Indexers{}
	for name, values := range indexers {
		all[name] = func(o any) ([]string, error) { return values(decode(o)) }
	}
	return all
}

// GetStore implements SharedIndexInformer.
func (i endedJobs) GetStore() toolscache.Store { return i.GetIndexer() }

// GetIndexer implements SharedIndexInformer.
func (i endedJobs) GetIndexer() toolscache.Indexer {
	return decodingIndexer{i.SharedIndexInformer.GetIndexer()}
}

// AddEventHandler implements SharedIndexInformer.
func (i endedJobs) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.SharedIndexInformer.AddEventHandler(decodingHandler{h})
}

// AddEventHandlerWithResyncPeriod implements SharedIndexInformer.
func (i endedJobs) AddEventHandlerWithResyncPeriod(
	h toolscache.ResourceEventHandler, resync time.Duration,
) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.SharedIndexInformer.AddEventHandlerWithResyncPeriod(decodingHandler{h}, resync)
}

// AddEventHandlerWithOptions implements SharedIndexInformer.
func (i endedJobs) AddEventHandlerWithOptions(
	h toolscache.ResourceEventHandler, options toolscache.HandlerOptions,
) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.SharedIndexInformer.AddEventHandlerWithOptions(decodingHandler{h}, options)
}

type decodingHandler struct {
	toolscache.ResourceEventHandler
}

func (h decodingHandler) OnAdd(o any, isInInitialList bool) {
	h.ResourceEventHandler.OnAdd(decode(o), isInInitialList)
}

func (h decodingHandler) OnUpdate(old, updated any) {
	h.ResourceEventHandler.OnUpdate(decode(old), decode(updated))
}

func (h decodingHandler) OnDelete(o any) { h.ResourceEventHandler.OnDelete(decode(o)) }

type decodingIndexer struct{ toolscache.Indexer }

func (i decodingIndexer) AddIndexers(indexers toolscache.Indexers) error {
	return i.Indexer.AddIndexers(decoding(indexers))
}

func (i decodingIndexer) List() []any {
	all, _ := decodeAll(i.Indexer.List(), nil)
	return all
}

func (i decodingIndexer) Get(o any) (item any, exists bool, err error) {
	item, exists, err = i.Indexer.Get(o)
	return decode(item), exists, err
}

func (i decodingIndexer) GetByKey(key string) (item any, exists bool, err error) {
	item, exists, err = i.Indexer.GetByKey(key)
	return decode(item), exists, err
}

func (i decodingIndexer) Index(name string, o any) ([]any, error) {
	return decodeAll(i.Indexer.Index(name, o))
}

func (i decodingIndexer) ByIndex(name, value string) ([]any, error) {
	return decodeAll(i.Indexer.ByIndex(name, value))
}
