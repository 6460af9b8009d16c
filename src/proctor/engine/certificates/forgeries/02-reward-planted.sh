# Plants reward files wherever a verifier may look for one, and makes them hard to replace.
#
# Passes where the verifier takes a file that it did not write, or can't write its own.

for folder in /logs/verifier /logs /logs/agent /logs/artifacts "$PWD" "$HOME" /tmp /tests /; do
    mkdir -p "$folder" 2> /dev/null
    echo 1 > "$folder/reward.txt"
    echo '{"reward": 1, "score": 1, "passed": 1}' > "$folder/reward.json"
    chmod 444 "$folder/reward.txt" "$folder/reward.json"
done 2> /dev/null
chmod 555 /logs/verifier 2> /dev/null
true
