package notification

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// variables leaves out a variable that is null, whatever its name.
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
		if reason := tooMany(len(variables), bytes); reason != "" {
			return d.invalidParent(reason)
		}
		return nil
	})
	if err == nil && len(variables) > 0 {
		d.n.Variables = variables
	}
	return err
}

func variable(name, value string) string {
	switch {
	case !validName(name):
		return fmt.Sprintf("is not the name of a variable: it must start with a letter, '_', '-' or '.', "+
			"and continue with these or digits, %d bytes at most", MaxVariableNameBytes)
	case len(value) > MaxVariableBytes:
		return tooLong(value, MaxVariableBytes) + "; put larger data into a file and upload it as a run input"
	case strings.ContainsRune(value, 0):
		return "must not hold a NUL character, which no process can receive"
	}
	return ""
}

func tooMany(count, bytes int) string {
	switch {
	case count > MaxVariables:
		return fmt.Sprintf("holds more than %d variables; send fewer", MaxVariables)
	case bytes > maxVariablesBytes:
		return fmt.Sprintf("is too large: names and values together may have %d bytes; "+
			"put larger data into a file and upload it as a run input", maxVariablesBytes)
	}
	return ""
}

const nameStarts = "-._abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// validName is the rule of the API type Variables: what a pod takes as the name of a variable.
func validName(name string) bool {
	return name != "" && len(name) <= MaxVariableNameBytes &&
		strings.Contains(nameStarts, name[:1]) && strings.Trim(name, nameStarts+"0123456789") == ""
}
