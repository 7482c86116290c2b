package fetch

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/text/inputpath"
)

// List says which files to download, and into which directory.
type List struct {
	Directory string
	CA        string // PEM
	Files     []job.File
}

// ReadList reads the environment that job.WithInputs makes: FETCH_FILE_0, FETCH_FILE_1 and so on.
func ReadList(lookup func(string) (string, bool)) (List, error) {
	l := List{}
	l.Directory, _ = lookup(job.FetchDirectoryVariable)
	l.CA, _ = lookup(job.FetchCAVariable)
	if !strings.HasPrefix(l.Directory, "/") {
		return l, &Error{Kind: BadList, Text: fmt.Sprintf("$%s must be an absolute path.", job.FetchDirectoryVariable)}
	}
	for i := 0; ; i++ {
		name := fmt.Sprintf("%s%d", job.FetchFileVariable, i)
		text, ok := lookup(name)
		if !ok {
			return l, nil
		}
		var file job.File
		if err := json.Unmarshal([]byte(text), &file); err != nil || file.URL == "" {
			return l, &Error{Kind: BadList, Text: fmt.Sprintf("$%s must be JSON with a path and a URL.", name)}
		}
		if err := inputpath.CheckFile(file.Path); err != nil {
			return l, &Error{Kind: BadList, Path: file.Path, Text: fmt.Sprintf("%s.", err)}
		}
		l.Files = append(l.Files, file)
	}
}
