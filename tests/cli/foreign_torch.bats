# Traces of torch.profiler as others make them: kernels that communicate without NCCL, Python's functions, ranks without
# metadata of collective operations. Inputs: tests/data/foreign.

load common

foreign=$root/tests/data/foreign

# row SECTION KEY VALUE FILE: the row of the section whose KEY is VALUE, as JSON
row() {
    "$gputrace" report -r "$1" -f json "$4" | jq -c --arg section "$1" --arg key "$2" --arg value "$3" \
        '.[$section][] | select((.[$key] | tostring) == $value)'
}

ids() {
    "$gputrace" report -r findings -f json "$1" | jq -r '.findings[].id'
}

@test "DeepEP's dispatch and combine communicate: computation runs beside them, and their grids are no finding" {
    local trace=$foreign/deepep-is-computation.json
    row temporal what communication "$trace" | jq -e '.total_ns == 48000000 and .overlapped_ns == 24000000'
    row temporal what computation "$trace" | jq -e '.total_ns == 24000000'
    row overlap what "communication while kernels computed" "$trace" | jq -e '.overlap_percent == 50'
    run -0 ids "$trace"
    assert_output exposed-communication
}

@test "all-reduces of symmetric memory communicate: in temporal, ranks, parts, and the findings" {
    local trace=$foreign/symmetric-memory-all-reduce.json
    row temporal what communication "$trace" | jq -e '.total_ns == 18000000'
    row temporal what computation "$trace" | jq -e '.total_ns == 0'
    row ranks rank 0 "$trace" | jq -e '.communication_ns == 18000000 and .exposed_ns == 18000000 and .compute_ns == 0'
    run -0 ids "$trace"
    assert_output exposed-communication
    "$gputrace" report --partial "$trace" -o one.gpr
    row ranks rank 0 one.gpr | jq -e '.communication_ns == 18000000 and .compute_ns == 0'
}
