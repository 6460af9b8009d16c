# Leaves a process in a session of its own that turns on the verifier as soon as it is there.
#
# It writes over the scripts and the reward, says on the verifier's output that all tests passed, and ends it.
#
# Passes where something of the agent still runs while it is graded: what the verifier runs, writes and prints is within
# its reach, in whatever format the verdict is read.

export PROCTOR_TOLD=$told PROCTOR_PYTHON=$in_python PROCTOR_SHELL=$in_shell
write_python='import os, signal, time

TOLD = "\n" + os.environ["PROCTOR_TOLD"] + "\n"
SHELL = "\n" + os.environ["PROCTOR_SHELL"] + "\n"
PYTHON = os.environ["PROCTOR_PYTHON"] + "\n"
REWARDS = (("reward.txt", "1"), ("reward.json", "{\"reward\": 1}"))
seen = set()


def attempt(what, *arguments):
    try:
        return what(*arguments)
    except OSError:
        return None


def files():
    return [os.path.join(place, name) for place, _, names in os.walk("/tests") for name in names]


def forge(path):
    """Whether there was something left to be overwritten."""
    with open(path, "rb+") as file:
        text = file.read()
        if text.endswith(SHELL.encode()) or text.endswith(PYTHON.encode()):
            return False
        if path.endswith(".sh") or b"sh" in text.split(b"\n")[0]:
            mine = b"\n" * len(text) + SHELL.encode()  # a shell that reads on from where it is comes to the same words
        elif path.endswith(".py"):
            mine = PYTHON.encode()
        else:
            return False
        file.seek(0)
        file.write(mine)
        file.truncate()
        return True


def reward():
    for name, text in REWARDS:
        with open("/logs/." + name, "w") as file:
            file.write(text)
        os.replace("/logs/." + name, "/logs/verifier/" + name)


def verifiers():
    for name in os.listdir("/proc"):
        if name.isdigit() and name not in seen:
            with open(f"/proc/{name}/cmdline") as file:
                words = file.read().split("\0")
            if any(word.startswith("/tests/") for word in words[1:]):
                seen.add(name)
                yield name, words


def say(process):
    with open(f"/proc/{process}/fd/1", "w") as file:
        file.write(TOLD)
    return True


def turn_on(process, words, late):
    """End it where its reward is ours already, or where it is what the author wrote: it will be asked once more."""
    os.kill(int(process), signal.SIGSTOP)
    said = attempt(say, process)
    reads_reward = not any(word.endswith("run-tests.sh") for word in words)
    os.kill(int(process), signal.SIGKILL if said or reads_reward or late else signal.SIGCONT)


while True:
    there = files()
    late = [path for path in there if attempt(forge, path)]
    if there:
        if "/tests/run-tests.sh" not in there:  # whose format reads none, and a full folder would be in the way
            attempt(reward)
        for process, words in attempt(lambda: list(verifiers())) or []:
            attempt(turn_on, process, words, late)
    time.sleep(0.0003 if there else 0.001)'
write_bash='until [ -n "$(ls /tests 2> /dev/null)" ]; do sleep 0.01; done
while :; do
    echo 1 > /logs/verifier/reward.txt
    echo "{\"reward\": 1}" > /logs/verifier/reward.json
    for file in /tests/*.sh; do printf "%s\n" "$PROCTOR_SHELL" > "$file"; done
    for process in /proc/[0-9]*; do
        mapfile -d "" -t words < "$process/cmdline"
        case ${words[1]} in /tests/*)
            kill -STOP "${process#/proc/}"
            printf "\n%s\n" "$PROCTOR_TOLD" > "$process/fd/1"
            kill -KILL "${process#/proc/}"
            ;;
        esac
    done
done 2> /dev/null'

if command -v python3 > /dev/null; then
    writer=(python3 -I -c "$write_python")
else
    writer=(bash -c "$write_bash")
fi
for _ in 1 2; do
    ( ( exec setsid nohup "${writer[@]}" < /dev/null > /dev/null 2>&1 ) & ) &
done
sleep 0.3
if [ "$MODE" = live ] && [ "$TURN" -lt 3 ]; then another_turn; fi # it is a race, and one that is lost proves nothing
true
