// Package stats says what a table and its row key should look like for given data. It has bounded-memory statistics of
// what was read, the rules that propose regions from them, the checks of a row key and a table, the forecast, and the
// page that shows all of it. It reads no files and connects to no cluster: package plan does that, and fills an
// InputReport.
package stats
