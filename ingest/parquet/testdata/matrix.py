"""Writes Parquet files in all the ways pyarrow knows, and beside each the text that its values must give.

Usage: matrix.py FOLDER. For each NAME.parquet there is a NAME.json: an object with the columns' names, the form's options,
and the rows, each a list of texts (null for a null; binary values as Latin-1). The texts come from the values before
they are written, by rules of their own: nothing here reads Parquet.
"""
import datetime as dt
import decimal
import itertools
import json
import os
import random
import struct
import sys
import uuid
import zoneinfo

import pyarrow as pa
import pyarrow.parquet as pq

out = sys.argv[1]
D = decimal.Decimal
decimal.getcontext().prec = 100
EPOCH = dt.datetime(1970, 1, 1)


def plain(d, keep=False):
    text = format(d, "f")
    if not keep and "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in ("-0", "0") else text


def single(f):
    """The nearest number of 32 bits."""
    try:
        return struct.unpack("<f", struct.pack("<f", f))[0]
    except OverflowError:
        return float("inf") if f > 0 else float("-inf")


def java(f, bits=64):
    """Float.toString and Double.toString of Java 19 and later."""
    if f != f:
        return "NaN"
    if f in (float("inf"), float("-inf")):
        return "-Infinity" if f < 0 else "Infinity"
    if bits == 64:
        shortest = repr(f)
    else:  # the fewest digits that give the same 32 bits
        shortest = next(s for s in ("%.*e" % (n, f) for n in range(0, 9)) if single(float(s)) == f)
    if len(D(shortest).normalize().as_tuple().digits) == 1 and f != 0:
        shortest = "%.1e" % f  # of two digits the nearest: 4.9E-324
    sign, digits, exponent = D(shortest).normalize().as_tuple()
    digits = "".join(map(str, digits))
    point = len(digits) + exponent
    if digits == "0":
        text = "0.0"
    elif -3 < point <= 7:
        if point <= 0:
            text = "0." + "0" * -point + digits
        else:
            digits = digits.ljust(point, "0")
            text = digits[:point] + "." + (digits[point:] or "0")
    else:
        text = digits[0] + "." + (digits[1:] or "0") + "E" + str(point - 1)
    return ("-" if sign or str(f).startswith("-") else "") + text


def stamp(ns, zone=None):
    """java.sql.Timestamp.toString of nanoseconds since 1970, on the clocks of a zone."""
    seconds, nanos = divmod(ns, 10**9)
    t = EPOCH + dt.timedelta(seconds=seconds)
    if zone:
        t = t.replace(tzinfo=dt.timezone.utc).astimezone(zoneinfo.ZoneInfo(zone)).replace(tzinfo=None)
    fraction = "%09d" % nanos
    return "%04d-%02d-%02d %02d:%02d:%02d.%s" % (
        t.year, t.month, t.day, t.hour, t.minute, t.second, fraction.rstrip("0") or "0")


