package notification

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// variables reads the variables of a run. One that is null is left out, whatever its name.
func (d *decoder) variables() error {
	variables := map[string]string{}
	bytes := 0
	err := d.object("an object of strings", func(name string) error {
		if d.tokens.PeekKind() == jsontext.KindNull {
			return d.skip()
		}
		value, err := d.text()
		if err != nil {
			return err
		}
		if reason := variable(name, value); reason != "" {
			return d.invalid(reason)
		}
		variables[name] = value
		bytes += len(name) + len(value)
		return tooMany(len(variables), bytes)
	})
	if err == nil && len(variables) > 0 {
		d.n.Variables = variables
	}
	return err
}

func variable(name, value string) string {
	switch {
	case !validName(name):
		return fmt.Sprintf("is not the name of a variable: it must start with a letter, '_', '-' or '.', and go on with these or digits, %d bytes at most", MaxVariableNameBytes)
	case len(value) > MaxVariableBytes:
		return tooLong(value, MaxVariableBytes) + "; put larger data into a file and upload it as a run input"
	case strings.ContainsRune(value, 0):
		return "must not hold a NUL character, which no process can be handed"
	}
	return ""
}

func tooMany(count, bytes int) error {
	switch {
	case count > MaxVariables:
		return &InvalidError{Field: "variables", Reason: fmt.Sprintf("holds more than %d variables; send fewer", MaxVariables)}
	case bytes > MaxVariablesBytes:
		return &InvalidError{Field: "variables", Reason: fmt.Sprintf(
			"is too large: names and values together may have %d bytes; put larger data into a file and upload it as a run input", MaxVariablesBytes)}
	}
	return nil
}

// validName is the rule of the API type Variables: what a pod takes as the name of a variable.
func validName(name string) bool {
	if name == "" || len(name) > MaxVariableNameBytes {
		return false
	}
	for i := range len(name) {
		if c := name[i]; !isNameStart(c) && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return true
}

func isNameStart(c byte) bool {
	return c == '-' || c == '.' || c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
