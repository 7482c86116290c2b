package mcp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/postflight-dev/postflight/client"
)

const (
	defaultLines = 80       // fit into a result, as a rule
	maxLines     = 200      // of a page
	maxLogLine   = 500      // bytes that are kept of a line; programs print objects of any length
	maxScan      = 64 << 20 // bytes that are read of a log to find a line; four times the log of a container in the archive
)

type logIn struct {
	Run       string `json:"run" jsonschema:"the id of a run"`
	Pod       string `json:"pod,omitempty" jsonschema:"only the logs of this pod"`
	Container string `json:"container,omitempty" jsonschema:"only the log of this container, which may be an init container or a sidecar"`
	Previous  bool   `json:"previous,omitempty" jsonschema:"the log from before Kubernetes restarted the container"`
	FromLine  int    `json:"fromLine,omitempty" jsonschema:"the first line to return or to search, from 1; without it and search: the last lines"`
	Lines     int    `json:"lines,omitempty" jsonschema:"how many lines at most, 80 by default"`
	Search    string `json:"search,omitempty" jsonschema:"only lines that contain this text, whether upper or lower case"`
}

type logOut struct {
	Run      string    `json:"run"`
	Lines    []logLine `json:"lines"`
	Total    int       `json:"total,omitempty"`    // lines of the log; absent if it was not read to its end
	NextLine int       `json:"nextLine,omitempty"` // fromLine of the next page; absent at the end
	Omitted  []string  `json:"omitted,omitempty"`  // sentences

	last bool // the last lines were asked for
}

type logLine struct {
	Line int    `json:"line"` // its number, from 1
	Text string `json:"text"`
}

func (s *Server) addLog() {
	add(s, tool[logIn, logOut]{
		name: "read_log", title: "Read the log of a run",
		description: "Returns numbered lines of the log of a run: the last lines, or a page from a line on, or the lines that contain a text. " +
			"If a run has several logs, each begins with a line ==> pod/container <==, and the numbers count through all of them; pod and " +
			"container select one.",
		bounds: func(p map[string]*jsonschema.Schema) {
			upTo(p["lines"], maxLines)
			p["fromLine"].Minimum = new(float64(1))
			p["search"].MaxLength = new(200)
		},
		call: readLog, shrink: shrinkLog,
	})
}

func readLog(ctx context.Context, c *client.Client, in logIn) (*logOut, error) {
	log, err := c.Logs(ctx, in.Run, client.LogOptions{Pod: in.Pod, Container: in.Container, Previous: in.Previous})
	if err != nil {
		return nil, err
	}
	defer log.Close()
	if in.Lines == 0 {
		in.Lines = defaultLines
	}
	last := in.FromLine == 0 && in.Search == ""
	p := &logPage{in: in, out: &logOut{Run: in.Run, Lines: []logLine{}, last: last}, search: strings.ToLower(in.Search)}
	p.read(bufio.NewReaderSize(io.LimitReader(log, maxScan), 64<<10))
	return p.out, ctx.Err()
}

type logPage struct {
	in     logIn
	out    *logOut
	search string // in lower case
	number int    // of the line that was read last
	bytes  int
}

func (p *logPage) read(r *bufio.Reader) {
	for {
		text, read, err := readLine(r)
		if read > 0 {
			p.number++
			if p.bytes += read; !p.take(text) {
				p.out.NextLine = p.number
				return
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			p.end()
			return
		case err != nil:
			p.out.Omitted = append(p.out.Omitted, "The log broke off while it was read, so that lines may be missing. Call read_log again.")
			return
		}
	}
}

// take reports whether there is room for the line, or no need of it.
func (p *logPage) take(text string) bool {
	if p.number < p.in.FromLine || p.search != "" && !strings.Contains(strings.ToLower(text), p.search) {
		return true
	}
	if len(p.out.Lines) == p.in.Lines {
		if !p.out.last {
			return false
		}
		p.out.Lines = p.out.Lines[1:]
	}
	p.out.Lines = append(p.out.Lines, logLine{p.number, text})
	return true
}

func (p *logPage) end() {
	if p.bytes >= maxScan {
		p.out.NextLine = p.number + 1
		p.out.Omitted = append(p.out.Omitted, fmt.Sprintf("Only the first %d MiB were read. Name a pod and a container, or use the command "+
			"line: postflight runs logs", maxScan>>20))
		return
	}
	p.out.Total = p.number
	if p.out.last && len(p.out.Lines) > 0 && p.out.Lines[0].Line > 1 {
		p.out.Omitted = append(p.out.Omitted, lastLines)
	}
}

const lastLines = "These are the last lines: ask with fromLine for earlier ones, or with search for a text."

// readLine returns the beginning of a line, and how many bytes the whole has.
func readLine(r *bufio.Reader) (text string, read int, err error) {
	var kept []byte
	for {
		part, err := r.ReadSlice('\n')
		read += len(part)
		kept = append(kept, part[:min(len(part), maxLogLine-len(kept))]...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		text := strings.TrimRight(string(kept), "\r\n")
		if read > len(kept) {
			text = strings.ToValidUTF8(text, "") + " …"
		}
		return text, read, err
	}
}

// shrinkLog drops the lines that are furthest from what was asked: the first of the last lines, or else the last.
func shrinkLog(out *logOut) bool {
	n := len(out.Lines)
	switch {
	case n < 2:
		return false
	case out.last && out.NextLine == 0:
		out.Lines, out.Omitted = out.Lines[(n+7)/8:], once(out.Omitted, lastLines)
	default:
		keep := n - (n+7)/8
		out.NextLine, out.Lines = out.Lines[keep].Line, out.Lines[:keep]
	}
	return true
}
