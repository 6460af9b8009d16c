"""The few lines of shell that run inside a container: all that an image needs of its own is ``/bin/sh``.

What they say is believed only as far as it was said before anything of the agent's ran in that process.
"""

from __future__ import annotations

__all__ = ["EMPTY", "EXEC", "KEEP", "KILL_SESSION"]

KEEP = """read -r _ || exit
for list in passwd group; do
  { while read -r line || [ -n "$line" ]; do printf '%s\\n' "$line"; done; } 2>/dev/null </etc/$list
  echo :
done
read -r owner || exit
for folder; do
  shift
  [ -e "$folder" ] || [ -h "$folder" ] || set -- "$@" "$folder"
done
[ "$#" = 0 ] || { mkdir -m 755 "$@" && chown "$owner" "$@"; } >/dev/null 2>&1
echo "$?"
read -r _
"""
"""The container's first process. It is asked once for the image's users and groups, then to make the folders ``$@`` for
one of them; and it waits for an end of its input that never comes. It needs no name that anybody looks for, and no
program where the folders are there. Started again it only waits, since nobody asks it any more."""

EXEC = """echo "$$" >&2
cd -- "$1" || exit 126
shift
unset HOSTNAME PWD OLDPWD
exec "$@"
"""
"""Starts a command in folder ``$1``. Its first line tells the kernel session: every exec of an engine is one."""

EMPTY = """for folder; do rm -rf -- "$folder"/* "$folder"/.[!.]* "$folder"/..?*; done"""
"""Empties the folders ``$@``."""

KILL_SESSION = """wanted=" $* "
while :; do
  left=
  for stat in /proc/[0-9]*/stat; do
    line=
    { while read -r part; do line="$line $part"; done <"$stat"; } 2>/dev/null || continue
    pid=${stat#/proc/}
    pid=${pid%/stat}
    set -- ${line##*) }
    case "$wanted" in *" $4 "*) ;; *) continue ;; esac
    case "$1" in Z|X) continue ;; esac
    kill -9 "$pid" 2>/dev/null
    left=1
  done
  [ -n "$left" ] || exit 0
done
"""
"""Kills the sessions ``$*`` until none of their processes is left. A name with a line break in it fools nobody: what
follows the last ``) `` of a stat is numbers."""
