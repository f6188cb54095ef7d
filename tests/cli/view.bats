# gputrace view: one file, for pages of ui.perfetto.dev alone. Requests are written by hand.

load common

host='Host: 127.0.0.1:9001'
origin='Origin: https://ui.perfetto.dev'

before_each() {
    unset DISPLAY WAYLAND_DISPLAY SSH_CONNECTION
    # The port is one for the whole machine.
    exec 9>>/tmp/gputrace-test-port-9001.lock
    flock -w 600 9
    {
        echo '{"traceEvents": ['
        for ((i = 0; i < 3000; i++)); do
            echo "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":$i,\"dur\":1},"
        done
        echo '{"ph":"X","cat":"kernel","name":"last","pid":0,"tid":7,"ts":9999,"dur":1}]}'
    } >trace.json
}

listens() {
    (exec 7<>/dev/tcp/127.0.0.1/9001) 2>/dev/null
}

# Starts `gputrace view` with these arguments, and waits until it listens.
view() {
    beside "$gputrace" view --timeout=30 "$@" >out 2>err
    eventually listens
}

# Sends a request of these lines, and prints the reply.
request() { # LINE...
    exec 7<>/dev/tcp/127.0.0.1/9001
    printf '%s\r\n' "$@" '' >&7
    cat <&7
    exec 7>&-
}

status() { # LINE...
    request "$@" >replied # whole: a download that breaks off does not count
    head -n 1 replied | tr -d '\r'
}

@test "the file is served whole, with CORS for Perfetto, and that ends it" {
    view trace.json
    request 'GET /trace.json HTTP/1.1' "$host" "$origin" >reply
    ended_with 0
    tr -d '\r' <reply | sed '/^$/q' >head
    assert_equal "$(head -n 1 head)" 'HTTP/1.1 200 OK'
    grep -x 'Access-Control-Allow-Origin: https://ui.perfetto.dev' head
    grep -x "Content-Length: $(stat -c %s trace.json)" head
    run ! grep -i content-encoding head
    tail -c "$(stat -c %s trace.json)" reply | cmp - trace.json
    assert_equal "$(stat -c %s reply)" $(($(stat -c %s trace.json) + $(sed '/^\r$/q' reply | wc -c)))
    assert_equal "$(<out)" 'https://ui.perfetto.dev/#!/?url=http://127.0.0.1:9001/trace.json'
    grep "'trace.json' was fetched" err
    run ! listens
}

@test "a compressed file is served as it is" {
    gzip trace.json
    view trace.json.gz
    request 'GET /trace.json.gz HTTP/1.1' "$host" "$origin" >reply
    ended_with 0
    tail -c "$(stat -c %s trace.json.gz)" reply | cmp - trace.json.gz
}

@test "a large file is served whole to a slow reader" {
    { cat trace.json; head -c 30000000 /dev/zero | tr '\0' ' '; } >large.json
    view large.json
    exec 7<>/dev/tcp/127.0.0.1/9001
    printf '%s\r\n' 'GET /large.json HTTP/1.1' "$host" "$origin" '' >&7
    head -c 1000 <&7 >/dev/null
    waits() { [ "$(state_of "$launcher")" = S ]; } # for its reader
    eventually waits
    cat <&7 >rest
    exec 7>&-
    ended_with 0
    tail -c 1000000 large.json | cmp - <(tail -c 1000000 rest)
}

