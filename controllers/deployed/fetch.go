package deployed

import (
	"context"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"
)

// fetch reads one object by its name, so that a new Environment need not wait until the whole kind is listed. It returns false if it must
// wait. The manager may list workloads, but need not have the right to get them.
func (w *watches) fetch(running *watch, name string) (object *unstructured.Unstructured, fetched bool) {
	ctx, cancel := context.WithTimeout(running.ctx, readTimeout)
	defer cancel()
	options := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String()}
	found, err := w.client.Resource(running.resource).Namespace(running.source.Namespace).List(ctx, options)
	switch {
	case err != nil:
		return nil, false
	case len(found.Items) == 0:
		return nil, true // the watch is about to say so
	}
	return running.put(&found.Items[0])
}

// put keeps an object as if the informer had read it.
func (r *watch) put(o *unstructured.Unstructured) (object *unstructured.Unstructured, kept bool) {
	version := versionOf(o)
	slim, err := r.keep(o)
	object, kept = slim.(*unstructured.Unstructured)
	if err != nil || !kept {
		return nil, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fetched == nil {
		r.fetched = map[string]uint64{}
	}
	r.fetched[o.GetName()] = version
	if _, known, err := r.informer.GetStore().Get(object); err != nil || !known {
		return nil, true // it was deleted meanwhile
	}
	return object, r.informer.GetStore().Update(object) == nil
}

// newer returns what is kept of an object that was fetched, if it is newer than what the informer reads. Otherwise, a rollout could go back
// and forth.
func (r *watch) newer(u *unstructured.Unstructured) *unstructured.Unstructured {
	r.mu.Lock()
	defer r.mu.Unlock()
	version, found := r.fetched[u.GetName()]
	if !found {
		return nil
	}
	if versionOf(u) >= version {
		delete(r.fetched, u.GetName())
		return nil
	}
	key, err := cache.MetaNamespaceKeyFunc(u)
	if err != nil {
		return nil
	}
	kept, _, _ := r.informer.GetStore().GetByKey(key) // it fails for no store of informers
	object, _ := kept.(*unstructured.Unstructured)
	return object
}

func versionOf(o *unstructured.Unstructured) uint64 {
	version, _ := strconv.ParseUint(o.GetResourceVersion(), 10, 64) // an unknown one is the oldest
	return version
}
