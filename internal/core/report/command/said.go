package command

import (
	"fmt"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

const (
	// MaxAge is how old a comment may be: a delivery that failed comes again within minutes, and nothing old is repeated by surprise.
	MaxAge = time.Hour

	maxUser = 64 // bytes of a name on a code host, as of those who start deployments
)

// Question is about a comment on the pull request of the Target.
type Question struct {
	report.Request
	CommentID int64
}

// Said is what the code host says about a comment at this moment.
type Said struct {
	Body      string
	Number    int64 // of the pull request
	AuthorID  int64
	Author    string
	CreatedAt time.Time
	Edited    bool
	Bot       bool
	MayWrite  bool // the author has write access; false for a bot, because the code host is not asked
}

// Reaction is how Postflight answers a comment at a glance.
type Reaction string

// The reactions.
const (
	Done     Reaction = "done"
	Seen     Reaction = "seen"
	Confused Reaction = "confused"
)

// Problem returns why a comment does not count, as a sentence, or "". It trusts the event only to know where to look.
func Problem(c event.Comment, said *Said, now time.Time) string {
	switch {
	case said == nil || said.Number != c.Number || said.AuthorID != c.Author:
		return "The code host knows no such comment on this pull request."
	case said.Bot:
		return "The comment is by a bot; only people can give commands."
	case said.Edited || !sameText(said.Body, c.Body):
		return "The comment was edited. Write a new one."
	case now.Sub(said.CreatedAt) > MaxAge:
		return "The comment is more than an hour old. Write a new one."
	case !said.MayWrite:
		return "Only people who may write to the repository can give commands."
	default:
		return ""
	}
}

// IsStranger reports whether a person without write access gave a command. Such a person gets a reaction.
func IsStranger(c event.Comment, said *Said, now time.Time) bool {
	if said == nil || said.MayWrite {
		return false
	}
	member := *said
	member.MayWrite = true
	return Problem(c, &member, now) == ""
}

func sameText(a, b string) bool {
	plain := func(text string) string { return strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")) }
	return plain(a) == plain(b)
}

// By returns who gave a command, for people.
func By(said *Said, host v1alpha1.HostingService) string {
	return fmt.Sprintf("%s on %s, in a comment", plaintext.Line(said.Author, maxUser), host)
}

// RequestID is the id of all requests that a comment makes, however often it is delivered. The attempts that the comment has started have
// it, with a dot and what is different for each delivery.
func RequestID(host v1alpha1.HostingService, comment int64) string {
	return fmt.Sprintf("%s-comment-%d", strings.ToLower(string(host)), comment)
}
