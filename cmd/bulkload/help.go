package main

import (
	"context"
	"strings"

	"github.com/alecthomas/kong"
)

// helpCommand is in the list of commands. parse does its work: help COMMAND is COMMAND --help.
type helpCommand struct {
	Command string `arg:"" optional:"" help:"A command; without one, all are shown."`
}

func (helpCommand) do(context.Context, *session) (report, error) { return nil, nil }

// withHelp replaces the command help by the flag --help.
func withHelp(args []string) []string {
	if len(args) == 0 || args[0] != "help" || len(args) > 3 || len(args) > 1 && strings.HasPrefix(args[len(args)-1], "-") {
		return args
	}
	return append(args[1:len(args):len(args)], "--help")
}

// examples are the command lines that each command's help shows. They run as they are, from a folder with the repository's jobs.
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
