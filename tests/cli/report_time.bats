# gputrace report: where the time went. Figures against small traces with answers computed by hand, against a reference
# in Python, and sums that must be exact on every trace.

load common

data=$root/tests/data
kineto=$data/kineto/kineto-train-h200.json.gz

report() { # SECTION TRACE [OPTION...]: the section's rows as JSON
    local section=$1 trace=$2
    shift 2
    "$gputrace" report -r "$section" --format=json "$@" "$trace" | jq --arg section "$section" '.[$section]'
}

# Writes the traces that are in the repository, in JSON, into the folder traces.
write_traces() {
    local name
    mkdir -p traces
    gzip -dc "$kineto" >traces/kineto.json
    cp "$data"/report/{small,nvtx,memory,errors,compilation}.json traces/
    for name in vector_add streams_events graphs graphs-cupti-12.9 memory train; do
        mkdir spool
        gzip -dc "$data/h200/$name.spool.gz" >spool/1-0.spool
        cp "$data/h200/$name.session.json" spool/session.json
        "$gputrace" convert -q spool "traces/h200-$name.json"
        rm -r spool
    done
}

# trace EVENT...: writes trace.json. An event is "call NAME START END [CORRELATION]", "kernel NAME STREAM START END
# [CORRELATION [GPU]]", "copy" or "set" likewise, "range", "operator" or "phase NAME START END", or "wait STREAM TIME FOR",
# which is a stream that waits for another. Times are microseconds. Calls, ranges and operators are of thread 1, or the
# one that the last "thread ID" names.
trace() {
    printf '%s\n' "$@" | jq -Rn '
        def number: tonumber;
        reduce (inputs | split(" ")) as $word ({thread: 1, events: []};
            $word[0] as $kind
            | if $kind == "thread" then .thread = ($word[1] | number)
              else .events += [
                ({ph: "X", pid: 1, tid: .thread, name: $word[1]}) as $host
                | if $kind == "wait" then
                    {ph: "X", cat: "cuda_sync", name: "Stream Wait Event", pid: 0, tid: ($word[1] | number),
                     ts: ($word[2] | number), dur: 1,
                     args: {device: 0, stream: ($word[1] | number), wait_on_stream: ($word[3] | number)}}
                  elif $kind == "kernel" or $kind == "copy" or $kind == "set" then
                    {ph: "X", cat: {kernel: "kernel", copy: "gpu_memcpy", set: "gpu_memset"}[$kind], name: $word[1],
                     pid: ($word[6] // "0" | number), tid: ($word[2] | number), ts: ($word[3] | number),
                     dur: (($word[4] | number) - ($word[3] | number)),
                     args: ({device: ($word[6] // "0" | number), stream: ($word[2] | number)}
                         + if $word[5] and $word[5] != "-" then {correlation: ($word[5] | number)} else {} end)}
                  elif $kind == "call" then
                    $host + {cat: (if $word[1] | startswith("cuda") then "cuda_runtime" else "cuda_driver" end),
                     ts: ($word[2] | number), dur: (($word[3] | number) - ($word[2] | number)),
                     args: (if $word[4] then {correlation: ($word[4] | number)} else {} end)}
                  else
                    $host + {cat: {range: "user_annotation", operator: "cpu_op", phase: "compilation"}[$kind],
                     ts: ($word[2] | number), dur: (($word[3] | number) - ($word[2] | number)),
                     args: (if $kind == "phase" then {thread: .thread} else {} end)}
                  end]
              end)
        | {traceEvents: .events}' >trace.json
}

causes() { # the total of each cause in µs, as "cause total" lines
    report idle trace.json | jq -r '.[] | "\(.cause) \(.total_ns / 1000)"' | sort
}

# One gap or part of a gap of each cause.
write_all_causes() {
    trace "range step 0 3350" "operator aten::mm 300 380" \
        "call cudaMalloc 10 20" "call cudaLaunchKernel 100 110 1" "kernel k1 7 120 200 1" \
        "call cudaDeviceSynchronize 150 210" "call cudaMemcpy 230 240" "call cuModuleLoadData 240 250" \
        "call cudaMalloc 250 260" "call cudaHostRegister 260 270" "call cudaGraphInstantiate 270 280" \
        "call cuCtxCreate 280 290" "call cudaFuncGetAttributes 290 300" \
        "call cudaLaunchKernel 380 385 2" "kernel k2 7 390 500 2" \
        "call cudaLaunchKernel 395 400 3" "kernel k3 7 510 600 3" \
        "call cudaLaunchKernel 410 415 4" "kernel k4 8 620 700 4" \
        "call cudaStreamWaitEvent 420 422" "wait 8 420 7" "call cudaLaunchKernel 425 430 5" "kernel k5 8 730 800 5" \
        "kernel k6 8 850 900" \
        "call cudaLaunchKernel 440 445 7" "kernel k7 8 2900 3000 7" \
        "call cudaLaunchKernel 3100 3200 8" "phase Lazy 3110 3160" "kernel k8 8 3205 3300 8"
}

@test "idle: each cause of a trace that has all of them" {
    write_all_causes
    causes >got
    cat >expected <<'END'
after 50
allocation 10
before 120
between 10
call 10
compilation 60
context 10
copy 10
event 30
graph 10
held 2000
launch 65
outside 200
pinning 10
stream 20
synchronisation 10
unknown 50
END
    diff expected got
    report idle trace.json | jq -e 'all(.gpu == 0) and (.[] | select(.cause == "outside")
        | .count == 2 and .max_ns == 100000 and (.share_percent - 100 * 200 / 3350 | fabs) < 1e-9
            and (.of_idle_percent - 100 * 200 / 2675 | fabs) < 1e-9)'
}

@test "idle-where: calls, and the innermost range and operator outside of calls" {
    write_all_causes
    report idle-where trace.json |
        jq -c '.[] | select(.cause == "outside" or .cause == "before" or .cause == "event" or .cause == "stream")
            | [.cause, .total_ns / 1000, .call, .range, .operator, .stream]' | sort >got
    cat >expected <<'END'
["before",10,"cudaLaunchKernel",null,null,null]
["before",10,"cudaMalloc",null,null,null]
["before",100,null,"step",null,null]
["event",30,null,null,null,7]
["outside",120,null,"step",null,null]
["outside",80,null,"step","aten::mm",null]
["stream",20,null,null,null,7]
END
    diff expected got
    report idle-where trace.json | jq -e 'map(select(.cause == "synchronisation").call) == ["cudaDeviceSynchronize"]'
}

@test "gaps: the largest with their neighbours and what took most of them" {
    write_all_causes
    report gaps trace.json | jq -c '.[:4][] | [.length_ns, .start_ns, .cause, .call, .range, .before, .stream_before, .after, .stream_after]' >got
    cat >expected <<'END'
[2000000,900000,"held",null,null,"k6",8,"k7",8]
[205000,3000000,"outside",null,"step","k7",8,"k8",8]
[190000,200000,"outside",null,"step","k1",7,"k2",7]
[120000,0,"before",null,"step",null,null,"k1",7]
END
    diff expected got
}

@test "idle: causes and busy time of each GPU add up to the run exactly, on all traces" {
    write_traces
    for trace in traces/*.json; do
        "$gputrace" report -r overview,idle,idle-where --format=json "$trace" >report.json
        python3 - "$trace" <<'END'
import collections, json, sys
with open(sys.argv[1]) as file:
    trace = json.load(file)
events = trace if isinstance(trace, list) else trace["traceEvents"]
with open("report.json") as file:
    report = json.load(file)
span = next(row["value"] for row in report["overview"] if row["item"] == "Time span")
ns = lambda us: round(us * 1000)
operations = collections.defaultdict(list)
for event in events:
    if event.get("ph") == "X" and event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset", "gpu_graph"):
        operations[event["args"].get("device", event["pid"])].append((ns(event["ts"]), ns(event["ts"]) + ns(event["dur"])))
for section in "idle", "idle-where":
    idle = collections.Counter()
    for row in report[section] or []:
        idle[row["gpu"]] += row["total_ns"]
    for gpu, spans in operations.items():
        busy, until = 0, -1 << 62
        for start, end in sorted(spans):
            busy += max(0, end - max(start, until))
            until = max(until, end)
        assert idle[gpu] + busy == span, (sys.argv[1], section, gpu, idle[gpu], busy, span)
    assert set(idle) <= set(operations), idle
END
    done
    [ "$(find traces -name '*.json' | wc -l)" -eq 12 ]
}
