# gputrace run, when what recording waits for never comes: the last line, the report and --strict say so, and why.

load common

# Runs a program under gputrace: its standard output is of no interest.
traced() { # EXIT OPTION... PROGRAM...
    local expected=$1
    shift
    # shellcheck disable=SC2016 # the inner shell expands it
    run "-$expected" sh -c 'exec "$@" >/dev/null' sh "$gputrace" run "$@"
}

# The last line, the report and the trace hold this sentence.
says() { # SENTENCE
    [[ ${lines[-1]} == "gputrace: "*" in 'trace.json' ("*"; $1" ]]
    jq -e --arg why "$1" '.gputrace.missed == $why' trace.json
    "$gputrace" report --report=overview --format=json trace.json |
        jq -e --arg why "$1" '[.. | objects | select(.item? == "Warning") | .value] == [$why]'
}

@test "--capture-range=nvtx:NAME of a name that is mistyped lists the ranges that were opened" {
    traced 0 --capture-range=nvtx:midle "$samples/capture" nvtx
    says "nothing was recorded: no NVTX range 'midle' was opened; seen: middle"
    [ "$(count kernel)" -eq 0 ]
}

@test "the ranges that are listed are the first eight, each once" {
    traced 0 --capture-range=nvtx:stpe "$samples/nvtx"
    says "nothing was recorded: no NVTX range 'stpe' was opened; seen: outer, inner, Grüße 世界 😀, payload, green input, red output, registered, registriert: ä, …"
}

@test "--capture-range=nvtx:NAME@DOMAIN lists ranges with their domains" {
    traced 0 --capture-range=nvtx:middle@other "$samples/capture" nvtx-domain
    says "nothing was recorded: no NVTX range 'middle' was opened in domain 'other'; seen: middle, middle@samples"
}

@test "--capture-range=cudaProfilerApi and api without a call" {
    traced 0 --capture-range=cudaProfilerApi "$samples/capture" nvtx
    says 'nothing was recorded: cudaProfilerStart was never called'
    traced 0 --capture-range=cudaProfilerApi "$samples/nvtx"
    says 'nothing was recorded: cudaProfilerStart was not seen, as no process used CUDA'
    traced 0 --capture-range=api "$samples/capture" nvtx
    says "nothing was recorded: gputrace_start was never called, and nobody typed 'gputrace start'"
}

@test "--delay longer than the program, --duration shorter than what comes before CUDA" {
    traced 0 --delay=1000 "$samples/vector_add"
    assert_line --regexp '; nothing was recorded: the program ended after [0-9.]+ m?s, before --delay=1000 s had passed$'
    traced 0 --duration=0.1 sh -c "sleep 0.2; '$samples/vector_add'"
    says 'nothing was recorded: no process used CUDA or NVTX before --duration=100 ms had passed'
    traced 0 --duration=999.9ms sh -c "sleep 1.1; '$samples/vector_add'"
    says 'nothing was recorded: no process used CUDA or NVTX before --duration=1.0 s had passed'
}

# Runs a command and waits until --delay is over: what recording waited for came before, and this is said.
in_delay() { # SENTENCE COMMAND [OPTION...]
    local sentence=$1 command=$2
    shift 2
    cd "$(mktemp -d -p .)"
    traced 0 --delay=60 "$@" sh -c "$command; exec sleep 60"
    says "nothing was recorded: $sentence --delay=60 s had passed"
}

# bats test_tags=long
@test "what was used during --delay alone is not said to be missing" {
    local started=() case
    (in_delay 'no process used CUDA or NVTX after' "'$samples/vector_add'") &
    started+=($!)
    (in_delay "the NVTX range 'middle' was opened only before" "'$samples/capture' nvtx" --capture-range=nvtx:middle) &
    started+=($!)
    (in_delay 'cudaProfilerStart was called only before' "'$samples/capture' cudaProfilerApi" --capture-range=cudaProfilerApi) &
    started+=($!)
    for case in "${started[@]}"; do wait "$case"; done
}

@test "--nvtx-domains of none that the program has lists those it has" {
    traced 0 --nvtx-domains=nosuch "$samples/capture" nvtx
    says 'no NVTX domain of --nvtx-domains=nosuch was used; seen: samples, default'
    [ "$(count kernel)" -gt 0 ]
    traced 0 --nvtx-domains=nosuch "$samples/nvtx_all" # an nvtxRangeEnd() of a range that never was is of no domain
    assert_line --partial 'no NVTX domain of --nvtx-domains=nosuch was used; seen: '
    traced 0 --nvtx-domains=nosuch,samples --strict "$samples/capture" nvtx-domain
    jq -e '.gputrace | has("missed") | not' trace.json
}

@test "--strict ends with 124 when recording never began" {
    traced 124 --strict --capture-range=nvtx:stpe "$samples/capture" nvtx
    assert_equal "${lines[-1]}" \
        "gputrace: 'trace.json' is incomplete, and --strict was given: nothing was recorded: no NVTX range 'stpe' was opened; seen: middle"
    traced 124 --strict --capture-range=cudaProfilerApi "$samples/capture" nvtx
    traced 124 --strict --delay=1000 "$samples/vector_add"
    traced 124 --strict --nvtx-domains=nosuch "$samples/nvtx"
    traced 124 --strict --capture-range=nvtx:stpe true
    traced 0 --strict --capture-range=nvtx:middle "$samples/capture" nvtx
}

@test "of several processes one that is recorded is enough" {
    traced 0 --strict --capture-range=nvtx:middle sh -c "'$samples/nvtx'; '$samples/capture' nvtx"
    jq -e '.gputrace | has("missed") | not' trace.json
    traced 0 --capture-range=nvtx:stpe sh -c "'$samples/capture' nvtx; '$samples/capture' nvtx"
    says "nothing was recorded: no NVTX range 'stpe' was opened; seen: middle"
}

@test "a killed program has said what it saw" {
    traced 137 --capture-range=nvtx:stpe sh -c "'$samples/capture' nvtx; kill -KILL \$\$"
    says "nothing was recorded: no NVTX range 'stpe' was opened; seen: middle"
}

@test "a spool that is read as it is says it as well" {
    traced 0 --keep-spool --spool-dir=. --capture-range=nvtx:stpe "$samples/capture" nvtx
    "$gputrace" report --report=overview gputrace-* | grep -F "no NVTX range 'stpe' was opened; seen: middle"
}
