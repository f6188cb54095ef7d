# The snippets of README.md and of the man pages' EXAMPLES: extracted, sorted by what they are, and run.
#
# examples_extract makes a file of each block, named DOCUMENT:LINE. examples_run runs the blocks of one document in order,
# in one directory, as a reader would; a block that is of no known sort is a failure. What a reader has and we have not is
# put in its place: ./app is a sample, /usr/local is the build folder, torchrun and srun start two processes, ranks 0 and 7 of a job have
# left traces, and xdg-open opens nothing; python runs ./app too, unless examples_python says that it is the real one.
# shellcheck shell=bash

# README.md: what is indented by four blanks or fenced, but for text, which shows what another machine printed. Man pages: literal displays below EXAMPLES.
examples_extract() { # DOCUMENT DIRECTORY
    awk -v name="$2/${1##*/}" '
        function add(text) {
            if (!block) block = sprintf("%s:%03d", name, NR)
            print text >block
        }
        function finish() { if (block) close(block); block = "" }
        FILENAME ~ /\.md$/ && /^```/ { fenced = !fenced; shown = fenced && /^```text$/; finish(); next }
        FILENAME ~ /\.md$/ { if (fenced && !shown) add($0); else if (fenced) next; else if (/^    /) add(substr($0, 5)); else finish(); next }
        /^\.Sh/ { examples = $2 == "EXAMPLES" }
        examples && /^\.Dl/ { add(substr($0, 5)); finish() }
        examples && /^\.Bd/ { literal = 1; next }
        /^\.Ed/ { literal = 0; finish() }
        literal { gsub(/\\&/, ""); gsub(/\\e/, "\\"); add($0) }' "$1"
}

examples_sort_of() { # BLOCK
    if ! grep -qvE '^((make|gputrace|torchrun|mpirun|srun) |(pip install|tar xf|apt install) (\./)?gputrace[-_]\*)' "$1"; then
        echo commands
    elif head -n 1 "$1" | grep -q '^\$ '; then
        echo session
    elif ! grep -qvE '^(gputrace: |    )' "$1"; then
        echo output
    elif grep -q 'torch\.cuda' "$1"; then
        echo python
    elif grep -qE '(;|^}|^\.\.\.)$' "$1"; then
        echo c
    else
        echo unknown
    fi
}

# --- where they run ---

examples_prepare() {
    mkdir -p bin there/tmp && cd there || return
    export TMPDIR=$PWD/tmp PATH=$BATS_TEST_TMPDIR/bin:$PATH C_INCLUDE_PATH=$root/include
    ln -s "$gputrace" ../bin/gputrace
    # What is allocated at 1.5 s can be asked for.
    script app "'$samples/leaks' >/dev/null" 'sleep 1.6' "exec '$samples/vector_add' >/dev/null"
    script ../bin/python "exec '$samples/vector_add' >/dev/null"
    script ../bin/xdg-open 'exit 0'
    script ../bin/torchrun 'while [ "$1" != gputrace ] && [ "$1" != train.py ]; do shift; done' \
        "[ \$1 = gputrace ] || set -- python" 'RANK=0 "$@" && RANK=1 "$@"'
    script ../bin/srun 'while [ "$1" != gputrace ]; do shift; done' 'SLURM_PROCID=0 "$@" && SLURM_PROCID=8 "$@"'
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
    "$gputrace" run -q -o trace.json.gz ./app
    gzip -dc trace.json.gz >trace.json
    mkdir traces
    for rank in 0 7; do
        RANK=$rank WORLD_SIZE=8 "$gputrace" run -q -o rank%r.pftrace ./app
        cp "rank$rank.pftrace" traces
    done
}

examples_python() { # COMMAND...
    script ../bin/python "exec $* \"\$@\""
    cp "$root/samples/train.py" .
}

examples_run() { # BLOCK...
    local block sort
    for block; do
        sort=$(examples_sort_of "$block")
        echo "${block##*/}: $sort" # printed if the test fails
        case $sort in
        commands | session) examples_session "$block" ;;
        output) examples_output "$block" ;;
        python) examples_torch "$block" ;;
        c) examples_c "$block" ;;
        *) fail "${block##*/}: there is no way to run this: $(cat "$block")" ;;
        esac || fail "${block##*/} fails"
    done
}

# --- commands, and what they print ---

examples_session() { # BLOCK
    local line command='' expected=$BATS_TEST_TMPDIR/expected
    : >"$expected" && : >"$BATS_TEST_TMPDIR/printed"
    while IFS= read -r line; do
        if [ -n "$command" ]; then
            command=$command$'\n'$line
        elif [[ $line =~ ^(\$ )?((make|gputrace|cc|torchrun|mpirun|srun|xdg-open|pip|tar|apt)\ .*)$ ]]; then
            examples_printed "$expected" || return
            : >"$expected"
            command=${BASH_REMATCH[2]}
        elif [[ $line == '$ '* ]]; then
            fail "nobody knows how to run '$line'" || return
        else
            printf '%s\n' "$line" >>"$expected"
        fi
        [ -n "$command" ] && [[ $command != *\\ ]] || continue
        examples_command "$command" >"$BATS_TEST_TMPDIR/printed" 2>&1 || {
            echo "'$command' fails: $(cat "$BATS_TEST_TMPDIR/printed")"
            return 1
        }
        command=''
    done <"$1"
    examples_printed "$expected"
}

