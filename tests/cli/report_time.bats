# gputrace report: where the time went. Figures against small traces with answers computed by hand, against a reference
# in Python, and sums that must be exact on every trace.

load common

data=$root/tests/data
kineto=$data/kineto/kineto-train-h200.json.gz

report() { # SECTION TRACE [OPTION...]: the section's rows as JSON
    local section=$1 trace=$2
    shift 2
    "$gputrace" report -r "$(section_of "$section")" --format=json "$@" "$trace" | jq --arg section "$section" '.[$section]'
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
        "call cudaFuncGetAttributes 3010 3020" "call cudaLaunchKernel 3100 3200 8" "phase Lazy 3110 3160" "kernel k8 8 3205 3300 8"
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
launch 175
outside 90
pinning 10
stream 20
synchronisation 10
unknown 50
END
    diff expected got
    report idle trace.json | jq -e 'all(.gpu == 0) and (.[] | select(.cause == "outside")
        | .count == 1 and .max_ns == 90000 and (.share_percent - 100 * 90 / 3350 | fabs) < 1e-9
            and (.of_idle_percent - 100 * 90 / 2675 | fabs) < 1e-9)'
}

@test "idle-where: calls, and the innermost range and operator outside of calls" {
    write_all_causes
    report idle-where trace.json |
        jq -c '.[] | select(.cause == "outside" or .cause == "before" or .cause == "event" or .cause == "stream")
            | [.cause, .total_ns / 1000, .call, .range, .operator, .stream]' | LC_ALL=C sort >got
    cat >expected <<'END'
["before",10,"cudaLaunchKernel",null,null,null]
["before",10,"cudaMalloc",null,null,null]
["before",100,null,"step",null,null]
["event",30,null,null,null,7]
["outside",90,null,"step",null,null]
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
[190000,200000,"launch",null,"step","k1",7,"k2",7]
[120000,0,"before",null,"step",null,null,"k1",7]
END
    diff expected got
}

@test "idle: what a cause mostly was has the most time of all rows that show the same" {
    # Outside of calls: 400 + 40 us in no range, and 280 + 280 us in two operators of one range.
    trace 'call cudaLaunchKernel 0 5 1' 'kernel first 7 5 10 1' 'call cudaLaunchKernel 410 415 2' 'kernel second 7 415 500 2' \
        'range step 500 1060' 'operator aten::mm 500 780' 'operator aten::add 780 1060' \
        'call cudaLaunchKernel 1100 1105 3' 'kernel third 7 1105 1200 3'
    report idle trace.json | jq -e '.[] | select(.cause == "outside") | .total_ns == 1000000 and .mostly == "step"'
    report idle-where trace.json | jq -e 'map(select(.cause == "outside"))[0] | .total_ns == 440000 and .range == null'
}

# A launch during which the GPU was idle, and what may hold an operation that was launched before: pairs of traces that
# differ in one thing.
@test "idle: what was launched in time did not wait for the host, and what was launched late did" {
    trace "kernel k1 7 0 100" "call cudaLaunchKernel 95 120 2" "kernel k2 7 130 200 2"
    [ "$(causes)" = "launch 30" ]
    trace "kernel k1 7 0 100" "call cudaLaunchKernel 101 120 2" "kernel k2 7 130 200 2"
    [ "$(causes)" = "launch 30" ]
    trace "kernel k1 7 0 100" "call cudaLaunchKernel 70 80 2" "kernel k2 7 130 200 2"
    [ "$(causes)" = "between 30" ]
    trace "kernel k1 7 0 100" "call cudaLaunchKernel 70 80 2" "kernel k2 7 1200 1300 2"
    [ "$(causes)" = "held 1100" ]
}

@test "idle: an operation in an empty stream that starts soon after its launch waited for the launch alone" {
    trace "kernel k1 7 0 100" "call cudaLaunchKernel 85 90 2" "kernel k2 8 105 200 2"
    [ "$(causes)" = "launch 5" ]
    trace "kernel k1 7 0 100" "call cudaLaunchKernel 60 65 2" "kernel k2 8 105 200 2"
    [ "$(causes)" = "stream 5" ]
}

