// Package apikey makes API keys and tells what is wrong with one.
//
// A key is "pf_", 32 random characters and 6 that are a checksum of those. The prefix lets secret
// scanners find keys that leaked; the checksum lets them, and the command line, tell a key from a
// typing error without asking a server. The server takes any text for a key, since it knows only
// hashes: teams that migrate keep the keys they have.
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

	digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

	// randomChars of log2(62) bits each are 190 bits.
	randomChars = 32

	// checksumChars hold 32 bits.
	checksumChars = 6

	// minOpaque is the shortest key of another maker that is taken: shorter ones can be guessed.
	minOpaque = 16

	// maxBytes is what the server reads of a bearer.
	maxBytes = 4096
)

// New is a new key. It must be shown to one person once, and stored nowhere.
func New() string {
	body := make([]byte, 0, randomChars)
	for len(body) < randomChars {
		var buffer [randomChars]byte
		_, _ = rand.Read(buffer[:]) // never fails: the runtime ends the process first
		body = appendDigits(body, buffer[:])
	}
	return Prefix + string(body) + checksum(string(body))
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

// Recognised tells whether the key was made here and is complete.
func Recognised(key string) bool {
	body, ok := strings.CutPrefix(key, Prefix)
	if !ok || len(body) != randomChars+checksumChars || strings.Trim(body, digits) != "" {
		return false
	}
	return checksum(body[:randomChars]) == body[randomChars:]
}

// Check says what keeps text from being used as a key. Any visible ASCII of a sane length may be
// one; a text that has the form of ours and a wrong checksum was mistyped or cut.
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

// Mistyped tells whether a key has the form of ours and a checksum that does not fit.
func Mistyped(key string) bool { return ours(key) && !Recognised(key) }

// ours tells whether a key looks as if it was made here. Other keys may start with pf_ too.
func ours(key string) bool {
	body, ok := strings.CutPrefix(key, Prefix)
	return ok && len(body) == randomChars+checksumChars && strings.Trim(body, digits) == ""
}

func visible(text string) bool {
	for i := range len(text) {
		if text[i] <= ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// checksum is the CRC-32 of the random part in base 62, with leading zeros.
func checksum(body string) string {
	sum := crc32.ChecksumIEEE([]byte(body))
	var text [checksumChars]byte
	for i := checksumChars - 1; i >= 0; i-- {
		text[i] = digits[sum%62]
		sum /= 62
	}
	return string(text[:])
}
