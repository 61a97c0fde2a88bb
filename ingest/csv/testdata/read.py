"""Reads CSV texts by Python's own csv module, strictly: a JSON list of texts in, a list of rows or null (no CSV) for each out."""
import csv
import io
import json
import sys


def rows(text):
    try:
        return list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except csv.Error:
        return None


json.dump([rows(text) for text in json.load(sys.stdin)], sys.stdout)
