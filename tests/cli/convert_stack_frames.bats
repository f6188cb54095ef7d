# Call stacks of events between formats: "stackFrames" and "sf" of JSON, callstacks of Perfetto's format.

load common

stacks() { # TRACE: each event that has a stack, with the names of the stack's frames
    jq -c 'def chain($frames): $frames[.] | .name, (.parent // empty | tostring | chain($frames));
        .stackFrames as $frames | [.traceEvents[] | select(.args.stack) | select(.args.stack == .sf)
            | [.name, [.sf | tostring | chain($frames)]]] | sort[]' "$1"
}

@test "stacks are the same in JSON, in .pftrace, and after each way between them" {
    "$gputrace" run -q --stacks=all:1 -o trace.json "$samples/launches" >/dev/null
    stacks trace.json >expected
    [ "$(wc -l <expected)" -gt 15 ]
    "$gputrace" convert -q trace.json made.pftrace
    "$gputrace" convert -q made.pftrace made.json
    stacks made.json | diff expected -
    "$gputrace" convert -q trace.json again.json
    stacks again.json | diff expected -
    for trace in trace.json made.pftrace; do
        "$gputrace" report -r lines -f csv "$trace" | sort >"lines.$trace"
    done
    diff lines.trace.json lines.made.pftrace
}

@test "a .pftrace has the stacks of calls and allocations as Perfetto's own messages" {
    "$gputrace" run -q --stacks=all:1 -o trace.json "$samples/launches" >/dev/null
    "$gputrace" convert -q trace.json made.pftrace
    "$root/tests/tools/check_pftrace" made.pftrace trace.json
}

@test "part of a trace keeps the frames of its stacks" {
    "$gputrace" run -q --stacks=all:1 -o trace.json "$samples/launches" >/dev/null
    "$gputrace" cut -q --from=50% -o part.json trace.json
    "$check_trace" --quiet part.json
    [ "$(stacks part.json | wc -l)" -gt 0 ]
}
