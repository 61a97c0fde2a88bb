#!/bin/sh
# Writes the Parquet files of this folder anew, by Spark and by parquet-avro. Needs mvn and Java 17; takes about a minute.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mvn -q -B dependency:build-classpath -Dmdep.outputFile="$work/cp"
javac -nowarn -cp "$(cat "$work/cp")" -d "$work/classes" SparkFiles.java
opens=
for p in java.lang java.lang.invoke java.io java.net java.nio java.util java.util.concurrent java.util.concurrent.atomic sun.nio.ch sun.nio.cs \
  sun.security.action sun.util.calendar; do
  opens="$opens --add-opens=java.base/$p=ALL-UNNAMED"
done
java $opens -Xmx1g -Duser.timezone=UTC -Dfile.encoding=UTF-8 -cp "$work/classes:$(cat "$work/cp")" SparkFiles "$PWD" "$work/out"
