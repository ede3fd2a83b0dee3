#!/bin/sh
# After removal. The data stays, also at a purge: it is for its owner to delete.
set -e
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
fi
if [ "${1:-}" = purge ] && [ -d /var/lib/taskgate ]; then
  echo "The data of Taskgate is still in /var/lib/taskgate."
fi
