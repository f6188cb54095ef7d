#!/usr/bin/env bats
# Names of kernels and messages that are longer than a trace keeps.

load common

before_each() { need_simulated; }

# Two kernels with mangled names of 43 kB that differ at the end, launched 4 times and once.
flat() {
    python3 - >flat.cu <<'PROGRAM'
n = ['type_number_%d_%s' % (i, 'abcdefghij' * 9) for i in range(400)]
print('#include <cuda_runtime.h>\n' + ''.join('struct %s {};\n' % x for x in n) + 'template<class... T> struct P {};\n'
      'template<class T> __global__ void k(int *p) { if (p) *p = 1; }\ntypedef P<%s> A;\ntypedef P<%s> B;\n'
      'int main() { for (int i = 0; i < 4; i++) k<A><<<1, 1>>>(0); k<B><<<1, 1>>>(0); return cudaDeviceSynchronize(); }'
      % (','.join(n), ','.join(n[:-1] + n[:1])))
PROGRAM
    build_cu flat
}

# A kernel with a mangled name of 136 bytes, and a readable one of 590 kB, launched 1000 times.
nested() {
    python3 - >nested.cu <<'PROGRAM'
print('#include <cuda_runtime.h>\ntemplate<class A, class B> struct P {};\ntypedef P<int, char> L0;\n'
      + ''.join('typedef P<L%d, L%d> L%d;\n' % (i, i, i + 1) for i in range(15)) +
      'template<class T> __global__ void k(int *p) { if (p) *p = 1; }\n'
      'int main() { for (int i = 0; i < 1000; i++) k<L15><<<1, 1>>>(0); return cudaDeviceSynchronize(); }')
PROGRAM
    build_cu nested
}

@test "two kernels whose long names begin alike stay two, in every format" {
    local format
    flat
    run -0 "$gputrace" run -o flat.json ./flat
    assert_line --partial 'incomplete: 2 names of kernels cut at 16 KiB'
    for format in json pftrace sqlite; do
        [ "$format" = json ] || "$gputrace" convert -q flat.json "flat.$format"
        [ "$format" = sqlite ] && continue # the report does not read it
        assert_equal "$("$gputrace" report -r kernels --format=json "flat.$format" |
            jq -c '[.kernels[] | [.name[:26], (.name | utf8bytelength), .calls]] | sort')" \
            '[["void k<P<type_number_0_abc",16384,1],["void k<P<type_number_0_abc",16384,4]]'
    done
    assert_equal "$(python3 -c 'import sqlite3
print(*sqlite3.connect("flat.sqlite").execute(
    "SELECT count(DISTINCT name) FROM kernels").fetchone())')" 2
    # the whole symbols are in the trace, once
    assert_equal "$(jq -c '.gputrace.symbols | [length, (map(length) | unique | .[0] > 40000)]' flat.json)" '[2,true]'
    assert_equal "$("$gputrace" diff --format=json flat.json flat.json |
        jq -c '[.parts[] | select(.kind == "kernel") | .after_ns]')" '[6000,1500]'
}

@test "a readable name without end: neither trace nor launcher grow with it" {
    nested
    run -0 "$gputrace" run -o nested.json ./nested
    assert_line --partial 'incomplete: 1 name of a kernel cut at 16 KiB'
    "$check_trace" --quiet nested.json
    assert [ "$(wc -c <nested.json)" -lt 20000000 ]
    assert_equal "$("$gputrace" report -r kernels --format=json nested.json | jq -c '[.kernels[] | .calls]')" '[1000]'
}
