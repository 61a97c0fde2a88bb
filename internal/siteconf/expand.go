package siteconf

import (
	"os"
	"os/user"
	"strings"
)

// maxExpansions bounds the ${…} that one value may expand (Configuration.MAX_SUBST).
const maxExpansions = 20

// maxExpanded bounds the size of the result in bytes: 20 doublings in a site file would not fit into memory.
const maxExpanded = 1 << 20

// expand replaces ${name} by a system property, an environment variable or another property, the innermost first, as
// Configuration.substituteVars does. It leaves what it can't resolve unchanged.
func (c *Conf) expand(text string) string {
	from := 0
	for range maxExpansions {
		open, end := variable(text, from)
		if open < 0 {
			break
		}
		value, ok := c.resolve(text[open+2 : end])
		if !ok {
			from = end + 1
			continue
		}
		if len(text)+len(value) > maxExpanded {
			break
		}
		text = text[:open] + value + text[end+1:]
		from = min(from, open)
	}
	return text
}

// variable finds the first innermost ${name} whose end is at or after from; open is -1 if there is none.
func variable(text string, from int) (open, end int) {
	for end = from; end < len(text); end++ {
		if text[end] != '}' {
			continue
		}
		open = strings.LastIndex(text[:end], "${")
		if open >= 0 && open+2 < end && !strings.ContainsAny(text[open+2:end], "}$ ") {
			return open, end
		}
	}
	return -1, 0
}

func (c *Conf) resolve(name string) (string, bool) {
	if variable, ok := strings.CutPrefix(name, "env."); ok {
		return environment(variable)
	}
	if value, ok := system(name); ok {
		return value, true
	}
	return c.raw(name)
}

// environment resolves NAME, NAME-default and NAME:-default; the last one's default also replaces an empty value.
func environment(expression string) (string, bool) {
	name, def, hasDefault := strings.Cut(expression, "-")
	name, orEmpty := strings.CutSuffix(name, ":")
	value, ok := os.LookupEnv(name)
	if ok && (value != "" || !orEmpty) {
		return value, true
	}
	return def, hasDefault
}

// system returns the Java system properties that site files use.
func system(name string) (string, bool) {
	switch name {
	case "user.name":
		if u, err := user.Current(); err == nil {
			return u.Username, true
		}
	case "user.home":
		dir, err := os.UserHomeDir()
		return dir, err == nil
	case "user.dir":
		dir, err := os.Getwd()
		return dir, err == nil
	case "java.io.tmpdir":
		return os.TempDir(), true
	}
	return "", false
}
