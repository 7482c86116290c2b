package event

// Comment is a comment on a pull or merge request. Anyone who knows the secret of an EventSource can send one: ask the code host for it
// before it counts.
type Comment struct {
	Number int64 // of the pull request
	ID     int64
	Body   string // as it was sent, of any length that an event may have
	Author int64  // the code host's number of the user
}
