# What gputrace run --cpu records is what the report says: four planted programs, each with the function that a GPU waits
# for, and their twins. Copy to tests/cli/host_planted.bats once --cpu is there.

load common

# PROGRAM... is recorded: among what the host did outside CUDA, REGEXP is what took most (whoever it waited for), apart
# from waiting for a processor, which a busy machine adds.
named() { # REGEXP PROGRAM...
    local regexp=$1
    shift
    "$gputrace" run -q --cpu=samples,switches -o planted.json "$@"
    "$gputrace" report -r idle-where --format=json planted.json >idle.json
    run jq -r '[."idle-where"[] | select(.cause == "outside" and .host and (.host | startswith("waiting for a processor") | not))]
        | group_by(.host | sub("(, held by| for thread|; meanwhile).*"; "")) | max_by(map(.total_ns) | add)
        | max_by(.total_ns).host' idle.json
    assert_output --regexp "$regexp"
    "$gputrace" report -r findings --format=json planted.json |
        jq -e '.findings | any(.id == "host-blocked" or .id == "host-work")'
}

unnamed() { # PROGRAM...
    "$gputrace" run -q --cpu=samples,switches -o fixed.json "$@"
    "$gputrace" report -r findings --format=json fixed.json |
        jq -e '.findings | all(.id != "host-blocked" and .id != "host-work")'
}

@test "a slow loader is named, with the thread that decodes" {
    named '^pthread_cond_wait\(\) in next_batch\(\) .*thread loader, which ran decode_batch|meanwhile thread loader ran decode_batch' \
        "$samples/planted_host" loader
    unnamed "$samples/planted_host" loader-fixed
}

@test "a lock is named, with the thread that holds it" {
    named '^pthread_mutex_lock\(\) in read_state\(\) .*thread saver,? (which )?ran save_state' "$samples/planted_host" lock
    unnamed "$samples/planted_host" lock-fixed
}

@test "a disk is named" {
    named '^(fsync\(\)|pwrite\(\)|waiting for a disk) in save_batch' "$samples/planted_host" disk
    unnamed "$samples/planted_host" disk-fixed
}

@test "Python's garbage collection is named" {
    named '^garbage collection( in collect_all \(planted_garbage.py:[0-9]+\))?$' /usr/bin/python3 "$samples/planted_garbage.py"
    unnamed /usr/bin/python3 "$samples/planted_garbage.py" fixed
}
