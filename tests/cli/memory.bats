# Memory from the program to the report: call stacks, what is left, freed wrongly and refused, snapshots, pools.

load common

# The section's rows of ./trace.json, as JSON.
report() { # SECTION [OPTION...]
    local section=$1
    shift
    "$gputrace" report -r "$(section_of "$section")" --format=json "$@" trace.json | jq --arg section "$section" '.[$section]'
}

# The line of leaking.cu on which FUNCTION has TEXT.
line_of() { # FUNCTION TEXT
    awk -v function_name="$1" -v text="$2" '
        index($0, "FUNCTION " function_name "(") { inside = 1 }
        inside && index($0, text) { print NR; exit }' "$root/samples/leaking.cu"
}

@test "--backtrace names the functions and lines that asked for memory" {
    "$gputrace" run --backtrace "$samples/leaking" >/dev/null
    report memory-leaks >leaks
    jq -c '.[] | [.kind, .count, .total_bytes, .where]' leaks >got
    cat >expected <<END
["Device",3,3145728,"keep_table() (leaking.cu:$(line_of keep_table cudaMalloc))"]
["Pinned",1,4096,"remember() (leaking.cu:$(line_of remember cudaHostAlloc))"]
END
    diff expected got
    # the whole stack, outwards
    jq -e --arg inner "keep_table() ($root/samples/leaking.cu:" --arg outer "keep_tables() ($root/samples/leaking.cu:" \
        '.[0].stack | (index($inner) > 0) and (index($inner) < index($outer)) and (index($outer) < index("main ("))' leaks
    report memory-churn | jq -e --arg where "scratch() (leaking.cu:$(line_of scratch cudaMalloc))" \
        'map(select(.where == $where)) | length == 1 and .[0].allocations == 100 and .[0].size_bytes == 65536'
    report memory-failures | jq -e --arg where "ask_too_much() (leaking.cu:$(line_of ask_too_much 'cudaMalloc('))" \
        'length == 1 and .[0].where == $where and .[0].asked_bytes == 70368744177664 and .[0].held_bytes == 3145728'
    report memory-peak | jq -e 'map(.where | split(" ")[0])
        | sort == ["free_twice()", "keep_table()", "remember()"]'
}

@test "without --backtrace there are no stacks, and groups by size" {
    "$gputrace" run "$samples/leaking" >/dev/null
    jq -e '(has("stackFrames") | not) and .gputrace.options.stacks == ["python"]' trace.json
    jq -e '[.traceEvents[] | select(.args.stack?)] == []' trace.json
    report memory-leaks | jq -c '.[] | [.kind, .count, .size_bytes, .where]' >got
    cat >expected <<'END'
["Device",3,1048576,null]
["Pinned",1,4096,null]
END
    diff expected got
}

@test "every stack stands in the metadata once, and only those that are referred to" {
    "$gputrace" run --backtrace --plugin=leaks "$samples/leaking" >/dev/null 2>&1
    jq -e 'def chain($frames): recurse($frames[.].parent // empty | tostring);
        .stackFrames as $frames | [.traceEvents[].args.stack? | numbers | tostring | chain($frames)] | unique
        == ($frames | keys)' trace.json
    jq -e '.stackFrames | length == (map(tostring) | unique | length)' trace.json
}

@test "double and unknown frees are distinguished and rejected" {
    "$gputrace" run "$samples/leaking" >/dev/null
    report memory | jq -e '(map(.double // 0) | add) == 1 and (map(.unknown // 0) | add) == 1'
    jq -e '[.traceEvents[] | select(.args.fault?) | [.name, .args.fault, .args.result]]
        == [["Release Device failed", "double free", 1], ["Release Unknown failed", "unknown free", 1]]' trace.json
}

