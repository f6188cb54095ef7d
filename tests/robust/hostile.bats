# Hostile files and places: whatever report and run are given to read, they answer with a clear error, or with what can be
# read and a warning, in bounded memory and time, and no signal ends them. (Spools that lie: tests/trace/meaning/hostile_test.c;
# the search for more: tests/fuzz.)

load ../cli/common

data=$root/tests/data
small=$data/report/small.json
kineto=$data/kineto/kineto-train-h200.json.gz

# At most 256 MiB, and two minutes. Address space that threads reserve for stacks and malloc does not count; a sanitizer needs
# more than that.
bounded() { # COMMAND...
    case $build in
    */build/*thread* | */build/*address*) timeout 120 "$@" ;;
    *) (ulimit -s 1024 -v 262144 && MALLOC_ARENA_MAX=1 exec timeout 120 "$@") ;;
    esac
}

# Runs report on a file, or on standard input; what it says is in $stderr. No signal may have ended it, nor the time.
report() { # ARGUMENT...
    run --separate-stderr bounded "$gputrace" report -r all "$@"
    [ "$status" -le 2 ] || fail "report $* gave $status: $stderr"
}

# It failed, and its last word names the file.
refused() { # FILE WORDS
    assert_equal "$status" 1
    [[ $stderr == *"gputrace: '$1'"*"$2"* ]] || fail "'$stderr' does not say '$2' of '$1'"
}

sizes() { # BYTES: powers of two up to there
    local size
    for ((size = 1; size < $1; size *= 2)); do echo $size; done
}

# --- traces ---

@test "a trace cut at every power of two gives what is whole, or an error that says where" {
    local size
    gzip -dc "$kineto" >whole
    local first
    first=$(grep -bo '"ph": "X"' whole | sed -n '2s/:.*//p')
    for size in $(sizes "$(stat -c %s whole)"); do
        head -c "$size" whole >cut
        report cut
        if [ "$size" -lt "$first" ]; then
            refused cut 'line '
        else
            assert_equal "$size: $status" "$size: 0"
            [[ $stderr == *"warning: 'cut' is cut off at byte $size"* ]] || fail "$size: $stderr"
        fi
    done
    head -c 0 whole >cut
    report cut
    refused cut 'the file ends here'
}

@test "a bare array cut at every power of two gives what is whole, and a warning" {
    local size
    jq -c .traceEvents "$small" >whole
    for size in $(sizes "$(stat -c %s whole)"); do
        head -c "$size" whole >cut
        report cut
        assert_equal "$status" 0
        [[ $stderr == *"warning: 'cut' is cut off at byte $size"* ]] || fail "$size: $stderr"
    done
}

@test "gzip cut at every power of two gives what is whole, or an error" {
    local size
    for size in $(sizes "$(stat -c %s "$kineto")"); do
        [ "$size" -gt 2 ] || continue # too short to be gzip
        head -c "$size" "$kineto" >cut.gz
        report cut.gz
        if [ "$size" -lt 1024 ]; then
            refused cut.gz ''
        else
            assert_equal "$size: $status" "$size: 0"
            [[ $stderr == *"warning: 'cut.gz' is cut off at byte "* ]] || fail "$size: $stderr"
        fi
    done
}

@test "random bytes are refused" {
    local seed
    for seed in 1 2 3 4 5 6 7 8; do
        LC_ALL=C awk -v seed=$seed 'BEGIN { srand(seed); for (i = 0; i < 20000; i++) printf "%c", 1 + rand() * 255 }' >noise
        report noise
        refused noise ''
        { printf '{"traceEvents": ['; cat noise; } >inside
        report inside
        refused inside ''
        { printf '\037\213\010\0'; cat noise; } >noise.gz
        report noise.gz
        refused noise.gz ''
    done
}

@test "a bit that fell over anywhere in a trace does no harm" {
    local at
    for ((at = 0; at < $(stat -c %s "$small"); at += 131)); do
        cp "$small" bent
        printf '\377' | dd of=bent bs=1 seek=$at conv=notrunc status=none
        report bent
        [ "$status" -eq 0 ] || refused bent ''
    done
}

