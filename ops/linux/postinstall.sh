#!/bin/sh
# After installation and upgrade. Debian: "configure" and the former version; RPM: a count.
set -e

if ! getent passwd taskgate >/dev/null; then
  shell=/usr/sbin/nologin
  [ -e "$shell" ] || shell=/sbin/nologin
  useradd --system --user-group --home-dir /var/lib/taskgate --no-create-home --shell "$shell" taskgate
fi
# The file may hold secrets: the service reads it, others do not. It may have been removed.
if [ -e /etc/taskgate/taskgate.env ]; then
  chgrp taskgate /etc/taskgate/taskgate.env
  chmod 640 /etc/taskgate/taskgate.env
fi
if [ ! -e /var/lib/taskgate ]; then
  install -d -m 700 -o taskgate -g taskgate /var/lib/taskgate
fi

is_first=no
case "${1:-}" in
  configure) [ -n "${2:-}" ] || is_first=yes ;;
  1) is_first=yes ;;
esac

if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  if [ "$is_first" = yes ]; then
    systemctl enable --now taskgate.service
  else
    systemctl try-restart taskgate.service
  fi
elif [ "$is_first" = yes ] && command -v systemctl >/dev/null; then
  # Into an image: it starts with the machine that is made of it. No image fails by this.
  systemctl enable taskgate.service || true
fi

if [ "$is_first" = yes ]; then
  echo "Taskgate listens on http://localhost:3000. The link that creates the administrator:"
  echo "  taskgatectl open --print"
fi