def time_of_day(ns):
    seconds, nanos = divmod(ns, 10**9)
    text = "%02d:%02d:%02d" % (seconds // 3600, seconds // 60 % 60, seconds % 60)
    return text + (".%09d" % nanos).rstrip("0") if nanos else text


def nanos_of(year, month, day, *clock):
    return int((dt.datetime(year, month, day, *clock) - EPOCH) // dt.timedelta(microseconds=1)) * 1000


rnd = random.Random(7)


def near(edges, low, high, n):
    """The edges first, then values of all magnitudes."""
    values = list(edges)
    while len(values) < n:
        values.append(max(low, min(high, rnd.choice((-1, 1)) * rnd.getrandbits(rnd.randint(1, 64)))))
    return values[:n]


def columns(n, zone):
    """Name, pyarrow's array without nulls, and texts."""
    result = {}

    def add(name, values, typ, show):
        result[name] = (values, typ, [show(v) for v in values])

    for bits in (8, 16, 32, 64):
        low, high = -(1 << bits - 1), (1 << bits - 1) - 1
        add("int%d" % bits, near([low, high, 0, -1], low, high, n), getattr(pa, "int%d" % bits)(), str)
        add("uint%d" % bits, [abs(v) for v in near([0, 2 * high + 1], 0, 2 * high + 1, n)], getattr(pa, "uint%d" % bits)(), str)
    add("bool", [rnd.random() < 0.5 for _ in range(n)], pa.bool_(), lambda v: "true" if v else "false")
    floats = [0.0, -0.0, 1.0, 1e7, 9999999.0, 1e-3, 9.999e-4, float("inf"), float("-inf"), float("nan"), 1.7976931348623157e308,
              5e-324, 100.0, 123456.789, 0.1, 1 / 3]
    doubles = (floats + [rnd.uniform(-1, 1) * 10 ** rnd.randint(-20, 20) for _ in range(n)])[:n]
    add("double", doubles, pa.float64(), java)
    singles = [single(f) for f in doubles]
    add("float", singles, pa.float32(), lambda f: java(f, 32))
    halves = ([0.0, -0.0, 65504.0, 6.103515625e-05, 5.960464477539063e-08, float("inf"), float("nan"), 1.5] +
              [struct.unpack("<e", struct.pack("<e", rnd.uniform(-1000, 1000)))[0] for _ in range(n)])[:n]
    add("half", halves, pa.float16(), lambda f: java(f, 32))
    for precision, scale in ((4, 2), (9, 0), (18, 6), (38, 10), (38, 38), (76, 20)):
        most = 10**precision - 1
        unscaled = [0, 1, -1, most, -most, 50, 100, 10**scale, -5 * 10**scale]
        unscaled = [v for v in unscaled if abs(v) <= most]
        while len(unscaled) < n:
            unscaled.append(rnd.choice((-1, 1)) * rnd.randrange(10 ** rnd.randint(0, precision)))
        typ = pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)
        add("dec_%d_%d" % (precision, scale), [D(v).scaleb(-scale) for v in unscaled[:n]], typ, plain)
    days = [-719162, -141428, -141427, -1, 0, 1, 2932896]
    while len(days) < n:
        days.append(rnd.randint(-719162, 2932896))
    add("date", [dt.date(1970, 1, 1) + dt.timedelta(days=d) for d in days[:n]], pa.date32(), dt.date.isoformat)
    for unit, factor in (("ms", 10**6), ("us", 10**3), ("ns", 1)):
        low, high = (nanos_of(1, 1, 2), nanos_of(9999, 12, 30)) if unit != "ns" else (-(1 << 63), (1 << 63) - 1)
        values = [0, -1, 1, 1582934400000 * 10**6 // factor, low // factor + 1, high // factor]
        while len(values) < n:
            values.append(rnd.randint(low // factor + 1, high // factor))
        values = values[:n]
        add("local_" + unit, values, pa.timestamp(unit), lambda v: stamp(v * factor))
        add("utc_" + unit, values, pa.timestamp(unit, tz="UTC"), lambda v: stamp(v * factor, zone))
        day = 86400 * 10**9 // factor
        times = ([0, day - 1, 1, day // 2] + [rnd.randrange(day) for _ in range(n)])[:n]
        add("time_" + unit, times, pa.time32("ms") if unit == "ms" else pa.time64(unit), lambda v: time_of_day(v * factor))
    words = ["", "a", "ü\u4e2d\U0001f600", "\x01\n\\", "\\N", "x" * 300] + ["word%d" % i for i in range(20)]
    add("string", [rnd.choice(words) if i >= len(words) else words[i] for i in range(n)], pa.string(), str)
    add("long_string", ["prefix-%06d-%s" % (i, "y" * rnd.randint(0, 40)) for i in range(n)], pa.large_string(), str)
    blobs = [b"", b"\x00\xff\x01"] + [rnd.randbytes(rnd.randint(0, 30)) for _ in range(n)]
    add("binary", blobs[:n], pa.binary(), lambda b: b.decode("latin-1"))
    add("fixed", [rnd.randbytes(5) for _ in range(n)], pa.binary(5), lambda b: b.decode("latin-1"))
    add("uuid", [rnd.randbytes(16) for _ in range(n)], pa.uuid(), lambda b: str(uuid.UUID(bytes=b)))
    add("same", ["always"] * n, pa.string(), str)
    return result


def array(values, typ):
    if typ == pa.uuid():
        return pa.ExtensionArray.from_storage(typ, pa.array(values, pa.binary(16)))
    return pa.array(values, typ)


def write(name, cols, nulls, form=None, **options):
    n = len(next(iter(cols.values()))[0])
    arrays, texts, names = [], [], []
    for i, (column, (values, typ, shown)) in enumerate(cols.items()):
        gone = [nulls == "all" or nulls == "some" and rnd.random() < 0.3 or nulls == "runs" and (r // 40 + i) % 3 == 0 for r in range(n)]
        arrays.append(array([None if g else v for g, v in zip(gone, values)], typ))
        texts.append([None if g else t for g, t in zip(gone, shown)])
        names.append(column)
    fields = [pa.field(c, a.type, nullable=nulls != "required") for c, a in zip(names, arrays)]
    table = pa.Table.from_arrays(arrays, schema=pa.schema(fields))
    pq.write_table(table, os.path.join(out, name + ".parquet"), **options)
    with open(os.path.join(out, name + ".json"), "w", encoding="utf-8") as f:
        json.dump({"columns": names, "form": form or {}, "rows": [list(row) for row in zip(*texts)]}, f)


everything = columns(600, "Asia/Shanghai")
zone = {"Zone": "Asia/Shanghai"}
codecs = ["none", "snappy", "gzip", "zstd", "brotli"]
for codec, version, dictionary, nulls in itertools.product(codecs, ["1.0", "2.0"], [True, False], ["required", "some", "runs"]):
    write("%s-v%s-%s-%s" % (codec, version[0], "dict" if dictionary else "plain", nulls), everything, nulls, zone,
          compression=codec, data_page_version=version, use_dictionary=dictionary, data_page_size=rnd.choice([100, 2000, 1 << 20]),
          row_group_size=rnd.choice([97, 250, 10000]), write_page_checksum=rnd.random() < 0.5, write_batch_size=50,
          write_page_index=rnd.random() < 0.3, dictionary_pagesize_limit=rnd.choice([500, 1 << 20]))

deltas = {c: "DELTA_BINARY_PACKED" for c in everything if c.startswith(("int", "uint", "local_", "utc_", "time_", "date"))}
deltas |= {"dec_4_2": "PLAIN", "bool": "RLE"}
for strings, version, nulls in itertools.product(["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"], ["1.0", "2.0"], ["required", "some", "runs", "all"]):
    encodings = deltas | {"string": strings, "long_string": strings, "binary": strings, "same": strings}
    if strings == "DELTA_BYTE_ARRAY":
        encodings |= {c: strings for c in ("fixed", "dec_38_10", "dec_76_20")}
    write("%s-v%s-%s" % (strings.lower(), version[0], nulls), {c: v for c, v in everything.items() if c in encodings}, nulls, zone,
          column_encoding=encodings, use_dictionary=False, data_page_version=version, data_page_size=rnd.choice([100, 3000, 1 << 20]),
          write_batch_size=33, compression=rnd.choice(codecs))

ints = {"dec_4_2": 0, "dec_9_0": 0, "dec_18_6": 0}
write("decimals-as-integers", {c: everything[c] for c in ints}, "some", store_decimal_as_integer=True)
kept = {c: (v, t, [plain(d, keep=True) for d in v]) for c, (v, t, _) in everything.items() if c.startswith("dec_")}
write("zeros-kept", kept, "some", {"KeepZeros": True})
blobs = everything["binary"]
write("hex", {"binary": (blobs[0], blobs[1], [b.hex(" ") for b in blobs[0]])}, "some", {"Binary": "hex"})
micros = everything["local_us"]
write("int96", {"t": (micros[0], micros[1], [stamp(v * 1000) for v in micros[0]])}, "some", use_deprecated_int96_timestamps=True)
write("int96-zone", {"t": (micros[0], micros[1], [stamp(v * 1000, "America/New_York") for v in micros[0]])}, "some",
      {"Int96Zone": "America/New_York", "Zone": "Asia/Shanghai"}, use_deprecated_int96_timestamps=True)
thousandths = [v // 1000 for v in micros[0]]
write("millis", {"t": (thousandths, pa.int64(), [stamp(v * 10**6, "Asia/Tokyo") for v in thousandths])}, "some",
      {"Millis": ["t"], "Zone": "Asia/Tokyo"})
write("null-type", {"n": ([None] * 10, pa.null(), [None] * 10), "i": (list(range(10)), pa.int32(), list(map(str, range(10))))}, "")
write("no-rows", {"int8": ([], pa.int8(), [])}, "")
write("one-row", {c: (v[:1], t, s[:1]) for c, (v, t, s) in everything.items()}, "", zone)
write("names", {n: ([1], pa.int32(), ["1"]) for n in ("a.b", " ", "名前", "a", "A", '"')}, "")
many = list(range(200_000))
write("many-rows", {"i": (many, pa.int64(), list(map(str, many))), "s": ([str(i % 7) for i in many], pa.string(), [str(i % 7) for i in many])},
      "some", data_page_size=20_000, row_group_size=90_000)
