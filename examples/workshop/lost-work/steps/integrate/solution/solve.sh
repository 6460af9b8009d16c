#!/bin/bash
set -e
cd /app/units
git config user.name oracle
git config user.email oracle@example.com
dana() { git log --format=%H --grep="^$1\$" rescued; }
cat > convert.py <<'PY'
"""Temperatures."""

FREEZING = 32
DIGITS = 1


def celsius(fahrenheit):
    """Degrees Celsius of degrees Fahrenheit."""
    return round((fahrenheit - 32) * 5 / 9, DIGITS)


def fahrenheit(celsius):
    """Degrees Fahrenheit of degrees Celsius."""
    return round(celsius * 9 / 5 + FREEZING, DIGITS)
PY
sed -i 's/^print/assert convert.fahrenheit(100) == 212\nprint/' check.py
git commit --quiet --all -C "$(dana 'Convert to fahrenheit')"
printf '\n\ndef kelvin(celsius):\n    """Kelvin of degrees Celsius."""\n    return round(273.15 + celsius, DIGITS)\n' >> convert.py
sed -i 's/^print/assert convert.kelvin(-273.15) == 0 and convert.kelvin(0) == round(273.15, 1)\nprint/' check.py
git commit --quiet --all -C "$(dana 'Convert kelvin as well')"
cp /app/NOTES.md .
git add NOTES.md
git commit --quiet -m "Add notes"
rm -rf __pycache__
