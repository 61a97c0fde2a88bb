"""Writes Sqoop's text (fields 0x01, records 0x10, stdin) as CSV by Python's csv module: as_csv.py COLUMNS CHARSET DELIMITER LINEEND > FILE."""
import csv
import io
import sys

columns, charset, delimiter, end = sys.argv[1].split(","), sys.argv[2], sys.argv[3], {"lf": "\n", "crlf": "\r\n"}[sys.argv[4]]
text = sys.stdin.buffer.read().decode("utf-8")
out = io.StringIO(newline="")
writer = csv.writer(out, delimiter=delimiter, lineterminator=end, quoting=csv.QUOTE_ALL)
writer.writerow(name.upper() for name in reversed(columns))
for record in text.split("\x10"):
    if record:
        writer.writerow(reversed(record.split("\x01")))
sys.stdout.buffer.write(out.getvalue().encode(charset))
