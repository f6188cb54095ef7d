# What cut, convert and merge select is what a report with the same options selects, in traces of every kind.

load common

data=$root/tests/data

# Options that select something of the trace, one a line.
filters() { # TRACE
    "$gputrace" convert -q --force "$1" whole.json
    jq -r '
        def some($name): unique | .[0], .[-1] | values | "--\($name)=\(.)";
        [.traceEvents[] | select(.ph == "X" and (.pid | type) == "number")] as $slices |
        [$slices[] | select(.cat == "kernel" or .cat == "gpu_memcpy")] as $ops |
        ([$ops[].args.device // ($ops[].pid | select(. < 8))] | some("gpu")),
        ([$ops[].args.stream // empty] | some("stream")),
        ([$slices[] | select(.cat == "cuda_runtime" or .cat == "user_annotation").pid] | some("process")),
        ([$slices[] | select(.cat == "cuda_runtime") | .tid | select(. < 536870912)] | some("thread")),
        ([$ops[] | select(.cat == "kernel").name | sub("[^A-Za-z0-9_].*"; "") | select(length > 0)] | some("kernel")),
        ([.gputrace.processes[]?.rank // empty, .distributedInfo.rank? // empty] | some("rank"))' whole.json | sort -u
}

# The tables of kernels and copies.
tables() { # TRACE [OPTION...]
    "$gputrace" report -r kernels,memtime -f csv "$@" 2>/dev/null
}

# How often each kernel ran and what each copy was, as slices at an edge stay whole in a part.
calls() { # TRACE [OPTION...]
    "$gputrace" report -n 0 -r kernels,memtime -f json "$@" |
        jq -c '[.kernels, .memtime | map([.name // .operation, .calls // .count]) | sort]'
}

traces() {
    local format
    "$build/make_job" -n 2 -H 1 -s 2 job >/dev/null
    "$gputrace" merge -q job -o merged.pftrace
    for format in gputrace torch; do
        "$BATS_TEST_DIRNAME/ranks_trace" ranks=2 steps=2 format=$format "$format.json"
    done
    ls "$data"/foreign/*.json "$data"/report/*.json "$data"/kineto/*.json.gz ./*.json job/rank0.pftrace merged.pftrace
}

# bats test_tags=long
@test "cut and merge select what a report with the same option selects" {
    local trace filter
    traces >list
    while read -r trace; do
        filters "$trace" >filters
        while read -r filter; do
            tables "$trace" "$filter" >expected || fail "report $filter $trace"
            "$gputrace" cut -q --force "$trace" part.pftrace "$filter"
            diff expected <(tables part.pftrace) || fail "cut $filter $trace"
            "$gputrace" merge -q --force "$trace" -o part.pftrace "$filter"
            diff expected <(tables part.pftrace) || fail "merge $filter $trace"
            [ "$(wc -l <expected)" -lt 2 ] || echo "$filter" >>selected
        done <filters
    done <list
    [ "$(sed 's/=.*//' selected | sort -u | wc -l)" -eq 6 ]
    [ "$(wc -l <selected)" -ge 80 ]
}

@test "of two options both must hold in a part as in a report" {
    local trace
    traces >list
    while read -r trace; do
        filters "$trace" >filters
        for first in gpu stream; do
            for second in process thread kernel rank; do
                mapfile -t options < <(grep -m1 "^--$first=" filters && grep "^--$second=" filters | tail -n 1)
                [ ${#options[@]} = 2 ] && tables "$trace" "${options[@]}" >expected || continue
                "$gputrace" cut -q --force "$trace" part.pftrace "${options[@]}"
                diff expected <(tables part.pftrace) || fail "cut ${options[*]} $trace"
            done
        done
    done <list
}

@test "--from and --to of cut and merge count from where those of a report do" {
    local trace option
    # the recording began before the program
    jq '.traceEvents |= map(.ts += 1e6) + [{ph: "X", cat: "Trace", name: "PyTorch Profiler (0)", pid: "Spans",
        tid: "PyTorch Profiler", ts: 0, dur: 1e6}]' "$data/report/small.json" >recorded.json
    traces >list
    while read -r trace; do
        for option in --from=30% --to=61%; do
            calls "$trace" $option >expected
            "$gputrace" cut -q --force "$trace" part.json $option
            diff expected <(calls part.json) || fail "cut $option $trace"
            "$gputrace" merge -q --force "$trace" -o part.pftrace $option
            diff expected <(calls part.pftrace) || fail "merge $option $trace"
        done
    done <list
    "$gputrace" cut -q --force recorded.json part.json --from=30us --to=90us
    "$gputrace" merge -q --force recorded.json -o merged.json --from=30us --to=90us
    assert_equal "$(jq -c .gputrace_cut merged.json)" "$(jq -c .gputrace_cut part.json)"
}
