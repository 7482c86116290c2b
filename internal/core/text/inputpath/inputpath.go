// Package inputpath defines which paths of run inputs are valid, the key of a file's object in the store, and the file that the value of a
// variable means. Uploads, look-ups and downloads follow the same rules.
package inputpath

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxBytes bounds a path: with the longest team name, its key has fewer than the 1,024 bytes that every store accepts.
const maxBytes = 512

// Reserved is the first segment of what runs leave behind. No input may use it in any case, because some stores ignore case.
const Reserved = "postflight-runs"

// maxName is the longest file name that file systems accept, in bytes.
const maxName = 255

// extensions that may be uploaded.
var extensions = []string{".apk", ".aab", ".deb", ".ipa", ".zip", ".csv", ".pdf"}

// Extensions lists the extensions that may be uploaded: ".apk, .aab, ...".
func Extensions() string { return strings.Join(extensions, ", ") }

// Check validates the path of any file, of an input or an artifact. Its error completes a sentence that starts with the path.
func Check(path string) error {
	switch {
	case path == "":
		return errors.New("must not be empty")
	case len(path) > maxBytes:
		return fmt.Errorf("must be at most %d bytes long", maxBytes)
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

func checkInput(path string) error {
	if err := Check(path); err != nil {
		return err
	}
	if first, _, _ := strings.Cut(path, "/"); strings.EqualFold(first, Reserved) {
		return fmt.Errorf("must not start with %q, where Postflight keeps what runs leave behind", Reserved)
	}
	return nil
}

// CheckUpload validates a path to upload to: a path of an input, with a name that has an accepted extension, in any case.
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

// equalASCII ignores the case of ASCII letters only: the Kelvin sign folds to k, but has more bytes.
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

// Key returns the key of an input in the store: below the team's own prefix, and never below Reserved.
func Key(team, path string) (string, error) {
	if team == "" || team == "." || team == ".." || strings.ContainsAny(team, `/\`) {
		return "", fmt.Errorf("the team id %q cannot be a prefix in the store", team)
	}
	if err := checkInput(path); err != nil {
		return "", fmt.Errorf("the path %w", err)
	}
	return team + "/" + path, nil
}

// Resolve returns the path of a fileLocation, which starts with the team's id, or of a playgroundFileLocation, which is the path. Any other
// first segment is a folder of this team, so no value leads to another team's file.
func Resolve(team, value string) (string, error) {
	path := strings.TrimPrefix(value, team+"/")
	if err := CheckFile(path); err != nil {
		return "", err
	}
	return path, nil
}
