package index

import toolscache "k8s.io/client-go/tools/cache"

// Object returns the object of a watch's event, or of the tombstone that stands for one whose deletion the watch missed.
func Object[T any](event any) (T, bool) {
	if gone, ok := event.(toolscache.DeletedFinalStateUnknown); ok {
		event = gone.Obj
	}
	object, ok := event.(T)
	return object, ok
}
