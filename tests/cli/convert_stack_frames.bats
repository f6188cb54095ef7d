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

@test "Perfetto loads traces with stacks without errors, and has the stacks of a .pftrace" {
    [ -x "${TRACE_PROCESSOR-}" ] || skip "TRACE_PROCESSOR names no trace_processor_shell of Perfetto"
    echo "select 'error', name, value from stats where severity in ('error', 'data_loss') and value > 0
        union all select 'events', 'with a stack', count(*) from __intrinsic_track_event_callstacks
        union all select 'events', 'called at', count(*) from slice where extract_arg(arg_set_id, 'args.called at') is not null
        union all select 'frame', f.name, y.line_number from stack_profile_frame f
            join stack_profile_symbol y using (symbol_set_id) where f.name = 'launch_brackets' group by 2, 3" >stacks.sql
    "$gputrace" run -q --stacks=all:1 -o trace.json "$samples/launches" >/dev/null
    "$gputrace" convert -q trace.json made.pftrace
    calls=$(jq '[.traceEvents[] | select(.sf and (.cat | startswith("gpu") or . == "kernel" | not))] | length' trace.json)
    "$TRACE_PROCESSOR" -q stacks.sql made.pftrace 2>/dev/null >got
    grep -x "\"events\",\"with a stack\",$calls" got
    [ "$(grep -c '^"frame","launch_brackets",[0-9]*$' got)" -ge 4 ]
    run ! grep '^"error"' got
    all=$(jq '[.traceEvents[] | select(.sf)] | length' trace.json)
    "$TRACE_PROCESSOR" -q stacks.sql trace.json 2>/dev/null >got
    grep -x "\"events\",\"called at\",$all" got
    run ! grep '^"error"' got
}
