# Replayed GPU operations of CUDA graphs: what was open when they were captured, and their rows.

load robust

before_each() { need_plain; }

number() { jq "$1" trace.json; }
shown() { number '[.traceEvents[] | select(.args."captured in")] | length'; }

# "NAME: CAPTURED IN" of each sort of operation that a graph does, in order of names. A GPU sets memory in the body of a
# conditional node by a kernel.
captured_in() {
    jq -r '[.traceEvents[] | select(.args."graph id") |
        "\(.name | sub(" \\(.*"; "") | sub("^memset32$"; "Memset")): \(.args."captured in" // "-")"] | unique[]' trace.json
}

replays() { # WAY
    run -0 timeout "$limit" "$gputrace" run -q "$programs/replayed" "$1"
    "$check_trace" --quiet --strict trace.json
}

# Runs WAY; its operations were captured in what the standard input says.
are_captured_in() { # WAY
    replays "$1"
    run -0 captured_in
    assert_equal "$output" "$(cat)"
}

@test "replayed kernels, copies and sets show the ranges that were open at their capture, and not those of the launch" {
    are_captured_in capture <<'EOF'
Memcpy DtoD: outer / inner
Memset: outer / inner
dying_0: outer
dying_1: outer / inner
dying_2: -
EOF
    assert_equal "$(shown)" 12
}

@test "a graph that was captured in no range: nothing is shown, nor of kernels that are launched in one" {
    are_captured_in no-ranges <<<'dying_0: -'
    assert_equal "$(shown)" 0
}

@test "a graph that is instantiated twice, or a clone of a clone: copies were captured where the original was" {
    local way
    for way in instances clone; do
        are_captured_in "$way" <<'EOF'
dying_0: outer
dying_1: outer / inner
dying_2: -
EOF
    done
    assert_equal "$(shown)" 6
}

@test "a graph that is updated: launches before show the old capture, later ones the new capture" {
    are_captured_in update <<'EOF'
Memcpy DtoD: old / inner
Memcpy DtoD: updating
Memset: old / inner
Memset: updating
dying_0: old
dying_1: old / inner
dying_2: -
dying_3: updating / new
dying_4: updating / newer
dying_5: updating
EOF
}

@test "nodes that the program adds itself show the ranges around the call, also when they are changed later" {
    are_captured_in add <<'EOF'
Memcpy DtoD: adding / any
Memset: adding / any
dying_2: adding
dying_3: adding / any
EOF
}

@test "kernels of child graphs and in bodies of conditional nodes show what was open when these were captured" {
    are_captured_in children <<'EOF'
dying_0: parent
dying_1: child
dying_2: child
dying_3: child
EOF
    assert_equal "$(shown)" 12
    are_captured_in condition <<'EOF'
dying_0: around
dying_1: around / body
dying_2: around / body
EOF
    assert_equal "$(shown)" 9
}

@test "kernels of one name in two child graphs, in a body and in its child graph: each shows its own" {
    are_captured_in within <<'EOF'
Memset: body 1
dying_0: own
dying_1: first
dying_1: second
dying_2: body 1
dying_3: third
EOF
    assert_equal "$(shown)" 54
    assert_equal "$(number '[.traceEvents[] | select(.args."captured in" == "first")] | length')" 12
}

@test "a graph with a child graph that is updated: of the child graph nothing is made up from then on" {
    are_captured_in update-within <<'EOF'
dying_0: old
dying_1: -
dying_1: old
dying_2: new
EOF
    assert_equal "$(number '[.traceEvents[] | select(.args."captured in" == "old" and .name == "dying_1")] | length')" 6
}

@test "child graphs and bodies whose nodes CUPTI numbers in another way: nothing is made up" {
    need_simulated
    export SIMGPU_OTHER_NUMBERS=1
    are_captured_in children <<'EOF'
dying_0: parent
dying_1: -
dying_2: -
dying_3: -
EOF
    are_captured_in condition <<'EOF'
dying_0: around
dying_1: -
dying_2: -
EOF
    are_captured_in within <<'EOF'
Memset: -
dying_0: own
dying_1: -
dying_2: -
dying_3: -
EOF
}

@test "captures on four threads at once: each thread's own ranges are shown" {
    are_captured_in threads <<'EOF'
dying_0: thread 0
dying_1: thread 1
dying_2: thread 2
dying_3: thread 3
EOF
    assert_equal "$(shown)" 400
}

@test "a thread of PyTorch's autograd that captures in no range: the ranges of the main thread, which waits for it, are shown" {
    are_captured_in autograd <<'EOF'
dying_0: backward
dying_1: -
EOF
}

@test "a thread that adds to the capture of another one, in no range of its own: the other thread's ranges are shown" {
    are_captured_in relaxed <<'EOF'
dying_0: on the other thread
dying_1: on the first thread
dying_2: on the first thread
EOF
    are_captured_in relaxed-beside <<'EOF' # while two are captured it is not known to which one it adds
dying_0: on the other thread
dying_1: on the first thread
dying_2: -
EOF
}

