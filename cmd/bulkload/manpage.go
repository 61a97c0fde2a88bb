package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// The page is our own, because mango-kong, the library that makes man pages of kong's commands, leaves out their
// arguments, examples and exit codes, and writes the build date into each page, so that no two builds are equal. It has
// had no release since 2022.

type manCommand struct{}

func (manCommand) do(_ context.Context, s *session) (report, error) {
	return nil, s.print(func(w *bytes.Buffer) { manPage(w, s.model) })
}

// roff escapes a text for man pages (groff_man(7)), where a backslash, a hyphen, and a dot or quote at the start of a
// line have a special meaning.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "$$", "$").Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}

// manPage writes bulkload(1).
func manPage(w *bytes.Buffer, app *kong.Application) {
	about, exits, _ := strings.Cut(app.Help, "\n\n")
	fmt.Fprintf(w, ".TH BULKLOAD 1 \"\" bulkload\n.SH NAME\nbulkload \\- %s\n", roff(lowerFirst(about)))
	fmt.Fprint(w, ".SH SYNOPSIS\n")
	for _, c := range leaves(app) {
		fmt.Fprintf(w, ".B bulkload %s\n.br\n", roff(c.Summary()))
	}
	fmt.Fprint(w, ".SH COMMANDS\n")
	for _, c := range leaves(app) {
		fmt.Fprintf(w, ".SS bulkload %s\n%s\n", roff(c.Summary()), roff(c.Help))
		for _, p := range c.Positional {
			fmt.Fprintf(w, ".TP\n.I %s\n%s\n", roff(p.Name), roff(p.Help))
		}
		manFlags(w, c.Flags)
		if c.Parent == app.Node || c == c.Parent.Children[len(c.Parent.Children)-1] {
			manExamples(w, strings.Fields(c.Path())[0])
		}
	}
	fmt.Fprint(w, ".SH FLAGS OF ALL COMMANDS\n")
	manFlags(w, app.Flags)
	title, codes, _ := strings.Cut(exits, ":\n")
	fmt.Fprintf(w, ".SH %s\n", strings.ToUpper(title))
	for line := range strings.Lines(codes) {
		code, meaning, _ := strings.Cut(strings.TrimSpace(line), " ")
		fmt.Fprintf(w, ".TP\n.B %s\n%s\n", roff(code), roff(strings.TrimSpace(meaning)))
	}
}

// leaves are the commands that do something: in place of a group, its commands.
func leaves(app *kong.Application) (all []*kong.Node) {
	for _, c := range app.Children {
		if c.Children == nil {
			all = append(all, c)
		}
		all = append(all, c.Children...)
	}
	return all
}

// manExamples writes a command's examples, unfilled.
func manExamples(w *bytes.Buffer, command string) {
	if lines := examples[command]; lines != nil {
		fmt.Fprintf(w, ".PP\nExamples:\n.PP\n.RS\n.nf\n%s\n.fi\n.RE\n", roff(strings.Join(lines, "\n")))
	}
}

func lowerFirst(text string) string {
	return strings.ToLower(text[:1]) + strings.TrimSuffix(text[1:], ".")
}

func manFlags(w *bytes.Buffer, flags []*kong.Flag) {
	for _, f := range flags {
		name := "--" + f.Name
		if f.Short != 0 {
			name = "-" + string(f.Short) + ", " + name
		}
		if !f.IsBool() {
			name += "=" + f.FormatPlaceHolder()
		}
		fmt.Fprintf(w, ".TP\n.B %s\n%s\n", roff(name), roff(f.Help))
	}
}
