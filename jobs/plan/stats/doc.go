// Package stats knows what a table and its row key should look like for given data: bounded-memory statistics of what
// was read, the rules that make regions of them, the checks of a row key and a table, the forecast, and the page that
// shows it all. It reads no files and asks no cluster: package jobs does, and fills a Report.
package stats