@test "another origin, host, method or path gets no byte of the file" {
    view trace.json
    assert_equal "$(status 'GET /trace.json HTTP/1.1' "$host")" 'HTTP/1.1 403 Forbidden'
    assert_equal "$(status 'GET /trace.json HTTP/1.1' "$origin")" 'HTTP/1.1 403 Forbidden'
    local bad
    for bad in 'Origin: null' 'Origin: https://evil.example' 'Origin: http://ui.perfetto.dev' 'Origin: https://ui.perfetto.dev.evil.example' \
        'Origin: https://ui.perfetto.dev:443' 'Origin: https://UI.perfetto.dev' 'Origin: https://ui.perfetto.dev/' 'Origin:' \
        'Referer: https://ui.perfetto.dev'; do
        request 'GET /trace.json HTTP/1.1' "$host" "$bad" >reply
        assert_equal "$(head -n 1 reply | tr -d '\r')" 'HTTP/1.1 403 Forbidden'
        run ! grep -ia 'access-control\|kernel' reply
    done
    for bad in 'Host: evil.example:9001' 'Host: localhost:9001' 'Host: 127.0.0.1' 'Host: 127.0.0.1:80' 'Host: 127.0.0.1:9001.evil.example' \
        'Host: [::1]:9001' 'Host:'; do
        request 'GET /trace.json HTTP/1.1' "$bad" "$origin" >reply
        assert_equal "$(head -n 1 reply | tr -d '\r')" 'HTTP/1.1 403 Forbidden'
        run ! grep -ia 'access-control\|kernel' reply
    done
    for bad in POST PUT DELETE PATCH TRACE CONNECT get PROPFIND; do
        assert_equal "$(status "$bad /trace.json HTTP/1.1" "$host" "$origin")" 'HTTP/1.1 403 Forbidden'
    done
    for bad in / /other /trace.json/ //trace.json /trace.json?x /trace.jso /./trace.json /../trace.json /etc/passwd /%74race.json \
        http://127.0.0.1:9001/trace.json /trace.json.gz '*'; do
        request "GET $bad HTTP/1.1" "$host" "$origin" >reply
        assert_equal "$(head -n 1 reply | tr -d '\r')" 'HTTP/1.1 404 Not Found'
        run ! grep -ia 'access-control\|kernel' reply
    done
    # two of a header
    assert_equal "$(status 'GET /trace.json HTTP/1.1' "$host" "$host" "$origin")" 'HTTP/1.1 403 Forbidden'
    assert_equal "$(status 'GET /trace.json HTTP/1.1' "$host" 'Origin: https://evil.example' "$origin")" 'HTTP/1.1 403 Forbidden'
    # it waits for the right one
    kill -0 "$launcher"
    assert_equal "$(status 'GET /trace.json HTTP/1.1' 'hOST:127.0.0.1:9001' 'oRIGIN:   https://ui.perfetto.dev ')" 'HTTP/1.1 200 OK'
    ended_with 0
}

@test "a browser that asks whether it may fetch is answered" {
    view trace.json
    request 'OPTIONS /trace.json HTTP/1.1' "$host" "$origin" 'Access-Control-Request-Method: GET' \
        'Access-Control-Request-Private-Network: true' | tr -d '\r' >reply
    assert_equal "$(head -n 1 reply)" 'HTTP/1.1 204 No Content'
    grep -x 'Access-Control-Allow-Origin: https://ui.perfetto.dev' reply
    grep -x 'Access-Control-Allow-Methods: GET, HEAD' reply
    grep -x 'Access-Control-Allow-Private-Network: true' reply
    request 'OPTIONS /trace.json HTTP/1.1' "$host" "$origin" 'Access-Control-Request-Method: GET' | tr -d '\r' >reply
    run ! grep Private-Network reply
    assert_equal "$(status 'OPTIONS /trace.json HTTP/1.1' "$host" "$origin" 'Access-Control-Request-Method: PUT')" 'HTTP/1.1 403 Forbidden'
    assert_equal "$(status 'OPTIONS /trace.json HTTP/1.1' "$host" 'Origin: https://evil.example' 'Access-Control-Request-Method: GET')" \
        'HTTP/1.1 403 Forbidden'
    kill -0 "$launcher"
}

@test "HEAD has the length, no byte of the file, and ends nothing" {
    view trace.json
    request 'HEAD /trace.json HTTP/1.1' "$host" "$origin" | tr -d '\r' >reply
    assert_equal "$(head -n 1 reply)" 'HTTP/1.1 200 OK'
    grep -x "Content-Length: $(stat -c %s trace.json)" reply
    run ! grep kernel reply
    kill -0 "$launcher"
}

