// Package apikey makes API keys, checks their form, and decides whether an APIKey is accepted.
//
// A key is "pf_", the namespace that it belongs to, "_", 32 random characters, and 6 that are a
// checksum of all before them. Such a key is looked up in its namespace only, so that no APIKey
// elsewhere can affect it. The prefix lets secret scanners find keys that leaked; the checksum lets
// them, and the command line, tell a key from a typing error without asking a server.
//
// Any other text may be a key too, since the server knows only hashes: teams that migrate keep the
// keys they have. Such keys are opaque. Keys without a namespace, which were made here once, are
// opaque as well.
package apikey

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"strings"
)

const (
	// Prefix starts every key that was made here.
	Prefix = "pf_"

	// separator stands between a namespace and the random characters. No DNS label holds one.
	separator = "_"

	digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

	// randomChars of log2(62) bits each are 190 bits.
	randomChars = 32

	// checksumChars hold 32 bits.
	checksumChars = 6

	// maxLabel is the longest name of a namespace.
	maxLabel = 63

	// minOpaque is the shortest key of another maker that is taken: shorter ones can be guessed.
	minOpaque = 16

	// maxBytes is what the server reads of a bearer.
	maxBytes = 4096
)

// New is a new key of the namespace. It must be shown to one person once, and stored nowhere.
func New(namespace string) string {
	body := make([]byte, 0, randomChars)
	for len(body) < randomChars {
		var buffer [randomChars]byte
		_, _ = rand.Read(buffer[:]) // never fails: the runtime ends the process first
		body = appendDigits(body, buffer[:])
	}
	text := Prefix + namespace + separator + string(body)
	return text + checksum(text)
}

// appendDigits skips bytes that would make some digits likelier than others.
func appendDigits(to, random []byte) []byte {
	for _, b := range random {
		if b < 4*62 && len(to) < randomChars {
			to = append(to, digits[b%62])
		}
	}
	return to
}

// Digest is how an APIKey object names a key: the hex of its SHA-256.
func Digest(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// Namespace is the namespace that the key names; empty for an opaque key.
func Namespace(key string) string {
	if f, ok := parse(key); ok && f.intact {
		return f.namespace
	}
	return ""
}

// Recognised reports whether the key was made here and is complete.
func Recognised(key string) bool {
	f, ok := parse(key)
	return ok && f.intact
}

// Mistyped reports whether a key has a form of ours and a checksum that does not fit.
func Mistyped(key string) bool {
	f, ok := parse(key)
	return ok && !f.intact
}

// Check says what keeps text from being used as a key. Any visible ASCII of a sane length may be
// one; a text that has a form of ours and a wrong checksum was mistyped or cut.
func Check(key string) error {
	switch {
	case key == "":
		return errors.New("the key is empty")
	case strings.TrimSpace(key) != key:
		return errors.New("the key has white space around it")
	case !visible(key):
		return errors.New("the key holds characters that cannot be sent in a header: use visible ASCII without spaces")
	case len(key) > maxBytes:
		return errors.New("the key has more than 4096 characters")
	case len(key) < minOpaque:
		return errors.New("the key has fewer than 16 characters, which can be guessed")
	case Mistyped(key):
		return errors.New("the key was mistyped or cut: its checksum does not fit")
	default:
		return nil
	}
}

// form is what a key that looks like one of ours says.
type form struct {
	namespace string // empty in the form without one
	intact    bool   // the checksum fits
}

// parse reads a key; ok is false where it has no form of ours. Keys of others may start with pf_ too.
func parse(key string) (f form, ok bool) {
	body, ok := strings.CutPrefix(key, Prefix)
	if !ok {
		return form{}, false
	}
	text := key[:max(len(key)-checksumChars, 0)]
	namespace, random, named := strings.Cut(body, separator)
	if !named {
		namespace, random, text = "", body, strings.TrimPrefix(text, Prefix)
	}
	if len(random) != randomChars+checksumChars || strings.Trim(random, digits) != "" || named && !isLabel(namespace) {
		return form{}, false
	}
	return form{namespace: namespace, intact: checksum(text) == random[randomChars:]}, true
}

// isLabel is the rule for the name of a namespace.
func isLabel(text string) bool {
	const ends = "abcdefghijklmnopqrstuvwxyz0123456789"
	return text != "" && len(text) <= maxLabel && strings.Trim(text, ends+"-") == "" && strings.Trim(text[:1]+text[len(text)-1:], ends) == ""
}

func visible(text string) bool {
	for i := range len(text) {
		if text[i] <= ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// checksum is the CRC-32 of the text in base 62, with leading zeros.
func checksum(text string) string {
	sum := crc32.ChecksumIEEE([]byte(text))
	var result [checksumChars]byte
	for i := checksumChars - 1; i >= 0; i-- {
		result[i] = digits[sum%62]
		sum /= 62
	}
	return string(result[:])
}
