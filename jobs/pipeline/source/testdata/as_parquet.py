"""Writes Sqoop's text of the check table, read from standard input, as Parquet: as_parquet.py COLUMNS FOLDER.

Each file in the folder has the same rows, as another program would write them: spark and again (INT96, decimals, snappy), arrow
(timestamps with and without a zone, dictionaries, zstd, pages of version 2), sqoop (text and milliseconds, uncompressed), old
(decimals as text, unmarked text, gzip).
"""
import datetime as dt
import decimal
import os
import sys
import zoneinfo

import pyarrow as pa
import pyarrow.parquet as pq

names, folder = sys.argv[1].split(","), sys.argv[2]
records = sys.stdin.buffer.read().decode("utf-8").split("\x10")[:-1]
columns = dict(zip(names, zip(*(r.split("\x01") for r in records))))
zone = zoneinfo.ZoneInfo("Asia/Shanghai")



def clock(v):
    return dt.datetime.strptime(v, "%Y-%m-%d %H:%M:%S.%f")


def moment(v):
    return clock(v).replace(tzinfo=zone)


def write(name, types, **options):
    arrays = {c: types[c](v) if c in types else pa.array(v, pa.string()) for c, v in columns.items()}
    pq.write_table(pa.table(arrays), os.path.join(folder, name + ".parquet"), **options)


numbers = {
    "deleted": lambda v: pa.array(map(int, v), pa.int8()),
    "score": lambda v: pa.array(map(int, v), pa.int32()),
    "amount": lambda v: pa.array(map(decimal.Decimal, v), pa.decimal128(12, 2)),
}
for name in ("spark", "again"):
    write(name, numbers | {c: lambda v: pa.array(map(clock, v), pa.timestamp("us")) for c in ("created_at", "updated_at")},
          use_deprecated_int96_timestamps=True, row_group_size=500)
write("arrow", numbers | {"created_at": lambda v: pa.array(map(clock, v), pa.timestamp("ns")),
                          "updated_at": lambda v: pa.array(map(moment, v), pa.timestamp("us", tz="Asia/Shanghai"))},
      compression="zstd", data_page_version="2.0", row_group_size=700)
write("sqoop", {c: lambda v: pa.array([int(moment(t).timestamp() * 1000) for t in v], pa.int64()) for c in ("created_at", "updated_at")},
      compression="none", use_dictionary=False)
write("old", {c: lambda v: pa.array([t.encode() for t in v], pa.binary()) for c in names}, compression="gzip",
      use_dictionary=False, column_encoding={"rule_desc": "DELTA_BYTE_ARRAY", "id": "DELTA_LENGTH_BYTE_ARRAY"})
