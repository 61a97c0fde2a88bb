package draft

import (
	"fmt"
	"strconv"
	"strings"
)

// readProperties reads a properties file as java.util.Properties.load does: the bytes are ISO-8859-1, a backslash at
// the end of a line continues it, and the last of equal keys counts.
func readProperties(text []byte) (map[string]string, error) {
	runes := make([]rune, len(text))
	for i, b := range text {
		runes[i] = rune(b)
	}
	properties := map[string]string{}
	for i, line := range logicalLines(string(runes)) {
		key, value := cutProperty(line)
		var err error
		if key, err = unescape(key); err == nil {
			value, err = unescape(value)
		}
		if err != nil {
			return nil, fmt.Errorf("property %d: %w", i+1, err)
		}
		properties[key] = value
	}
	return properties, nil
}

const propertySpace = " \t\f"

// logicalLines joins continued lines, and leaves out comments and empty lines.
func logicalLines(text string) (lines []string) {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	continued := false
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimLeft(line, propertySpace)
		if !continued && (line == "" || line[0] == '#' || line[0] == '!') {
			continue
		}
		cut := strings.TrimRight(line, `\`)
		more := (len(line)-len(cut))%2 == 1
		if more {
			line = line[:len(line)-1]
		}
		if continued {
			lines[len(lines)-1] += line
		} else {
			lines = append(lines, line)
		}
		continued = more
	}
	return lines
}

// cutProperty splits a line after its key, which ends at a space, = or :.
func cutProperty(line string) (key, value string) {
	end := len(line)
	for i := 0; i < len(line); i++ {
		if line[i] == '\\' {
			i++
		} else if strings.IndexByte("=:"+propertySpace, line[i]) >= 0 {
			end = i
			break
		}
	}
	value = strings.TrimLeft(line[end:], propertySpace)
	if value != "" && (value[0] == '=' || value[0] == ':') {
		value = strings.TrimLeft(value[1:], propertySpace)
	}
	return line[:end], value
}

// unescape resolves backslashes.
func unescape(text string) (string, error) {
	var b strings.Builder
	runes := []rune(text)
	for i := 0; i < len(runes); i++ {
		if runes[i] != '\\' || i+1 == len(runes) {
			b.WriteRune(runes[i])
			continue
		}
		i++
		switch runes[i] {
		case 't':
			b.WriteByte('\t')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 'f':
			b.WriteByte('\f')
		case 'u':
			end := min(i+5, len(runes))
			code, err := strconv.ParseUint(string(runes[i+1:end]), 16, 16)
			if err != nil || end != i+5 {
				return "", fmt.Errorf(`\u%s is not four hex digits`, string(runes[i+1:end]))
			}
			b.WriteRune(rune(code))
			i += 4
		default:
			b.WriteRune(runes[i])
		}
	}
	return b.String(), nil
}
