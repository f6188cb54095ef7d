# gputrace run --plugin, and what gputrace-callbacks(3) promises to plugins and programs.

load common

# A plugin of these lines of C, after the header.
plugin() { # NAME LINE...
    local name=$1
    shift
    printf '%s\n' '#include <gputrace/callbacks.h>' '#include <stdio.h>' 'static const struct gputrace_host *us;' "$@" >"$name.c"
    cc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -shared -fPIC -I"$root/include" -o "$name.so" "$name.c"
}

# A program of the C on stdin, which uses NVTX and needs no GPU.
program() { # NAME
    cc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -g -I"$root/include" -isystem "${CUDA_HOME:-/usr/local/cuda}/include" \
        -pthread -o "$1" -x c - -ldl
    [ -n "${sanitizer-}" ] || return 0
    mv "$1" "$1.bare"
    script "$1" "LD_PRELOAD=$sanitizer exec '$PWD/$1.bare' \"\$@\""
}

# A plugin that says its name at the first mark.
says() { # NAME
    plugin "$1" 'static void marked(void *data, const struct gputrace_nvtx *what)' \
        '{ (void)what; gputrace_line(us, 0, data); }' \
        'static int start(const struct gputrace_host *host)' \
        "{ us = host; return gputrace_nvtx_mark_register(host, marked, \"$1 was called\") ? 0 : -1; }" \
        "GPUTRACE_PLUGIN(\"$1\", start);"
}

marking_program() {
    program marks <<<'
        #include <nvtx3/nvToolsExt.h>
        int main(int argc, char **argv) { for (int i = 1; i < argc; i++) nvtxMarkA(argv[i]); return 0; }'
}

# --- the option ---

@test "a missing plugin ends run before the program starts, with the places that were searched" {
    script app 'touch started'
    run -125 "$gputrace" run --plugin=nothing ./app
    assert_line --partial "gputrace: no plugin 'nothing': looked for '"
    for place in "$build/gputrace/" "$build/samples/plugins/" ./; do
        assert_line --partial "'${place}nothing.so', '${place}nothing'"
    done
    run -125 "$gputrace" run --plugin=./nothing.so,key=value ./app
    assert_output "gputrace: --plugin: './nothing.so': No such file or directory"
    mkdir folder
    run -125 "$gputrace" run --plugin=./folder ./app
    assert_output "gputrace: --plugin: './folder': Is a directory"
    [ ! -e started ]
}

@test "a plugin that cannot be named ends run" {
    run -125 "$gputrace" run --plugin= true
    assert_output "gputrace: --plugin: '' has no file name"
    run -125 "$gputrace" run --plugin=,key=value true
    assert_output --partial 'has no file name'
    run -125 "$gputrace" run --plugin="calls,key=two
lines" true
    assert_line --partial "contains a line break"
    run -125 "$gputrace" run --plugin
    assert_output --partial "'--plugin' needs an argument"
}

@test "a plugin whose name is mistyped gets a suggestion" {
    run -125 "$gputrace" run --plugin=leak touch started
    assert_output --partial "gputrace: no plugin 'leak': did you mean 'leaks'? Looked for '"
    [ ! -e started ]
}

@test "a setting that a plugin does not have ends run before the program starts, and names those it has" {
    run -125 "$gputrace" run --plugin=leaks,top=5,foo=1 touch started
    assert_output "gputrace: plugin 'leaks' has no setting 'foo': it takes least, top, stacks"
    run -125 "$gputrace" run --plugin=hazards,barier=x touch started
    assert_output "gputrace: plugin 'hazards' has no setting 'barier': did you mean 'barrier'? It takes top, stacks, barrier"
    run -125 "$gputrace" run --plugin=calls,files touch started
    assert_output --partial "has no setting 'files'"
    run -125 "$gputrace" run --plugin=empty,key touch started
    assert_output "gputrace: plugin 'empty' has no setting 'key': it takes none"
    [ ! -e started ]
    run -0 "$gputrace" run --plugin=leaks,top=5,stacks=no,least=1K --plugin=hazards,top=1,stacks=no,barrier=x --plugin=calls,file=x true
}

