package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/internal/core/tests/results"
	"github.com/postflight-dev/postflight/internal/core/tests/split"
)

const list = "tests/d\ntests/c\ntests/b\ntests/a\n"

func timingsFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "timings.json")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestSplit runs the command as tests do.
func TestSplit(t *testing.T) {
	known := timingsFile(t, string(split.Timings{Files: map[string]int64{"tests/a": 90_000, "tests/b": 30_000, "tests/c": 30_000}}.Encode()))
	slow := string(split.Timings{Problem: "The times of earlier runs could not be read when the run started: it is down."}.Encode())
	for name, tc := range map[string]struct {
		reason             string
		index, count, file string
		args               []string
		in                 string
		code               int
		out, says          string
	}{
		"first": {"As in a pod.", "0", "2", known, nil, list, 0, "tests/b\ntests/c\ntests/d\n",
			"shard 1 of 2 has 3 of 4 files, about 1m30s of 3m; new files: 1"},
		"second": {"As in a pod.", "1", "2", known, nil, list, 0, "tests/a\n", "shard 2 of 2 has 1 of 4 files"},
		"one": {"It is not split.", "0", "1", known, nil, list, 0, "tests/a\ntests/b\ntests/c\ntests/d\n",
			"shard 1 of 1 has 4 of 4 files"},
		"arguments": {"For short lists.", "1", "2", known, []string{"tests/c", "tests/a"}, "", 0, "tests/c\n",
			"shard 2 of 2 has 1 of 2 files, about 30s of 2m"},
		"a laptop": {"Flags come first.", "9", "", known, []string{"--index", "1", "--count=2"}, list, 0, "tests/a\n", "shard 2 of 2"},
		"NUL": {"Any name.", "1", "2", known, []string{"--null"}, "tests/a\x00b\nc\x00", 0, "tests/a\x00",
			"shard 2 of 2 has 1 of 2 files"},
		"line feed": {"It would be two names.", "0", "2", "", []string{"a\nb"}, "", 1, "", `the name "a\nb" has a line feed: use --null`},
		"no times": {"By their number.", "0", "2", "", nil, list, 0, "tests/a\ntests/c\n",
			"shard 1 of 2 has 2 of 4 files; no time of an earlier run is known"},
		"no file": {"It says so, and still splits.", "0", "2", known + ".gone", nil, list, 0, "tests/a\ntests/c\n",
			"the times of the last runs cannot be read, so that each file counts the same: open "},
		"cut": {"It says so, and still splits.", "0", "2", timingsFile(t, `{"seconds": {"tests/a": 9`), nil,
			list, 0, "tests/a\ntests/c\n", "cannot be read, so that each file counts the same: unexpected end of JSON input"},
		"down": {"The log says why.", "0", "2", timingsFile(t, slow), nil, list, 0, "tests/a\ntests/c\n",
			"could not be read when the run started: it is down."},
		"no index": {"Both flags are needed.", "", "2", known, nil, list, 2,
			"", `the number of this shard is "", from --index or $POSTFLIGHT_SHARD_INDEX, and must be from 0 to 1. In a run, ` +
				`Postflight sets both; elsewhere, say for example --index 0 --count 4`},
		"no count": {"Both flags are needed.", "0", "", known, nil, list, 2,
			"", `the number of shards is "", from --count or $POSTFLIGHT_SHARD_COUNT, and must be from 1 to 64`},
		"beyond":    {"They count from 0.", "2", "2", known, nil, list, 2, "", "must be from 0 to 1"},
		"too many":  {"65 shards.", "2", "65", known, nil, list, 2, "", "must be from 1 to 64"},
		"no number": {"Nor anything else.", "1e9", "2", known, nil, list, 2, "", `the number of this shard is "1e9"`},
		"no names": {"A list that is empty by mistake must not pass.", "0", "2", known, nil, "\n", 1,
			"", "there are no names of test files to split. Check the command that lists them"},
		"a long name": {"No path is so long.", "0", "2", known, nil, strings.Repeat("x", 10<<10), 1, "",
			"has 10240 bytes, and no file can have more than 4096"},
		"help": {"It teaches.", "", "", "", []string{"--help"}, "", 0, "",
			`find tests -name '*.spec.ts' | "$POSTFLIGHT_SPLIT" --exec npx jest --runTestsByPath`},
		"no flag":    {"It is misspelt.", "0", "2", "", []string{"--nul"}, list, 2, "", "flag provided but not defined: -nul"},
		"no command": {"What is to start?", "0", "2", "", []string{"--exec"}, list, 2, "", "--exec needs a command"},
		"not found":  {"As a shell has it.", "0", "2", "", []string{"--exec", "/none/x"}, list, 127, "", `"/none/x" was not found`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("POSTFLIGHT_SHARD_INDEX", tc.index)
			t.Setenv("POSTFLIGHT_SHARD_COUNT", tc.count)
			t.Setenv("POSTFLIGHT_TIMINGS", tc.file)
			t.Setenv("POSTFLIGHT_RESULTS_DIR", "")
			var out, stderr bytes.Buffer
			code := runSplit(tc.args, strings.NewReader(tc.in), &out, &stderr)
			if code != tc.code || out.String() != tc.out || !strings.Contains(stderr.String(), tc.says) {
				t.Errorf("%s: exit code %d, want %d; it prints %q, want %q; it says %q, want %q", tc.reason, code, tc.code, &out, tc.out, &stderr,
					tc.says)
			}
		})
	}
}

