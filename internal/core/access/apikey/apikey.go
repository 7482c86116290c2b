// Package apikey generates API keys, checks their format, and decides whether an APIKey is accepted.
// A key is "pf_", its namespace, "_", 32 random characters, and a checksum of 6 characters. It is looked up in its namespace only, so that
// no APIKey elsewhere can affect it. Secret scanners find the prefix, and the checksum reveals a mistyped key.
// Any other text is an opaque key: teams that migrate keep theirs, because the server stores only hashes. Keys without a namespace, from
// earlier versions, are opaque, too.
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
	// prefix starts every key that New generates.
	prefix = "pf_"

	separator = "_" // ends the namespace. No DNS label contains it.
	digits    = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

	randomChars   = 32   // log2(62) bits each: 190 bits
	checksumChars = 6    // enough for 32 bits
	maxLabel      = 63   // the longest name of a namespace
	minOpaque     = 16   // the shortest opaque key that is accepted: shorter ones can be guessed
	maxBytes      = 4096 // the longest bearer token that the server accepts
)

// New generates a key of the namespace. Show it to one person once, and store it nowhere.
func New(namespace string) string {
	body := make([]byte, 0, randomChars)
	for len(body) < randomChars {
		var buffer [randomChars]byte
		_, _ = rand.Read(buffer[:]) // never fails: the runtime ends the process first
		body = appendDigits(body, buffer[:])
	}
	text := prefix + namespace + separator + string(body)
	return text + checksum(text)
}

// appendDigits skips the bytes that would make some digits more likely than others.
func appendDigits(to, random []byte) []byte {
	for _, b := range random {
		if b < 4*62 && len(to) < randomChars {
			to = append(to, digits[b%62])
		}
	}
	return to
}

// Digest returns the spec.sha256 of a key, in hex.
func Digest(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// Namespace returns the namespace in the key, or "" for an opaque key.
func Namespace(key string) string {
	if f, ok := parse(key); ok && f.intact {
		return f.namespace
	}
	return ""
}

// Mistyped reports whether a key has the format of New and a wrong checksum.
func Mistyped(key string) bool {
	f, ok := parse(key)
	return ok && !f.intact
}

// Check says why a text cannot be a key. Any visible ASCII of a sensible length can, unless its checksum is wrong.
func Check(key string) error {
	switch {
	case key == "":
		return errors.New("the key is empty")
	case strings.TrimSpace(key) != key:
		return errors.New("the key has white space around it")
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return errors.New("the key contains characters that cannot be sent in a header: use visible ASCII without spaces")
	case len(key) > maxBytes:
		return errors.New("the key has more than 4096 characters")
	case len(key) < minOpaque:
		return errors.New("the key has fewer than 16 characters, which can be guessed. Make a new one, without --from-stdin")
	case Mistyped(key):
		return errors.New("the key was mistyped or truncated: its checksum is wrong")
	default:
		return nil
	}
}

type format struct {
	namespace string // empty in keys of earlier versions
	intact    bool   // the checksum is right
}

// parse reads a key; ok is false if it does not have the format of New, although it may start with pf_.
func parse(key string) (f format, ok bool) {
	body, ok := strings.CutPrefix(key, prefix)
	if !ok {
		return format{}, false
	}
	text := key[:max(len(key)-checksumChars, 0)]
	namespace, random, named := strings.Cut(body, separator)
	if !named {
		namespace, random, text = "", body, strings.TrimPrefix(text, prefix)
	}
	if len(random) != randomChars+checksumChars || strings.Trim(random, digits) != "" || named && !isLabel(namespace) {
		return format{}, false
	}
	return format{namespace: namespace, intact: checksum(text) == random[randomChars:]}, true
}

func isLabel(text string) bool {
	const ends = "abcdefghijklmnopqrstuvwxyz0123456789"
	return text != "" && len(text) <= maxLabel && strings.Trim(text, ends+"-") == "" && strings.Trim(text[:1]+text[len(text)-1:], ends) == ""
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
