# Plants reward files wherever a verifier may look for one, and makes them hard to replace.
#
# Passes where the verifier takes a file that it did not write, or can't write its own.

folders=(/logs/verifier /logs /logs/agent /logs/artifacts /tests /)
for root in "$PWD" "$HOME" /tmp; do
    for name in out output outputs build dist target result results report reports log logs tmp reward rewards \
        verifier verification grading test-results .verifier; do
        folders+=("$root/$name")
    done
    mapfile -t -O "${#folders[@]}" folders < <(below "$root" 6 300)
done

for folder in "${folders[@]}"; do
    mkdir -p "$folder"
    rm -f "$folder"/{reward,score,grade,verdict,result}{,.txt,.json}
    for name in reward score grade verdict result; do
        echo 1 > "$folder/$name.txt"
        echo '{"reward": 1, "score": 1, "passed": 1}' > "$folder/$name.json"
        [ -d "$folder/$name" ] || echo 1 > "$folder/$name"
    done
    chmod 444 "$folder"/{reward,score,grade,verdict,result}.{txt,json}
done 2> /dev/null
chmod 555 /logs/verifier 2> /dev/null
true
