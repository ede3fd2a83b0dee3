#!/bin/sh
# Before removal; an upgrade ("upgrade" on Debian, 1 on RPM) goes on running until it restarts.
set -e
case "${1:-}" in
  upgrade | 1) exit 0 ;;
esac
if [ -d /run/systemd/system ]; then
  systemctl disable --now taskgate.service
fi