@test "ten gigabytes of one line, which is one text, are refused when it has shown its size" {
    run --separate-stderr bounded "$gputrace" report -r all - < <(printf '[{"name": "' && head -c 10G /dev/zero | tr '\0' x)
    refused 'standard input' 'a value of more than 16 MiB'
}

@test "ten gigabytes of one line in a file, of which the disk has nearly nothing" {
    printf '[{"name": "' >trace.json
    truncate -s 10G trace.json 2>/dev/null || skip "files cannot be as long here"
    report trace.json
    refused trace.json ''
}

@test "a line of blanks of a gigabyte, and then a trace" {
    run --separate-stderr bounded "$gputrace" report -r overview - < <(head -c 1G /dev/zero | tr '\0' ' ' && tr '\n' ' ' <"$small")
    assert_equal "$status" 0
}

@test "a line of a million events takes no more memory than a thousand" {
    local event='{"ph":"X","cat":"kernel","name":"k","ts":1,"dur":1,"pid":0,"tid":7,"args":{"stream":7}},'
    # shellcheck disable=SC2016 # the dollar is awk's
    run --separate-stderr bounded "$gputrace" report --format=json -r kernels - < <(
        printf '[' && yes "$event" | head -n 1000000 | tr -d '\n' && printf '{"ph":"M","name":"x"}]')
    assert_equal "$status" 0
    assert_equal "$(jq '.kernels[0].calls' <<<"$output")" 1000000
}

@test "ten million brackets" {
    head -c 10000000 /dev/zero | tr '\0' '[' >open
    report open
    assert_equal "$status" 0
    [[ $stderr == *"is cut off at byte 10000000"* ]]
    { cat open; tr '[' ']' <open; } >closed
    report closed
    refused closed 'a value of more than 16 MiB'
    { printf '{"traceEvents": '; head -c 4000000 open; head -c 4000000 open | tr '[' ']'; printf '}'; } >events
    report events
    refused events 'this is not JSON'
    { printf '{"a": '; head -c 4000000 open; head -c 4000000 open | tr '[' ']'; printf '}'; } >metadata
    report metadata
    refused metadata 'this is not JSON'
    { printf '['; yes '{"a":' | head -n 2000000 | tr -d '\n'; } >objects
    report objects
    [[ $stderr == *"is cut off"* ]]
}

@test "a value that takes more memory than it is worth" {
    { printf '{"a": [1'; yes ',1' | head -n 7000000 | tr -d '\n'; printf '], "traceEvents": []}'; } >many
    report many
    refused many 'too large to be held'
}

@test "numbers beyond all measure" {
    local number
    for number in 1e999 -1e999 1e-999 -0 -0.0 99999999999999999999 -99999999999999999999 9223372036854775807 \
        9223372036854775808 1.7976931348623157e308 0.0000000000000000000000000001 1E+0; do
        cat >trace.json <<EOF
[{"ph":"X","cat":"kernel","name":"k","ts":$number,"dur":$number,"pid":$number,"tid":$number,"id":$number,
  "args":{"stream":$number,"device":$number,"correlation":$number,"grid":[$number,$number,$number],"block":[$number]}},
 {"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD","ts":1,"dur":$number,"pid":0,"tid":7,"args":{"bytes":$number}},
 {"ph":"C","name":"Memory in use: Device","ts":1,"pid":0,"args":{"bytes":$number}},
 {"ph":"X","cat":"memory","name":"m","ts":2,"dur":1,"pid":1,"tid":1,"args":{"bytes":$number,"address":$number,"held":$number}},
 {"ph":"X","cat":"cuda_runtime","name":"c","ts":3,"dur":1,"pid":1,"tid":1,"args":{"return value":"$number"}}]
EOF
        report --format=json trace.json
        assert_equal "$status" 0
        jq -e . >/dev/null <<<"$output"
    done
    printf '[{"ph":"X","name":"k","ts":1,"dur":NaN}]' >nan
    report nan
    refused nan '"dur" is NaN: expected a number of microseconds'
}