@test "ranges that are started and ended, and overlap: those that were open are shown" {
    are_captured_in started <<'EOF'
dying_0: first
dying_1: first / second / pushed
dying_2: second
dying_3: -
EOF
}

@test "two thousand leaked ranges: the innermost are shown, and that there are more" {
    replays leaks
    run -0 captured_in
    assert_equal "$(grep -o ' / ' <<<"$output" | wc -l)" 32
    [[ $output == 'dying_0: … / started / leak 985 / '*' / leak 999 / started / innermost' ]]
}

@test "names that are too long are cut between characters" {
    replays long-names
    run -0 captured_in
    [[ ${lines[0]} == 'dying_0: éé'*'é…' ]]
    assert_equal "${#lines[0]}" 522
    assert_equal "${lines[1]}" 'dying_1: … / short'
}

@test "a range that is still open at the end, and SIGKILL after the replay: it is shown" {
    are_captured_in open <<<'dying_0: open'
    run -137 timeout "$limit" "$gputrace" run -q "$programs/replayed" killed
    run -0 captured_in
    assert_equal "$output" 'dying_0: open'
}

@test "a trace in Perfetto's format, and a database made of it, show the same" {
    run -0 timeout "$limit" "$gputrace" run -q -o trace.pftrace "$programs/replayed" capture
    "$gputrace" convert trace.pftrace trace.json
    "$gputrace" convert trace.pftrace trace.db
    assert_equal "$(sqlite3 trace.db "SELECT DISTINCT captured_in FROM memcpy")" 'outer / inner'
    run -0 captured_in
    assert_equal "$output" "$(printf '%s\n' 'Memcpy DtoD: outer / inner' 'Memset: outer / inner' 'dying_0: outer' \
        'dying_1: outer / inner' 'dying_2: -')"
}

# Kernels as short as these do not overlap on a GPU of today.
@test "five graphs of three branches: the branches stand on three rows, not on eleven" {
    need_simulated
    replays branches
    assert_equal "$(number '[.traceEvents[] | select(.args."graph id") | .args.stream] | unique | length')" 12
    assert_equal "$(number '[.traceEvents[] | select(.args."graph id" and .name != "dying_4") | .tid] | unique | length')" 3
    assert_equal "$(number '[.traceEvents[] | select(.name == "thread_name" and .args.name == "stream 13 (3)")] | length')" 1
    run -0 jq -r '.traceEvents[] | select(.name == "thread_name") | .args.name | select(test("^stream 1[3-9]( \\(|$)"))' trace.json
    assert_equal "$(sort <<<"$output")" "$(printf '%s\n' 'stream 13' 'stream 13 (2)' 'stream 13 (3)')"
}

@test "a graph is all that runs on the default stream: its branches stand on rows of the default stream" {
    need_simulated
    replays default-stream
    run -0 jq -r '.traceEvents[] | select(.name == "thread_name") | .args.name | select(test("^stream [0-9]+( \\(|$)"))' trace.json
    assert_equal "$(sort <<<"$output")" "$(printf '%s\n' 'stream 7' 'stream 7 (2)')"
}

@test "a stream that the program made keeps its row, also when all that runs there is one graph" {
    replays branches
    run -0 jq -r '[.traceEvents[] | select(.name == "dying_4") | .tid == .args.stream] | unique[]' trace.json
    assert_equal "$output" true
}

# "KIND NAME: FIELD …" of the rows of a section.
rows() { # SECTION FIELDS [OPTION...]
    local section=$1 fields=$2
    shift 2
    "$gputrace" report -r "$(section_of "$section")" --format=json "$@" trace.json |
        jq -r ".\"$section\"[] | \"\(.kind) \(.name): \([$fields] | map(tostring) | join(\" \"))\"" | sort
}

@test "report -r nvtx: what graphs replay counts in rows of the ranges that it was captured in" {
    replays capture
    run -0 rows nvtx-gpu '.gpu_ops, .kernels'
    assert_equal "$output" "$(printf '%s\n' 'captured inner: 9 3' 'captured outer: 12 6' 'range replay: 15 9')"
    run -0 rows nvtx-gpu '.gpu_ops' --range replay # their capture was before it
    assert_equal "$output" "$(printf '%s\n' 'captured inner: 9' 'captured outer: 12' 'range replay: 15')"
    run -0 rows nvtx-gpu '.gpu_ops' --range outer # nothing was launched in it
    assert_equal "$output" ''
}

@test "report -r nvtx: what was captured in a range is busy time of a row apart, and not outside of ranges" {
    replays threads
    run -0 rows nvtx '.gpu_busy_ns > 0'
    assert_equal "$output" "$(for i in 0 1 2 3; do echo "captured thread $i: true"; done &&
        for i in 0 1 2 3; do echo "range thread $i: false"; done)"
    replays no-ranges
    run -0 rows nvtx '.gpu_busy_ns > 0'
    assert_equal "$output" "$(printf '%s\n' 'range launched: true' 'range replay: true')"
}