@test "a snapshot in the middle of a run lists the live allocations" {
    "$gputrace" run --backtrace "$samples/leaking" >/dev/null
    # between the second and the third table
    read -r second third < <(jq -r '[.traceEvents[] | select(.name == "Allocate Device") | .ts] | sort | "\(.[1]) \(.[2])"' trace.json)
    start=$(jq '[.traceEvents[] | select(.ph == "X") | .ts] | min' trace.json)
    middle=$(jq -n "($second + $third) / 2 - $start")
    report memory --snapshot="${middle}us" >live
    jq -e 'length == 1 and .[0].count == 2 and .[0].total_bytes == 2097152 and (.[0].where | startswith("keep_table() "))' live
    [ "$(jq -r '.[0].addresses' live)" = "$(jq -r '[.traceEvents[] | select(.name == "Allocate Device")] | sort_by(.ts)
        | map(.args.address) | .[0:2] | join(" ")' trace.json)" ]
    report memory --snapshot=1000s | jq -S . >end
    report memory-leaks | jq -S . | diff - end
}

@test "reserved and used bytes of pools are counted, with their maximum between two samples" {
    cat >pools.cu <<'END'
#include <cuda_runtime.h>
#include <unistd.h>
static const size_t mib = 1 << 20;
int main()
{
    void *kept, *more, *spike;
    cudaMallocAsync(&kept, 48 * mib, 0);
    cudaMallocAsync(&more, 16 * mib, 0);
    cudaDeviceSynchronize();
    sleep(1);
    cudaFreeAsync(more, 0);
    cudaMallocAsync(&spike, 200 * mib, 0);
    cudaFreeAsync(spike, 0);
    cudaDeviceSynchronize();
    sleep(1);
    cudaFreeAsync(kept, 0);
    return cudaDeviceSynchronize();
}
END
    build_cu pools
    "$gputrace" run --flush-interval=50 ./pools
    jq -e '[.traceEvents[] | select(.cat == "memory" and (.name | endswith("failed")))] == []' trace.json
    # what lasted: what the program holds between two of its calls may be seen too
    assert_equal "$(jq -c '[.traceEvents[] | select(.ph == "C" and .name == "Pool used")] | sort_by(.ts)
        | [.[:-1], .[1:]] | transpose | map(select(.[1].ts - .[0].ts > 500000) | .[0].args.bytes / 1048576)' trace.json)" "[64,48]"
    jq -e '[.traceEvents[] | select(.ph == "C" and .name == "Pool used")] | max_by(.ts) | .args.bytes == 0' trace.json
    jq -e --argjson mib 1048576 '.gputrace.processes[0].pools | length == 1 and .[0].device == 0
        and .[0].used_peak == 248 * $mib and .[0].reserved_peak >= .[0].used_peak' trace.json
    report memory >rows
    jq -c '.[]' rows # shown when one of the next is not so
    jq -c 'select(.ph == "C" or .cat == "memory")' < <(jq -c '.traceEvents[]' trace.json)
    of_kind() { jq -c --arg kind "$1" "map(select(.kind == \$kind) | [$2])" rows; }
    unseen=$(jq --argjson peak $((248 << 20)) '[.traceEvents[] | select(.ph == "C" and .name == "Pool used" and .args.bytes == $peak)] == []' trace.json)
    assert_equal "$(of_kind "Pool used" ".peak_bytes, .peak_at_ns == null, .end_bytes")" "[[$((248 << 20)),$unseen,0]]"
    assert_equal "$(of_kind Pool ".peak_bytes, .end_bytes, .allocations, .releases")" "[[$((248 << 20)),0,3,3]]"
    # a pool grows by steps, and gives back what it likes when the program waits
    assert_equal "$(of_kind "Pool reserved" ".peak_bytes >= $((248 << 20)), .peak_bytes < $((512 << 20))")" "[[true,true]]"
}

@test "plugins see the runtime's attempt before there is a context, which is not a failure in the trace" {
    cat >tries.c <<'END'
#include <gputrace/callbacks.h>
#include <stdio.h>
static void note(const char *what, const struct gputrace_call *call)
{
    FILE *file = fopen("tries", "a");
    fprintf(file, "%s %d %u\n", what, call->result, (unsigned)call->correlation);
    fclose(file);
}
static void failed(void *data, const struct gputrace_memory_allocation_failure *what) { (void)data; note("no", &what->call); }
static void done(void *data, const struct gputrace_memory_allocation *what) { (void)data; note("yes", &what->call); }
static int start(const struct gputrace_host *host)
{
    int heard = gputrace_memory_allocation_failure_register(host, failed, NULL) &&
                 gputrace_memory_allocation_register(host, done, NULL);
    return heard ? 0 : -1;
}
GPUTRACE_PLUGIN("tries", start);
END
    cc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -shared -fPIC -I"$root/include" -o tries.so tries.c
    cat >first.cu <<'END'
#include <cuda_runtime.h>
int main()
{
    void *memory;
    return cudaMallocAsync(&memory, 4096, 0) || cudaMallocAsync(&memory, 4096, 0) || cudaFreeAsync(memory, 0) ||
           cudaMallocAsync(&memory, (size_t)1 << 50, 0) != cudaErrorMemoryAllocation;
}
END
    build_cu first
    "$gputrace" run --plugin=./tries.so ./first
    cat tries
    local first
    first=$(sed -n '1s/^no 201 //p' tries)
    [ -n "$first" ]
    [ "$(sed -n 2p tries)" = "yes 0 $first" ]
    assert_equal "$(cut -d' ' -f1,2 tries | tail -n 2 | tr '\n' ';')" 'yes 0;no 2;'
    assert_equal "$(jq -c '[.traceEvents[] | select(.cat == "memory" and (.name | endswith("failed"))) | .args.result]' trace.json)" '[2]'
    report memory | jq -e 'map(select(.kind == "Pool") | [.allocations, .failures]) == [[2, 1]]'
}

@test "queries of pools are not recorded as calls, and destroyed pools are not queried" {
    cat >come_and_go.cu <<'END'
#include <cuda_runtime.h>
#include <unistd.h>
int main()
{
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    for (int i = 0; i < 300; i++) {
        cudaMemPool_t pool;
        void *data;
        if (cudaMemPoolCreate(&pool, &properties) != cudaSuccess ||
            cudaMallocFromPoolAsync(&data, 4096, pool, 0) != cudaSuccess)
            return 1;
        usleep(i % 30 * 100);
        cudaFreeAsync(data, 0);
        cudaDeviceSynchronize();
        cudaMemPoolDestroy(pool);
    }
    return 0;
}
END
    build_cu come_and_go
    "$gputrace" run --flush-interval=1 ./come_and_go
    jq -e '[.traceEvents[] | select(.ph == "C" and .name == "Pool used")] | sort_by(.ts) | length > 2 and .[-1].args.bytes == 0' trace.json
    jq -e '[.traceEvents[] | select(.ph == "X" and (.name // "" | test("MemPoolGetAttribute|GetDefaultMemPool|ExchangeStreamCaptureMode")))] == []' trace.json
    jq -e '[.traceEvents[] | select(.name == "thread_name" and (.args.name | test("gputrace")))] == []' trace.json
}

@test "memory that is freed with its context is not a leak" {
    cat >reset.cu <<'END'
#include <cuda_runtime.h>
int main()
{
    void *data;
    cudaFree(0);
    cudaMalloc(&data, 1000);
    cudaDeviceReset();
    cudaMalloc(&data, 2000);
    return 0;
}
END
    build_cu reset
    "$gputrace" run ./reset
    jq -e '[.traceEvents[] | select(.args.ending? == "context destroyed") | .args.bytes] == [1000]' trace.json
    report memory-leaks | jq -e 'map(.total_bytes) == [2000]'
    report memory | jq -e '.[0].end_bytes == 2000'
}
