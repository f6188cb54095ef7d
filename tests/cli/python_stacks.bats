# Functions of Python in call stacks, from the program to the report. The interpreters are the system's and those of pyenv.

load common

before_each() {
    mapfile -t pythons < <(printf '%s\n' /usr/bin/python3 "$HOME"/.pyenv/versions/3.*/bin/python3)
    mkdir -p lib/python3/site-packages
    cat >lib/python3/site-packages/layers.py <<'END'
import ctypes
cuda = ctypes.CDLL("libcudart.so.13")
def allocate(size):
    address = ctypes.c_void_p()
    cuda.cudaMalloc(ctypes.byref(address), ctypes.c_size_t(size))
END
    cat >model.py <<'END'
import sys
import threading
sys.path.insert(0, "lib/python3/site-packages")
import layers
def forward(size):
    layers.allocate(size)
    layers.allocate(size)
def train():
    for size in 4096, 8192:
        forward(size)
train()
thread = threading.Thread(target=forward, args=(12288,))
thread.start()
thread.join()
max([1, 2], key=lambda number: layers.allocate(16384) or number)
END
}

# jq with stacks: the frames of a stack, innermost first; and all of them, in the order of their calls.
stacks_of() { # JQ-ARGUMENT...
    local program=${*: -1}
    jq "${@:1:$#-1}" 'def calls($frames; $number): $frames[$number | tostring] as $frame
            | if $frame then [$frame] + calls($frames; $frame.parent // "none") else [] end;
        .stackFrames as $frames
        | def stack: calls($frames; .args.stack);
        [.traceEvents[] | select(.args.stack)] | sort_by(.ts) | '"$program" trace.json
}

@test "what a graph replays has the lines of Python that captured it" {
    [ -z "${sanitizer-}" ] || skip "done with the plain build"
    cat >capture.py <<'END'
import ctypes
cuda = ctypes.CDLL("libcudart.so.13")
memory, stream, graph, instance = (ctypes.c_void_p() for _ in range(4))
def clear(size):
    assert cuda.cudaMemsetAsync(memory, 0, ctypes.c_size_t(size), stream) == 0
def capture():
    cuda.cudaStreamBeginCapture(stream, 0)
    for size in 64, 128:
        clear(size)
    clear(256)
    cuda.cudaStreamEndCapture(stream, ctypes.byref(graph))
cuda.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(4096))
cuda.cudaStreamCreate(ctypes.byref(stream))
capture()
assert cuda.cudaGraphInstantiate(ctypes.byref(instance), graph, ctypes.c_ulonglong(0)) == 0
for _ in range(3):
    cuda.cudaGraphLaunch(instance, stream)
cuda.cudaStreamSynchronize(stream)
END
    "$gputrace" run -q --stacks=launch /usr/bin/python3 capture.py
    stacks_of -r '.[] | select(.cat == "gpu_memset") | .args.bytes as $bytes
        | [stack[] | "\(.name | split(".") | last):\(.line)"] | join(" ") | "\($bytes) \(.)"' | sort -n | uniq -c | sed 's/^ *//' >got
    diff - got <<'END'
3 64 clear:5 capture:9 <module>:14
3 128 clear:5 capture:9 <module>:14
3 256 clear:5 capture:10 <module>:14
END
    "$gputrace" report -r lines --format=json trace.json |
        jq -e '.lines | length == 1 and (.[0] | .operations == 9 and (.name | endswith("clear (capture.py:5)")))'
}

@test "what a thread of PyTorch's backward pass launches has the line that called backward()" {
    [ -z "${sanitizer-}" ] || skip "done with the plain build"
    mkdir -p lib/python3/site-packages/torch/autograd
    touch lib/python3/site-packages/torch/__init__.py
    cat >lib/python3/site-packages/torch/autograd/__init__.py <<'END'
import ctypes
cuda = ctypes.CDLL("libcudart.so.13")
engine = ctypes.CDLL("./libengine.so")
memory = ctypes.c_void_p()
cuda.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(4096))
def _make_grads():
    assert cuda.cudaMemsetAsync(memory, 1, ctypes.c_size_t(8), None) == 0
def backward():
    _make_grads()
    engine.run_backward(memory)