// TestSplitOfNothing: a shard without files has a report without tests, because each pod that succeeds needs one.
func TestSplitOfNothing(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("POSTFLIGHT_RESULTS_DIR", dir)
	for index, want := range map[string]string{"0": "a\n", "3": ""} {
		var out, stderr bytes.Buffer
		if code := runSplit([]string{"--count=4", "--index", index, "a", "b"}, nil, &out, &stderr); code != 0 || out.String() != want {
			t.Errorf("shard %s: exit code %d, %q\n%s", index, code, &out, &stderr)
		}
		report, err := os.ReadFile(filepath.Join(dir, "postflight-split.xml"))
		if index == "0" {
			if !os.IsNotExist(err) {
				t.Errorf("a shard with files has an empty report: %v", err)
			}
			continue
		}
		tests := results.Tests{}
		if err != nil || !tests.Add("postflight-split.xml", bytes.NewReader(report)) || tests.Counts.Reports != 1 || tests.Counts.Tests != 0 ||
			tests.Counts.Unread != 0 {
			t.Errorf("%q is no report: %+v, %v", report, tests.Counts, err)
		}
		_ = os.Remove(filepath.Join(dir, "postflight-split.xml"))
	}
	if code := runSplit([]string{"--count=4", "--index=3", "--exec", "/none/x"}, strings.NewReader("a\n"), nil, &bytes.Buffer{}); code != 0 {
		t.Errorf("without files, nothing starts: exit code %d", code)
	}
	t.Setenv("POSTFLIGHT_RESULTS_DIR", filepath.Join(dir, "none"))
	if code := runSplit([]string{"--count=4", "--index=3", "a"}, nil, &bytes.Buffer{}, &bytes.Buffer{}); code != 0 {
		t.Errorf("without results, nobody needs a report: exit code %d", code)
	}
}

// TestSplitInPods: all copies of the program together run each file once, and the command sees the names as they are.
func TestSplitInPods(t *testing.T) {
	program := filepath.Join(t.TempDir(), "postflight-split")
	prepare := exec.Command(os.Args[0], "prepare")
	prepare.Env = []string{"POSTFLIGHT_TEST_AS_PROGRAM=1", "PREPARE_DIRECTORY=" + filepath.Dir(program), "PREPARE_PROGRAM=postflight-split"}
	if out, err := prepare.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ran := map[string]int{}
	for index := range 3 {
		command := exec.Command(program, "--exec", "sh", "-c", `for name; do echo "ran $name"; done; exit 7`, "sh")
		command.Env = append(os.Environ(), "POSTFLIGHT_TEST_AS_PROGRAM=1", fmt.Sprintf("POSTFLIGHT_SHARD_INDEX=%d", index),
			"POSTFLIGHT_SHARD_COUNT=3")
		command.Stdin = strings.NewReader("a b\n$(c)\nd'\n*\n-e\n")
		out, err := command.Output()
		if command.ProcessState.ExitCode() != 7 {
			t.Fatalf("the exit code is that of the command: %v\n%s", err, out)
		}
		for line := range strings.Lines(string(out)) {
			ran[line]++
		}
	}
	for _, name := range []string{"a b", "$(c)", "d'", "*", "-e"} {
		if ran["ran "+name+"\n"] != 1 {
			t.Errorf("%q ran %d times", name, ran["ran "+name+"\n"])
		}
	}
	if len(ran) != 5 {
		t.Errorf("%v", ran)
	}
}
