# Threads and processes with few records take little time and little disk space.

load robust

before_each() { need_plain; }

setup_file() { export BATS_TEST_TIMEOUT=180; }

# Runs a program that prints its milliseconds alone and traced, one after the other, until the traced one took at most
# FACTOR times as long and ADDED ms: the machine may be busy, so there are five tries. The most that the run directory of
# the last one took is in `most`, in KiB.
takes_at_most() { # FACTOR ADDED COMMAND...
    local factor=$1 added=$2 alone after
    shift 2
    for _ in 1 2 3 4 5; do
        alone=$("$@")
        rm -f looked
        look_at_disk &
        after=$(traced "$@")
        touch looked
        wait $!
        echo "$alone ms, traced $after ms, $(cat most) KiB"
        [ "$after" -gt $((factor * alone + added)) ] || return 0
    done
    return 1
}

@test "1,000 threads that begin to record at once" {
    takes_at_most 3 150 "$programs/many_threads" at-once 1000
    sound
    assert_equal "$(jq '[.traceEvents[] | select(.name == "short")] | length' trace.json)" 1001
    [ "$(cat most)" -le 100000 ]
}

@test "1,000 threads that wait for the GPU at once" {
    takes_at_most 3 200 "$programs/many_threads" waiting 1000
    sound
    [ "$(cat most)" -le 100000 ]
}

@test "short threads, one after another, take only the space of their records" {
    takes_at_most 3 500 "$programs/many_threads" in-turn 10000
    sound
    assert_equal "$(jq '[.traceEvents[] | select(.name == "short")] | length' trace.json)" 10001
    cat most
    [ "$(cat most)" -le 25000 ]
}

@test "the first NVTX call of a process that has threads" {
    takes_at_most 1 5 "$programs/many_threads" first 1
}

@test "processes that live shortly" {
    takes_at_most 12 500 "$programs/short_processes" 300
    sound
    assert_equal "$(jq '.gputrace.processes | length' trace.json)" 300
    [ "$(cat most)" -le 75000 ]
}
