// Package inputpath knows where run inputs are: the rules for the path of a file, the key of its
// object in the store, and what a variable that names a file stands for. It is pure: uploads are
// signed, looked up and put into pods by the same rules.
package inputpath

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxBytes bounds a path, so that its key, with the longest name of a team, is below the 1,024 bytes
// of every store.
const MaxBytes = 512

// maxName bounds one segment of the path of a file in a pod: what file systems take.
const maxName = 255

// extensions that may be uploaded.
var extensions = []string{".apk", ".aab", ".deb", ".ipa", ".zip", ".csv", ".pdf"}

// Extensions are those that may be uploaded, for people: ".apk, .aab, ...".
func Extensions() string { return strings.Join(extensions, ", ") }

// Check reports whether a path can be the place of a file of a team. Its errors are ends of sentences.
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

// CheckUpload reports whether a file may be uploaded to a path: Check, and an accepted extension in any
// case, behind a name.
func CheckUpload(path string) error {
	if err := Check(path); err != nil {
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

// equalASCII ignores the case of letters of ASCII alone. Unicode has others that fold to them, which are
// longer in bytes: the sign of Kelvin, say, to a k.
func equalASCII(a, b string) bool { return len(a) == len(b) && strings.EqualFold(a, b) }

// CheckFile reports whether a file at a path can be put into a pod.
func CheckFile(path string) error {
	if err := Check(path); err != nil {
		return err
	}
	for segment := range strings.SplitSeq(path, "/") {
		if len(segment) > maxName {
			return fmt.Errorf("must not contain a name of more than %d bytes, which file systems do not take", maxName)
		}
	}
	return nil
}

// Key is the key of a team's file in the store. It always lies below the team's own prefix: with an
// invalid team or path there is no key.
func Key(team, path string) (string, error) {
	if team == "" || team == "." || team == ".." || strings.ContainsAny(team, `/\`) {
		return "", fmt.Errorf("the team id %q cannot be a prefix in the store", team)
	}
	if err := Check(path); err != nil {
		return "", fmt.Errorf("the path %w", err)
	}
	return team + "/" + path, nil
}

// Resolve is the path of the file that a value names: a fileLocation, which starts with the team's own
// id, or a playgroundFileLocation, which is the path itself. Whatever else the first segment is, it is
// a folder of this team: no value leads to the file of another.
//
// Where a team keeps a folder named like itself, only the fileLocation of a file in there is clear.
func Resolve(team, value string) (string, error) {
	path := strings.TrimPrefix(value, team+"/")
	if err := CheckFile(path); err != nil {
		return "", err
	}
	return path, nil
}