@test "idle: an operation waited for an event if its stream did, and not if an earlier one of the stream had" {
    trace "kernel k1 7 0 100" "wait 8 55 7" "call cudaLaunchKernel 60 65 2" "kernel k2 8 105 200 2"
    [ "$(causes)" = "event 5" ]
    trace "kernel k1 7 0 100" "wait 9 55 7" "call cudaLaunchKernel 60 65 2" "kernel k2 8 105 200 2"
    [ "$(causes)" = "stream 5" ]
    trace "kernel k1 7 0 100" "wait 8 70 7" "call cudaLaunchKernel 60 65 2" "kernel k2 8 105 200 2"
    [ "$(causes)" = "stream 5" ]
    trace "kernel k0 8 0 50 1" "wait 8 1 7" "call cudaLaunchKernel 2 4 1" "kernel k1 7 0 100" \
        "call cudaLaunchKernel 60 65 2" "kernel k2 8 105 200 2"
    [ "$(causes)" = "stream 5" ]
    trace "kernel k1 7 0 100" "wait 8 150 7" "call cudaLaunchKernel 160 165 2" "kernel k2 8 305 400 2"
    [ "$(causes)" = $'event 140\nlaunch 5\noutside 60' ]
    trace "kernel k1 7 0 100" "call cudaLaunchKernel 160 165 2" "kernel k2 8 205 400 2"
    [ "$(causes)" = "launch 105" ]
}

@test "idle: where no record says which stream waits, the next launch of the thread is taken to wait" {
    trace "kernel k1 7 0 100" "call cudaStreamWaitEvent 55 56" "call cudaLaunchKernel 60 65 2" "kernel k2 8 105 200 2"
    [ "$(causes)" = "event 5" ]
    trace "kernel k1 7 0 100" "call cudaLaunchKernel 60 65 2" "call cudaStreamWaitEvent 70 71" "kernel k2 8 105 200 2"
    [ "$(causes)" = "stream 5" ]
    trace "kernel k1 7 0 100" "call cudaStreamWaitEvent 50 51" "call cudaLaunchKernel 52 54 3" \
        "call cudaLaunchKernel 60 65 2" "kernel k2 8 105 200 2"
    [ "$(causes)" = "stream 5" ]
    trace "kernel k1 7 0 100" "call cudaStreamWaitEvent 50 51" "thread 2" "call cudaLaunchKernel 60 65 2" "kernel k2 8 105 200 2"
    [ "$(causes)" = "stream 5" ]
    trace "kernel k1 7 0 100" "call cudaStreamWaitEvent 50 51" "call cudaGraphLaunch 60 65 2" "kernel k2 8 105 200 2" \
        "kernel k3 8 210 220 2"
    [ "$(causes)" = $'between 10\nevent 5' ]
}

@test "idle: each thread, and each GPU, for itself" {
    trace "kernel k1 7 0 100" "kernel j1 7 0 150 - 1" "call cudaMalloc 100 300" "call cudaLaunchKernel 300 310 2" \
        "kernel k2 7 310 500 2" "call cudaLaunchKernel 320 330 3" "kernel j2 7 330 500 3 1" \
        "thread 2" "call cudaDeviceSynchronize 100 400"
    [ "$(report idle trace.json | jq -r '.[] | "\(.gpu) \(.cause) \(.total_ns / 1000)"' | sort)" = $'0 allocation 200\n0 launch 10\n1 allocation 150\n1 launch 30' ]
    trace "kernel k1 7 0 100" "call cudaMalloc 100 300" "thread 2" "call cudaDeviceSynchronize 100 400" \
        "call cudaLaunchKernel 400 410 2" "kernel k2 7 410 500 2"
    [ "$(causes)" = $'launch 10\nsynchronisation 300' ]
}