@test "a plugin that does not declare its settings gets them as written" {
    marking_program
    says mine
    run -0 "$gputrace" run --plugin=./mine.so,any=thing ./marks x
    assert_line 'gputrace: mine: mine was called'
}

@test "the settings that the plugins name are those of their manuals" {
    local plugin
    for plugin in leaks hazards; do
        run -125 "$gputrace" run --plugin="$plugin,=x,nosuch" true
        assert_equal "$(sed 's/.*[iI]t takes //' <<<"$output" | tr -d ' ' | tr ',' '\n' | sort)" \
            "$(sed -n '/^The settings are:/,$s/^\.It Cm \([a-z]*\) Ns = .*/\1/p' "$root/man/gputrace-$plugin.7" | sort)"
    done
}

@test "a plugin is found by its name among gputrace's own and in this directory, and by its path" {
    marking_program
    says mine
    "$gputrace" run --plugin=mine --plugin=calls -o named.json ./marks x
    jq -e '[.gputrace.plugins[].name] == ["mine", "calls"]' named.json
    mkdir -p elsewhere
    mv mine.so elsewhere/other
    run -0 "$gputrace" run --plugin=elsewhere/other ./marks x
    assert_line 'gputrace: mine: mine was called'
}

@test "the path of a plugin does not depend on the program's directory" {
    marking_program
    says mine
    # shellcheck disable=SC2016 # the program's shell expands it
    script app 'cd / && exec "$OLDPWD/marks" x'
    run -0 "$gputrace" run --plugin=./mine.so ./app
    assert_line 'gputrace: mine: mine was called'
}

@test "the plugins and their settings are noted in the trace" {
    "$gputrace" run --plugin=calls,file=counts.txt "$samples/nvtx"
    jq -e --arg plugin "$build/samples/plugins/calls.so,file=counts.txt" '.gputrace.options.plugins == [$plugin]' trace.json
}

# --- plugins that cannot be used: reported, and the program goes on ---

left_out() { # FILE WHY
    marking_program
    run -0 "$gputrace" run --plugin="./$1" ./marks x
    assert_line --partial "gputrace: warning: plugin '$BATS_TEST_TMPDIR/$1' is left out: "
    assert_line --partial "$2"
    refute_line --partial 'was called'
    jq -e --arg why "$2" '[.gputrace.notes[] | tostring | select(contains($why))] | length == 1' trace.json
    [ "$(jq '[.traceEvents[] | select(.ph == "i" and .name == "x")] | length' trace.json)" -eq 1 ]
}

@test "a plugin of another version is refused, with both versions and the way out" {
    sed 's/^#define GPUTRACE_CALLBACKS_VERSION .*/#define GPUTRACE_CALLBACKS_VERSION 3u/' \
        "$root/include/gputrace/callbacks.h" >newer.h
    cat newer.h - >newer.c <<<'
        static int start(const struct gputrace_host *host) { (void)host; return 0; }
        GPUTRACE_PLUGIN("newer", start);'
    cc -shared -fPIC -o newer.so newer.c
    left_out newer.so "built for version 3 of gputrace's callbacks, and this gputrace ($(sed -n 's/^VERSION := //p' "$root/Makefile")) has version 2: build it anew"
}

@test "a file that is not a library is rejected with the loader's message" {
    echo 'no library' >text.so
    left_out text.so 'file too short'
}

@test "a library that is not a plugin is rejected" {
    echo 'int nothing;' | cc -shared -fPIC -x c - -o none.so
    left_out none.so "it has no 'gputrace_plugin'"
}

@test "a plugin whose start fails is left out, and its message is printed" {
    plugin fails 'static void marked(void *data, const struct gputrace_nvtx *what)' \
        '{ (void)data, (void)what; gputrace_line(us, 0, "fails was called"); }' \
        'static int start(const struct gputrace_host *host)' \
        '{ us = host; gputrace_nvtx_mark_register(host, marked, NULL); gputrace_line(us, 0, "this is why"); return 3; }' \
        'GPUTRACE_PLUGIN("fails", start);'
    left_out fails.so 'its start failed with 3'
    assert_line 'gputrace: fails: this is why'
}

