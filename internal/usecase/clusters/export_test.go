package clusters

// Size is how many answers are kept, and of how many clusters something is known.
func (o *Overviews) Size() (answers, clusters int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.asked), len(o.clusters)
}
