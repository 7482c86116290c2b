package index

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// NewCache is for the options of a manager. The cache lists Suites itself: controller-runtime copies each object into the list, even if it
// is shared, and that took 18 MiB for the 18,000 Suites of an Environment.
func NewCache(config *rest.Config, options cache.Options) (cache.Cache, error) {
	c := &suiteCache{only: options.DefaultNamespaces, fields: map[string]client.IndexerFunc{}}
	newInformer := options.NewInformer
	if newInformer == nil {
		newInformer = toolscache.NewSharedIndexInformer
	}
	options.NewInformer = func(
		source toolscache.ListerWatcher, kind runtime.Object, resync time.Duration, indexers toolscache.Indexers,
	) toolscache.SharedIndexInformer {
		informer := newInformer(source, kind, resync, indexers)
		if _, ok := kind.(*v1alpha1.Suite); ok {
			c.add(informer.GetIndexer())
		}
		return informer
	}
	var err error
	c.Cache, err = cache.New(config, options)
	return c, err
}

// suiteCache has the indexes of Suites, by which they are found in a namespace. Its informers of Suites are never removed.
type suiteCache struct {
	cache.Cache
	only map[string]cache.Config // the namespaces that it has; empty: all

	mu     sync.Mutex
	known  []toolscache.Indexer          // one for each informer: a cache of some namespaces has one for each
	fields map[string]client.IndexerFunc // by name; not changed once the cache has started
	full   atomic.Pointer[[]toolscache.Indexer]
}

func (c *suiteCache) add(indexer toolscache.Indexer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known = append(c.known, indexer)
}

// IndexField implements FieldIndexer.
func (c *suiteCache) IndexField(ctx context.Context, obj client.Object, field string, extract client.IndexerFunc) error {
	if _, ok := obj.(*v1alpha1.Suite); !ok {
		return c.Cache.IndexField(ctx, obj, field, extract)
	}
	informer, err := c.GetInformer(ctx, obj, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	c.fields[field] = extract
	return informer.AddIndexers(toolscache.Indexers{indexName(field): keysOf(field, extract)})
}

func keysOf(field string, extract client.IndexerFunc) toolscache.IndexFunc {
	return func(o any) (keys []string, err error) {
		s, ok := o.(*v1alpha1.Suite)
		if !ok {
			return nil, fmt.Errorf("index Suites by %s: there is a %T", field, o)
		}
		for _, value := range extract(s) {
			keys = append(keys, indexKey(field, s.Namespace, value))
		}
		return keys, nil
	}
}

func indexName(field string) string { return "suite." + field }

// sparse are the fields whose values few Suites share. A set for each value took a tenth of the memory of a run, so several share one.
var sparse = []string{Run, Commit}

// buckets is how many sets a sparse field has: with 10,000 Suites they have five each, and fewer would save no more. Of 100,000 Suites, a
// lookup passes over fifty, which takes some microseconds.
const buckets = 2048

var seed = maphash.MakeSeed()

func indexKey(field, namespace, value string) string {
	key := namespace + "/" + value
	if slices.Contains(sparse, field) {
		return strconv.FormatUint(maphash.String(seed, key)%buckets, 10)
	}
	return key
}

// sharedSuites is an option that asks a suiteCache for the Suites themselves, and no list. Other readers ignore it.
type sharedSuites struct{ all []*v1alpha1.Suite }

// ApplyToList implements ListOption.
func (*sharedSuites) ApplyToList(*client.ListOptions) {}

// List implements Reader.
func (c *suiteCache) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	suites, ok := list.(*v1alpha1.SuiteList)
	o := (&client.ListOptions{}).ApplyOptions(options)
	if !ok || o.Continue != "" || c.unknown(o.Namespace) {
		return c.Cache.List(ctx, list, options...) // which says what is wrong
	}
	all, err := c.suites(ctx, o)
	if err != nil {
		return err
	}
	for _, option := range options {
		if wanted, ok := option.(*sharedSuites); ok {
			wanted.all = all
			return nil
		}
	}
	suites.Items = make([]v1alpha1.Suite, len(all))
	for i, s := range all {
		if o.UnsafeDisableDeepCopy != nil && *o.UnsafeDisableDeepCopy {
			suites.Items[i] = *s
			continue
		}
		s.DeepCopyInto(&suites.Items[i])
		suites.Items[i].SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Suite"))
	}
	return nil
}

func (c *suiteCache) unknown(namespace string) bool {
	_, known := c.only[namespace]
	return namespace != "" && len(c.only) > 0 && !known
}

func (c *suiteCache) suites(ctx context.Context, o *client.ListOptions) ([]*v1alpha1.Suite, error) {
	indexers, err := c.indexers(ctx)
	if err != nil {
		return nil, err
	}
	q, err := c.query(o)
	if err != nil {
		return nil, err
	}
	all := []*v1alpha1.Suite{}
	for _, indexer := range indexers {
		objects, err := q.candidates(indexer)
		if err != nil {
			return nil, err
		}
		all = slices.Grow(all, len(objects))
		for _, object := range objects {
			if s := object.(*v1alpha1.Suite); q.selects(s) {
				all = append(all, s)
			}
		}
	}
	if o.Limit > 0 && int64(len(all)) > o.Limit {
		all = all[:o.Limit]
	}
	return all, nil
}

// indexers waits until all Suites that existed at the start are in the cache, as every read does.
func (c *suiteCache) indexers(ctx context.Context) ([]toolscache.Indexer, error) {
	if full := c.full.Load(); full != nil {
		return *full, nil
	}
	informer, err := c.GetInformer(ctx, &v1alpha1.Suite{})
	if err != nil {
		return nil, err
	}
	if !informer.HasSynced() {
		return nil, &cache.ErrCacheNotStarted{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	all := slices.Clone(c.known)
	c.full.Store(&all)
	return all, nil
}

// suiteQuery selects Suites.
type suiteQuery struct {
	namespace string
	fields    fields.Requirements
	labels    labels.Selector
	extract   map[string]client.IndexerFunc
}

func (c *suiteCache) query(o *client.ListOptions) (q suiteQuery, err error) {
	q = suiteQuery{namespace: o.Namespace, labels: o.LabelSelector, extract: c.fields}
	if o.FieldSelector != nil {
		q.fields = o.FieldSelector.Requirements()
	}
	for _, r := range q.fields {
		if c.fields[r.Field] == nil || r.Operator != selection.Equals {
			return q, fmt.Errorf("the cache cannot select Suites by %q: it has no such index", o.FieldSelector)
		}
	}
	return q, nil
}

// candidates has no more than what the first field selects, if there is a namespace and the field is not sparse.
func (q suiteQuery) candidates(indexer toolscache.Indexer) ([]any, error) {
	switch {
	case q.namespace == "":
		return indexer.List(), nil
	case len(q.fields) == 0:
		return indexer.ByIndex(toolscache.NamespaceIndex, q.namespace)
	default:
		return indexer.ByIndex(indexName(q.fields[0].Field), indexKey(q.fields[0].Field, q.namespace, q.fields[0].Value))
	}
}

func (q suiteQuery) selects(s *v1alpha1.Suite) bool {
	if q.namespace != "" && s.Namespace != q.namespace {
		return false
	}
	for i, r := range q.fields {
		indexed := i == 0 && q.namespace != "" && !slices.Contains(sparse, r.Field)
		if !indexed && !slices.Contains(q.extract[r.Field](s), r.Value) {
			return false
		}
	}
	return q.labels == nil || q.labels.Matches(labels.Set(s.Labels))
}
