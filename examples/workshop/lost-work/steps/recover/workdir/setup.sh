#!/bin/bash
# Makes the repository as Dana left it; only git can make one. Nothing of this file stays.
set -e
git init --quiet --initial-branch=main /app/units
cd /app/units
git config core.logAllRefUpdates false
git config gc.auto 0
git config user.name "Someone"
git config user.email someone@example.com

commit() { # commit NAME AUTHOR-DAY COMMIT-DAY MESSAGE
    local mail
    mail="$(tr '[:upper:]' '[:lower:]' <<< "$1")@example.com"
    git add -A
    GIT_AUTHOR_NAME=$1 GIT_AUTHOR_EMAIL=$mail GIT_AUTHOR_DATE="2026-03-$2T10:00:00Z" \
        GIT_COMMITTER_NAME=$1 GIT_COMMITTER_EMAIL=$mail GIT_COMMITTER_DATE="2026-03-$3T10:00:00Z" git commit --quiet -m "$4"
}
cat > convert.py <<'PY'
"""Temperatures."""


def celsius(fahrenheit):
    """Degrees Celsius of degrees Fahrenheit."""
    return (fahrenheit - 32) * 5 / 9
PY
cat > check.py <<'PY'
"""Prints ok if the conversions are right."""

import convert

assert convert.celsius(212) == 100
print("ok")
PY
commit Ann 02 02 "Convert to celsius"
echo "Temperatures, converted." > README.md
commit Ann 03 03 "Say what this is"

git checkout --quiet --detach
sed -i 's/^"""Temperatures."""$/"""Temperatures."""\n\nFREEZING = 32/' convert.py
printf '\n\ndef fahrenheit(celsius):\n    """Degrees Fahrenheit of degrees Celsius."""\n    return celsius * 9 / 5 + FREEZING\n' >> convert.py
sed -i 's/^print/assert convert.fahrenheit(100) == 212\nprint/' check.py
commit Dana 10 10 "Convert to fahrenheit"
printf '\n\nprint("DEBUG", fahrenheit(0))\n' >> convert.py
printf 'scratch\n' > scratch.txt
commit Dana 11 11 "WIP: debug prints"
before=$(git rev-parse HEAD)
try() { # try AUTHOR-DAY COMMIT-DAY BODY: one more version of the last commit
    git checkout --quiet --detach "$before"
    printf '\n\ndef kelvin(celsius):\n    """Kelvin of degrees Celsius."""\n    return %s\n' "$3" >> convert.py
    sed -i 's/^print/assert convert.kelvin(-273.15) == 0 and convert.kelvin(0) == 273.15\nprint/' check.py
    commit Dana "$1" "$2" "Convert kelvin as well"
}
try 12 20 "celsius + 273"
try 14 17 "celsius + 273.15"
try 16 14 "273.15 + celsius"
try 15 19 "celsius - -273.15"
try 18 21 "celsius + 237.15"
git checkout --quiet main
for text in "Celsius and fahrenheit." "Celsius, fahrenheit and kelvin: add 273.15." "Kelly's own notes."; do
    printf '# Conversions\n\n%s\n' "$text" | git hash-object -w --stdin > /dev/null
done
printf '# Colours\n\nkelvin is one of light, too\n' | git hash-object -w --stdin > /dev/null
rm -f .git/ORIG_HEAD .git/logs -r /app/setup.sh
