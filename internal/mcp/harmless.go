package mcp

import (
	"reflect"
	"strings"
	"unicode"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/text/mask"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// maxText bounds one text of a result, in bytes: the texts of failures have as much.
const maxText = 4096

// Here begins the links of a server that does not know its URL. Such links become paths.
const Here = "http://postflight.invalid"

// harmless changes all texts below a pointer: they have no control characters, codes of terminals, invisible characters or secrets of URLs.
// URLs of artifacts are secrets as a whole. Every result passes through it, whatever tool it is from.
func harmless(result any) { clean(reflect.ValueOf(result).Elem()) }

func clean(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() {
			v.SetString(cleanText(v.String()))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			clean(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			clean(v.Index(i))
		}
	case reflect.Map:
		cleanMap(v)
	case reflect.Struct:
		if a, ok := v.Addr().Interface().(*httpapi.Artifact); ok {
			a.URL = ""
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				clean(v.Field(i))
			}
		}
	}
}

// cleanMap knows maps of strings, which all of the API are.
func cleanMap(v reflect.Value) {
	if v.Type().Elem().Kind() != reflect.String {
		return
	}
	for _, key := range v.MapKeys() {
		value := v.MapIndex(key).String()
		v.SetMapIndex(key, reflect.Value{})
		v.SetMapIndex(reflect.ValueOf(cleanText(key.String())), reflect.ValueOf(cleanText(value)))
	}
}

func cleanText(text string) string {
	cleaned, cut := plaintext.Block(strings.Map(withoutSelectors, text), maxText)
	if cut {
		cleaned += " …"
	}
	return mask.Text(strings.TrimPrefix(cleaned, Here))
}

// withoutSelectors drops characters that choose the form of the one before. They are invisible, so that 256 of them can hide a text.
func withoutSelectors(r rune) rune {
	if unicode.Is(unicode.Variation_Selector, r) {
		return -1
	}
	return r
}
