package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// The scripts are our own, because the libraries that complete kong's commands, kongplete and kong-completion, run the
// program at each keystroke, show no help beside a word, and depend on packages that have had no release since 2020. A
// script is a file, which a package can install.

type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

func (c *completionCommand) do(_ context.Context, s *session) (report, error) {
	scripts := map[string]func(*bytes.Buffer, *kong.Application){"bash": bashCompletion,
		"zsh": zshCompletion, "fish": fishCompletion}
	return nil, s.print(func(w *bytes.Buffer) { scripts[c.Shell](w, s.model) })
}

// print writes output that is not a report, and has no JSON form.
func (s *session) print(write func(*bytes.Buffer)) error {
	if s.JSON.wanted() {
		return usage(errors.New("it prints a file, not an object: leave --json out"))
	}
	var text bytes.Buffer
	write(&text)
	_, err := s.answers().Write(text.Bytes())
	return err
}

// commandNames are the names of all commands, separated by sep.
func commandNames(app *kong.Application, sep string) string {
	var names []string
	for _, c := range app.Children {
		names = append(names, c.Name)
	}
	return strings.Join(names, sep)
}

// flagsOf are a command's own flags, followed by those of all commands.
func flagsOf(app *kong.Application, command *kong.Node) []*kong.Flag {
	return slices.Concat(ownFlags(command), app.Flags)
}

// ownFlags are a command's own flags; for a group, those of its commands.
func ownFlags(command *kong.Node) []*kong.Flag {
	own := slices.Clone(command.Flags)
	for _, c := range command.Children {
		for _, f := range c.Flags {
			if !slices.ContainsFunc(own, func(o *kong.Flag) bool { return o.Name == f.Name }) {
				own = append(own, f)
			}
		}
	}
	return own
}

func flagWords(flags []*kong.Flag) string {
	var words []string
	for _, f := range flags {
		if words = append(words, "--"+f.Name); f.Short != 0 {
			words = append(words, "-"+string(f.Short))
		}
	}
	return strings.Join(words, " ")
}

// argumentWords are the values of a command's argument, if they are a fixed list; for a group, its commands.
func argumentWords(command *kong.Node) (words []string) {
	for _, c := range command.Children {
		words = append(words, c.Name)
	}
	if words != nil {
		return words
	}
	for _, p := range command.Positional {
		if p.Enum != "" {
			return p.EnumSlice()
		}
	}
	return nil
}

func bashCompletion(w *bytes.Buffer, app *kong.Application) {
	fmt.Fprintf(w, `# bash completion for bulkload: source it, or put it into /usr/share/bash-completion/completions/bulkload.
_bulkload() {
  local current=${COMP_WORDS[COMP_CWORD]} command= flags= words= i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${COMP_WORDS[i]} in
      %s) command=${COMP_WORDS[i]}; break ;;
    esac
  done
  case $command in
    '') flags='%s' words='%s' ;;
`, commandNames(app, "|"), flagWords(app.Flags), commandNames(app, " "))
	for _, c := range app.Children {
		fmt.Fprintf(w, "    %s) flags='%s' words='%s' ;;\n", c.Name, flagWords(flagsOf(app, c)),
			strings.Join(argumentWords(c), " "))
	}
	fmt.Fprint(w, `  esac
  COMPREPLY=()
  if [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$current")
  elif [[ $words ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}
complete -o filenames -F _bulkload bulkload
`)
}

// firstSentence is the part of a help text that fits beside a word.
func firstSentence(text string) string {
	text = strings.ReplaceAll(text, "$$", "$")
	if i := strings.IndexAny(text, ".;"); i >= 0 {
		text = text[:i]
	}
	return text
}

// zshText is a help text inside a quoted specification of _arguments.
func zshText(text string) string {
	return strings.NewReplacer("'", `'\''`, "[", `\[`, "]", `\]`, ":", `\:`).Replace(firstSentence(text))
}

func zshFlags(w *bytes.Buffer, indent string, flags []*kong.Flag) {
	for _, f := range flags {
		value := ""
		if !f.IsBool() {
			value = ":" + strings.ToLower(zshText(f.FormatPlaceHolder())) + ":_files"
			fmt.Fprintf(w, "%s'--%s=[%s]%s' \\\n", indent, f.Name, zshText(f.Help), value)
		} else {
			fmt.Fprintf(w, "%s'--%s[%s]' \\\n", indent, f.Name, zshText(f.Help))
		}
		if f.Short != 0 {
			fmt.Fprintf(w, "%s'-%c[%s]%s' \\\n", indent, f.Short, zshText(f.Help), value)
		}
	}
}

func zshCompletion(w *bytes.Buffer, app *kong.Application) {
	fmt.Fprint(w, `#compdef bulkload
# zsh completion for bulkload: put it into a folder of $fpath, as _bulkload.
_bulkload() {
  local -a commands
  commands=(
`)
	for _, c := range app.Children {
		fmt.Fprintf(w, "    '%s:%s'\n", c.Name, zshText(c.Help))
	}
	fmt.Fprintf(w, `  )
  case ${words[(r)(%s)]} in
`, commandNames(app, "|"))
	for _, c := range app.Children {
		fmt.Fprintf(w, "    %s)\n      _arguments \\\n", c.Name)
		zshFlags(w, "        ", flagsOf(app, c))
		rest := "*:file:_files"
		if words := argumentWords(c); words != nil {
			rest = "*:word:(" + strings.Join(words, " ") + ")"
		}
		fmt.Fprintf(w, "        '1:command:' '%s' ;;\n", rest)
	}
	fmt.Fprint(w, "    *)\n      _arguments \\\n")
	zshFlags(w, "        ", app.Flags)
	fmt.Fprint(w, `        '1:command:{_describe command commands}' ;;
  esac
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _bulkload "$@"
else
  compdef _bulkload bulkload
fi
`)
}

// fishText is a text in fish's single quotes.
func fishText(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(firstSentence(text)) + "'"
}

func fishFlags(w *bytes.Buffer, condition string, flags []*kong.Flag) {
	for _, f := range flags {
		fmt.Fprintf(w, "complete -c bulkload%s -l %s", condition, f.Name)
		if f.Short != 0 {
			fmt.Fprintf(w, " -s %c", f.Short)
		}
		if !f.IsBool() {
			fmt.Fprint(w, " -r")
		}
		fmt.Fprintf(w, " -d %s\n", fishText(f.Help))
	}
}

func fishCompletion(w *bytes.Buffer, app *kong.Application) {
	fmt.Fprintln(w, "# fish completion for bulkload: put it into ~/.config/fish/completions/bulkload.fish.")
	fishFlags(w, "", app.Flags)
	for _, c := range app.Children {
		fmt.Fprintf(w, "complete -c bulkload -n __fish_use_subcommand -f -a %s -d %s\n", c.Name, fishText(c.Help))
		condition := fmt.Sprintf(" -n '__fish_seen_subcommand_from %s'", c.Name)
		fishFlags(w, condition, ownFlags(c))
		if words := argumentWords(c); words != nil {
			fmt.Fprintf(w, "complete -c bulkload%s -f -a '%s'\n", condition, strings.Join(words, " "))
		}
	}
}
