// Package thread keeps one comment on a pull request, on any code host.
package thread

import (
	"context"
	"strings"

	"github.com/postflight-dev/postflight/internal/core/report"
)

// PerPage is how many comments a code host lists at once. The search for one reads maxPages.
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
	Get(ctx context.Context, id int64) (*Comment, error)   // nil: it does not exist
	List(ctx context.Context, page int) ([]Comment, error) // PerPage or, on the last page, fewer; the oldest is first on page 1
	Me(ctx context.Context) (int64, error)                 // the user who has the token; not called for an App

	Create(ctx context.Context, body string) (*Comment, error)
	Edit(ctx context.Context, id int64, body string) error
	Delete(ctx context.Context, id int64) error
}

// Show keeps one comment, and returns its id. It considers only comments by its own credentials: anybody can write the marker.
func Show(ctx context.Context, r report.CommentRequest, on Thread) (id int64, err error) {
	k := &keeper{Thread: on, CommentRequest: r}
	var shown *Comment
	if r.ID != 0 {
		shown, err = on.Get(ctx, r.ID)
	}
	if shown == nil && err == nil {
		shown, err = k.oldest(ctx)
	}
	switch {
	case err != nil:
		return 0, err
	case shown != nil:
		return shown.ID, k.edit(ctx, *shown)
	default:
		return k.create(ctx)
	}
}

type keeper struct {
	Thread
	report.CommentRequest
	me int64 // 0: not known yet
}

// create lists the comments again, because another leader may have created one at the same time. Both keep the older one.
func (k *keeper) create(ctx context.Context) (int64, error) {
	created, err := k.Create(ctx, k.Body)
	if err != nil {
		return 0, err
	}
	k.me = created.AuthorID
	first, err := k.oldest(ctx)
	if err != nil || first == nil || first.ID >= created.ID {
		return created.ID, err
	}
	if err := k.Delete(ctx, created.ID); err != nil {
		return 0, err
	}
	return first.ID, k.edit(ctx, *first)
}

func (k *keeper) edit(ctx context.Context, shown Comment) error {
	if sameText(shown.Body, k.Body) {
		return nil
	}
	return k.Edit(ctx, shown.ID, k.Body)
}

func (k *keeper) oldest(ctx context.Context) (*Comment, error) {
	for page := 1; page <= maxPages; page++ {
		list, err := k.List(ctx, page)
		if err != nil {
			return nil, err
		}
		for _, c := range list {
			if !strings.HasPrefix(c.Body, k.Marker) {
				continue
			}
			if own, err := k.isOwn(ctx, c); own || err != nil {
				return &c, err
			}
		}
		if len(list) < PerPage {
			return nil, nil
		}
	}
	return nil, nil
}

func (k *keeper) isOwn(ctx context.Context, c Comment) (_ bool, err error) {
	if k.Credentials.IsApp() {
		return c.AppID == k.Credentials.AppID, nil
	}
	if k.me == 0 {
		if k.me, err = k.Me(ctx); err != nil {
			return false, err
		}
	}
	return c.AuthorID == k.me, nil
}

// sameText ignores line ends and surrounding spaces, which code hosts change.
func sameText(a, b string) bool {
	plain := func(text string) string { return strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")) }
	return plain(a) == plain(b)
}
