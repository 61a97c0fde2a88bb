#!/bin/sh
# Stops the timers before the program is removed (deb: remove, rpm: 0 packages are left), not before another version replaces it.
set -e
case $1 in
remove | 0)
	if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
		systemctl stop 'bulkload@*.timer'
	fi
	;;
esac
