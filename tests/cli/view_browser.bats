# gputrace view and Chromium: a page of ui.perfetto.dev gets the file, a page of another origin does not. The page comes
# from a server of this test, `openssl s_server`, which Chromium finds under the names that it asks for.

load common

before_each() {
    unset DISPLAY WAYLAND_DISPLAY SSH_CONNECTION
    browser=$(command -v chromium || command -v google-chrome) || skip "there is no Chromium here: apt install chromium"
    # The port of `gputrace view` is one for the whole machine.
    exec 9>>/tmp/gputrace-test-port-9001.lock
    flock -w 600 9
    {
        echo '{"traceEvents": ['
        seq -f '{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":%.0f,"dur":1},' 3000
        echo '{"ph":"X","cat":"kernel","name":"last","pid":0,"tid":7,"ts":9999,"dur":1}]}'
    } >trace.json
    cat >page.html <<'END'
<!doctype html><title>waiting</title><script>
fetch("http://127.0.0.1:9001/trace.json").then((reply) => reply.json()).then(
    (trace) => { document.title = `${trace.traceEvents.length} events`; },
    (error) => { document.title = `refused: ${error.name}`; });
</script>
END
    openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out certificate.pem -days 2 -subj /CN=test 2>/dev/null
    timeout 200 openssl s_server -accept 127.0.0.1:0 -key key.pem -cert certificate.pem -WWW </dev/null >server 2>&1 3>&- 9>&- &
    server=$!
    eventually grep -q '^ACCEPT ' server
    port=$(sed -n 's/^ACCEPT .*://p' server)
    beside "$gputrace" view --timeout=180 trace.json >out 2>err
    eventually listens
}

listens() { (exec 7<>/dev/tcp/127.0.0.1/9001) 2>/dev/null; }

# The title of the page, once its script is done, as a page of HOST.
title() { # HOST
    HOME=$PWD timeout 120 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$PWD/browser" \
        --disable-background-networking --disable-component-update --no-first-run --ignore-certificate-errors \
        --host-resolver-rules="MAP $1 127.0.0.1:$port" --virtual-time-budget=8000 \
        --dump-dom "https://$1/page.html" 2>browser.log 9>&- | sed -n 's|.*<title>\(.*\)</title>.*|\1|p'
}

@test "a page of ui.perfetto.dev fetches the trace, and that ends view" {
    assert_equal "$(title ui.perfetto.dev)" '3001 events'
    kill "$server"
    ended_with 0
    grep "'trace.json' was fetched" err
}

@test "a page of another origin gets nothing, and view waits on" {
    assert_equal "$(title ui.perfetto.example)" 'refused: TypeError'
    kill "$server"
    kill -0 "$launcher"
    run ! grep fetched err
}
