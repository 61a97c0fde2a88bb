"""Writes rows as CSV files, by Python's own csv module: write.py DIR < rows.json; the files' names say how."""
import csv
import itertools
import json
import os
import sys

rows = json.load(sys.stdin)
quotings = {"minimal": csv.QUOTE_MINIMAL, "all": csv.QUOTE_ALL, "nonnumeric": csv.QUOTE_NONNUMERIC}
for quoting, end, delimiter, charset in itertools.product(
        quotings, ("lf", "crlf"), (",", "|", ";", "tab"), ("utf-8", "utf-8-sig", "gbk", "gb18030", "cp1252")):
    name = os.path.join(sys.argv[1], "_".join((quoting, end, "bar" if delimiter == "|" else delimiter, charset)))
    with open(name, "w", newline="", encoding=charset) as out:
        writer = csv.writer(out, quoting=quotings[quoting], lineterminator={"lf": "\n", "crlf": "\r\n"}[end],
                            delimiter={"tab": "\t"}.get(delimiter, delimiter))
        for row in rows:
            try:
                "".join(row).encode(charset)
            except UnicodeEncodeError:
                continue
            writer.writerow(row)
