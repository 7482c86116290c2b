package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// DurationVar adds a flag for a duration, also in days.
func DurationVar(f *pflag.FlagSet, to *time.Duration, name string, value time.Duration, usage string) {
	*to = value
	f.Var((*durationFlag)(to), name, usage)
}

type durationFlag time.Duration

func (d *durationFlag) Set(text string) error {
	parsed, err := plaintext.ParseDuration(text)
	*d = durationFlag(parsed)
	return err
}

func (d *durationFlag) Type() string { return "duration" }

// String returns "" for the zero value, which the help then does not show as the default.
func (d *durationFlag) String() string {
	if *d == 0 {
		return ""
	}
	return plaintext.Duration(time.Duration(*d))
}

// DaysVar adds a flag for a number of days, which may have the unit.
func DaysVar(f *pflag.FlagSet, to *int, name string, value int, usage string) {
	*to = value
	f.Var((*daysFlag)(to), name, usage)
}

type daysFlag int

func (d *daysFlag) Set(text string) error {
	n, err := strconv.Atoi(strings.TrimSuffix(text, "d"))
	if err != nil {
		return fmt.Errorf("%q is no number of days: write it like 7", plaintext.Line(text, 64))
	}
	*d = daysFlag(n)
	return nil
}

func (d *daysFlag) Type() string { return "int" }

func (d *daysFlag) String() string { return strconv.Itoa(int(*d)) }
