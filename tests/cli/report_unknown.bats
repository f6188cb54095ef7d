# Arguments that events do not have: whatever is missing, no section of the report takes it for a number.

load common

scene=$root/tests/fuzz/tool/scene.json

# Reports the trace in every section, as a table and as JSON, and looks for what stands for no number.
no_number_is_unknown() { # WHAT IS MISSING
    local format
    for format in table json; do
        "$gputrace" report -r all --top=0 --columns=all -f $format trace.json >report 2>messages || fail "without $1: $(cat messages)"
        ! grep -E -e '-?9[,.]?223[,.]?372|\(null\)|[^a-z](nan|inf)[^a-z]' report || fail "without $1"
    done
}

@test "each argument is left out of all events, and then all are" {
    jq -r '[.traceEvents[].args // {} | keys[]] | unique[]' "$scene" >keys
    [ "$(wc -l <keys)" -gt 50 ]
    while read -r key; do
        jq -c --arg key "$key" '.traceEvents[].args |= (. // {} | del(.[$key]))' "$scene" >trace.json
        no_number_is_unknown "$key"
    done <keys
    jq -c 'del(.traceEvents[].args)' "$scene" >trace.json
    no_number_is_unknown 'all arguments'
}

@test "each key of the metadata is left out, and then all are" {
    jq -r '[del(.traceEvents) | .. | objects | keys[]] | unique[]' "$scene" >keys
    [ "$(wc -l <keys)" -gt 80 ]
    while read -r key; do
        jq -c --arg key "$key" '(del(.traceEvents) | walk(if type == "object" then del(.[$key]) else . end)) +
            {traceEvents}' "$scene" >trace.json
        no_number_is_unknown "$key"
    done <keys
    jq -c '{traceEvents}' "$scene" >trace.json
    no_number_is_unknown 'metadata'
}