@test "of two keys of one name the last counts" {
    cat >trace.json <<'EOF'
{"traceEvents": [], "traceEvents": [
 {"ph":"i","ph":"X","cat":"cpu_op","cat":"kernel","name":"no","name":"k","ts":9,"ts":1,"dur":7,"dur":3,"pid":0,"tid":7,
  "args":{},"args":{"stream":7,"stream":8}}]}
EOF
    report --format=json -r kernels trace.json
    assert_equal "$status" 0
    assert_equal "$(jq -c '.kernels | map([.name, .calls, .total_ns])' <<<"$output")" '[["k",1,3000]]'
}

@test "names that are not UTF-8 are written as UTF-8" {
    printf '[{"ph":"X","cat":"kernel","name":"a\377\300\200\355\240\200b\\u0000","ts":1,"dur":1,"pid":0,"tid":7,"args":{"stream":7}}]' >trace.json
    for format in table csv json markdown; do
        report --format=$format trace.json
        assert_equal "$status" 0
        iconv -f UTF-8 -t UTF-8 >/dev/null <<<"$output"
    done
}

@test "wrong types in every place of an event" {
    # shellcheck disable=SC2016 # the dollars are jq's
    jq -c '[.traceEvents[] | . as $event | paths as $path | (null, true, -1, "x", [], {}, [[]], {"a": 1}) as $wrong
            | try ($event | setpath($path; $wrong)) catch empty]' "$small" >wrong.json
    for format in table json; do
        report --format=$format wrong.json
        assert_equal "$status" 0
        [[ $stderr == *"events are left out, "*" of them for one reason, the first at line"* ]]
    done
    jq -e . >/dev/null <<<"$output"
}

@test "wrong types in every place of the metadata" {
    local count row # (run has an i of its own)
    # shellcheck disable=SC2016 # the dollars are jq's
    jq -c '. as $trace | [paths | select(.[0] != "traceEvents" and length < 5)] | unique_by(map(numbers |= 0)) | .[] as $path
           | (null, -1e300, "x", [1], {"a": [1]}) as $wrong | try ($trace | setpath($path; $wrong)) catch empty' \
        "$data/report/memory.json" | awk 'NR % 3 == 1' >wrong
    count=$(wc -l <wrong)
    [ "$count" -gt 20 ]
    for ((row = 1; row <= count; row++)); do
        sed -n "${row}p" wrong >wrong.json
        report --format=json wrong.json
        [ "$status" -eq 0 ] && jq -e . >/dev/null <<<"$output" || refused wrong.json ''
    done
    report --format=json <(printf '{"gputrace": {"plugins": 7, "losses": [], "stacks": {}, "frames": "x"}, "traceEvents": []}')
    assert_equal "$status" 0
}

@test "files that are not traces" {
    mkdir folder
    report folder
    refused folder 'has no traces and no spools'
    report /dev/null
    refused /dev/null 'the file ends here'
    report /dev/zero
    refused /dev/zero 'found byte 0x00'
    report "$gputrace"
    refused "$gputrace" 'found byte 0x7f'
    report none
    assert_equal "$status" 1
    [[ $stderr == "gputrace: cannot open 'none': No such file"* ]]
    ln -s loop loop
    report loop
    assert_equal "$status" 1
}

@test "a FIFO is read once, as it fills" {
    mkfifo fifo
    { head -c 100000 /dev/zero | tr '\0' ' ' && cat "$small"; } >fifo & # more than a FIFO holds
    report --format=json -r overview fifo
    assert_equal "$status" 0
    cp "$small" whole.json
    run --separate-stderr bounded "$gputrace" report --format=json -r overview whole.json
    mkfifo again
    report --snapshot=1ms again
    assert_equal "$status" 1
    [[ $stderr == *"'again' cannot be read twice"* ]]
}

@test "a trace that is cut, or written on, while it is read" {
    local event='{"ph":"X","cat":"kernel","name":"k","ts":1,"dur":1,"pid":0,"tid":7,"args":{"stream":7}},'
    { printf '['; yes "$event" | head -n 400000; } >trace.json
    for size in 1000000 30000000; do
        cp trace.json changing.json
        bounded "$gputrace" report -r all changing.json >/dev/null 2>said 3>&- &
        launcher=$!
        reads() { ! kill -0 "$launcher" 2>/dev/null || [ -n "$(find /proc/[0-9]*/fd -lname "$PWD/changing.json" -print -quit 2>/dev/null)" ]; }
        eventually reads
        truncate -s $size changing.json
        yes "$event" | head -n 10000 >>changing.json
        status=0
        wait "$launcher" || status=$?
        stderr=$(<said)
        [ "$status" -eq 0 ] || refused changing.json ''
    done
}

