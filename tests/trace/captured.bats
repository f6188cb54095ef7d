#!/usr/bin/env bats
# Spools that were recorded on an H200 become traces that hold what their programs did.

load ../cli/common

data=$root/tests/data/h200

# Converts the spool NAME to trace.json.
convert() { # NAME
    mkdir spool
    gzip -dc "$data/$1.spool.gz" >spool/1-0.spool
    cp "$data/$1.session.json" spool/session.json
    "$build/tests/bench/gen" -c spool trace.json
}

holds_what_was_stated() { # NAME
    convert "$1"
    "$check_trace" --quiet --strict --expect "$data/$1.statement" trace.json
    jq -e '[.gputrace.losses[]] | add == 0' trace.json
    jq -e '.deviceProperties[0].name == "NVIDIA H200" and .deviceProperties[0].numSms == 132' trace.json
}

@test "vector_add" { holds_what_was_stated vector_add; }
@test "graphs" { holds_what_was_stated graphs; }
@test "memory" { holds_what_was_stated memory; }
@test "streams_events" { holds_what_was_stated streams_events; }
@test "graphs, recorded with CUPTI 12.9" { holds_what_was_stated graphs-cupti-12.9; }
@test "vector_add, recorded with CUPTI 11.8" { holds_what_was_stated vector_add-cupti-11.8; }

@test "mangled names are in the trace, once each" {
    convert vector_add
    run -0 "$gputrace" report -r kernels --names=mangled --format=json trace.json
    assert_equal "$(jq -r '.kernels[0].name' <<<"$output")" _Z10vector_addPKfS0_Pfi
}

@test "two training steps with PyTorch" {
    holds_what_was_stated train
    run -0 "$gputrace" report -r kernels --format=json trace.json
    local kernels
    kernels=$(jq '[.traceEvents[] | select(.cat == "kernel")] | length' trace.json)
    assert_equal "$kernels" 262
    assert_equal "$(jq '[.kernels[].calls] | add' <<<"$output")" "$kernels"
    # Every kernel that was launched within forward, backward or optimizer is under one of them on the GPU as well.
    assert_equal "$(jq '[.traceEvents[] | select(.cat == "gpu_user_annotation" and .name == "forward")] | length' trace.json)" 2
}

@test "times are the same in every reader: the earliest kernel starts after its launch" {
    convert vector_add
    jq -e '([.traceEvents[] | select(.name == "cudaLaunchKernel" and .ph == "X") | {key: "\(.args.correlation)", value: .ts}]
            | from_entries) as $launched
           | [.traceEvents[] | select(.cat == "kernel") | .ts >= $launched["\(.args.correlation)"]] | all and length == 16' \
        trace.json
}
