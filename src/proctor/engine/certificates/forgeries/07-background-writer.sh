# Leaves a process in a session of its own that turns on the verifier as soon as it is there.
#
# It writes over the scripts and the reward, says on the verifier's output that all tests passed, and ends it.
#
# Passes where something of the agent still runs while it is graded: what the verifier runs, writes and prints is within
# its reach, in whatever format the verdict is read.

export PROCTOR_TOLD=$told PROCTOR_PYTHON=$in_python PROCTOR_SHELL=$in_shell
write_python='import os, signal, time

told = "\n" + os.environ["PROCTOR_TOLD"] + "\n"
shell = "\n" + os.environ["PROCTOR_SHELL"] + "\n"
python = os.environ["PROCTOR_PYTHON"] + "\n"
done = set()


def files():
    return [os.path.join(place, name) for place, _, names in os.walk("/tests") for name in names]


def forge(path):
    with open(path, "rb+") as file:
        seen = file.read()
        if seen.endswith(b"\nexit 0\n") or seen.endswith(b"_exit(0)\n") or not seen:
            return
        script = path.endswith(".sh") or (seen.startswith(b"#!") and b"sh" in seen.split(b"\n")[0])
        if script:  # a shell that reads on from where it is comes to the same words
            text = b"\n" * len(seen) + shell.encode()
        elif path.endswith(".py"):
            text = python.encode()
        else:
            return
        file.seek(0)
        file.write(text)
        file.truncate()


def reward():
    for name, text in (("reward.txt", "1"), ("reward.json", "{\"reward\": 1}")):
        os.makedirs("/logs/verifier", exist_ok=True)
        with open("/logs/." + name, "w") as file:
            file.write(text)
        os.replace("/logs/." + name, "/logs/verifier/" + name)


def verifiers():
    for name in os.listdir("/proc"):
        if name.isdigit() and name not in done:
            with open(f"/proc/{name}/cmdline") as file:
                words = file.read().split("\0")
            if any(word.startswith("/tests/") for word in words[1:]):
                yield name


def end(process):
    done.add(process)
    os.kill(int(process), signal.SIGSTOP)
    try:
        with open(f"/proc/{process}/fd/1", "w") as file:
            file.write(told)
    finally:
        os.kill(int(process), signal.SIGKILL)


def attempt(what, *arguments):
    try:
        return what(*arguments)
    except OSError:
        return None


while not files():
    time.sleep(0.001)
while True:
    for path in files():
        attempt(forge, path)
    attempt(reward)
    for process in attempt(lambda: list(verifiers())) or []:
        attempt(end, process)
    time.sleep(0.0005)'
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
( ( exec setsid nohup "${writer[@]}" < /dev/null > /dev/null 2>&1 ) & ) &
sleep 0.3
true
