# What tests/bench/tracing does, on the simulated GPU: that it runs every variant, knows its figures for what they are,
# and notices a tracer that records nothing. What it measures is for a GPU to show.

load ../cli/common

bench() { # OPTION...
    "$root/tests/bench/tracing" "$build" -o out.json --simulated --repetitions 1 --rounds 2 --toggles 1 "$@"
}

before_each() {
    command -v python3 >/dev/null || skip "there is no python3 here"
    [ -z "${sanitizer-}" ] || skip "what is measured is not sanitized"
}

@test "every loop is measured under every variant, and the output says that it is simulated" {
    run -0 --separate-stderr bench
    assert_line --partial SIMULATED
    jq -e '.simulated and (.loops | length == 11)' out.json
    jq -e '.variants | keys - ["untraced"]
           == ["floor", "floor_calls", "floor_gputrace", "gputrace", "gputrace_all", "gputrace_kineto"]' out.json
    jq -e '[.loops[][] | .ns.median | select(. > 0)] | length == 77' out.json
    # of two blocks the tenth percentile is a tenth of the way from one to the other
    jq -e 'def least: [.[]["launch steady"][]] | sort | (.[1] - .[0]) / 10 + .[0];
           .loops.launch.floor.undisturbed.median - ((.runs.floor | least) - (.runs.untraced | least))
           | fabs < 0.001' out.json
    jq -e '[.loops[] | .gputrace | .added.count == 1 and .switched.count == 3 and .idle.count == 1] | all' out.json
    jq -e '[.processes[] | .main_ms.median > 0 and .first_call_ms.median > 0 and .rss_mib.median > 0] | all' out.json
}

@test "every tracer has recorded the kernels that it is measured with" {
    run -0 bench --loops launch,graph
    refute_line --partial "too good"
    # 500 launches, and 30 of a graph of ten
    jq -e '[.runs | del(.untraced) | .[][0].kernels[0]] | all(. == 7 * (500 + 300))' out.json
}

@test "a tracer whose records are lost is found out" {
    SIMGPU_DROP_RECORDS=1 run -0 bench --loops launch --variants untraced,floor,gputrace
    # a warm-up and 2 rounds, and while switched on a warm-up and 3 passes
    assert_line "note: floor recorded 0 for 3500 kernels: its figures are too good"
    assert_line --regexp "^note: gputrace said: .*incomplete: "
}

@test "the goals are judged by what was measured" {
    run -0 bench --loops nvtx --variants untraced,gputrace
    jq -e '.goals[] | select(.goal | contains("NVTX"))
           | (.result == "met") == (.shown | capture("^(?<ns>[0-9.]+)").ns | tonumber <= 100.05)' out.json
    jq -e '[.goals[] | select(.result == "not measured")] | length == 5' out.json
}

@test "a loop or variant that does not exist is refused with those that do" {
    run -2 bench --loops launch,lunch
    assert_output --partial "'lunch' is none of launch, copy_h2d"
    run -2 bench --variants nsys
    assert_output --partial "'nsys' is none of untraced, floor"
}