@test "what is not HTTP gets an error and does no harm" {
    view trace.json
    local bad
    for bad in '' 'GET' 'GET /trace.json' 'GET /trace.json HTTP/2' 'GET  /trace.json HTTP/1.1' $'GET /trace.json\tHTTP/1.1' ' GET /trace.json HTTP/1.1'; do
        assert_equal "$(status "$bad" "$host" "$origin")" 'HTTP/1.1 400 Bad Request'
    done
    assert_equal "$(status 'GET /trace.json HTTP/1.1' "$host" " $origin")" 'HTTP/1.1 400 Bad Request'
    assert_equal "$(status 'GET /trace.json HTTP/1.1' "$host" 'Origin : https://ui.perfetto.dev')" 'HTTP/1.1 400 Bad Request'
    assert_equal "$(status 'GET /trace.json HTTP/1.1' "$host" "$origin" 'no header')" 'HTTP/1.1 400 Bad Request'
    assert_equal "$(status 'GET /trace.json HTTP/1.1' "$host" "$origin" $'X: a\rb')" 'HTTP/1.1 400 Bad Request'
    # more than any browser sends
    assert_equal "$(status 'GET /trace.json HTTP/1.1' "$host" "X: $(printf '%9000s' x)")" 'HTTP/1.1 400 Bad Request'
    head -c 100000 /dev/urandom >noise
    (exec 7<>/dev/tcp/127.0.0.1/9001 && cat noise >&7) 2>/dev/null || true
    kill -0 "$launcher"
    assert_equal "$(status 'GET /trace.json HTTP/1.1' "$host" "$origin")" 'HTTP/1.1 200 OK'
    ended_with 0
}

@test "clients that say nothing, or take nothing, do not block others" {
    { cat trace.json; head -c 30000000 /dev/zero | tr '\0' ' '; } >large.json
    view large.json
    local fd idle=()
    for ((i = 0; i < 40; i++)); do
        exec {fd}<>/dev/tcp/127.0.0.1/9001
        idle+=("$fd")
    done
    exec 8<>/dev/tcp/127.0.0.1/9001
    printf '%s\r\n' 'GET /large.json HTTP/1.1' "$host" "$origin" '' >&8 # and never reads
    request 'GET /large.json HTTP/1.1' "$host" "$origin" | wc -c >size
    [ "$(<size)" -gt 30000000 ]
    exec 8>&-
    for fd in "${idle[@]}"; do
        exec {fd}>&-
    done
    ended_with 0
}

@test "a download that breaks off does not count" {
    { cat trace.json; head -c 30000000 /dev/zero | tr '\0' ' '; } >large.json
    view large.json
    exec 7<>/dev/tcp/127.0.0.1/9001
    printf '%s\r\n' 'GET /large.json HTTP/1.1' "$host" "$origin" '' >&7
    head -c 1000 <&7 >/dev/null
    exec 7>&-
    request 'GET /large.json HTTP/1.1' "$host" "$origin" | wc -c >size
    [ "$(<size)" -gt 30000000 ]
    ended_with 0
}

@test "a file that another one replaces is still the one that was opened" {
    view trace.json
    cp trace.json before.json
    echo '{"other": 1}' >new.json
    mv new.json trace.json
    request 'GET /trace.json HTTP/1.1' "$host" "$origin" >reply
    ended_with 0
    tail -c "$(stat -c %s before.json)" reply | cmp - before.json
}

@test "nothing fetched in time is an error" {
    run -1 timeout 20 "$gputrace" view --timeout=0.3 trace.json
    assert_line --partial "gputrace: nothing fetched 'trace.json' within 0.3 s: --timeout waits longer. The browser must allow ui.perfetto.dev"
    assert_line --regexp "^gputrace: nothing .*; without it: gputrace report --html=page.html '?trace.json'?$"
}

@test "what a browser needs is said before it is missed: the permission, and the internet" {
    view trace.json
    grep 'if the browser asks whether ui.perfetto.dev may access this device or the local network, allow it' err
    grep -E "where there is none: gputrace report --html=page.html '?trace.json'?$" err
}

@test "a port that is in use is an error" {
    view trace.json
    run -1 "$gputrace" view trace.json
    assert_output "gputrace: port 9001 is in use, and ui.perfetto.dev fetches from no other: end the program that uses it, perhaps another 'gputrace view'"
    kill -0 "$launcher"
}

@test "only this machine can connect" {
    view trace.json
    # 0x2329 is 9001, 0100007F is 127.0.0.1; state 0A listens
    assert_equal "$(awk '$2 ~ /:2329$/ && $4 == "0A" { print $2 }' /proc/net/tcp)" '0100007F:2329'
    if [ -e /proc/net/tcp6 ]; then
        assert_equal "$(awk '$2 ~ /:2329$/ && $4 == "0A"' /proc/net/tcp6)" ''
    fi
}

