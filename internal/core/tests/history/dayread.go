package history

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
)

// ErrTooLarge means that a day needs more memory than its reader may use. The summary itself is sound.
var ErrTooLarge = fmt.Errorf("%w: it is too large", ErrUnreadable)

// Parts are what an answer keeps of a day.
type Parts struct {
	Has      func(Run) bool // selects runs, such as the runs of this team, and not of an earlier team with its name
	Bytes    int            // bounds what is kept, roughly
	Commits  bool           // repositories, commits and branches of runs
	Blocks   bool           // where tests are
	Rankings bool           // the tests that failed, and the slowest
}

// ReadDay reads the object of a day. Texts that an earlier version stored are cut.
func ReadDay(input io.Reader) (Day, error) {
	r := dayReader{parts: Parts{Commits: true, Blocks: true, Rankings: true}, room: math.MaxInt}
	return r.read(input)
}

// ReadParts reads parts of the object of a day. Places without a run that counts are left out, and so are rankings that others are in.
func ReadParts(input io.Reader, parts Parts) (*IndexedDay, error) {
	r := dayReader{parts: parts, room: parts.Bytes}
	d, err := r.read(input)
	if err != nil {
		return nil, err
	}
	if r.index == nil {
		return d.Index(), nil
	}
	r.index.Places = d.Places
	return r.index, nil
}

// dayReader decodes a day piece by piece, so that a large day needs no more memory than what is kept of it, even if it was made to be
// large.
type dayReader struct {
	parts   Parts
	room    int
	source  *metered
	json    *json.Decoder
	day     Day
	commits []uint64          // of its runs, of which the day may keep no text
	index   *IndexedDay       // of its runs, if only some count
	texts   map[string]string // that many runs have, each once in memory
}

// What a part needs beside its texts, in bytes, while slices and maps grow.
const (
	runCost  = 496
	itemCost = 64
)