@test "report -r nvtx: replayed kernels are in the ranges that they were captured in, others where they were launched" {
    replays capture
    run -0 "$gputrace" report -r nvtx --format=json trace.json
    assert_equal "$(jq -r '."nvtx-kernels"[] | "\(.name) \(.range) \(.calls)"' <<<"$output" | sort)" \
        "$(printf '%s\n' 'dying_0 captured: outer 3' 'dying_1 captured: outer/inner 3' 'dying_2 replay 3')"
}

@test "a flame graph has the ranges of the capture between the launch of the graph and its kernels" {
    replays capture
    "$gputrace" convert trace.json trace.folded
    run -0 sed 's/ [0-9]*$//' trace.folded
    assert_equal "$(grep dying <<<"$output" | sort)" "$(printf '%s\n' 'replay;cuGraphLaunch;dying_2' \
        'replay;cuGraphLaunch;outer;dying_0' 'replay;cuGraphLaunch;outer;inner;dying_1')"
}

# "NAME: FUNCTION" of each sort of operation that a graph does: where it was captured. The stack is that of the line.
captured_at() {
    jq -r 'def chain($frames): $frames[.] | .name, (.parent // empty | tostring | chain($frames));
        .stackFrames as $frames | [.traceEvents[] | select(.args."graph id") | .args."captured at" as $at
            | ($at // "-" | split(" (")[0]) as $function
            | if $at == null or ([.sf | tostring | chain($frames)] | index($function) and index("main"))
              then "\(.name | sub(" \\(.*"; "") | sub("^memset32$"; "Memset")): \($function | sub("\\..*"; ""))"
              else error("no such stack") end] | unique[]' trace.json
}

stacks_of_replays() { # LIST WAY
    run -0 timeout "$limit" "$gputrace" run -q --stacks="$1" "$programs/replayed" "$2"
    "$check_trace" --quiet --strict trace.json
    run -0 captured_at
}

@test "--stacks=launch: replayed operations have the call stack that captured them, or added their nodes" {
    stacks_of_replays launch capture
    assert_equal "$output" "$(printf '%s\n' 'Memcpy DtoD: nested' 'Memset: nested' \
        'dying_0: launch_kernel' 'dying_1: launch_kernel' 'dying_2: launch_kernel')"
    assert_equal "$(number '[.traceEvents[] | select(.args."graph id" and .args."called at")] | length')" 0
    stacks_of_replays all add # where they were added, also when they launch something else later
    assert_equal "$output" "$(printf '%s\n' 'Memcpy DtoD: add_set_and_copy' 'Memset: add_set_and_copy' \
        'dying_2: add' 'dying_3: by_adding')"
    stacks_of_replays launch:100 within
    assert_equal "$output" "$(printf '%s\n' 'Memset: capture_body' 'dying_0: add' 'dying_1: launch_kernel' \
        'dying_2: launch_kernel' 'dying_3: launch_kernel')"
}

@test "--stacks=launch without ranges in the program: the same, and each captured node has one stack" {
    stacks_of_replays launch no-ranges
    assert_equal "$output" 'dying_0: launch_kernel'
    run -0 timeout "$limit" "$gputrace" run -q --stacks=launch "$programs/replayed" plain 200 3
    assert_equal "$(number '[.traceEvents[] | select(.args."captured at" | . and startswith("launch_kernel ("))] | length')" 600
    # The captured launches have it too: every one of them, not one of ten.
    assert_equal "$(number '[.traceEvents[] | select(.name == "cuLaunchKernel" and .args."called at")] | length')" 200
}

@test "other stacks, and graphs as a whole: nothing is said of the capture" {
    stacks_of_replays sync,alloc capture
    assert_equal "$output" "$(printf '%s\n' 'Memcpy DtoD: -' 'Memset: -' 'dying_0: -' 'dying_1: -' 'dying_2: -')"
    run -0 timeout "$limit" "$gputrace" run -q --graph=graph --stacks=launch "$programs/replayed" capture
    run ! grep -q 'captured at' trace.json
    assert_equal "$(number '[.traceEvents[] | select(.cat == "gpu_graph" and .args."called at")] | length > 0')" true
}

@test "report -r lines: GPU time of what graphs replay counts for the line that captured it" {
    stacks_of_replays launch add
    run -0 "$gputrace" report -r lines --format=json trace.json
    assert_equal "$(jq -r '.lines[] | "\(.name | split(" ")[0]) \(.operations) \(.measured_percent)"' <<<"$output" | sort)" \
        "$(printf '%s\n' 'add 3 100' 'add_set_and_copy 3 100' 'add_set_and_copy 3 100' 'by_adding 3 100')"
    "$gputrace" convert trace.json trace.folded
    run ! grep -q 'replay (' trace.folded
    grep -q '^main (.*;by_adding (.*;add (.*;dying_2 ' trace.folded
}

@test "streams that the program made are not recorded: every stream has its row" {
    run -0 timeout "$limit" "$gputrace" run -q --trace=-stream "$programs/replayed" branches
    assert_equal "$(number '[.traceEvents[] | select(.args."graph id") | .tid] | unique | length')" 12
}