END
    cat >engine.c <<'END'
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <semaphore.h>
static sem_t ready, done;
static void *work(void *memory)
{
    pthread_setname_np(pthread_self(), "pt_autograd_0");
    for (;;) {
        sem_wait(&ready);
        for (int i = 0; i < 3; i++)
            cudaMemsetAsync(memory, 0, 512, 0);
        sem_post(&done);
    }
}
void run_backward(void *memory);
void run_backward(void *memory)
{
    static pthread_t thread;
    if (!thread)
        pthread_create(&thread, NULL, work, memory);
    sem_post(&ready);
    sem_wait(&done);
}
END
    gcc -shared -fPIC -I"${CUDA_HOME:-/usr/local/cuda}/include" -o libengine.so engine.c \
        -L"${CUDA_HOME:-/usr/local/cuda}/lib64" -lcudart -lpthread
    cat >train.py <<'END'
import sys
sys.path.insert(0, "lib/python3/site-packages")
from torch import autograd
def step():
    autograd.backward()
for _ in range(2):
    step()
END
    "$gputrace" run -q /usr/bin/python3 train.py
    "$gputrace" report -r lines --format=json trace.json |
        jq -e '.lines | map(select(.operations) | {name: (.name | sub(".*[.]step"; "step")), operations}) | sort_by(.name) == [
            {name: "backward pass of step (train.py:5)", operations: 6}, {name: "step (train.py:5)", operations: 2}]'
}

# Runs COMMAND with each interpreter from 3.8 on in $python; one at least.
each_python() { # COMMAND
    local ran=0
    for python in "${pythons[@]}"; do
        "$python" -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null || continue
        "$@"
        ran=$((ran + 1))
    done
    [ "$ran" -gt 0 ]
}

run_python() { # FILE: sets it to be traced, sanitized or not
    rm -f trace.json
    if [ -n "${sanitizer-}" ]; then
        script traced "LD_PRELOAD=$sanitizer exec $python \"\$@\""
        "$gputrace" run --backtrace ./traced "$1"
    else
        "$gputrace" run --backtrace "$python" "$1"
    fi
}

# The frames of Python of each allocation, with their functions' bare names, and the place that the report shows for it.
check_lines() {
    run_python model.py
    stacks_of -r '.[] | select(.name == "Allocate Device") | .args.bytes as $bytes
        | [stack[] | select(.category == "python") | "\(.name | split(".") | last):\(.line)"] | join(" ") | "\($bytes) \(.)"' |
        sed -E 's/ run:[0-9]+ _bootstrap_inner:[0-9]+ _bootstrap:[0-9]+/ THREAD/' >got
    diff - got <<'END'
4096 allocate:5 forward:6 train:10 <module>:11
4096 allocate:5 forward:7 train:10 <module>:11
8192 allocate:5 forward:6 train:10 <module>:11
8192 allocate:5 forward:7 train:10 <module>:11
12288 allocate:5 forward:6 THREAD
12288 allocate:5 forward:7 THREAD
16384 allocate:5 <lambda>:15 <module>:15
16384 allocate:5 <lambda>:15 <module>:15
END
    "$gputrace" report -r memory --format=json trace.json |
        jq -r '.["memory-leaks"][] | "\(.size_bytes // .total_bytes) \(.where | sub(".*[.](?<f>[^.]+ )"; "\(.f)"))"' | sort -u >got
    diff - got <<'END'
12288 forward (model.py:6)
12288 forward (model.py:7)
16384 <lambda> (model.py:15)
4096 forward (model.py:6)
4096 forward (model.py:7)
8192 forward (model.py:6)
8192 forward (model.py:7)
END
}

@test "allocations show the functions of Python that asked for memory, and the user's line as their place" {
    each_python check_lines
}

# Nothing of the interpreter, and nothing that starts it: the outermost frame is that of the module.
check_native() {
    run_python model.py
    stacks_of -e '[.[] | stack] | unique
        | length == 5
        and all(.[]; last | .category == "python")
        and all(.[][]; .name | test("^(_PyEval|PyEval|_PyFunction|PyObject_|Py_|_start|__libc_start)") | not)
        and all(.[]; first.category != "python")'
}

# The sanitizer starts threads with a function of its own, beyond Python's.
need_plain() { [ -z "${sanitizer-}" ] || skip "done with the plain build"; }

@test "the interpreter's own frames are left out, and C code above the functions stays" {
    need_plain
    each_python check_native
}