@test "with a desktop the link is opened, over ssh the tunnel is printed" {
    mkdir bin
    script bin/xdg-open "echo \"\$*\" >'$PWD/opened'"
    export PATH=$PWD/bin:$PATH
    DISPLAY=:7 view trace.json
    eventually [ -s opened ]
    assert_equal "$(<opened)" 'https://ui.perfetto.dev/#!/?url=http://127.0.0.1:9001/trace.json'
    eventually grep -q "'trace.json' opens in the browser" err
    request 'GET /trace.json HTTP/1.1' "$host" "$origin" >/dev/null
    ended_with 0
    rm opened
    run -1 timeout 20 env WAYLAND_DISPLAY=wayland-0 "$gputrace" view --timeout=0.5 trace.json
    eventually [ -s opened ]
    rm opened
    run --separate-stderr -1 timeout 20 env DISPLAY=:7 SSH_CONNECTION='10.0.0.1 5 10.0.0.2 22' "$gputrace" view --timeout=0.5 trace.json
    assert_equal "$output" "ssh -L 9001:127.0.0.1:9001 $(uname -n)
https://ui.perfetto.dev/#!/?url=http://127.0.0.1:9001/trace.json"
    [ ! -e opened ]
    # a desktop without xdg-open
    rm bin/xdg-open
    run --separate-stderr -1 env PATH="$PWD/bin" DISPLAY=:7 "$gputrace" view --timeout=0.2 trace.json
    assert_equal "$output" 'https://ui.perfetto.dev/#!/?url=http://127.0.0.1:9001/trace.json'
}

@test "a name with other characters gets a plain one in the link" {
    mkdir 'a folder'
    cp trace.json 'a folder/träce #1&x.json'
    view 'a folder/träce #1&x.json'
    assert_equal "$(<out)" 'https://ui.perfetto.dev/#!/?url=http://127.0.0.1:9001/tr__ce__1_x.json'
    assert_equal "$(status 'GET /tr__ce__1_x.json HTTP/1.1' "$host" "$origin")" 'HTTP/1.1 200 OK'
    ended_with 0
}

@test "what is too large for a browser must be cut" {
    printf '{"traceEvents": []}' >big.json
    truncate -s 5G big.json
    run -1 "$gputrace" view big.json
    assert_output "gputrace: 'big.json' is too large for a browser: 5.37 GB, of 1.8 GB at most. Cut a part out, and view that: gputrace cut 'big.json' -o part.pftrace --to=30%"
    run ! listens
    # what a file becomes counts, not its size
    head -c 100000000 /dev/zero | gzip -1 >part.gz
    { gzip -1 <trace.json; for ((i = 0; i < 21; i++)); do cat part.gz; done; } >big.json.gz
    [ "$(stat -c %s big.json.gz)" -lt 20000000 ]
    run -1 "$gputrace" view big.json.gz
    assert_output --partial "'big.json.gz' is too large for a browser: 2."
    assert_output --partial "gputrace cut 'big.json.gz' -o part.pftrace --to=7"
    "$gputrace" convert -q trace.json trace.pftrace
    truncate -s 260M trace.pftrace
    run -1 "$gputrace" view trace.pftrace
    assert_output --partial 'too large for a browser: 0.273 GB, of 0.25 GB at most'
}

@test "a .pftrace is served" {
    "$gputrace" convert -q trace.json trace.pftrace
    view trace.pftrace
    request 'GET /trace.pftrace HTTP/1.1' "$host" "$origin" >reply
    ended_with 0
    tail -c "$(stat -c %s trace.pftrace)" reply | cmp - trace.pftrace
}

@test "what is not a trace, is not there or cannot be read is an error" {
    echo hello >text
    run -1 "$gputrace" view text
    assert_output "gputrace: 'text' is not a trace: expected JSON or a .pftrace, plain or gzip"
    : >empty
    run -1 "$gputrace" view empty
    run -1 "$gputrace" view missing
    assert_output "gputrace: cannot open 'missing': No such file or directory"
    mkdir folder
    run -1 "$gputrace" view folder
    mkfifo pipe
    run -1 timeout 10 "$gputrace" view pipe
    assert_output "gputrace: cannot view 'pipe': a file is needed"
    mkdir spool
    gzip -dc "$root/tests/data/h200/vector_add.spool.gz" >spool/1-0.spool
    run -1 "$gputrace" view spool
    assert_output --partial "write its trace first, with 'gputrace convert spool trace.pftrace'"
    mkdir none
    cd none
    run -2 "$gputrace" view
    cd ..
    run -2 "$gputrace" view a b
    run -2 "$gputrace" view --timeout=x trace.json
}