func (r *dayReader) read(input io.Reader) (Day, error) {
	unpacked, err := gzip.NewReader(input)
	if err == nil {
		r.source = &metered{input: io.LimitReader(unpacked, maxRaw)}
		r.json, r.texts = json.NewDecoder(r.source), map[string]string{}
		err = r.object(r.member)
	}
	if err == nil {
		if _, err = r.json.Token(); errors.Is(err, io.EOF) { // the sum at the end is right
			err = nil
		} else if err == nil {
			err = errors.New("there is more behind it")
		}
	}
	if err == nil && r.day.Version != dayVersion {
		err = fmt.Errorf("it has version %d", r.day.Version)
	}
	if errors.Is(err, ErrTooLarge) {
		return Day{}, err
	}
	if err != nil {
		return Day{}, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return r.day, nil
}

// member reads a member of the day. Runs come before places in each version.
func (r *dayReader) member(key string) error {
	switch key {
	case "version":
		return r.value(&r.day.Version)
	case "team":
		return r.value(&r.day.Team)
	case "day":
		return r.value(&r.day.Day)
	case "runs":
		r.day.Runs = []Run{}
		err := r.array(r.run)
		if r.parts.Has != nil {
			r.index = &IndexedDay{Day: r.day, byID: byID(r.day.Runs)}
			setFamilies(r.day.Runs, r.commits, r.index.byID)
		}
		return err
	case "places":
		if r.day.Runs == nil {
			return errors.New("its places come before its runs")
		}
		r.day.Places = []PlaceDay{}
		return r.array(r.place)
	default:
		return r.value(&skipped{})
	}
}

func (r *dayReader) run() error {
	var next Run
	if err := r.value(&next); err != nil {
		return err
	}
	if r.parts.Has != nil && !r.parts.Has(next) {
		return nil
	}
	next.bound()
	r.commits = append(r.commits, next.commitKey())
	if !r.parts.Commits {
		next.Repository, next.Service, next.SHA, next.Branch, next.CommitURL = "", "", "", "", ""
	}
	for _, text := range []*string{
		&next.Namespace, &next.Trigger, &next.Environment, &next.State, &next.Reason,
		&next.Repository, &next.Service, &next.SHA, &next.Branch, &next.CommitURL,
	} {
		r.intern(text)
	}
	r.day.Runs = append(r.day.Runs, next)
	return r.keep(runCost + len(next.ID) + len(next.CreatedAt) + len(next.Earlier))
}

func (r *dayReader) intern(text *string) {
	known, found := r.texts[*text]
	if !found {
		known = *text
		r.texts[known] = known
		r.room -= itemCost + len(known)
	}
	*text = known
}

// keep takes room.
func (r *dayReader) keep(bytes int) error {
	if r.room -= bytes; r.room < 0 {
		return ErrTooLarge
	}
	return nil
}

func (r *dayReader) place() error {
	var p PlaceDay
	members := map[string]any{
		"namespace": &p.Namespace, "trigger": &p.Trigger, "environment": &p.Environment, "omitted": &p.Omitted,
		"tests": &p.Tests, "omittedTests": &p.OmittedTests, "object": &p.Object, "bytes": &p.Bytes,
	}
	err := r.object(func(key string) error {
		switch key {
		case "runs":
			return list(r, &p.Runs, true, func(id string) int { return len(id) })
		case "blocks":
			return list(r, &p.Blocks, r.parts.Blocks, func(b Block) int { return len(b.Name) })
		case "failing":
			return list(r, &p.Failing, r.parts.Rankings, func(t FailingTest) int { return len(t.Name) + len(t.File) + len(t.Outcomes) })
		case "slowest":
			return list(r, &p.Slowest, r.parts.Rankings, func(t SlowTest) int { return len(t.Name) + len(t.File) })
		}
		if into := members[key]; into != nil {
			return r.value(into)
		}
		return r.value(&skipped{})
	})
	if err != nil || r.index != nil && !r.index.owns(&p) {
		return err
	}
	r.day.Places = append(r.day.Places, p)
	return r.keep(runCost)
}

// list reads an array item by item.
func list[T any](r *dayReader, into *[]T, keep bool, size func(T) int) error {
	if !keep {
		return r.array(func() error { return r.value(&skipped{}) })
	}
	*into = []T{}
	return r.array(func() error {
		var item T
		if err := r.value(&item); err != nil {
			return err
		}
		*into = append(*into, item)
		return r.keep(itemCost + size(item))
	})
}

// skipped is a value that is not kept.
type skipped struct{}

func (*skipped) UnmarshalJSON([]byte) error { return nil }

func (r *dayReader) value(into any) error {
	r.source.left = maxItem
	return r.json.Decode(into)
}

func (r *dayReader) token() (json.Token, error) {
	r.source.left = maxItem
	return r.json.Token()
}

func (r *dayReader) more() bool {
	r.source.left = maxItem
	return r.json.More()
}

func (r *dayReader) object(each func(key string) error) error {
	if t, err := r.token(); err != nil || t != json.Delim('{') {
		return errors.Join(err, errSyntax)
	}
	for r.more() {
		key, err := r.token()
		if err != nil {
			return err
		}
		if err := each(fmt.Sprint(key)); err != nil {
			return err
		}
	}
	_, err := r.token()
	return err
}

// array takes null for an empty one.
func (r *dayReader) array(each func() error) error {
	t, err := r.token()
	if err != nil || t == nil {
		return err
	}
	if t != json.Delim('[') {
		return errSyntax
	}
	for r.more() {
		if err := each(); err != nil {
			return err
		}
	}
	_, err = r.token()
	return err
}

var errSyntax = errors.New("it is not a summary")

// metered bounds what is read for one value.
type metered struct {
	input io.Reader
	left  int
}

func (m *metered) Read(b []byte) (int, error) {
	if m.left <= 0 {
		return 0, ErrTooLarge
	}
	n, err := m.input.Read(b[:min(len(b), m.left)])
	m.left -= n
	return n, err
}
