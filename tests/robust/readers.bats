# report and convert take the same JSON for a trace: they accept and refuse alike, with the same message, in bounded
# memory, and what convert makes of an accepted trace is valid JSON.

load ../cli/common

data=$root/tests/data

setup_file() { export BATS_TEST_TIMEOUT=300; }

# At most 256 MiB and half a minute, as in hostile.bats.
bounded() { # COMMAND...
    case $build in
    */build/*thread* | */build/*address*) timeout 120 "$@" ;;
    *) (ulimit -s 1024 -v 262144 && MALLOC_ARENA_MAX=1 exec timeout 120 "$@") ;;
    esac
}

# What convert made of traces that it accepted is JSON.
all_made_are_json() {
    python3 -c 'import json, sys
for name in sys.argv[1:]: json.load(open(name), parse_constant=lambda word: sys.exit(f"{name} has {word}"))' made/*.json
}

# Both read FILE: each must end with STATUS, and say the same last when they refuse it.
both() { # STATUS FILE
    run --separate-stderr bounded "$gputrace" report --format=json "$2"
    assert_equal "$2: report $status" "$2: report $1"
    local said=${stderr##*$'\n'}
    rm -f made.json
    run --separate-stderr bounded "$gputrace" convert "$2" made.json
    assert_equal "$2: convert $status" "$2: convert $1"
    if [ "$1" -ne 0 ]; then
        assert_equal "${stderr##*$'\n'}" "$said"
        [ ! -e made.json ] || fail "$2 was refused, and made.json is there"
        return
    fi
    mkdir -p made
    cp made.json "made/$(find made -name '*.json' | wc -l).json"
    run --separate-stderr bounded "$gputrace" report -r all made.json
    assert_equal "$2: report of what convert made $status" "$2: report of what convert made 0"
}

# STATUS for a trace whose only event has VALUE as an argument, in the first place and in a metadata value.
value() { # STATUS VALUE
    printf '{"traceEvents":[{"ph":"X","cat":"kernel","name":"k","ts":1,"dur":1,"pid":0,"tid":7,"args":{"stream":7,"a":%s}}]}' "$2" >value.json
    both "$1" value.json
    printf '{"a":%s,"traceEvents":[]}' "$2" >metadata.json
    both "$1" metadata.json
    printf '{"traceEvents":[{"ph":"s","id":1,"cat":"\\u0061c2g","name":"n","ts":1,"pid":0,"tid":7,"args":{"a":%s}}]}' "$2" >flow.json
    both "$1" flow.json
}

whole() { # STATUS TEXT, in which printf's escapes count
    printf '%b' "$2" >whole.json
    both "$1" whole.json
}

@test "report and convert accept the same values" {
    local word
    for word in nan -NaN inf infinity tru truee nul True 01 -01 00 - +1 1. .5 1e 1e+ 0x10 1-2 '"\x41"' \
        '"\u12"' "'a'" '{a:1}' '{"a":1,}' '[1,]' '[1 2]' '{"a" 1}' '{"a"}' '{1:2}' '[}' ''; do
        value 1 "$word"
    done
    for word in NaN Infinity -Infinity '[1,NaN]' '"\ud800"' '"\udc00"' '"\ud800\u0041"' 0 -0 -1 10 0.5 1e9 1E+0 -1.5e-3 1e999 18446744073709551616 true false null '""' '"\u0041\/\ud83d\ude00\n"' '"é"' \
        '{}' '[]' '[[1],{"a":{"b":null}}]' '{"a":1,"a":2}' ' [ 1 , 2 ] '; do
        value 0 "$word"
    done
    all_made_are_json
}

@test "report and convert accept the same files" {
    local event='{"ph":"X","name":"k","ts":1,"dur":1,"pid":0,"tid":7}' text
    for text in '{}' null true 1 '"text"' '' ' ' '{"traceEvents":null}' '{"traceEvents":{}}' '{"other":[]}' '{"traceEvents":[]' \
        '{"traceEvents":[]}x' '{"traceEvents":[]},' '{"traceEvents":[]}{"traceEvents":[]}' '[][]' \
        "{\"traceEvents\":[${event%\}}" '{,"traceEvents":[]}' '{"a\\x":1,"traceEvents":[]}' '\0' \
        '[1,null,"a",{}]' '\xef\xbb[]' '\xef\xbb\xbf' '\xfe\xff[]'; do
        whole 1 "$text"
    done
    for text in '[]' '{"traceEvents":[]}' '\xef\xbb\xbf[]' "\xef\xbb\xbf{\"traceEvents\":[$event]}" ' [ ] ' "[$event]" "[$event," "[$event,{" \
        "[$event][$event]" "[$event]]" "{\"traceEvents\":[$event}" "{\"traceEvents\":[$event $event]}" "[$event}x,$event,,]" \
        "[$event,$event]\n" '{"traceEvents":[],}' "[$event,]" "[$event,1,null,\"a\",{}]" "{\"traceEvents\":[$event" "{\"traceEvents\":[$event]" \
        "{\"traceEvents\":[$event,{\"ph\":\"X\",\"name\":\"a \"b\" c\"},$event]}" '{"traceEvents":[],"traceEvents":[]}' "{\"tr\\\\u0061ceEvents\":[$event]}" '{"a":1,"a":2,"traceEvents":[]}' \
        '[{"ph":"X","name":"tab\there","ts":1,"dur":1}]' '[{"ph":"X","name":"\xff\xc0\x80","ts":1,"dur":1,"args":{"\xff":"\xed\xa0\x80"}}]' \
        '[{"ph":"X","name":"a\\u0000b","cat":"\xff\\"","ts":1,"dur":1,"pid":"\xff","tid":"\\t"}]' \
        '{"\xff\\"\\u0001":"\xff\x01","traceEvents":[]}'; do
        whole 0 "$text"
    done
    all_made_are_json
}

@test "a trace without events is a trace, an object without traceEvents is not" {
    printf '{"traceEvents":[]}' >empty.json
    run -0 "$gputrace" convert empty.json made.json
    assert_output --partial '0 events in'
    printf '{"events":[]}' >other.json
    run -1 "$gputrace" convert other.json other.pftrace
    assert_output "gputrace: 'other.json' is JSON but not a trace: expected the key \"traceEvents\""
}

# What is large, as a .gz.
packed() { # STATUS
    gzip -1 >large.json.gz
    both "$1" large.json.gz
}

# bats test_tags=long
@test "report and convert have the same limits, in bounded memory" {
    local event='{"ph":"X","name":"k","ts":1,"dur":1,"pid":0,"tid":7}'
    { printf '[{"name": "' && head -c 300M /dev/zero | tr '\0' x; } | packed 1
    { printf '{"%s' "$event" && head -c 300M /dev/zero | tr '\0' x; } | packed 1
    { printf '{"traceEvents":[],"a":[1'; yes ',1' | head -n 7000000 | tr -d '\n'; printf ']}'; } | packed 1
    { printf '['; yes "$event," | head -n 500000; printf '{}]'; } | packed 0
    { printf '['; yes '{"ph":"b","cat":"c","id":1,"name":"k","ts":1},' | head -n 500000; printf '{}]'; } | packed 0
    { printf '{"traceEvents":[{"ph":"X","ts":1,"dur":1,"name":"' && head -c 8M /dev/zero | tr '\0' x && printf '"}]}'; } | packed 0
    { printf '{"traceEvents":[{"ph":"X","ts":1,"dur":1,"name":"' && head -c 17M /dev/zero | tr '\0' x && printf '"}]}'; } | packed 1
    { printf '[%s' "${event%\}},\"args\":{\"a\":" && head -c 500 /dev/zero | tr '\0' '[' && head -c 500 /dev/zero | tr '\0' ']' && printf '}}]'; } | packed 0
    { printf '[%s' "${event%\}},\"args\":{\"a\":" && head -c 600 /dev/zero | tr '\0' '[' && head -c 600 /dev/zero | tr '\0' ']' && printf '}}]'; } | packed 1
    printf '[%s]' "$event" | gzip | head -c 30 >large.json.gz
    both 1 large.json.gz
    all_made_are_json
}

# bats test_tags=long
@test "ranges that are begun and never ended are left out beyond 64 MiB of them" {
    awk 'BEGIN { printf "["; for (i = 0; i < 900000; i++) printf "{\"ph\":\"b\",\"cat\":\"c\",\"id\":%d,\"name\":\"k\",\"ts\":1},\n", i; print "{}]" }' >begun.json
    both 0 begun.json
    all_made_are_json
    run -0 "$gputrace" convert begun.json other.json
    assert_output --regexp "'begun.json': [0-9]+ ranges are left out, as more than 64 MiB of them are begun and not ended"
    # one that ends makes space for another
    awk 'BEGIN { printf "["; for (i = 0; i < 600000; i++) for (p = 0; p < 2; p++)
        printf "{\"ph\":\"%s\",\"cat\":\"c\",\"id\":%d,\"name\":\"k\",\"ts\":%d,\"pid\":1,\"tid\":1},\n", p ? "e" : "b", i, i + p; print "{}]" }' >ended.json
    run -0 bounded "$gputrace" convert ended.json ended.pftrace
    assert_output --partial '600,000 events in'
    refute_output --partial 'ranges are left out'
}

# Damages each of two traces so often.
mutated() { # COUNT
    mkdir spool
    gzip -dc "$data/h200/vector_add.spool.gz" >spool/1-0.spool
    cp "$data/h200/vector_add.session.json" spool/session.json
    "$gputrace" convert -q spool trace.json
    run -0 python3 "$BATS_TEST_DIRNAME/mutations.py" "$gputrace" trace.json "$1" 1
    run -0 python3 "$BATS_TEST_DIRNAME/mutations.py" "$gputrace" "$data/report/small.json" "$1" 3
}

@test "of 100 random mutations of a trace convert makes valid JSON, or refuses them as report does" {
    mutated 50
}

# bats test_tags=long
@test "of 1500 random mutations of a trace convert makes valid JSON, or refuses them as report does" {
    mutated 750
}

@test "integers and doubles keep their value in every format" {
    cat >numbers.py <<'END'
import json, sys
values = ['0', '1', '-1', '2.5', '9007199254740991', '9007199254740993', '-9007199254740993', '9223372036854775807',
          '-9223372036854775808', '9223372036854775808', '18446744073709551615', '0.1', '1e300', '5e-324', '0.30000000000000004',
          '1.7976931348623157e308', '-0.5', '1e22']
beyond = ['18446744073709551616', '-9223372036854775809', '123456789012345678901234567890', '1e999'] # not of counters: doubles there
names = ['x', 'cbid', 'correlation', 'stream', 'queued', 'bytes', 'grid']

def write(path):
    args = ','.join('"%s":%s' % (name, '%s') for name in names)
    all_args = [args.replace('%s', value) for value in values + beyond]
    all_args.append('"a":[%s],"b":{"c":[[%s]]}' % (','.join(values + beyond), ','.join(values)))
    events = ['{"ph":"X","cat":"%s","name":"n","pid":%d,"tid":7,"ts":%d,"dur":1,"args":{%s}}' % (category, pid, 5 * at, args)
              for category, pid in (('kernel', 0), ('cuda_runtime', 5), ('user_annotation', 5), ('other', 5))
              for at, args in enumerate(all_args)]
    events += ['{"ph":"i","name":"i","pid":5,"tid":7,"ts":%d,"args":{%s}}' % (at, args) for at, args in enumerate(all_args)]
    events += ['{"ph":"C","name":"%s","pid":5,"ts":%d,"args":{"%s":%s}}' % (name, at, name, value)
               for name in ('bytes', 'value', 'other', 'a\\"b') for at, value in enumerate(values)]
    events += ['{"ph":"C","name":"two","pid":5,"ts":%d,"args":{"a":%s,"b":%s}}' % (at, value, value) for at, value in enumerate(values)]
    with open(path, 'w') as file:
        file.write('{"numbers":[%s],"traceEvents":[\n%s\n]}' % (','.join(values + beyond), ',\n'.join(events)))

def read(path):
    trace = json.load(open(path))
    events = [event for event in trace['traceEvents'] if event['ph'] != 'M']
    return trace['numbers'], sorted((event['ph'], event.get('cat', ''), event['name'], event['ts'], repr(sorted(event['args'].items())))
                                    for event in events)

if len(sys.argv) == 2:
    write(sys.argv[1])
else:
    # 2 and 2.0 are the same number
    assert str(read(sys.argv[1])).replace('.0,', ',') == str(read(sys.argv[2])).replace('.0,', ','), 'numbers changed'
END
    python3 numbers.py trace.json
    for format in pftrace pftrace.gz json; do
        run -0 "$gputrace" convert --force trace.json "made.$format"
        refute_output --partial 'left out'
        run -0 "$gputrace" convert --force "made.$format" back.json
        refute_output --partial 'left out'
        python3 numbers.py trace.json back.json
    done
}

# Where each packet of a file ends.
packet_ends() { # TRACE.pftrace
    python3 - "$1" <<'END'
import sys
data, at = open(sys.argv[1], 'rb').read(), 0
while at < len(data):
    size, shift, at = 0, 0, at + 1
    while True:
        size |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            break
    at += size
    print(at)
END
}

@test "a .pftrace that is cut off between two packets is read, with a warning" {
    mkdir spool
    gzip -dc "$data/h200/vector_add.spool.gz" >spool/1-0.spool
    cp "$data/h200/vector_add.session.json" spool/session.json
    "$gputrace" convert -q spool trace.pftrace
    "$gputrace" convert -q spool trace.json
    "$gputrace" convert -q trace.json other.pftrace
    "$gputrace" convert -q spool packed.pftrace.gz
    gzip -dc packed.pftrace.gz >plain.pftrace
    local trace end count=0
    for trace in trace other plain; do
        packet_ends $trace.pftrace | tail -n 20 >ends
        for end in $(head -n -1 ends); do
            head -c "$end" $trace.pftrace >cut.pftrace
            run -0 "$gputrace" convert --force cut.pftrace cut.json
            assert_output --partial "'cut.pftrace' is cut off at byte $end: its last packets are missing"
            run -0 "$gputrace" report -r all cut.pftrace
            assert_output --partial "'cut.pftrace' is cut off at byte $end: its last packets are missing"
            count=$((count + 1))
        done
        run -0 "$gputrace" convert --force $trace.pftrace cut.json
        refute_output --partial 'cut off'
        run -0 "$gputrace" report -r all $trace.pftrace
        refute_output --partial 'cut off'
    done
    [ "$count" -gt 20 ]
    tail -c +7 plain.pftrace | head -c -6 >foreign.pftrace # which announces no last packet
    run -0 "$gputrace" report -r all foreign.pftrace
    refute_output --partial 'cut off'
}

@test "the error about a .gz that is cut off or damaged says so, for every format" {
    local format
    printf '[{"ph":"X","name":"k","ts":1,"dur":1,"pid":0,"tid":7}]' >trace.json
    for format in json.gz pftrace.gz; do
        "$gputrace" convert -q trace.json "trace.$format"
        head -c 11 "trace.$format" >"cut.$format"
        both 1 "cut.$format"
        [[ $stderr == *"'cut.$format' is damaged or cut off: gzip says '"*"; expected a whole .gz file" ]] || fail "$stderr"
    done
}
