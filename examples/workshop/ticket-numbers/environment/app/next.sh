#!/bin/bash
# Usage: next.sh FOLDER
# Prints the folder's next ticket number.
cd $1
number=$(cat counter)
number=$((number + 1))
[ -x hook ] && ./hook $number
echo $number > counter
echo $number
