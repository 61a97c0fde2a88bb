"""Writes the files that are kept in this folder, so that most tests need no Python: kept.py FOLDER."""
import datetime as dt
import decimal
import json
import os
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe

out = sys.argv[1]
rows = 300
ids = list(range(1, rows + 1))
small = pa.table({
    "id": pa.array(ids, pa.int64()),
    "text": pa.array([None if i % 9 == 4 else "value %d" % (i % 40) for i in ids]),
    "price": pa.array([decimal.Decimal(i * 25 % 1000).scaleb(-2) for i in ids], pa.decimal128(10, 2)),
    "at": pa.array([dt.datetime(2026, 11, 20) + dt.timedelta(minutes=i) for i in ids], pa.timestamp("us")),
    "ratio": pa.array([i / 8 for i in ids], pa.float64()),
    "flag": pa.array([None if i % 5 == 0 else i % 2 == 0 for i in ids]),
})


def write(name, table, **options):
    pq.write_table(table, os.path.join(out, name + ".parquet"), **options)


# Read and damaged by tests.
write("small", small, row_group_size=120, write_page_checksum=True, compression="snappy")
write("plain", small, row_group_size=300, write_page_checksum=True, compression="none", use_dictionary=False)
write("v2", small, row_group_size=100, write_page_checksum=True, compression="zstd", data_page_version="2.0", use_dictionary=["text"],
      data_page_size=400, write_batch_size=30)
write("delta", small, row_group_size=300, compression="gzip", use_dictionary=False, data_page_size=500, write_batch_size=50,
      column_encoding={"id": "DELTA_BINARY_PACKED", "text": "DELTA_BYTE_ARRAY", "at": "DELTA_BINARY_PACKED", "flag": "RLE"})
write("lengths", small, compression="brotli", use_dictionary=False, column_encoding={"text": "DELTA_LENGTH_BYTE_ARRAY"})

# Refused.
write("lz4", small.slice(0, 3), compression="lz4")
write("stream-split", small.slice(0, 3), use_dictionary=False, column_encoding={"ratio": "BYTE_STREAM_SPLIT"})
write("nested", pa.table({"id": [1], "list": [[1, 2]], "struct": [{"a": 1}], "map": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int32()))}))
write("other-type", small.slice(0, 3).set_column(2, "price", pa.array([1.0, 2.0, 3.0])))


class Keys(pe.KmsClient):
    def __init__(self, _):
        super().__init__()

    def wrap_key(self, key, _):
        return key.hex()

    def unwrap_key(self, key, _):
        return bytes.fromhex(key)


for name, plaintext in (("encrypted", False), ("encrypted-columns", True)):
    factory = pe.CryptoFactory(Keys)
    config = pe.EncryptionConfiguration(footer_key="f", column_keys={"k": ["price"]}, plaintext_footer=plaintext)
    properties = factory.file_encryption_properties(pe.KmsConnectionConfig(), config)
    write(name, small.slice(0, 3), encryption_properties=properties)

with open(os.path.join(out, "small.json"), "w", encoding="utf-8") as f:
    def text(column, v):
        if v is None:
            return None
        if column == "price":
            t = "%.2f" % v
            return t.rstrip("0").rstrip(".")
        if column == "at":
            return v.strftime("%Y-%m-%d %H:%M:%S.0")
        if column == "flag":
            return "true" if v else "false"
        return str(v)
    json.dump({"columns": small.column_names, "rows": [[text(c, v) for c, v in r.items()] for r in small.to_pylist()]}, f)
    f.write("\n")
