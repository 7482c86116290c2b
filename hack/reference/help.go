package main

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// help is what a command prints, on every machine the same: some defaults depend on the home of the user.
func help(programs string, command ...string) (string, error) {
	cmd := exec.Command(filepath.Join(programs, command[0]), append(command[1:], "--help")...) //nolint:gosec // programs of ours
	cmd.Env = []string{"HOME=/home/you"}
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

func managerPage(programs string) (string, error) {
	text, err := help(programs, "manager")
	if err != nil {
		return "", err
	}
	flags := flagsOf(text)
	if len(flags) == 0 {
		return "", errors.New("manager --help shows no flags")
	}
	page := "# Flags of the manager\n\nFor operators: what `manager --help` prints. The chart has a " +
		"[value for every flag](../../charts/postflight/README.md#values).\n\n| Flag | Meaning |\n|---|---|\n"
	for _, f := range flags {
		page += fmt.Sprintf("| `%s` | %s |\n", f.name, cell(f.meaning))
	}
	return page, nil
}

type flag struct{ name, meaning string }

var flagLine = regexp.MustCompile(`(?m)^ +((?:-\w, )?--[a-z][a-z0-9-]*(?: [a-zA-Z]+)?) {2,}(.*)$`)

func flagsOf(help string) (flags []flag) {
	for _, m := range flagLine.FindAllStringSubmatch(help, -1) {
		flags = append(flags, flag{m[1], m[2]})
	}
	return flags
}

func commandLinePage(programs string) (string, error) {
	page := "# The command line\n\nFor everybody who types `postflight`: what `--help` of each command prints. [Gate a " +
		"pipeline](../ci.md) shows how the commands go together.\n"
	sections, err := commands(programs, "postflight")
	return page + sections, err
}

func commands(programs string, command ...string) (string, error) {
	text, err := help(programs, command...)
	if err != nil {
		return "", fmt.Errorf("%s: %w", strings.Join(command, " "), err)
	}
	sections := fmt.Sprintf("\n## %s\n\n```text\n%s\n```\n", strings.Join(command, " "), text)
	for _, name := range commandsOf(text) {
		below, err := commands(programs, append(command[:len(command):len(command)], name)...)
		if err != nil {
			return "", err
		}
		sections += below
	}
	return sections, nil
}

var commandLine = regexp.MustCompile(`(?m)^ {2}([a-z-]+) `)

// commandsOf are the commands that a help lists, without those that cobra adds to every program.
func commandsOf(help string) (names []string) {
	_, list, _ := strings.Cut(help, "\nAvailable Commands:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	for _, m := range commandLine.FindAllStringSubmatch(list, -1) {
		if m[1] != "help" && m[1] != "completion" {
			names = append(names, m[1])
		}
	}
	return names
}
