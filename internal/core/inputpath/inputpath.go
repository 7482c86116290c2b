// Package inputpath defines the paths of run inputs: which paths are valid, the key of a file's object in the
// store, and the file that the value of a variable means. Uploads, look-ups and downloads follow the same rules.
package inputpath

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxBytes bounds a path. With the longest name of a team, its key stays below the 1,024 bytes that every store
// accepts.
const MaxBytes = 512

// Reserved is the first segment below the team's id of what runs leave behind. No input has such a path, in any case
// of its letters, because some stores keep objects as files and ignore the case of their names.
const Reserved = "postflight-runs"

// maxName is the longest file name that file systems accept, in bytes.
const maxName = 255

// extensions that may be uploaded.
var extensions = []string{".apk", ".aab", ".deb", ".ipa", ".zip", ".csv", ".pdf"}

// Extensions is a list for messages of those that may be uploaded: ".apk, .aab, ...".
func Extensions() string { return strings.Join(extensions, ", ") }

// Check validates the path of any file, of an input or of what a run left behind. Its error completes a sentence that starts with the path.
func Check(path string) error {
	switch {
	case path == "":
		return errors.New("must not be empty")
	case len(path) > MaxBytes:
		return fmt.Errorf("must be at most %d bytes long", MaxBytes)
	case !utf8.ValidString(path):
		return errors.New("must be valid UTF-8")
	case strings.ContainsFunc(path, unicode.IsControl):
		return errors.New("must not contain control characters")
	case strings.Contains(path, `\`):
		return errors.New(`must separate folders by "/", not by "\"`)
	case strings.HasPrefix(path, "/"):
		return errors.New(`must be relative, without a "/" at its start`)
	}
	for segment := range strings.SplitSeq(path, "/") {
		switch segment {
		case "":
			return errors.New(`must not contain an empty segment ("//", or a "/" at its end)`)
		case ".", "..":
			return fmt.Errorf("must not contain the segment %q", segment)
		}
	}
	return nil
}

// checkInput validates the path of an input: as Check, and it must not lead to what runs left behind.
func checkInput(path string) error {
	if err := Check(path); err != nil {
		return err
	}
	if first, _, _ := strings.Cut(path, "/"); strings.EqualFold(first, Reserved) {
		return fmt.Errorf("must not start with %q, where Postflight keeps what runs leave behind", Reserved)
	}
	return nil
}

// CheckUpload validates a path to upload to: that of an input, with a name that has an accepted extension, in any case.
func CheckUpload(path string) error {
	if err := checkInput(path); err != nil {
		return err
	}
	name := path[strings.LastIndexByte(path, '/')+1:]
	dot := strings.LastIndexByte(name, '.')
	switch {
	case dot < 0 || !slices.ContainsFunc(extensions, func(e string) bool { return equalASCII(e, name[dot:]) }):
		return errors.New("must end in an accepted extension")
	case dot == 0:
		return errors.New("must have a name before its extension")
	}
	return nil
}

// equalASCII ignores the case of ASCII letters only. Some letters of Unicode fold to them, such as the Kelvin sign
// to k, but have more bytes.
func equalASCII(a, b string) bool { return len(a) == len(b) && strings.EqualFold(a, b) }

// CheckFile validates a path to download to, in a pod.
func CheckFile(path string) error {
	if err := checkInput(path); err != nil {
		return err
	}
	for segment := range strings.SplitSeq(path, "/") {
		if len(segment) > maxName {
			return fmt.Errorf("must not contain a name of more than %d bytes, because file systems do not accept it", maxName)
		}
	}
	return nil
}

// Key is the key of an input in the store. It always starts with the team's own prefix, and is never one of what runs
// left behind. An invalid team or path is an error.
func Key(team, path string) (string, error) {
	if team == "" || team == "." || team == ".." || strings.ContainsAny(team, `/\`) {
		return "", fmt.Errorf("the team id %q cannot be a prefix in the store", team)
	}
	if err := checkInput(path); err != nil {
		return "", fmt.Errorf("the path %w", err)
	}
	return team + "/" + path, nil
}

// Resolve returns the path of the file that a value means: a fileLocation, which starts with the team's own
// id, or a playgroundFileLocation, which is the path itself. Any other first segment is a folder of this team,
// so no value leads to a file of another team.
//
// If a team has a folder with the team's own name, only a fileLocation is unambiguous for the files in it.
func Resolve(team, value string) (string, error) {
	path := strings.TrimPrefix(value, team+"/")
	if err := CheckFile(path); err != nil {
		return "", err
	}
	return path, nil
}
