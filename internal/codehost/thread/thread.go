// Package thread keeps one comment on a pull request, on any code host.
package thread

import (
	"context"
	"strings"

	"github.com/postflight-dev/postflight/internal/core/report"
)

// PerPage is how many comments a code host lists at once, and maxPages bounds how far one is looked for.
const (
	PerPage  = 100
	maxPages = 10
)

// Comment is a comment as a code host shows it.
type Comment struct {
	ID       int64
	Body     string
	AuthorID int64
	AppID    int64 // the App that wrote it; 0: none
}

// Thread is the comments of one pull request.
type Thread interface {
	// Get returns nil if the comment is gone.
	Get(ctx context.Context, id int64) (*Comment, error)

	// List returns a page of PerPage or, if it is the last one, fewer. The oldest is first on page 1.
	List(ctx context.Context, page int) ([]Comment, error)

	// IsOwn reports whether the credentials that are used here wrote the comment.
	IsOwn(ctx context.Context, c Comment) (bool, error)

	Create(ctx context.Context, body string) (id int64, err error)
	Edit(ctx context.Context, id int64, body string) error
	Delete(ctx context.Context, id int64) error
}

// Show keeps one comment, and returns its number. Only those of its own are considered: anybody can write the marker.
func Show(ctx context.Context, r report.CommentRequest, on Thread) (id int64, err error) {
	var shown *Comment
	if r.ID != 0 {
		shown, err = on.Get(ctx, r.ID)
	}
	if shown == nil && err == nil {
		shown, err = oldest(ctx, r, on)
	}
	switch {
	case err != nil:
		return 0, err
	case shown != nil:
		return shown.ID, edit(ctx, r, on, *shown)
	default:
		return create(ctx, r, on)
	}
}

// create also looks for a comment that another leader created at the same time. Both keep the older one.
func create(ctx context.Context, r report.CommentRequest, on Thread) (int64, error) {
	id, err := on.Create(ctx, r.Body)
	if err != nil {
		return 0, err
	}
	first, err := oldest(ctx, r, on)
	if err != nil || first == nil || first.ID >= id {
		return id, err
	}
	if err := on.Delete(ctx, id); err != nil {
		return 0, err
	}
	return first.ID, edit(ctx, r, on, *first)
}

func edit(ctx context.Context, r report.CommentRequest, on Thread, shown Comment) error {
	if sameText(shown.Body, r.Body) {
		return nil
	}
	return on.Edit(ctx, shown.ID, r.Body)
}

// oldest is the first own comment with the marker; nil if there is none. Whoever has the credentials is asked for only
// if a comment has the marker.
func oldest(ctx context.Context, r report.CommentRequest, on Thread) (*Comment, error) {
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
		if len(list) < PerPage {
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