@test "gzip that becomes very large" {
    head -c 300M /dev/zero | tr '\0' ' ' | gzip -1 >blanks.gz
    report blanks.gz
    refused blanks.gz 'the file ends here'
    { printf '[{"a": "' && head -c 300M /dev/zero | tr '\0' x; } | gzip -1 >text.gz
    report text.gz
    refused text.gz 'a value of more than 16 MiB'
    { printf '['; yes '{"ph":"X","name":"k","ts":1,"dur":1},' | head -n 500000; printf '{}]'; } | gzip -1 >events.gz
    report -r overview events.gz
    assert_equal "$status" 0
}

# --- spool directories: what the program itself may put there ---

# A program that lets nothing but these lines happen in its spool directory, and its trace.
spool_with() { # LINE...
    # shellcheck disable=SC2016 # the program's shell expands it
    script app 'cd "$GPUTRACE_SPOOL" || exit 9' "$@"
    run --separate-stderr bounded "$gputrace" run -o trace.json ./app
    assert_equal "$status" 0
    jq -e '.traceEvents | type == "array"' trace.json
}

@test "files among the spools that are not spools are left out, without waiting" {
    spool_with 'mkfifo 1-0.spool'
    [[ $stderr == *"1-0.spool' is not a regular file and is left out"* ]]
    spool_with 'mkdir 2-0.spool'
    [[ $stderr == *"2-0.spool' is not a regular file and is left out"* ]]
    spool_with 'ln -s /dev/zero 3-0.spool'
    [[ $stderr == *"3-0.spool' is not a regular file and is left out"* ]]
    spool_with ': >4-0.spool' 'head -c 100 /dev/zero >5-0.spool' 'head -c 10000 /dev/zero >6-0.spool'
    spool_with 'yes "something else" | head -c 10000 >7-0.spool'
    [[ $stderr == *"7-0.spool' is not a spool file and is left out"* ]]
}

@test "of a spool cut at every power of two the records before the cut are read" {
    local size
    gzip -dc "$data/h200/vector_add.spool.gz" >whole
    for size in $(sizes "$(stat -c %s whole)"); do
        [ "$size" -ge 2048 ] || continue
        # shellcheck disable=SC2016 # the program's shell expands it
        spool_with "head -c $size '$PWD/whole' >1-0.spool"
    done
    "$gputrace" report -r all trace.json
}

@test "a spool whose bytes fell over gives a trace that can be read" {
    local at
    gzip -dc "$data/h200/vector_add.spool.gz" >whole
    for ((at = 0; at < 20000; at += 1571)); do
        spool_with "cp '$PWD/whole' 1-0.spool" "printf '\\377\\377\\377\\377' | dd of=1-0.spool bs=1 seek=$at conv=notrunc status=none"
        report trace.json
        assert_equal "$status" 0
    done
}

@test "a session.json that is not a file, or is too large, is left out" {
    spool_with 'rm session.json' 'mkfifo session.json'
    [[ $stderr == *"session.json' is not a regular file"* ]]
    spool_with 'rm session.json' 'mkdir session.json'
    [[ $stderr == *"session.json' is not a regular file"* ]]
    spool_with 'rm session.json' 'ln -s /dev/zero session.json'
    [[ $stderr == *"session.json' is not a regular file"* ]]
    spool_with 'echo "[[[" >session.json'
    [[ $stderr == *"is not a JSON object"* ]]
    spool_with 'head -c 5000000 /dev/zero | tr "\0" "[" >session.json'
    [[ $stderr == *"is not a JSON object"* ]]
    spool_with '{ printf "{\"command\": [1"; yes ",1" | head -n 8000000 | tr -d "\n"; printf "]}"; } >session.json'
    [[ $stderr == *"is not a JSON object"* ]]
    spool_with 'echo "{\"command\": 7, \"rank\": \"x\", \"options\": [{}], \"host\": null, \"started\": 1e999}" >session.json'
}

