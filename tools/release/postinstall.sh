#!/bin/sh
# Makes the user and the folders, and has systemd read the units. A machine without systemd gets the program alone.
# DPKG_ROOT is set where dpkg installs into another root without entering it.
set -e
if command -v systemd-sysusers >/dev/null && command -v systemd-tmpfiles >/dev/null; then
	systemd-sysusers ${DPKG_ROOT:+--root="$DPKG_ROOT"} bulkload.conf
	systemd-tmpfiles ${DPKG_ROOT:+--root="$DPKG_ROOT"} --create bulkload.conf
fi
if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
