package csv

import (
	"bytes"
	"fmt"
	"regexp"

	"bulkload/ingest"
	"bulkload/internal/errcode"
)

// nonRow is the kind of a line that a client writes between rows.
type nonRow int

const (
	noNoise        nonRow = iota
	blank                 // nothing, or the separator in a file of rejects
	repeatedHeader        // the heading, as SQL*Plus writes it for each page
	prompt                // "SQL> spool off", and the lines of the statement that follow it
	feedback              // "5 rows selected." and the like
	failure               // ORA-01555 and the like
	marked                // a record after a form feed or a byte order mark
)

var (
	failureLine = regexp.MustCompile(
		`^(ERROR:|ERROR at line \d|Error starting at line|SQL Error:|(ORA|PLS|TNS|KUP)-\d{5}\b|(SP2|CPY|DPI)-\d{4}\b)`)

	feedbackLine = regexp.MustCompile(`^(` +
		`(no rows|\d+ rows?) (selected|created|updated|deleted|inserted|merged)\.?` +
		`|已选择 ?\d+ ?行。|未选定行。?|会话已更改。|已用时间: .*|PL/SQL 过程已成功完成。` +
		`|\d+ Zeilen? (wurden? )?ausgewählt\.|(Es wurden keine|Keine) Zeilen ausgewählt\.?|Session wurde geändert\.|Abgelaufen: [\d:., ]+|PL/SQL-Prozedur erfolgreich abgeschlossen\.` +
		`|\d+ lignes? sélectionnées?\.|aucune ligne sélectionnée\.?|Session modifiée\.|[EÉ]coulé ?: [\d:., ]+|Procédure PL/SQL terminée avec succès\.` +
		`|\d+行が選択されました。|レコードが選択されませんでした。?|セッションが変更されました。|経過: [\d:., ]+|PL/SQLプロシージャが正常に完了しました。` +
		`|Elapsed: [\d:.]+` +
		`|(Session|System|Table|User|Commit|Rollback|Connect|Disconnect)( altered| created| truncated| dropped| complete)?(ed)?\.` +
		`|PL/SQL procedure successfully completed\.` +
		`|Input truncated to \d+ characters` +
		`|Connected to:?.*|Disconnected from .*|(SQL\*Plus|SQLcl): Release .*|Copyright \(c\) .*|Version \d+(\.\d+)+` +
		`|Oracle( AI)? Database \d+.*|With the .* options?` +
		`)\s*$`)

	continued = regexp.MustCompile(`^ *\d+[ *] `)
)

// classify returns the kind of a line that may not be a row. A line with the right number of values (right) is a row,
// unless it is the heading or a prompt, because a value may contain ORA-00942.
func (r *reader) classify(line []byte, right bool) nonRow {
	switch {
	case len(line) == 0, len(line) == 1 && line[0] == '\r':
		return blank
	case r.marks(line) > 0:
		if kind := r.classify(line[r.marks(line):], false); kind != noNoise {
			return kind
		}
		return marked
	case r.names != nil && len(line) == len(r.rec.Heading) && string(line) == r.rec.Heading:
		return repeatedHeader
	case line[0] == 'S' && bytes.HasPrefix(line, []byte("SQL>")):
		r.prompted = true
		return prompt
	case r.prompted && continued.Match(line):
		return prompt
	}
	r.prompted = false
	if right && len(r.spans) > 1 || r.form.Quote != 0 && line[0] == r.form.Quote || bytes.IndexByte(line, '\n') >= 0 {
		return noNoise
	}
	return r.classifyMessage(line)
}

// marks is how many bytes at the start of a line do not belong to a record: form feeds, with which SQL*Plus begins its
// pages (set newpage 0), and the byte order marks of concatenated files.
func (r *reader) marks(line []byte) int {
	n := 0
	for n < len(line) {
		switch {
		case line[n] == '\f':
			n++
		case line[n] == byteOrderMark[0] && r.form.Charset.IsUTF8() && bytes.HasPrefix(line[n:], byteOrderMark):
			n += len(byteOrderMark)
		default:
			return n
		}
	}
	return n
}

// skipMarks advances over the marks before a record.
func (r *reader) skipMarks() error {
	for {
		if len(r.rest()) < len(byteOrderMark) {
			if err := r.more(); err != nil {
				return err
			}
		}
		n := r.marks(r.rest())
		if n == 0 {
			return nil
		}
		r.pos += n
	}
}

// classifyMessage classifies a message by its text.
func (r *reader) classifyMessage(line []byte) nonRow {
	text, _ := r.form.Charset.Append(nil, line[:min(len(line), 300)])
	switch {
	case failureLine.Match(text):
		return failure
	case feedbackLine.Match(text):
		return feedback
	}
	return noNoise
}

// handleNonRow returns nil if such a line is to be skipped, and its error otherwise.
func (r *reader) handleNonRow(kind nonRow, line []byte) error {
	text, _ := r.form.Charset.Append(nil, line[:min(len(line), 200)])
	if kind == failure {
		if r.form.SkipErrors {
			r.skipped++
			return nil
		}
		return refusef(errcode.CSVExport, "read %s at byte %d: the export failed: %q; rows are probably missing: export "+
			"again, or skip such lines by input.skip_errors: true",
			r.path, r.rec.Offset, r.withCause(text))
	}
	if r.form.SkipNoise {
		r.skipped++
		return nil
	}
	what := fmt.Sprintf("a message of the client, not a record: %q; export with set feedback off, timing off", text)
	switch kind {
	case repeatedHeader:
		what = "the heading again, not a record; export with set pagesize 50000 or more"
	case prompt:
		what = fmt.Sprintf("a prompt, not a record: %q; export by a script, with set echo off", text)
	case marked:
		what = fmt.Sprintf("a form feed or a byte order mark before the record: %q; export with set newpage none, and join "+
			"files without their marks", text)
	}
	r.begun(line)
	return r.bad(errcode.RejectSQLPlus, "", what+", or skip such lines by input.skip_noise: true")
}

// bareError is the line that SQL*Plus writes before the line with the reason.
var bareError = regexp.MustCompile(`^(ERROR:|ERROR at line \d+:?)\s*$`)

// withCause returns a failure's text, with the message of the next line if it has none itself.
func (r *reader) withCause(text []byte) []byte {
	if !bareError.Match(text) || r.more() != nil {
		return text
	}
	cause, _ := r.line()
	shown, _ := r.form.Charset.Append(bytes.TrimRight(text, "\r\n "), append([]byte{' '}, cause[:min(len(cause), 200)]...))
	return bytes.TrimRight(shown, "\r ")
}

func (r *reader) bad(code errcode.Code, column, reason string) *ingest.BadRecord {
	return &ingest.BadRecord{Position: r.rec.Position, Column: column, Reason: reason, Raw: r.rec.Raw, Code: code}
}