# --- places ---

@test "a link in place of the trace is refused, and neither followed nor replaced" {
    echo precious >victim
    ln -s victim trace.json
    ln -s elsewhere other.json
    run -125 "$gputrace" run true
    assert_output --partial "'trace.json': a regular file is needed, and it is a symbolic link"
    run -125 "$gputrace" run -q -o other.json true
    assert_equal "$(cat victim)" precious
    [ -L trace.json ]
    [ -L other.json ]
    [ ! -e elsewhere ]
}

@test "a trace that goes into a world-writable directory cannot be read by others before it is complete" {
    mkdir open sticky
    chmod 777 open
    chmod 1777 sticky
    for place in open sticky; do
        "$gputrace" run -q -o $place/trace.json true
        jq -e .traceEvents $place/trace.json
        assert_equal "$(ls $place)" trace.json
    done
}

@test "spools are private: directory 0700, files 0600, with any umask and parent" {
    mkdir parent
    chmod 1777 parent
    umask 0
    # shellcheck disable=SC2016 # the program's shell expands it
    script app 'stat -c %a "$GPUTRACE_SPOOL" "$GPUTRACE_SPOOL"/session.json'
    run --separate-stderr -0 "$gputrace" run -q --spool-dir=parent ./app
    assert_equal "$output" $'700\n600'
    run -0 "$gputrace" run -q --spool-dir=parent --keep-spool "$samples/nvtx"
    assert_equal "$(find parent/gputrace-* -type f -printf '%m\n' | sort | uniq)" 600
}

@test "a spool directory whose parent others can rename in is reported" {
    mkdir parent
    chmod 777 parent
    run --separate-stderr -0 "$gputrace" run --spool-dir=parent true
    [[ $stderr == *"everybody can replace what is in"*"/parent'"*"chmod +t"* ]]
    chmod +t parent
    run --separate-stderr -0 "$gputrace" run --spool-dir=parent true
    [[ $stderr != *"everybody"* ]]
}

@test "a plugin that everybody can replace is not loaded" {
    mkdir open
    cp "$build/samples/plugins/empty.so" open/
    chmod 777 open
    run -125 "$gputrace" run --plugin=open/empty.so true
    assert_output --partial "because everybody can write to"
    chmod 755 open
    chmod 666 open/empty.so
    run -125 "$gputrace" run --plugin=open/empty.so true
    assert_output --partial "/open/empty.so': chmod o-w"
    chmod 644 open/empty.so
    run -0 "$gputrace" run -q --plugin=open/empty.so "$samples/nvtx"
}

@test "nor is one that an environment names" {
    mkdir open
    cp "$build/samples/plugins/empty.so" open/
    chmod 777 open
    # shellcheck disable=SC2016 # the program's shell expands it
    script app 'export GPUTRACE_PLUGINS="$PWD/open/empty.so"' "exec '$samples/nvtx'"
    run -0 "$gputrace" run ./app
    assert_output --partial "empty.so' is left out: everybody can write to"
}

@test "libgputrace.so that everybody can replace is not loaded, and the program runs" {
    mkdir -p open/bin
    cp "$gputrace" "$build/libgputrace.so.0" open/bin/
    chmod 777 open
    run -0 open/bin/gputrace run -o trace.json echo done
    assert_line --partial "is not loaded into a program, because everybody can write to"
    assert_line done
    [ ! -e trace.json ]
    run open/bin/gputrace doctor
    assert_output --partial 'everybody can write to'
    chmod 755 open
    run -0 open/bin/gputrace run -o trace.json echo done
    [ -e trace.json ]
}

@test "a libcupti that everybody can replace is passed over" {
    need_simulated
    mkdir open
    cp "$simgpu"/libcupti.so* open/
    chmod 777 open
    LD_LIBRARY_PATH=$PWD/open:$LD_LIBRARY_PATH run -0 "$gputrace" run "$samples/vector_add"
    assert_output --partial "open/libcupti.so' is not loaded, because everybody can write to"
    [ "$(count kernel)" -gt 0 ]
    run -125 "$gputrace" run --cupti=open/libcupti.so "$samples/vector_add"
    assert_output --partial 'because everybody can write to'
}
