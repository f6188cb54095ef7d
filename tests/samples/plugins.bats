#!/usr/bin/env bats
# The plugins leaks and hazards: programs with planted faults, each of which must be reported, with the functions that did
# it; the same programs corrected, and correct programs, about which nothing may be reported.

load ../cli/common

plugins=$build/samples/plugins

show() {
    echo "--- the program's words"
    cat statement
    echo "--- gputrace's words"
    cat words
}

# Runs under gputrace with PLUGIN; what the program prints is in the file statement, what gputrace says in words.
with() { # PLUGIN[,SETTINGS] PROGRAM [ARGUMENT...]
    local plugin=${1%%,*} settings=
    [ "$plugin" = "$1" ] || settings=,${1#*,}
    shift
    "$gputrace" run -o trace.json --plugin "$plugins/$plugin.so$settings" "$@" >statement 2>words || {
        echo "exit status $? of: $*"
        show
        return 1
    }
}

# What PLUGIN said, a line for each of its lines: the text, a tab, and the names of the functions below it.
lines_of() { # PLUGIN
    awk -v start="gputrace: $1: " '
        function flush() { if (text != "") print text "\t" names; text = names = "" }
        /^gputrace: / { flush(); if (index($0, start) == 1) text = substr($0, length(start) + 1) }
        /^    / && text != "" { name = $1; sub(/\(.*/, "", name); names = names " " name " " }
        END { flush() }' words
}

fail_with() { # MESSAGE
    echo "$1"
    show
    return 1
}

# --- hazards ---

# A line for each report: its kind, a tab, the functions of the second place, a tab, those of the first.
reports() {
    lines_of hazards | awk -F '\t' '
        /^#[0-9]+ … / { print kind "\t" second "\t" $2; kind = ""; next }
        /^#[0-9]+ / { kind = $1; sub(/^#[0-9]+ /, "", kind); sub(/:.*/, "", kind); second = $2 }
        /nobody ever records it/ { print kind "\t" second "\t" }'
}

# Every hazard that the program states is reported, and no other.
judge_hazards() {
    local kind second first count
    reports >list
    count=$(sed -n 's/^expect hazards //p' statement)
    [ "$(wc -l <list)" -eq "$count" ] || fail_with "$(wc -l <list) hazards were reported, not $count"
    while IFS='"' read -r _ kind first; do
        read -r second first <<<"$first"
        [ "$first" != - ] || first=
        awk -F '\t' -v kind="$kind" -v second=" $second " -v first="${first:+ $first }" '
            $1 == kind && index($2, second) && (first == "" ? $3 == "" : index($3, first)) { found = 1 }
            END { exit !found }' list || fail_with "not reported: $kind of $second, ${first:-nothing}"
    done < <(grep '^expect hazard "' statement)
    [ "$count" -ne 0 ] || grep -q '^gputrace: hazards: nothing found in' words || fail_with "nothing found is not reported"
}

@test "hazards: every planted one is found, with its two places, and nothing in the correct programs" {
    local scene planted=0
    "$samples/races" >scenes
    while read -r scene; do
        echo "=== $scene"
        with hazards "$samples/races" "$scene"
        judge_hazards
        planted=$((planted + $(grep -c '^expect hazard "' statement || true)))
    done <scenes
    [ "$planted" -ge 13 ]
}

@test "hazards: nothing in other samples" {
    local sample
    local -a command
    for sample in vector_add streams_events graphs threads devices memory launches launches_per_thread driver compile \
        'capture all'; do
        echo "=== $sample"
        read -ra command <<<"$sample"
        with hazards "$samples/${command[0]}" "${command[@]:1}"
        lines_of hazards >lines
        ! grep '^#' lines || fail_with "$sample has hazards"
        grep -q '^nothing found in' lines || fail_with "nothing was judged"
    done
}

@test "hazards: without stacks, and fewer lines than there are hazards" {
    with hazards,stacks=no "$samples/races" wait-never-recorded
    run lines_of hazards
    assert_output --regexp '#1 race: copy \(cuMemcpyDtoHAsync_v2\) in stream [0-9]+ reads 65536 bytes at 0x[0-9a-f]+'
    refute_output --partial copy_out
    with hazards,top=1 "$samples/races" wait-never-recorded
    run lines_of hazards
    assert_output --partial '2 hazards found'
    assert_output --partial '1 of them are listed above; top=N lists more'
    refute_output --partial '#2'
}

@test "hazards: a report is an instant in the trace" {
    with hazards "$samples/races" set-copy
    run jq -r '[.traceEvents[] | select(.name == "race: copy, set")] | length' trace.json
    assert_output 1
}

@test "hazards: a wrong setting is reported, and the program runs" {
    with hazards,top=many "$samples/races" copy-copy
    run cat words
    assert_output --partial "'top' takes a number up to 1000"
    refute_output --partial '#1'
}

# --- leaks ---

# BYTES as leaks writes them: "4.00 KiB (4096 bytes)", "12 bytes".
size_of() { # BYTES
    awk -v bytes="$1" 'BEGIN {
        if (bytes < 1024) {
            print bytes (bytes == 1 ? " byte" : " bytes")
            exit
        }
        split("KiB MiB GiB TiB", units)
        size = bytes / 1024
        for (unit = 1; size >= 1023.5; unit++)
            size /= 1024
        decimals = (size < 9.995) ? 2 : (size < 99.95) ? 1 : 0
        printf("%." decimals "f %s (%d bytes)\n", size, units[unit], bytes)
    }'
}

judge_leaks() {
    local kind bytes count function
    lines_of leaks >lines
    while read -r _ _ kind bytes count function; do
        awk -F '\t' -v start="$(size_of "$bytes") of $kind memory in $count allocation" -v name=" $function " '
            index($1, start) == 1 && index($2, name) { found = 1 }
            END { exit !found }' lines || fail_with "not reported: $bytes bytes of $kind by $function"
    done < <(grep '^expect left ' statement)
}

@test "leaks: memory of every kind, by the functions that left it" {
    local bytes count
    with leaks "$samples/leaks"
    judge_leaks
    read -r _ _ bytes count < <(grep '^expect left-in-all ' statement)
    grep -qF "in all $(size_of "$bytes") in $count allocations: device " lines || fail_with "the sum is another"
    [ "$(grep -c '^[0-9].* of .* memory in ' lines)" -eq "$(grep -c '^expect left ' statement)" ] || fail_with "more are reported"
    ! grep -q 'not seen allocated' lines || fail_with "a free was taken for one of unknown memory"
}

@test "leaks: nothing when all is freed" {
    with leaks "$samples/leaks" clean
    run lines_of leaks
    assert_output --regexp '^nothing was left allocated, of [0-9]+ allocations'
    [ "${#lines[@]}" -eq 1 ]
}

@test "leaks: memory that is freed with its context is not a leak" {
    local bytes count
    with leaks "$samples/leaks" reset
    read -r _ _ bytes count < <(grep '^expect left-in-all ' statement)
    run lines_of leaks
    assert_line --index 0 --partial "no leak: $(size_of "$bytes") in $count allocations went with context"
    assert_line --index 1 --partial 'nothing was left allocated'
}

@test "leaks: the largest places alone, the others as a sum" {
    with leaks,least=1M,top=2,stacks=no "$samples/leaks"
    run lines_of leaks
    assert_line --index 0 --partial 'bytes) of device memory in 7 allocations'
    assert_line --index 1 --partial 'bytes) of managed memory in 1 allocation'
    assert_line --index 2 --partial 'more places are not listed above'
    refute_output --partial take_device
}

@test "leaks: nothing in other samples" {
    local sample
    for sample in vector_add streams_events graphs threads devices memory launches driver; do
        echo "=== $sample"
        with leaks "$samples/$sample"
        lines_of leaks | grep -q '^nothing was left allocated' || fail_with "$sample leaks"
    done
}

@test "leaks and hazards together" {
    "$gputrace" run -o trace.json --plugin "$plugins/leaks.so" --plugin "$plugins/hazards.so" "$samples/vector_add" \
        >statement 2>words
    run cat words
    assert_output --partial 'gputrace: leaks: nothing was left allocated'
    assert_output --partial 'gputrace: hazards: nothing found in'
}