@test "idle: causes and busy time of each GPU add up to the run exactly, on all traces" {
    write_traces
    for trace in traces/*.json; do
        "$gputrace" report -r overview,idle --format=json "$trace" >report.json
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

# Two traces of random operations: three streams of each of two GPUs, which overlap, and two threads.
write_random() {
    mkdir -p traces
    python3 - <<'END'
import json, random
for seed in 1, 2:
    random.seed(seed)
    events, number, time, ends = [], 0, {1: 0, 2: 5}, {}
    begun = 0 # launches of a stream begin in the order in which it runs them
    names = ["gemm", "relu", "ncclDevKernel_AllReduce", "void at::ncclKernel()"]
    for _ in range(600):
        thread = random.choice((1, 2))
        now = begun = max(begun, time[thread]) + random.choice((0, 1, 7, 60))
        kind = random.choice(["kernel"] * 6 + ["gpu_memcpy", "gpu_memset", "cudaMalloc", "cudaDeviceSynchronize"])
        length = random.randint(1, 30)
        time[thread] = now + length
        host = {"ph": "X", "cat": "cuda_runtime", "pid": 9, "tid": thread, "ts": now, "dur": length}
        if kind.startswith("cuda"):
            events.append(host | {"name": kind, "args": {}})
            continue
        number += 1
        call = "cudaMemcpyAsync" if kind == "gpu_memcpy" else "cudaMemsetAsync" if kind == "gpu_memset" else "cudaLaunchKernel"
        gpu, stream = random.choice((0, 1)), random.choice((7, 8, 9))
        start = max(ends.get((gpu, stream), 0), now + random.randint(2, 40))
        duration = random.choice((0, 3, 20, 90))
        ends[gpu, stream] = start + duration
        events.append(host | {"name": call, "args": {"correlation": number}})
        events.append({"ph": "X", "cat": kind, "name": random.choice(names) if kind == "kernel" else kind, "pid": gpu, "tid": stream,
                       "ts": start, "dur": duration, "args": {"device": gpu, "stream": stream, "correlation": number}})
    with open(f"traces/random{seed}.json", "w") as file:
        json.dump({"traceEvents": events}, file)
END
}

# Compares sections with figures that are found in other ways, by looking at each time between two events.
write_reference() {
    cat >reference.py <<'END'
import bisect, collections, json, re, sys

with open(sys.argv[1]) as file:
    trace = json.load(file)
events = trace if isinstance(trace, list) else trace["traceEvents"]
with open("report.json") as file:
    report = json.load(file)
run = next(row["value"] for row in report["overview"] if row["item"] == "Time span")
ns = lambda us: round(us * 1000)


class Span:
    def __init__(self, event):
        self.start, self.end = ns(event["ts"]), ns(event["ts"]) + ns(event["dur"])
        self.name, self.args = event["name"], event.get("args", {})
        self.thread = event["pid"], event["tid"]


slices = [event for event in events if event.get("ph") == "X"]
calls = [Span(event) for event in slices if event.get("cat") in ("cuda_runtime", "cuda_driver")]
by_correlation = {}
for call in sorted(calls, key=lambda call: (call.start, -call.end)):
    by_correlation.setdefault(call.args.get("correlation"), call)
gpus = collections.defaultdict(list)
for event in slices:
    if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
        one = Span(event)
        one.stream = one.args["stream"]
        one.call = by_correlation.get(one.args["correlation"]) if "correlation" in one.args else None
        communication = re.search("^nccl|ncclKernel", one.name)
        one.kind = {"gpu_memcpy": "copy", "gpu_memset": "set"}.get(
            event["cat"], "communication" if communication else "compute")
        gpus[one.args.get("device", event["pid"])].append(one)


def check(what, got, expected):
    assert got == expected or abs(got - expected) < 1e-9 * abs(expected), (sys.argv[1], what, got, expected)


def combinations(operations, key):
    """How long each set of keys ran."""
    changes = sorted([(one.start, 1, key(one)) for one in operations] + [(one.end, -1, key(one)) for one in operations],
                     key=lambda change: change[0])
    running, times, last = collections.Counter(), collections.Counter(), 0
    for time, by, name in changes:
        times[frozenset(name for name in running if running[name])] += time - last
        running[name] += by
        last = time
    return times


def check_temporal(gpu, operations):
    rows = {row["kind"]: row for row in report["temporal"] if row["gpu"] == gpu}
    times = {kinds: time for kinds, time in combinations(operations, lambda one: one.kind).items() if kinds}
    span = max(one.end for one in operations) - min(one.start for one in operations)
    busy, compute = sum(times.values()), sum(time for kinds, time in times.items() if "compute" in kinds)
    for kind in "compute", "communication", "copy", "set":
        check(kind, rows[kind]["total_ns"], sum(time for kinds, time in times.items() if kind in kinds))
        check(kind, rows[kind]["alone_ns"], times.get(frozenset([kind]), 0))
        check(kind, rows[kind]["overlapped_ns"], rows[kind]["total_ns"] - rows[kind]["alone_ns"])
        check(kind, rows[kind]["share_percent"], 100 * rows[kind]["total_ns"] / run)
    check("idle", rows["idle"]["total_ns"], run - busy)
    for kind, time in ("idle", span - busy), ("compute", compute), ("other", busy - compute):
        check(kind, rows["active-" + kind]["total_ns"], time)
        check(kind, rows["active-" + kind]["share_percent"], 100 * time / span)
    overlap = {row["kind"]: row for row in report["overlap"] or [] if row["gpu"] == gpu}
    for kind, row, others in ("communication", "communication", {"compute"}), ("copy", "copies", {"compute", "communication"}):
        total = rows[kind]["total_ns"]
        both = sum(time for kinds, time in times.items() if kind in kinds and kinds & others)
        assert (total > 0) == (row in overlap), (row, total)
        if total:
            check(row, overlap[row]["overlap_percent"], 100 * both / total)


def check_pairs(gpu, operations):
    both, busy = collections.Counter(), collections.Counter()
    for streams, time in combinations(operations, lambda one: one.stream).items():
        for first in streams:
            busy[first] += time
            both.update({(first, second): time for second in streams if first < second})
    rows = [row for row in report["overlap"] or [] if row["kind"] == "streams" and row["gpu"] == gpu]
    got = {tuple(sorted((row["stream"], row["other"]))): (row["overlapped_ns"], row["total_ns"]) for row in rows}
    assert got == {pair: (time, min(busy[pair[0]], busy[pair[1]])) for pair, time in both.items() if time}, (gpu, got)


def check_stream(gpu, stream, operations):
    row = next(row for row in report["idle-streams"] if (row["gpu"], row["stream"]) == (gpu, stream))
    classes, last = collections.Counter(), None
    for one in sorted(operations, key=lambda one: one.start):
        if last:
            idle = one.start - last.end
            host = one.call and one.call.start > last.end
            classes["host_wait" if host else "kernel_wait" if idle < 30000 else "other"] += idle
        last = one
    for name in "host_wait", "kernel_wait", "other":
        check(name, row[name + "_ns"], classes[name])
    called = [one for one in operations if one.call]
    rows = [row for row in report["queue"] or [] if (row["gpu"], row["stream"]) == (gpu, stream)]
    assert len(rows) == (len(called) > 0)
    if called:
        starts, ends = sorted(one.call.start for one in called), sorted(one.end for one in called)
        depth = lambda time: bisect.bisect_right(starts, time) - bisect.bisect_right(ends, time)
        check("max", rows[0]["max"], max(depth(time) for time in starts))
        check("at", depth(rows[0]["at_ns"] + min_time), rows[0]["max"])
        check("mean", rows[0]["mean"], sum(one.end - one.call.start for one in called) / (ends[-1] - starts[0]))
        check("launched", rows[0]["launched"], len(called))


CAUSES = [("synchronisation", "Synchronize"), ("compilation", "^cu(da)?(Module|Library|Link)"),
          ("pinning", "^cuda(MallocHost|HostAlloc|HostRegister|FreeHost|HostUnregister)|^cuMem(AllocHost|HostAlloc|FreeHost)"),
          ("allocation", "^cuda(Malloc|Free)|^cuMem(Alloc|Free)"), ("graph", "^cu(da)?(Graph(?!Launch)|StreamBeginCapture|StreamEndCapture)"),
          ("context", "^cu(Init|CtxCreate|CtxDestroy|DevicePrimaryCtx)|^cudaDeviceReset"), ("copy", "^cu(da)?Memcpy(?!.*Async)(?!Batch)")]


def cause_of(call):
    return next((cause for cause, pattern in CAUSES if re.search(pattern, call.name)), "call") if call else "outside"


def check_late(gpu, operations):
    """The parts of gaps that the host caused, and launches."""
    causes, until, since = collections.Counter(), None, {}
    for one in sorted(operations, key=lambda one: (one.start, one.end)):
        if until is not None and one.start > until:
            late = one.call and min(one.call.start, one.start) > until
            # The driver copies pageable memory first: the host waits for that, and not for a launch.
            copied = one.call and "Pageable" in one.name and one.start - one.call.start > 20_000
            if late:
                own = [call for call in calls if call.thread == one.call.thread]
                own = [call for call in own if call.end > until and call.start < one.call.start]
                times = sorted({until, one.call.start} | {time for call in own for time in (call.start, call.end)
                                                         if until < time < one.call.start})
                for start, end in zip(times, times[1:]):
                    around = [call for call in own if call.start <= start < call.end]
                    cause = cause_of(min(around, key=lambda call: call.start) if around else None)
                    brief = one.start - until <= 200_000 and cause in ("call", "outside")
                    causes["late launch" if brief else cause] += end - start
                causes["copy" if copied else "late launch"] += one.start - one.call.start
            elif copied and one.call.end > until:
                causes["copy"] += one.start - until
            else:
                causes["launched before"] += one.start - until
        until = max(until or one.end, one.end)
    got = collections.Counter()
    for row in report["idle"]:
        if row["gpu"] == gpu:
            got[row["cause"]] += row["total_ns"]
    early = ("launch", "event", "stream", "between", "held", "unknown")
    check("launched", sum(got[cause] for cause in early), causes["late launch"] + causes["launched before"])
    for cause in "synchronisation", "copy", "compilation", "allocation", "pinning", "graph", "context", "call", "outside":
        check(cause, got[cause], causes[cause])


times = [ns(event["ts"]) for event in slices if event.get("cat") != "Trace"]
times += [ns(event["ts"]) for event in events if event.get("ph") in ("C", "b", "e")
          or event.get("ph") == "i" and event.get("cat") in ("user_annotation", "memory", "cpu_instant_event")]
min_time = min(times)
for gpu, operations in gpus.items():
    check_temporal(gpu, operations)
    check_pairs(gpu, operations)
    if not any(event.get("cat") == "compilation" for event in slices):
        check_late(gpu, operations)
    for stream in {one.stream for one in operations}:
        check_stream(gpu, stream, [one for one in operations if one.stream == stream])
END
}

@test "temporal, overlap, queue, idle-streams and idle are what a reference finds, on real and random traces" {
    write_traces
    write_random
    write_reference
    for trace in kineto h200-vector_add h200-streams_events h200-memory h200-train random1 random2; do
        "$gputrace" report -r overview,idle,overlap,queue --format=json "traces/$trace.json" >report.json
        python3 reference.py "traces/$trace.json"
    done
}

# Printed by HTA of May 2026 with HTA_DISABLE_NS_ROUNDING=1, which keeps it from rounding times to microseconds.
@test "temporal and idle-streams of the Kineto trace are HTA's figures" {
    report temporal "$kineto" | jq -c '[.[] | select(.kind | startswith("active")) | .total_ns]' >got
    report idle-streams "$kineto" | jq -c '[.[] | .stream, .host_wait_ns, .kernel_wait_ns, .other_ns]' >>got
    printf '%s\n' '[7055611,1667793,75424]' '[7,6945660,109951,0]' | diff - got
}

@test "temporal: each kind alone and overlapped, and what HTA divides" {
    trace "range all 0 1000" "kernel k1 7 100 300" "kernel ncclDevKernel 8 200 400" "copy c 9 350 500" "set s 9 480 520" \
        "kernel k2 7 600 700" "kernel k3 8 620 650"
    report temporal trace.json | jq -c '.[] | [.kind, .total_ns / 1000, (.alone_ns | if . then . / 1000 else null end)]' >got
    cat >expected <<'END'
["compute",300,200]
["communication",200,50]
["copy",150,80]
["set",40,20]
["idle",480,null]
["active-idle",80,null]
["active-compute",300,null]
["active-other",220,null]
END
    diff expected got
    report overlap trace.json | jq -c '.[] | [.kind, .stream, .other, .overlapped_ns / 1000, .total_ns / 1000, .overlap_percent]' >got
    cat >expected <<'END'
["streams",7,8,130,230,56.52173913043478]
["communication",null,null,100,200,50]
["copies",null,null,50,150,33.333333333333336]
["streams",8,9,50,170,29.41176470588235]
END
    diff expected got
}

@test "overlap: streams of different GPUs are not pairs, and a stream that only follows another is none" {
    trace "kernel k1 7 0 100" "kernel k2 8 0 100 - 1" "kernel k3 9 100 200"
    [ "$(report overlap trace.json | jq length)" -eq 0 ]
}

@test "queue: how many were launched and had not finished" {
    trace "call cudaLaunchKernel 0 5 1" "call cudaLaunchKernel 10 15 2" "call cudaLaunchKernel 20 25 3" \
        "call cudaLaunchKernel 400 405 4" "kernel a 7 30 100 1" "kernel b 7 100 200 2" "kernel c 7 200 300 3" \
        "kernel d 7 410 420 4" "kernel unknown 7 500 600"
    report queue trace.json | jq -e 'length == 1 and (.[0] | .max == 3 and .at_ns == 20000 and .launched == 4
        and (.mean - 590 / 420 | fabs) < 1e-9 and .at_limit_ns == 0)'
}

@test "queue: the time at which launches block" {
    for count in 1023 1100; do
        python3 - $count <<'END'
import json, sys
events = []
for i in range(int(sys.argv[1])):
    events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": i, "dur": 0.5, "args": {"correlation": i + 1}})
    events.append({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 2000 + 10 * i, "dur": 10,
                   "args": {"device": 0, "stream": 7, "correlation": i + 1}})
with open("trace.json", "w") as file:
    json.dump(events, file)
END
        report queue trace.json | jq -c '.[] | [.max, .at_ns, .at_limit_ns]'
    done >got
    printf '%s\n' '[1023,1022000,0]' '[1100,1099000,1747000]' | diff - got
}

@test "idle-streams: HTA's classes" {
    trace "kernel k1 7 0 100" "call cudaLaunchKernel 101 105 2" "kernel k2 7 110 200 2" \
        "call cudaLaunchKernel 120 125 3" "kernel k3 7 229 300 3" \
        "call cudaLaunchKernel 130 135 4" "kernel k4 7 330 400 4" "kernel other 8 350 500"
    report idle-streams trace.json | jq -c '.[] | [.stream, .host_wait_ns, .kernel_wait_ns, .other_ns]' >got
    printf '%s\n' '[7,10000,29000,30000]' '[8,0,0,0]' | diff - got
}

@test "sections about time in all formats, and of a trace without GPU operations" {
    trace "call cudaLaunchKernel 0 1 1" "kernel k1 7 5 100 1" "copy c 8 50 150" "kernel k2 7 200 300"
    for section in idle gaps overlap queue; do
        "$gputrace" report -r $section --format=csv trace.json >table.csv
        python3 - <<'END'
import csv, itertools
rows = csv.reader(open("table.csv", newline=""))
tables = [list(table) for some, table in itertools.groupby(rows, bool) if some]
for table in tables:
    assert len(table) > 1 and len({len(row) for row in table}) == 1, table
END
        run -0 "$gputrace" report -r $section trace.json
        [ "${#lines[@]}" -gt 3 ]
        echo '[{"ph":"X","cat":"cuda_runtime","name":"cudaMalloc","pid":1,"tid":1,"ts":0,"dur":1}]' >none.json
        run -0 "$gputrace" report -r $section none.json
        assert_line --partial "none in this trace"
    done
}

@test "each of many GPUs of a thread was idle for as long as it did nothing" {
    "$root/tests/bench/many" gpus 60 many.json # one kernel of 1 us on each, one after another
    "$gputrace" report -f json -r idle many.json >report.json
    # From the first launch at 0 us to the end of the last kernel at 239 us.
    jq -e '[.idle | group_by(.gpu)[] | map(.total_ns) | add] | length == 60 and all(. == 239000 - 1000)' report.json
    jq -e '([.idle[].total_ns] | add) == ([."idle-where"[].total_ns] | add)' report.json
    jq -e '[.idle[] | select(.cause == "before") | .total_ns] | sort == [range(60) | 4000 * . + 2000]' report.json
}
