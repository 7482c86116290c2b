package collect

import (
	"fmt"
	"slices"
	"sync"

	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// losses counts files that are not kept, by reason. The zero value is empty.
type losses struct {
	mu  sync.Mutex
	all []*loss
}

type loss struct {
	reason string
	first  string // path
	files  int
}

// add counts a file. The reason follows a colon, for one file or several: "larger than 1 GiB".
func (l *losses) add(path, reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.all, func(known *loss) bool { return known.reason == reason })
	if i < 0 {
		l.all = append(l.all, &loss{reason, path, 1})
		return
	}
	l.all[i].files++
}

func (l *losses) sentences() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []string
	for _, known := range l.all {
		path := plaintext.Line(known.first, maxPath)
		if known.files == 1 {
			all = append(all, fmt.Sprintf("%s was not kept: %s.", path, known.reason))
		} else {
			all = append(all, fmt.Sprintf("%s and %d more were not kept: %s.", path, known.files-1, known.reason))
		}
	}
	return all
}
