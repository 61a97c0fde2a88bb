package main

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"bulkload/internal/editdistance"
	"bulkload/internal/errcode"

	"github.com/alecthomas/kong"
)

// helpCommand is in the list of commands. parse turns "help COMMAND" into "COMMAND --help".
type helpCommand struct {
	Name string `arg:"" optional:"" help:"A command, or an error's code, such as BL-INPUT-MISSING (default: all commands)."`
}

// do explains the code of an error.
func (c *helpCommand) do(_ context.Context, s *session) (report, error) {
	if c.Name == "" || isCommand(s.model, c.Name) { // given with other flags
		return nil, nil
	}
	if e := errcode.Find(c.Name); e != nil {
		return nil, s.print(func(w *bytes.Buffer) { w.WriteString(codeHelp(e)) })
	}
	var names []string
	for _, section := range errcode.Table {
		for _, e := range section.Entries {
			names = append(names, string(e.Code))
		}
	}
	for _, command := range s.model.Children {
		names = append(names, command.Name)
	}
	name := c.Name[:min(len(c.Name), 64)] // no name is longer, and comparing longer texts would take time
	return nil, usage(fmt.Errorf("%q is neither a command nor the code of an error; do you mean %s?", name,
		strings.Join(nearestNames(name, names), ", ")))
}

func isCommand(app *kong.Application, name string) bool {
	return slices.ContainsFunc(app.Children, func(n *kong.Node) bool { return n.Name == name })
}

// nearestNames are the names that begin with a text, or else the three that differ least from it. It ignores the case
// and BL-.
func nearestNames(text string, names []string) []string {
	plain := func(name string) string { return strings.TrimPrefix(strings.ToUpper(name), "BL-") }
	text = plain(text)
	other := func(name string) bool { return !strings.HasPrefix(plain(name), text) }
	if begin := slices.DeleteFunc(slices.Clone(names), other); len(begin) > 0 {
		return begin
	}
	slices.SortStableFunc(names, func(a, b string) int {
		return editdistance.Between(text, plain(a)) - editdistance.Between(text, plain(b))
	})
	return names[:3]
}

// markdownLink is a Markdown link; its group is the target.
var markdownLink = regexp.MustCompile(`\[[^\]]*\]\(([^)]*)\)`)

// codeHelp is the help about a code on a terminal. It replaces links to files by their paths in the repository.
func codeHelp(e *errcode.Doc) string {
	const columns = 80
	var page strings.Builder
	fmt.Fprintf(&page, "%s (exit code %d)\n", e.Code, exitCode(e.Code.New("")))
	for _, text := range []string{e.Cause, e.Remedy, saidElsewhere("Other programs say", e)} {
		if text != "" {
			text = markdownLink.ReplaceAllStringFunc(text, func(l string) string {
				return path.Join("docs", markdownLink.FindStringSubmatch(l)[1])
			})
			fmt.Fprintf(&page, "\n%s\n", fold(text, columns))
		}
	}
	return page.String()
}

// saidElsewhere is the sentence with other programs' words for the same cause, after an introduction.
func saidElsewhere(introduction string, e *errcode.Doc) string {
	if len(e.Words) == 0 {
		return ""
	}
	return introduction + " `" + strings.Join(e.Words, "`, `") + "`."
}

// unbroken matches text that fold keeps in one line: a word, or words between backticks, which people search for or
// copy.
var unbroken = regexp.MustCompile("(`[^`]*`|[^`\\s])+")

// fold breaks a text into lines of at most that many columns, unless an unbreakable part is longer.
func fold(text string, columns int) string {
	var folded strings.Builder
	at := 0
	for i, word := range unbroken.FindAllString(text, -1) {
		width := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case at+1+width > columns:
			folded.WriteByte('\n')
			at = 0
		default:
			folded.WriteByte(' ')
			at++
		}
		folded.WriteString(word)
		at += width
	}
	return folded.String()
}