# --- plugins that were built with another edition of the header ---

# A plugin of the C on stdin, with the header as the sed SCRIPT makes it.
edition() { # NAME SCRIPT
    mkdir -p "$1/gputrace"
    sed "$2" "$root/include/gputrace/callbacks.h" >"$1/gputrace/callbacks.h"
    cmp -s "$1/gputrace/callbacks.h" "$root/include/gputrace/callbacks.h" && return 1
    cc -std=c11 -D_GNU_SOURCE -Wall -Werror -shared -fPIC -I"$1" -o "$1.so" -x c - <<<"
        #include <gputrace/callbacks.h>
        #include <stdio.h>
        static const struct gputrace_host *us;
        static void marked(void *data, const struct gputrace_nvtx *what) {
            char text[100];
            (void)data;
            snprintf(text, sizeof(text), \"%.*s, %s: $3\", (int)what->message.length, what->message.bytes,
                     what->call.size == sizeof(*what)  ? \"the same\"
                     : what->call.size < sizeof(*what) ? \"longer\"
                                                       : \"shorter\", $4);
            gputrace_line(us, 0, text);
        }
        static int start(const struct gputrace_host *host)
        { us = host; return gputrace_nvtx_mark_register(host, marked, NULL) ? 0 : -1; }
        GPUTRACE_PLUGIN(\"$1\", start);"
}

@test "plugins that were built with shorter and with longer structs are called, and see which members are there" {
    marking_program
    edition earlier '/struct gputrace_text domain_name;/d' 'message %d' 'GPUTRACE_HAS(what, message)'
    edition later 's/.*struct gputrace_text domain_name;.*/&\n    uint64_t later[2];/
        s/int (.start)(const struct gputrace_host .host);/&\n    int (*later)(void);/
        s/X(process_end) .*/X(process_end) X(later)/
        s/^struct gputrace_process_end {/struct gputrace_later { struct gputrace_call call; };\n&/' \
        'domain %d, later %d, kind %d' \
        'GPUTRACE_HAS(what, domain_name), GPUTRACE_HAS(what, later), gputrace_later_register(us, NULL, NULL) != 0'
    run -0 "$gputrace" run --plugin=./earlier.so --plugin=./later.so ./marks x
    assert_line 'gputrace: earlier: x, shorter: message 1'
    assert_line 'gputrace: later: x, longer: domain 1, later 0, kind 0'
}

# --- what plugins can do ---

@test "plugins are called in the order of the command line" {
    marking_program
    says one
    says two
    run -0 "$gputrace" run --plugin=./two.so --plugin=./one.so ./marks x
    assert_equal "$(grep -o '[a-z]* was called' <<<"$output" | paste -sd,)" 'two was called,one was called'
    jq -e '[.gputrace.plugins[] | [.name, .calls]] == [["two", 1], ["one", 1]]' trace.json
    jq -e '[.gputrace.plugins[].time_ns] | all(. > 0)' trace.json
}

@test "slices, instants and counters are on rows of the plugin's own, lines at the end and in the trace" {
    plugin mine 'static void marked(void *data, const struct gputrace_nvtx *what)' \
        '{ (void)data; uint64_t at = what->call.start; gputrace_slice(us, "slice", at, at + 5000, "detail");' \
        'gputrace_instant(us, "instant", at, NULL); gputrace_counter(us, "counter", at, 2.5);' \
        'gputrace_line(us, 0, gputrace_setting(us, "say")); }' \
        'static int start(const struct gputrace_host *host)' \
        '{ us = host; return gputrace_nvtx_mark_register(host, marked, NULL) ? 0 : -1; }' 'GPUTRACE_PLUGIN("mine", start);'
    marking_program
    run -0 "$gputrace" run --plugin='./mine.so,say=it is said' ./marks x
    assert_line 'gputrace: mine: it is said'
    jq -e '.gputrace.plugins[0].lines[0].text == "it is said"' trace.json
    jq -e '(.traceEvents[] | select(.ph == "M" and .name == "thread_name" and .args.name == "plugin mine").tid) as $row |
        [.traceEvents[] | select(.tid == $row and .ph != "M" and .cat == "plugin") | [.ph, .name, .dur // 0]] | sort ==
        [["X", "slice", 5], ["i", "instant", 0]]' trace.json
    jq -e '[.traceEvents[] | select(.ph == "C" and .name == "mine: counter").args.value] == [2.5]' trace.json
    jq -e '[.traceEvents[] | select(.name == "slice").args.detail] == ["detail"]' trace.json
    "$check_trace" --strict trace.json
}

@test "a line's stack leads from the call into the program" {
    plugin mine 'static void allocated(void *data, const struct gputrace_memory_allocation *what)' \
        '{ (void)data, (void)what; gputrace_line(us, gputrace_stack(us, 0), "an allocation"); }' \
        'static int start(const struct gputrace_host *host)' \
        '{ us = host; return gputrace_memory_allocation_register(host, allocated, NULL) ? 0 : -1; }' \
        'GPUTRACE_PLUGIN("mine", start);'
    run -0 "$gputrace" run --plugin=./mine.so "$samples/vector_add"
    jq -e '.gputrace.plugins[0].lines | length == 6' trace.json
    jq -e '[.gputrace.plugins[0].lines[].stack | map(.function) |
        index("main") > index("vector_new()") and index("vector_new()") > 0] | all' trace.json
    jq -e '[.gputrace.plugins[0].lines[].stack[].module | select(test("libgputrace|libcupti|mine\\.so"))] == []' trace.json
    assert_line --regexp '^ +vector_new\(\) +.*vector_add\.cu:[0-9]+$'
}

@test "NVTX calls of a plugin, at its start and in its callbacks, are neither reported nor recorded" {
    cat >mine.c <<<'
        #include <gputrace/callbacks.h>
        #include <nvtx3/nvToolsExt.h>
        static const struct gputrace_host *us;
        static void marked(void *data, const struct gputrace_nvtx *what)
        { (void)data, (void)what; nvtxMarkA("of the plugin"); gputrace_line(us, 0, "called"); }
        static int start(const struct gputrace_host *host)
        { us = host; nvtxMarkA("of the plugin"); return gputrace_nvtx_mark_register(host, marked, NULL) ? 0 : -1; }
        GPUTRACE_PLUGIN("mine", start);'
    cc -std=c11 -shared -fPIC -I"$root/include" -isystem "${CUDA_HOME:-/usr/local/cuda}/include" -o mine.so mine.c
    marking_program
    "$gputrace" run --plugin=./mine.so ./marks one two
    jq -e '.gputrace.plugins[0].lines | length == 2' trace.json
    jq -e '[.traceEvents[] | select(.ph == "i" and .cat != "capture") | .name] == ["one", "two"]' trace.json
}

@test "CUDA calls of a plugin in its callbacks are neither reported nor recorded" {
    cat >busy.c <<<'
        #include <gputrace/callbacks.h>
        #include <stdio.h>
        static const struct gputrace_host *us;
        static unsigned worked, called;
        static void work(void)
        {
            static int (*allocate)(void **, size_t), (*set)(void *, int, size_t), (*release)(void *);
            void *cuda = dlopen("libcudart.so.13", RTLD_NOW | RTLD_NOLOAD), *memory = NULL;
            if (!cuda)
                return;
            *(void **)&allocate = dlsym(cuda, "cudaMalloc");
            *(void **)&set = dlsym(cuda, "cudaMemset");
            *(void **)&release = dlsym(cuda, "cudaFree");
            worked += allocate(&memory, 123456) == 0 && set(memory, 0, 123456) == 0 && release(memory) == 0;
        }
        static void recorded(void *data, const struct gputrace_event_record *what) { (void)data, (void)what; work(); }
        static void pushed(void *data, const struct gputrace_nvtx *what) { (void)data, (void)what; work(); }
        static void allocated(void *data, const struct gputrace_memory_allocation *what)
        { (void)data; called += what->bytes == 123456; }
        static void ended(void *data, const struct gputrace_process_end *what)
        {
            char words[80];
            (void)data, (void)what;
            snprintf(words, sizeof(words), "worked %s, called %u times", worked > 10 ? "often" : "not", called);
            gputrace_line(us, 0, words);
        }
        static int start(const struct gputrace_host *host)
        {
            us = host;
            gputrace_event_record_register(host, recorded, NULL);
            gputrace_nvtx_push_register(host, pushed, NULL);
            gputrace_memory_allocation_register(host, allocated, NULL);
            return gputrace_process_end_register(host, ended, NULL) ? 0 : -1;
        }
        GPUTRACE_PLUGIN("busy", start);'
    cc -std=gnu11 -shared -fPIC -I"$root/include" -o busy.so busy.c
    for sample in streams_events threads; do
        "$gputrace" run --plugin=./busy.so "$samples/$sample" >statement
        jq -e '.gputrace.plugins[] | select(.name == "busy") | .lines[0].text == "worked often, called 0 times"' trace.json
        jq -e '[.traceEvents[] | select(.args.bytes? == 123456)] == []' trace.json
        "$check_trace" --quiet --strict --expect statement trace.json
    done
}

@test "process_end is called before a C++ plugin's objects are destroyed" {
    cat >object.cc <<<'
        #include <gputrace/callbacks.h>
        #include <string>
        static std::string words = "a text that is too long to lie in the object itself";
        struct watch { bool there = true; ~watch() { there = false; } } static watch;
        static const struct gputrace_host *us;
        static void ended(void *, const struct gputrace_process_end *) { gputrace_line(us, 0, watch.there ? words.c_str() : "gone"); }
        static int start(const struct gputrace_host *host) { us = host; return gputrace_process_end_register(host, ended, NULL) ? 0 : -1; }
        GPUTRACE_PLUGIN("object", start);'
    c++ -std=c++11 -Wall -Wextra -Werror -shared -fPIC -I"$root/include" -o object.so object.cc
    marking_program
    run -0 "$gputrace" run --plugin=./object.so ./marks x
    assert_line 'gputrace: object: a text that is too long to lie in the object itself'
}

@test "what a plugin printed before its program was killed is reported, with the time it used" {
    says mine
    program dies <<<'
        #include <nvtx3/nvToolsExt.h>
        #include <signal.h>
        #include <unistd.h>
        int main(void) { nvtxMarkA("x"); usleep(500000); return raise(SIGKILL); }'
    run -137 "$gputrace" run --flush-interval=20 --plugin=./mine.so ./dies
    assert_line 'gputrace: mine: mine was called'
    jq -e '.gputrace.plugins[0] | .calls == 1 and .time_ns > 0' trace.json
}

@test "a forked child has the plugins of its parent and gets a callback about the fork" {
    plugin mine 'static void say(void *data, const struct gputrace_nvtx *what)' \
        '{ (void)data; char text[99]; snprintf(text, sizeof(text), "heard %.*s", (int)what->message.length, what->message.bytes);' \
        'gputrace_line(us, 0, text); }' \
        'static void forked(void *data, const struct gputrace_process_fork *what)' \
        '{ (void)data; gputrace_line(us, 0, what->parent == (uint32_t)atoi(getenv("PARENT")) ? "forked" : "of another"); }' \
        'static int start(const struct gputrace_host *host)' \
        '{ us = host; return gputrace_nvtx_mark_register(host, say, NULL) && gputrace_process_fork_register(host, forked, NULL) ? 0 : -1; }' \
        'GPUTRACE_PLUGIN("mine", start);'
    program forks <<<'
        #include <nvtx3/nvToolsExt.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <sys/wait.h>
        #include <unistd.h>
        int main(void) {
            char pid[20];
            snprintf(pid, sizeof(pid), "%d", (int)getpid());
            setenv("PARENT", pid, 1);
            nvtxMarkA("parent");
            pid_t child = fork();
            if (child == 0) { nvtxMarkA("child"); exit(0); }
            return waitpid(child, NULL, 0) != child;
        }'
    run -0 "$gputrace" run --plugin=./mine.so ./forks
    jq -e '[.gputrace.plugins[] | [.lines[].text]] | sort == [["forked", "heard child"], ["heard parent"]]' trace.json
}

# --- the program's own callbacks ---

@test "a traced program can register callbacks itself; untraced it gets no host" {
    program own <<<'
        #include <gputrace/callbacks.h>
        #include <gputrace/gputrace.h>
        #include <nvtx3/nvToolsExt.h>
        #include <stdio.h>
        static void marked(void *data, const struct gputrace_nvtx *what) { (void)what; ++*(int *)data; }
        static void used(void *data, const struct gputrace_memory_access *what)
        { *(int *)data += what->mode == GPUTRACE_ACCESS_WRITE && what->bytes == 7 && what->address == 4096 && !what->stream; }
        int main(void) {
            int marks = 0, uses = 0;
            const struct gputrace_host *host = gputrace_own_host();
            gputrace_registration mark = gputrace_nvtx_mark_register(host, marked, &marks);
            int heard = gputrace_access((void *)4096, 7, GPUTRACE_WRITE, NULL);
            gputrace_memory_access_register(host, used, &uses);
            heard += 2 * gputrace_access((void *)4096, 7, GPUTRACE_WRITE, NULL);
            nvtxMarkA("one");
            gputrace_remove(host, mark);
            nvtxMarkA("two");
            printf("host %d marks %d uses %d heard %d\n", host != NULL, marks, uses, heard);
            gputrace_line(host, 0, "the program says");
            return 0;
        }'
    run -0 --separate-stderr "$gputrace" run ./own
    assert_output 'host 1 marks 1 uses 1 heard 2'
    [[ $stderr = *'gputrace: program: the program says'* ]]
    run -0 ./own
    assert_output 'host 0 marks 0 uses 0 heard 0'
}

@test "a declared access is of the default stream that the program is compiled for, and of the current context" {
    cat >access.cu <<'END'
#include <cuda.h>
#include <cuda_runtime.h>
#include <gputrace/callbacks.h>
#include <gputrace/gputrace.h>
#include <stdio.h>
static void used(void *, const struct gputrace_memory_access *what)
{
    CUcontext current = NULL;
    cuCtxGetCurrent(&current);
    printf("stream %p, context %d, device %d\n", (void *)what->stream, what->call.context == current && current != NULL,
           (int)what->call.device);
}
int main()
{
    gputrace_memory_access_register(gputrace_own_host(), used, NULL);
    gputrace_access((void *)4096, 1, GPUTRACE_READ, 0);
    cudaFree(0);
    gputrace_access((void *)4096, 1, GPUTRACE_READ, 0);
    return 0;
}
END
    [ -z "${sanitizer-}" ] || skip "the same as without the sanitizer"
    local kind stream
    for kind in legacy per-thread; do
        "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" -cudart shared --default-stream "$kind" -I"$root/include" -o access \
            access.cu -L"${CUDA_HOME:-/usr/local/cuda}/lib64/stubs" -lcuda
        stream=$([ $kind = legacy ] && echo '(nil)' || echo 0x2)
        run -0 --separate-stderr "$gputrace" run -o trace.json ./access
        assert_output "$(printf 'stream %s, context 0, device -1\nstream %s, context 1, device 0' "$stream" "$stream")"
        [ -n "${simulated-}" ] || continue # whose runtime asks for nothing by itself
        run -0 jq '[.traceEvents[] | select(.name == "cuCtxGetCurrent")] | length' trace.json
        assert_output 0
    done
}

# --- the plugin that counts ---

@test "calls counts what a sample states of itself" {
    "$gputrace" run --plugin=calls,file=counts.txt "$samples/vector_add" >statement
    stated() { sed -nE "s/^expect $1 ([0-9]+)( .*)?$/\1/p" statement; }
    counted() { awk -v kind="$1" '$1 == kind { sum += $3 } END { print sum + 0 }' counts.txt; }
    assert_equal "$(counted kernel_launch)" "$(stated kernels)"
    assert_equal "$(counted memcpy)" "$(stated memcpys)"
    assert_equal "$(counted nvtx_push)" "$(stated pushes)"
    assert_equal "$(counted stream_creation)" "$(stated 'api cudaStreamCreate')"
    assert_equal "$(counted memory_allocation)" "$(awk '/^expect memory / { sum += $5 } END { print sum }' statement)"
    [ "$(counted kernel_launch)" -gt 0 ]
    assert_equal "$(counted process_end)" 1
    grep '^memcpy ' counts.txt | LC_ALL=C sort -c
}

@test "the plugin calls counts failures separately and prints its counts at the end" {
    run -0 "$gputrace" run --plugin=calls "$samples/memory"
    assert_line --regexp '^gputrace: calls: memory_allocation_failure cuMem[A-Za-z0-9_]+ 0 failed [0-9]+$'
    assert_line --regexp '^gputrace: calls: memory_allocation cuMem[A-Za-z0-9_]+ [0-9]+$'
}

@test "calls says when it cannot write its file" {
    run -0 "$gputrace" run --plugin=calls,file=/nowhere/counts.txt "$samples/nvtx"
    assert_line "gputrace: calls: cannot write '/nowhere/counts.txt': No such file or directory"
    assert_line --partial 'gputrace: calls: nvtx_mark'
}

# --- the manual ---

page() { cat "$root/man/gputrace-callbacks.3"; }

# The Nth example that begins with an #include.
example() { # N
    page | awk -v wanted="$1" '/^\.Bd/ { in_it = 1; next } /^\.Ed/ { in_it = 0 }
        in_it && /^#include <gputrace/ { n++ } in_it && n == wanted && !/^\$/' | sed 's/\\e/\\/g'
}

@test "the manual's plugin does what it says" {
    example 1 >total.c
    grep -q GPUTRACE_PLUGIN total.c
    cc -std=c11 -Wall -Wextra -Werror -shared -fPIC -I"$root/include" -o total.so total.c
    run -0 "$gputrace" run --plugin=./total.so "$samples/vector_add"
    assert_line --regexp '^gputrace: total: [1-9][0-9]+ bytes in all$'
    [ "$(jq '[.traceEvents[] | select(.ph == "C" and .name == "total: allocated so far")] | length' trace.json)" -gt 0 ]
}

@test "the manual's program compiles" {
    example 2 >part.c
    grep -q gputrace_own_host part.c
    cc -std=c11 -Wall -Wextra -Werror -c -I"$root/include" -o part.o part.c
    c++ -x c++ -std=c++11 -Wall -Wextra -Werror -c -I"$root/include" -o part.o part.c
}

@test "the manual page names every kind of the header, and only fields that exist" {
    sed -n '/^#define GPUTRACE_KINDS/,/^$/s/^ *X(\([a-z_]*\)).*/\1/p' "$root/include/gputrace/callbacks.h" | sort >in-header
    page | sed -nE 's/^\.It Cm ([a-z_]+)( Fa .*)?$/\1/p' | grep -vxE 'calls|hazards|leaks' | sort >in-page
    [ -s in-header ]
    diff in-header in-page
    { # a function for each kind that looks at every field named
        echo '#include <gputrace/callbacks.h>'
        page | sed -nE 's/^\.It Cm ([a-z_]+) Fa (.*)$/\1 \2/p' | while read -r kind fields; do
            echo "void see_$kind(const struct gputrace_$kind *what); void see_$kind(const struct gputrace_$kind *what) {"
            for field in $fields; do echo "(void)what->$field;"; done
            echo '}'
        done
    } >fields.c
    cc -std=c11 -Wall -Wextra -Werror -c -I"$root/include" -o fields.o fields.c
}

# --- the cache of CUDA events, with CUDA's own ---

@test "cached events: given back on another thread, taken by a thread that has ended, of each device" {
    [ -z "${sanitizer-}" ] || skip "the same as without the sanitizer"
    cat >events.cu <<'END'
#include <cuda_runtime.h>
#include <gputrace/callbacks.h>
#include <cstdio>
#include <cstdlib>
#include <thread>
static const gputrace_host *host;
static void must(bool so, const char *what)
{
    if (!so) {
        printf("not so: %s\n", what);
        exit(1);
    }
}
static const gputrace_cached_event *take(bool timing)
{
    const gputrace_cached_event *taken = gputrace_event_take(host, NULL, timing);
    must(taken && taken->event, "there is an event");
    return taken;
}
/* Whether it is an event of the current device's, which a stream can wait for: with times, or without. */
static bool works(const gputrace_cached_event *taken, bool timing)
{
    cudaEvent_t event = taken->event;
    float ms = -1;
    if (cudaEventRecord(event, 0) != cudaSuccess || cudaStreamWaitEvent(cudaStreamPerThread, event, 0) != cudaSuccess ||
        cudaDeviceSynchronize() != cudaSuccess || cudaEventQuery(event) != cudaSuccess)
        return false;
    bool timed = cudaEventElapsedTime(&ms, event, event) == cudaSuccess;
    cudaGetLastError(); /* of the one without times */
    return timed == timing;
}
static void use_device(int device)
{
    const gputrace_cached_event *here, *there = NULL;
    must(cudaSetDevice(device) == cudaSuccess && cudaFree(0) == cudaSuccess, "there is the device");
    here = take(true);
    CUevent_st *first = here->event;
    must(works(here, true), "an event with times works");
    std::thread([&] { gputrace_event_give_back(host, here); }).join();
    here = take(true);
    must(here->event == first, "given back on another thread, it comes home");
    const gputrace_cached_event *plain = take(false);
    must(plain->event != first && works(plain, false), "events without times are others");
    std::thread([&] {
        cudaSetDevice(device), cudaFree(0);
        there = take(true);
        must(there->event != first, "a thread has events of its own");
    }).join();
    must(works(there, true), "an event outlives the thread that took it");
    CUevent_st *left = there->event;
    gputrace_event_give_back(host, there);
    std::thread([&] {
        cudaSetDevice(device), cudaFree(0);
        there = take(true);
        must(there->event == left, "the next thread takes over what was left");
        gputrace_event_give_back(host, there);
    }).join();
    gputrace_event_give_back(host, plain);
    gputrace_event_give_back(host, here);
}
static void run_many(int devices)
{
    std::thread threads[8];
    for (int i = 0; i < 8; i++)
        threads[i] = std::thread([=] {
            cudaSetDevice(i % devices), cudaFree(0);
            for (int j = 0; j < 200; j++) {
                const gputrace_cached_event *events[] = {take(j % 2), take(j % 3 == 0)};
                must(cudaEventRecord(events[0]->event, cudaStreamPerThread) == cudaSuccess, "it is of this device");
                must(cudaEventRecord(events[1]->event, cudaStreamPerThread) == cudaSuccess, "this one too");
                gputrace_event_give_back(host, events[j / 2 % 2]);
                gputrace_event_give_back(host, events[!(j / 2 % 2)]);
            }
        });
    for (std::thread &thread : threads)
        thread.join();
}
int main()
{
    int devices = 0;
    cudaGetDeviceCount(&devices);
    cudaFree(0);
    host = gputrace_own_host();
    must(host, "the program is traced");
    for (int device = 0; device < devices; device++)
        use_device(device);
    run_many(devices);
    printf("%d devices\n", devices);
    return 0;
}
END
    "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" -std=c++17 -cudart shared -I"$root/include" -o events events.cu -Xcompiler -pthread
    [ -z "${simulated-}" ] || export SIMGPU_DEVICES=3
    run --separate-stderr "$gputrace" run -o trace.json ./events
    assert_success
    assert_output --regexp '^[1-9] devices$'
    run -0 jq '[.traceEvents[] | select(.name == "cuEventCreate" or .name == "cuEventDestroy_v2")] | length' trace.json
    assert_output 0 # neither is the program's
}
