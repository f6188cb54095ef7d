# NVTX ranges of which many are open at once: a program that forgets to end them gets its trace, and its report, in time
# and memory that grow with the ranges, not with their square.

load robust

before_each() { need_plain; }

many=20000

# Runs open_ranges, and leaves its trace in FORM.json and its spool in spool-FORM.
trace() { # FORM COUNT [NAMES]
    mkdir "spool-$1"
    "$gputrace" run -q --keep-spool --spool-dir="$PWD/spool-$1" -o "$1.json" "$programs/open_ranges" "$@"
}

# With 7 bytes for each pair of a launch and a range that is open there, of which there are 200,000,000. On one processor, as
# every thread takes address space.
in_little_memory() { # COMMAND...
    local one
    one=$(taskset -cp $$)
    one=${one##*: }
    (ulimit -v 1500000 && MALLOC_ARENA_MAX=1 exec taskset -c "${one%%[-,]*}" "$@")
}

on_gpu() { # FORM: name, start and end of each range on the GPU, in the order of names
    jq -c '[.traceEvents[] | select(.cat == "gpu_user_annotation") | [.name, .ts, .ts + .dur]]
           | sort_by(.[0] | split(" ")[1] | tonumber)' "$1.json"
}

# Start and end of what ran on the GPU, in the order of calls.
operations() { # FORM
    jq -c '[.traceEvents[] | select(.cat == "gpu_memset") | [.args.correlation, .ts, .ts + .dur]] | sort' "$1.json"
}

# Ranges FIRST to LAST, by jq's expressions of their number $i, of the operations.
assert_on_gpu() { # FORM FIRST LAST
    jq -e -n --argjson ranges "$(on_gpu "$1")" --argjson operations "$(operations "$1")" \
        '$ranges | length == '"$count"' and all(range(length);
             . as $i | ($ranges[$i][1] - $operations['"$2"'][1] | fabs) < 0.0005
                   and ($ranges[$i][2] - $operations['"$3"'][2] | fabs) < 0.0005)' >/dev/null
}

@test "ranges of every form that are open at once: from the first to the last operation of each" {
    need_simulated
    count=300
    for form in start push ended nested across; do
        trace "$form" $count
        "$check_trace" --quiet --strict "$form.json"
    done
    assert_on_gpu start '$i' -1
    assert_on_gpu push '$i' -1
    assert_on_gpu ended '$i' '299 + $i'
    assert_on_gpu nested '$i' '598 - $i'
    assert_on_gpu across '$i' '300 + $i'
}

@test "thousands of ranges that never end, or are open at once: the trace and its report fit into little memory" {
    need_simulated
    for form in start push ended nested across; do
        trace "$form" $many
        in_little_memory "$gputrace" recover -o again.json "spool-$form"/*
        in_little_memory "$gputrace" report -r nvtx --format=json again.json >report.json
        assert_equal "$(jq '[.traceEvents[] | select(.cat == "gpu_user_annotation")] | length' again.json)" $many
        assert_equal "$(jq '."nvtx-gpu" | map(select(.kind != "outside")) | length' report.json)" $many
        # Operations follow one another on the one stream, and all take the same time.
        # The busy time of the ranges that were opened last is exact, and that of others may be left out.
        jq -e '(."nvtx-gpu" | map(select(.gpu_busy_ns)) | .[0].gpu_busy_ns / .[0].gpu_ops) as $each
               | (."nvtx-gpu" | map({key: .name, value: (.gpu_ops * $each)}) | from_entries) as $wanted
               | .nvtx + ."nvtx-gpu" | map(select(.gpu_busy_ns != null))
               | length >= 128 and all(.gpu_busy_ns == $wanted[.name])' report.json >/dev/null
    done
}

instructions() { # COMMAND...: how many it takes
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" 2>&1 >/dev/null | sed -n 's/.*Collected : //p'
}

# $1 is what half as many ranges took. The square would be 4 times as many.
assert_not_squared() { # HALF WHOLE
    [ -n "$1" ] && [ "$2" -lt $(($1 * 5 / 2)) ] || fail "$1 instructions for half of the ranges, $2 for all"
}

# bats test_tags=long
@test "twice as many ranges that never end, or are open at once: no more than 2.5 times the instructions" {
    need_simulated
    command -v valgrind >/dev/null || skip "there is no valgrind here"
    local form count converting=() reporting=()
    for form in start ended nested; do
        converting=() reporting=()
        for count in 1500 3000; do
            rm -rf "spool-$form"
            trace "$form" $count
            converting+=("$(instructions "$gputrace" recover -q -o again.json "spool-$form"/*)")
            reporting+=("$(instructions "$gputrace" report -r nvtx "$form.json")")
        done
        echo "$form: converting ${converting[*]}, reporting ${reporting[*]}"
        assert_not_squared "${converting[@]}"
        assert_not_squared "${reporting[@]}"
    done
}
