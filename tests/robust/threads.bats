# Threads and processes with few records take little disk space, and, which `make bench` looks at, little time.

load robust

before_each() { need_plain; }

tries=1
[ -z "${GPUTRACE_BENCH-}" ] || tries=6

setup_file() { export BATS_TEST_TIMEOUT=180; }

# The least of milliseconds that a program prints: of several runs where times are measured, for the machine may be busy.
least() { # COMMAND...
    for ((i = 0; i < tries; i++)); do "$@"; done | sort -n | head -1
}

# The same of a traced program; the most that the run directory of the last one took is in `most`, in KiB.
traced_least() { # COMMAND...
    for ((i = 0; i < tries; i++)); do
        rm -f looked
        look_at_disk &
        traced "$@" >>times
        touch looked
        wait $!
    done
    sort -n times | head -1
}

# A busy machine has times of its own.
in_time() { # MILLISECONDS AT_MOST
    echo "$1 ms"
    [ -z "${GPUTRACE_BENCH-}" ] || [ "$1" -le "$2" ]
}

@test "1,000 threads that begin to record at once" {
    before=$(least "$programs/many_threads" at-once 1000)
    after=$(traced_least "$programs/many_threads" at-once 1000)
    echo "$before ms, traced $after ms, $(cat most) KiB"
    sound
    assert_equal "$(jq '[.traceEvents[] | select(.name == "short")] | length' trace.json)" 1001
    in_time "$after" $((3 * before + 150))
    [ "$(cat most)" -le 100000 ]
}

@test "1,000 threads that wait for the GPU at once" {
    before=$(least "$programs/many_threads" waiting 1000)
    after=$(traced_least "$programs/many_threads" waiting 1000)
    echo "$before ms, traced $after ms, $(cat most) KiB"
    sound
    in_time "$after" $((3 * before + 200))
    [ "$(cat most)" -le 100000 ]
}

@test "short threads, one after another, take only the space of their records" {
    traced_least "$programs/many_threads" in-turn 10000
    sound
    assert_equal "$(jq '[.traceEvents[] | select(.name == "short")] | length' trace.json)" 10001
    cat most
    [ "$(cat most)" -le 25000 ]
}

@test "the first NVTX call of a process that has threads" {
    after=$(traced_least "$programs/many_threads" first 1)
    in_time "$after" 5
}

@test "processes that live shortly" {
    before=$(least "$programs/short_processes" 300)
    after=$(traced_least "$programs/short_processes" 300)
    echo "$before ms, traced $after ms, $(cat most) KiB"
    sound
    assert_equal "$(jq '.gputrace.processes | length' trace.json)" 300
    in_time "$after" $((12 * before + 500))
    [ "$(cat most)" -le 75000 ]
}