@test "C code that calls Python stands beyond its functions" {
    need_plain
    cat >embed.c <<'END'
#include <Python.h>
__attribute__((noinline)) static int embedding(void)
{
    FILE *file = fopen("model.py", "r");
    int failed = PyRun_SimpleFile(file, "model.py");
    fclose(file);
    return failed;
}
int main(void)
{
    Py_Initialize();
    int failed = embedding();
    return Py_FinalizeEx() || failed;
}
END
    config=/usr/bin/python3-config
    [ -x "$config" ] || config=$(printf '%s\n' "$HOME"/.pyenv/versions/3.*/bin/python3-config | tail -1)
    # shellcheck disable=SC2046 # words
    gcc -g -o embed embed.c $("$config" --includes) $("$config" --ldflags --embed) \
        -Wl,-rpath,"$("$config" --prefix)/lib"
    python=$PWD/embed run_python model.py
    stacks_of -e '[.[] | [stack[].name]]
        | (.[0] | index("embedding") > index("<module>")) and any(.[]; last | test("_bootstrap"))'
}

@test "no stack has functions of Python where there is no Python" {
    "$gputrace" run --backtrace "$samples/leaking" >/dev/null
    jq -e '.stackFrames | length > 0 and all(.category != "python")' trace.json
}

@test "-v names an interpreter that is not known, whose functions are left out" {
    cat >unknown.c <<'END'
#include <dlfcn.h>
#include <stddef.h>
unsigned long _PyRuntime[100];
const char *Py_GetVersion(void);
const char *Py_GetVersion(void) { return "3.99.1 (main)"; }
__attribute__((noinline)) static int allocate(void)
{
    int (*cuda_malloc)(void **, size_t);
    void *address;
    *(void **)&cuda_malloc = dlsym(dlopen("libcudart.so.13", RTLD_NOW), "cudaMalloc");
    return cuda_malloc(&address, 4096);
}
int main(void) { return allocate(); }
END
    gcc -g -rdynamic -o unknown unknown.c -ldl
    script traced "LD_PRELOAD=${sanitizer-} exec ./unknown"
    "$gputrace" run -v --backtrace ./traced 2>words
    assert_equal "$(grep -c "stacks have no functions of Python: the frames of version 3.99.1 cannot be read" words)" 1
    jq -e '.stackFrames | any(.name == "allocate") and all(.category != "python")' trace.json
    python=/usr/bin/python3
    script traced "LD_PRELOAD=${sanitizer-} exec $python model.py"
    "$gputrace" run -v --backtrace ./traced 2>words
    refute grep "functions of Python" words
}

@test "by default launches, waits and allocations have the functions of Python alone, and the report names the lines" {
    [ -z "${sanitizer-}" ] || skip "done with the plain build"
    cat >step.py <<'END'
import ctypes
cuda = ctypes.CDLL("libcudart.so.13")
memory, stream = ctypes.c_void_p(), ctypes.c_void_p()
def step():
    cuda.cudaMemsetAsync(memory, 0, ctypes.c_size_t(64), stream)
    cuda.cudaStreamSynchronize(stream)
def train():
    cuda.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(4096))
    cuda.cudaStreamCreate(ctypes.byref(stream))
    for _ in range(100):
        step()
train()
END
    "$gputrace" run -q /usr/bin/python3 step.py
    jq -e '.gputrace.options | .stacks == ["python"] and .stacks_every == 10' trace.json
    jq -e '[.stackFrames[] | .category] | unique == ["python"]' trace.json
    stacks_of -r '.[] | select(.cat != "gpu_memset") | [stack[] | "\(.name | split(".") | last):\(.line)"] | join(" ") | "\(.)"' |
        sort | uniq -c | sed 's/^ *//' >got
    assert_equal "$(sed 1d got)" "$(printf '100 step:6 train:11 <module>:12\n1 train:8 <module>:12')"
    [[ "$(head -n 1 got)" =~ ^[0-9]+' step:5 train:11 <module>:12'$ ]]
    "$gputrace" report -r lines --format=json trace.json | jq -e '.lines | map([(.name | sub(".*[.]step "; "")), .operations, .waits])
        | contains([["(step.py:5)", 100, null], ["(step.py:6)", null, 100]])'
    # What has no stack counts for the last one of its name.
    "$gputrace" convert -q trace.json trace.folded
    assert_equal "$(cut -d ' ' -f 1-7 trace.folded | sed 's/ [0-9]*$//')" \
        '<module> (step.py:12);train (step.py:11);step (step.py:5);cudaMemsetAsync;Memset (Device)'
    "$gputrace" run -q --stacks=none -o none.json /usr/bin/python3 step.py
    jq -e '(has("stackFrames") | not) and ([.traceEvents[] | select(.args.stack?)] == [])' none.json
    "$gputrace" run -q -o native.json "$samples/launch_loop" 10
    jq -e 'has("stackFrames") | not' native.json
}
