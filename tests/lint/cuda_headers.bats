# Headers of CUDA 12: common/cuda_headers.h declares what they lack of CUDA 13.0's.

load ../cli/common

cuda=${CUDA_HOME:-/usr/local/cuda}

# make in a build folder of its own.
own_make() {
    env -u MAKEFLAGS -u MAKELEVEL -u CFLAGS -u SAN -u NVTX_HOME make -C "$root" --no-print-directory -s B="$PWD/own" "$@"
}

need_13() {
    cat "$cuda"/include/cuda.h | grep -q 'define CUDA_VERSION 13' || skip "compares with the headers of CUDA 13"
}

# Prints a C file that compares the declarations of cuda_headers.h with those of the toolkit.
comparison() {
    python3 - "$root/src/common/cuda_headers.h" "$(find -L "$cuda" -name cupti_activity_deprecated.h | head -1)" <<'EOF'
import re, sys
text, cupti = [re.sub(r'/\*.*?\*/', '', open(name).read().replace('\\\n', ' '), flags=re.S) for name in sys.argv[1:]]
numbers = re.findall(r'^#define (\w+) \(?\d', text, re.M)
structs = re.findall(r'^#define (\w+) +struct \{(.*)\}$', text, re.M)
structs += [(name, body) for body, name in re.findall(r'^typedef struct \{(.*?)\} ([Cc][Uu]\w+);$', text, re.M | re.S)]
aliases = re.findall(r'^#define (\w+) (CUpti_\w+)$', text, re.M) # older structs in place of newer ones

def members(body, prefix=''):
    found = [m for inner, name in re.findall(r'struct \{(.*?)\} (\w+);', body) for m in members(inner, f'op.{name}.')]
    body = re.sub(r'union \{.*\} \w+;|#[^\n]*', '', body, flags=re.S)
    names = [re.findall(r'\w+', re.sub(r'\[.*', '', one))[-1] for one in re.split('[,;]', body) if one.strip()]
    return found + [prefix + name for name in names if not re.match('pad|reserved', name)]

print('#include <assert.h>\n#include <cuda.h>\n#include <cupti.h>\n#include <stddef.h>')
for name in numbers:
    print(f'enum {{ theirs_{name} = {name} }};')
for name in [name for name, _ in structs + aliases]:
    print(f'typedef {name} theirs_{name};')
print('#define CUDA_HEADERS_OLD\n#include "common/cuda_headers.h"')
for name in numbers:
    print(f'static_assert({name} == (int)theirs_{name}, "{name}");')
for name, body in structs:
    if name != 'CUgraphNodeParams': # of which only the begin is declared
        print(f'static_assert(sizeof({name}) == sizeof(theirs_{name}), "{name}");')
for name, body in structs + [(name, re.findall(r'typedef struct[^{]*\{((?:(?!typedef).)*)\} %s;' % old, cupti, re.S)[0]) for name, old in aliases]:
    for member in members(body):
        print(f'static_assert(offsetof({name}, {member}) == offsetof(theirs_{name}, {member}) && sizeof((({name} *)0)->{member})'
              f' == sizeof(((theirs_{name} *)0)->{member}), "{name}.{member}");')
EOF
}

@test "the declarations for CUDA 12 have the sizes, places and numbers of CUDA 13.0's" {
    need_13
    comparison >compare.c
    [ "$(grep -c '^static_assert.*offsetof' compare.c)" -gt 90 ]
    [ "$(grep -c '^enum' compare.c)" -gt 30 ]
    gcc -std=c11 -Wall -Werror -fsyntax-only -I"$root/src" -isystem "$cuda/include" -isystem "$cuda/extras/CUPTI/include" compare.c
}

@test "all that reads CUPTI's records and CUDA's parameters compiles with the declarations for CUDA 12" {
    need_13
    find "$build/obj/src" -name '*.d' -exec grep -l common/cuda_headers.h {} + | sed "s|^$build/\(.*\)d$|$PWD/own/\1o|" >objects
    [ "$(wc -l <objects)" -gt 10 ]
    own_make WERROR=1 CPPFLAGS=-DCUDA_HEADERS_OLD CFLAGS='-O0 -fsyntax-only' $(cat objects)
}

@test "calls of CUDA 13.0 have their names and classes also with lists of ids that end where CUDA 12.0's end" {
    need_13
    local api last classes
    for api in driver:700 runtime:444; do
        last=${api#*:} api=${api%:*}
        cp "$(find -L "$cuda" -name "cupti_${api}_cbid.h" | head -1)" whole.h
        awk -v last="$last" '!/TRACE_CBID_[a-z_].*=/ || $3 + 0 <= last' whole.h >older.h
        for classes in '' "$root/src/common/api_classes.list"; do
            awk -f "$root/src/common/cbid.awk" $classes whole.h >expected
            awk -f "$root/src/common/cbid.awk" $classes older.h "$root/src/common/newer_calls.list" >seen
            diff expected seen
            awk -f "$root/src/common/cbid.awk" $classes whole.h "$root/src/common/newer_calls.list" | diff expected -
        done
    done
}

@test "make asks for a newer NVTX where the toolkit's has no payloads" {
    mkdir -p toolkit/include newer/include/nvtx3
    touch toolkit/include/cuda.h newer/include/nvtx3/nvToolsExtSemanticsTime.h
    run -2 own_make CUDA_HOME="$PWD/toolkit" toolkit
    assert_line --index 0 "NVTX in $PWD/toolkit/include is too old: clone https://github.com/NVIDIA/NVTX (3.3 or newer), and say where it is: make NVTX_HOME=/path/to/NVTX/c"
    run -0 own_make CUDA_HOME="$PWD/toolkit" NVTX_HOME="$PWD/newer" toolkit
    assert_output ''
}

# bats test_tags=long
@test "what is built with an older toolkit's headers, in OLDER_CUDA_HOME, traces as what is built with CUDA 13's" {
    [ -n "${OLDER_CUDA_HOME-}" ] || skip "OLDER_CUDA_HOME is not set"
    need_13
    mkdir -p newer/include
    ln -s "$cuda/include/nvtx3" newer/include/nvtx3
    own_make WERROR=1 CUDA_HOME="$OLDER_CUDA_HOME" NVTX_HOME="$PWD/newer" all
    ln -s "$build/simgpu" own/simgpu
    cp -a "$build/samples" "$build/tests" own/
    cd "$root"
    run -0 tests/run -b "$(realpath --relative-to="$root" "$OLDPWD/own")" tests/cli/cuda.bats
}