// withHelp replaces the command help with the flag --help, unless it is about an error's code.
func withHelp(app *kong.Application, args []string) []string {
	if len(args) == 0 || args[0] != "help" || len(args) > 3 {
		return args
	}
	if len(args) > 1 && (strings.HasPrefix(args[len(args)-1], "-") || !isCommand(app, args[1])) {
		return args
	}
	return append(args[1:len(args):len(args)], "--help")
}

// examples are the command lines shown in the help of each command. They run as they are, from a folder with the
// repository's jobs.
var examples = map[string][]string{
	"run": {
		"bulkload run jobs/examples/check.yaml --date 2026-11-20",
		"bulkload run jobs/examples/check.yaml jobs/examples/opinion.yaml --date 2026-11-20 --parallel 2",
		"bulkload run jobs/examples/check-hbase.yaml --date yesterday --zone Asia/Shanghai --wait 2h",
		"bulkload run jobs/examples/check-hbase.yaml --from 2026-11-01 --to 2026-11-30",
	},
	"plan": {
		"bulkload plan jobs/examples/check.yaml --date 2026-11-20 --html plan.html",
		"bulkload plan jobs/examples/check.yaml --date 2026-11-20 --compare 'md5(check_id, 4) + check_id + id'",
		"bulkload plan jobs/examples/check-hbase.yaml --date 2026-11-20 --create",
	},
	"load": {
		"bulkload load hdfs:///user/tina/hfile/check/2026-11-20 tinawang:check",
	},
	"verify": {
		"bulkload verify jobs/examples/check.yaml --date 2026-11-20",
		"bulkload verify out/check/2026-11-20",
		"bulkload verify jobs/examples/check-hbase.yaml --date 2026-11-20 --live",
	},
	"inspect": {
		"bulkload inspect hdfs:///user/tina/hfile/check/2026-11-20/f/0123456789abcdef0123456789abcdef --blocks",
	},
	"get": {
		"bulkload get jobs/examples/check.yaml A208849559 --from out/check/2026-11-20",
		"bulkload get jobs/examples/check-hbase.yaml A208849559",
	},
	"keys": {
		"bulkload keys jobs/examples/check.yaml A208849559",
	},
	"serve": {
		"bulkload serve jobs/examples/check-hbase.yaml jobs/examples/opinion-hbase.yaml",
		"bulkload serve jobs/examples/check-hbase.yaml --date yesterday --listen 127.0.0.1:9090 --rows 20",
	},
	"status": {
		"bulkload status jobs/examples/check-hbase.yaml --date 2026-11-20",
	},
	"list": {
		"bulkload list out",
	},
	"clean": {
		"bulkload clean out --older-than 30d --rejects-older-than 7d --dry-run",
	},
	"task": {
		"bulkload task plan jobs/examples/order-lines.yaml --date 2026-11-20",
		"bulkload task map out/order-lines/2026-11-20 0",
		"bulkload task gather out/order-lines/2026-11-20",
		"bulkload task reduce out/order-lines/2026-11-20 0",
		"bulkload task finish out/order-lines/2026-11-20",
	},
	"init": {
		"bulkload init jobs/examples/testdata/orders/2026-11-20 -o orders.yaml",
		"bulkload init tinawang:check -o check.yaml",
	},
	"convert": {
		"bulkload convert jobs/examples/check.properties -o check-from-spark.yaml",
	},
	"schema": {
		"bulkload schema >job.schema.json",
	},
	"completion": {
		"bulkload completion bash >/etc/bash_completion.d/bulkload",
	},
	"man": {
		"bulkload man >/usr/local/share/man/man1/bulkload.1",
	},
	"help": {
		"bulkload help run",
		"bulkload help BL-INPUT-MISSING",
	},
}

// addExamples adds the examples to the help of the commands.
func addExamples(app *kong.Application) {
	for _, command := range app.Children {
		if lines := examples[command.Name]; lines != nil {
			command.Detail = "Examples:\n\n  " + strings.Join(lines, "\n  ")
		}
	}
}
