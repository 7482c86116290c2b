package report

import (
	"context"
	"strings"
)

// CommentsPerPage is how many comments a code host lists at once, and maxPages bounds how far one is looked for.
const (
	CommentsPerPage = 100
	maxPages        = 10
)

// PostedComment is a comment as a code host shows it.
type PostedComment struct {
	ID       int64
	Body     string
	AuthorID int64
	AppID    int64 // the App that wrote it; 0: none
}

// CommentThread is the comments of one pull request.
type CommentThread interface {
	// Get returns nil if the comment is gone.
	Get(ctx context.Context, id int64) (*PostedComment, error)

	// List returns a page of CommentsPerPage or, if it is the last one, fewer. The oldest is first on page 1.
	List(ctx context.Context, page int) ([]PostedComment, error)

	// IsOwn reports whether the credentials that are used here wrote the comment.
	IsOwn(ctx context.Context, c PostedComment) (bool, error)

	Create(ctx context.Context, body string) (id int64, err error)
	Edit(ctx context.Context, id int64, body string) error
	Delete(ctx context.Context, id int64) error
}

// Show keeps one comment, and returns its number. Only those of its own are considered: anybody can write the marker.
func (r CommentRequest) Show(ctx context.Context, on CommentThread) (id int64, err error) {
	var shown *PostedComment
	if r.ID != 0 {
		shown, err = on.Get(ctx, r.ID)
	}
	if shown == nil && err == nil {
		shown, err = r.oldest(ctx, on)
	}
	switch {
	case err != nil:
		return 0, err
	case shown != nil:
		return shown.ID, r.edit(ctx, on, *shown)
	default:
		return r.create(ctx, on)
	}
}

// create also looks for a comment that another leader created at the same time. Both keep the older one.
func (r CommentRequest) create(ctx context.Context, on CommentThread) (int64, error) {
	id, err := on.Create(ctx, r.Body)
	if err != nil {
		return 0, err
	}
	oldest, err := r.oldest(ctx, on)
	if err != nil || oldest == nil || oldest.ID >= id {
		return id, err
	}
	if err := on.Delete(ctx, id); err != nil {
		return 0, err
	}
	return oldest.ID, r.edit(ctx, on, *oldest)
}

func (r CommentRequest) edit(ctx context.Context, on CommentThread, shown PostedComment) error {
	if sameText(shown.Body, r.Body) {
		return nil
	}
	return on.Edit(ctx, shown.ID, r.Body)
}

// oldest is the first own comment with the marker; nil if there is none. Whoever has the credentials is asked for only
// if a comment has the marker.
func (r CommentRequest) oldest(ctx context.Context, on CommentThread) (*PostedComment, error) {
	for page := 1; page <= maxPages; page++ {
		list, err := on.List(ctx, page)
		if err != nil {
			return nil, err
		}
		for _, c := range list {
			if !strings.HasPrefix(c.Body, r.Marker) {
				continue
			}
			if own, err := on.IsOwn(ctx, c); own || err != nil {
				return &c, err
			}
		}
		if len(list) < CommentsPerPage {
			return nil, nil
		}
	}
	return nil, nil
}

// sameText ignores what code hosts change about the ends of lines.
func sameText(a, b string) bool {
	plain := func(text string) string { return strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")) }
	return plain(a) == plain(b)
}