# shellcheck disable=SC2001 # more than a fixed text is replaced
examples_command() { # COMMAND
    local command=${1%%  #*} left source
    case $command in
    make\ *) # not within the tests that it would run
        # shellcheck disable=SC2086 # targets and variables
        env -u MAKEFLAGS -u MAKELEVEL make -n -C "$root" ${command#make } 2>&1
        return
        ;;
    pip\ * | tar\ * | apt\ *) # tests/packaging installs what the Makefile calls so
        grep -qF "$(awk '{ print $3 }' <<<"$command" | sed 's/^\.\///; s/\*.*//')" "$root/src/packaging/packaging.mk" "$root/tests/packaging/roots"
        return
        ;;
    *gputrace\ recover* | */tmp/gputrace-*)
        [ -n "$(find "$TMPDIR" -maxdepth 1 -name 'gputrace-*')" ] || "$gputrace" run -q --keep-spool ./app --steps 20
        left=$(find "$TMPDIR" -maxdepth 1 -name 'gputrace-*')
        command=$(sed -E "s|/tmp/gputrace-[A-Za-z0-9]+|$left|" <<<"$command")
        ;;
    *gputrace\ view*)
        examples_view "$command"
        return
        ;;
    cc\ *) # the source is the last C snippet before it
        source=$(grep -oE '[a-z_]+\.c\b' <<<"$command")
        [ -e "$source" ] || cp "$BATS_TEST_TMPDIR/last.c" "$source"
        ;;
    esac
    timeout 120 bash -c "$command"
}

# Fetches what `gputrace view` serves, as the browser would. The port is one for the whole machine.
examples_view() { # COMMAND
    env -u DISPLAY -u WAYLAND_DISPLAY -u SSH_CONNECTION timeout 600 flock /tmp/gputrace-test-port-9001.lock bash -c "
        $1 &
        until exec 7<>/dev/tcp/127.0.0.1/9001; do sleep 0.1; done 2>/dev/null
        printf '%s\r\n' 'GET /trace.json HTTP/1.1' 'Host: 127.0.0.1:9001' 'Origin: https://ui.perfetto.dev' '' >&7
        cat <&7 >/dev/null
        wait \$!"
}

# Messages, one a line: what was wrapped is joined, frames of call stacks are left out, numbers and names become N and X.
examples_messages() {
    grep -vE '^ +[^ ].*  +[^ ]+:[0-9]+$' | awk '
        /^    / { sub(/^ +/, ""); printf " %s", $0; next }
        { printf "%s%s", (NR > 1 ? "\n" : ""), $0 }
        END { print "" }' | sed -E "
        s/0x[0-9a-f]+/N/g; s|[^ ]*/gputrace-[A-Za-z0-9]+|DIRECTORY|g; s/'[^']*'/X/g
        s/ \(process [0-9]+\)//; s/[0-9][0-9.,]*/N/g; s/N [kMG]?B\b/N B/g; s/\b(event|hazard|operation|stream|allocation)s\b/\1/g"
}

# Fails unless each message of a file is in what the last command printed, or begins a message there.
examples_printed() { # FILE
    local message
    examples_messages <"$BATS_TEST_TMPDIR/printed" >"$BATS_TEST_TMPDIR/messages"
    while IFS= read -r message; do
        [ -z "$message" ] || awk -v start="$message" 'index($0, start) == 1 { found = 1 } END { exit !found }' \
            "$BATS_TEST_TMPDIR/messages" || { echo "not printed: $message" && return 1; }
    done < <(examples_messages <"$1")
}

# Output without the command that printed it: of a race, or of any run.
examples_output() { # BLOCK
    "$gputrace" run --plugin=hazards -o output.json.gz "$samples/races" copy-copy >"$BATS_TEST_TMPDIR/printed" 2>&1 &&
        examples_printed "$1"
}

# --- C and Python ---

examples_c() { # BLOCK
    local body=body rest=rest main=
    cp "$1" "$BATS_TEST_TMPDIR/last.c"
    : >$body
    if grep -qx '\.\.\.' "$1"; then
        sed '/^\.\.\.$/,$d' "$1" >$rest
        sed '1,/^\.\.\.$/d' "$1" >$body
    elif grep -q '^}' "$1"; then
        cp "$1" $rest
        main=$(sed -nE 's/^void ([a-z_]+)\(void\)$/\1();/p' "$1" | tail -n 1)
    else
        grep '^#' "$1" >$rest || true
        grep -v '^#' "$1" >$body
    fi
    # What snippets leave to the reader.
    printf '%s\n' 'void the_part(void) {}' 'void warm_up(void) {}' 'void the_part_that_matters(void) {}' 'void *stream;' \
        'int cudaDeviceSynchronize(void) { return 0; }' 'void forward(void *s) { (void)s; }' \
        'void backward(void *s) { (void)s; }' >reader.c
    {
        printf '#include <%s>\n' stdio.h gputrace/allocator.h gputrace/gputrace.h
        sed -E 's/ \{.*/;/; s/^void \*/extern &/' reader.c
        cat $rest
        echo "int main(void) { $main"
        cat $body
        echo 'return 0; }'
    } >snippet.c
    # Functions that a plugin defines have no caller here.
    gcc -std=c11 -Wall -Werror -Wno-unused-function -o snippet snippet.c reader.c -L"$build" -lgputrace-allocator \
        -Wl,-rpath,"$build" -ldl -pthread && timeout 60 "$gputrace" run -q -o snippet.json ./snippet
}

examples_torch() { # BLOCK
    sed "s|/usr/local/lib/|$build/|" "$1" >snippet.py
    grep -q "$build/libgputrace-allocator.so" snippet.py || fail "it loads no library of ours" || return
    echo 'torch.ones(1000, device="cuda")' >>snippet.py
    timeout 120 python3 snippet.py
}
