package report

import (
	"time"

	"github.com/go-json-experiment/json"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// maxAnswer is the bound of the line that answers a command, in bytes: people read some ten runs in a line.
const maxAnswer = 1024

// Answer is the answer to a command in a comment, which the comment of Postflight shows in one line. It is kept on a run.
type Answer struct {
	Comment int64     `json:"comment"` // the number of the comment with the command
	At      time.Time `json:"at"`      // when that was written
	Text    string    `json:"text"`
}

// NewAnswer returns an answer whose text is one line.
func NewAnswer(comment int64, at time.Time, text string) Answer {
	return Answer{Comment: comment, At: at.UTC(), Text: plaintext.Line(text, maxAnswer)}
}

// Annotation returns the answer as a run keeps it.
func (a Answer) Annotation() string {
	text, err := json.Marshal(a)
	if err != nil {
		return "" // not possible: numbers, times and text are always JSON
	}
	return string(text)
}

// AnswerOn returns the answer that a run keeps, or a zero one. Anyone who can edit the run can write it, so it is bounded again.
func AnswerOn(s *v1alpha1.Suite) (a Answer) {
	text := s.Annotations[v1alpha1.AnnotationAnswer]
	if text == "" || len(text) > 8*maxAnswer || json.Unmarshal([]byte(text), &a) != nil || a.Comment < 1 {
		return Answer{}
	}
	return NewAnswer(a.Comment, a.At, a.Text)
}

// After reports whether an answer is about a later comment than another one.
func (a Answer) After(other Answer) bool {
	return a.At.After(other.At) || a.At.Equal(other.At) && a.Comment > other.Comment
}

// lastAnswer is the answer to the last of the comments about the runs.
func lastAnswer(runs []Run, same func(*v1alpha1.Suite) bool) (last Answer) {
	for _, r := range runs {
		if a := AnswerOn(r.Suite); a.Comment != 0 && a.After(last) && same(r.Suite) {
			last = a
		}
	}
	return last
}
